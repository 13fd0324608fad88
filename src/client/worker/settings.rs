//! What a worker can be told before it runs, and which settings go together.

use std::time::Duration;

use super::batch_size::BatchSize;
use super::breaker::BreakerPolicy;
use super::handler::Handler;
use super::trouble::{WhenBrokerChanges, WhenUnavailable};
use super::{GIVING_BACK, Worker};
use crate::client::broker::Broker;
use crate::client::dialog_pool::DialogPool;
use crate::client::error::{Error, Result};
use crate::client::names::{MessageTypeName, QueueName, ServiceName};
use crate::client::poison::{PoisonAction, PoisonPolicy};
use crate::client::receive::Receive;
use crate::client::statements::LEDGER_SIZES;

/// Defaults of a worker.
pub(crate) const DEFAULT_READERS: usize = 1;
pub(crate) const DEFAULT_SHUTDOWN_BUDGET: Duration = Duration::from_secs(30);

/// What all readers of a worker share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) readers: usize,
    pub(super) size: BatchSize,
    pub(super) poison: PoisonPolicy,
    pub(super) idle: Option<Duration>,
    pub(super) shutdown_budget: Duration,
    /// The longest a shutdown may take for those around this program.
    pub(super) stopped_within: Option<Duration>,
    pub(super) unavailable: WhenUnavailable,
    pub(super) broker_changes: WhenBrokerChanges,
    /// How long handled messages are remembered, if repeated ones are skipped.
    pub(super) remembers_handled: Option<Duration>,
    /// How long one call of a handler may take.
    pub(super) handler_timeout: Option<Duration>,
    /// How long one statement of a handler may take, if not as long as a receiver allows.
    pub(super) statement_timeout: Option<Duration>,
    pub(super) breaker: Option<BreakerPolicy>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            readers: DEFAULT_READERS,
            size: BatchSize::adaptive(),
            poison: PoisonPolicy::default(),
            idle: None,
            shutdown_budget: DEFAULT_SHUTDOWN_BUDGET,
            stopped_within: None,
            unavailable: WhenUnavailable::default(),
            broker_changes: WhenBrokerChanges::default(),
            remembers_handled: None,
            handler_timeout: None,
            statement_timeout: None,
            breaker: None,
        }
    }
}

impl Settings {
    /// Contradictions are found at the start, not when they hurt.
    pub(super) fn check(&self) -> Result<()> {
        if self.breaker.is_some() && self.poison.retries().is_none() {
            return Err(Error::config(
                "a breaker puts messages off, so the poison policy needs a schedule of later attempts",
            ));
        }
        let needed = self.shutdown_budget.saturating_add(GIVING_BACK);
        match self.stopped_within {
            Some(limit) if needed > limit => Err(Error::config(format!(
                "a shutdown may take {needed:?} (a budget of {:?} and {GIVING_BACK:?} to give messages back), more than the \
                 {limit:?} there are",
                self.shutdown_budget
            ))),
            _ => Ok(()),
        }
    }

    /// A receiver as these settings want it.
    pub(super) fn receive(&self, broker: &Broker, queue: &QueueName) -> Receive {
        let receive = broker.receive(queue.clone());
        match self.statement_timeout {
            Some(limit) => receive.statement_timeout(limit),
            None => receive,
        }
    }

    /// The library's tables it cannot work without.
    pub(super) fn needed_tables(&self) -> Vec<&'static str> {
        let policy = self.poison;
        let parks = policy.action() == PoisonAction::Park;
        [
            (policy.counts_in_table(), "attempts"),
            (parks, "dead_letters"),
            (policy.retries().is_some(), "retries"),
            (self.remembers_handled.is_some(), "handled_messages"),
        ]
        .into_iter()
        .filter_map(|(needed, table)| needed.then_some(table))
        .collect()
    }

    /// A ledger counts a batch in one statement.
    pub(super) fn first_size(&self) -> BatchSize {
        let most = LEDGER_SIZES[LEDGER_SIZES.len() - 1] as u32;
        match self.size {
            _ if !self.poison.has_ledger() => self.size,
            BatchSize::Fixed(size) => BatchSize::Fixed(size.min(most)),
            BatchSize::Adaptive(_) => BatchSize::Fixed(most),
        }
    }
}

