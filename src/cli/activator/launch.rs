//! `launch-handler`, the hidden first step of a handler process. Runs on a single thread, before any runtime.

use super::super::exit::ExitStatus;
use crate::activator::trampoline::{self, Surroundings};
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Arguments {
    /// File for standard error
    #[arg(long)]
    standard_error: PathBuf,
    /// Folder to work in
    #[arg(long)]
    work_dir: Option<PathBuf>,
    /// User to run as
    #[arg(long, requires = "gid")]
    uid: Option<u32>,
    /// Group to run as
    #[arg(long, requires = "uid")]
    gid: Option<u32>,
    /// All groups to run with
    #[arg(long, value_delimiter = ',')]
    groups: Vec<u32>,
    /// File mode creation mask, as a decimal number
    #[arg(long)]
    umask: Option<u32>,
    /// Most bytes of memory
    #[arg(long)]
    memory: Option<u64>,
    /// Most seconds of processor time
    #[arg(long)]
    cpu: Option<u64>,
    /// Most open files
    #[arg(long)]
    files: Option<u64>,
    /// The handler and its arguments
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// Becomes the handler; comes back only when that is not possible.
pub(in crate::cli) fn launch(arguments: Arguments) -> ExitStatus {
    let Arguments { standard_error, work_dir, uid, gid, groups, umask, memory, cpu, files, command } =
        arguments;
    let surroundings = Surroundings { standard_error, work_dir, uid, gid, groups, umask, memory, cpu, files };
    trampoline::exec_handler(&surroundings, &command);
    ExitStatus::HandlerNotStarted
}
