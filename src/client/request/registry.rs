//! Who waits for a reply in this process, and what the reader of the queue has told them. No connection, no clock.
//!
//! The registry's mutex is the arbiter between the reader and a waiter that gives up. The reader *claims* a waiter before
//! it commits what it received, and *delivers* or *releases* afterwards; a claimed waiter that runs out of time waits for
//! that decision. So a reply has exactly one taker, whatever the timing.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Mutex, PoisonError};

use tokio::sync::mpsc;
use uuid::Uuid;

use super::verdict::{Outcome, Until};
use crate::client::error::{Error, Result};
use crate::client::ids::{ConversationGroup, ConversationHandle};

/// How many replies are kept whose waiter went away while they were being committed.
pub(crate) const MOST_KEPT: usize = 1_000;

/// All waiters of a requester.
#[derive(Debug, Default)]
pub(super) struct Registry {
    state: Mutex<State>,
}

/// Names one waiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct WaiterId(u64);

/// What a waiter hears.
#[derive(Debug)]
pub(super) enum News {
    /// How the request on this conversation ended.
    Outcome(ConversationHandle, Outcome),
    /// The reply came before the waiter did: look where it is now.
    Look,
    /// The reader could not commit the reply after the waiter's time had run out.
    TimedOut,
    /// The queue cannot be read.
    Unreadable(Error),
}

/// A waiter's end of the subscription.
pub(super) type Heard = mpsc::UnboundedReceiver<News>;

/// What has happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequesterStats {
    /// Who waits at this moment.
    pub waiting: usize,
    /// Requests that ended with a reply or an error of the conversation.
    pub delivered: u64,
    /// Waiters whose time ran out.
    pub timed_out: u64,
    /// Messages given to the recovery handler.
    pub recovered: u64,
}

#[derive(Debug, Default)]
struct State {
    last_id: u64,
    waiters: HashMap<WaiterId, Waiter>,
    by_key: HashMap<Uuid, WaiterId>,
    kept: VecDeque<(ConversationHandle, Outcome)>,
    stats: RequesterStats,
}

struct Waiter {
    /// The conversation group it chose before sending, the conversation it learned afterwards, or both.
    keys: Vec<Uuid>,
    phase: Phase,
    until: Until,
    news: mpsc::UnboundedSender<News>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Waiting,
    /// The reader holds its message in an open transaction.
    Claimed,
    /// Claimed, and its time has run out meanwhile.
    Expired,
    /// Claimed, and it has gone meanwhile.
    Gone,
}

impl Registry {
    /// Takes up a waiter under a key: the group of a request that is about to be sent, or a conversation.
    pub(super) fn subscribe(&self, key: Uuid, until: Until) -> Result<(WaiterId, Heard)> {
        self.with(|state| {
            let (news, heard) = mpsc::unbounded_channel();
            let known = state.by_key.get(&key).copied();
            let id = match known.and_then(|id| state.waiters.get_mut(&id).map(|waiter| (id, waiter))) {
                // Its predecessor went while its message was in the open transaction: the new one hears the outcome.
                Some((id, waiter)) if waiter.phase == Phase::Gone => {
                    (waiter.phase, waiter.until, waiter.news) = (Phase::Claimed, until, news);
                    id
                }
                Some(_) => {
                    return Err(Error::config(format!("somebody waits for the reply on {key} already")));
                }
                None => state.insert(key, until, news),
            };
            Ok((id, heard))
        })
    }

    /// The server has answered with the conversation of a request.
    pub(super) fn learn_conversation(&self, id: WaiterId, conversation: ConversationHandle) {
        self.with(|state| {
            let Some(waiter) = state.waiters.get_mut(&id) else { return };
            waiter.keys.push(conversation.as_uuid());
            state.by_key.insert(conversation.as_uuid(), id);
        });
    }

    /// Claims the waiter of a message: it cannot give up by itself any more.
    pub(super) fn claim(
        &self,
        conversation: ConversationHandle,
        group: ConversationGroup,
    ) -> Option<(WaiterId, Until)> {
        self.with(|state| {
            let id = state.find(conversation, group)?;
            let waiter = state.waiters.get_mut(&id)?;
            waiter.phase = Phase::Claimed;
            Some((id, Until::clone(&waiter.until)))
        })
    }

    /// The message of a claimed waiter went back to the queue, or was only progress.
    pub(super) fn release(&self, id: WaiterId) {
        self.with(|state| match state.waiters.get_mut(&id) {
            Some(waiter) if waiter.phase == Phase::Claimed => waiter.phase = Phase::Waiting,
            Some(waiter) => {
                let expired = waiter.phase == Phase::Expired && waiter.news.send(News::TimedOut).is_ok();
                state.stats.timed_out += u64::from(expired);
                state.remove(id);
            }
            None => {}
        });
    }

