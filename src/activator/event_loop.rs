//! The daemon's one loop: takes an event, asks the [`Supervisor`], does what it says in that order, and journals.
//!
//! This is the only task that changes anything. It waits for the start of a process and for nothing else: exits, servers and
//! the disk are waited for by tasks of their own, whose reports are events again. So the order of the journal is that of
//! the decisions, and a log of events explains any run.

use crate::activator::children::{self, Children};
use crate::activator::config::Config;
use crate::activator::daemon::{connection, connections};
use crate::activator::history::{History, Run};
use crate::activator::inbox::{Inbox, Input, Receipt};
use crate::activator::journal::{Entry, Replay};
use crate::activator::launch::{LaunchId, Outcome, Target};
use crate::activator::launcher::Launcher;
use crate::activator::ledger::Ledger;
use crate::activator::listener::{Link, Listeners};
use crate::activator::log_lines;
use crate::activator::milestone::{Milestone, Milestones};
use crate::activator::notification::QueueEvent;
use crate::activator::pauses::Pauses;
use crate::activator::recovery::{self, Recovered, Survivor, System};
use crate::activator::reenabling::Reenabling;
use crate::activator::run_table::RunTable;
use crate::activator::status::{Board, rfc3339};
use crate::activator::supervisor::{Action, Event, LaunchOrder, Record, Supervisor};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Instant, SystemTime};
use tokio::sync::mpsc;

/// Who is shown every record, besides the log.
pub(super) type Observer = Box<dyn Fn(&Record) + Send + Sync>;

/// Everything the loop works with.
pub(super) struct EventLoop {
    pub(super) config: Arc<Config>,
    pub(super) supervisor: Supervisor,
    pub(super) ledger: Ledger,
    pub(super) launcher: Launcher,
    pub(super) children: Children,
    pub(super) inbox: Inbox,
    pub(super) observer: Observer,
    pub(super) board: Board,
    pub(super) history: History,
    pub(super) run_table: RunTable,
    pub(super) pauses: Pauses,
    pub(super) listeners: Listeners,
    pub(super) reenabling: Reenabling,
    /// Reports that are there without waiting; handed in before anything else.
    pub(super) due: VecDeque<Input>,
    pub(super) is_stopped: bool,
}

impl EventLoop {
    /// Takes up what an earlier daemon left. To be called once, before the first event.
    pub(super) async fn recover(&mut self, replay: Replay) {
        for damaged in &replay.damaged {
            let (line, reason) = (damaged.line, &damaged.reason);
            tracing::error!(
                target: "activator",
                "line {line} of the journal is damaged and passed over ({reason}); the old file is kept as journal.damaged"
            );
        }
        let paused: Vec<String> = self.pauses.apps().map(str::to_owned).collect();
        for app in paused {
            self.take_in(Event::Paused { app }.into()).await;
        }
        let known = launches_of(&replay);
        let Recovered { entries, adopted, remembered } = recovery::settle(replay, &System);
        let mut is_kept = true;
        for entry in entries {
            log_lines::write_recovered(&entry);
            self.note_recovered(&entry, &known);
            if matches!(entry, Entry::Kept { .. }) {
                is_kept = self.keep(&entry);
            } else if std::mem::replace(&mut is_kept, true) {
                self.ledger.note(&entry);
            }
        }
        for survivor in adopted {
            self.adopt(survivor).await;
        }
        for kept in remembered {
            let services = &self.config.notifications;
            match services.iter().position(|service| service.name == kept.service) {
                Some(listener) => {
                    let event = Event::Remembered { app: kept.app, listener, target: kept.target };
                    self.take_in(event.into()).await;
                }
                // It stays in the journal, so that it is acted on when the service is back in the configuration.
                None => tracing::error!(
                    target: "activator", app = kept.app,
                    "a notification for {} waits for notification service {}, which is not configured any more",
                    kept.target, kept.service
                ),
            }
        }
    }

    /// Runs until the stop is through, and answers what is left to be brought to its end. Each message of `shutdown` is a request to
    /// stop; a second one kills.
    pub(super) async fn run(
        mut self,
        mut shutdown: mpsc::Receiver<()>,
        milestones: &Milestones,
    ) -> (Listeners, RunTable) {
        self.take_in(Event::Started.into()).await;
        while !self.is_stopped {
            let input = match self.due.pop_front() {
                Some(input) => input,
                None => self.next(&mut shutdown).await,
            };
            if input.event == Event::ShutdownRequested {
                milestones.tell(Milestone::Stopping);
            }
            self.take_in(input).await;
        }
        self.launcher.finish();
        (self.listeners, self.run_table)
    }

    /// Listens on every enabled notification service.
    pub(super) fn listen_to_all(&mut self) {
        for listener in 0..self.config.notifications.len() {
            let service = &self.config.notifications[listener];
            if service.enabled {
                self.listen(listener);
            } else {
                tracing::info!(target: "activator", "notification service {} is not enabled", service.name);
            }
        }
    }

