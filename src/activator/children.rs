//! The processes of this daemon: one task for each, which waits for its start and its end and reports both.
//!
//! Meanwhile it follows what the process writes, and runs the feed of one that is fed. Nothing is decided here, and nothing
//! journalled: the loop does both when the report arrives.

use crate::activator::feed::{self, Ending};
use crate::activator::guarded;
use crate::activator::inbox::{EventSender, Receipt};
use crate::activator::journal::Process;
use crate::activator::launch::{ImageStamp, LaunchId, Outcome};
use crate::activator::launcher::{Feed, Started};
use crate::activator::log_lines;
use crate::activator::output::{Runs, Tail};
use crate::activator::platform::{self, Ending as Signal};
use crate::activator::status::Board;
use crate::activator::supervisor::{Event, LaunchOrder};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// How long what a handler leaves running in its session may take to end when asked.
const LEFTOVERS_PATIENCE: Duration = Duration::from_secs(2);
/// How often it is looked at meanwhile.
const LEFTOVERS_LOOK: Duration = Duration::from_millis(50);
/// How long a feed may take to settle what it has when its handler has ended.
const FEED_PATIENCE: Duration = Duration::from_secs(30);

/// The processes that run or are being started. Dropping it leaves them alone.
#[derive(Debug)]
pub(super) struct Children {
    runs: Arc<Runs>,
    feeds: Arc<feed::Shared>,
    reports: EventSender,
    board: Board,
    tasks: JoinSet<()>,
    processes: HashMap<LaunchId, Known>,
}

#[derive(Debug)]
struct Known {
    process: Process,
    /// Tells the feed of the process to stop, as long as there is one.
    feed: Option<FeedControl>,
}

/// Between a feed and whoever ends its process.
#[derive(Debug, Clone)]
struct FeedControl {
    /// Cancelled when no more messages are wanted.
    stop: CancellationToken,
    /// Cancelled when the feed has come to its end and the input of the process with it.
    over: CancellationToken,
}

impl Children {
    pub(super) fn new(runs: Arc<Runs>, feeds: Arc<feed::Shared>, reports: EventSender, board: Board) -> Self {
        Self { runs, feeds, reports, board, tasks: JoinSet::new(), processes: HashMap::new() }
    }

    /// Waits for a process that was started; the receipt goes with the report on its start.
    pub(super) fn watch(&mut self, order: &LaunchOrder, mut started: Started, receipt: Receipt) {
        let feed = started.take_feed();
        let control = feed
            .as_ref()
            .map(|_| FeedControl { stop: CancellationToken::new(), over: CancellationToken::new() });
        if let Some((assignment, _)) = &feed {
            self.board.follow(&order.app.name, started.launch(), Arc::clone(&assignment.handed_over));
        }
        let process = started.process().clone();
        self.processes.insert(started.launch(), Known { process: process.clone(), feed: control.clone() });
        let mut watcher = self.watcher(&order.app.name, started.launch(), process);
        watcher.program.clone_from(&order.app.command);
        watcher.grace = order.app.stop_grace;
        let fed =
            feed.zip(control).map(|(feed, control)| Fed { feed, control, shared: Arc::clone(&self.feeds) });
        self.tasks.spawn(watcher.clone().guard(watcher.started(started, receipt, fed)));
    }

