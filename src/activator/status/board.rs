//! Where the parts of the daemon write down what they know. Cheap to clone; every lock is held for one look or change.
//!
//! Applications are named by their name and listeners by the position in the configuration. Reading never waits for a
//! server. Knows no socket and no format.

use super::view::{AppStatus, ChildStatus, LastExit, ListenerState, ListenerStatus, QueueStatus, Status};
use super::warnings::{Found, Warnings};
use super::{rfc3339, view};
use crate::activator::config::{Application, Config, QueueAddress};
use crate::activator::launch::{LaunchId, Target};
use crate::activator::supervisor::{Record, Supervisor};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;
use tokio::sync::watch;

/// The board.
#[derive(Debug, Clone)]
pub(in crate::activator) struct Board(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    started: SystemTime,
    state: Mutex<State>,
    /// Counts what changed about processes, so that others wake.
    changes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    apps: Vec<AppBoard>,
    listeners: Vec<ListenerBoard>,
    unmatched: u64,
    unreadable: u64,
}

#[derive(Debug)]
struct AppBoard {
    app: Arc<Application>,
    handlers: Handlers,
    notifications: u64,
    failed_launches: u64,
    failed_exits: u64,
    /// How often its queue was switched on again.
    reenabled: u64,
    children: Vec<ChildStatus>,
    last_exit: Option<LastExit>,
    /// Why it cannot be launched, until it can.
    obstacle: Option<String>,
    has_given_up: bool,
    /// What is wrong with its processes; told by records of the supervisor already, so never logged here.
    own_warnings: Warnings,
    /// What each listener's server shows of the queue.
    places: HashMap<usize, Place>,
    /// Standard error of processes whose end is not yet recorded.
    tails: HashMap<LaunchId, String>,
    /// The messages that feeds have handed to their processes.
    handed_over: HashMap<LaunchId, Arc<AtomicU64>>,
}

#[derive(Debug, Default)]
struct Place {
    target: Option<Target>,
    queue: QueueStatus,
    warnings: Warnings,
}

#[derive(Debug)]
struct ListenerBoard {
    service: String,
    server: String,
    state: ListenerState,
    since: SystemTime,
    last_event: Option<SystemTime>,
    error: Option<String>,
    depth: Option<u64>,
    warnings: Warnings,
}

/// The processes of an application, as reconcile needs them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::activator) struct Handlers {
    /// That run or are being started.
    pub(in crate::activator) running: u32,
    /// Whether something waits to be launched anyway.
    pub(in crate::activator) pending: bool,
    /// Whether a person has paused it.
    pub(in crate::activator) paused: bool,
    /// Launched so far.
    pub(in crate::activator) launches: u64,
}

/// Counts of one application, for metrics.
#[derive(Debug, Clone)]
pub(in crate::activator) struct AppCounts {
    pub(in crate::activator) status: AppStatus,
    pub(in crate::activator) failed_launches: u64,
    pub(in crate::activator) failed_exits: u64,
    pub(in crate::activator) reenabled: u64,
}

impl Board {
    /// A board for `config`; `servers` are the addresses of its notification services.
    pub(in crate::activator) fn new(config: &Config, servers: &[String], now: SystemTime) -> Self {
        let mut state = State::default();
        state.configure(config, servers, now);
        Self(Arc::new(Shared { started: now, state: Mutex::new(state), changes: watch::channel(0).0 }))
    }

    /// Changes with every change about processes.
    pub(in crate::activator) fn changes(&self) -> watch::Receiver<u64> {
        self.0.changes.subscribe()
    }

    /// Takes over a new configuration; what is known of applications and services that stay is kept.
    pub(in crate::activator) fn configure(&self, config: &Config, servers: &[String]) {
        self.lock().configure(config, servers, SystemTime::now());
    }

    /// Writes down what the supervisor decided.
    pub(in crate::activator) fn record(&self, record: &Record) {
        self.lock().record(record, SystemTime::now());
    }

    /// Writes down the supervisor's counts, after an event.
    pub(in crate::activator) fn count(&self, supervisor: &Supervisor) {
        let (mut state, now) = (self.lock(), SystemTime::now());
        let mut changed = false;
        for count in supervisor.counts() {
            let Some(app) = state.app(count.app) else { continue };
            let before = app.handlers;
            (app.handlers.running, app.handlers.pending) = (count.running, count.is_pending);
            app.handlers.paused = count.is_paused;
            app.has_given_up = count.has_given_up;
            app.warn(now);
            changed |= app.handlers != before;
        }
        drop(state);
        if changed {
            self.0.changes.send_modify(|changes| *changes += 1);
        }
    }

