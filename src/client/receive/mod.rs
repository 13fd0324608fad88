//! Receiving: the builder, and the receiver that hands out one batch after another.
//!
//! A receiver is the handle of a task (`actor.rs`) that owns one connection of its own. The caller's future only waits
//! for a channel, so dropping it never touches the wire: the wait goes on, and its batch goes to the next caller.

mod actor;
mod afterwards;
mod batch;
mod link;
mod overdue;
mod partial;
mod received;
mod transaction;

use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::broker::Broker;
use super::error::{Error, ErrorKind, Result};
use super::ids::{ConversationGroup, ConversationHandle};
use super::names::QueueName;
use super::statements::{Bodies, ReceiveSpec, Selection};

pub use batch::Batch;
pub use link::Connectivity;
pub(crate) use received::Earlier;

use actor::{Actor, Ask, Patience};
use link::Link;

/// Defaults of a receiver.
pub(crate) const DEFAULT_MESSAGES: u32 = 100;
pub(crate) const DEFAULT_WAIT: Duration = Duration::from_secs(30);
/// The largest `varbinary(max)`.
pub(crate) const LARGEST_BODY: u32 = i32::MAX as u32;
pub(crate) const DEFAULT_HOLD: Duration = Duration::from_secs(1);
/// A batch that is out longer is told in the log: its transaction keeps locks that others wait for.
const LONG_OUT: Duration = Duration::from_secs(30);

/// Says how to receive from a queue; ends in [`open`](Receive::open).
#[derive(Debug)]
#[must_use = "nothing is received before `open`"]
pub struct Receive {
    broker: Broker,
    spec: ReceiveSpec,
    waiting: Waiting,
}

/// The times of a receiver.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// Longest single WAITFOR; the wait is renewed until messages come.
    wait: Duration,
    /// How long a batch nobody asks for is kept before it is given back.
    hold: Duration,
    /// How long a statement in a batch may take, if not as long as a wait and its slack.
    statement: Option<Duration>,
}

impl Broker {
    /// Receives from a queue.
    pub fn receive(&self, queue: QueueName) -> Receive {
        Receive {
            broker: self.clone(),
            spec: ReceiveSpec::new(queue),
            waiting: Waiting { wait: DEFAULT_WAIT, hold: DEFAULT_HOLD, statement: None },
        }
    }
}

impl Receive {
    /// At most so many messages in a batch, at least 1; 100 if not set. A batch never has more than one conversation
    /// group.
    pub fn max_messages(mut self, count: u32) -> Self {
        self.spec.max_messages = count.max(1);
        self
    }

    /// Longest single wait at the server, 30 s if not set. A wait that ends without messages is renewed, so this does
    /// not bound [`Receiver::next`].
    pub fn wait(mut self, wait: Duration) -> Self {
        self.waiting.wait = wait;
        self
    }

    /// How long a batch is kept for the next caller when the one who asked has gone, 1 s if not set. Then the messages
    /// go back to the queue, without counting as a roll back.
    pub fn hold(mut self, hold: Duration) -> Self {
        self.waiting.hold = hold;
        self
    }

    /// How long one statement in a batch may take; as long as a [`wait`](Receive::wait) and 30 s if not set. One that takes
    /// longer fails with [`ErrorKind::Timeout`], which ends the connection and the batch: the messages go back.
    pub fn statement_timeout(mut self, limit: Duration) -> Self {
        self.waiting.statement = Some(limit);
        self
    }

    /// The longest body to take, in bytes; as long as the server stores (2 GiB) if not set. A message with a longer one
    /// stays on its queue and its body at the server: the batch ends before it, and when it is the first,
    /// [`Receiver::next`] fails with [`ErrorKind::BodyTooLarge`] until somebody takes it or ends its conversation.
    ///
    /// With a limit the server copies each batch once.
    pub fn max_body(mut self, bytes: u32) -> Self {
        self.spec.bodies = Bodies::UpTo(bytes);
        self
    }

    /// Only messages of this conversation. Its group lock is waited for.
    pub fn conversation(mut self, handle: ConversationHandle) -> Self {
        self.spec.selection = Selection::Conversation(handle);
        self
    }

