//! What the activator asks of the operating system about processes: the same names on every system, chosen in one place.
//!
//! Knows processes and process groups; nothing of launches, configuration or the journal beyond the identity it keeps.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(target_os = "linux")]
mod spawn;

#[cfg(target_os = "linux")]
pub(super) use linux::{
    end_child, ended, find_launched, host_name, identify, image_stamp, inherits_orphans, is_running,
    kill_tree, leftovers, own_program, reap, reap_children, signal_group,
};
#[cfg(not(target_os = "linux"))]
pub(super) use other::{
    end_child, ended, find_launched, host_name, identify, image_stamp, inherits_orphans, is_running,
    kill_tree, leftovers, own_environment, own_program, reap, reap_children, signal_group, spawn,
};
#[cfg(target_os = "linux")]
pub(super) use spawn::{own_environment, spawn};

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// A program and all that its process begins with; nothing is inherited but the working folder, the mask for new files,
/// limits and the user.
#[derive(Debug)]
pub(super) struct Program {
    /// A path; it is not looked up.
    pub(super) path: PathBuf,
    /// Its name as it is told, and what follows.
    pub(super) arguments: Vec<OsString>,
    pub(super) environment: Vec<(OsString, OsString)>,
    /// Whether it leads a session of its own.
    pub(super) leads_session: bool,
}

/// Standard input, output and error of a new process.
#[derive(Debug)]
pub(super) struct Streams {
    pub(super) input: OwnedFd,
    pub(super) output: OwnedFd,
    pub(super) errors: OwnedFd,
}

/// How a process group is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// Asked to end: SIGTERM.
    Terminate,
    /// Ended by the system: SIGKILL.
    Kill,
}
