//! The first moments of a handler's process: the hidden subcommand that makes a plain child of the daemon into a handler.
//!
//! The daemon starts programs through posix_spawn, whose cost does not grow with the daemon's memory, and which can do
//! little more than start a program. A handler that needs no more is started that way itself; for any other this
//! program is started, and everything between start and handler is done here: an own session and process group (a Ctrl-C
//! meant for the daemon does not reach handlers, and the group can be ended as a whole), limits, user, groups, file mode
//! mask, working folder; then the handler's program takes this one's place and keeps its process id. The way through two
//! programs takes about twice as long.
//!
//! Standard error is, up to then, a socket on which the daemon is told how it went: [`BEFORE_EXEC`] and the end of the
//! stream for success, a reason for failure, nothing at all if this program died. So a program that cannot be started is
//! never taken for a handler that exits with 127. Needs no async runtime; knows neither configuration nor journal.
//!
//! User and groups are set with system calls that concern one thread. They concern the whole process only because it has
//! no other thread, which is true of this subcommand and has to stay so.

use rustix::fs::Mode;
use rustix::process::{Gid, Resource, Rlimit, Uid, getrlimit, setrlimit};
use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Name of the subcommand.
pub const SUBCOMMAND: &str = "launch-handler";

/// Exit code of the subcommand when the handler could not be started, as shells use it.
pub const EXIT_CODE: u8 = 127;

/// Written when nothing but the start of the program itself is left to do.
const BEFORE_EXEC: &str = "starting\n";
/// Written before the reason of a failure.
const FAILED: &str = "failed: ";
/// Seconds of processor time between the signal that tells a process of its limit (SIGXCPU) and the kill.
const CPU_GRACE: u64 = 5;

/// What a handler finds when it begins; `None` leaves what the daemon has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// File to which standard error is appended.
    pub standard_error: PathBuf,
    /// Working folder.
    pub work_dir: Option<PathBuf>,
    /// User number.
    pub uid: Option<u32>,
    /// Group number.
    pub gid: Option<u32>,
    /// All groups; set together with `uid` and `gid`, an empty list only without them.
    pub groups: Vec<u32>,
    /// File mode creation mask.
    pub umask: Option<u32>,
    /// Most bytes of private memory (RLIMIT_DATA), which unlike the address space leaves room for what a run-time
    /// environment reserves and never uses.
    pub memory: Option<u64>,
    /// Most seconds of processor time (RLIMIT_CPU).
    pub cpu: Option<u64>,
    /// Most open files (RLIMIT_NOFILE).
    pub files: Option<u64>,
}

impl Surroundings {
    /// Whether there is nothing to set up but what every start of a process can.
    pub(super) fn are_plain(&self) -> bool {
        let Self { standard_error: _, work_dir, uid, gid, groups, umask, memory, cpu, files } = self;
        let ids = uid.is_none() && gid.is_none() && groups.is_empty();
        let limits = memory.is_none() && cpu.is_none() && files.is_none();
        ids && limits && umask.is_none() && work_dir.is_none()
    }