impl<H: Handler> Worker<H> {
    /// Treats messages of one type with a handler of their own. The hooks for the broker's own messages stay with the
    /// main handler.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::client::ErrorKind::Config) for a faulty name.
    pub fn on<M>(mut self, message_type: M, handler: impl Handler) -> Result<Self>
    where
        M: TryInto<MessageTypeName>,
        Error: From<M::Error>,
    {
        self.routes.add(&message_type.try_into()?, handler);
        Ok(self)
    }

    /// Treats everything that comes for one of the services of the queue, the broker's own messages included, with a handler
    /// of its own. It comes before the handlers of message types.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::client::ErrorKind::Config) for a faulty name.
    pub fn at_service<S>(mut self, service: S, handler: impl Handler) -> Result<Self>
    where
        S: TryInto<ServiceName>,
        Error: From<S::Error>,
    {
        self.routes.add_service(&service.try_into()?, handler);
        Ok(self)
    }

    /// For a queue of the sending side: Error and EndDialog messages go to this pool after the hooks have heard of them, so
    /// that what is pending on a failed dialog is sent again or kept, as [`DialogPool::on_error`] says, before our side of
    /// the conversation is ended. Without it the worker ends our side at once, and what was pending is gone.
    pub fn repairs(mut self, pool: &DialogPool) -> Self {
        self.routes.set_pool(pool.clone());
        self
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
    /// activator should; never if not set. All readers end together: while something is put off, be it for hours, the queue is
    /// read, since nobody may start another program to take it. What another process puts off counts too.
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

    /// How long a shutdown may take before whoever stops this program kills it: the worker does not start if its budget and
    /// five seconds for giving messages back are more than that. Not checked if not set.
    pub fn stopped_within(mut self, limit: Duration) -> Self {
        self.settings.stopped_within = Some(limit);
        self
    }

    /// How long one call of a handler may take. Then it is cancelled, which counts as a failed attempt, and the message
    /// becomes a dead letter with the cause [`TimedOut`](crate::client::DeadLetterCause::TimedOut) in the end. Code that does
    /// not await anything cannot be cancelled, and a statement it has sent still runs to its end or to the
    /// [`statement_timeout`](Self::statement_timeout). No limit if not set.
    pub fn handler_timeout(mut self, limit: Duration) -> Self {
        self.settings.handler_timeout = Some(limit);
        self
    }

    /// How long one statement of a handler may take, 60 s if not set. The server is asked no longer then: the connection is
    /// given up, the messages go back, and it counts as a failed attempt even if the handler says nothing of it.
    pub fn statement_timeout(mut self, limit: Duration) -> Self {
        self.settings.statement_timeout = Some(limit);
        self
    }

    /// Stops calling a handler that only fails: after `failures` in a row with messages of one type, messages of that type
    /// are put off for `pause` without an attempt; then one is tried, and its success lets the others through. Refused
    /// messages do not count, since they say nothing about the handler. Needs a
    /// [`RetrySchedule`](crate::client::RetrySchedule), in whose table they wait; their place in the order of their
    /// conversation is given up. No breaker if not set.
    pub fn breaker(mut self, failures: u32, pause: Duration) -> Self {
        self.settings.breaker = Some(BreakerPolicy::new(failures, pause));
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
    /// [envelope](crate::client::Envelope) has a message id that a handled message of this queue had. Senders send at least once: a
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::poison::RetrySchedule;

    #[test]
    fn a_shutdown_that_does_not_fit_into_the_time_there_is_is_refused_at_the_start() {
        let budget = |budget, limit| Settings {
            shutdown_budget: Duration::from_secs(budget),
            stopped_within: Some(Duration::from_secs(limit)),
            ..Settings::default()
        };
        assert!(budget(20, 30).check().is_ok() && budget(25, 30).check().is_ok());
        let error = budget(26, 30).check().unwrap_err().to_string();
        assert!(error.contains("31s") && error.contains("30s there are"), "{error}");
    }

    #[test]
    fn a_breaker_needs_somewhere_to_put_messages_off_to() {
        let breaker = Some(BreakerPolicy::new(3, Duration::from_secs(1)));
        let without = Settings { breaker, ..Settings::default() };
        assert!(without.check().unwrap_err().to_string().contains("schedule"));
        let poison = PoisonPolicy::default().with_retries(RetrySchedule::default());
        assert!(Settings { poison, ..without }.check().is_ok());
    }
}
