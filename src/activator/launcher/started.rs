//! A process of ours, from its start to its end.
//!
//! Knows how the start is reported and how the end is told; nothing of what was started or why.

use super::StartError;
use crate::activator::feed::Assignment;
use crate::activator::journal::Process;
use crate::activator::launch::{LaunchId, Outcome};
use crate::activator::own_children::OwnChildren;
use crate::activator::platform;
use crate::activator::trampoline::Handover;
use std::io;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::process::{ChildStdin, ChildStdout};

/// How long a start may take, up to the handler's first instruction: a folder on a dead network drive must not hold a slot
/// for ever.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// Longest report that is read from a trampoline.
const LONGEST_REPORT: u64 = 4 * 1024;

/// A process that was started and is a trampoline or a handler by now. Dropping it leaves the process alone.
#[derive(Debug)]
pub(in crate::activator) struct Started {
    pub(super) launch: LaunchId,
    pub(super) process: Process,
    /// Where a trampoline reports; `None` for a handler that was started without one.
    pub(super) status: Option<UnixStream>,
    pub(super) feed: Option<Feed>,
    pub(super) own_children: OwnChildren,
}

/// What a process is to be fed with, and the pipes for it.
pub(in crate::activator) type Feed = (Assignment, (ChildStdin, ChildStdout));

impl Started {
    pub(in crate::activator) fn launch(&self) -> LaunchId {
        self.launch
    }

    pub(in crate::activator) fn process(&self) -> &Process {
        &self.process
    }

    /// What it is to be fed with, if it is to be fed; once.
    pub(in crate::activator) fn take_feed(&mut self) -> Option<Feed> {
        self.feed.take()
    }

    /// Waits for the handler's program to run. If it does not, nothing of it is left when this returns.
    pub(in crate::activator) async fn handed_over(&mut self) -> Result<(), StartError> {
        let Some(mut status) = self.status.take() else { return Ok(()) };
        let error = match tokio::time::timeout(PATIENCE, read_report(&mut status)).await {
            Ok(Ok(Handover::Done)) => return Ok(()),
            Ok(Ok(Handover::Failed(reason))) => StartError::Refused(reason),
            Ok(Ok(Handover::Died)) => StartError::Died,
            Ok(Err(source)) => StartError::System { doing: "hear from the helper process", source },
            Err(_elapsed) => StartError::TooLate,
        };
        // A program that started in the last moment is ended with its group.
        let pid = self.process.pid;
        let ended = tokio::task::spawn_blocking(move || platform::end_child(pid));
        ended.await.expect("ending a process does not panic");
        self.own_children.forget(pid);
        Err(error)
    }

    /// Waits for the process to end.
    ///
    /// It is reaped then, so its process id may be given to another one. Dropping the future loses nothing.
    pub(in crate::activator) async fn ended(&mut self) -> Outcome {
        platform::ended(&self.process).await;
        let outcome = platform::reap(&self.process);
        self.own_children.forget(self.process.pid);
        outcome.unwrap_or(Outcome::Unknown)
    }

    /// Ends a process that nobody waits for any more. Blocks until it has ended.
    pub(super) fn put_away(self) {
        platform::end_child(self.process.pid);
        self.own_children.forget(self.process.pid);
    }
}

async fn read_report(status: &mut UnixStream) -> io::Result<Handover> {
    let mut report = Vec::new();
    status.take(LONGEST_REPORT).read_to_end(&mut report).await?;
    Ok(Handover::read(&report))
}
