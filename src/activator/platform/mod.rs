//! What the activator asks of the operating system about processes: the same names on every system, chosen in one place.
//!
//! Knows processes and process groups; nothing of launches, configuration or the journal beyond the identity it keeps.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;

#[cfg(target_os = "linux")]
pub(super) use linux::{
    ended, find_launched, identify, image_stamp, inherits_orphans, is_running, kill_tree, leftovers,
    own_program, reap_children, signal_group,
};
#[cfg(not(target_os = "linux"))]
pub(super) use other::{
    ended, find_launched, identify, image_stamp, inherits_orphans, is_running, kill_tree, leftovers,
    own_program, reap_children, signal_group,
};

/// How a process group is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// Asked to end: SIGTERM.
    Terminate,
    /// Ended by the system: SIGKILL.
    Kill,
}
