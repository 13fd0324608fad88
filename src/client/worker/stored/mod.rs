//! Store and commit: for handlers that run too long for an open transaction.
//!
//! Messages move from the queue into the table `ssbroker.work_items` and that is committed at once, so no conversation
//! group stays locked and no transaction open. Work happens under a lease, which a heartbeat extends; when the holder
//! dies the lease runs out and somebody else takes the item over. `storing.rs` fills the table, `leasing.rs` works it off,
//! `lease.rs` holds one lease.

mod lease;
mod leasing;
mod storing;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use super::batch_size::BatchSize;
use super::control::{Control, WorkerHandle};
use super::delivery::Delivery;
use super::handler::HandlerError;
use super::upkeep::{Kept, keep_small};
use super::{Settings, Staff, StopReason, as_in_catalog, missing_table, supervise, verify_tables};
use crate::client::broker::Broker;
use crate::client::error::Result;
use crate::client::message::Message;
use crate::client::names::QueueName;
use crate::client::poison::{PoisonAction, PoisonPolicy};

use leasing::Leaser;
use storing::Storer;

/// Treats messages in two steps: long work without a transaction, then a short one.
///
/// The work happens at least once: when a process dies or loses its lease, it is done again elsewhere with
/// [`WorkItem::attempt`] above 1. What `complete` does in the database happens exactly once.
pub trait LongHandler: Send + Sync + 'static {
    /// What the work hands on to its completion.
    type Output: Send;

    /// Does the work, as long as it takes. No transaction is open. Dropped when the lease is lost or a shutdown's budget is
    /// spent.
    fn work(&self, item: &WorkItem) -> impl Future<Output = Result<Self::Output, HandlerError>> + Send;

    /// Ends the work in a transaction that also removes the message from the table: replies, business data, the end of the
    /// conversation.
    fn complete(
        &self,
        output: Self::Output,
        delivery: &mut Delivery<'_>,
    ) -> impl Future<Output = Result<(), HandlerError>> + Send;
}

/// A stored message under a lease.
#[derive(Debug)]
pub struct WorkItem {
    pub(super) id: i64,
    pub(super) lease: uuid::Uuid,
    pub(super) attempt: u32,
    pub(super) last_reason: Option<String>,
    pub(super) message: Message,
}

impl WorkItem {
    /// The message: one of the application or a conversation timer.
    #[must_use]
    pub fn message(&self) -> &Message {
        &self.message
    }

    /// Which attempt this is, from 1. Above 1 the work may have been done before, in part or whole.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Why the last attempt failed, if it said so.
    #[must_use]
    pub fn last_reason(&self) -> Option<&str> {
        self.last_reason.as_deref()
    }
}

/// Reads a queue into a table and works that off; ends in [`run`](LongWorker::run).
///
/// Order within a conversation group is kept: only the oldest item of a group is ever under lease.
#[must_use = "a worker does nothing before `run`"]
pub struct LongWorker<H> {
    broker: Broker,
    queue: QueueName,
    handler: H,
    settings: Settings,
    lease: Duration,
    control: Arc<Control>,
}

impl Broker {
    /// Works on a queue with a handler that runs too long for an open transaction. Needs `sql/11-work-items.sql` and
    /// `sql/05-dead-letters.sql`.
    pub fn long_worker<H: LongHandler>(&self, queue: QueueName, handler: H) -> LongWorker<H> {
        LongWorker {
            broker: self.clone(),
            queue,
            handler,
            settings: Settings::default(),
            lease: Duration::from_secs(60),
            control: Arc::new(Control::new()),
        }
    }
}

impl<H: LongHandler> LongWorker<H> {
    /// How many items are worked on at the same time; 1 if not set.
    pub fn tasks(mut self, count: usize) -> Self {
        self.settings.readers = count.max(1);
        self
    }

    /// How long an item stays ours without a heartbeat, 60 s if not set, at least 1 s. The heartbeat comes three times as
    /// often. After the death of a process its items wait for so long.
    pub fn lease(mut self, span: Duration) -> Self {
        self.lease = span.max(Duration::from_secs(1));
        self
    }

