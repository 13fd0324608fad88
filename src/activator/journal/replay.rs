//! What a journal means: the launches that were not reported ended, and the notifications not acted on.
//!
//! Pure: bytes in, state out. The same rules serve a journal that is read and one that is being written.

use super::entry::{Entry, Process};
use crate::activator::launch::{LaunchId, Target};
use std::collections::BTreeMap;

/// What a journal says when it is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    /// Launches that ran when last heard of. Those the system confirms are adopted; for the others an
    /// [`Entry::Ended`] with an unknown outcome is due, and the notification is to be acted on again.
    pub running: Vec<RunningLaunch>,
    /// Launches that were begun and not reported further. The process may exist, marked by its launch id in
    /// `SSBROKER_LAUNCH_ID`; if not, an [`Entry::Failed`] is due and the notification is to be acted on again.
    pub unfinished: Vec<UnfinishedLaunch>,
    /// Notifications that were consumed and not acted on.
    pub kept: Vec<KeptNotice>,
    /// Lines that could not be understood, other than a last one that was cut off.
    pub damaged: Vec<DamagedLine>,
}

/// A launch whose process was reported and whose end was not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningLaunch {
    /// The launch.
    pub launch: LaunchId,
    /// The notification it was for.
    pub notice: KeptNotice,
    /// Its process, to be compared with what the system says of that process id now.
    pub process: Process,
}

/// A launch of which only the intent is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnfinishedLaunch {
    /// The launch.
    pub launch: LaunchId,
    /// The notification it was for.
    pub notice: KeptNotice,
}

/// A notification that is consumed and not acted on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptNotice {
    /// Name of the application.
    pub app: String,
    /// Name of the notification service that received it.
    pub service: String,
    /// The queue.
    pub target: Target,
}

/// A line that could not be understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedLine {
    /// Line number, counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}

/// What is to be remembered at a point of the journal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct State {
    launches: BTreeMap<LaunchId, (KeptNotice, Option<Process>)>,
    kept: BTreeMap<String, KeptNotice>,
}

impl State {
    /// The state after the whole of `bytes`, and the lines that were passed over.
    pub(super) fn replay(bytes: &[u8]) -> (Self, Vec<DamagedLine>) {
        let mut state = Self::default();
        let mut damaged = Vec::new();
        let mut lines = bytes.split(|byte| *byte == b'\n').enumerate().peekable();
        while let Some((index, line)) = lines.next() {
            // Every line ends with a newline, so what stands after the last one was cut off while it was written.
            let is_cut_off = lines.peek().is_none();
            match serde_json::from_slice(line) {
                Ok(entry) => state.apply(entry),
                Err(_) if is_cut_off => {}
                Err(error) => damaged.push(DamagedLine { line: index + 1, reason: error.to_string() }),
            }
        }
        (state, damaged)
    }

    /// Takes in one entry. One that contradicts what is known changes nothing.
    pub(super) fn apply(&mut self, entry: Entry) {
        match entry {
            Entry::Intent { launch, app, service, target } => {
                self.kept.remove(&app);
                self.launches.insert(launch, (KeptNotice { app, service, target }, None));
            }
            Entry::Started { launch, process } => {
                if let Some((_, known)) = self.launches.get_mut(&launch) {
                    *known = Some(process);
                }
            }
            Entry::Failed { launch, .. } | Entry::Ended { launch, .. } => {
                self.launches.remove(&launch);
            }
            Entry::Kept { app, service, target } => {
                self.kept.insert(app.clone(), KeptNotice { app, service, target });
            }
            Entry::Forgotten { app } => {
                self.kept.remove(&app);
            }
        }
    }

    /// The shortest journal that leads to this state. Kept notifications come last, since an intent settles them.
    pub(super) fn entries(&self) -> Vec<Entry> {
        let mut entries = Vec::new();
        for (launch, (notice, process)) in &self.launches {
            let KeptNotice { app, service, target } = notice.clone();
            entries.push(Entry::Intent { launch: *launch, app, service, target });
            if let Some(process) = process.clone() {
                entries.push(Entry::Started { launch: *launch, process });
            }
        }
        for KeptNotice { app, service, target } in self.kept.values().cloned() {
            entries.push(Entry::Kept { app, service, target });
        }
        entries
    }

    /// The state as the daemon needs it at its start.
    pub(super) fn report(&self, damaged: Vec<DamagedLine>) -> Replay {
        let kept = self.kept.values().cloned().collect();
        let mut replay = Replay { running: Vec::new(), unfinished: Vec::new(), kept, damaged };
        for (launch, (notice, process)) in &self.launches {
            let (launch, notice) = (*launch, notice.clone());
            match process.clone() {
                Some(process) => replay.running.push(RunningLaunch { launch, notice, process }),
                None => replay.unfinished.push(UnfinishedLaunch { launch, notice }),
            }
        }
        replay
    }
}
