//! How handler processes are kept: kinds, accounts, pauses, rates and limits.
//!
//! Plain values; asks the system nothing.

use super::feed::FeedSettings;
use std::fmt;
use std::time::Duration;

/// What kind of process an application is; `kind` in `activator.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Kind {
    /// `"launch"`: started by notifications; receives from the queue by itself and ends when that is empty.
    #[default]
    Launch,
    /// `"resident"`: `min` processes (at least one) are kept alive, whether messages wait or not, and started again after
    /// the pauses of `backoff`. A notification adds one more up to `max`, and those are not started again.
    Resident,
    /// `"feed"`: started by notifications; the activator receives and passes messages over standard input.
    Feed(FeedSettings),
}

impl Kind {
    /// The word for it, as in the configuration and in `SSBROKER_KIND`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Launch => "launch",
            Self::Resident => "resident",
            Self::Feed(_) => "feed",
        }
    }

    /// The settings of a handler that is fed.
    #[must_use]
    pub fn feed(&self) -> Option<&FeedSettings> {
        match self {
            Self::Feed(settings) => Some(settings),
            Self::Launch | Self::Resident => None,
        }
    }
}

/// A user or a group. A text of digits is a number, anything else a name that is looked up at each launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Account {
    /// By name.
    Name(String),
    /// By number.
    Id(u32),
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Id(id) => write!(f, "{id}"),
        }
    }
}

/// Pauses before an application is launched again after processes that failed: those that could not be started, ended
/// with another exit code than 0, by a signal or at `timeout`, or that did not do their part as a fed handler; a resident one
/// fails whenever it ends by itself. (One that ends well without having received anything waits for pauses of another kind,
/// which cannot be set.)
///
/// The first pause is `first`, and each further failure doubles it up to `max`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackoffSettings {
    /// First pause; never zero, never above `max`. Default 1 s.
    pub first: Duration,
    /// Longest pause. Default 5 min.
    pub max: Duration,
    /// A process that ran so long, or that ended well, makes the next failure the first one again. Default 10 min.
    pub reset_after: Duration,
    /// Failures in a row after which nothing is launched until somebody says so (`activator kick`, a changed
    /// configuration, a restart), with an error in the log. `None`, written 0, is the default: it never gives up.
    pub give_up_after: Option<u32>,
}

impl Default for BackoffSettings {
    fn default() -> Self {
        Self {
            first: Duration::from_secs(1),
            max: Duration::from_secs(5 * 60),
            reset_after: Duration::from_secs(10 * 60),
            give_up_after: None,
        }
    }
}

/// Most launches within a time, as in `"10/s"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rate {
    /// Launches, at least 1. So many may come at once.
    pub launches: u32,
    /// Within this time: a second, a minute or an hour.
    pub per: Duration,
}

/// What one process, and each that it starts, may use; `None` (the default) leaves the daemon's own limit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Private memory in bytes (RLIMIT_DATA), at least 1 MiB. Not the address space, of which run-time environments reserve
    /// far more than they use.
    pub memory: Option<u64>,
    /// Processor time in whole seconds, at least one; the system ends a process that uses more.
    pub cpu: Option<Duration>,
    /// Open files, at least 16.
    pub files: Option<u32>,
}
