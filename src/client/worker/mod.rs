//! Workers: readers that take batches from a queue, hand each message to a handler, and treat the broker's own messages.
//!
//! The handler sees one message at a time and works in the receiving transaction. Ending conversations, counting failed
//! attempts and parking poison messages are done here; `reader.rs` holds one reader's loop, `handler.rs` what a user
//! implements.

mod failure;
mod handler;
mod reader;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::broker::Broker;
use super::error::{Error, ErrorKind, Result};
use super::names::QueueName;
use super::poison::{PoisonAction, PoisonPolicy};
use super::statements::{self, Statement};

pub(crate) use failure::{panic_reason, reason_of};
pub use handler::{Delivery, Handler, HandlerError, HandlerFn, Handling, handler_fn};

use failure::FailedMessages;
use reader::Reader;

/// Defaults of a worker.
pub(crate) const DEFAULT_READERS: usize = 1;
pub(crate) const DEFAULT_SHUTDOWN_BUDGET: Duration = Duration::from_secs(30);

/// Why a worker stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// The caller asked for it.
    Shutdown,
    /// There was nothing to do for as long as [`Worker::exit_when_idle`] says.
    Idle,
}

/// Reads a queue with a handler; ends in [`run`](Worker::run).
#[must_use = "a worker does nothing before `run`"]
pub struct Worker<H> {
    broker: Broker,
    queue: QueueName,
    handler: Arc<H>,
    settings: Settings,
}

/// What all readers of a worker share.
#[derive(Clone, Copy, Debug)]
struct Settings {
    readers: usize,
    max_messages: u32,
    poison: PoisonPolicy,
    idle: Option<Duration>,
    shutdown_budget: Duration,
}

impl Broker {
    /// Works on a queue with a handler.
    pub fn worker<H: Handler>(&self, queue: QueueName, handler: H) -> Worker<H> {
        Worker {
            broker: self.clone(),
            queue,
            handler: Arc::new(handler),
            settings: Settings {
                readers: DEFAULT_READERS,
                max_messages: 100,
                poison: PoisonPolicy::default(),
                idle: None,
                shutdown_budget: DEFAULT_SHUTDOWN_BUDGET,
            },
        }
    }
}

impl<H: Handler> Worker<H> {
    /// How many conversation groups are worked on at the same time, each on a connection of its own; 1 if not set.
    pub fn readers(mut self, count: usize) -> Self {
        self.settings.readers = count.max(1);
        self
    }

    /// At most so many messages in one transaction, 100 if not set. When a handler fails, the work on the whole batch is
    /// undone.
    pub fn max_messages(mut self, count: u32) -> Self {
        self.settings.max_messages = count;
        self
    }

    /// What happens to messages whose handler fails; three attempts, then the dead letters, if not set.
    pub fn poison(mut self, policy: PoisonPolicy) -> Self {
        self.settings.poison = policy;
        self
    }

    /// Stop when no reader has had a message for so long, as a program started by an activator should; never if not set.
    pub fn exit_when_idle(mut self, idle: Duration) -> Self {
        self.settings.idle = Some(idle);
        self
    }

    /// How long handlers may finish what they have begun after a shutdown was asked for, 30 s if not set. Then they are
    /// cancelled and their messages given back.
    pub fn shutdown_budget(mut self, budget: Duration) -> Self {
        self.settings.shutdown_budget = budget;
        self
    }

    /// Works until `shutdown` is ready, the queue stays idle, or something fails that trying again does not mend.
    ///
    /// # Errors
    /// The first such failure: the queue is disabled or missing, a permission or the tables of the poison handling are
    /// missing, the login is refused. Messages in hand are given back.
    ///
    /// # Cancellation
    /// Dropping the future cancels handlers; their messages are given back.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<StopReason> {
        verify_tables(&self.broker, self.settings.poison).await?;
        let stop = CancellationToken::new();
        let mut readers = self.start(&stop).await?;
        tokio::select! {
            outcome = all_ended(&mut readers) => return outcome.map(|()| StopReason::Idle),
            () = shutdown => stop.cancel(),
        }
        match tokio::time::timeout(self.settings.shutdown_budget, all_ended(&mut readers)).await {
            Ok(outcome) => outcome.map(|()| StopReason::Shutdown),
            Err(_elapsed) => {
                tracing::warn!(
                    budget = ?self.settings.shutdown_budget,
                    "handlers did not finish in time and are cancelled; their messages are given back"
                );
                Ok(StopReason::Shutdown)
            }
        }
    }

    async fn start(&self, stop: &CancellationToken) -> Result<JoinSet<Result<()>>> {
        let failed = Arc::new(FailedMessages::default());
        let mut readers = JoinSet::new();
        for _ in 0..self.settings.readers {
            let receive = self.broker.receive(self.queue.clone()).max_messages(self.settings.max_messages);
            let reader = Reader {
                broker: self.broker.clone(),
                receiver: receive.open().await?,
                handler: Arc::clone(&self.handler),
                poison: self.settings.poison,
                idle: self.settings.idle,
                failed: Arc::clone(&failed),
                stop: stop.clone(),
            };
            readers.spawn(reader.run());
        }
        Ok(readers)
    }
}

/// Missing tables are found before the first message fails, not after.
pub(crate) async fn verify_tables(broker: &Broker, poison: PoisonPolicy) -> Result<()> {
    if poison.action() != PoisonAction::Park {
        return Ok(());
    }
    let results = broker.session().await?.execute(&Statement::new(statements::POISON_TABLES)).await?;
    let row = results.first_row().ok_or_else(missing_tables)?;
    let known = [row.get::<Option<i32>>("attempts")?, row.get::<Option<i32>>("dead_letters")?];
    if known.iter().all(Option::is_some) { Ok(()) } else { Err(missing_tables()) }
}

/// Waits for all readers; the first failure ends the others.
async fn all_ended(readers: &mut JoinSet<Result<()>>) -> Result<()> {
    while let Some(ended) = readers.join_next().await {
        ended.map_err(|panic| {
            Error::new(ErrorKind::Closed, "a reader of the worker died").with_cause(panic)
        })??;
    }
    Ok(())
}

fn missing_tables() -> Error {
    Error::new(
        ErrorKind::ObjectMissing,
        "the tables ssbroker.attempts and ssbroker.dead_letters are missing: run sql/05-dead-letters.sql, or choose \
         another poison policy",
    )
}
