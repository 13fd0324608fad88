//! What failures and limits of processes lead to: pauses, the crash-loop breaker, the launch rate, the longest run.
//!
//! Part of the supervisor's machine; as pure as the rest of it. The arithmetic is in
//! [`exit_policy`](crate::activator::exit_policy).

use super::event::Action;
use super::process_record::ProcessRecord;
use super::record::Record;
use super::state::{EndReason, Launch, Phase};
use super::{Stage, Supervisor};
use crate::activator::config::Kind;
use crate::activator::exit_policy::{Consequence, Wait};
use crate::activator::launch::{LaunchId, Outcome};
use crate::activator::slots::LaunchPermit;
use std::time::{Duration, Instant};

/// A process that has ended.
pub(super) struct Ended {
    pub(super) launch: LaunchId,
    /// Position of its application.
    pub(super) app: usize,
    pub(super) ending: Option<EndReason>,
    /// How long it ran; `None` for one of an earlier daemon.
    pub(super) lasted: Option<Duration>,
    pub(super) outcome: Outcome,
}

impl Supervisor {
    /// Whether the application at `index` has failed so often in a row that it is not launched any more.
    #[must_use]
    pub fn has_given_up(&self, index: usize) -> bool {
        self.apps.get(index).is_some_and(|state| state.policy.has_given_up())
    }

    /// Whether the application at `index` may be launched now; tells the log why not.
    pub(super) fn may_launch(&mut self, index: usize, now: Instant, out: &mut Vec<Action>) -> bool {
        let state = &mut self.apps[index];
        let app = state.app.name.clone();
        let record = match state.policy.allowance(now) {
            Ok(_) => return true,
            Err(Wait::Pause(until)) => ProcessRecord::InPause { app, left: until - now },
            Err(Wait::Rate(until)) => ProcessRecord::AtRate { app, left: until - now },
            Err(Wait::GivenUp) => ProcessRecord::IsGivenUp { app },
        };
        out.push(Action::Log(Record::Process(record)));
        false
    }

    /// The permits that the launch rate lets through. The others are given back: a notification stays pending for them,
    /// and what always runs is missed again.
    pub(super) fn within_rate(
        &mut self,
        index: usize,
        mut permits: Vec<LaunchPermit>,
        now: Instant,
    ) -> Vec<LaunchPermit> {
        let state = &mut self.apps[index];
        let allowed = state.policy.allowance(now).unwrap_or(0).min(permits.len());
        let surplus = permits.split_off(allowed);
        if !surplus.is_empty() && state.app.kind != Kind::Resident {
            state.slots.remember();
        }
        surplus.into_iter().for_each(|permit| state.slots.release(permit));
        permits
    }

    /// Judges a process that has ended. The notification it was launched for counts as not acted on when it failed, and when
    /// nobody knows how it ended.
    pub(super) fn judge_exit(&mut self, ended: &Ended, now: Instant, out: &mut Vec<Action>) {
        let state = &mut self.apps[ended.app];
        let has_failed = has_failed(ended.ending, ended.outcome, state.app.kind == Kind::Resident);
        if has_failed {
            self.count_failure(ended, now, out);
        } else if ended.outcome == Outcome::Code(0) {
            state.policy.ended_well();
        }
        if has_failed || ended.outcome == Outcome::Unknown {
            self.keep_notice(ended.app, out);
        }
    }

    fn count_failure(&mut self, ended: &Ended, now: Instant, out: &mut Vec<Action>) {
        let state = &mut self.apps[ended.app];
        let consequence = state.policy.failed(ended.lasted, now, ended.launch.chance());
        let app = state.app.name.clone();
        match consequence {
            Consequence::Pause { delay, failures } => {
                out.push(Action::Log(Record::Process(ProcessRecord::Pausing { app, failures, delay })));
            }
            Consequence::GiveUp { failures } => {
                out.push(Action::Log(Record::Process(ProcessRecord::GaveUp { app, failures })));
            }
            Consequence::Paused { .. } | Consequence::GivenUp => {}
        }
    }

