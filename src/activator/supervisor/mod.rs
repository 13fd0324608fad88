//! The activator's decisions: one pure machine, [`Supervisor::handle`], from events to actions.
//!
//! It keeps no clock, starts no process and talks to no server: time comes in with each event, launch ids from the source
//! it was given, and everything to be done goes out as [`Action`]s. So every schedule can be tested without waiting.
//! Counting is left to [`slots`](crate::activator::slots), finding the application to `routing`, the stop to `stopping`,
//! what people ask for to `operator`, what an earlier daemon left to `takeover`.

mod event;
mod limits;
mod masking;
mod operator;
mod process_record;
mod reconfiguring;
mod record;
mod residents;
mod routing;
mod state;
mod stopping;
mod takeover;

pub use event::{Action, Event, LaunchOrder};
pub use operator::{AppCount, OperatorRecord};
pub use process_record::ProcessRecord;
pub use record::Record;

use crate::activator::config::{Config, Kind};
use crate::activator::launch::{ImageStamp, LaunchId, Outcome, Source, Target};
use crate::activator::notification::{Notice, QueueEvent};
use crate::activator::resident;
use crate::activator::slots::LaunchPermit;
use limits::Ended;
use routing::{Route, Routes};
use state::{AppState, Launch, Phase};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// Decides what is launched, when, and how the daemon stops.
pub struct Supervisor {
    config: Arc<Config>,
    routes: Routes,
    apps: Vec<AppState>,
    launches: BTreeMap<LaunchId, Launch>,
    ids: Box<dyn FnMut() -> LaunchId + Send>,
    stage: Stage,
}

/// How far the daemon is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Running,
    /// Waiting for what runs; a launch that is never reported is given up at this time.
    Stopping {
        give_up_at: Instant,
    },
    Stopped,
}

impl fmt::Debug for Supervisor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let launches = self.launches.len();
        f.debug_struct("Supervisor")
            .field("stage", &self.stage)
            .field("launches", &launches)
            .finish_non_exhaustive()
    }
}

impl Supervisor {
    /// A supervisor of `config` with nothing running. `ids` must never give the same id twice.
    pub fn new(config: Arc<Config>, ids: impl FnMut() -> LaunchId + Send + 'static) -> Self {
        let apps = config.applications.iter().map(|app| AppState::new(Arc::clone(app))).collect();
        Self {
            routes: Routes::new(config.applications.iter().cloned().map(Some)),
            config,
            apps,
            launches: BTreeMap::new(),
            ids: Box::new(ids),
            stage: Stage::Running,
        }
    }

    /// Takes in what happened at `now` and says what is to be done, in order. Never waits.
    ///
    /// Reports on launches are to be handed in after all actions of one event are done, so that the journal's order is
    /// that of the decisions. When those of an [`Event::Notified`] are handled too, its message may be consumed: whatever
    /// could not be started is remembered.
    pub fn handle(&mut self, event: Event, now: Instant) -> Vec<Action> {
        let mut actions = Vec::new();
        let out = &mut actions;
        match event {
            Event::Started => self.started(now, out),
            Event::Notified { listener, notice } => self.notified(listener, &notice, now, out),
            Event::Unreadable { listener, reason } => self.unreadable(listener, reason, out),
            Event::Launched { launch, pid } => self.launched(launch, pid, now, out),
            Event::LaunchFailed { launch, reason, image } => {
                self.launch_failed(launch, (reason, image), now, out);
            }
            Event::Unfit { launch, reason } => self.unfit(launch, reason, now, out),
            Event::Exited { launch, outcome } => self.exited(launch, outcome, now, out),
            Event::Adopted { launch, app, pid } => self.adopted(launch, app, pid, now, out),
            Event::Remembered { app, listener, target } => {
                self.remembered(app, Source { listener, target }, now, out);
            }
            Event::Reconcile { listener, target } => self.reconcile(listener, target, now, out),
            Event::Kicked { app, listener, target } => {
                self.kicked(&app, Source { listener, target }, now, out);
            }
            Event::Paused { app } => self.paused(&app, out),
            Event::Resumed { app } => self.resumed(&app, now, out),
            Event::Reconfigured { config } => self.reconfigured(&config, now, out),
            Event::ReloadRefused { faults } => Self::reload_refused(faults, out),
            Event::ShutdownRequested => self.shutdown_requested(now, out),
            Event::Tick => self.tick(now, out),
        }
        actions
    }

    /// When [`Event::Tick`] is due next, if anything waits for time to pass.
    #[must_use]
    pub fn wake_at(&self) -> Option<Instant> {
        self.limit_deadlines().chain(self.stop_deadlines()).min()
    }

    /// Processes of the application at `index` that run or are being started. Applications count in the order in which
    /// they came, first those of the first configuration; one that is configured no more keeps its place.
    #[must_use]
    pub fn running(&self, index: usize) -> u32 {
        self.apps.get(index).map_or(0, |state| state.slots.occupied())
    }

    /// Whether a notification for the application at `index` waits to be acted on.
    #[must_use]
    pub fn is_pending(&self, index: usize) -> bool {
        self.apps.get(index).is_some_and(|state| state.slots.is_pending())
    }

