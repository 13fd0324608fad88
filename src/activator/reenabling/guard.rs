//! Whether one queue that is off is switched on again now.
//!
//! Pure; the time is passed in, as milliseconds since 1970, which mean the same after a restart. Three things must
//! hold: the server itself has said that it switched the queue off, it has been off for long enough, and it was not switched
//! on too often within the last hour. Once that was so, the queue stays off until somebody else has switched it on.

use crate::activator::config::Reenable;
use serde::{Deserialize, Serialize};

/// What is counted within.
pub(super) const HOUR: u64 = 3_600_000;

/// What is known of one queue.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Guard {
    /// When the server said that it switched the queue off, if it was not seen on since.
    told: Option<u64>,
    /// When it was switched on within the last hour, oldest first.
    switched_on: Vec<u64>,
    /// It was switched on too often.
    gave_up: bool,
}

/// What is to be done about a queue that is off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::activator) enum Decision {
    /// Nothing: the server has not said that it switched it off, so a person may have.
    Untold,
    /// Nothing more: it was switched on for this time, or is just being.
    InHand,
    /// To be switched on at this time.
    Wait(u64),
    /// To be switched on now, as the so many-th time within an hour. It counts from now on.
    SwitchOn(usize),
    /// Nothing, until somebody else has switched it on; `is_news` the first time.
    GaveUp {
        /// Whether it was decided now.
        is_news: bool,
    },
}

impl Guard {
    /// The server says that it has switched the queue off.
    pub(super) fn told(&mut self, now: u64) {
        self.told = Some(now);
    }

    /// Whether it was told and nothing was done about it yet.
    pub(super) fn is_told(&self) -> bool {
        self.told.is_some()
    }

    /// A look that began at `looked_at` has found the queue on. What was told later stands.
    pub(super) fn seen_on(&mut self, looked_at: u64) {
        if self.told.is_none_or(|told| told < looked_at) {
            (self.told, self.gave_up) = (None, false);
        }
    }

    /// Decides for a queue that is off.
    pub(super) fn decide(&mut self, settings: Reenable, now: u64) -> Decision {
        self.forget_before(now.saturating_sub(HOUR));
        if self.gave_up {
            return Decision::GaveUp { is_news: false };
        }
        let Some(told) = self.told else { return Decision::Untold };
        if self.switched_on.last().is_some_and(|last| *last >= told) {
            return Decision::InHand;
        }
        let after = u64::try_from(settings.after.as_millis()).unwrap_or(u64::MAX);
        let due = told.saturating_add(after);
        if due > now {
            return Decision::Wait(due);
        }
        if self.switched_on.len() >= settings.at_most as usize {
            self.gave_up = true;
            return Decision::GaveUp { is_news: true };
        }
        self.switched_on.push(now);
        Decision::SwitchOn(self.switched_on.len())
    }

    /// The server refused to switch it on at `at`: that does not count.
    pub(super) fn refused(&mut self, at: u64) {
        self.switched_on.retain(|switched_on| *switched_on != at);
    }

    /// When it was switched on within the last hour, oldest first.
    pub(super) fn recent(&self, now: u64) -> Vec<u64> {
        let since = now.saturating_sub(HOUR);
        self.switched_on.iter().copied().filter(|at| *at >= since).collect()
    }

    /// What an earlier daemon was told too long ago is forgotten: somebody may have switched the queue on and off since.
    /// Answers whether anything is left to be known.
    pub(super) fn taken_up(&mut self, now: u64) -> bool {
        let since = now.saturating_sub(HOUR);
        self.forget_before(since);
        if !self.gave_up {
            self.told = self.told.filter(|told| *told >= since);
        }
        *self != Self::default()
    }

    fn forget_before(&mut self, since: u64) {
        self.switched_on.retain(|at| *at >= since);
    }
}

#[cfg(test)]
mod tests {
    use super::{Decision, Guard, HOUR};
    use crate::activator::config::Reenable;
    use std::time::Duration;

    const START: u64 = 100 * HOUR;

    fn settings(after: u64, at_most: u32) -> Reenable {
        let mut settings = Reenable::default();
        (settings.after, settings.at_most) = (Duration::from_millis(after), at_most);
        settings
    }

    #[test]
    fn a_queue_of_which_the_server_has_said_nothing_stays_off() {
        let mut guard = Guard::default();
        for minutes in 0..300 {
            assert_eq!(guard.decide(settings(0, 1000), START + minutes * 60_000), Decision::Untold);
        }
    }

