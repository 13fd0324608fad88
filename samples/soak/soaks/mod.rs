//! The soaks, and what they share: how long they run, and the objects they run on.
//!
//! The tests run them too, with small budgets.

pub(crate) mod drops;
pub(crate) mod leaks;
pub(crate) mod limits;
pub(crate) mod poison;
pub(crate) mod proxy;
pub(crate) mod random;
pub(crate) mod reconnect;
pub(crate) mod requests;
pub(crate) mod stage;

use std::error::Error;
use std::time::{Duration, Instant};

/// The numbers of a soak, or how its promise was broken.
pub(crate) type Answer = Result<String, Box<dyn Error>>;

/// A process that a soak may kill.
pub(crate) type Child = tokio::process::Child;

/// How long a soak goes on: for a time, and at most so many times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    end: Instant,
    most: u64,
}

impl Budget {
    /// For a time.
    pub(crate) fn time(span: Duration) -> Self {
        Self { end: Instant::now() + span, most: u64::MAX }
    }

    /// So many times, as long as that takes.
    #[cfg_attr(not(test), expect(dead_code, reason = "for the tests, which count"))]
    pub(crate) fn times(most: u64) -> Self {
        Self { end: Instant::now() + Duration::from_secs(600), most }
    }

    /// Whether to go on after so many times.
    pub(crate) fn has_left(&self, done: u64) -> bool {
        done < self.most && Instant::now() < self.end
    }
}

/// Breaks off with what was expected when it does not hold.
pub(crate) fn ensure(holds: bool, expected: impl Into<String>) -> Result<(), Box<dyn Error>> {
    if holds { Ok(()) } else { Err(expected.into().into()) }
}