    /// A process could not be started: how long the pause is, if there is one.
    pub(super) fn judge_start(
        &mut self,
        index: usize,
        id: LaunchId,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Option<Duration> {
        let state = &mut self.apps[index];
        match state.policy.failed(Some(Duration::ZERO), now, id.chance()) {
            Consequence::Pause { delay, .. } => Some(delay),
            Consequence::Paused { left } => Some(left),
            Consequence::GiveUp { failures } => {
                let app = state.app.name.clone();
                out.push(Action::Log(Record::Process(ProcessRecord::GaveUp { app, failures })));
                None
            }
            Consequence::GivenUp => None,
        }
    }

    /// When the process of a launch has run long enough. A feed is timed message by message by whoever feeds it.
    pub(super) fn deadline(&self, index: usize, begun: Instant) -> Option<Instant> {
        let app = &self.apps[index].app;
        match app.kind {
            Kind::Feed(_) | Kind::Resident => None,
            Kind::Launch => app.timeout.map(|limit| begun + limit),
        }
    }

    /// Whoever serves a process says that it must end.
    pub(super) fn unfit(&mut self, id: LaunchId, reason: String, now: Instant, out: &mut Vec<Action>) {
        let Some(launch) = self.launches.get_mut(&id) else { return };
        let Phase::Running { pid, .. } = launch.phase else { return };
        launch.ending = Some(EndReason::Unfit);
        let app = self.apps[launch.app].app.name.clone();
        out.push(Action::Log(Record::Process(ProcessRecord::Unfit { launch: id, app, pid, reason })));
        self.terminate(id, now, out);
    }

    /// A process that an earlier daemon fed has lost its input; it counts until it has ended.
    pub(super) fn end_orphan(&mut self, id: LaunchId, now: Instant, out: &mut Vec<Action>) {
        let Some(launch) = self.launches.get_mut(&id) else { return };
        let Phase::Running { pid, .. } = launch.phase else { return };
        launch.ending = Some(EndReason::Asked);
        let app = self.apps[launch.app].app.name.clone();
        out.push(Action::Log(Record::Process(ProcessRecord::NotAdopted { launch: id, app, pid })));
        self.terminate(id, now, out);
    }

    /// Asks processes to end whose time is up.
    pub(super) fn end_overdue(&mut self, now: Instant, out: &mut Vec<Action>) {
        let overdue = |launch: &Launch| {
            matches!(launch.phase, Phase::Running { .. }) && launch.deadline.is_some_and(|at| at <= now)
        };
        let ids: Vec<_> =
            self.launches.iter().filter(|(_, launch)| overdue(launch)).map(|(id, _)| *id).collect();
        for id in ids {
            let launch = self.launches.get_mut(&id).expect("its id was listed just now");
            launch.ending = Some(EndReason::TimedOut);
            let (index, pid) = (launch.app, launch.phase.pid().expect("it runs, so it has a process id"));
            let application = &self.apps[index].app;
            out.push(Action::Log(Record::Process(ProcessRecord::TimedOut {
                launch: id,
                app: application.name.clone(),
                pid,
                limit: application.timeout.unwrap_or_default(),
            })));
            self.terminate(id, now, out);
        }
    }

    /// Acts on what had to wait for a pause to end, for the rate, or for a resident process to come back.
    pub(super) fn act_on_waiting(&mut self, now: Instant, out: &mut Vec<Action>) {
        for index in 0..self.apps.len() {
            if self.apps[index].policy.allowance(now).is_ok() {
                self.act_on_pending(index, now, out);
                self.keep_alive(index, now, out);
            }
        }
    }

    /// The times at which something that waits may go on, or a running process has run long enough.
    pub(super) fn limit_deadlines(&self) -> impl Iterator<Item = Instant> + '_ {
        let running = self.launches.values().filter(|launch| matches!(launch.phase, Phase::Running { .. }));
        let runs = running.filter_map(|launch| launch.deadline);
        let waiting = self.apps.iter().enumerate().filter(|(index, _)| self.waits_for_time(*index));
        let opening = waiting.filter_map(|(_, state)| state.policy.opens_at());
        runs.chain(opening).filter(|_| self.stage == Stage::Running)
    }

    /// Whether a launch of the application is due that only time holds up.
    fn waits_for_time(&self, index: usize) -> bool {
        let state = &self.apps[index];
        let is_due = state.slots.is_pending() && state.slots.occupied() < state.slots.max();
        state.is_launchable() && (is_due || self.missing(index) > 0)
    }
}

/// A process that was asked to end has not failed, unless it was asked because it had. A resident one is not expected to end
/// at all: without a pause one that ends well at once would be started without end.
fn has_failed(ending: Option<EndReason>, outcome: Outcome, is_resident: bool) -> bool {
    match ending {
        Some(EndReason::Asked) => false,
        Some(EndReason::TimedOut | EndReason::Unfit) => true,
        None if is_resident => outcome != Outcome::Unknown,
        None => !matches!(outcome, Outcome::Code(0) | Outcome::Unknown),
    }
}
