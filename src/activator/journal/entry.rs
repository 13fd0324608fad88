//! The lines of the journal: one JSON object each.
//!
//! A format that outlives a version of the program: fields are only ever added, and an unknown one is passed over.

use crate::activator::launch::{LaunchId, Outcome, Target};
use serde::{Deserialize, Serialize};

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum Entry {
    /// A process is about to be started. Settles a kept notification of the same application.
    Intent {
        /// The launch.
        launch: LaunchId,
        /// Name of the application.
        app: String,
        /// Name of the notification service whose connection the handler is told of.
        service: String,
        /// The queue.
        target: Target,
    },
    /// The process runs.
    Started {
        /// The launch.
        launch: LaunchId,
        /// Its process.
        #[serde(flatten)]
        process: Process,
    },
    /// The process could not be started. The [`Entry::Kept`] for its notification stands before it.
    Failed {
        /// The launch.
        launch: LaunchId,
        /// The system's reason.
        reason: String,
    },
    /// The process has ended.
    Ended {
        /// The launch.
        launch: LaunchId,
        /// How it ended.
        outcome: Outcome,
    },
    /// A notification is consumed and not acted on yet.
    Kept {
        /// Name of the application.
        app: String,
        /// Name of the notification service that received it.
        service: String,
        /// The queue.
        target: Target,
    },
    /// What was kept for an application is acted on no more: it is gone, or is for another queue.
    Forgotten {
        /// Name of the application.
        app: String,
    },
}

/// What identifies a process for as long as the machine exists: its id is used again, the three together are not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Time of its start as the system counts it: on Linux field 22 of `/proc/PID/stat`, in clock ticks since boot.
    pub start_time: u64,
    /// The boot it was started in: on Linux the text of `/proc/sys/kernel/random/boot_id`, without its newline.
    pub boot_id: String,
}

impl Entry {
    /// The line with its newline.
    pub(super) fn to_line(&self) -> String {
        let mut line =
            serde_json::to_string(self).expect("an entry has string keys only, so it is always JSON");
        line.push('\n');
        line
    }
}
