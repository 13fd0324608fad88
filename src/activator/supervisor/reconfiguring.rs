//! How a running supervisor goes over to a changed configuration.
//!
//! Part of the supervisor's machine; as pure as the rest of it. What is different is worked out in
//! `config::diff`; here it is decided what that means for applications and launches.

use super::event::Action;
use super::record::Record;
use super::routing::Routes;
use super::state::{AppState, EndReason};
use super::{Stage, Supervisor};
use crate::activator::config::diff::{Change, Plan, plan};
use crate::activator::config::{Application, Config};
use crate::activator::launch::LaunchId;
use crate::activator::resident;
use std::sync::Arc;
use std::time::Instant;

impl Supervisor {
    /// Takes over `config`. A daemon that stops has no use for it.
    pub(super) fn reconfigured(&mut self, config: &Config, now: Instant, out: &mut Vec<Action>) {
        if self.stage != Stage::Running {
            return;
        }
        let Plan { config, changes } = plan(&self.config, config.clone());
        self.config = Arc::new(config);
        out.push(Action::UseConfig(Arc::clone(&self.config)));
        for change in changes {
            out.push(Action::Log(Record::Reconfigured { change: change.clone() }));
            self.act_on_change(change, now, out);
        }
        self.routes =
            Routes::new(self.apps.iter().map(|state| (!state.is_retired).then(|| Arc::clone(&state.app))));
        // An application that failed and is the same as before keeps its pause.
        self.act_on_waiting(now, out);
    }

    /// Tells why a changed configuration is not taken over.
    pub(super) fn reload_refused(faults: Vec<String>, out: &mut Vec<Action>) {
        out.extend(faults.into_iter().map(|fault| Action::Log(Record::ReloadRefused { fault })));
    }

    fn act_on_change(&mut self, change: Change, now: Instant, out: &mut Vec<Action>) {
        match change {
            Change::ServiceStarted { listener, .. } | Change::ServiceRebound { listener, .. } => {
                out.push(Action::Listen { listener });
            }
            Change::ServiceStopped { listener, .. } => {
                out.push(Action::StopListening { listener });
                self.leave_listener(listener, out);
            }
            Change::AppRemoved { app } => self.retire(&app, now, out),
            Change::AppAdded { app } => {
                let application = self.configured(&app);
                self.add(application);
            }
            Change::AppRebound { ref app, .. } => {
                self.renew(app);
                self.forget_notifications(app, out);
            }
            Change::AppEnabled { app, .. }
            | Change::AppResized { app, .. }
            | Change::AppChanged { app, .. } => {
                self.renew(&app);
            }
            // What looks at the queues takes it over by itself.
            Change::AppReenabling { .. } | Change::NeedsRestart { .. } => {}
        }
    }

    /// What was heard from a service that is listened on no more is told to handlers as from another one, whose connection
    /// is in use, and stands so in the journal.
    fn leave_listener(&mut self, gone: usize, out: &mut Vec<Action>) {
        for index in 0..self.apps.len() {
            let state = &mut self.apps[index];
            if let Some(source) = state.last.as_mut().filter(|source| source.listener == gone) {
                source.listener = resident::home(&self.config, &state.app).listener;
                self.journal_pending(index, out);
            }
        }
    }

    /// One that comes back while processes of it still run keeps counting them.
    fn add(&mut self, application: Arc<Application>) {
        match self.apps.iter_mut().find(|state| state.app.name == application.name) {
            Some(state) => {
                state.is_retired = false;
                state.reconfigure(application);
            }
            None => self.apps.push(AppState::new(application)),
        }
    }

    fn renew(&mut self, app: &str) {
        let application = self.configured(app);
        if let Some(index) = self.named(app) {
            self.apps[index].reconfigure(application);
        }
    }

    /// What waits is for a queue that the application is not for any more.
    fn forget_notifications(&mut self, app: &str, out: &mut Vec<Action>) {
        if let Some(index) = self.named(app) {
            let state = &mut self.apps[index];
            state.last = None;
            if state.slots.is_pending() {
                state.slots.forget();
                out.push(Action::Forget { app: app.to_owned() });
            }
        }
    }

    fn retire(&mut self, app: &str, now: Instant, out: &mut Vec<Action>) {
        let Some(index) = self.named(app) else { return };
        self.forget_notifications(app, out);
        self.apps[index].is_retired = true;
        let of_app = |(id, launch): (&LaunchId, &super::Launch)| (launch.app == index).then_some(*id);
        let launches: Vec<LaunchId> = self.launches.iter().filter_map(of_app).collect();
        for launch in launches {
            self.end_retired(launch, now, out);
        }
    }

    /// Asks a process of an application to end that is configured no more, which is no fault of the process.
    pub(super) fn end_retired(&mut self, id: LaunchId, now: Instant, out: &mut Vec<Action>) {
        if let Some(launch) = self.launches.get_mut(&id) {
            launch.ending.get_or_insert(EndReason::Asked);
        }
        self.terminate(id, now, out);
    }

    fn configured(&self, app: &str) -> Arc<Application> {
        let found = self.config.applications.iter().find(|application| application.name == app);
        Arc::clone(found.expect("the change is one of this configuration"))
    }
}

#[cfg(test)]
#[path = "reconfiguring_tests.rs"]
mod tests;