    /// The arguments with which the trampoline is to be called, subcommand included.
    pub(super) fn call(&self, program: &Path, arguments: impl IntoIterator<Item = String>) -> Vec<OsString> {
        let mut all = vec![OsString::from(SUBCOMMAND), "--standard-error".into()];
        all.push(self.standard_error.clone().into());
        if let Some(folder) = &self.work_dir {
            all.extend([OsString::from("--work-dir"), folder.into()]);
        }
        let groups: Vec<String> = self.groups.iter().map(u32::to_string).collect();
        let numbers = [
            ("--uid", self.uid.map(u64::from)),
            ("--gid", self.gid.map(u64::from)),
            ("--umask", self.umask.map(u64::from)),
            ("--memory", self.memory),
            ("--cpu", self.cpu),
            ("--files", self.files),
        ];
        for (option, number) in numbers {
            all.extend(number.into_iter().flat_map(|number| [option.into(), number.to_string().into()]));
        }
        if !groups.is_empty() {
            all.extend(["--groups".into(), groups.join(",").into()]);
        }
        all.extend([OsString::from("--"), program.into()]);
        all.extend(arguments.into_iter().map(OsString::from));
        all
    }
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
/// arguments, which are passed on exactly. Standard input and output are the handler's already.
///
/// Returns only if that fails; the daemon has been told then, and what is left to the caller is to exit with [`EXIT_CODE`].
/// It changes session, user and working folder of the process, so only the subcommand calls it, on a single thread.
pub fn exec_handler(surroundings: &Surroundings, command: &[OsString]) -> HandoverError {
    let mut status = match take_status() {
        Ok(status) => status,
        Err(source) => {
            return failed(format!("run {SUBCOMMAND}, which only the activator calls"))(source);
        }
    };
    let error = become_handler(surroundings, command, &mut status);
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
    let status = UnixStream::from(io::stderr().as_fd().try_clone_to_owned()?);
    // Fails for anything that is no socket, such as a terminal.
    status.local_addr()?;
    Ok(status)
}

fn become_handler(
    surroundings: &Surroundings,
    command: &[OsString],
    status: &mut UnixStream,
) -> HandoverError {
    let Some((program, arguments)) = command.split_first() else {
        return failed("start a handler".to_owned())(io::Error::other("no program is named"));
    };
    let errors = match settle(surroundings) {
        Ok(errors) => errors,
        Err(error) => return error,
    };
    // A daemon that is gone is no reason to stop: the intent is journalled and a successor adopts the handler.
    let _ = status.write_all(BEFORE_EXEC.as_bytes());
    let source = Command::new(program).args(arguments).stderr(errors).exec();
    failed(format!("start {}{}", Path::new(program).display(), hint(program, &source)))(source)
}

/// Everything but the program itself; answers the file for its standard error.
///
/// What needs rights comes before the user is given up, and the working folder after it: the handler must be able to enter
/// it by its own rights.
fn settle(surroundings: &Surroundings) -> Result<File, HandoverError> {
    let file = &surroundings.standard_error;
    let errors = OpenOptions::new().append(true).open(file);
    let errors = errors.map_err(failed(format!("write standard error to {}", file.display())))?;
    rustix::process::setsid().map_err(refused("make a process group"))?;
    set_limits(surroundings)?;
    if let Some(mask) = surroundings.umask {
        rustix::process::umask(Mode::from_raw_mode(mask));
    }
    switch_user(surroundings)?;
    if let Some(folder) = &surroundings.work_dir {
        let entered = std::env::set_current_dir(folder);
        entered.map_err(failed(format!("change to the working folder {}", folder.display())))?;
    }
    Ok(errors)
}

fn set_limits(surroundings: &Surroundings) -> Result<(), HandoverError> {
    if let Some(memory) = surroundings.memory {
        set_limit(Resource::Data, memory, memory).map_err(refused("limit the memory"))?;
    }
    if let Some(cpu) = surroundings.cpu {
        set_limit(Resource::Cpu, cpu, cpu + CPU_GRACE).map_err(refused("limit the processor time"))?;
    }
    if let Some(files) = surroundings.files {
        set_limit(Resource::Nofile, files, files).map_err(refused("limit the number of open files"))?;
    }
    Ok(())
}

/// A hard limit that is lower already stays, where it leaves room for the soft one.
fn set_limit(resource: Resource, soft: u64, hard: u64) -> rustix::io::Result<()> {
    let present = getrlimit(resource).maximum.filter(|present| (soft..hard).contains(present));
    let maximum = Some(present.unwrap_or(hard));
    setrlimit(resource, Rlimit { current: Some(soft), maximum })
}

/// Groups first, since the user that is switched to may not change them any more.
fn switch_user(surroundings: &Surroundings) -> Result<(), HandoverError> {
    let (Some(uid), Some(gid)) = (surroundings.uid, surroundings.gid) else { return Ok(()) };
    let groups: Vec<Gid> = surroundings.groups.iter().map(|gid| Gid::from_raw(*gid)).collect();
    rustix::thread::set_thread_groups(&groups).map_err(refused("set the groups"))?;
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    rustix::thread::set_thread_res_gid(gid, gid, gid).map_err(refused("set the group"))?;
    rustix::thread::set_thread_res_uid(uid, uid, uid).map_err(refused("set the user"))
}

/// "No such file" for a file that is plainly there means the interpreter it names.
fn hint(program: &OsStr, error: &io::Error) -> &'static str {
    let is_there = Path::new(program).is_absolute() && Path::new(program).exists();
    match error.kind() {
        io::ErrorKind::NotFound if is_there => " (it exists; the interpreter named in it may not)",
        _ => "",
    }
}

fn failed(doing: String) -> impl FnOnce(io::Error) -> HandoverError {
    move |source| HandoverError { doing, source }
}

fn refused(doing: &str) -> impl FnOnce(rustix::io::Errno) -> HandoverError {
    move |errno| HandoverError { doing: doing.to_owned(), source: errno.into() }
}

#[cfg(test)]
mod tests {
    use super::{Handover, Surroundings};
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
        let surroundings = Surroundings {
            standard_error: "/s/e".into(),
            work_dir: Some("/opt/x y".into()),
            ..Surroundings::default()
        };
        let called = surroundings.call(Path::new("-run"), ["--", "--work-dir", ""].map(str::to_owned));
        let expected = [
            "launch-handler",
            "--standard-error",
            "/s/e",
            "--work-dir",
            "/opt/x y",
            "--",
            "-run",
            "--",
            "--work-dir",
            "",
        ];
        assert_eq!(called, expected);
    }

    #[test]
    fn limits_and_accounts_travel_as_numbers() {
        let surroundings = Surroundings {
            standard_error: "/e".into(),
            uid: Some(7),
            gid: Some(8),
            groups: vec![8, 9],
            umask: Some(0o27),
            memory: Some(1024),
            cpu: Some(60),
            files: Some(64),
            work_dir: None,
        };
        let called = surroundings.call(Path::new("run"), []);
        let text: Vec<_> = called.iter().filter_map(|argument| argument.to_str()).collect();
        assert_eq!(
            text.join(" "),
            "launch-handler --standard-error /e --uid 7 --gid 8 --umask 23 --memory 1024 --cpu 60 --files 64 --groups 8,9 \
             -- run"
        );
    }
}
