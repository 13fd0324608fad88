//! How long to wait before trying again. Pure: no clock, no randomness of its own.

use std::time::Duration;

/// Growing pauses with a cap: each doubles the one before, and a random share of its second half is taken off, so that
/// many clients do not come back at the same moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    first: Duration,
    cap: Duration,
}

impl Backoff {
    /// Pauses that start at `first` and never exceed `cap`.
    #[must_use]
    pub const fn new(first: Duration, cap: Duration) -> Self {
        Self { first, cap }
    }

    /// The pauses between attempts to reconnect: from 50 ms to 800 ms.
    #[must_use]
    pub const fn reconnect() -> Self {
        Self::new(Duration::from_millis(50), Duration::from_millis(800))
    }

    /// The longest pause.
    #[must_use]
    pub const fn cap(&self) -> Duration {
        self.cap
    }

    /// The pause after the attempt with this number, counted from 0; `jitter` is a random number from 0 to 1.
    #[must_use]
    pub fn delay(&self, attempt: u32, jitter: f64) -> Duration {
        let grown = self.first.saturating_mul(2u32.saturating_pow(attempt.min(31)));
        grown.min(self.cap).mul_f64(0.5 + 0.5 * jitter.clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_cap_and_jitter_takes_off_at_most_half() {
        let backoff = Backoff::reconnect();
        let full: Vec<u128> = (0..7).map(|attempt| backoff.delay(attempt, 1.0).as_millis()).collect();
        assert_eq!(full, [50, 100, 200, 400, 800, 800, 800]);
        assert_eq!(backoff.delay(3, 0.0), Duration::from_millis(200));
        assert_eq!(backoff.delay(u32::MAX, 2.0), Duration::from_millis(800));
    }
}
