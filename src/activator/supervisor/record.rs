//! What the supervisor writes to the log: one variant for each kind of line, with its level and its text.
//!
//! The text is for people; programs take the fields. Knows no logging library.

use super::operator::OperatorRecord;
use super::process_record::ProcessRecord;
use crate::activator::config::{Change, LogLevel};
use crate::activator::launch::{LaunchId, Outcome, Target};
use crate::activator::notification::QueueEvent;
use std::fmt;
use std::time::Duration;

/// One line of the log. `app` is always the name of an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// A notification was acted on.
    Notified {
        /// The application.
        app: String,
        /// The queue.
        target: Target,
        /// Processes started for it.
        starting: u32,
        /// Processes running or starting afterwards.
        running: u32,
        /// Most that may run.
        max: u32,
    },
    /// A notification came while as many processes ran as may; it is acted on when one has ended.
    AtMax {
        /// The application.
        app: String,
        /// Most that may run.
        max: u32,
    },
    /// A notification was consumed for an application that is switched off.
    Disabled {
        /// The application.
        app: String,
        /// The queue.
        target: Target,
    },
    /// No application is configured for this queue.
    Unmatched {
        /// The queue.
        target: Target,
        /// The configured queue whose name is nearest, as `database.schema.queue`.
        nearest: Option<String>,
    },
    /// The queue is configured, but with `strict_server` and another server.
    OtherServer {
        /// The application.
        app: String,
        /// Its server.
        configured: String,
        /// The queue.
        target: Target,
    },
    /// The server calls itself something else than the configuration says; once for each name.
    ServerMismatch {
        /// The application.
        app: String,
        /// Its server.
        configured: String,
        /// The name in the notification.
        received: String,
    },
    /// The server has switched a queue off.
    QueueDisabled {
        /// The queue.
        target: Target,
    },
    /// A notification of an event that the activator has no use for.
    OtherEvent {
        /// The event.
        event: QueueEvent,
        /// What it names.
        target: Target,
    },
    /// A message that is no event notification was consumed.
    Unreadable {
        /// The notification service.
        service: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A look at the server found messages nobody reads.
    Reconciled {
        /// The application.
        app: String,
        /// The queue.
        target: Target,
    },
    /// A process runs.
    Launched {
        /// The launch.
        launch: LaunchId,
        /// The application.
        app: String,
        /// Its process.
        pid: u32,
        /// Program and arguments; values that look like secrets are masked.
        command_line: Vec<String>,
        /// Processes running or starting.
        running: u32,
        /// Most that may run.
        max: u32,
    },
    /// A process could not be started; its notification is kept and tried again.
    LaunchFailed {
        /// The launch.
        launch: LaunchId,
        /// The application.
        app: String,
        /// The system's reason.
        reason: String,
        /// When it is tried again; `None` while the daemon stops, or when the application is given up.
        retry_in: Option<Duration>,
        /// Whether the attempt before failed for the same reason, with the same file of the program.
        repeated: bool,
    },
    /// A process has ended.
    Exited {
        /// The launch.
        launch: LaunchId,
        /// The application.
        app: String,
        /// Its process.
        pid: Option<u32>,
        /// How it ended.
        outcome: Outcome,
        /// Whether it had been asked to end.
        asked: bool,
        /// How long it ran; `None` for an adopted process.
        lasted: Option<Duration>,
        /// Processes still running or starting.
        running: u32,
    },
    /// A process of an earlier daemon is counted again.
    Adopted {
        /// The launch.
        launch: LaunchId,
        /// The application.
        app: String,
        /// Its process.
        pid: u32,
    },
    /// A process of an earlier daemon is of an application that is configured no more, and is asked to end.
    NoSuchApplication {
        /// The launch.
        launch: LaunchId,
        /// The name it has in the journal.
        app: String,
        /// Its process.
        pid: u32,
    },
    /// A notification that an earlier daemon kept is acted on no more: its application is gone, or is for another queue now.
    NoticeDropped {
        /// The name it has in the journal.
        app: String,
        /// The queue.
        target: Target,
    },
    /// A notification came while the daemon stops; the next start acts on it.
    Postponed {
        /// The application.
        app: String,
        /// The queue.
        target: Target,
    },
    /// The configuration is different, and in effect.
    Reconfigured {
        /// One difference.
        change: Change,
    },
    /// The configuration was changed and cannot be used; the one before stays in effect.
    ReloadRefused {
        /// One thing that is wrong with it.
        fault: String,
    },
    /// The daemon begins to stop.
    Stopping {
        /// Processes that run or are being started.
        running: u32,
    },
    /// A process is asked to end.
    Terminating {
        /// The launch.
        launch: LaunchId,
        /// The application.
        app: String,
        /// Its process.
        pid: u32,
        /// How long it has.
        grace: Duration,
    },
    /// A process did not end in time and is killed.
    Killing {
        /// The launch.
        launch: LaunchId,
        /// The application.
        app: String,
        /// Its process.
        pid: u32,
    },
    /// A process did not even end when killed; the daemon stops without it.
    LeftBehind {
        /// The launch.
        launch: LaunchId,
        /// The application.
        app: String,
        /// Its process, if it was ever reported.
        pid: Option<u32>,
    },
    /// The daemon stops now.
    Stopped,
    /// A person asked for something.
    Operator(OperatorRecord),
    /// How processes are kept.
    Process(ProcessRecord),
    /// Something was reported about a launch that is not known, or not in a state for it.
    StrayReport {
        /// The launch.
        launch: LaunchId,
        /// What was reported.
        what: &'static str,
    },
}