    /// What happens to messages whose work fails; three attempts, then the dead letters, if not set. Every attempt counts,
    /// those of dead processes included. Later attempts follow the policy's schedule, without one after growing pauses
    /// from a second; the item keeps its place in its conversation group meanwhile.
    pub fn poison(mut self, policy: PoisonPolicy) -> Self {
        self.settings.poison = policy;
        self
    }

    /// Stop when the queue had no message for so long and no item is left. Until then the queue is read, however long an item
    /// waits for its next attempt.
    pub fn drain_then_exit(mut self, idle: Duration) -> Self {
        self.settings.idle = Some(idle);
        self
    }

    /// How long the work in hand may take after a shutdown was asked for, 30 s if not set. Then it is cancelled and its
    /// items are free at once, without an attempt counted.
    pub fn shutdown_budget(mut self, budget: Duration) -> Self {
        self.settings.shutdown_budget = budget;
        self
    }

    /// How long the work on one item may take, apart from its completion. Then it is dropped, which counts as a failed
    /// attempt. No limit if not set.
    pub fn work_timeout(mut self, limit: Duration) -> Self {
        self.settings.handler_timeout = Some(limit);
        self
    }

    /// How long one statement of a completion may take; see [`Worker::statement_timeout`](super::Worker::statement_timeout).
    pub fn statement_timeout(mut self, limit: Duration) -> Self {
        self.settings.statement_timeout = Some(limit);
        self
    }

    /// How long a shutdown may take before whoever stops this program kills it; see
    /// [`Worker::stopped_within`](super::Worker::stopped_within).
    pub fn stopped_within(mut self, limit: Duration) -> Self {
        self.settings.stopped_within = Some(limit);
        self
    }

    /// Does not complete messages again that were completed before, as [`Worker::skip_repeated`](super::Worker::skip_repeated)
    /// does; their work may be done twice.
    pub fn skip_repeated(mut self, remember: Duration) -> Self {
        self.settings.remembers_handled = Some(remember);
        self
    }

    /// The reins of this worker.
    #[must_use]
    pub fn handle(&self) -> WorkerHandle {
        WorkerHandle::new(Arc::clone(&self.control))
    }

    /// Works until `shutdown` is ready or [`WorkerHandle::stop`] is called, nothing is left to do, or something fails that
    /// trying again does not mend.
    ///
    /// # Errors
    /// As [`Worker::run`](super::Worker::run).
    ///
    /// # Cancellation
    /// Dropping the future drops the work in hand; its items are free when their leases have run out.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<StopReason> {
        if self.settings.poison.action() != PoisonAction::Park {
            return Err(missing_table("dead_letters").during("a long worker parks what fails"));
        }
        self.settings.check()?;
        let mut tables = vec!["work_items", "dead_letters"];
        tables.extend(self.settings.remembers_handled.map(|_| "handled_messages"));
        verify_tables(&self.broker, &tables).await?;
        let control = Arc::clone(&self.control);
        let budget = self.settings.shutdown_budget;
        let staff = self.start().await?;
        supervise(staff, &control, budget, shutdown).await
    }

    async fn start(self) -> Result<Staff> {
        let mut staff = Staff::default();
        let queue = as_in_catalog(&self.broker, self.queue).await?;
        let receiver = self.broker.receive(queue.clone()).storing().open().await?;
        let storer = Storer {
            broker: self.broker.clone(),
            receiver,
            queue: queue.quoted(),
            control: Arc::clone(&self.control),
            settings: self.settings,
            size: BatchSize::adaptive(),
        };
        staff.readers.spawn(storer.run());
        if let Some(age) = self.settings.remembers_handled {
            let (kept, stop) = (Kept::Handled(queue.clone(), age), self.control.stop.clone());
            staff.upkeep.spawn(keep_small(self.broker.clone(), kept, stop));
        }
        let handler = Arc::new(self.handler);
        for _ in 0..self.settings.readers {
            let leaser = Leaser {
                broker: self.broker.clone(),
                receiver: self.settings.receive(&self.broker, &queue).open().await?,
                queue: queue.quoted(),
                handler: Arc::clone(&handler),
                settings: self.settings,
                span: self.lease,
                control: Arc::clone(&self.control),
            };
            staff.helpers.spawn(leaser.run());
        }
        Ok(staff)
    }
}