    /// The message of a claimed waiter is received for good. If the waiter has gone, `keep` says whether its outcome is
    /// kept for whoever takes the conversation up again.
    pub(super) fn deliver(
        &self,
        id: WaiterId,
        conversation: ConversationHandle,
        outcome: Outcome,
        keep: bool,
    ) {
        self.with(|state| {
            let Some(waiter) = state.remove(id) else { return };
            state.stats.delivered += 1;
            let unheard = match waiter.phase {
                Phase::Gone => Some(outcome),
                _ => unheard(waiter.news.send(News::Outcome(conversation, outcome))),
            };
            if let Some(outcome) = unheard.filter(|_| keep) {
                state.keep(conversation, outcome);
            }
        });
    }

    /// Keeps what a waiter did not take out of its subscription before it went.
    pub(super) fn keep(&self, conversation: ConversationHandle, outcome: Outcome) {
        self.with(|state| state.keep(conversation, outcome));
    }

    /// Takes an outcome that was kept.
    pub(super) fn take_kept(&self, conversation: ConversationHandle) -> Option<Outcome> {
        self.with(|state| {
            let at = state.kept.iter().position(|(kept, _)| *kept == conversation)?;
            state.kept.remove(at).map(|(_, outcome)| outcome)
        })
    }

    /// Tells a waiter that came too late for the reader's look to look by itself.
    pub(super) fn tell_to_look(&self, conversation: ConversationHandle, group: ConversationGroup) {
        self.with(|state| {
            if let Some(waiter) = state.find(conversation, group).and_then(|id| state.waiters.get(&id)) {
                // A waiter that has gone has nothing to look for.
                let _ = waiter.news.send(News::Look);
            }
        });
    }

    /// A waiter stops waiting. False when its fate is decided elsewhere and will be heard.
    pub(super) fn withdraw(&self, id: WaiterId) -> bool {
        self.with(|state| state.withdraw(id))
    }

    /// A waiter's time has run out. False when its fate is decided elsewhere and will be heard.
    pub(super) fn expire(&self, id: WaiterId) -> bool {
        self.with(|state| {
            let withdrawn = state.withdraw(id);
            state.stats.timed_out += u64::from(withdrawn);
            if let Some(claimed) = state.waiters.get_mut(&id) {
                claimed.phase = Phase::Expired;
            }
            withdrawn
        })
    }

    /// A waiter goes away.
    pub(super) fn leave(&self, id: WaiterId) {
        self.with(|state| {
            state.withdraw(id);
            if let Some(claimed) = state.waiters.get_mut(&id) {
                claimed.phase = Phase::Gone;
            }
        });
    }

    /// Tells everybody that the queue cannot be read.
    pub(super) fn fail_all(&self, error: &Error) {
        self.with(|state| {
            for (_, waiter) in state.waiters.drain() {
                let _ = waiter.news.send(News::Unreadable(error.clone()));
            }
            state.by_key.clear();
        });
    }

    /// Counts messages given to the recovery handler.
    pub(super) fn count_recovered(&self, messages: usize) {
        self.with(|state| state.stats.recovered += messages as u64);
    }

    pub(super) fn stats(&self) -> RequesterStats {
        self.with(|state| RequesterStats { waiting: state.waiters.len(), ..state.stats })
    }