    fn notified(&mut self, listener: usize, notice: &Notice, now: Instant, out: &mut Vec<Action>) {
        let target = Target::from(notice);
        match &notice.event {
            QueueEvent::QueueActivation => {
                if let Some(app) = self.route(&target, out) {
                    self.activate(app, Source { listener, target }, now, out);
                }
            }
            QueueEvent::QueueDisabled => out.push(Action::Log(Record::QueueDisabled { target })),
            QueueEvent::Other(_) => {
                out.push(Action::Log(Record::OtherEvent { event: notice.event.clone(), target }));
            }
        }
    }

    /// The enabled application for `target`; tells the log about everything that is not plain.
    fn route(&mut self, target: &Target, out: &mut Vec<Action>) -> Option<usize> {
        let (index, mismatch) = match self.routes.find(target) {
            Route::To { app, mismatch } => (app, mismatch),
            Route::OtherServer { app } => {
                out.push(Action::Log(self.apps[app].other_server(target)));
                return None;
            }
            Route::Unmatched { nearest } => {
                out.push(Action::Log(Record::Unmatched { target: target.clone(), nearest }));
                return None;
            }
        };
        let state = &mut self.apps[index];
        if mismatch && state.strange_servers.insert(target.server.to_lowercase()) {
            out.push(Action::Log(state.server_mismatch(target)));
        }
        if !state.app.enabled {
            out.push(Action::Log(Record::Disabled { app: state.app.name.clone(), target: target.clone() }));
            return None;
        }
        Some(index)
    }

    fn activate(&mut self, index: usize, source: Source, now: Instant, out: &mut Vec<Action>) {
        let state = &mut self.apps[index];
        let app = state.app.name.clone();
        state.last = Some(source.clone());
        let Source { listener, target } = source;
        if self.stage != Stage::Running || state.paused {
            state.slots.remember();
            out.push(Action::Log(Record::Postponed { app: app.clone(), target: target.clone() }));
            out.push(Action::Remember { app, listener, target });
            return;
        }
        if !self.may_launch(index, now, out) {
            self.apps[index].slots.remember();
            self.journal_pending(index, out);
            return;
        }
        let state = &mut self.apps[index];
        let permits = state.slots.notified();
        let permits = self.within_rate(index, permits, now);
        let slots = &self.apps[index].slots;
        let (running, max) = (slots.occupied(), slots.max());
        let starting = u32::try_from(permits.len()).unwrap_or(u32::MAX);
        out.push(Action::Log(match starting {
            0 => Record::AtMax { app: app.clone(), max },
            _ => Record::Notified { app: app.clone(), target: target.clone(), starting, running, max },
        }));
        self.launch(index, permits, now, out);
        self.journal_pending(index, out);
    }

    /// Starts one process for each permit, on behalf of the last notification.
    fn launch(&mut self, index: usize, permits: Vec<LaunchPermit>, now: Instant, out: &mut Vec<Action>) {
        let state = &mut self.apps[index];
        if permits.is_empty() {
            return;
        }
        let Source { listener, target } =
            state.last.clone().expect("permits are given for a notification, which is kept");
        for permit in permits {
            let launch = (self.ids)();
            state.policy.launched(now);
            let app = Arc::clone(&state.app);
            let order = LaunchOrder { launch, app, listener, target: target.clone() };
            let program = state.app.command.display().to_string();
            let command_line = std::iter::once(program).chain(masking::masked(order.arguments())).collect();
            let started = Launch {
                app: index,
                permit,
                command_line,
                phase: Phase::Starting,
                deadline: None,
                ending: None,
            };
            self.launches.insert(launch, started);
            out.push(Action::Launch(order));
        }
    }

    /// A launch settles what the journal remembers of its application; so what is still pending is written after it.
    fn journal_pending(&self, index: usize, out: &mut Vec<Action>) {
        let state = &self.apps[index];
        if let (true, Some(Source { listener, target })) = (state.slots.is_pending(), state.last.clone()) {
            out.push(Action::Remember { app: state.app.name.clone(), listener, target });
        }
    }

    fn unreadable(&self, listener: usize, reason: String, out: &mut Vec<Action>) {
        let service = self.config.notifications.get(listener);
        let service = service.map_or_else(|| format!("listener {listener}"), |service| service.name.clone());
        out.push(Action::Log(Record::Unreadable { service, reason }));
    }

    fn launched(&mut self, id: LaunchId, pid: u32, now: Instant, out: &mut Vec<Action>) {
        let Some(launch) =
            self.launches.get_mut(&id).filter(|launch| matches!(launch.phase, Phase::Starting))
        else {
            out.push(Action::Log(Record::StrayReport { launch: id, what: "launched" }));
            return;
        };
        launch.phase = Phase::Running { pid, since: Some(now) };
        let index = launch.app;
        let deadline = self.deadline(index, now);
        let launch = self.launches.get_mut(&id).expect("the launch was found just now");
        launch.deadline = deadline;
        let state = &mut self.apps[index];
        state.last_failure = None;
        out.push(Action::Log(Record::Launched {
            launch: id,
            app: state.app.name.clone(),
            pid,
            command_line: launch.command_line.clone(),
            running: state.slots.occupied(),
            max: state.slots.max(),
        }));
        if self.stage != Stage::Running {
            self.terminate(id, now, out);
        } else if self.is_retired(id) {
            self.end_retired(id, now, out);
        }
    }

