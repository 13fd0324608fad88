//! A pool of long-lived dialogs, so that sending does not cost a BEGIN DIALOG and an end for each message.
//!
//! `core` decides, this file acts. Dialogs are begun on connections of our own, never in a transaction of the caller's
//! that may roll back. A dialog has one place, and a place is used by one call at a time, as the server's lock on the
//! conversation would force anyway.
//!
//! Retiring lets the *target end first*: the pool sends the end-of-stream message, the target's program ends the
//! conversation, its EndDialog arrives on our reply queue, and whoever reads that queue ends our side and tells the pool
//! with [`DialogPool::on_end_dialog`]. Ending first ourselves would lose errors of delivery and keep the target's endpoint
//! until the end of its lifetime (specification section 3.6).

mod borrowed;
mod cause;
mod core;
mod destination;
mod places;
mod rate;
mod reader;
mod repair;
mod send;
mod shared;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

pub(crate) use self::borrowed::BorrowedPlace;
use self::core::{Decision, Ledger};
use self::places::{Leased, Places};
use self::rate::TokenBucket;
use super::broker::Broker;
use super::delivery;
use super::error::{Error, ErrorKind, Result};
use super::ids::ConversationHandle;
use super::message::OutgoingMessage;
use super::names::{MessageTypeName, QueueName, ServiceName};
use super::outcome::SendOutcome;
use super::statements::{DialogSpec, Scope};

pub(crate) use self::core::MOST_RETIRING;
pub use self::core::PoolStats;
pub(crate) use self::destination::DEFAULT_PLACE_TIMEOUT;
pub use self::destination::{Destination, PoolOptions};
pub use self::reader::Repair;
pub(crate) use self::send::MOST_ATTEMPTS;

/// How often [`DialogPool::drain`] looks whether something is still pending: first, and at most.
const FIRST_LOOK: Duration = Duration::from_millis(10);
const LAST_LOOK: Duration = Duration::from_millis(500);

/// A pool of dialogs; clones share it. Made by [`Broker::dialog_pool`].
///
/// Dropping the last clone leaves its dialogs open on the server; [`close`](Self::close) retires them.
#[derive(Clone)]
pub struct DialogPool {
    shared: Arc<Shared>,
}

struct Shared {
    broker: Broker,
    options: PoolOptions,
    end_of_stream: Option<OutgoingMessage>,
    places: Places,
    ledger: Mutex<Ledger>,
    ended: Notify,
    bucket: Option<Mutex<TokenBucket>>,
    queues: Mutex<HashMap<ServiceName, QueueName>>,
    /// Routes whose places in the table are known to exist.
    tabled: Mutex<HashSet<i64>>,
    /// The dialog that each place of the table had when this process claimed it last, by route and place.
    claimed: Mutex<HashMap<(i64, i32), ConversationHandle>>,
}