    /// Keeps the last lines on standard error until the end of that process is recorded.
    pub(in crate::activator) fn keep_tail(&self, app: &str, launch: LaunchId, tail: String) {
        if let Some(app) = self.lock().app(app) {
            app.tails.insert(launch, tail);
        }
    }

    /// Shows how many messages a process has been fed, from now until its end is recorded.
    pub(in crate::activator) fn follow(&self, app: &str, launch: LaunchId, handed_over: Arc<AtomicU64>) {
        if let Some(app) = self.lock().app(app) {
            app.handed_over.insert(launch, handed_over);
        }
    }

    /// How many processes an application has.
    pub(in crate::activator) fn handlers(&self, app: &str) -> Handlers {
        self.lock().app(app).map(|app| app.handlers).unwrap_or_default()
    }

    /// The last exit of an application.
    pub(in crate::activator) fn last_exit(&self, app: &str) -> Option<LastExit> {
        self.lock().app(app).and_then(|app| app.last_exit.clone())
    }

    /// The applications' names.
    pub(in crate::activator) fn app_names(&self) -> Vec<String> {
        self.lock().apps.iter().map(|app| app.app.name.clone()).collect()
    }

    /// Where an application's queue was found: the listener and the names to give a handler.
    pub(in crate::activator) fn place(&self, app: &str) -> Option<(usize, Target)> {
        let mut state = self.lock();
        let app = state.app(app)?;
        app.places.iter().find_map(|(listener, place)| Some((*listener, place.target.clone()?)))
    }

    /// The queue an application is configured for, if it is enabled; the server's name is left open where it is.
    pub(in crate::activator) fn address(&self, app: &str) -> Option<Target> {
        let mut state = self.lock();
        let app = &state.app(app).filter(|app| app.app.enabled)?.app;
        let QueueAddress { server, database, schema, queue } = app.on.clone();
        Some(Target { server: server.unwrap_or_default(), database, schema, queue })
    }

    /// Position of the first notification service that is switched on.
    pub(in crate::activator) fn first_listener(&self) -> usize {
        let state = self.lock();
        let enabled = |listener: &ListenerBoard| listener.state != ListenerState::Disabled;
        state.listeners.iter().position(enabled).unwrap_or_default()
    }

    /// Whether an application's queue was found on the server of that name, which is compared without case.
    pub(in crate::activator) fn is_placed_on(&self, app: &str, server: &str) -> bool {
        let mut state = self.lock();
        let Some(app) = state.app(app) else { return false };
        let mut targets = app.places.values().filter_map(|place| place.target.as_ref());
        targets.any(|target| target.server.to_lowercase() == server.to_lowercase())
    }

    /// Writes down what a listener's server shows of an application's queue. `target` is `None` if the queue is not there.
    pub(in crate::activator) fn look(
        &self,
        listener: usize,
        app: &str,
        target: Option<Target>,
        queue: QueueStatus,
        found: Vec<Found>,
    ) {
        let mut state = self.lock();
        let Some(board) = state.app(app) else { return };
        let place = board.places.entry(listener).or_default();
        (place.target, place.queue) = (target, queue);
        let changes = place.warnings.replace(found, SystemTime::now());
        drop(state);
        for warning in changes.came {
            let view::Warning { id, text, cure, .. } = warning;
            tracing::warn!(target: "activator", app, warning = id, "{text}; to cure it: {cure}");
        }
        for view::Warning { id, text, .. } in changes.went {
            tracing::info!(target: "activator", app, warning = id, "no longer true: {text}");
        }
    }

    /// Writes down what is wrong with a notification service itself, and the depth of its queue.
    pub(in crate::activator) fn look_at_service(
        &self,
        listener: usize,
        depth: Option<u64>,
        found: Vec<Found>,
    ) {
        let mut state = self.lock();
        let Some(board) = state.listeners.get_mut(listener) else { return };
        board.depth = depth;
        let changes = board.warnings.replace(found, SystemTime::now());
        let service = board.service.clone();
        drop(state);
        for view::Warning { id, text, cure, .. } in changes.came {
            tracing::warn!(target: "activator", service, warning = id, "{text}; to cure it: {cure}");
        }
        for view::Warning { id, text, .. } in changes.went {
            tracing::info!(target: "activator", service, warning = id, "no longer true: {text}");
        }
    }

    /// Writes down how a listener does. What was seen over the connection of one that is switched off is not true any more.
    pub(in crate::activator) fn listener(&self, index: usize, state: ListenerState, error: Option<String>) {
        let mut board = self.lock();
        if state == ListenerState::Disabled {
            board.apps.iter_mut().for_each(|app| drop(app.places.remove(&index)));
        }
        let Some(listener) = board.listeners.get_mut(index) else { return };
        if listener.state != state {
            (listener.state, listener.since) = (state, SystemTime::now());
        }
        listener.error = error;
    }

