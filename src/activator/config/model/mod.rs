//! What a configuration means: the one validated, immutable type that the rest of the activator works with.
//!
//! Knows neither XML nor TOML. Values are made by [`super::load`] only, so that every rule stated here holds.

mod application;
mod feed;
mod log;
mod process;
mod reenable;

pub(super) use application::DEFAULT_STOP_GRACE;
pub use application::{Application, Environment, QueueAddress};
pub use feed::{DeadLetter, FeedSettings};
pub use log::{LogFormat, LogLevel, LogRotation, LogSettings};
pub use process::{Account, BackoffSettings, Kind, Limits, Rate};
pub use reenable::Reenable;

use super::secret::ConnectionString;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

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
    /// Where the daemon can be measured.
    pub metrics: MetricsSettings,
    /// Where runs are kept besides the state folder.
    pub history: HistorySettings,
    /// Names of the environment variables that connection strings are taken from. Handlers do not inherit them.
    pub secret_variables: BTreeSet<String>,
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

/// Where the daemon keeps what must survive it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateSettings {
    /// Folder of the journal, of the handlers' output and of the socket for `activator status`, absolute. Default `/var/lib/ssbroker`.
    pub dir: PathBuf,
}

impl Default for StateSettings {
    fn default() -> Self {
        Self { dir: PathBuf::from("/var/lib/ssbroker") }
    }
}

/// Where runs of handlers are kept besides the state folder; `[history]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HistorySettings {
    /// Name of the notification service in whose database the table `ssbroker.runs` (`sql/13-runs.sql`) is written. `None`, the
    /// default: no table is.
    pub table: Option<String>,
}

/// Where the daemon can be measured; `[metrics]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MetricsSettings {
    /// Address to answer HTTP on: `/metrics` for Prometheus, `/healthz` and `/readyz` for a supervisor of services. `None`
    /// (the default) means that nothing listens; port 0 lets the system choose one.
    pub listen: Option<SocketAddr>,
}
