//! How records of the supervisor become log lines: their text, their level and, for programs, their fields.
//!
//! Everything the activator logs has the target `activator`.

use crate::activator::config::LogLevel;
use crate::activator::journal::Entry;
use crate::activator::launch::LaunchId;
use crate::activator::supervisor::{OperatorRecord, Record};
use std::error::Error;
use std::fmt::Write;
use tracing::field::display;

/// Writes one record.
pub(super) fn write(record: &Record) {
    let Fields { app, launch, pid } = Fields::of(record);
    let launch = launch.map(display);
    macro_rules! line {
        ($level:ident) => {
            tracing::$level!(target: "activator", app, launch, pid, "{record}")
        };
    }
    match record.level() {
        LogLevel::Error => line!(error),
        LogLevel::Warn => line!(warn),
        LogLevel::Info => line!(info),
        LogLevel::Debug => line!(debug),
        LogLevel::Trace => line!(trace),
    }
}

/// Writes what a start has found out about a launch of an earlier daemon.
pub(super) fn write_recovered(entry: &Entry) {
    match entry {
        Entry::Ended { launch, outcome } => {
            let launch = display(launch);
            tracing::info!(target: "activator", launch, "it ended while no activator ran, with {outcome}");
        }
        Entry::Failed { launch, .. } => {
            let launch = display(launch);
            tracing::warn!(target: "activator", launch, "it was intended and no process is found; it is made again");
        }
        Entry::Started { launch, process } => {
            let (launch, pid) = (display(launch), process.pid);
            tracing::info!(target: "activator", launch, pid, "its process is found by its launch id");
        }
        // Told when they are acted on.
        Entry::Kept { .. } | Entry::Forgotten { .. } | Entry::Intent { .. } => {}
    }
}

/// An error and everything below it, as one line.
pub(super) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        write!(text, ": {cause}").expect("writing to a string does not fail");
        next = cause.source();
    }
    text
}

/// What a line is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Fields<'a> {
    app: Option<&'a str>,
    launch: Option<LaunchId>,
    pid: Option<u32>,
}

impl<'a> Fields<'a> {
    fn of(record: &'a Record) -> Self {
        match record {
            Record::Notified { app, .. }
            | Record::AtMax { app, .. }
            | Record::Disabled { app, .. }
            | Record::OtherServer { app, .. }
            | Record::ServerMismatch { app, .. }
            | Record::Reconciled { app, .. }
            | Record::Operator(
                OperatorRecord::Kicked { app, .. }
                | OperatorRecord::Paused { app }
                | OperatorRecord::Resumed { app },
            )
            | Record::NoticeDropped { app, .. }
            | Record::Postponed { app, .. } => Self { app: Some(app), ..Self::default() },
            Record::Reconfigured { change } => Self { app: change.app(), ..Self::default() },
            Record::LaunchFailed { launch, app, .. } => {
                Self { app: Some(app), launch: Some(*launch), pid: None }
            }
            Record::Exited { launch, app, pid, .. } | Record::LeftBehind { launch, app, pid } => {
                Self { app: Some(app), launch: Some(*launch), pid: *pid }
            }
            Record::Launched { launch, app, pid, .. }
            | Record::Adopted { launch, app, pid }
            | Record::NoSuchApplication { launch, app, pid }
            | Record::Terminating { launch, app, pid, .. }
            | Record::Killing { launch, app, pid } => {
                Self { app: Some(app), launch: Some(*launch), pid: Some(*pid) }
            }
            Record::Process(record) => Self {
                app: Some(record.app()),
                launch: record.launch().map(|(launch, _)| launch),
                pid: record.launch().map(|(_, pid)| pid),
            },
            Record::StrayReport { launch, .. } => Self { launch: Some(*launch), ..Self::default() },
            Record::Unmatched { .. }
            | Record::QueueDisabled { .. }
            | Record::OtherEvent { .. }
            | Record::Unreadable { .. }
            | Record::ReloadRefused { .. }
            | Record::Stopping { .. }
            | Record::Stopped => Self::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Fields, chain};
    use crate::activator::launch::LaunchId;
    use crate::activator::supervisor::Record;
    use std::io;

    #[test]
    fn a_line_about_a_process_carries_its_names() {
        let launch = LaunchId::from_u128(3);
        let record = Record::Adopted { launch, app: "orders".to_owned(), pid: 77 };
        assert_eq!(Fields::of(&record), Fields { app: Some("orders"), launch: Some(launch), pid: Some(77) });
        assert_eq!(Fields::of(&Record::Stopped), Fields::default());
    }

    #[test]
    fn an_error_is_told_with_all_its_causes() {
        let inner = io::Error::other(io::Error::other("deep"));
        assert_eq!(chain(&io::Error::other(inner)), "deep");
        let outer = crate::client::Error::new(crate::client::ErrorKind::Connect, "no connection")
            .with_cause(io::Error::other("refused"));
        assert_eq!(chain(&outer), "no connection: refused");
    }
}
