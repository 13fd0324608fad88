//! When an application may be launched again: pauses after failures, the crash-loop breaker, and the launch rate.
//!
//! Pure: time comes in with each call, and so does the random part of a pause. Knows neither processes nor queues; who
//! asks decides what a failure is.

use crate::activator::config::{BackoffSettings, Rate};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The largest part of a pause that chance takes away, so that many applications which failed together do not come
/// back together.
const SPREAD: f64 = 0.25;

/// What is remembered of the failures and launches of one application.
#[derive(Debug)]
pub(super) struct ExitPolicy {
    backoff: BackoffSettings,
    rate: Option<Rate>,
    /// Failures in a row.
    failures: u32,
    /// End of the pause after the last failure.
    pause_until: Option<Instant>,
    has_given_up: bool,
    /// The launches of the last [`Rate::per`], oldest first; never more than [`Rate::launches`].
    launches: VecDeque<Instant>,
}

/// What follows from a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Consequence {
    /// It happened in the pause after another one, and counts with it.
    Paused {
        /// What is left of the pause.
        left: Duration,
    },
    /// A pause begins.
    Pause {
        /// How long it is.
        delay: Duration,
        /// Failures in a row.
        failures: u32,
    },
    /// That was one too many: nothing is launched any more.
    GiveUp {
        /// Failures in a row.
        failures: u32,
    },
    /// It had been given up before.
    GivenUp,
}

/// Why nothing may be launched now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// Until this time, after a failure.
    Pause(Instant),
    /// Until this time, for the launch rate.
    Rate(Instant),
    /// Until somebody says so.
    GivenUp,
}

impl ExitPolicy {
    pub(super) fn new(backoff: BackoffSettings, rate: Option<Rate>) -> Self {
        Self { backoff, rate, failures: 0, pause_until: None, has_given_up: false, launches: VecDeque::new() }
    }

    /// A process failed after it had run for `lasted`, if that is known; zero for one that never started. `chance` is a
    /// random number from 0 to 1.
    pub(super) fn failed(&mut self, lasted: Option<Duration>, now: Instant, chance: f64) -> Consequence {
        if self.has_given_up {
            return Consequence::GivenUp;
        }
        if let Some(until) = self.pause_until.filter(|until| *until > now) {
            return Consequence::Paused { left: until - now };
        }
        if lasted.is_some_and(|lasted| lasted >= self.backoff.reset_after) {
            self.failures = 0;
        }
        self.failures = self.failures.saturating_add(1);
        let failures = self.failures;
        if self.backoff.give_up_after.is_some_and(|limit| failures >= limit) {
            self.has_given_up = true;
            self.pause_until = None;
            return Consequence::GiveUp { failures };
        }
        let delay = self.pause(chance);
        self.pause_until = Some(now + delay);
        Consequence::Pause { delay, failures }
    }

    /// A process ended well: the next failure is the first one again.
    pub(super) fn ended_well(&mut self) {
        self.failures = 0;
    }

    /// Somebody says that it may be tried again at once.
    pub(super) fn forgive(&mut self) {
        self.failures = 0;
        self.has_given_up = false;
        self.pause_until = None;
    }

    /// Other limits hold from now on, and the failures under the old ones are forgotten; the launches are not.
    pub(super) fn renew(&mut self, backoff: BackoffSettings, rate: Option<Rate>) {
        self.forgive();
        self.backoff = backoff;
        self.rate = rate;
        let most = rate.map_or(0, |rate| rate.launches as usize);
        self.launches.drain(..self.launches.len().saturating_sub(most));
    }

    /// How many may be launched at `now`, or until when nothing may.
    pub(super) fn allowance(&mut self, now: Instant) -> Result<usize, Wait> {
        if self.has_given_up {
            return Err(Wait::GivenUp);
        }
        if let Some(until) = self.pause_until {
            if until > now {
                return Err(Wait::Pause(until));
            }
            self.pause_until = None;
        }
        let Some(rate) = self.rate else { return Ok(usize::MAX) };
        while self.launches.front().is_some_and(|launch| *launch + rate.per <= now) {
            self.launches.pop_front();
        }
        let free = (rate.launches as usize).saturating_sub(self.launches.len());
        match self.launches.front() {
            Some(oldest) if free == 0 => Err(Wait::Rate(*oldest + rate.per)),
            _ => Ok(free),
        }
    }

    /// One was launched.
    pub(super) fn launched(&mut self, now: Instant) {
        if self.rate.is_some() {
            self.launches.push_back(now);
        }
    }

    /// When launching is worth another look, if it may not be done at the time of the last one.
    pub(super) fn opens_at(&self) -> Option<Instant> {
        if self.has_given_up {
            return None;
        }
        let full = self.rate.filter(|rate| self.launches.len() >= rate.launches as usize);
        let free_at = full.and_then(|rate| self.launches.front().map(|oldest| *oldest + rate.per));
        self.pause_until.max(free_at)
    }

