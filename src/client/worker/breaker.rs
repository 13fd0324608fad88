//! Keeps a handler that only fails from being called again and again, by message type. Pure but for its mutex: time comes in.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// After how many failures in a row, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BreakerPolicy {
    failures: u32,
    pause: Duration,
}

impl BreakerPolicy {
    pub(super) fn new(failures: u32, pause: Duration) -> Self {
        Self { failures: failures.max(1), pause }
    }
}

/// The breakers of all message types a worker has met failing.
#[derive(Debug)]
pub(super) struct Breaker {
    policy: BreakerPolicy,
    by_type: Mutex<HashMap<String, State>>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    failures: u32,
    /// Nothing is let through before.
    open_until: Option<Instant>,
}

impl Breaker {
    pub(super) fn new(policy: BreakerPolicy) -> Self {
        Self { policy, by_type: Mutex::default() }
    }

    /// How long messages of this type have to wait; `None` when this one may be tried. While the breaker is open one
    /// message is let through after each pause.
    pub(super) fn wait(&self, message_type: &str, now: Instant) -> Option<Duration> {
        self.with(|by_type| {
            let state = by_type.get_mut(message_type)?;
            let until = state.open_until?;
            if now < until {
                return Some(until - now);
            }
            state.open_until = Some(now + self.policy.pause);
            None
        })
    }

    /// The handler has treated a message; answers whether that closed the breaker.
    pub(super) fn succeeded(&self, message_type: &str) -> bool {
        self.with(|by_type| by_type.remove(message_type)).is_some_and(|state| state.open_until.is_some())
    }

    /// The handler has failed; answers whether that opened the breaker.
    pub(super) fn failed(&self, message_type: &str, now: Instant) -> bool {
        self.with(|by_type| {
            let closed = State { failures: 0, open_until: None };
            let state = by_type.entry(message_type.to_owned()).or_insert(closed);
            state.failures = state.failures.saturating_add(1);
            let was_closed = state.open_until.is_none();
            if state.failures >= self.policy.failures {
                state.open_until = Some(now + self.policy.pause);
            }
            was_closed && state.open_until.is_some()
        })
    }

    /// The lock is held for one look; what a panicking thread left is still whole.
    fn with<T>(&self, look: impl FnOnce(&mut HashMap<String, State>) -> T) -> T {
        look(&mut self.by_type.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_secs(5);

    #[test]
    fn it_opens_after_failures_in_a_row_lets_one_through_after_each_pause_and_closes_with_a_success() {
        let (breaker, start) = (Breaker::new(BreakerPolicy::new(3, PAUSE)), Instant::now());
        assert!(!breaker.failed("a", start) && !breaker.failed("a", start));
        assert!(!breaker.succeeded("a"), "a success in between begins the count anew");
        assert!(!breaker.failed("a", start) && !breaker.failed("a", start) && breaker.failed("a", start));
        assert_eq!(breaker.wait("a", start + PAUSE / 5), Some(PAUSE * 4 / 5));
        assert_eq!(breaker.wait("b", start), None, "other types are not concerned");
        assert_eq!(breaker.wait("a", start + PAUSE), None);
        assert_eq!(breaker.wait("a", start + PAUSE), Some(PAUSE), "the second has to wait for the first");
        assert!(!breaker.failed("a", start + PAUSE), "it was open already");
        assert_eq!(breaker.wait("a", start + PAUSE * 2 - PAUSE / 5), Some(PAUSE / 5));
        assert_eq!(breaker.wait("a", start + PAUSE * 2), None);
        assert!(breaker.succeeded("a"));
        assert_eq!(breaker.wait("a", start + PAUSE * 2), None);
    }
}
