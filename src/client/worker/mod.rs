//! Workers: readers that take batches from a queue, hand each message to a handler, and treat the broker's own messages.
//!
//! The handler sees one message at a time and works in the receiving transaction. Ending conversations, counting failed
//! attempts and putting poison messages aside are done here. `reader.rs` holds one reader's loop, `handling.rs` the run
//! over a batch, `failing.rs` what becomes of a failed message, `handler.rs` and `delivery.rs` what a user meets;
//! `stored` is the mode for handlers that run too long for an open transaction.

mod batch_size;
mod control;
mod crew;
mod delivery;
mod failing;
mod failure;
mod handler;
mod handling;
mod reader;
mod routes;
mod stored;
mod trouble;
mod upkeep;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::broker::Broker;
use super::error::{Error, ErrorKind, Result};
use super::names::{MessageTypeName, QueueName};
use super::poison::{PoisonAction, PoisonPolicy};
use super::statements::{self, LEDGER_SIZES, Statement};

pub use control::{WorkerHandle, WorkerStats};
pub use delivery::Delivery;
pub(crate) use failure::{panic_reason, reason_of};
pub use handler::{Handler, HandlerError, HandlerFn, Handling, handler_fn};
pub use routes::UnknownType;
pub use stored::{LongHandler, LongWorker, WorkItem};
pub use trouble::{WhenBrokerChanges, WhenUnavailable};

use batch_size::BatchSize;
use control::Control;
use crew::{Crew, Ended};
use reader::{Reader, Source};
use routes::Routes;
use upkeep::{Kept, keep_small};

/// How long cancelled handlers' messages may take to be given back.
const GIVING_BACK: Duration = Duration::from_secs(5);

/// Defaults of a worker.
pub(crate) const DEFAULT_READERS: usize = 1;
pub(crate) const DEFAULT_SHUTDOWN_BUDGET: Duration = Duration::from_secs(30);

/// Why a worker stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// The caller asked for it.
    Shutdown,
    /// There was nothing to do for as long as [`Worker::drain_then_exit`] says.
    Idle,
    /// Another broker answers under the same name, and the worker was to stop then; see [`WhenBrokerChanges`].
    BrokerChanged,
}

/// Reads a queue with a handler; ends in [`run`](Worker::run).
///
/// Everything it holds is bounded: readers times batch size messages in hand, 10,000 failed messages remembered, the
/// broker's connection pool, pauses of at most two seconds between attempts.
#[must_use = "a worker does nothing before `run`"]
pub struct Worker<H> {
    broker: Broker,
    queue: QueueName,
    routes: Routes<H>,
    settings: Settings,
    control: Arc<Control>,
}

/// What all readers of a worker share.
#[derive(Clone, Copy, Debug)]
struct Settings {
    readers: usize,
    size: BatchSize,
    poison: PoisonPolicy,
    idle: Option<Duration>,
    shutdown_budget: Duration,
    unavailable: WhenUnavailable,
    broker_changes: WhenBrokerChanges,
    /// How long handled messages are remembered, if repeated ones are skipped.
    remembers_handled: Option<Duration>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            readers: DEFAULT_READERS,
            size: BatchSize::adaptive(),
            poison: PoisonPolicy::default(),
            idle: None,
            shutdown_budget: DEFAULT_SHUTDOWN_BUDGET,
            unavailable: WhenUnavailable::default(),
            broker_changes: WhenBrokerChanges::default(),
            remembers_handled: None,
        }
    }
}

impl Broker {
    /// Works on a queue with a handler for all message types, or for those that have none of their own by
    /// [`Worker::on`]. [`UnknownType`] can stand for it.
    pub fn worker<H: Handler>(&self, queue: QueueName, handler: H) -> Worker<H> {
        Worker {
            broker: self.clone(),
            queue,
            routes: Routes::new(handler),
            settings: Settings::default(),
            control: Arc::new(Control::new()),
        }
    }
}

impl<H: Handler> Worker<H> {
    /// Treats messages of one type with a handler of their own. The hooks for the broker's own messages stay with the
    /// main handler.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] for a faulty name.
    pub fn on<M>(mut self, message_type: M, handler: impl Handler) -> Result<Self>
    where
        M: TryInto<MessageTypeName>,
        Error: From<M::Error>,
    {
        self.routes.add(&message_type.try_into()?, handler);
        Ok(self)
    }

    /// How many conversation groups are worked on at the same time, each on a connection of its own; 1 if not set.
    pub fn readers(mut self, count: usize) -> Self {
        self.settings.readers = count.max(1);
        self
    }

