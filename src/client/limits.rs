//! Every bound of the library in one place, to be read by people and checked by tests. The values live where they are
//! used; this file only shows them.

use std::time::Duration;

use super::broker::Broker;
use super::options::BrokerOptions;
use super::poison::PoisonPolicy;
use super::retry::Backoff;
use super::{dialog_pool, receive, request, sending, statements, worker};

/// What bounds a [`Broker`] and everything made from it. Nothing in the library grows without one of these.
///
/// Its tables are another matter. Workers remove old rows of the attempts and of the messages handled by themselves, a
/// bounded number at a time. What somebody may still want stays until it is removed by a call, in bounded batches too: dead
/// letters ([`DeadLetters::purge`](super::DeadLetters::purge)), unsent messages
/// ([`UnsentMessages::purge`](super::UnsentMessages::purge)), identifiers of messages sent ([`Broker::forget_sent`]) and
/// remembered requests ([`Broker::forget_requests`]).
///
/// Those of the connection come from its [`BrokerOptions`]; the others are defaults that the builders named change, or
/// fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Connections of the pool, [`BrokerOptions::with_max_pool_size`]. Each receiver has one more of its own.
    pub pool_connections: u32,
    /// One attempt to connect, [`BrokerOptions::with_connect_timeout`].
    pub connect_timeout: Duration,
    /// Waiting for a connection, attempts to reconnect included, [`BrokerOptions::with_acquire_timeout`]. Also bounds how
    /// many callers wait: each gives up after it.
    pub acquire_timeout: Duration,
    /// One request, [`BrokerOptions::with_command_timeout`]; `None` if switched off.
    pub command_timeout: Option<Duration>,
    /// Retries of one connection for the pool, [`BrokerOptions::with_connect_retries`]; `None`: as the acquire timeout lets.
    pub connect_retries: Option<u32>,
    /// The longest pause between two attempts to reconnect. Receivers go on trying at this pace.
    pub longest_reconnect_pause: Duration,
    /// Messages of one request that sends. More are sent in further requests of one transaction.
    pub messages_per_request: usize,
    /// Body bytes of one request that sends, unless one message is larger.
    pub bytes_per_request: usize,
    /// Bytes of one body that is sent, [`BrokerOptions::with_max_body`]; `None`: as the server takes.
    pub sent_body_bytes: Option<usize>,
    /// Conversations of one [`Broker::send_on`].
    pub conversations_per_send: usize,
    /// Messages of a batch received, [`Receive::max_messages`](super::Receive::max_messages).
    pub messages_per_batch: u32,
    /// Bytes of a body received: what the server can store, less by [`Receive::max_body`](super::Receive::max_body).
    pub body_bytes: u32,
    /// Batches that are out or held for the next caller, for each receiver. There is no prefetch.
    pub batches_per_receiver: usize,
    /// One wait at the server, [`Receive::wait`](super::Receive::wait).
    pub receive_wait: Duration,
    /// How long messages nobody takes are kept, [`Receive::hold`](super::Receive::hold).
    pub receive_hold: Duration,
    /// Readers of a worker, [`Worker::readers`](super::Worker::readers).
    pub readers: usize,
    /// What handlers may still do after a shutdown, [`Worker::shutdown_budget`](super::Worker::shutdown_budget).
    pub shutdown_budget: Duration,
    /// Attempts of a message, [`PoisonPolicy`].
    pub attempts: u32,
    /// How long a call waits for its place in a dialog pool, [`PoolOptions::place_timeout`](super::PoolOptions::place_timeout).
    pub place_timeout: Duration,
    /// Retired dialogs of a pool whose end is waited for; beyond that the oldest counts as leaked.
    pub retiring_dialogs: usize,
    /// Replies of a requester that does not remember, kept for whoever takes their requests up again.
    pub kept_replies: usize,
    /// Messages of a requester whose recovery handler failed and whose attempts are counted.
    pub counted_messages: usize,
}

impl Limits {
    /// Those of these options, with the defaults of everything else.
    #[must_use]
    pub fn of(options: &BrokerOptions) -> Self {
        Self {
            pool_connections: options.max_pool_size,
            connect_timeout: options.connect_timeout,
            acquire_timeout: options.acquire_timeout,
            command_timeout: options.command_timeout,
            connect_retries: options.connect_retries,
            longest_reconnect_pause: Backoff::reconnect().cap(),
            messages_per_request: statements::SEND_SIZES[statements::SEND_SIZES.len() - 1],
            bytes_per_request: sending::MOST_BYTES,
            sent_body_bytes: options.max_body,
            conversations_per_send: sending::MOST_HANDLES,
            messages_per_batch: receive::DEFAULT_MESSAGES,
            body_bytes: receive::LARGEST_BODY,
            batches_per_receiver: 1,
            receive_wait: receive::DEFAULT_WAIT,
            receive_hold: receive::DEFAULT_HOLD,
            readers: worker::DEFAULT_READERS,
            shutdown_budget: worker::DEFAULT_SHUTDOWN_BUDGET,
            attempts: PoisonPolicy::default().max_attempts(),
            place_timeout: dialog_pool::DEFAULT_PLACE_TIMEOUT,
            retiring_dialogs: dialog_pool::MOST_RETIRING,
            kept_replies: request::MOST_KEPT,
            counted_messages: request::MOST_COUNTED,
        }
    }
}

impl Broker {
    /// What bounds this broker and everything made from it.
    #[must_use]
    pub fn limits(&self) -> Limits {
        Limits::of(self.options())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l10_every_limit_is_finite_unless_it_is_switched_off() {
        let options =
            BrokerOptions::new("db", "u", "p").unwrap().with_max_pool_size(4).with_connect_retries(2);
        let limits = Limits::of(&options);
        println!("{limits:#?}");
        assert_eq!((limits.pool_connections, limits.connect_retries), (4, Some(2)));
        assert!(limits.command_timeout.is_some());
        assert!(limits.conversations_per_send < 2_100 && limits.messages_per_request <= 100);
        assert!(limits.attempts < 5, "the server's own limit is five roll backs");
    }
}