    #[test]
    fn it_waits_and_switches_on_once_for_each_time_it_was_told() {
        let (mut guard, settings) = (Guard::default(), settings(30_000, 3));
        guard.told(START);
        assert_eq!(guard.decide(settings, START + 29_999), Decision::Wait(START + 30_000));
        assert_eq!(guard.decide(settings, START + 30_000), Decision::SwitchOn(1));
        assert_eq!(guard.decide(settings, START + 30_001), Decision::InHand);
        guard.seen_on(START + 31_000);
        assert_eq!(guard.decide(settings, START + 40_000), Decision::Untold, "a person switched it off");
        assert_eq!(guard.recent(START + 40_000), [START + 30_000]);
    }

    #[test]
    fn never_more_than_the_limit_within_any_hour_and_then_it_stays_off() {
        let (mut guard, settings) = (Guard::default(), settings(1_000, 3));
        let mut switched_on = Vec::new();
        let mut now = START;
        // The server switches it off again at once, for five hours; a person switches it on whenever it was given up.
        while now < START + 5 * HOUR {
            guard.told(now);
            let decision = loop {
                now += 500;
                match guard.decide(settings, now) {
                    Decision::Wait(due) => assert!(due > now),
                    decision => break decision,
                }
            };
            match decision {
                Decision::SwitchOn(_) => switched_on.push(now),
                decision => assert!(matches!(decision, Decision::GaveUp { .. }), "{decision:?}"),
            }
            now += 500;
            guard.seen_on(now);
        }
        assert!(switched_on.len() >= 12, "{}", switched_on.len());
        for window in switched_on.windows(4) {
            assert!(window[3] - window[0] > HOUR, "{window:?}");
        }
    }

    #[test]
    fn what_was_given_up_is_news_once_and_stays_so_until_it_is_seen_on() {
        let (mut guard, settings) = (Guard::default(), settings(0, 1));
        guard.told(START);
        assert_eq!(guard.decide(settings, START), Decision::SwitchOn(1));
        guard.told(START + 1);
        assert_eq!(guard.decide(settings, START + 1), Decision::GaveUp { is_news: true });
        for later in [2, HOUR, 10 * HOUR] {
            guard.told(START + later);
            assert_eq!(guard.decide(settings, START + later), Decision::GaveUp { is_news: false });
        }
        guard.seen_on(START + 11 * HOUR);
        guard.told(START + 12 * HOUR);
        assert_eq!(guard.decide(settings, START + 12 * HOUR), Decision::SwitchOn(1));
    }

    #[test]
    fn what_is_told_during_a_look_is_not_forgotten_by_it() {
        let mut guard = Guard::default();
        guard.told(START);
        guard.seen_on(START);
        assert!(guard.is_told());
        guard.seen_on(START + 1);
        assert!(!guard.is_told());
    }

    #[test]
    fn a_refusal_of_the_server_does_not_count() {
        let (mut guard, settings) = (Guard::default(), settings(0, 1));
        guard.told(START);
        assert_eq!(guard.decide(settings, START), Decision::SwitchOn(1));
        guard.refused(START);
        assert_eq!(guard.decide(settings, START + 5), Decision::SwitchOn(1));
    }

    #[test]
    fn a_clock_that_is_set_back_allows_nothing_more() {
        let (mut guard, settings) = (Guard::default(), settings(0, 1));
        guard.told(START);
        guard.decide(settings, START);
        guard.told(START - 10 * HOUR);
        assert_eq!(guard.decide(settings, START - 10 * HOUR), Decision::InHand);
        guard.seen_on(START - 9 * HOUR);
        guard.told(START + 1);
        assert_eq!(guard.decide(settings, START + 1), Decision::GaveUp { is_news: true });
    }

    #[test]
    fn after_a_restart_only_what_is_fresh_or_given_up_counts() {
        let mut fresh = Guard::default();
        fresh.told(START);
        let (mut stale, mut given_up) = (fresh.clone(), Guard { gave_up: true, ..fresh.clone() });
        assert!(fresh.taken_up(START + HOUR) && fresh.is_told());
        assert!(!stale.taken_up(START + HOUR + 1));
        assert!(given_up.taken_up(START + 10 * HOUR) && given_up.is_told());
    }
}
