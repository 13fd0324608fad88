//! What a person asks for: another process now, or none for the time being.
//!
//! Part of the supervisor's machine; as pure as the rest of it. A paused application loses nothing: what would have been
//! launched is remembered, and what runs goes on.

use super::Supervisor;
use super::event::Action;
use super::record::Record;
use crate::activator::launch::{Source, Target};
use std::fmt;
use std::time::Instant;

/// What a person asked for, as the log tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OperatorRecord {
    /// Processes were asked for without a notification.
    Kicked {
        /// The application.
        app: String,
        /// The queue.
        target: Target,
        /// Processes started for it.
        starting: u32,
    },
    /// Nothing of this application is launched until it is resumed.
    Paused {
        /// The application.
        app: String,
    },
    /// It is launched again.
    Resumed {
        /// The application.
        app: String,
    },
}

/// The processes of one application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AppCount<'a> {
    /// Its name.
    pub app: &'a str,
    /// Processes that run or are being started.
    pub running: u32,
    /// Whether a notification waits to be acted on.
    pub is_pending: bool,
    /// Whether a person has paused it.
    pub is_paused: bool,
    /// Whether it failed so often in a row that it is launched no more.
    pub has_given_up: bool,
}

impl fmt::Display for OperatorRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kicked { app, target, starting: 0 } => {
                write!(f, "{app} was kicked for {target}; nothing can be started now, so it is remembered")
            }
            Self::Kicked { app, target, starting } => {
                write!(f, "{app} was kicked for {target}: starting {starting}")
            }
            Self::Paused { app } => write!(f, "{app} is paused: nothing is launched, what runs goes on"),
            Self::Resumed { app } => write!(f, "{app} is resumed"),
        }
    }
}

impl Supervisor {
    /// How many processes each application has, in no particular order.
    pub fn counts(&self) -> impl Iterator<Item = AppCount<'_>> {
        self.apps.iter().map(|state| AppCount {
            app: &state.app.name,
            running: state.slots.occupied(),
            is_pending: state.slots.is_pending(),
            is_paused: state.paused,
            has_given_up: state.policy.has_given_up(),
        })
    }

    /// As a notification, whatever waits in the queue and however often processes have failed. Where the application has had
    /// a notification, its queue is meant.
    pub(super) fn kicked(&mut self, app: &str, source: Source, now: Instant, out: &mut Vec<Action>) {
        let Some(index) = self.named(app).filter(|index| self.apps[*index].app.enabled) else { return };
        self.apps[index].policy.forgive();
        let source = self.apps[index].last.clone().unwrap_or(source);
        let target = source.target.clone();
        let before = self.apps[index].slots.occupied();
        let mut launches = Vec::new();
        self.activate(index, source, now, &mut launches);
        let starting = self.apps[index].slots.occupied().saturating_sub(before);
        let app = app.to_owned();
        out.push(Action::Log(Record::Operator(OperatorRecord::Kicked { app, target, starting })));
        // What a notification would have written to the log is said above.
        out.extend(launches.into_iter().filter(|action| !matches!(action, Action::Log(_))));
    }

    pub(super) fn paused(&mut self, app: &str, out: &mut Vec<Action>) {
        let Some(index) = self.named(app) else { return };
        if !std::mem::replace(&mut self.apps[index].paused, true) {
            out.push(Action::Log(Record::Operator(OperatorRecord::Paused { app: app.to_owned() })));
        }
    }

    pub(super) fn resumed(&mut self, app: &str, now: Instant, out: &mut Vec<Action>) {
        let Some(index) = self.named(app) else { return };
        if std::mem::replace(&mut self.apps[index].paused, false) {
            out.push(Action::Log(Record::Operator(OperatorRecord::Resumed { app: app.to_owned() })));
            self.act_on_pending(index, now, out);
            self.keep_alive(index, now, out);
        }
    }
}