    /// Waits for a process that an earlier daemon started.
    pub(super) fn adopt(&mut self, app: &str, launch: LaunchId, process: Process) {
        self.runs.adopt(launch);
        self.processes.insert(launch, Known { process: process.clone(), feed: None });
        let watcher = self.watcher(app, launch, process);
        self.tasks.spawn(watcher.clone().guard(watcher.adopted()));
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

    /// Asks a process to end: one that is fed by the end of its input, once the message in its hands is answered; any other
    /// by a signal to its group.
    pub(super) fn terminate(&self, launch: LaunchId) {
        let Some(Known { process, feed }) = self.processes.get(&launch) else { return };
        if let Some(control) = feed.as_ref().filter(|control| !control.over.is_cancelled()) {
            control.stop.cancel();
        } else if let Err(error) = platform::signal_group(process, Signal::Terminate) {
            tell_not_signalled(launch, process.pid, &error);
        }
    }

    /// Kills a process and everything it has started. Looking for that takes a while, so it is done on another thread.
    pub(super) fn kill(&self, launch: LaunchId) {
        let Some(Known { process, .. }) = self.processes.get(&launch) else { return };
        let process = process.clone();
        tokio::task::spawn_blocking(move || {
            if let Err(error) = platform::kill_tree(&process, launch) {
                tell_not_signalled(launch, process.pid, &error);
            }
        });
    }

    fn watcher(&self, app: &str, launch: LaunchId, process: Process) -> Watcher {
        Watcher {
            app: app.to_owned(),
            launch,
            process,
            program: PathBuf::new(),
            grace: Duration::ZERO,
            runs: Arc::clone(&self.runs),
            reports: self.reports.clone(),
            board: self.board.clone(),
        }
    }
}

fn tell_not_signalled(launch: LaunchId, pid: u32, error: &std::io::Error) {
    let launch = tracing::field::display(launch);
    tracing::error!(target: "activator", launch, pid, "the process cannot be signalled: {error}");
}

/// A feed that is to be run.
struct Fed {
    feed: Feed,
    control: FeedControl,
    shared: Arc<feed::Shared>,
}

/// What the task of one process knows.
#[derive(Clone)]
struct Watcher {
    app: String,
    launch: LaunchId,
    process: Process,
    /// Unknown for a process of an earlier daemon.
    program: PathBuf,
    /// How long a handler may take to finish after the end of its input.
    grace: Duration,
    runs: Arc<Runs>,
    reports: EventSender,
    board: Board,
}

impl Watcher {
    /// Watches a process by `watch`. Should that fail by a fault of ours, the end of the process is waited for without it, so
    /// that its slot is given back; how it ended is then not known.
    async fn guard(self, watch: impl Future<Output = ()> + Send + 'static) {
        let Err(fault) = guarded::run_once(watch).await else { return };
        let (app, launch, pid) = (&self.app, tracing::field::display(self.launch), self.process.pid);
        tracing::error!(
            target: "activator", app, launch, pid,
            "the watch over {app} failed by a fault of the activator, its end is waited for all the same: {fault}"
        );
        platform::ended(&self.process).await;
        self.runs.release(self.launch);
        let ended = Event::Exited { launch: self.launch, outcome: Outcome::Unknown };
        self.reports.report(ended, Receipt::none()).await;
    }

    async fn started(self, mut started: Started, receipt: Receipt, fed: Option<Fed>) {
        let launch = self.launch;
        match started.handed_over().await {
            Ok(()) => self.reports.report(Event::Launched { launch, pid: self.process.pid }, receipt).await,
            Err(error) => {
                self.runs.discard(launch);
                let (reason, image) = (log_lines::chain(&error), image_of(&self.program));
                self.reports.report(Event::LaunchFailed { launch, reason, image }, receipt).await;
                return;
            }
        }
        let feed = fed.map(|fed| tokio::spawn(self.serve(fed)));
        let tail = self.runs.follow(&self.app, launch, self.process.pid);
        let (outcome, tail) = follow_until(started.ended(), tail).await;
        if let Some(feed) = feed {
            wait_for_feed(feed).await;
        }
        self.exited(outcome, tail).await;
    }

    async fn adopted(self) {
        let tail = self.runs.follow(&self.app, self.launch, self.process.pid).skipping_present();
        let ended = async {
            platform::ended(&self.process).await;
            Outcome::Unknown
        };
        let (outcome, tail) = follow_until(ended, tail).await;
        self.exited(outcome, tail).await;
    }

    /// Feeds the process; says so if it does not do its part.
    fn serve(
        &self,
        Fed { feed: (assignment, pipes), control, shared }: Fed,
    ) -> impl Future<Output = ()> + use<> {
        let (launch, grace, process) = (self.launch, self.grace, self.process.clone());
        let reports = self.reports.clone();
        async move {
            let ending = feed::feed(assignment, shared, pipes, control.stop.clone()).await;
            control.over.cancel();
            let reason = match ending {
                Ending::Broken(reason) => reason,
                Ending::Finished if control.stop.is_cancelled() => return,
                Ending::Finished => match tokio::time::timeout(grace, platform::ended(&process)).await {
                    Ok(()) => return,
                    Err(_elapsed) => format!("it did not finish within {grace:?} after the end of its input"),
                },
            };
            reports.report(Event::Unfit { launch, reason }, Receipt::none()).await;
        }
    }

    /// Reports the end first, so that its slot is free whatever the process leaves behind.
    async fn exited(self, outcome: Outcome, tail: Tail) {
        let (runs, launch, process) = (Arc::clone(&self.runs), self.launch, self.process.clone());
        let finish = tokio::task::spawn_blocking(move || {
            let last_lines = tail.finish();
            (last_lines, runs.finish(launch), platform::leftovers(&process))
        });
        let (last_lines, finished, leftovers) =
            finish.await.expect("looking after output files does not panic");
        self.tell_end(outcome, &last_lines, finished);
        self.reports.report(Event::Exited { launch, outcome }, Receipt::none()).await;
        if !leftovers.is_empty() {
            self.end_leftovers(&leftovers).await;
        }
    }

