//! What the supervisor writes to the log about limits and pauses of processes: part of [`Record`](super::Record).
//!
//! The text is for people; programs take the fields. Knows no logging library.

use crate::activator::config::LogLevel;
use crate::activator::launch::LaunchId;
use std::fmt;
use std::time::Duration;

/// One line of the log about how processes are kept. `app` is always the name of an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessRecord {
    /// A process has run as long as it may, and is asked to end.
    TimedOut {
        /// The launch.
        launch: LaunchId,
        /// The application.
        app: String,
        /// Its process.
        pid: u32,
        /// How long it may run.
        limit: Duration,
    },
    /// A process is asked to end for a reason that whoever serves it has found.
    Unfit {
        /// The launch.
        launch: LaunchId,
        /// The application.
        app: String,
        /// Its process.
        pid: u32,
        /// What it did.
        reason: String,
    },
    /// A process that an earlier daemon fed cannot be fed by this one, and is asked to end.
    NotAdopted {
        /// The launch.
        launch: LaunchId,
        /// The application.
        app: String,
        /// Its process.
        pid: u32,
    },
    /// A process failed; nothing of its application is launched for a while.
    Pausing {
        /// The application.
        app: String,
        /// Failures in a row.
        failures: u32,
        /// How long nothing is launched.
        delay: Duration,
    },
    /// Too many processes failed in a row; nothing of the application is launched until somebody says so.
    GaveUp {
        /// The application.
        app: String,
        /// Failures in a row.
        failures: u32,
    },
    /// A notification came in a pause after a failure, and is acted on afterwards.
    InPause {
        /// The application.
        app: String,
        /// What is left of the pause.
        left: Duration,
    },
    /// A notification came while as many processes have been launched as the rate allows, and is acted on later.
    AtRate {
        /// The application.
        app: String,
        /// How long that is.
        left: Duration,
    },
    /// A notification came for an application that was given up, and is kept.
    IsGivenUp {
        /// The application.
        app: String,
    },
    /// Processes of a resident application are missing and are started.
    KeepingAlive {
        /// The application.
        app: String,
        /// Processes started.
        starting: u32,
        /// Processes that are to run.
        wanted: u32,
    },
}

impl ProcessRecord {
    /// Importance of the line.
    #[must_use]
    pub fn level(&self) -> LogLevel {
        match self {
            Self::InPause { .. } | Self::AtRate { .. } | Self::KeepingAlive { .. } => LogLevel::Info,
            Self::TimedOut { .. }
            | Self::Unfit { .. }
            | Self::NotAdopted { .. }
            | Self::Pausing { .. }
            | Self::IsGivenUp { .. } => LogLevel::Warn,
            Self::GaveUp { .. } => LogLevel::Error,
        }
    }

    /// The application it is about.
    #[must_use]
    pub fn app(&self) -> &str {
        match self {
            Self::TimedOut { app, .. }
            | Self::Unfit { app, .. }
            | Self::NotAdopted { app, .. }
            | Self::Pausing { app, .. }
            | Self::GaveUp { app, .. }
            | Self::InPause { app, .. }
            | Self::AtRate { app, .. }
            | Self::IsGivenUp { app }
            | Self::KeepingAlive { app, .. } => app,
        }
    }

    /// The launch it is about, and its process, if it is about one.
    #[must_use]
    pub fn launch(&self) -> Option<(LaunchId, u32)> {
        match self {
            Self::TimedOut { launch, pid, .. }
            | Self::Unfit { launch, pid, .. }
            | Self::NotAdopted { launch, pid, .. } => Some((*launch, *pid)),
            _ => None,
        }
    }
}

impl fmt::Display for ProcessRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut { launch, app, pid, limit } => {
                write!(f, "{app} process {pid} ({launch}) has run for {limit:?}, which is all it may")
            }
            Self::Unfit { launch, app, pid, reason } => {
                write!(f, "{app} process {pid} ({launch}) is to end: {reason}")
            }
            Self::NotAdopted { launch, app, pid } => {
                write!(f, "{app} process {pid} ({launch}) was fed by an earlier activator and is to end")
            }
            Self::Pausing { app, failures, delay } => {
                write!(f, "{app} failed {failures} times in a row; nothing of it is launched for {delay:?}")
            }
            Self::GaveUp { app, failures } => write!(
                f,
                "ALERT: {app} failed {failures} times in a row and is given up; `activator kick`, a changed configuration \
                 or a restart tries again"
            ),
            Self::InPause { app, left } => {
                write!(f, "{app} failed; the notification is acted on in {left:?}")
            }
            Self::AtRate { app, left } => {
                write!(f, "{app} is launched as often as its rate allows; the rest follows in {left:?}")
            }
            Self::IsGivenUp { app } => {
                write!(f, "{app} is given up; the notification is kept until somebody says to try again")
            }
            Self::KeepingAlive { app, starting, wanted } => {
                write!(f, "{app} is to run {wanted} times: starting {starting}")
            }
        }
    }
}