impl Record {
    /// Importance of the line.
    #[must_use]
    pub fn level(&self) -> LogLevel {
        match self {
            Self::Notified { .. }
            | Self::AtMax { .. }
            | Self::Disabled { .. }
            | Self::Launched { .. }
            | Self::Adopted { .. }
            | Self::Postponed { .. }
            | Self::Stopping { .. }
            | Self::Terminating { .. }
            | Self::Operator(_)
            | Self::Stopped => LogLevel::Info,
            Self::Reconfigured { change: Change::NeedsRestart { .. } } => LogLevel::Warn,
            Self::Reconfigured { .. } => LogLevel::Info,
            Self::Process(record) => record.level(),
            Self::LaunchFailed { repeated: true, .. } => LogLevel::Debug,
            Self::Exited { outcome: Outcome::Code(0), .. } | Self::Exited { asked: true, .. } => {
                LogLevel::Info
            }
            Self::Exited { .. }
            | Self::Unmatched { .. }
            | Self::OtherServer { .. }
            | Self::ServerMismatch { .. }
            | Self::OtherEvent { .. }
            | Self::Unreadable { .. }
            | Self::Reconciled { .. }
            | Self::NoSuchApplication { .. }
            | Self::NoticeDropped { .. }
            | Self::Killing { .. }
            | Self::StrayReport { .. } => LogLevel::Warn,
            Self::ReloadRefused { .. }
            | Self::QueueDisabled { .. }
            | Self::LaunchFailed { .. }
            | Self::LeftBehind { .. } => LogLevel::Error,
        }
    }

