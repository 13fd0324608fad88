//! Systems on which the activator does not run. It says so when it starts, before it has launched anything, and the rest of
//! the program works.

use super::{Ending, Program, Streams};
use crate::activator::journal::Process;
use crate::activator::launch::{ImageStamp, LaunchId, Outcome};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// Nothing is started here.
pub(in crate::activator) fn own_environment() -> impl Iterator<Item = (OsString, OsString)> {
    std::iter::empty()
}

/// Refuses.
pub(in crate::activator) fn spawn(_program: &Program, _streams: &Streams) -> io::Result<u32> {
    Err(unsupported())
}

/// No process is known here.
pub(in crate::activator) fn end_child(_pid: u32) {}

/// No process is known here.
pub(in crate::activator) fn reap(_process: &Process) -> Option<Outcome> {
    None
}

/// Refuses: asked first by a daemon that starts, so that it never gets further.
pub(in crate::activator) fn own_program() -> io::Result<PathBuf> {
    Err(unsupported())
}

/// Refuses.
pub(in crate::activator) fn identify(_pid: u32) -> io::Result<Process> {
    Err(unsupported())
}

/// No machine is told of here.
pub(in crate::activator) fn host_name() -> String {
    String::new()
}

/// No process is known here.
pub(in crate::activator) fn is_running(_process: &Process) -> bool {
    false
}

/// No process is known here.
pub(in crate::activator) fn find_launched(_launch: LaunchId) -> Option<Process> {
    None
}

/// Refuses.
pub(in crate::activator) fn signal_group(_process: &Process, _ending: Ending) -> io::Result<()> {
    Err(unsupported())
}

/// Refuses.
pub(in crate::activator) fn kill_tree(_process: &Process, _launch: LaunchId) -> io::Result<()> {
    Err(unsupported())
}

/// No process is known here.
pub(in crate::activator) fn leftovers(_process: &Process) -> Vec<u32> {
    Vec::new()
}

/// No process is known here.
pub(in crate::activator) fn inherits_orphans() -> bool {
    false
}

/// No process is known here.
pub(in crate::activator) fn reap_children(_is_stranger: impl Fn(u32) -> bool) -> usize {
    0
}

/// No program is launched here.
pub(in crate::activator) fn image_stamp(_program: &Path) -> Option<ImageStamp> {
    None
}

/// No process is known here, so none is waited for.
pub(in crate::activator) async fn ended(_process: &Process) {}

fn unsupported() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "the activator runs on Linux only")
}