    /// Whether nothing is launched until somebody says so.
    pub(super) fn has_given_up(&self) -> bool {
        self.has_given_up
    }

    /// Doubled with each failure up to the longest, less a part that chance decides.
    fn pause(&self, chance: f64) -> Duration {
        let doublings = self.failures.saturating_sub(1).min(31);
        let longest = self.backoff.first.saturating_mul(1 << doublings).min(self.backoff.max);
        longest.mul_f64(1.0 - SPREAD * chance.clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::{Consequence, ExitPolicy, Wait};
    use crate::activator::config::{BackoffSettings, Rate};
    use std::time::{Duration, Instant};

    const SECOND: Duration = Duration::from_secs(1);

    fn backoff(give_up_after: Option<u32>) -> BackoffSettings {
        BackoffSettings { max: 60 * SECOND, give_up_after, ..BackoffSettings::default() }
    }

    fn policy(give_up_after: Option<u32>) -> ExitPolicy {
        ExitPolicy::new(backoff(give_up_after), None)
    }

    #[test]
    fn pauses_double_up_to_the_longest_and_begin_again_after_a_good_end() {
        let mut policy = policy(None);
        let mut now = Instant::now();
        let mut fail = |policy: &mut ExitPolicy| {
            let Consequence::Pause { delay, .. } = policy.failed(Some(SECOND), now, 0.0) else { panic!() };
            assert_eq!(policy.allowance(now), Err(Wait::Pause(now + delay)));
            assert_eq!(policy.opens_at(), Some(now + delay));
            now += delay;
            assert_eq!(policy.allowance(now), Ok(usize::MAX));
            delay.as_secs()
        };
        let delays: Vec<u64> = (0..8).map(|_| fail(&mut policy)).collect();
        assert_eq!(delays, [1, 2, 4, 8, 16, 32, 60, 60]);
        policy.ended_well();
        assert_eq!(fail(&mut policy), 1);
    }

    #[test]
    fn chance_shortens_a_pause_by_at_most_a_quarter() {
        let now = Instant::now();
        assert_eq!(
            policy(None).failed(None, now, 1.0),
            Consequence::Pause { delay: Duration::from_millis(750), failures: 1 }
        );
        assert_eq!(policy(None).failed(None, now, 7.0), policy(None).failed(None, now, 1.0));
    }

    #[test]
    fn failures_within_a_pause_count_once() {
        let (mut policy, now) = (policy(Some(2)), Instant::now());
        assert!(matches!(policy.failed(None, now, 0.0), Consequence::Pause { failures: 1, .. }));
        for _ in 0..9 {
            assert_eq!(policy.failed(None, now, 0.0), Consequence::Paused { left: SECOND });
        }
        assert_eq!(policy.failed(None, now + SECOND, 0.0), Consequence::GiveUp { failures: 2 });
    }

    #[test]
    fn a_long_run_makes_its_failure_the_first_one() {
        let (mut policy, now) = (policy(Some(2)), Instant::now());
        policy.failed(None, now, 0.0);
        let later = now + 700 * SECOND;
        let long = Some(600 * SECOND);
        assert_eq!(policy.failed(long, later, 0.0), Consequence::Pause { delay: SECOND, failures: 1 });
    }

    #[test]
    fn what_was_given_up_stays_so_until_somebody_says_otherwise() {
        let (mut policy, now) = (policy(Some(1)), Instant::now());
        assert_eq!(policy.failed(None, now, 0.0), Consequence::GiveUp { failures: 1 });
        let next_year = now + 366 * 86_400 * SECOND;
        policy.ended_well();
        assert_eq!(policy.allowance(next_year), Err(Wait::GivenUp));
        assert_eq!(policy.failed(None, next_year, 0.0), Consequence::GivenUp);
        assert_eq!(policy.opens_at(), None);
        policy.forgive();
        assert_eq!(policy.allowance(now), Ok(usize::MAX));
    }

    #[test]
    fn the_rate_holds_in_every_window_and_not_only_in_whole_seconds() {
        let rate = Rate { launches: 2, per: SECOND };
        let mut policy = ExitPolicy::new(backoff(None), Some(rate));
        let now = Instant::now();
        assert_eq!(policy.allowance(now), Ok(2));
        policy.launched(now);
        let half = now + SECOND / 2;
        assert_eq!(policy.allowance(half), Ok(1));
        policy.launched(half);
        assert_eq!(policy.allowance(half), Err(Wait::Rate(now + SECOND)));
        assert_eq!(policy.opens_at(), Some(now + SECOND));
        assert_eq!(policy.allowance(now + SECOND), Ok(1));
        policy.launched(now + SECOND);
        assert_eq!(policy.allowance(now + SECOND), Err(Wait::Rate(half + SECOND)));
    }
}
