//! Moments that tasks share which look at something again and again, so that they wake this process together.
//!
//! Fifty tasks that look once a second at moments of their own wake it fifty times a second, and waking is most of what a
//! look costs. Knows nothing of what is looked at.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The next moment of the beat with this period: after `now` by a quarter of a period at least and one and a quarter at most;
/// from one beat to the next if what is done in between is short.
pub(super) fn after(now: Instant, period: Duration) -> Instant {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    next(*FIRST.get_or_init(|| now), now, period)
}

fn next(first: Instant, now: Instant, period: Duration) -> Instant {
    let soonest = now + period / 4;
    let past = soonest.saturating_duration_since(first).as_nanos() % period.as_nanos();
    let left = period.as_nanos() - past;
    soonest + Duration::from_nanos(u64::try_from(left).expect("what is left of a period is short"))
}

#[cfg(test)]
mod tests {
    use super::next;
    use std::time::{Duration, Instant};

    const PERIOD: Duration = Duration::from_secs(1);

    #[test]
    fn whoever_asks_soon_after_a_beat_gets_the_next_and_all_get_the_same() {
        let first = Instant::now();
        let at = |milliseconds: u64| first + Duration::from_millis(milliseconds);
        for asked in [0, 1, 20, 700] {
            assert_eq!(next(first, at(asked), PERIOD), at(1_000), "{asked}");
        }
        assert_eq!(next(first, at(760), PERIOD), at(2_000));
        assert_eq!(next(first, at(5_003), PERIOD), at(6_000));
    }

    #[test]
    fn nobody_waits_longer_than_a_period_and_a_quarter() {
        let first = Instant::now();
        for asked in (0..3_000).map(|milliseconds| first + Duration::from_millis(milliseconds)) {
            let pause = next(first, asked, PERIOD) - asked;
            assert!(pause > PERIOD / 4 && pause <= PERIOD + PERIOD / 4, "{pause:?}");
        }
    }
}
