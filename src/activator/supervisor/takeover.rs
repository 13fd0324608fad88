//! What an earlier daemon left: processes that still run, and notifications that wait.
//!
//! Part of the supervisor's machine; as pure as the rest of it. What is left is found out by
//! [`recovery`](crate::activator::recovery).

use super::event::Action;
use super::record::Record;
use super::state::{AppState, Launch, Phase};
use super::{Stage, Supervisor};
use crate::activator::launch::{LaunchId, Source};
use std::time::Instant;

impl Supervisor {
    /// A process that still runs is counted again; one that nobody can serve any more is asked to end, and counts until then.
    pub(super) fn adopted(
        &mut self,
        launch: LaunchId,
        app: String,
        pid: u32,
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        if self.launches.contains_key(&launch) {
            out.push(Action::Log(Record::StrayReport { launch, what: "adopted" }));
            return;
        }
        let index = self.named(&app).unwrap_or_else(|| self.add_retired(&app));
        let permit = self.apps[index].slots.adopt();
        let phase = Phase::Running { pid, since: None };
        let deadline = self.deadline(index, now);
        let adopted = Launch { app: index, permit, command_line: Vec::new(), phase, deadline, ending: None };
        self.launches.insert(launch, adopted);
        if self.apps[index].is_retired {
            out.push(Action::Log(Record::NoSuchApplication { launch, app, pid }));
            self.end_retired(launch, now, out);
            return;
        }
        out.push(Action::Log(Record::Adopted { launch, app, pid }));
        if self.apps[index].app.kind.feed().is_some() {
            self.end_orphan(launch, now, out);
        } else if self.stage != Stage::Running {
            self.terminate(launch, now, out);
        }
    }

    /// A notification that was kept is acted on as one that comes now, if it is for a queue that is still meant.
    pub(super) fn remembered(&mut self, app: String, source: Source, now: Instant, out: &mut Vec<Action>) {
        let Some(index) = self.named(&app).filter(|index| self.apps[*index].reads(&source.target)) else {
            out.push(Action::Forget { app: app.clone() });
            out.push(Action::Log(Record::NoticeDropped { app, target: source.target }));
            return;
        };
        if self.apps[index].app.enabled {
            self.activate(index, source, now, out);
        } else {
            // It stays in the journal, too.
            let state = &mut self.apps[index];
            state.slots.remember();
            state.last = Some(source.clone());
            out.push(Action::Log(Record::Postponed { app, target: source.target }));
        }
    }

    /// An application that is configured no more and whose processes are taken up; answers its position.
    fn add_retired(&mut self, app: &str) -> usize {
        let before = self.apps.iter().position(|state| state.app.name == app);
        before.unwrap_or_else(|| {
            self.apps.push(AppState::retired(app));
            self.apps.len() - 1
        })
    }
}