    /// Listens on the notification service at position `listener`.
    fn listen(&mut self, listener: usize) {
        let Some(service) = self.config.notifications.get(listener) else { return };
        match connection(service) {
            Ok(link) => self.listeners.start(listener, &service.name, link),
            Err(error) => {
                let reason = log_lines::chain(&error);
                tracing::error!(target: "activator", "not listening on {}: {reason}", service.name);
            }
        }
    }

    async fn next(&mut self, shutdown: &mut mpsc::Receiver<()>) -> Input {
        let wake_at = self.supervisor.wake_at();
        let until = wake_at.unwrap_or_else(Instant::now);
        tokio::select! {
            biased;
            Some(()) = shutdown.recv() => {
                self.listeners.stop_all();
                Event::ShutdownRequested.into()
            }
            () = tokio::time::sleep_until(until.into()), if wake_at.is_some() => Event::Tick.into(),
            input = self.inbox.next() => input,
        }
    }

    async fn take_in(&mut self, Input { event, receipt }: Input) {
        let report = self.take_report(&event);
        let mut actions = self.supervisor.handle(event, Instant::now());
        let mut all_kept = self.journal_report(report, &mut actions);
        // Before any record of it is shown, and again for applications that a new configuration puts on the board.
        self.board.count(&self.supervisor);
        let mut orders = Vec::new();
        for action in actions {
            all_kept &= self.carry_out(action, &receipt, &mut orders);
        }
        self.board.count(&self.supervisor);
        // Whatever becomes of the launches, their intents are journalled: the server can be told while they start.
        if all_kept {
            self.ledger.give_when_safe(receipt);
        }
        for (order, receipt) in orders {
            self.start(&order, receipt).await;
        }
    }

    /// What has become of a launch or a queue is written down before anything follows from it. Answers the line that the
    /// journal is due for the end of a launch.
    fn take_report(&mut self, event: &Event) -> Option<Entry> {
        match event {
            Event::Exited { launch, outcome } => {
                self.children.forget(*launch);
                return Some(Entry::Ended { launch: *launch, outcome: *outcome });
            }
            Event::LaunchFailed { launch, reason, .. } => {
                self.children.forget(*launch);
                return Some(Entry::Failed { launch: *launch, reason: reason.clone() });
            }
            Event::Notified { listener, notice } if notice.event == QueueEvent::QueueDisabled => {
                let server = self.board.server_of(*listener);
                self.reenabling.told(&server, &Target::from(notice), Instant::now());
            }
            Event::Paused { app } => self.keep_pause(app, true),
            Event::Resumed { app } => self.keep_pause(app, false),
            _ => {}
        }
        None
    }

    /// Journals the end of a launch before anything follows from it. Only the notification that is to survive the launch goes
    /// first, so that the journal knows of one or the other at any moment; where it cannot be written the end is not written
    /// either, and the next start finds that out. Answers whether the notification, if there is one, is safe.
    fn journal_report(&mut self, report: Option<Entry>, actions: &mut Vec<Action>) -> bool {
        let Some(report) = report else { return true };
        let first =
            actions.iter().position(|action| matches!(action, Action::Remember { .. } | Action::Launch(_)));
        if let Some(at) = first.filter(|at| matches!(actions[*at], Action::Remember { .. }))
            && !self.carry_out(actions.remove(at), &Receipt::none(), &mut Vec::new())
        {
            return false;
        }
        self.ledger.note(&report);
        true
    }

    /// A pause that cannot be kept holds until the end of this daemon.
    fn keep_pause(&mut self, app: &str, paused: bool) {
        if let Err(error) = self.pauses.set(app, paused) {
            tracing::error!(target: "activator", app, "the next start will not know what is paused: {error}");
        }
    }

    /// Does what is to be done, up to the start of processes, which are added to `orders`. Answers false if a notification is lost
    /// unless its sender keeps it.
    fn carry_out(
        &mut self,
        action: Action,
        receipt: &Receipt,
        orders: &mut Vec<(LaunchOrder, Receipt)>,
    ) -> bool {
        match action {
            Action::Launch(order) => orders.extend(self.intend(order, receipt)),
            Action::Remember { app, listener, target } => {
                let service = self.service(listener);
                return self.keep(&Entry::Kept { app, service, target });
            }
            // Should it be lost, the next start finds that the queue is another one.
            Action::Forget { app } => self.ledger.note(&Entry::Forgotten { app }),
            Action::Terminate { launch, .. } => self.children.terminate(launch),
            Action::Kill { launch, .. } => self.children.kill(launch),
            Action::UseConfig(config) => self.use_config(config),
            Action::Listen { listener } => self.listen(listener),
            Action::StopListening { listener } => self.listeners.stop(listener),
            Action::Log(record) => self.log(&record),
            Action::Stop => self.is_stopped = true,
        }
        true
    }

