//! How the daemon stops: every process is asked to end, after its grace it is killed, and what survives even that is
//! left behind, so that a stop always comes to an end.
//!
//! Part of the supervisor's machine; as pure as the rest of it.

use super::event::Action;
use super::record::Record;
use super::state::Phase;
use super::{Stage, Supervisor};
use crate::activator::launch::LaunchId;
use std::time::{Duration, Instant};

/// How long a killed process, or one whose start is not yet reported, may hold up the stop.
const PATIENCE: Duration = Duration::from_secs(5);

impl Supervisor {
    /// The first request asks every process to end; any further one kills what still runs.
    pub(super) fn shutdown_requested(&mut self, now: Instant, out: &mut Vec<Action>) {
        match self.stage {
            Stage::Running => {
                self.stage = Stage::Stopping { give_up_at: now + PATIENCE };
                let running = u32::try_from(self.launches.len()).unwrap_or(u32::MAX);
                out.push(Action::Log(Record::Stopping { running }));
                for launch in self.ids_of_launches() {
                    self.terminate(launch, now, out);
                }
            }
            Stage::Stopping { .. } => {
                for launch in self.ids_of_launches() {
                    self.kill(launch, now, out);
                }
            }
            Stage::Stopped => {}
        }
        self.stop_if_done(out);
    }

    /// Asks a running process to end. One that is still being started is asked when its start is reported.
    pub(super) fn terminate(&mut self, id: LaunchId, now: Instant, out: &mut Vec<Action>) {
        let Some(launch) = self.launches.get_mut(&id) else { return };
        if let Phase::Running { pid, since } = launch.phase {
            let application = &self.apps[launch.app].app;
            let grace = application.stop_grace;
            launch.phase = Phase::Terminating { pid, since, kill_at: now + grace };
            out.push(Action::Log(Record::Terminating {
                launch: id,
                app: application.name.clone(),
                pid,
                grace,
            }));
            out.push(Action::Terminate { launch: id, pid });
        }
    }

    /// Kills what has used up its grace, and gives up on what does not end at all.
    pub(super) fn stop_tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        for id in self.ids_of_launches() {
            match (self.launches[&id].phase, self.stage) {
                (Phase::Terminating { kill_at, .. }, _) if kill_at <= now => self.kill(id, now, out),
                (Phase::Killed { give_up_at, .. }, Stage::Stopping { .. }) if give_up_at <= now => {
                    self.leave_behind(id, out);
                }
                (Phase::Starting, Stage::Stopping { give_up_at }) if give_up_at <= now => {
                    self.leave_behind(id, out);
                }
                _ => {}
            }
        }
        self.stop_if_done(out);
    }

    /// The times at which the stop goes on by itself.
    pub(super) fn stop_deadlines(&self) -> impl Iterator<Item = Instant> + '_ {
        self.launches.values().filter_map(|launch| match (launch.phase, self.stage) {
            (Phase::Terminating { kill_at, .. }, _) => Some(kill_at),
            (Phase::Killed { give_up_at, .. }, Stage::Stopping { .. }) => Some(give_up_at),
            (Phase::Starting, Stage::Stopping { give_up_at }) => Some(give_up_at),
            _ => None,
        })
    }

    /// Ends the stop when nothing is left to wait for.
    pub(super) fn stop_if_done(&mut self, out: &mut Vec<Action>) {
        if matches!(self.stage, Stage::Stopping { .. }) && self.launches.is_empty() {
            self.stage = Stage::Stopped;
            out.push(Action::Log(Record::Stopped));
            out.push(Action::Stop);
        }
    }

    fn kill(&mut self, id: LaunchId, now: Instant, out: &mut Vec<Action>) {
        let Some(launch) = self.launches.get_mut(&id) else { return };
        if let Phase::Running { pid, since } | Phase::Terminating { pid, since, .. } = launch.phase {
            launch.phase = Phase::Killed { pid, since, give_up_at: now + PATIENCE };
            let app = self.apps[launch.app].app.name.clone();
            out.push(Action::Log(Record::Killing { launch: id, app, pid }));
            out.push(Action::Kill { launch: id, pid });
        }
    }

    fn leave_behind(&mut self, id: LaunchId, out: &mut Vec<Action>) {
        let Some(launch) = self.launches.remove(&id) else { return };
        let state = &mut self.apps[launch.app];
        state.slots.release(launch.permit);
        let (app, pid) = (state.app.name.clone(), launch.phase.pid());
        out.push(Action::Log(Record::LeftBehind { launch: id, app, pid }));
    }

    fn ids_of_launches(&self) -> Vec<LaunchId> {
        self.launches.keys().copied().collect()
    }
}