impl DialogPool {
    pub(crate) fn new(broker: Broker, options: PoolOptions) -> Result<Self> {
        options.check()?;
        let empty = |message_type: MessageTypeName| OutgoingMessage::new(message_type, Vec::new());
        let shared = Shared {
            broker,
            end_of_stream: options.end_of_stream.clone().map(empty),
            places: Places::new(options.width),
            bucket: options.rate.map(|rate| Mutex::new(TokenBucket::new(rate, Instant::now()))),
            options,
            ledger: Mutex::default(),
            ended: Notify::new(),
            queues: Mutex::default(),
            tabled: Mutex::default(),
            claimed: Mutex::default(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Sends messages in order on one dialog of the pool, in one transaction and, up to 100 messages, one round trip. Each
    /// gets its own outcome.
    ///
    /// A dialog that turns out to be over is replaced. What was still pending on it is sent again in order on the new one,
    /// if its Error message is one of those that say nothing about the messages: the lifetime ran out, the peer's endpoint
    /// or its database's conversations are gone, the session key is lost. Otherwise it goes to the table of unsent messages
    /// (`sql/07-sending.sql`). Then the messages it refused are sent. A message may arrive twice across such a repair when
    /// the acknowledgement of the first delivery was lost: at least once across a resend. Messages with an
    /// [envelope](super::Envelope) keep their id, by which [`Worker::skip_repeated`](super::Worker::skip_repeated) handles each
    /// once. A transaction that was rolled back as a deadlock
    /// victim is repeated.
    ///
    /// # Errors
    /// Those that concern the whole call: no connection, no such service or contract,
    /// [`PendingUnknown`](ErrorKind::PendingUnknown) when a dialog is over and this login may not see what is pending on it,
    /// `Transient` when unread replies lie on a dialog that is over and nobody has received them after a few tries,
    /// `PoolExhausted` when others kept the place for longer than [`PoolOptions::place_timeout`], and
    /// `CommitUnknown`. The last is never repeated: the messages may have been sent.
    ///
    /// Dropping the future leaves it open whether the messages were sent; a dialog whose begin was interrupted counts as
    /// leaked.
    pub async fn send(
        &self,
        destination: &Destination,
        messages: &[OutgoingMessage],
    ) -> Result<Vec<SendOutcome>> {
        if messages.is_empty() {
            return Ok(Vec::new());
        }
        self.shared.keep_pace(messages.len()).await;
        if let Some(pool) = &self.shared.options.shared {
            return self.shared.send_shared(pool, destination, messages).await;
        }
        let mut attempt = 0;
        loop {
            match self.shared.send_once_leased(destination, messages).await {
                // Whoever receives the replies may need the place for the Error message behind them.
                Err(error) if send::is_unread(&error) && attempt + 1 < send::MOST_ATTEMPTS => {
                    send::pause(attempt).await;
                    attempt += 1;
                }
                outcomes => return outcomes,
            }
        }
    }

    /// Tells the pool that an EndDialog or Error message came in on a conversation. Returns whether it was one of the
    /// pool's; then the caller has only to end our side, as for any other conversation.
    ///
    /// Nothing is asked of the server, so what may be pending on the conversation is lost when our side ends. That is right
    /// for a retired dialog, which the target ended after its last message; for others use [`on_error`](Self::on_error).
    pub fn on_end_dialog(&self, conversation: ConversationHandle) -> bool {
        self.shared.note_end(conversation)
    }

    /// The dialogs that were retired and that the target has not ended yet.
    #[must_use]
    pub fn retiring(&self) -> Vec<ConversationHandle> {
        self.shared.ledger().retiring()
    }

    /// Waits until the target has ended every retired dialog, as far as [`on_end_dialog`](Self::on_end_dialog) is told.
    /// Bound it with a timeout. Dropping the future changes nothing.
    pub async fn drained(&self) {
        loop {
            let ended = self.shared.ended.notified();
            tokio::pin!(ended);
            ended.as_mut().enable();
            if self.retiring().is_empty() {
                return;
            }
            ended.await;
        }
    }

    /// Waits until nothing that was sent on the pool's dialogs waits for its delivery any more.
    ///
    /// Delivered means that it lies in the target's queue. The server tells nobody when that happens, so it is asked, at
    /// first every 10 ms, later every 500 ms.
    ///
    /// # Errors
    /// [`PendingUnknown`](ErrorKind::PendingUnknown) when this login may not know; `Transient` when messages are still
    /// pending after `timeout`, naming how many. Dropping the future changes nothing.
    pub async fn drain(&self, timeout: Duration) -> Result<()> {
        let deadline = tokio::time::Instant::now() + timeout;
        let mut pause = FIRST_LOOK;
        loop {
            let dialogs = self.shared.ledger().alive();
            let pending = delivery::count_pending(&self.shared.broker, &dialogs).await?;
            if pending == 0 {
                return Ok(());
            }
            if tokio::time::Instant::now() + pause > deadline {
                return Err(Error::new(
                    ErrorKind::Transient,
                    format!("{pending} messages were not delivered within {timeout:?}"),
                ));
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LAST_LOOK);
        }
    }

    /// The counts.
    #[must_use]
    pub fn stats(&self) -> PoolStats {
        self.shared.ledger().stats(self.shared.options.overdue_after, Instant::now())
    }

    /// How many dialogs probably stay behind on the server; see [`PoolStats::leaked`].
    #[must_use]
    pub fn leaked(&self) -> u64 {
        self.stats().leaked
    }

    /// Retires every open dialog: by the end-of-stream message when there is one, otherwise by ending our side first.
    ///
    /// The pool may be used afterwards; it begins new dialogs. The dialogs of a shared pool stay: other processes use them.
    ///
    /// # Errors
    /// The first one met; the dialogs not reached stay open and in the pool, so that it can be called again. Dropping the
    /// future does the same.
    pub async fn close(&self) -> Result<()> {
        let shared = &self.shared;
        shared.places.each(async |mut leased| shared.close_place(&mut leased).await).await
    }

    /// Retires the dialogs on which nothing was sent for so long, as [`close`](Self::close) does: what a peak has begun need
    /// not stay. Those in use are passed over. The dialogs of a shared pool stay.
    ///
    /// # Errors
    /// As [`close`](Self::close). Dropping the future stops between two dialogs.
    pub async fn retire_idle(&self, idle: Duration) -> Result<()> {
        for mut leased in self.shared.places.free() {
            if leased.is_idle(idle, Instant::now()) {
                self.shared.close_place(&mut leased).await?;
            }
        }
        Ok(())
    }

    pub(crate) fn broker(&self) -> &Broker {
        &self.shared.broker
    }

    /// How dialogs to a destination are begun.
    pub(crate) fn spec_of(&self, destination: &Destination) -> DialogSpec {
        destination.route.spec(&self.shared.options)
    }
}

impl fmt::Debug for DialogPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DialogPool")
            .field("options", &self.shared.options)
            .field("stats", &self.stats())
            .finish()
    }
}

impl Shared {
    async fn lease(&self, destination: &Destination) -> Result<(Leased, DialogSpec)> {
        let (spec, limit) = (destination.route.spec(&self.options), self.options.place_timeout);
        match tokio::time::timeout(limit, self.places.lease(destination)).await {
            Ok(leased) => Ok((leased, spec)),
            Err(_elapsed) => Err(Error::new(
                ErrorKind::PoolExhausted,
                format!(
                    "the dialogs to {} stayed in use for {limit:?}: does a batch that is not decided keep one?",
                    spec.to
                ),
            )),
        }
    }