    fn launch_failed(
        &mut self,
        id: LaunchId,
        failure: (String, Option<ImageStamp>),
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        if !self.launches.get(&id).is_some_and(|launch| matches!(launch.phase, Phase::Starting)) {
            out.push(Action::Log(Record::StrayReport { launch: id, what: "failed" }));
            return;
        }
        let launch = self.launches.remove(&id).expect("the launch was found just now");
        self.apps[launch.app].slots.release(launch.permit);
        self.keep_notice(launch.app, out);
        let state = &mut self.apps[launch.app];
        let is_wanted = self.stage == Stage::Running && !state.is_retired;
        let (app, reason) = (state.app.name.clone(), failure.0.clone());
        let repeated = state.last_failure.replace(failure.clone()) == Some(failure);
        let retry_in = if is_wanted { self.judge_start(launch.app, id, now, out) } else { None };
        out.push(Action::Log(Record::LaunchFailed { launch: id, app, reason, retry_in, repeated }));
        self.stop_if_done(out);
    }

    /// What a launch was for is not known to be done, so it waits again. A handler too many finds an empty queue; one too few
    /// leaves messages lying, since a server that has notified does not do so again before somebody receives.
    fn keep_notice(&mut self, index: usize, out: &mut Vec<Action>) {
        let state = &mut self.apps[index];
        if state.app.kind != Kind::Resident && !state.is_retired {
            state.last.get_or_insert_with(|| resident::home(&self.config, &state.app));
            state.slots.remember();
            self.journal_pending(index, out);
        }
    }

    fn exited(&mut self, id: LaunchId, outcome: Outcome, now: Instant, out: &mut Vec<Action>) {
        let Some(launch) = self.launches.remove(&id) else {
            out.push(Action::Log(Record::StrayReport { launch: id, what: "exited" }));
            return;
        };
        let state = &mut self.apps[launch.app];
        state.slots.release(launch.permit);
        let lasted = launch.phase.since().map(|since| now.saturating_duration_since(since));
        out.push(Action::Log(Record::Exited {
            launch: id,
            app: state.app.name.clone(),
            pid: launch.phase.pid(),
            outcome,
            asked: matches!(launch.phase, Phase::Terminating { .. } | Phase::Killed { .. }),
            lasted,
            running: state.slots.occupied(),
        }));
        if self.stage == Stage::Running {
            let ended = Ended { launch: id, app: launch.app, ending: launch.ending, lasted, outcome };
            self.judge_exit(&ended, now, out);
            self.act_on_pending(launch.app, now, out);
            self.keep_alive(launch.app, now, out);
        } else {
            // It was told to end, perhaps before it had received anything.
            self.keep_notice(launch.app, out);
        }
        self.stop_if_done(out);
    }

    fn act_on_pending(&mut self, index: usize, now: Instant, out: &mut Vec<Action>) {
        let state = &mut self.apps[index];
        if self.stage != Stage::Running || !state.is_launchable() || state.policy.allowance(now).is_err() {
            return;
        }
        let permits = state.slots.take_pending();
        if permits.is_empty() {
            return;
        }
        let permits = self.within_rate(index, permits, now);
        self.launch(index, permits, now, out);
        self.journal_pending(index, out);
    }

    /// A child that runs may be about to read; only a queue without any is helped.
    fn reconcile(&mut self, listener: usize, target: Target, now: Instant, out: &mut Vec<Action>) {
        let Some(index) = self.route(&target, out) else { return };
        let state = &mut self.apps[index];
        let idle = state.slots.occupied() == 0 && state.policy.allowance(now).is_ok();
        if self.stage == Stage::Running && idle && state.is_launchable() {
            state.last = Some(Source { listener, target: target.clone() });
            let permits = state.slots.notified();
            out.push(Action::Log(Record::Reconciled { app: state.app.name.clone(), target }));
            let permits = self.within_rate(index, permits, now);
            self.launch(index, permits, now, out);
            self.journal_pending(index, out);
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        self.stop_tick(now, out);
        if self.stage == Stage::Running {
            self.end_overdue(now, out);
            self.act_on_waiting(now, out);
        }
    }

    fn named(&self, app: &str) -> Option<usize> {
        self.apps.iter().position(|state| state.app.name == app && !state.is_retired)
    }

    fn is_retired(&self, launch: LaunchId) -> bool {
        self.launches.get(&launch).is_some_and(|launch| self.apps[launch.app].is_retired)
    }
}

#[cfg(test)]
mod limit_tests;
#[cfg(test)]
mod schedule_tests;
#[cfg(test)]
pub(super) mod tests;
/// What tests of other parts build a supervisor with.
#[cfg(test)]
pub(super) mod testing {
    pub(in crate::activator) use super::tests::{config, counting_ids, notice};
}
