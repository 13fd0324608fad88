//! How many messages to take at once, found by watching. Pure: times come in, a size goes out.
//!
//! A larger batch saves requests; a smaller one holds its locks and its group for less time, and loses less when it fails.
//! Requests stop mattering once a batch lasts many times longer than one, so the size grows while batches come full and
//! are over quickly, and shrinks when they last too long. Sizes are powers of two: the server keeps a plan for each text.

use std::time::Duration;

/// A batch that is over faster leaves something to be won by a larger one.
const QUICK: Duration = Duration::from_millis(100);
/// A batch that lasts longer holds its locks too long.
const SLOW: Duration = Duration::from_millis(400);
/// The largest size.
const MOST: u32 = 1024;
/// The size to begin with.
const FIRST: u32 = 64;

/// The size of the next batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BatchSize {
    /// What the user has said.
    Fixed(u32),
    /// What has proved right so far.
    Adaptive(u32),
}

impl BatchSize {
    /// One that adapts.
    pub(super) fn adaptive() -> Self {
        Self::Adaptive(FIRST)
    }

    /// How many messages to take.
    pub(super) fn get(self) -> u32 {
        match self {
            Self::Fixed(size) | Self::Adaptive(size) => size,
        }
    }

    /// Learns from a batch of `count` messages that took `time`, its commit included.
    pub(super) fn learn(&mut self, count: usize, time: Duration) {
        let Self::Adaptive(size) = self else { return };
        let full = count >= *size as usize;
        if full && time < QUICK {
            *size = (*size * 2).min(MOST);
        } else if time > SLOW {
            *size = (*size / 2).max(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the size settles for a handler of that cost, and how much longer a message takes than in the best fixed size.
    fn settled(cost: Duration, request: Duration) -> (u32, f64) {
        let time = |size: u32| request + cost * size;
        let mut size = BatchSize::adaptive();
        for _ in 0..50 {
            size.learn(size.get() as usize, time(size.get()));
        }
        let each = |size: u32| time(size).as_secs_f64() / f64::from(size);
        let best = (0..=10).map(|power| each(1 << power)).fold(f64::INFINITY, f64::min);
        (size.get(), each(size.get()) / best)
    }

    /// Goal P11: within 10 % of the best fixed size for handlers of 0, 1 and 10 ms.
    #[test]
    fn the_size_found_is_within_a_tenth_of_the_best_fixed_one() {
        for cost in [0, 1, 10] {
            let (size, ratio) = settled(Duration::from_millis(cost), Duration::from_millis(1));
            println!("handler {cost} ms: size {size}, {ratio:.3} of the best");
            assert!(ratio < 1.1, "{cost} ms: {size} messages, {ratio}");
        }
        assert_eq!(settled(Duration::from_secs(5), Duration::from_millis(1)).0, 1);
    }

    #[test]
    fn a_batch_that_was_not_full_teaches_nothing_and_a_fixed_size_stays() {
        let mut size = BatchSize::adaptive();
        size.learn(10, Duration::from_millis(1));
        assert_eq!(size, BatchSize::adaptive());
        let mut fixed = BatchSize::Fixed(7);
        fixed.learn(7, Duration::ZERO);
        assert_eq!(fixed.get(), 7);
    }
}
