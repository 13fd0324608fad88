//! What the broker remembers between calls and no transaction may undo: queue monitors, waiting receivers, counts.
//!
//! Nothing in here is durable: after a restart it starts empty and is built anew from the state. It must not know how
//! a message is delivered or received.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::activation::{Monitor, Tasks};
use super::core::Core;
use super::fault_injection::HeldEvents;
use super::ids::{QueueKey, ServiceId, SessionId};
use crate::error::SqlError;

/// How often things happened since the instance started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BrokerCounters {
    /// BEGIN DIALOG statements.
    pub begin_dialogs: u64,
    /// Messages sent by SEND, one per handle.
    pub sends: u64,
    /// RECEIVE statements that ran to their end.
    pub receives: u64,
    /// Messages they returned.
    pub messages_received: u64,
    /// Messages put into a queue, whoever made them.
    pub messages_delivered: u64,
    /// END CONVERSATION statements.
    pub conversations_ended: u64,
    /// Messages that had to go into a transmission queue.
    pub messages_held: u64,
    /// QUEUE_ACTIVATION events, one per subscriber.
    pub activation_events: u64,
    /// Queues switched off by the poison rule.
    pub queues_disabled: u64,
    /// Explicit transactions committed.
    pub commits: u64,
    /// Explicit transactions rolled back by a statement or request.
    pub rollbacks: u64,
}

/// What a waiting session asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitFor {
    /// Any group of the queue.
    Any,
    /// A conversation, by its handle.
    Conversation(Uuid),
    /// A conversation group.
    Group(Uuid),
}

/// A session in WAITFOR over a queue.
#[derive(Debug)]
pub(crate) struct Waiter {
    /// The session.
    pub(crate) session: SessionId,
    /// What it waits for.
    pub(crate) wants: WaitFor,
    /// The service of the conversation or group it waits for.
    pub(crate) service: Option<ServiceId>,
    /// It was woken and has not run again yet.
    pub(crate) woken: bool,
    /// What it has to answer when it runs again.
    pub(crate) verdict: Option<SqlError>,
}

/// Memory of the broker.
#[derive(Debug, Default)]
pub(crate) struct BrokerState {
    /// Monitors of the queues that have activation or a QUEUE_ACTIVATION notification.
    pub(crate) monitors: BTreeMap<QueueKey, Monitor>,
    /// Sessions that wait on a queue, the longest waiting in front.
    pub(crate) waiters: BTreeMap<QueueKey, Vec<Waiter>>,
    /// Consecutive roll backs of transactions that had received from the queue (U-34).
    pub(crate) roll_backs: BTreeMap<QueueKey, u32>,
    /// Endpoints whose timer, lifetime or error waits for their queue to be switched on.
    pub(crate) overdue: BTreeSet<Uuid>,
    /// Counts.
    pub(crate) counters: BrokerCounters,
    /// Activated procedures.
    pub(crate) tasks: Tasks,
    /// Events that a fault plan holds back.
    pub(crate) held_events: HeldEvents,
    /// Whether a fault plan holds acknowledgements back.
    pub(crate) withholds_acknowledgements: bool,
    /// Version of the catalogs that monitors and waiting messages were last compared with.
    pub(crate) seen_catalog: u64,
    /// A transaction that changed the catalogs has just committed: what it changed counts from now on.
    pub(crate) catalog_changed: bool,
}

impl Core {
    /// How often things happened since the instance started.
    pub fn broker_counters(&self) -> BrokerCounters {
        self.broker.counters
    }
}

impl BrokerState {
    /// Sessions that wait on the queue for any group; they suppress activation (spec 5.2).
    pub(crate) fn has_open_waiter(&self, queue: QueueKey) -> bool {
        self.waiters.get(&queue).is_some_and(|waiters| waiters.iter().any(|it| it.wants == WaitFor::Any))
    }

    /// Gives the sessions that wait for a conversation or group of a service an error to answer (U-06).
    pub(crate) fn interrupt(&mut self, queue: QueueKey, service: ServiceId, error: &SqlError) {
        for waiter in self.waiters.get_mut(&queue).into_iter().flatten() {
            if waiter.service == Some(service) {
                waiter.verdict = Some(error.clone());
            }
        }
    }

    /// Takes a session out of the queue's waiters.
    pub(crate) fn leave(&mut self, queue: QueueKey, session: SessionId) -> Option<Waiter> {
        let waiters = self.waiters.get_mut(&queue)?;
        let at = waiters.iter().position(|waiter| waiter.session == session)?;
        let waiter = waiters.remove(at);
        if waiters.is_empty() {
            self.waiters.remove(&queue);
        }
        Some(waiter)
    }

    /// Takes a session out of whatever queue it waits on.
    pub(crate) fn leave_all(&mut self, session: SessionId) {
        let queues: Vec<QueueKey> = self.waiters.keys().copied().collect();
        for queue in queues {
            self.leave(queue, session);
        }
    }
}