    /// At most so many messages in one transaction. If not set the worker finds a size by itself, between 1 and 1,024:
    /// larger while batches come full and are over quickly, smaller when they last. With a ledger never more than 200.
    pub fn max_messages(mut self, count: u32) -> Self {
        self.settings.size = BatchSize::Fixed(count.max(1));
        self
    }

    /// What happens to messages whose handler fails; three attempts, then the dead letters, if not set.
    pub fn poison(mut self, policy: PoisonPolicy) -> Self {
        self.settings.poison = policy;
        self
    }

    /// Stop when no reader has had a message for so long and nothing put off is left, as a program started by an
    /// activator should; never if not set.
    pub fn drain_then_exit(mut self, idle: Duration) -> Self {
        self.settings.idle = Some(idle);
        self
    }

    /// How long handlers may finish what they have begun after a shutdown was asked for, 30 s if not set. Then they are
    /// cancelled and their messages given back.
    pub fn shutdown_budget(mut self, budget: Duration) -> Self {
        self.settings.shutdown_budget = budget;
        self
    }

    /// What to do when the queue is switched off or dropped, or the broker disabled, after the worker has seen it at
    /// work; it waits if not set. At the start such a fault always ends the worker.
    pub fn when_unavailable(mut self, reaction: WhenUnavailable) -> Self {
        self.settings.unavailable = reaction;
        self
    }

    /// What to do when another broker answers after a lost connection; the worker goes on if not set.
    pub fn when_broker_changes(mut self, reaction: WhenBrokerChanges) -> Self {
        self.settings.broker_changes = reaction;
        self
    }

    /// Takes messages that were handled before off the queue without handling them again: those whose
    /// [envelope](super::Envelope) has a message id that a handled message of this queue had. Senders send at least once: a
    /// message comes again when its sender could not know that it had arrived. Messages without an envelope are always
    /// handled.
    ///
    /// The id is noted in the transaction that handles the message, in the table of `sql/12-handled-messages.sql`, and
    /// remembered for `remember`; take more than the longest time a sender may be away. Costs one request more for each
    /// message. Nothing is skipped if not set.
    pub fn skip_repeated(mut self, remember: Duration) -> Self {
        self.settings.remembers_handled = Some(remember);
        self
    }

    /// The reins of this worker, to pause, resume or stop it while it runs and to see what it has done.
    #[must_use]
    pub fn handle(&self) -> WorkerHandle {
        WorkerHandle::new(Arc::clone(&self.control))
    }

    /// Works until `shutdown` is ready or [`WorkerHandle::stop`] is called, the queue stays idle, or something fails that
    /// trying again does not mend.
    ///
    /// # Errors
    /// The first such failure: the queue is disabled or missing at the start, a permission or a table of the poison
    /// handling is missing, the login is refused. Messages in hand are given back.
    ///
    /// # Cancellation
    /// Dropping the future cancels handlers; their messages are given back. Attempts that a ledger has counted stay
    /// counted; a shutdown takes them back.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<StopReason> {
        verify_tables(&self.broker, &self.needed_tables()).await?;
        let control = Arc::clone(&self.control);
        let budget = self.settings.shutdown_budget;
        let staff = self.start().await?;
        supervise(staff, &control, budget, shutdown).await
    }

    /// Works until something fails that trying again does not mend, or [`WorkerHandle::stop`] is called.
    ///
    /// # Errors
    /// As [`run`](Worker::run).
    pub async fn run_forever(self) -> Result<StopReason> {
        self.run(std::future::pending()).await
    }

    fn needed_tables(&self) -> Vec<&'static str> {
        let policy = self.settings.poison;
        let mut tables = Vec::new();
        if policy.counts_in_table() {
            tables.push("attempts");
        }
        if policy.action() == PoisonAction::Park {
            tables.push("dead_letters");
        }
        if policy.retries().is_some() {
            tables.push("retries");
        }
        if self.settings.remembers_handled.is_some() {
            tables.push("handled_messages");
        }
        tables
    }

    async fn start(self) -> Result<Staff> {
        let settings = self.settings;
        let receive = || self.broker.receive(self.queue.clone());
        let mut receivers = Vec::new();
        for _ in 0..settings.readers {
            receivers.push((Source::Queue, receive().open().await?));
        }
        if settings.poison.retries().is_some() {
            receivers.push((Source::Retries, receive().open().await?));
        }
        let queue = self.queue.quoted();
        let crew = Crew::new(self.broker.clone(), queue, self.routes, settings, Arc::clone(&self.control));
        let (crew, mut staff) = (Arc::new(crew), Staff::default());
        for (source, receiver) in receivers {
            let crew = Arc::clone(&crew);
            let reader = Reader { crew, receiver, size: first_size(settings), source, has_looked: false };
            match source {
                Source::Queue => staff.readers.spawn(reader.run()),
                Source::Retries => staff.helpers.spawn(reader.run()),
            };
        }
        let mut kept = Vec::new();
        kept.extend(settings.poison.counts_in_table().then_some(Kept::Attempts));
        kept.extend(settings.remembers_handled.map(|age| Kept::Handled(self.queue, age)));
        for kept in kept {
            staff.upkeep.spawn(keep_small(self.broker.clone(), kept, self.control.stop.clone()));
        }
        Ok(staff)
    }
}

