//! When a queue that the server has switched off is switched on again.
//!
//! Plain values; switches nothing.

use std::time::Duration;

/// `reenable` in `activator.toml`. It counts only for a queue of which the server itself has told (event
/// BROKER_QUEUE_DISABLED) that it switched it off: one that a person switches off stays off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reenable {
    /// How long it stays off. Default 30 s.
    pub after: Duration,
    /// Most times within an hour, at least 1. Default 3. When it is switched off once more it stays off until a person
    /// switches it on.
    pub at_most: u32,
}

impl Default for Reenable {
    fn default() -> Self {
        Self { after: Duration::from_secs(30), at_most: 3 }
    }
}