    /// Only messages of this conversation group. Its lock is waited for.
    pub fn group(mut self, group: ConversationGroup) -> Self {
        self.spec.selection = Selection::Group(group);
        self
    }

    /// Opens a connection of its own and starts the receiver. Nothing is received before [`Receiver::next`] is called.
    ///
    /// # Errors
    /// What [`Broker::connect`] may answer. Cancelling closes the connection.
    pub async fn open(self) -> Result<Receiver> {
        let link = Link::open(self.broker, self.spec.queue.quoted(), self.waiting.wait).await?;
        let (stop, connectivity) = (CancellationToken::new(), link.connectivity());
        let (asks, queue) = mpsc::channel(1);
        tokio::spawn(Actor::new(link, self.waiting, stop.clone()).run(queue));
        Ok(Receiver { asks, spec: self.spec, connectivity, _stop: stop.drop_guard() })
    }

    /// Messages move into the table of work items, and come without their bodies.
    pub(crate) fn storing(mut self) -> Self {
        self.spec.bodies = Bodies::Stored;
        self
    }
}

/// Hands out batches of messages.
///
/// Dropping it stops the wait by closing its connection, unless a batch is still in somebody's hands: that one can be
/// decided first.
#[derive(Debug)]
pub struct Receiver {
    asks: mpsc::Sender<Ask>,
    spec: ReceiveSpec,
    connectivity: watch::Receiver<Connectivity>,
    _stop: DropGuard,
}

impl Receiver {
    /// Waits for messages, for ever if need be. A lost connection is replaced meanwhile.
    ///
    /// Only one batch is out at a time: while the last one is undecided this waits for its end.
    ///
    /// # Cancellation
    /// Safe. The wait goes on in the background and its batch goes to the next call; after
    /// [`hold`](Receive::hold) without one the messages go back to the queue.
    ///
    /// # Errors
    /// What the server answered to RECEIVE: the queue is disabled, missing or not permitted;
    /// [`ErrorKind::BodyTooLarge`] if a limit is set; after a lost connection a
    /// refused login, [`ErrorKind::BrokerDisabled`], or once [`ErrorKind::BrokerChanged`] when another broker answers
    /// under the same name. The receiver can be asked again.
    pub async fn next(&mut self) -> Result<Batch> {
        let batch = self.ask(self.spec.clone(), Patience::Waits).await?;
        batch.ok_or_else(|| Error::new(ErrorKind::Protocol, "a wait for messages ended without any"))
    }

    /// Like [`next`](Receiver::next), giving up after `limit`; the wait goes on as if the call had been dropped.
    ///
    /// # Errors
    /// As [`next`](Receiver::next).
    pub async fn next_within(&mut self, limit: Duration) -> Result<Option<Batch>> {
        match tokio::time::timeout(limit, self.next()).await {
            Ok(batch) => batch.map(Some),
            Err(_elapsed) => Ok(None),
        }
    }

    /// Follows whether it has its connection: [`next`](Self::next) makes a lost one anew without a word. Ends with the
    /// receiver.
    #[must_use]
    pub fn connectivity(&self) -> watch::Receiver<Connectivity> {
        self.connectivity.clone()
    }

    /// At most so many messages in the batches that are asked for from now on.
    pub(crate) fn set_max_messages(&mut self, count: u32) {
        self.spec.max_messages = count.max(1);
    }

    /// What is ready of `selection`, without waiting.
    pub(crate) async fn try_next(
        &mut self,
        selection: Selection,
        max_messages: u32,
    ) -> Result<Option<Batch>> {
        let spec = ReceiveSpec { selection, max_messages, ..self.spec.clone() };
        self.ask(spec, Patience::None).await
    }

    async fn ask(&self, spec: ReceiveSpec, patience: Patience) -> Result<Option<Batch>> {
        let (answer, batch) = oneshot::channel();
        self.asks.send(Ask { spec, patience, answer }).await.map_err(|_gone| stopped())?;
        batch.await.map_err(|_gone| stopped())?
    }
}

fn stopped() -> Error {
    Error::new(ErrorKind::Closed, "the receiver has stopped")
}
