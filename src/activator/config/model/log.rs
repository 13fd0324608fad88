//! How the daemon logs, as configured.
//!
//! Plain values; knows no logging library.

use std::path::PathBuf;

/// How the daemon logs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogSettings {
    /// Least important level that is written. Default `Info`.
    pub level: LogLevel,
    /// Form of a line. Default `Text`.
    pub format: LogFormat,
    /// File to write to, absolute; `None` (the default) is standard error.
    pub file: Option<PathBuf>,
    /// When a new file is begun; without effect on standard error. Default `Daily`.
    pub rotation: LogRotation,
    /// How many rotated files are kept, at least 1. Default 14.
    pub keep: u32,
}

impl Default for LogSettings {
    fn default() -> Self {
        Self {
            level: LogLevel::Info,
            format: LogFormat::Text,
            file: None,
            rotation: LogRotation::Daily,
            keep: 14,
        }
    }
}

/// Importance of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Something is lost or cannot be done.
    Error,
    /// Something needs a look.
    Warn,
    /// Launches, exits, and what else happened.
    Info,
    /// Details for finding a fault.
    Debug,
    /// Everything.
    Trace,
}

/// Form of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// When a new log file is begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogRotation {
    /// At midnight, UTC.
    Daily,
    /// At every full hour.
    Hourly,
    /// Never.
    Never,
}