    fn write_notification(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Notified { app, target, starting, running, max } => {
                write!(
                    f,
                    "notification for {target}: starting {starting} of {app}, {running} of {max} running"
                )
            }
            Self::AtMax { app, max } => {
                write!(f, "{app} runs {max} of {max}; the notification is acted on when one of them ends")
            }
            Self::Disabled { app, target } => {
                write!(f, "notification for {target} consumed: {app} is not enabled")
            }
            Self::Unmatched { target, nearest } => {
                write!(f, "notification for {target} matches no application")?;
                match nearest {
                    Some(nearest) => write!(f, "; the nearest configured queue is {nearest}"),
                    None => Ok(()),
                }
            }
            Self::OtherServer { app, configured, target } => {
                write!(f, "notification for {target} left alone: {app} is for server {configured} only")
            }
            Self::ServerMismatch { app, configured, received } => {
                write!(
                    f,
                    "{app} names server {configured}, but the server calls itself {received}; launching all the same"
                )
            }
            Self::QueueDisabled { target } => {
                write!(f, "queue {target} was switched off by the server after five roll backs in a row")
            }
            Self::OtherEvent { event, target } => write!(f, "event {event} for {target} is of no use here"),
            Self::Unreadable { service, reason } => {
                write!(f, "message to {service} consumed, but it is no event notification: {reason}")
            }
            Self::Reconciled { app, target } => {
                write!(f, "messages wait in {target} and nobody reads: starting {app} without a notification")
            }
            Self::Reconfigured { change } => write!(f, "configuration: {change}"),
            Self::ReloadRefused { fault } => write!(f, "the changed configuration is not used: {fault}"),
            Self::Postponed { app, target } => {
                write!(f, "notification for {target} is kept: nothing of {app} is launched now")
            }
            other => other.write_process(f),
        }
    }

    fn write_process(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Launched { launch, app, pid, command_line, running, max } => {
                write!(
                    f,
                    "launched {app} as process {pid} ({launch}), {running} of {max} running: {command_line:?}"
                )
            }
            Self::LaunchFailed { launch, app, reason, retry_in, repeated: _ } => {
                write!(f, "cannot launch {app} ({launch}): {reason}; ")?;
                match retry_in {
                    Some(delay) => write!(f, "next try in {delay:?}"),
                    None => f.write_str("there is no further try before the activator's restart"),
                }
            }
            Self::Exited { launch, app, pid, outcome, lasted, running, asked: _ } => {
                write!(f, "{app}{} ({launch}) ended with {outcome}", OfPid(*pid))?;
                if let Some(lasted) = lasted {
                    write!(f, " after {:.3} s", lasted.as_secs_f64())?;
                }
                write!(f, ", {running} still running")
            }
            Self::Process(record) => write!(f, "{record}"),
            Self::Adopted { launch, app, pid } => write!(f, "{app} still runs as process {pid} ({launch})"),
            Self::NoSuchApplication { launch, app, pid } => {
                write!(f, "process {pid} ({launch}) is to end: application {app} is not configured any more")
            }
            Self::NoticeDropped { app, target } => {
                write!(
                    f,
                    "kept notification for {target} dropped: application {app} is not for that queue any more"
                )
            }
            Self::Operator(record) => write!(f, "{record}"),
            Self::StrayReport { launch, what } => {
                write!(f, "launch {launch} was reported {what} out of turn")
            }
            other => other.write_stop(f),
        }
    }

    fn write_stop(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopping { running } => write!(f, "stopping, {running} processes running"),
            Self::Terminating { launch, app, pid, grace } => {
                write!(f, "asking {app} process {pid} ({launch}) to end within {grace:?}")
            }
            Self::Killing { launch, app, pid } => write!(f, "killing {app} process {pid} ({launch})"),
            Self::LeftBehind { launch, app, pid } => {
                write!(f, "{app}{} ({launch}) does not end and is left behind", OfPid(*pid))
            }
            Self::Stopped => f.write_str("stopped"),
            // Told by the other two. Listed, so that a new one cannot be forgotten.
            Self::Notified { .. }
            | Self::AtMax { .. }
            | Self::Disabled { .. }
            | Self::Unmatched { .. }
            | Self::OtherServer { .. }
            | Self::ServerMismatch { .. }
            | Self::QueueDisabled { .. }
            | Self::OtherEvent { .. }
            | Self::Unreadable { .. }
            | Self::Reconciled { .. }
            | Self::Reconfigured { .. }
            | Self::ReloadRefused { .. }
            | Self::Postponed { .. }
            | Self::Launched { .. }
            | Self::LaunchFailed { .. }
            | Self::Exited { .. }
            | Self::Process(_)
            | Self::Adopted { .. }
            | Self::NoSuchApplication { .. }
            | Self::NoticeDropped { .. }
            | Self::Operator(_)
            | Self::StrayReport { .. } => Ok(()),
        }
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_notification(f)
    }
}

struct OfPid(Option<u32>);

impl fmt::Display for OfPid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |pid| write!(f, " process {pid}"))
    }
}