    fn use_config(&mut self, config: Arc<Config>) {
        match connections(&config) {
            Ok(links) => {
                self.launcher.rebind(&config, &links);
                self.board.configure(&config, &links.iter().map(Link::address).collect::<Vec<_>>());
                self.listeners.configure(Arc::clone(&config));
            }
            Err(error) => tracing::error!(target: "activator", "{}", log_lines::chain(&error)),
        }
        self.config = config;
    }

    fn keep(&mut self, entry: &Entry) -> bool {
        let outcome = self.ledger.append(entry);
        if let Err(error) = &outcome {
            let reason = log_lines::chain(error);
            tracing::error!(
                target: "activator",
                "a notification cannot be kept ({reason}); it comes again from its queue, or at the next start"
            );
        }
        outcome.is_ok()
    }

    /// First the intent, then the process, then its identity: whenever the daemon dies, its successor finds the process.
    /// Answers the order again if it is to be carried out.
    fn intend(&mut self, order: LaunchOrder, receipt: &Receipt) -> Option<(LaunchOrder, Receipt)> {
        let intent = Entry::Intent {
            launch: order.launch,
            app: order.app.name.clone(),
            service: self.service(order.listener),
            target: order.target.clone(),
        };
        let Err(error) = self.ledger.append(&intent) else {
            return Some((order, receipt.of_start()));
        };
        self.launch_failed(&order, log_lines::chain(&error), receipt.clone());
        None
    }

    async fn start(&mut self, order: &LaunchOrder, receipt: Receipt) {
        match self.launcher.start(order).await {
            Ok(started) => {
                // Without this line a successor still finds the process, by its launch id.
                let process = started.process().clone();
                self.ledger.note(&Entry::Started { launch: order.launch, process });
                self.children.watch(order, started, receipt);
            }
            Err(error) => self.launch_failed(order, log_lines::chain(&error), receipt),
        }
    }

    fn launch_failed(&mut self, order: &LaunchOrder, reason: String, receipt: Receipt) {
        self.launcher.give_up(order.launch);
        let image = children::image_of(&order.app.command);
        let event = Event::LaunchFailed { launch: order.launch, reason, image };
        self.due.push_back(Input { event, receipt });
    }

    async fn adopt(&mut self, Survivor { launch, app, process }: Survivor) {
        let pid = process.pid;
        self.children.adopt(&app, launch, process);
        self.take_in(Event::Adopted { launch, app, pid }.into()).await;
    }

    fn log(&self, record: &Record) {
        log_lines::write(record);
        self.board.record(record);
        self.note_run(record);
        if matches!(record, Record::QueueDisabled { .. }) {
            // Pain 27: the warning with the cure follows from a look.
            self.listeners.looks().soon();
        }
        (self.observer)(record);
    }

    /// What ended while no daemon ran stands in the history too; also what may have run without having been reported.
    fn note_recovered(&self, entry: &Entry, known: &HashMap<LaunchId, (String, Option<u32>)>) {
        let (launch, outcome) = match entry {
            Entry::Ended { launch, outcome } => (*launch, *outcome),
            Entry::Failed { launch, .. } => (*launch, Outcome::Unknown),
            _ => return,
        };
        let Some((app, pid)) = known.get(&launch).cloned() else { return };
        let ended = rfc3339(SystemTime::now());
        self.keep_run(Run {
            app,
            launch_id: launch,
            pid,
            ended,
            seconds: None,
            outcome,
            stderr_tail: String::new(),
        });
    }

    fn keep_run(&self, run: Run) {
        self.run_table.note(&run, SystemTime::now());
        self.history.note(run);
    }

    fn note_run(&self, record: &Record) {
        let Record::Exited { launch, app, pid, outcome, lasted, .. } = record else { return };
        let Some(exit) = self.board.last_exit(app) else { return };
        self.keep_run(Run {
            app: app.clone(),
            launch_id: *launch,
            pid: *pid,
            ended: exit.at,
            seconds: lasted.map(|lasted| lasted.as_secs_f64()),
            outcome: *outcome,
            stderr_tail: exit.stderr_tail,
        });
    }

    fn service(&self, listener: usize) -> String {
        let service = self.config.notifications.get(listener);
        service.map(|service| service.name.clone()).unwrap_or_default()
    }
}

/// The application and, if it was reported, the process of every launch that an earlier daemon left open.
fn launches_of(replay: &Replay) -> HashMap<LaunchId, (String, Option<u32>)> {
    let running =
        replay.running.iter().map(|one| (one.launch, (one.notice.app.clone(), Some(one.process.pid))));
    let unfinished = replay.unfinished.iter().map(|one| (one.launch, (one.notice.app.clone(), None)));
    running.chain(unfinished).collect()
}