    /// An application's queue was switched on again.
    pub(in crate::activator) fn reenabled(&self, app: &str) {
        self.lock().with(app, |board| board.reenabled += 1);
    }

    /// The address of a listener's server, as it is shown.
    pub(in crate::activator) fn server_of(&self, index: usize) -> String {
        self.lock().listeners.get(index).map(|listener| listener.server.clone()).unwrap_or_default()
    }

    /// A message came to a listener.
    pub(in crate::activator) fn heard(&self, index: usize) {
        if let Some(listener) = self.lock().listeners.get_mut(index) {
            listener.last_event = Some(SystemTime::now());
        }
    }

    /// Everything, for showing.
    pub(in crate::activator) fn status(&self) -> Status {
        let state = self.lock();
        Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started: rfc3339(self.0.started),
            apps: state.apps.iter().map(AppBoard::status).collect(),
            listeners: state.listeners.iter().map(ListenerBoard::status).collect(),
        }
    }

    /// The counts of every application, and the notifications that no application was for or that were none.
    pub(in crate::activator) fn counts(&self) -> (Vec<AppCounts>, u64, u64) {
        let state = self.lock();
        let counts = |app: &AppBoard| AppCounts {
            status: app.status(),
            failed_launches: app.failed_launches,
            failed_exits: app.failed_exits,
            reenabled: app.reenabled,
        };
        (state.apps.iter().map(counts).collect(), state.unmatched, state.unreadable)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn configure(&mut self, config: &Config, servers: &[String], now: SystemTime) {
        let mut before = std::mem::take(&mut self.apps);
        for app in &config.applications {
            let known = before.iter().position(|board| board.app.name == app.name);
            let mut board = known.map_or_else(|| AppBoard::new(app), |at| before.swap_remove(at));
            board.app = Arc::clone(app);
            // Positions of listeners may mean others now; the next look says.
            board.places.clear();
            self.apps.push(board);
        }
        let mut before = std::mem::take(&mut self.listeners);
        for (service, server) in config.notifications.iter().zip(servers) {
            let same = |board: &ListenerBoard| board.service == service.name && board.server == *server;
            let known = before.iter().position(same);
            let fresh = || ListenerBoard::new(&service.name, server, service.enabled, now);
            self.listeners.push(known.map_or_else(fresh, |at| before.swap_remove(at)));
        }
    }

    fn app(&mut self, name: &str) -> Option<&mut AppBoard> {
        self.apps.iter_mut().find(|board| board.app.name == name)
    }

    fn record(&mut self, record: &Record, now: SystemTime) {
        match record {
            Record::Unmatched { .. } => self.unmatched += 1,
            Record::Unreadable { .. } => self.unreadable += 1,
            Record::Notified { app, .. } | Record::AtMax { app, .. } => {
                self.with(app, |board| board.notifications += 1);
            }
            Record::Launched { launch, app, pid, .. } => self.with(app, |board| {
                board.handlers.launches += 1;
                board.obstacle = None;
                board.begin(*launch, *pid, now);
            }),
            Record::Adopted { launch, app, pid } => self.with(app, |board| board.begin(*launch, *pid, now)),
            Record::LaunchFailed { launch, app, reason, .. } => self.with(app, |board| {
                board.handed_over.remove(launch);
                board.failed_launches += 1;
                board.obstacle = Some(reason.clone());
            }),
            Record::Exited { launch, app, outcome, .. } => {
                self.with(app, |board| board.end(*launch, *outcome, now));
            }
            Record::LeftBehind { launch, app, .. } => {
                self.with(app, |board| {
                    board.children.retain(|child| child.launch_id != *launch);
                    board.handed_over.remove(launch);
                });
            }
            _ => {}
        }
    }

    fn with(&mut self, app: &str, change: impl FnOnce(&mut AppBoard)) {
        if let Some(board) = self.app(app) {
            change(board);
        }
    }
}

impl AppBoard {
    fn new(app: &Arc<Application>) -> Self {
        Self {
            app: Arc::clone(app),
            handlers: Handlers::default(),
            notifications: 0,
            failed_launches: 0,
            failed_exits: 0,
            reenabled: 0,
            children: Vec::new(),
            last_exit: None,
            obstacle: None,
            has_given_up: false,
            own_warnings: Warnings::default(),
            places: HashMap::new(),
            tails: HashMap::new(),
            handed_over: HashMap::new(),
        }
    }

