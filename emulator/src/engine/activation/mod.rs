//! Activation: which queues are monitored, and what happens when a monitor calls for a reader (spec 5).
//!
//! The decision itself is [`Monitor`]'s, which is pure; here it is fed from the state and its answer becomes events and
//! activation requests. This folder must not know how messages are delivered.

mod monitor;
mod tasks;

use std::collections::BTreeSet;

pub use monitor::MonitorState;
pub(crate) use monitor::{CompletedReceive, Monitor, QueueView};
pub(crate) use tasks::Tasks;
pub use tasks::{ActivationRequest, TaskEnd, TaskRow};

use super::core::Core;
use super::event_notifications::QUEUE_ACTIVATION;
use super::ids::{DatabaseId, QueueKey};
use super::queue_state::QueueState;
use crate::value::Timestamp;

/// A row of `sys.dm_broker_queue_monitors` (spec 5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MonitorRow {
    /// The queue.
    pub queue: QueueKey,
    /// `state`
    pub state: MonitorState,
    /// `last_empty_rowset_time`, UTC; U-30: the view shows local server time.
    pub last_empty_rowset_time: Option<Timestamp>,
    /// `last_activated_time`, likewise.
    pub last_activated_time: Option<Timestamp>,
    /// `tasks_waiting`
    pub tasks_waiting: usize,
}

impl Core {
    /// The queue monitors, in order of their queues.
    pub fn monitors(&self) -> Vec<MonitorRow> {
        let row = |(queue, monitor): (&QueueKey, &Monitor)| MonitorRow {
            queue: *queue,
            state: monitor.state(),
            last_empty_rowset_time: monitor.last_empty(),
            last_activated_time: monitor.last_activated(),
            tasks_waiting: self.broker.waiters.get(queue).map_or(0, Vec::len),
        };
        self.broker.monitors.iter().map(row).collect()
    }

    /// Tells the monitors about receives that ran to their end.
    pub(super) fn note_receives(&mut self, receives: &[(QueueKey, CompletedReceive)], now: Timestamp) {
        for (queue, receive) in receives {
            if let Some(monitor) = self.broker.monitors.get_mut(queue) {
                monitor.received(*receive, now);
            }
        }
    }

    /// Makes monitors for queues that have come to need one and removes the others (spec 5.1). U-36: a queue that was off
    /// starts anew as INACTIVE.
    pub(super) fn compare_monitors(&mut self, now: Timestamp) {
        let monitored = self.monitored_queues();
        self.broker.monitors.retain(|queue, _| monitored.contains(queue));
        let timeout = self.options.notified_timeout;
        for queue in monitored {
            self.broker.monitors.entry(queue).or_insert_with(|| Monitor::new(now, timeout));
        }
    }

    /// Judges every monitor and calls for readers where they are needed. U-32: a monitor over a queue that was not empty
    /// when the monitor was made calls at once.
    pub(super) fn judge_monitors(&mut self, now: Timestamp) {
        let queues: Vec<QueueKey> = self.broker.monitors.keys().copied().collect();
        for queue in queues {
            let view = self.queue_view(queue);
            let monitor = self.broker.monitors.get_mut(&queue);
            if monitor.is_some_and(|monitor| monitor.judge(view, now)) {
                self.call_for_reader(queue, now);
            }
        }
    }

    /// When a monitor has to be judged though nothing happens.
    pub(super) fn monitor_deadline(&self) -> Option<Timestamp> {
        let monitors = self.broker.monitors.iter();
        monitors.filter_map(|(queue, monitor)| monitor.deadline(self.queue_view(*queue))).min()
    }

    fn call_for_reader(&mut self, queue: QueueKey, now: Timestamp) {
        let activation = self.state.queue_def(queue).and_then(|def| def.activation.clone());
        match activation.filter(|activation| activation.enabled) {
            Some(activation) => self.call_for_task(queue, &activation),
            None => self.post_queue_event(queue, QUEUE_ACTIVATION, now),
        }
    }

    fn queue_view(&self, queue: QueueKey) -> QueueView {
        let unread =
            self.state.queues.get(&queue).map(QueueState::ready).is_some_and(|ready| !ready.is_empty());
        QueueView { unread, waiter: self.broker.has_open_waiter(queue) }
    }

    fn monitored_queues(&self) -> BTreeSet<QueueKey> {
        let databases = self.state.databases.values().filter(|database| database.def.broker_enabled);
        let ids: Vec<DatabaseId> = databases.map(|database| database.def.id).collect();
        ids.into_iter().flat_map(|database| self.monitored_queues_of(database)).collect()
    }

    fn monitored_queues_of(&self, database: DatabaseId) -> Vec<QueueKey> {
        let objects = self.state.database(database).into_iter().flat_map(|it| it.objects.iter());
        objects
            .map(|object| QueueKey::new(database, object.id))
            .filter(|queue| self.is_monitored(*queue))
            .collect()
    }

    fn is_monitored(&self, queue: QueueKey) -> bool {
        let Some(def) = self.state.queue_def(queue) else { return false };
        let activated = || {
            let activation = def.activation.as_ref();
            activation.is_some_and(|activation| activation.enabled && activation.max_readers > 0)
        };
        def.receive_enabled
            && def.enqueue_enabled
            && (activated() || self.has_subscriber(queue, QUEUE_ACTIVATION))
    }
}
