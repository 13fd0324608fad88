//! A configuration as it was written, every value with its line: what both file formats are read into.
//!
//! Nothing here has been judged. A value that is `None` was not written; if it had to be, the reader has already put
//! that into the report.

use super::model::{Account, DeadLetter, LogFormat, LogLevel, LogRotation, Rate};
use std::net::SocketAddr;
use std::time::Duration;

/// A value and the line it stands on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Located<T> {
    /// The value.
    pub(crate) value: T,
    /// Line, counted from 1.
    pub(crate) line: u32,
}

/// Which format a file is in; the older ones promise less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// `EAService.config`: one enabled notification service, names and ids unique.
    EaService,
    /// `activator.toml`.
    Toml,
    /// The sample program of 2005; read for conversion only.
    Ancestor,
}

/// A whole file.
#[derive(Debug, Clone)]
pub(crate) struct RawConfig {
    /// Its format.
    pub(crate) format: Format,
    /// Whether there are comments in it.
    pub(crate) has_comments: bool,
    /// Notification services in file order.
    pub(crate) notifications: Vec<RawNotification>,
    /// Applications in file order.
    pub(crate) applications: Vec<RawApplication>,
    /// Log settings.
    pub(crate) log: RawLog,
    /// State folder.
    pub(crate) state_dir: Option<Located<String>>,
    /// Name of the notification service whose database has a table of runs.
    pub(crate) history_table: Option<Located<String>>,
    /// Address to be measured at.
    pub(crate) metrics: Option<Located<SocketAddr>>,
}

/// A notification service. Its `Debug` shows the name only: the connection may hold a password.
#[derive(Clone)]
pub(crate) struct RawNotification {
    /// Service name.
    pub(crate) name: Option<Located<String>>,
    /// What people call it; the old format only.
    pub(crate) description: Option<Located<String>>,
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

/// An application. Its `Debug` shows the name only: a variable may be a secret.
#[derive(Clone)]
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
    /// How its processes are kept.
    pub(crate) process: RawProcess,
    /// Environment variables.
    pub(crate) environment: Vec<(Located<String>, Located<String>)>,
    /// Whether the handler is given the connection string.
    pub(crate) pass_connection: Option<Located<bool>>,
    /// Whether its queue is switched on again.
    pub(crate) reenable: Option<Located<RawReenable>>,
}

impl std::fmt::Debug for RawApplication {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RawApplication").field("name", &self.name).finish_non_exhaustive()
    }
}

/// When a queue is switched on again.
#[derive(Debug, Clone, Default)]
pub(crate) struct RawReenable {
    /// How long it stays off.
    pub(crate) after: Option<Located<Duration>>,
    /// Most times within an hour.
    pub(crate) at_most: Option<Located<u32>>,
}

/// Log settings.
#[derive(Debug, Clone, Default)]
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

/// Which kind of process, as a word only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RawKind {
    /// `launch`
    Launch,
    /// `resident`
    Resident,
    /// `feed`
    Feed,
}

/// How the processes of an application are kept; the native format only.
#[derive(Debug, Clone, Default)]
pub(crate) struct RawProcess {
    /// Kind.
    pub(crate) kind: Option<Located<RawKind>>,
    /// User.
    pub(crate) user: Option<Located<Account>>,
    /// Group.
    pub(crate) group: Option<Located<Account>>,
    /// File mode creation mask.
    pub(crate) umask: Option<Located<u32>>,
    /// Longest run.
    pub(crate) timeout: Option<Located<Duration>>,
    /// Time between end signal and kill.
    pub(crate) stop_grace: Option<Located<Duration>>,
    /// Pauses after failures.
    pub(crate) backoff: RawBackoff,
    /// Most launches within a time.
    pub(crate) rate: Option<Located<Rate>>,
    /// What one process may use.
    pub(crate) limits: RawLimits,
    /// How it is fed.
    pub(crate) feed: Option<Located<RawFeed>>,
}

/// Pauses after failures.
#[derive(Debug, Clone, Default)]
pub(crate) struct RawBackoff {
    /// First pause.
    pub(crate) first: Option<Located<Duration>>,
    /// Longest pause.
    pub(crate) max: Option<Located<Duration>>,
    /// Run that makes good.
    pub(crate) reset_after: Option<Located<Duration>>,
    /// Failures until it is given up; 0 is never.
    pub(crate) give_up_after: Option<Located<u32>>,
}

/// What one process may use.
#[derive(Debug, Clone, Default)]
pub(crate) struct RawLimits {
    /// Bytes of address space.
    pub(crate) memory: Option<Located<u64>>,
    /// Processor time.
    pub(crate) cpu: Option<Located<Duration>>,
    /// Open files.
    pub(crate) files: Option<Located<u32>>,
}

/// How a handler is fed.
#[derive(Debug, Clone, Default)]
pub(crate) struct RawFeed {
    /// Messages at a time.
    pub(crate) batch: Option<Located<u32>>,
    /// Attempts with one message.
    pub(crate) attempts: Option<Located<u32>>,
    /// Pause between them.
    pub(crate) retry: Option<Located<Duration>>,
    /// What becomes of a message that is given up.
    pub(crate) dead_letter: Option<Located<DeadLetter>>,
    /// Whether system messages are fed.
    pub(crate) system: Option<Located<bool>>,
    /// Size above which a body is a file.
    pub(crate) file_above: Option<Located<u64>>,
    /// Time without a message.
    pub(crate) idle: Option<Located<Duration>>,
}