    /// Pain 18: what a handler said before it failed is found beside its exit, not on the handler's host by hand.
    fn tell_end(&self, outcome: Outcome, last_lines: &str, finished: std::io::Result<()>) {
        let (app, launch, pid) = (&self.app, tracing::field::display(self.launch), self.process.pid);
        if let Err(error) = finished {
            tracing::warn!(target: "activator", app, launch = &launch, pid, "its output files cannot be looked after: {error}");
        }
        if !matches!(outcome, Outcome::Code(0) | Outcome::Unknown) && !last_lines.is_empty() {
            // Marked, so that no line of it passes for one of ours.
            let marked = last_lines.replace('\n', "\n  | ");
            tracing::warn!(target: "activator", app, launch, pid, "last lines of {app} on standard error:\n  | {marked}");
        }
        self.board.keep_tail(app, self.launch, last_lines.to_owned());
    }

    /// What a handler leaves running in its session ends with it, as it does under a service manager: otherwise nobody counts
    /// it, and nobody bounds what it writes. A program that is to go on has to leave the session.
    async fn end_leftovers(&self, pids: &[u32]) {
        let (app, launch) = (&self.app, tracing::field::display(self.launch));
        tracing::warn!(target: "activator", app, launch, "{app} has ended and left {pids:?} running, which are ended too");
        let asked = platform::signal_group(&self.process, Signal::Terminate);
        let deadline = Instant::now() + LEFTOVERS_PATIENCE;
        while asked.is_ok() && Instant::now() < deadline && !platform::leftovers(&self.process).is_empty() {
            tokio::time::sleep(LEFTOVERS_LOOK).await;
        }
        let (process, launch) = (self.process.clone(), self.launch);
        let killed = tokio::task::spawn_blocking(move || match platform::leftovers(&process).is_empty() {
            true => Ok(()),
            false => platform::kill_tree(&process, launch),
        });
        if let Ok(Err(error)) = killed.await {
            tell_not_signalled(launch, self.process.pid, &error);
        }
    }
}

/// The program's file, for telling whether a failure is the same as before.
pub(super) fn image_of(program: &Path) -> Option<ImageStamp> {
    platform::image_stamp(program)
}

/// Follows the output until the process has ended. It is the process that counts, not the end of its files: somebody it has
/// started may keep those open.
async fn follow_until(ended: impl Future<Output = Outcome>, mut tail: Tail) -> (Outcome, Tail) {
    let mut ended = std::pin::pin!(ended);
    let mut next_look = Instant::now();
    loop {
        tokio::select! {
            biased;
            outcome = &mut ended => return (outcome, tail),
            () = sleep_until(next_look) => {}
        }
        if tail.is_quiet() {
            next_look = Tail::next_in_silence(Instant::now().into_std()).into();
            continue;
        }
        let look = tokio::task::spawn_blocking(move || {
            let pause = tail.look();
            (tail, pause)
        });
        let (followed, pause) = look.await.expect("following output files does not panic");
        tail = followed;
        next_look = Instant::now() + pause;
    }
}

/// A feed whose handler has ended gives back what it holds. One that cannot is dropped, and with it its connection.
async fn wait_for_feed(mut feed: JoinHandle<()>) {
    if tokio::time::timeout(FEED_PATIENCE, &mut feed).await.is_err() {
        tracing::warn!(target: "activator", "a feed does not come to its end and is dropped");
        feed.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::Children;
    use crate::activator::feed;
    use crate::activator::inbox::Inbox;
    use crate::activator::launch::{LaunchId, Outcome};
    use crate::activator::output::Runs;
    use crate::activator::platform;
    use crate::activator::status::Board;
    use crate::activator::supervisor::Event;
    use crate::activator::supervisor::testing::config;
    use std::sync::Arc;
    use std::time::SystemTime;
    use tokio::process::Command;

    #[tokio::test]
    async fn the_end_of_a_process_is_reported_although_the_watch_over_it_panics() {
        let (state, inbox) = (tempfile::tempdir().unwrap(), Inbox::new());
        let (runs, board) =
            (Arc::new(Runs::open(state.path()).unwrap()), Board::new(&config(&[""]), &[], SystemTime::now()));
        let feeds = Arc::new(feed::Shared::open(state.path()).unwrap());
        let children = Children::new(runs, feeds, inbox.sender(), board);
        let mut child = Command::new("sleep").arg("300").kill_on_drop(true).spawn().unwrap();
        let (launch, process) = (LaunchId::from_u128(1), platform::identify(child.id().unwrap()).unwrap());
        let guarded = children.watcher("app0", launch, process).guard(async { panic!("a fault of ours") });
        let watch = tokio::spawn(guarded);
        child.kill().await.unwrap();
        watch.await.unwrap();
        let mut inbox = inbox;
        assert_eq!(inbox.next().await.event, Event::Exited { launch, outcome: Outcome::Unknown });
    }
}
