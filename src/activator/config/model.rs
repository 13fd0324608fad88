//! What a configuration means: the one validated, immutable type that the rest of the activator works with.
//!
//! Knows neither XML nor TOML. Values are made by [`super::load`] only, so that every rule stated here holds.

use super::argument::{ArgumentTemplate, MacroValues};
use super::secret::ConnectionString;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A whole configuration. Readers hold an immutable copy; a reload makes a new one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// The notification services to listen on, in file order. A position in this list names a listener.
    pub notifications: Vec<NotificationService>,
    /// The applications to launch, in file order; their names differ, and so do their queues.
    pub applications: Vec<Arc<Application>>,
    /// How the daemon logs.
    pub log: LogSettings,
    /// Where the daemon keeps what must survive it.
    pub state: StateSettings,
}

/// One Service Broker service that receives event notifications.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotificationService {
    /// Name of the service (not of its queue) in the database of the connection.
    pub name: String,
    /// How to reach that database.
    pub connection: ConnectionString,
    /// A disabled service is not listened on.
    pub enabled: bool,
}

/// One kind of handler process and the queue for which it is launched.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Application {
    /// Unique name, for people and for `SSBROKER_APP`.
    pub name: String,
    /// Notifications for a disabled application are consumed and launch nothing.
    pub enabled: bool,
    /// The queue it reads.
    pub on: QueueAddress,
    /// Whether a notification from another server than `on.server` is left alone (true) or acted on with a warning
    /// (false, the default). True requires `on.server`.
    pub strict_server: bool,
    /// The program: an absolute path, or a bare name that is looked up on the daemon's `PATH` at each launch.
    pub command: PathBuf,
    /// Its arguments.
    pub arguments: Vec<ArgumentTemplate>,
    /// Its working folder, absolute; `None` means the daemon's own.
    pub work_dir: Option<PathBuf>,
    /// Processes started by the first notification while none runs; 0 means one. Never above `max`. No keep-alive.
    pub min: u32,
    /// Most processes alive at one time, at least 1.
    pub max: u32,
    /// Time between the polite end signal and the kill when the daemon stops. Default 30 s.
    pub stop_grace: Duration,
    /// Variables added to the handler's environment. None of them begins with `SSBROKER_`.
    pub environment: Environment,
    /// Whether the handler is given the connection string as `SSBROKER_CONNECTION`. Default false.
    pub pass_connection: bool,
}

impl Application {
    /// The handler's arguments with the macros filled in.
    #[must_use]
    pub fn arguments_for(&self, values: MacroValues<'_>) -> Vec<String> {
        self.arguments.iter().map(|argument| argument.fill(values)).collect()
    }
}

/// The queue whose notifications launch an application.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueAddress {
    /// The server's own name as its notifications give it; `None` accepts any without a warning.
    pub server: Option<String>,
    /// Database of the queue.
    pub database: String,
    /// Schema of the queue.
    pub schema: String,
    /// Name of the queue.
    pub queue: String,
}

impl fmt::Display for QueueAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.database, self.schema, self.queue)
    }
}

/// Environment variables of a handler. `Debug` shows their names only, since a value may be a secret.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// The variables by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl FromIterator<(String, String)> for Environment {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(variables: I) -> Self {
        Self(variables.into_iter().collect())
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

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

/// Where the daemon keeps what must survive it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateSettings {
    /// Folder of the journal and of the handlers' output, absolute. Default `/var/lib/ssbroker`.
    pub dir: PathBuf,
}

impl Default for StateSettings {
    fn default() -> Self {
        Self { dir: PathBuf::from("/var/lib/ssbroker") }
    }
}
