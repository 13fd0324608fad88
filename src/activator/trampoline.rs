//! The first moments of a handler's process: the hidden subcommand that makes a plain child of the daemon into a handler.
//!
//! The daemon starts this program through posix_spawn, whose cost does not grow with the daemon's memory, and which can do
//! little more than start a program. So everything between start and handler is done here: an own session and process
//! group (a Ctrl-C meant for the daemon does not reach handlers, and the group can be ended as a whole), the working
//! folder, an empty standard input; then the handler's program takes this one's place and keeps its process id.
//!
//! Standard input is, up to then, a socket on which the daemon is told how it went: [`BEFORE_EXEC`] and the end of the
//! stream for success, a reason for failure, nothing at all if this program died. So a program that cannot be started is
//! never taken for a handler that exits with 127. Needs no async runtime; knows neither configuration nor journal.

use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Name of the subcommand.
pub const SUBCOMMAND: &str = "launch-handler";

/// Exit code of the subcommand when the handler could not be started, as shells use it.
pub const EXIT_CODE: u8 = 127;

/// Written when nothing but the start of the program itself is left to do.
const BEFORE_EXEC: &str = "starting\n";
/// Written before the reason of a failure.
const FAILED: &str = "failed: ";

/// The arguments with which the trampoline is to be called, subcommand included: those of
/// `launch-handler [--work-dir DIR] -- PROGRAM [ARGUMENT]...`.
pub(super) fn call(
    work_dir: Option<&Path>,
    program: &Path,
    arguments: impl IntoIterator<Item = String>,
) -> Vec<OsString> {
    let mut all = vec![OsString::from(SUBCOMMAND)];
    if let Some(folder) = work_dir {
        all.extend([OsString::from("--work-dir"), folder.into()]);
    }
    all.extend([OsString::from("--"), program.into()]);
    all.extend(arguments.into_iter().map(OsString::from));
    all
}

/// Why the handler was not started.
#[derive(Debug)]
pub struct HandoverError {
    doing: String,
    source: io::Error,
}

impl fmt::Display for HandoverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}", self.doing)
    }
}

impl Error for HandoverError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.source)
    }
}

/// Turns this process into the handler: `command` is its program, a path or a bare name that is looked up on `PATH`, and its
/// arguments, which are passed on exactly. Without `work_dir` it stays in the daemon's folder.
///
/// Returns only if that fails; the daemon has been told then, and what is left to the caller is to exit with [`EXIT_CODE`].
/// It changes the session and the working folder of the process, so only the subcommand calls it, on a single thread.
pub fn exec_handler(work_dir: Option<&Path>, command: &[OsString]) -> HandoverError {
    let mut status = match take_status() {
        Ok(status) => status,
        Err(source) => {
            return HandoverError {
                doing: format!("run {SUBCOMMAND}, which only the activator calls"),
                source,
            };
        }
    };
    let error = become_handler(work_dir, command, &mut status);
    let reason = format!("{FAILED}{error}: {}", error.source);
    // If the daemon is gone there is nobody to tell; its successor finds the intent in the journal and no process.
    let _ = status.write_all(reason.as_bytes());
    error
}

/// What the daemon reads from the status channel, up to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Handover {
    /// The handler's program runs.
    Done,
    /// It could not be started, for this reason.
    Failed(String),
    /// The trampoline ended without a word.
    Died,
}

impl Handover {
    /// Reads the whole report.
    pub(super) fn read(report: &[u8]) -> Self {
        let text = String::from_utf8_lossy(report);
        let rest = text.strip_prefix(BEFORE_EXEC);
        match (rest, rest.unwrap_or(&text).strip_prefix(FAILED)) {
            (_, Some(reason)) => Self::Failed(reason.to_owned()),
            (Some(""), None) => Self::Done,
            _ => Self::Died,
        }
    }
}

/// The status channel as a descriptor of its own, which the system closes when the handler's program starts.
fn take_status() -> io::Result<UnixStream> {
    let status = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    // Fails for anything that is no socket, such as a terminal.
    status.local_addr()?;
    Ok(status)
}

fn become_handler(work_dir: Option<&Path>, command: &[OsString], status: &mut UnixStream) -> HandoverError {
    let failed = |doing: String, source: io::Error| HandoverError { doing, source };
    let Some((program, arguments)) = command.split_first() else {
        return failed("start a handler".to_owned(), io::Error::other("no program is named"));
    };
    if let Err(error) = rustix::process::setsid() {
        return failed("make a process group".to_owned(), error.into());
    }
    if let Some(folder) = work_dir
        && let Err(error) = std::env::set_current_dir(folder)
    {
        return failed(format!("change to the working folder {}", folder.display()), error);
    }
    // A daemon that is gone is no reason to stop: the intent is journalled and a successor adopts the handler.
    let _ = status.write_all(BEFORE_EXEC.as_bytes());
    let source = Command::new(program).args(arguments).stdin(Stdio::null()).exec();
    failed(format!("start {}{}", Path::new(program).display(), hint(program, &source)), source)
}

/// "No such file" for a file that is plainly there means the interpreter it names.
fn hint(program: &OsStr, error: &io::Error) -> &'static str {
    let is_there = Path::new(program).is_absolute() && Path::new(program).exists();
    match error.kind() {
        io::ErrorKind::NotFound if is_there => " (it exists; the interpreter named in it may not)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::{Handover, call};
    use std::path::Path;

    #[test]
    fn only_a_word_before_the_end_counts_as_success() {
        assert_eq!(Handover::read(b"starting\n"), Handover::Done);
        assert_eq!(
            Handover::read(b"starting\nfailed: cannot start x: gone"),
            Handover::Failed("cannot start x: gone".into())
        );
        assert_eq!(Handover::read(b"failed: no folder"), Handover::Failed("no folder".into()));
        for nothing in [&b""[..], b"start", b"error: unknown subcommand"] {
            assert_eq!(Handover::read(nothing), Handover::Died);
        }
    }

    #[test]
    fn the_command_line_keeps_what_looks_like_an_option() {
        let arguments = ["--", "--work-dir", ""].map(str::to_owned);
        let called = call(Some(Path::new("/opt/x y")), Path::new("-run"), arguments);
        let expected = ["launch-handler", "--work-dir", "/opt/x y", "--", "-run", "--", "--work-dir", ""];
        assert_eq!(called, expected);
        assert_eq!(call(None, Path::new("run"), []), ["launch-handler", "--", "run"]);
    }
}