    async fn send_once_leased(
        &self,
        destination: &Destination,
        messages: &[OutgoingMessage],
    ) -> Result<Vec<SendOutcome>> {
        let (mut leased, spec) = self.lease(destination).await?;
        let mut session = self.broker.session().await?;
        let sent = self.send_all(&mut session, Scope::Own, &mut leased, &spec, messages).await;
        self.remember(&leased, &spec);
        Ok(sent?.outcomes)
    }

    /// Waits until so many messages may be sent.
    async fn keep_pace(&self, messages: usize) {
        let Some(bucket) = &self.bucket else { return };
        let wait = held(bucket).take(messages, Instant::now());
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
    }

    async fn close_place(&self, leased: &mut Leased) -> Result<()> {
        let is_open = |dialog| self.ledger().is_open(dialog);
        let decision = leased.decide(&self::core::Limits::default(), Instant::now(), is_open);
        let (Decision::Reuse(dialog) | Decision::Verify(dialog)) = decision else { return Ok(()) };
        let mut session = self.broker.session().await?;
        let endpoint = repair::read_endpoint(&mut session, dialog).await?;
        let spec = endpoint.map(|endpoint| self.places.spec_of(dialog).unwrap_or(endpoint.spec));
        let Some(spec) = spec else {
            leased.clear();
            self.ledger().died(dialog);
            return Ok(());
        };
        self.retire(&mut session, Scope::Own, leased, &spec, dialog).await
    }

    fn note_end(&self, dialog: ConversationHandle) -> bool {
        let known = self.ledger().peer_ended(dialog);
        if known {
            self.places.forget(dialog);
            self.ended.notify_waiters();
        }
        known
    }

    /// Notes where the dialog of a place is used.
    fn remember(&self, leased: &Leased, spec: &DialogSpec) {
        if let Some((dialog, ..)) = leased.dialog() {
            self.places.settle_in(dialog, leased, spec);
        }
    }

    fn known_queue(&self, service: &ServiceName) -> Option<QueueName> {
        held(&self.queues).get(service).cloned()
    }

    fn learn_queue(&self, service: &ServiceName, queue: &QueueName) {
        held(&self.queues).insert(service.clone(), queue.clone());
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        held(&self.ledger)
    }
}

/// Held for one entry or look-up.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
