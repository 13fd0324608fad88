//! Which sessions that wait on a queue get their turn.
//!
//! As many are woken as there are groups they can have, in order of waiting: no herd for one message, and when one that
//! was woken gives up, the next settling wakes another. It must not know what the sessions do then.

use super::broker_state::WaitFor;
use super::core::Core;
use super::ids::{QueueKey, SessionId, TxnId};
use super::locks::Resource;
use uuid::Uuid;

/// Stands for "no transaction": none ever gets this number.
pub(super) const NOBODY: TxnId = TxnId(u64::MAX);

impl Core {
    /// Wakes the waiting sessions that can go on now.
    pub(super) fn serve_waiters(&mut self) {
        let queues: Vec<QueueKey> = self.broker.waiters.keys().copied().collect();
        for queue in queues {
            let ready = self.sessions_to_wake(queue);
            for waiter in self.broker.waiters.get_mut(&queue).into_iter().flatten() {
                if ready.contains(&waiter.session) {
                    waiter.woken = true;
                }
            }
            ready.into_iter().for_each(|session| self.wake(session));
        }
    }

    fn sessions_to_wake(&self, queue: QueueKey) -> Vec<SessionId> {
        let Some(waiters) = self.broker.waiters.get(&queue) else { return Vec::new() };
        let asleep = waiters.iter().filter(|waiter| !waiter.woken);
        if !self.state.queue_def(queue).is_some_and(|def| def.receive_enabled) {
            // The queue is off or gone: everybody learns it at once (spec 2.3.5).
            return asleep.map(|waiter| waiter.session).collect();
        }
        let mut chosen = self.takers_of_free_groups(queue);
        for waiter in asleep {
            let wanted = match waiter.wants {
                WaitFor::Any => false,
                WaitFor::Conversation(handle) => self.can_have_conversation(queue, handle, waiter.session),
                WaitFor::Group(group) => self.can_have_group(queue, group, waiter.session),
            };
            if waiter.verdict.is_some() || wanted {
                chosen.push(waiter.session);
            }
        }
        chosen
    }

    /// Waiters without WHERE, one for each group with messages that is free or held by the waiter itself. Those woken
    /// before come first: each of them is on its way to one of the groups.
    fn takers_of_free_groups(&self, queue: QueueKey) -> Vec<SessionId> {
        let waiters = self.broker.waiters.get(&queue).into_iter().flatten();
        let (mut woken, mut asleep): (Vec<_>, Vec<_>) =
            waiters.filter(|waiter| waiter.wants == WaitFor::Any).partition(|waiter| waiter.woken);
        asleep.reverse();
        let mut chosen = Vec::new();
        for group in self.state.queues.get(&queue).into_iter().flat_map(|state| state.ready().groups()) {
            if asleep.is_empty() {
                break;
            }
            let own = asleep.iter().rposition(|waiter| self.holds(waiter.session, group));
            if let Some(at) = own {
                chosen.push(asleep.remove(at).session);
            } else if !self.is_contended(NOBODY, group) && woken.pop().is_none() {
                chosen.extend(asleep.pop().map(|waiter| waiter.session));
            }
        }
        chosen
    }

    fn can_have_conversation(&self, queue: QueueKey, handle: Uuid, session: SessionId) -> bool {
        let state = self.state.queues.get(&queue);
        let ready = state.is_some_and(|state| state.ready().of_conversation(handle).next().is_some());
        match self.state.endpoints.get(handle) {
            // The conversation is gone: the session has to learn it.
            None => true,
            Some(endpoint) => endpoint.own.ended || (ready && self.is_free_for(session, endpoint.group)),
        }
    }

    fn can_have_group(&self, queue: QueueKey, group: Uuid, session: SessionId) -> bool {
        let state = self.state.queues.get(&queue);
        let ready = state.is_some_and(|state| state.ready().of_group(group).next().is_some());
        !self.state.groups.contains_key(&group) || (ready && self.is_free_for(session, group))
    }

    fn is_free_for(&self, session: SessionId, group: Uuid) -> bool {
        let own = self.sessions.get(&session).and_then(|session| session.transaction);
        !self.is_contended(own.unwrap_or(NOBODY), group)
    }

    fn holds(&self, session: SessionId, group: Uuid) -> bool {
        let own = self.sessions.get(&session).and_then(|session| session.transaction);
        own.is_some_and(|own| self.locks.held(own, &Resource::Group(group)).is_some())
    }

    fn is_contended(&self, owner: TxnId, group: Uuid) -> bool {
        self.locks.is_contended(owner, &Resource::Group(group))
    }
}
