//! One application: which queue it is for, what is started, and how.
//!
//! Plain values; starts nothing.

use super::super::argument::{ArgumentTemplate, MacroValues};
use super::process::{Account, BackoffSettings, Kind, Limits, Rate};
use super::reenable::Reenable;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// Grace between end signal and kill where none is given.
pub(in crate::activator::config) const DEFAULT_STOP_GRACE: Duration = Duration::from_secs(30);

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
    /// What kind of process it is, and what belongs to that kind alone. Default [`Kind::Launch`].
    pub kind: Kind,
    /// Processes started by the first notification while none runs; 0 means one. Never above `max`. Kept alive only
    /// where `kind` is [`Kind::Resident`]; there it is at least 1. Default 1.
    pub min: u32,
    /// Most processes alive at one time, at least 1. Default 1.
    pub max: u32,
    /// User the process runs as; `None` (the default) is the daemon's own. Another one can be had by root only.
    pub user: Option<Account>,
    /// Its group; `None` (the default) is the group of `user` where that is given, else the daemon's own.
    pub group: Option<Account>,
    /// File mode creation mask, 0 to 0o777; `None` (the default) is the daemon's own.
    pub umask: Option<u32>,
    /// Longest time one process may run; for [`Kind::Feed`] longest time for the answers to one message. Never zero, never
    /// given for [`Kind::Resident`]; `None` (the default) is no limit. Then as at a stop: asked to end, killed after
    /// `stop_grace`.
    pub timeout: Option<Duration>,
    /// Time between the polite end signal and the kill. Default 30 s; zero kills at once.
    pub stop_grace: Duration,
    /// Pauses after processes that failed.
    pub backoff: BackoffSettings,
    /// Most launches within a time; `None` (the default) is no limit. What exceeds it waits and is not lost.
    pub rate: Option<Rate>,
    /// What one process may use.
    pub limits: Limits,
    /// Variables added to the handler's environment. None of them begins with `SSBROKER_`.
    pub environment: Environment,
    /// Whether the handler is given the connection string as `SSBROKER_CONNECTION`. Default false.
    pub pass_connection: bool,
    /// Whether, and how often, its queue is switched on again after the server has switched it off; `None` (the default) is
    /// never.
    pub reenable: Option<Reenable>,
}

impl Application {
    /// One of which nothing is known but its name: what an earlier configuration said of it is gone.
    pub(in crate::activator) fn unconfigured(name: &str) -> Self {
        let none = String::new;
        Self {
            name: name.to_owned(),
            enabled: false,
            on: QueueAddress { server: None, database: none(), schema: none(), queue: none() },
            strict_server: false,
            command: PathBuf::new(),
            arguments: Vec::new(),
            work_dir: None,
            kind: Kind::Launch,
            min: 0,
            max: 1,
            user: None,
            group: None,
            umask: None,
            timeout: None,
            stop_grace: DEFAULT_STOP_GRACE,
            backoff: BackoffSettings::default(),
            rate: None,
            limits: Limits::default(),
            environment: Environment::default(),
            pass_connection: false,
            reenable: None,
        }
    }

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
