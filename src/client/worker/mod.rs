//! Workers: readers that take batches from a queue, hand each message to a handler, and treat the broker's own messages.
//!
//! The handler sees one message at a time and works in the receiving transaction. Ending conversations, counting failed
//! attempts and putting poison messages aside are done here. `reader.rs` holds one reader's loop, `handling.rs` the run
//! over a batch, `failing.rs` what becomes of a failed message, `handler.rs` and `delivery.rs` what a user meets;
//! `stored` is the mode for handlers that run too long for an open transaction.

mod batch_size;
mod breaker;
mod control;
mod crew;
mod delivery;
mod failing;
mod failure;
mod handler;
mod handling;
mod reader;
mod routes;
mod settings;
mod stored;
mod trouble;
mod upkeep;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::broker::Broker;

use super::error::{Error, ErrorKind, Result};
use super::names::QueueName;
use super::statements::{self, Statement};

pub use control::{WorkerHandle, WorkerStats};
pub use delivery::Delivery;
pub(crate) use failure::{panic_reason, reason_of};
pub use handler::{Handler, HandlerError, HandlerFn, Handling, handler_fn};
pub use routes::UnknownType;
pub(crate) use settings::{DEFAULT_READERS, DEFAULT_SHUTDOWN_BUDGET};
pub use stored::{LongHandler, LongWorker, WorkItem};
pub use trouble::{WhenBrokerChanges, WhenUnavailable};

use control::Control;
use crew::{Crew, Ended};
use reader::{Reader, Source};
use routes::Routes;
use settings::Settings;
use upkeep::{Kept, keep_small};

/// How long cancelled handlers' messages may take to be given back.
const GIVING_BACK: Duration = Duration::from_secs(5);

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
    /// The reins of this worker, to pause, resume or stop it while it runs and to see what it has done.
    #[must_use]
    pub fn handle(&self) -> WorkerHandle {
        WorkerHandle::new(Arc::clone(&self.control))
    }

    /// Works until `shutdown` is ready or [`WorkerHandle::stop`] is called, the queue stays idle, or something fails that
    /// trying again does not mend.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] for settings that contradict each other. Otherwise the first such failure: the queue is disabled
    /// or missing at the start, a permission or a table is missing, the login is refused. Messages in hand are given back.
    ///
    /// # Cancellation
    /// Dropping the future cancels handlers; their messages are given back. Attempts that a ledger has counted stay
    /// counted; a shutdown takes them back.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<StopReason> {
        self.settings.check()?;
        verify_tables(&self.broker, &self.settings.needed_tables()).await?;
        let control = Arc::clone(&self.control);
        let budget = self.settings.shutdown_budget;
        let staff = self.start().await?;
        supervise(staff, &control, budget, shutdown).await
    }

    /// Works until something fails that trying again does not mend, or [`WorkerHandle::stop`] is called.
    ///
    /// # Errors
    /// As [`run`](Worker::run).
    ///
    /// # Cancellation
    /// As [`run`](Worker::run).
    pub async fn run_forever(self) -> Result<StopReason> {
        self.run(std::future::pending()).await
    }

    async fn start(self) -> Result<Staff> {
        let settings = self.settings;
        let name = as_in_catalog(&self.broker, self.queue).await?;
        let receive = || settings.receive(&self.broker, &name);
        let mut receivers = Vec::new();
        for _ in 0..settings.readers {
            receivers.push((Source::Queue, receive().open().await?));
        }
        if settings.poison.retries().is_some() {
            receivers.push((Source::Retries, receive().open().await?));
        }
        let crew =
            Crew::new(self.broker.clone(), name.quoted(), self.routes, settings, Arc::clone(&self.control));
        crew.recall_exhausted().await?;
        let (crew, mut staff) = (Arc::new(crew), Staff::default());
        for (source, receiver) in receivers {
            let crew = Arc::clone(&crew);
            let reader = Reader { crew, receiver, size: settings.first_size(), source, has_looked: false };
            match source {
                Source::Queue => staff.readers.spawn(reader.run()),
                Source::Retries => staff.helpers.spawn(reader.run()),
            };
        }
        let mut kept = Vec::new();
        kept.extend(settings.poison.counts_in_table().then_some(Kept::Attempts));
        kept.extend(settings.remembers_handled.map(|age| Kept::Handled(name, age)));
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

/// The queue with its schema and in the catalog's spelling: rows of the library's tables are found by its name, so all who
/// work on a queue have to spell it alike. A queue that this login cannot see keeps the name it was given.
async fn as_in_catalog(broker: &Broker, queue: QueueName) -> Result<QueueName> {
    let mut session = broker.session().await?;
    let found = session.execute(&statements::queue_in_catalog(&queue.quoted())).await?;
    match found.first_row() {
        Some(row) => {
            QueueName::in_schema(row.get::<String>("schema_name")?, row.get::<String>("queue_name")?)
        }
        None => Ok(queue),
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
