//! Conversation groups that are not to be handled for a while.
//!
//! Pure; time comes in with each call. Shared by all feeds of the daemon: whichever receives such a group next keeps it
//! locked until its time has come. Forgotten with the daemon, so a restart tries earlier, which is harmless.

use crate::client::ConversationGroup;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Longest time a group is held; its transaction is open for so long.
pub(super) const LONGEST: Duration = Duration::from_secs(10 * 60);

/// The groups and their times.
#[derive(Debug, Default)]
pub(super) struct Deferrals(HashMap<ConversationGroup, Instant>);

impl Deferrals {
    /// Puts a group off; answers for how long, which is less than `delay` if that is too long.
    pub(super) fn put_off(&mut self, group: ConversationGroup, delay: Duration, now: Instant) -> Duration {
        self.0.retain(|_, until| *until > now);
        let delay = delay.min(LONGEST);
        if !delay.is_zero() {
            self.0.insert(group, now + delay);
        }
        delay
    }

    /// Until when a group is to be held, if it is.
    pub(super) fn until(&self, group: ConversationGroup, now: Instant) -> Option<Instant> {
        self.0.get(&group).copied().filter(|until| *until > now)
    }
}

#[cfg(test)]
mod tests {
    use super::{Deferrals, LONGEST};
    use crate::client::ConversationGroup;
    use std::time::{Duration, Instant};

    #[test]
    fn a_group_is_held_until_its_time_and_no_longer_than_the_longest() {
        let (mut deferrals, now) = (Deferrals::default(), Instant::now());
        let (one, other) = (ConversationGroup::random(), ConversationGroup::random());
        let second = Duration::from_secs(1);
        assert_eq!(deferrals.put_off(one, second, now), second);
        assert_eq!(deferrals.until(one, now), Some(now + second));
        assert_eq!(deferrals.until(other, now), None);
        assert_eq!(deferrals.until(one, now + second), None);
        assert_eq!(deferrals.put_off(other, 2 * LONGEST, now + second), LONGEST);
        assert_eq!(deferrals.0.len(), 1, "what is over is forgotten");
        assert_eq!(deferrals.put_off(one, Duration::ZERO, now), Duration::ZERO);
        assert_eq!(deferrals.until(one, now), None);
    }
}
