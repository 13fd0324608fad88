//! The processes of this daemon: one task for each, which waits for its start and its end and reports both.
//!
//! Nothing is decided here, and nothing journalled: the loop does both when the report arrives.

use crate::activator::inbox::{EventSender, Receipt};
use crate::activator::journal::Process;
use crate::activator::launch::{LaunchId, Outcome};
use crate::activator::launcher::Started;
use crate::activator::log_lines;
use crate::activator::output::Runs;
use crate::activator::platform::{self, Ending};
use crate::activator::status::Board;
use crate::activator::supervisor::Event;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::task::JoinSet;

/// The processes that run or are being started. Dropping it leaves them alone.
#[derive(Debug)]
pub(super) struct Children {
    runs: Arc<Runs>,
    reports: EventSender,
    board: Board,
    tasks: JoinSet<()>,
    processes: HashMap<LaunchId, Process>,
}

impl Children {
    pub(super) fn new(runs: Arc<Runs>, reports: EventSender, board: Board) -> Self {
        Self { runs, reports, board, tasks: JoinSet::new(), processes: HashMap::new() }
    }

    /// Waits for a process that was started; the receipt goes with the report on its start.
    pub(super) fn watch(&mut self, app: &str, started: Started, receipt: Receipt) {
        self.processes.insert(started.launch(), started.process().clone());
        let watcher = Watcher::new(self, app, started.launch(), started.process().clone());
        self.tasks.spawn(watcher.started(started, receipt));
    }

    /// Waits for a process that an earlier daemon started.
    pub(super) fn adopt(&mut self, app: &str, launch: LaunchId, process: Process) {
        self.runs.adopt(launch);
        self.processes.insert(launch, process.clone());
        let watcher = Watcher::new(self, app, launch, process);
        self.tasks.spawn(watcher.adopted());
    }

    /// Forgets a launch that has been reported ended, and the tasks that are through.
    pub(super) fn forget(&mut self, launch: LaunchId) {
        self.processes.remove(&launch);
        while let Some(finished) = self.tasks.try_join_next() {
            if let Err(error) = finished {
                tracing::error!(target: "activator", "the watch over a process failed: {error}");
            }
        }
    }

    /// Signals the process group of a launch.
    pub(super) fn end(&self, launch: LaunchId, ending: Ending) {
        let Some(process) = self.processes.get(&launch) else { return };
        if let Err(error) = platform::signal_group(process, ending) {
            let (launch, pid) = (tracing::field::display(launch), process.pid);
            tracing::error!(target: "activator", launch, pid, "the process cannot be signalled: {error}");
        }
    }
}

/// What the task of one process knows.
struct Watcher {
    app: String,
    launch: LaunchId,
    process: Process,
    runs: Arc<Runs>,
    reports: EventSender,
    board: Board,
}

impl Watcher {
    fn new(children: &Children, app: &str, launch: LaunchId, process: Process) -> Self {
        let (runs, reports) = (Arc::clone(&children.runs), children.reports.clone());
        Self { app: app.to_owned(), launch, process, runs, reports, board: children.board.clone() }
    }

    async fn started(self, mut started: Started, receipt: Receipt) {
        let launch = self.launch;
        match started.handed_over().await {
            Ok(()) => self.reports.report(Event::Launched { launch, pid: self.process.pid }, receipt).await,
            Err(error) => {
                self.runs.discard(launch);
                let reason = log_lines::chain(&error);
                self.reports.report(Event::LaunchFailed { launch, reason }, receipt).await;
                return;
            }
        }
        let outcome = started.ended().await;
        self.exited(outcome).await;
    }

    async fn adopted(self) {
        platform::ended(&self.process).await;
        self.exited(Outcome::Unknown).await;
    }

    async fn exited(self, outcome: Outcome) {
        let (runs, launch) = (Arc::clone(&self.runs), self.launch);
        let finish = tokio::task::spawn_blocking(move || runs.finish(launch));
        let last_lines = finish.await.expect("looking after output files does not panic");
        self.tell_last_lines(outcome, last_lines);
        self.reports.report(Event::Exited { launch, outcome }, Receipt::none()).await;
    }

    /// Pain 18: what a handler said before it failed is found beside its exit, not on the handler's host by hand.
    fn tell_last_lines(&self, outcome: Outcome, last_lines: std::io::Result<String>) {
        let (app, launch, pid) = (&self.app, tracing::field::display(self.launch), self.process.pid);
        match last_lines {
            Err(error) => {
                tracing::warn!(target: "activator", app, launch, pid, "its output files cannot be looked after: {error}");
            }
            Ok(lines) => {
                if outcome != Outcome::Code(0) && !lines.is_empty() {
                    tracing::warn!(target: "activator", app, launch, pid, "last lines of {app} on standard error:\n{lines}");
                }
                self.board.keep_tail(app, self.launch, lines);
            }
        }
    }
}