    /// The lock is held for a few look-ups; what a panicking thread left is still whole.
    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl State {
    fn find(&self, conversation: ConversationHandle, group: ConversationGroup) -> Option<WaiterId> {
        self.by_key.get(&conversation.as_uuid()).or_else(|| self.by_key.get(&group.as_uuid())).copied()
    }

    fn insert(&mut self, key: Uuid, until: Until, news: mpsc::UnboundedSender<News>) -> WaiterId {
        self.last_id += 1;
        let id = WaiterId(self.last_id);
        self.by_key.insert(key, id);
        self.waiters.insert(id, Waiter { keys: vec![key], phase: Phase::Waiting, until, news });
        id
    }

    fn remove(&mut self, id: WaiterId) -> Option<Waiter> {
        let waiter = self.waiters.remove(&id)?;
        for key in &waiter.keys {
            self.by_key.remove(key);
        }
        Some(waiter)
    }

    fn withdraw(&mut self, id: WaiterId) -> bool {
        let waits = self.waiters.get(&id).is_some_and(|waiter| waiter.phase == Phase::Waiting);
        waits && self.remove(id).is_some()
    }

    fn keep(&mut self, conversation: ConversationHandle, outcome: Outcome) {
        if self.kept.len() == MOST_KEPT
            && let Some((lost, _)) = self.kept.pop_front()
        {
            tracing::error!(conversation = %lost, "a reply that nobody took is dropped to make room");
        }
        self.kept.push_back((conversation, outcome));
    }
}

/// The outcome of a message to a waiter that has gone.
fn unheard(sent: Result<(), mpsc::error::SendError<News>>) -> Option<Outcome> {
    match sent {
        Err(mpsc::error::SendError(News::Outcome(_, outcome))) => Some(outcome),
        _ => None,
    }
}

impl fmt::Debug for Waiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiter").field("keys", &self.keys).field("phase", &self.phase).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn conversation() -> ConversationHandle {
        ConversationHandle::from_uuid(Uuid::from_u128(1))
    }

    fn group() -> ConversationGroup {
        ConversationGroup::from_uuid(Uuid::from_u128(2))
    }

    fn waiting() -> (Registry, WaiterId, Heard) {
        let registry = Registry::default();
        let (id, heard) = registry.subscribe(group().as_uuid(), Arc::new(|_, _| true)).unwrap();
        (registry, id, heard)
    }

    fn claimed() -> (Registry, WaiterId, Heard) {
        let (registry, id, heard) = waiting();
        assert_eq!(registry.claim(conversation(), group()).unwrap().0, id);
        (registry, id, heard)
    }

    #[test]
    fn a_waiter_is_found_by_its_group_before_its_conversation_is_known_and_by_both_after() {
        let (registry, id, _heard) = waiting();
        let other = ConversationGroup::from_uuid(Uuid::from_u128(3));
        assert!(registry.claim(conversation(), other).is_none());
        registry.learn_conversation(id, conversation());
        assert_eq!(registry.claim(conversation(), other).unwrap().0, id);
        assert!(registry.subscribe(conversation().as_uuid(), Arc::new(|_, _| true)).is_err());
    }

    #[test]
    fn a_waiter_that_gave_up_first_is_not_claimed_and_one_that_is_claimed_cannot_give_up() {
        let (registry, id, _heard) = waiting();
        assert!(registry.expire(id));
        assert!(registry.claim(conversation(), group()).is_none());
        let (registry, id, mut heard) = claimed();
        assert!(!registry.expire(id));
        registry.deliver(id, conversation(), Outcome::Ended, true);
        assert!(matches!(heard.try_recv().unwrap(), News::Outcome(_, Outcome::Ended)));
        assert_eq!(registry.stats(), RequesterStats { delivered: 1, ..RequesterStats::default() });
    }

    #[test]
    fn a_released_waiter_waits_again_unless_its_time_ran_out() {
        let (registry, id, mut heard) = claimed();
        registry.release(id);
        assert!(heard.try_recv().is_err() && registry.claim(conversation(), group()).is_some());
        assert!(!registry.expire(id));
        registry.release(id);
        assert!(matches!(heard.try_recv().unwrap(), News::TimedOut));
        assert!(registry.claim(conversation(), group()).is_none());
    }

    #[test]
    fn a_reply_whose_waiter_goes_while_it_is_committed_is_kept_for_the_next_one() {
        let (registry, id, heard) = claimed();
        registry.leave(id);
        drop(heard);
        registry.deliver(id, conversation(), Outcome::Ended, true);
        assert_eq!(registry.take_kept(conversation()), Some(Outcome::Ended));
        assert_eq!(registry.take_kept(conversation()), None);
    }

    #[test]
    fn whoever_attaches_while_the_reply_of_a_gone_waiter_is_committed_hears_of_it() {
        let (registry, id, heard) = claimed();
        registry.learn_conversation(id, conversation());
        registry.leave(id);
        drop(heard);
        let (_, mut heard) = registry.subscribe(conversation().as_uuid(), Arc::new(|_, _| true)).unwrap();
        registry.deliver(id, conversation(), Outcome::Ended, true);
        assert!(matches!(heard.try_recv().unwrap(), News::Outcome(_, Outcome::Ended)));
        assert_eq!(registry.take_kept(conversation()), None);
    }

    #[test]
    fn no_more_replies_are_kept_than_the_limit() {
        let registry = Registry::default();
        for number in 0..=MOST_KEPT as u128 {
            registry.keep(ConversationHandle::from_uuid(Uuid::from_u128(number)), Outcome::Ended);
        }
        assert_eq!(registry.take_kept(ConversationHandle::from_uuid(Uuid::from_u128(0))), None);
        assert!(registry.take_kept(ConversationHandle::from_uuid(Uuid::from_u128(1))).is_some());
    }
}
