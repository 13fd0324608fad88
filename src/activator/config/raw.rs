//! A configuration as it was written, every value with its line: what both file formats are read into.
//!
//! Nothing here has been judged. A value that is `None` was not written; if it had to be, the reader has already put
//! that into the report.

use super::model::{LogFormat, LogLevel, LogRotation};
use std::time::Duration;

/// A value and the line it stands on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Located<T> {
    /// The value.
    pub(crate) value: T,
    /// Line, counted from 1.
    pub(crate) line: u32,
}

/// Which of the two formats a file is in; the old one promises less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// `EAService.config`: one enabled notification service, names and ids unique.
    EaService,
    /// `activator.toml`.
    Toml,
}

/// A whole file.
#[derive(Debug)]
pub(crate) struct RawConfig {
    /// Its format.
    pub(crate) format: Format,
    /// Notification services in file order.
    pub(crate) notifications: Vec<RawNotification>,
    /// Applications in file order.
    pub(crate) applications: Vec<RawApplication>,
    /// Log settings.
    pub(crate) log: RawLog,
    /// State folder.
    pub(crate) state_dir: Option<Located<String>>,
}

/// A notification service. No `Debug`: the connection may hold a password.
pub(crate) struct RawNotification {
    /// Service name.
    pub(crate) name: Option<Located<String>>,
    /// Number; the old format only.
    pub(crate) id: Option<Located<u32>>,
    /// Connection string with its references.
    pub(crate) connection: Option<Located<String>>,
    /// Whether it is listened on.
    pub(crate) enabled: Option<Located<bool>>,
}

impl std::fmt::Debug for RawNotification {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RawNotification").field("name", &self.name).finish_non_exhaustive()
    }
}

/// An application.
pub(crate) struct RawApplication {
    /// Line on which it begins.
    pub(crate) line: u32,
    /// Name.
    pub(crate) name: Option<Located<String>>,
    /// Whether it launches anything.
    pub(crate) enabled: Option<Located<bool>>,
    /// Server name; may be blank.
    pub(crate) server: Option<Located<String>>,
    /// Database name.
    pub(crate) database: Option<Located<String>>,
    /// Schema name.
    pub(crate) schema: Option<Located<String>>,
    /// Queue name.
    pub(crate) queue: Option<Located<String>>,
    /// Whether the server name decides.
    pub(crate) strict_server: Option<Located<bool>>,
    /// Program.
    pub(crate) command: Option<Located<String>>,
    /// Arguments, one each.
    pub(crate) arguments: Vec<Located<String>>,
    /// Working folder; may be blank.
    pub(crate) work_dir: Option<Located<String>>,
    /// Processes at the first notification.
    pub(crate) min: Option<Located<u32>>,
    /// Most processes.
    pub(crate) max: Option<Located<u32>>,
    /// Time between end signal and kill.
    pub(crate) stop_grace: Option<Located<Duration>>,
    /// Environment variables.
    pub(crate) environment: Vec<(Located<String>, Located<String>)>,
    /// Whether the handler is given the connection string.
    pub(crate) pass_connection: Option<Located<bool>>,
}

impl std::fmt::Debug for RawApplication {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RawApplication").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Log settings.
#[derive(Debug, Default)]
pub(crate) struct RawLog {
    /// Least important level.
    pub(crate) level: Option<LogLevel>,
    /// Form of a line.
    pub(crate) format: Option<LogFormat>,
    /// File.
    pub(crate) file: Option<Located<String>>,
    /// When a new file is begun.
    pub(crate) rotation: Option<LogRotation>,
    /// How many old files are kept.
    pub(crate) keep: Option<Located<u32>>,
}
