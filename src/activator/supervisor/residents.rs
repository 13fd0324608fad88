//! Keeps resident processes alive: what is missing is started, at once or after the pause of a failure.
//!
//! Part of the supervisor's machine; how many are wanted is decided by [`resident`](crate::activator::resident).

use super::event::Action;
use super::process_record::ProcessRecord;
use super::record::Record;
use super::{Stage, Supervisor};
use crate::activator::resident;
use std::time::Instant;

impl Supervisor {
    /// The daemon begins: everything that always runs is started, but for what an earlier daemon left running.
    pub(super) fn started(&mut self, now: Instant, out: &mut Vec<Action>) {
        for index in 0..self.apps.len() {
            self.keep_alive(index, now, out);
        }
    }

    /// Starts the processes of the application at `index` that are missing, unless it is in a pause.
    pub(super) fn keep_alive(&mut self, index: usize, now: Instant, out: &mut Vec<Action>) {
        let is_complete = self.missing(index) == 0;
        let state = &mut self.apps[index];
        if self.stage != Stage::Running || is_complete || state.policy.allowance(now).is_err() {
            return;
        }
        state.last.get_or_insert_with(|| resident::home(&self.config, &state.app));
        let (app, wanted) = (state.app.name.clone(), resident::wanted(&state.app));
        let permits = state.slots.fill(wanted);
        let permits = self.within_rate(index, permits, now);
        let starting = u32::try_from(permits.len()).unwrap_or(u32::MAX);
        out.push(Action::Log(Record::Process(ProcessRecord::KeepingAlive { app, starting, wanted })));
        self.launch(index, permits, now, out);
    }

    /// How many processes of a resident application do not run.
    pub(super) fn missing(&self, index: usize) -> u32 {
        let state = &self.apps[index];
        let wanted = if state.is_launchable() { resident::wanted(&state.app) } else { 0 };
        wanted.saturating_sub(state.slots.occupied())
    }
}
