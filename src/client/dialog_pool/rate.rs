//! How fast a pool may send: a bucket of tokens. Pure: time is passed in.

use std::time::{Duration, Instant};

/// So many messages a second on average, so many at once. One message is one token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rate {
    pub(super) per_second: f64,
    pub(super) burst: f64,
}

/// A bucket that fills with time. Who takes more than there is goes into debt and waits until it is paid; those who come
/// later wait behind.
#[derive(Clone, Copy, Debug)]
pub(super) struct TokenBucket {
    rate: Rate,
    tokens: f64,
    as_of: Instant,
}

impl TokenBucket {
    /// A full bucket.
    pub(super) fn new(rate: Rate, now: Instant) -> Self {
        Self { rate, tokens: rate.burst, as_of: now }
    }

    /// Takes tokens, and says how long to wait before doing what they were taken for.
    pub(super) fn take(&mut self, tokens: usize, now: Instant) -> Duration {
        let elapsed = now.saturating_duration_since(self.as_of).as_secs_f64();
        self.as_of = now.max(self.as_of);
        self.tokens = (self.tokens + elapsed * self.rate.per_second).min(self.rate.burst) - tokens as f64;
        if self.tokens >= 0.0 {
            return Duration::ZERO;
        }
        Duration::try_from_secs_f64(-self.tokens / self.rate.per_second).unwrap_or(Duration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(per_second: f64, burst: f64) -> (TokenBucket, Instant) {
        let now = Instant::now();
        (TokenBucket::new(Rate { per_second, burst }, now), now)
    }

    #[test]
    fn a_burst_goes_at_once_and_the_rest_at_the_rate() {
        let (mut bucket, now) = bucket(10.0, 5.0);
        assert_eq!(bucket.take(5, now), Duration::ZERO);
        assert_eq!(bucket.take(1, now), Duration::from_millis(100));
        assert_eq!(bucket.take(1, now), Duration::from_millis(200), "behind the one before");
    }

    #[test]
    fn idle_time_fills_the_bucket_up_to_the_burst_and_no_further() {
        let (mut bucket, now) = bucket(10.0, 5.0);
        assert_eq!(bucket.take(5, now), Duration::ZERO);
        let later = now + Duration::from_secs(60);
        assert_eq!(bucket.take(5, later), Duration::ZERO);
        assert_eq!(bucket.take(5, later), Duration::from_millis(500));
    }

    #[test]
    fn a_call_larger_than_the_burst_waits_for_its_debt_only() {
        let (mut bucket, now) = bucket(100.0, 10.0);
        assert_eq!(bucket.take(60, now), Duration::from_millis(500));
    }

    #[test]
    fn over_any_second_no_more_than_rate_and_burst_are_let_through() {
        let (mut bucket, start) = bucket(50.0, 20.0);
        let mut clock = start;
        let mut let_through = Vec::new();
        for _ in 0..500 {
            clock += bucket.take(1, clock);
            let_through.push(clock);
        }
        for first in &let_through {
            let within = |at: &&Instant| **at >= *first && **at < *first + Duration::from_secs(1);
            let count = let_through.iter().filter(within).count();
            assert!(count <= 71, "{count}");
        }
    }
}