/// The tasks of a worker; dropping it ends them.
#[derive(Default)]
struct Staff {
    /// They decide when the worker is idle.
    readers: JoinSet<Result<Ended>>,
    /// They end when the readers have ended and nothing is left for them.
    helpers: JoinSet<Result<Ended>>,
    upkeep: JoinSet<()>,
}

impl Staff {
    /// Waits for all tasks; the first failure ends the others.
    async fn ended(&mut self, control: &Control) -> Result<StopReason> {
        let mut reason = StopReason::Idle;
        while !self.readers.is_empty() || !self.helpers.is_empty() {
            if self.readers.is_empty() {
                control.drained.cancel();
            }
            let ended = tokio::select! {
                Some(ended) = self.readers.join_next() => ended,
                Some(ended) = self.helpers.join_next() => ended,
                else => break,
            };
            match ended.map_err(died)?? {
                Ended::Stopped => reason = StopReason::Shutdown,
                Ended::BrokerChanged => return Ok(StopReason::BrokerChanged),
                Ended::Idle => {}
            }
        }
        Ok(reason)
    }
}

/// Waits for the end of the tasks, or for the shutdown and then for them to finish.
async fn supervise(
    mut staff: Staff,
    control: &Control,
    budget: Duration,
    shutdown: impl Future<Output = ()>,
) -> Result<StopReason> {
    tokio::select! {
        outcome = staff.ended(control) => return outcome,
        () = shutdown => control.stop.cancel(),
        () = control.stop.cancelled() => {}
    }
    if let Ok(outcome) = tokio::time::timeout(budget, staff.ended(control)).await {
        return outcome.map(|_| StopReason::Shutdown);
    }
    tracing::warn!(
        ?budget,
        "handlers did not finish in time and are cancelled; their messages are given back"
    );
    control.cut.cancel();
    if let Ok(outcome) = tokio::time::timeout(GIVING_BACK, staff.ended(control)).await {
        outcome?;
    }
    Ok(StopReason::Shutdown)
}

/// A ledger counts a batch in one statement.
fn first_size(settings: Settings) -> BatchSize {
    let most = LEDGER_SIZES[LEDGER_SIZES.len() - 1] as u32;
    match settings.size {
        _ if !settings.poison.has_ledger() => settings.size,
        BatchSize::Fixed(size) => BatchSize::Fixed(size.min(most)),
        BatchSize::Adaptive(_) => BatchSize::Fixed(most),
    }
}

/// Missing tables are found before the first message fails, not after.
pub(crate) async fn verify_tables(broker: &Broker, needed: &[&str]) -> Result<()> {
    if needed.is_empty() {
        return Ok(());
    }
    let mut session = broker.session().await?;
    let results = session.execute(&Statement::new(statements::MESSAGE_TABLES)).await?;
    let row = results.first_row().ok_or_else(|| Error::new(ErrorKind::Protocol, "no answer about tables"))?;
    for table in needed {
        if row.get::<Option<i32>>(*table)?.is_none() {
            return Err(missing_table(table));
        }
    }
    Ok(())
}

fn missing_table(table: &str) -> Error {
    let script = match table {
        "retries" => "10-retries.sql",
        "work_items" => "11-work-items.sql",
        "handled_messages" => "12-handled-messages.sql",
        _ => "05-dead-letters.sql",
    };
    let text =
        format!("the table ssbroker.{table} is missing: run sql/{script}, or do without what needs it");
    Error::new(ErrorKind::ObjectMissing, text)
}

fn died(panic: tokio::task::JoinError) -> Error {
    Error::new(ErrorKind::Closed, "a task of the worker died").with_cause(panic)
}
