//! What time does to conversations: timers, lifetimes, purge of closed endpoints (spec 2.7, 2.13, 3.6).
//!
//! Time is passed in; whoever owns the core calls [`Core::tick`] at [`Core::next_deadline`]. It must not know a clock.

use uuid::Uuid;

use super::broker_faults::BrokerFault;
use super::core::{Call, Core};
use super::definitions::{Endpoint, EndpointState, Inbound, MessageKind};
use super::delivery::Arrival;
use super::ids::{DatabaseId, QueueKey, SessionId};
use super::system_messages::names;
use super::tx::Tx;
use crate::value::Timestamp;

impl Core {
    /// The next moment at which [`Core::tick`] has something to do; `None` when only a call can change that.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        let others = [self.monitor_deadline(), self.held_event_deadline(), self.task_deadline()];
        others.into_iter().chain([self.state.endpoints.next_deadline()]).flatten().min()
    }

    /// Does what is due at `now`: conversation timers, lifetimes, purges, queue monitors.
    pub fn tick(&mut self, now: Timestamp) {
        let due: Vec<Uuid> = self.state.endpoints.due(now).collect();
        for handle in due {
            let Some(database) = self.state.endpoints.get(handle).map(|endpoint| endpoint.database) else {
                continue;
            };
            self.in_background(database, now, |tx| tx.fall_due(handle));
        }
        self.release_events(now);
        self.retry_tasks(now);
        let call = Call { session: SessionId::SYSTEM, now };
        self.settle(&call, true);
        self.collect_wakes();
    }

    /// Lets what waited for queues that are on now happen: errors, timers, lifetimes.
    pub(super) fn revive_overdue(&mut self, now: Timestamp) {
        let overdue: Vec<Uuid> = self.broker.overdue.iter().copied().collect();
        for handle in overdue {
            let Some(endpoint) = self.state.endpoints.get(handle).cloned() else {
                self.broker.overdue.remove(&handle);
                continue;
            };
            if self.state.queue_of(&endpoint).is_some_and(|queue| self.state.takes_messages(queue)) {
                self.broker.overdue.remove(&handle);
                self.in_background(endpoint.database, now, |tx| tx.revive(&endpoint));
            }
        }
    }

    /// Engine work that cannot fail: it takes no locks and writes nothing that could be refused.
    pub(super) fn in_background(
        &mut self,
        database: DatabaseId,
        now: Timestamp,
        f: impl FnOnce(&mut Tx<'_>),
    ) {
        let outcome = self.background(database, now, |tx| {
            f(tx);
            Ok(())
        });
        debug_assert!(outcome.is_ok(), "engine work takes no locks");
    }
}

impl Tx<'_> {
    fn revive(&mut self, endpoint: &Endpoint) {
        self.change_inbound(endpoint, |inbound| Inbound { overdue: false, held_error: None, ..inbound });
        if let Some((code, text)) = &endpoint.inbound.held_error {
            self.fail(endpoint.handle, &BrokerFault { code: *code, text: text.to_string() });
        }
        self.fall_due(endpoint.handle);
    }

    /// Does everything that is due at an endpoint.
    fn fall_due(&mut self, handle: Uuid) {
        let now = self.now();
        let Some(endpoint) = self.state().endpoints.get(handle).cloned() else { return };
        let Some(queue) = self.state().queue_of(&endpoint) else { return self.postpone(&endpoint) };
        if endpoint.inbound.purge_after.is_some_and(|at| at <= now) {
            return self.remove_endpoint(handle, queue);
        }
        let timer = !endpoint.own.ended && endpoint.inbound.timer.is_some_and(|at| at <= now);
        let lifetime =
            endpoint.state() != EndpointState::Closed && !endpoint.inbound.expired && endpoint.expires <= now;
        if (timer || lifetime) && !endpoint.own.ended && !self.state().takes_messages(queue) {
            return self.postpone(&endpoint);
        }
        if timer {
            self.ring(&endpoint, queue);
        }
        if lifetime {
            self.expire(handle);
        }
    }

    /// Leaves what is due until the queue is on again, or until a transaction that drops the service has ended.
    fn postpone(&mut self, endpoint: &Endpoint) {
        self.core.broker.overdue.insert(endpoint.handle);
        self.change_inbound(endpoint, |inbound| Inbound { overdue: true, ..inbound });
    }

    /// The endpoint's timer goes off: a DialogTimer on its own queue.
    fn ring(&mut self, endpoint: &Endpoint, queue: QueueKey) {
        let arrival = Arrival {
            kind: MessageKind::Timer,
            message_type: self.system_type(names::DIALOG_TIMER),
            // U-27
            sequence: -1,
            body: None,
            message_id: self.new_uuid(),
        };
        self.enqueue(queue, endpoint, arrival);
        self.change_inbound(endpoint, |inbound| Inbound { timer: None, ..inbound });
    }

    /// The lifetime is over: an open side gets an Error (U-23: also one whose peer has ended), a side that has ended stops
    /// waiting for its peer.
    fn expire(&mut self, handle: Uuid) {
        let Some(endpoint) = self.state().endpoints.get(handle).cloned() else { return };
        if endpoint.own.ended {
            self.drop_pending(handle);
            self.change_inbound(&endpoint, |inbound| Inbound {
                expired: true,
                acknowledged: true,
                ..inbound
            });
            return self.settle_endpoint(handle);
        }
        self.change_inbound(&endpoint, |inbound| Inbound { expired: true, timer: None, ..inbound });
        self.fail(handle, &BrokerFault::lifetime_exceeded());
    }
}