    fn begin(&mut self, launch: LaunchId, pid: u32, now: SystemTime) {
        let kind = self.app.kind.name().to_owned();
        let since = rfc3339(now);
        self.children.push(ChildStatus { launch_id: launch, pid, since, received: None, kind });
    }

    fn end(&mut self, launch: LaunchId, outcome: crate::activator::launch::Outcome, now: SystemTime) {
        self.children.retain(|child| child.launch_id != launch);
        if outcome != crate::activator::launch::Outcome::Code(0) {
            self.failed_exits += 1;
        }
        self.handed_over.remove(&launch);
        let stderr_tail = self.tails.remove(&launch).unwrap_or_default();
        self.last_exit = Some(LastExit { outcome, at: rfc3339(now), stderr_tail });
    }

    fn counted(&self, child: &ChildStatus) -> ChildStatus {
        let handed_over = self.handed_over.get(&child.launch_id);
        ChildStatus { received: handed_over.map(|count| count.load(Ordering::Relaxed)), ..child.clone() }
    }

    /// Finds what is wrong with its processes.
    fn warn(&mut self, now: SystemTime) {
        let name = &self.app.name;
        let mut found = Vec::new();
        if let Some(reason) = &self.obstacle {
            let cure = "mend it; it is tried again by itself".to_owned();
            found.push(Found {
                id: "cannot-launch",
                text: format!("{name} cannot be launched: {reason}"),
                cure,
            });
        }
        if self.has_given_up {
            found.push(Found {
                id: "given-up",
                text: format!("{name} failed so often in a row that nothing of it is launched any more"),
                cure: format!("see why (`activator status --history {name}`), then `activator kick {name}`"),
            });
        }
        // Both stand in the log already.
        drop(self.own_warnings.replace(found, now));
    }

    /// Of several servers that have the queue the first listener's is shown.
    fn status(&self) -> AppStatus {
        let mut places: Vec<_> = self.places.iter().collect();
        places.sort_by_key(|(listener, _)| **listener);
        let queue = places.iter().find(|(_, place)| place.target.is_some());
        let queue = queue.map(|(_, place)| place.queue.clone()).unwrap_or_default();
        let of_places = places.iter().flat_map(|(_, place)| place.warnings.list());
        let warnings = self.own_warnings.list().iter().chain(of_places).cloned().collect();
        AppStatus {
            name: self.app.name.clone(),
            kind: self.app.kind.name().to_owned(),
            queue: self.app.on.to_string(),
            depth: queue.depth,
            oldest: queue.oldest,
            monitor_state: queue.monitor_state,
            notification: queue.notification,
            running: self.handlers.running,
            min: self.app.min,
            max: self.app.max,
            pending: self.handlers.pending,
            paused: self.handlers.paused,
            children: self.children.iter().map(|child| self.counted(child)).collect(),
            last_exit: self.last_exit.clone(),
            warnings,
            notifications: self.notifications,
            launches: self.handlers.launches,
        }
    }
}

impl ListenerBoard {
    fn new(service: &str, server: &str, enabled: bool, now: SystemTime) -> Self {
        Self {
            service: service.to_owned(),
            server: server.to_owned(),
            state: if enabled { ListenerState::Connecting } else { ListenerState::Disabled },
            since: now,
            last_event: None,
            error: None,
            depth: None,
            warnings: Warnings::default(),
        }
    }

    fn status(&self) -> ListenerStatus {
        ListenerStatus {
            service: self.service.clone(),
            server: self.server.clone(),
            state: self.state,
            since: rfc3339(self.since),
            last_event: self.last_event.map(rfc3339),
            error: self.error.clone(),
            depth: self.depth,
            warnings: self.warnings.list().to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Board;
    use crate::activator::launch::Target;
    use crate::activator::notification::Notice;
    use crate::activator::status::warnings::Found;
    use crate::activator::status::{ListenerState, QueueStatus};
    use crate::activator::supervisor::testing::{config, notice};
    use std::time::SystemTime;

    #[test]
    fn what_was_seen_by_a_listener_that_is_switched_off_is_shown_and_used_no_more() {
        let board = Board::new(&config(&[""]), &["x".to_owned()], SystemTime::now());
        let seen: Notice = notice("S", "q0");
        let found = Found { id: "queue-unseen", text: "no".to_owned(), cure: "yes".to_owned() };
        board.look(0, "app0", Some(Target::from(&seen)), QueueStatus::default(), vec![found]);
        assert_eq!(board.place("app0"), Some((0, Target::from(&seen))));
        assert_eq!(board.status().apps[0].warnings.len(), 1);
        board.listener(0, ListenerState::Disabled, None);
        assert_eq!(board.place("app0"), None);
        assert!(board.status().apps[0].warnings.is_empty());
    }
}
