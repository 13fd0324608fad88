//! Starting a program by posix_spawn, whose cost does not grow with the memory of the daemon.
//!
//! The new process shares that memory until its program runs, and the calling thread waits so long. So a program on a drive
//! that does not answer holds up its caller, who has to be able to wait. Knows nothing of handlers.

use super::{Program, Streams};
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawn};
use nix::sys::signal::{SigSet, Signal};
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Makes the process the leader of a new session, and with it of a process group. Known to glibc from 2.26 on and to musl, with
/// this number in both; nix has no name for it.
const SETSID: PosixSpawnFlags = PosixSpawnFlags::from_bits_retain(0x80);

/// The environment of this process, for those it starts.
pub(in crate::activator) fn own_environment() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os()
}

/// Starts `program` and answers its process id. It is a child of this process, to be waited for with
/// [`reap`](super::reap).
///
/// # Errors
/// The system's reason, also where the program itself cannot be run: there is no process then.
pub(in crate::activator) fn spawn(program: &Program, streams: &Streams) -> io::Result<u32> {
    let path = c_string(program.path.as_os_str())?;
    let arguments = program.arguments.iter().map(|one| c_string(one)).collect::<io::Result<Vec<_>>>()?;
    let environment = program.environment.iter().map(variable).collect::<io::Result<Vec<_>>>()?;
    let mut actions = PosixSpawnFileActions::init()?;
    for (stream, number) in [(&streams.input, 0), (&streams.output, 1), (&streams.errors, 2)] {
        actions.add_dup2(stream.as_raw_fd(), number)?;
    }
    let attributes = attributes(program.leads_session)?;
    let pid = posix_spawn(path.as_c_str(), &actions, &attributes, &arguments, &environment)?;
    Ok(pid.as_raw().unsigned_abs())
}

/// Rust programs ignore SIGPIPE, which a handler does not expect; and no signal is blocked.
fn attributes(leads_session: bool) -> io::Result<PosixSpawnAttr> {
    let mut attributes = PosixSpawnAttr::init()?;
    let mut flags = PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK;
    flags.set(SETSID, leads_session);
    attributes.set_flags(flags)?;
    attributes.set_sigmask(&SigSet::empty())?;
    attributes.set_sigdefault(&SigSet::from_iter([Signal::SIGPIPE]))?;
    Ok(attributes)
}

fn variable((name, value): &(OsString, OsString)) -> io::Result<CString> {
    let mut text = name.clone();
    text.push("=");
    text.push(value);
    Ok(CString::new(text.into_vec())?)
}

fn c_string(text: &OsStr) -> io::Result<CString> {
    Ok(CString::new(text.as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::spawn;
    use crate::activator::launch::Outcome;
    use crate::activator::platform::{self, Program, Streams};
    use std::ffi::OsString;
    use std::fs::File;
    use std::io::{Read, Seek};
    use std::path::Path;

    async fn run(script: &str, leads_session: bool) -> (Outcome, String) {
        let program = Program {
            path: "/bin/sh".into(),
            arguments: ["sh", "-c", script, "name", "an argument"].map(OsString::from).to_vec(),
            environment: vec![("PATH".into(), "/usr/bin:/bin".into()), ("A".into(), "b=c".into())],
            leads_session,
        };
        let mut output = tempfile::tempfile().unwrap();
        let null = || File::options().read(true).write(true).open("/dev/null").unwrap().into();
        let streams = Streams { input: null(), output: output.try_clone().unwrap().into(), errors: null() };
        let process = platform::identify(spawn(&program, &streams).unwrap()).unwrap();
        platform::ended(&process).await;
        let outcome = platform::reap(&process).unwrap();
        assert_eq!(platform::reap(&process), None);
        let mut text = String::new();
        output.rewind().unwrap();
        output.read_to_string(&mut text).unwrap();
        (outcome, text)
    }

    #[tokio::test]
    async fn a_program_gets_its_arguments_its_environment_and_its_streams_and_its_end_is_told() {
        let (outcome, text) = run("echo \"$1|$A|${HOME-none}|$(cat | wc -c)\"; exit 3", false).await;
        assert_eq!((outcome, text.as_str()), (Outcome::Code(3), "an argument|b=c|none|0\n"));
        assert_eq!(run("kill -9 $$", false).await.0, Outcome::Signal(9));
    }

    #[tokio::test]
    async fn it_leads_a_session_if_asked_to_and_does_not_ignore_sigpipe_as_rust_programs_do() {
        let script = "cut -d' ' -f6 /proc/$$/stat | grep -qx $$ && echo leads; kill -PIPE $$; echo ignored";
        assert_eq!(run(script, true).await, (Outcome::Signal(13), "leads\n".to_owned()));
        assert_eq!(run(script, false).await, (Outcome::Signal(13), String::new()));
    }

    #[test]
    fn a_program_that_cannot_be_run_is_no_process() {
        let null = || File::options().read(true).write(true).open("/dev/null").unwrap().into();
        let streams = Streams { input: null(), output: null(), errors: null() };
        let program = |path: &Path, argument: &str| Program {
            path: path.to_owned(),
            arguments: vec!["name".into(), argument.into()],
            environment: Vec::new(),
            leads_session: true,
        };
        let error = spawn(&program(Path::new("/nowhere/at-all"), ""), &streams).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
        let error = spawn(&program(Path::new("/etc/passwd"), ""), &streams).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
        let error = spawn(&program(Path::new("/bin/true"), "a\0b"), &streams).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    }
}
