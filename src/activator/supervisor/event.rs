//! Everything that can wake the supervisor, and everything it can ask for: two closed sets.
//!
//! Plain values. A log of events explains any run; whoever carries out actions decides nothing.

use super::record::Record;
use crate::activator::config::{Application, Config};
use crate::activator::launch::{ImageStamp, LaunchId, Outcome, Target};
use crate::activator::notification::Notice;
use std::sync::Arc;

/// Something that happened. `listener` is the position of a notification service in the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The daemon has taken up what an earlier one left; sent once, after [`Event::Adopted`] and [`Event::Remembered`].
    Started,
    /// An event notification was received.
    Notified {
        /// Who received it.
        listener: usize,
        /// What it says.
        notice: Notice,
    },
    /// A message was received that is no event notification.
    Unreadable {
        /// Who received it.
        listener: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// A process that was asked for runs.
    Launched {
        /// The launch.
        launch: LaunchId,
        /// Its process.
        pid: u32,
    },
    /// A process that was asked for could not be started.
    LaunchFailed {
        /// The launch.
        launch: LaunchId,
        /// The system's reason.
        reason: String,
        /// The program's file as it is now; `None` if there is none.
        image: Option<ImageStamp>,
    },
    /// A process that runs does not do its work, as whoever serves it has found; it is to be ended and counts as failed.
    Unfit {
        /// The launch.
        launch: LaunchId,
        /// What it did.
        reason: String,
    },
    /// A process has ended.
    Exited {
        /// The launch.
        launch: LaunchId,
        /// How it ended.
        outcome: Outcome,
    },
    /// A process of an earlier daemon still runs; sent at start for each that the journal names and the system confirms.
    Adopted {
        /// The launch.
        launch: LaunchId,
        /// Name of its application.
        app: String,
        /// Its process.
        pid: u32,
    },
    /// A notification that an earlier daemon consumed and could not act on; sent at start, after [`Event::Adopted`].
    Remembered {
        /// Name of its application.
        app: String,
        /// The listener to name to the handler.
        listener: usize,
        /// The queue.
        target: Target,
    },
    /// A look at the server shows messages that wait in a queue with no reader, whatever notifications said.
    Reconcile {
        /// Who looked.
        listener: usize,
        /// The queue.
        target: Target,
    },
    /// A person asks for processes as a notification would, whatever processes did before.
    Kicked {
        /// Name of the application.
        app: String,
        /// The listener to name to the handler, if no notification came before.
        listener: usize,
        /// The queue, if no notification came before.
        target: Target,
    },
    /// A person wants nothing of this application launched for now.
    Paused {
        /// Name of the application.
        app: String,
    },
    /// The opposite.
    Resumed {
        /// Name of the application.
        app: String,
    },
    /// The configuration was changed, and can be used.
    Reconfigured {
        /// What it says now.
        config: Arc<Config>,
    },
    /// The configuration was changed, and cannot be used; nothing follows from it but lines in the log.
    ReloadRefused {
        /// Everything that is wrong with it.
        faults: Vec<String>,
    },
    /// The daemon is to stop; a second request kills what still runs.
    ShutdownRequested,
    /// The time that [`super::Supervisor::wake_at`] named has come.
    Tick,
}

/// Something to be done, in the order given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Journal the intent and start a process, then answer with [`Event::Launched`] or [`Event::LaunchFailed`].
    Launch(LaunchOrder),
    /// Journal a notification that is consumed now and acted on later; a later launch of `app` settles it.
    Remember {
        /// Name of the application.
        app: String,
        /// The listener that received it.
        listener: usize,
        /// The queue.
        target: Target,
    },
    /// Journal that what is remembered of an application is acted on no more.
    Forget {
        /// Name of the application.
        app: String,
    },
    /// Ask a process to end (SIGTERM to its group).
    Terminate {
        /// The launch.
        launch: LaunchId,
        /// Its process.
        pid: u32,
    },
    /// End a process (SIGKILL to its group).
    Kill {
        /// The launch.
        launch: LaunchId,
        /// Its process.
        pid: u32,
    },
    /// Use this configuration from now on; its notification services stand where they stood.
    UseConfig(Arc<Config>),
    /// Listen on a notification service; anew, if it is listened on already.
    Listen {
        /// Its position.
        listener: usize,
    },
    /// Listen on it no more.
    StopListening {
        /// Its position.
        listener: usize,
    },
    /// Write to the log.
    Log(Record),
    /// Nothing is left to wait for; the daemon ends.
    Stop,
}

/// A process to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchOrder {
    /// The new launch.
    pub launch: LaunchId,
    /// What to start.
    pub app: Arc<Application>,
    /// The listener whose connection the handler is told of.
    pub listener: usize,
    /// The queue it is for.
    pub target: Target,
}

impl LaunchOrder {
    /// The handler's arguments.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        self.app.arguments_for(self.target.values())
    }
}
