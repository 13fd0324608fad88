//! Processes on Linux: identity from `/proc`, signals to process groups, and the end of processes that are not our
//! children through pidfds.
//!
//! A process id alone names nobody, since ids are used again; everything here compares the time of start, and what must
//! outlive a boot compares that too.

use super::Ending;
use crate::activator::journal::Process;
use crate::activator::launch::{ImageStamp, LaunchId, Outcome};
use crate::activator::trampoline::SUBCOMMAND;
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, kill_process, kill_process_group, pidfd_open, pidfd_send_signal,
    waitpid,
};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::signal::unix::{SignalKind, signal};

/// How often a process is looked at where the kernel has no pidfds (before 5.3) or a sandbox forbids them, and where no signal
/// tells of its end.
const POLL: Duration = Duration::from_secs(1);

/// How often a killed process tree is looked at for more to kill.
const KILL_ROUNDS: u32 = 20;

/// The program this process runs. The link stays good when the file is replaced by a newer version meanwhile, so a daemon
/// always launches through the trampoline it was built with.
pub(in crate::activator) fn own_program() -> io::Result<PathBuf> {
    Ok(PathBuf::from("/proc/self/exe"))
}

/// The name of this machine, empty if it has none.
pub(in crate::activator) fn host_name() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim_end().to_owned()
}

/// The identity of the process that has `pid` now.
pub(in crate::activator) fn identify(pid: u32) -> io::Result<Process> {
    Ok(Process { pid, start_time: stat(pid)?.start_time, boot_id: boot_id()?.to_owned() })
}

/// Whether exactly this process still runs. One that has ended and is not yet reaped does not.
pub(in crate::activator) fn is_running(process: &Process) -> bool {
    let same_boot = boot_id().is_ok_and(|boot_id| boot_id == process.boot_id);
    same_boot
        && stat(process.pid).is_ok_and(|stat| stat.start_time == process.start_time && !stat.has_ended())
}

/// The process that was launched under this id, by its environment. Of the processes that inherited the id from it, it is
/// told by leading its own process group, or by being a trampoline that does not do so yet. Only processes of the same user
/// can be seen.
pub(in crate::activator) fn find_launched(launch: LaunchId) -> Option<Process> {
    let mark = mark(launch);
    let is_it = |pid: &u32| is_leader(*pid) || is_trampoline(*pid);
    let launched = pids().filter(|pid| has_variable(*pid, mark.as_bytes())).filter(is_it);
    launched.filter_map(|pid| identify(pid).ok()).min_by_key(|process| process.start_time)
}

/// Signals the process group led by `process`, and with it whatever the handler has started. Does nothing when the id
/// belongs to another process by now, and nothing when the group is empty.
pub(in crate::activator) fn signal_group(process: &Process, ending: Ending) -> io::Result<()> {
    if stat(process.pid).is_ok_and(|stat| stat.start_time != process.start_time) {
        return Ok(());
    }
    let signal = match ending {
        Ending::Terminate => Signal::TERM,
        Ending::Kill => Signal::KILL,
    };
    match kill_process_group(raw(process.pid)?, signal) {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Kills everything that a launch has started and that can be found: its process group, what left the group and stayed in the
/// session, and what left both but still bears the launch id in its environment. Looks again until nothing is left, since
/// what is to be killed may be starting something.
pub(in crate::activator) fn kill_tree(process: &Process, launch: LaunchId) -> io::Result<()> {
    signal_group(process, Ending::Kill)?;
    let mark = mark(launch);
    for _ in 0..KILL_ROUNDS {
        let strays: Vec<u32> =
            pids().filter(|pid| is_member(*pid, process) || has_variable(*pid, mark.as_bytes())).collect();
        if strays.is_empty() {
            return Ok(());
        }
        for pid in strays {
            kill_if(pid, |pid| is_member(pid, process) || has_variable(pid, mark.as_bytes()))?;
        }
    }
    Ok(())
}

/// What a process that has ended leaves running in its session.
pub(in crate::activator) fn leftovers(process: &Process) -> Vec<u32> {
    pids().filter(|pid| is_member(*pid, process)).collect()
}

/// Whether orphans become children of this process: it is the first of its container, or asked for them.
pub(in crate::activator) fn inherits_orphans() -> bool {
    std::process::id() == 1 || rustix::process::child_subreaper().is_ok_and(|reaper| reaper.is_some())
}

/// Kills a child with its process group, if it leads one, and waits for its end.
pub(in crate::activator) fn end_child(pid: u32) {
    let Ok(pid) = raw(pid) else { return };
    // Not reaped yet, so the number is still its own.
    let _ = kill_process_group(pid, Signal::KILL);
    let _ = kill_process(pid, Signal::KILL);
    let _ = waitpid(Some(pid), WaitOptions::empty());
}

/// Reaps a child that has ended. `None` if it still runs, or is no child of this process.
pub(in crate::activator) fn reap(process: &Process) -> Option<Outcome> {
    // Of one that was reaped elsewhere the id may be that of another child by now.
    stat(process.pid).ok().filter(|stat| stat.start_time == process.start_time)?;
    let (_, status) = waitpid(Some(raw(process.pid).ok()?), WaitOptions::NOHANG).ok()??;
    let code = status.exit_status().map(Outcome::Code);
    Some(code.or(status.terminating_signal().map(Outcome::Signal)).unwrap_or(Outcome::Unknown))
}

/// Reaps those children that have ended and that `is_stranger` says nobody else waits for; answers how many.
pub(in crate::activator) fn reap_children(is_stranger: impl Fn(u32) -> bool) -> usize {
    let own = std::process::id();
    let has_ended = |pid: &u32| stat(*pid).is_ok_and(|stat| stat.parent == own && stat.has_ended());
    let strangers = pids().filter(has_ended).filter(|pid| is_stranger(*pid));
    let reaped = strangers.filter_map(|pid| waitpid(Some(raw(pid).ok()?), WaitOptions::NOHANG).ok()?);
    reaped.count()
}

/// The program's file as it is now. `None` if there is none, or for a bare name that is looked up on the `PATH`.
pub(in crate::activator) fn image_stamp(program: &Path) -> Option<ImageStamp> {
    let metadata = program.is_absolute().then(|| fs::metadata(program).ok())??;
    Some(ImageStamp { inode: metadata.ino(), changed: (metadata.ctime(), metadata.ctime_nsec()) })
}

/// Waits until a process that need not be our child has ended. How it ended the kernel tells nobody but its parent, by
/// [`reap`].
pub(in crate::activator) async fn ended(process: &Process) {
    let opened = raw(process.pid).and_then(|pid| Ok(pidfd_open(pid, PidfdFlags::empty())?));
    // Looked at after the descriptor is open: from here on the id cannot pass to another process unnoticed.
    if !is_running(process) {
        return;
    }
    if let Ok(descriptor) = opened.and_then(register)
        && descriptor.readable().await.is_ok()
    {
        return;
    }
    let mut ended_children = signal(SignalKind::child()).ok();
    while is_running(process) {
        let child = async { ended_children.as_mut()?.recv().await };
        tokio::select! {
            Some(()) = child => {}
            () = tokio::time::sleep(POLL) => {}
        }
    }
}

#[expect(
    deprecated,
    reason = "what the successor wants promised holds: an OwnedFd owns its descriptor and keeps it open"
)]
fn register(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(descriptor, Interest::READABLE)
}

/// The fields of `/proc/PID/stat` that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    state: char,
    parent: u32,
    group: u32,
    session: u32,
    start_time: u64,
}

impl Stat {
    /// The name in the second field is in parentheses and may hold anything, parentheses and spaces included.
    fn parse(text: &str) -> Option<Self> {
        let (_, fields) = text.rsplit_once(')')?;
        let mut fields = fields.split_ascii_whitespace();
        let state = fields.next()?.chars().next()?;
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        let session = fields.next()?.parse().ok()?;
        // Field 22 of the whole line; the session was field 6.
        let start_time = fields.nth(15)?.parse().ok()?;
        Some(Self { state, parent, group, session, start_time })
    }

    /// Zombie or dead.
    fn has_ended(self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }
}

fn stat(pid: u32) -> io::Result<Stat> {
    let text = fs::read(format!("/proc/{pid}/stat"))?;
    Stat::parse(&String::from_utf8_lossy(&text)).ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidData, "/proc/PID/stat has another form than known")
    })
}

/// Read once: it is the same for as long as anything can ask.
fn boot_id() -> io::Result<&'static str> {
    static READ: OnceLock<String> = OnceLock::new();
    if let Some(read) = READ.get() {
        return Ok(read);
    }
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    Ok(READ.get_or_init(|| text.trim_end().to_owned()))
}

fn has_variable(pid: u32, variable: &[u8]) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|one| one == variable)
}

/// Whether a process belongs to the session that `leader` led, and runs. While a session has members the system gives its
/// number to no new process; a leader that started at another time shows that ours has none any more.
fn is_member(pid: u32, leader: &Process) -> bool {
    let led_by_other = stat(leader.pid).is_ok_and(|stat| stat.start_time != leader.start_time);
    !led_by_other && stat(pid).is_ok_and(|stat| stat.session == leader.pid && !stat.has_ended())
}

/// Kills a process that still is what it was taken for. The descriptor is opened first, so the id cannot pass to another
/// process between the look and the signal.
fn kill_if(pid: u32, is_it: impl Fn(u32) -> bool) -> io::Result<()> {
    let Ok(descriptor) = pidfd_open(raw(pid)?, PidfdFlags::empty()) else { return Ok(()) };
    if !is_it(pid) {
        return Ok(());
    }
    match pidfd_send_signal(&descriptor, Signal::KILL) {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn mark(launch: LaunchId) -> String {
    format!("SSBROKER_LAUNCH_ID={launch}")
}

/// Every process there is.
fn pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
}

fn is_leader(pid: u32) -> bool {
    stat(pid).is_ok_and(|stat| stat.group == pid && !stat.has_ended())
}

/// Whether a process is about to become a handler, by its first argument.
fn is_trampoline(pid: u32) -> bool {
    let command_line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    command_line.split(|byte| *byte == 0).nth(1) == Some(SUBCOMMAND.as_bytes())
}

fn raw(pid: u32) -> io::Result<Pid> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not a process id"))
}

#[cfg(test)]
mod tests {
    use super::{Stat, find_launched, identify, is_running};
    use crate::activator::journal::Process;
    use crate::activator::launch::LaunchId;
    use crate::activator::trampoline::SUBCOMMAND;
    use std::process::Command;

    #[test]
    fn a_name_with_parentheses_and_spaces_does_not_shift_the_fields() {
        let line = "4242 (a) b (c) S 1 4242 4240 0 -1 4194560 5 0 0 0 1 2 3 4 20 0 1 0 987654 11 22 33\n";
        let expected = Stat { state: 'S', parent: 1, group: 4242, session: 4240, start_time: 987_654 };
        assert_eq!(Stat::parse(line).unwrap(), expected);
        assert!(Stat::parse("4242 (a) S 1").is_none());
        assert!(Stat::parse("").is_none());
    }

    #[test]
    fn a_process_is_known_by_id_start_and_boot_together() {
        let own = identify(std::process::id()).unwrap();
        assert!(is_running(&own));
        assert!(!is_running(&Process { start_time: own.start_time + 1, ..own.clone() }));
        assert!(!is_running(&Process { boot_id: "another boot".to_owned(), ..own }));
    }

    /// A script with the subcommand's name, which leads no group; its child has the mark too and is not the one.
    #[test]
    fn a_trampoline_that_leads_no_group_yet_is_found_and_what_it_starts_is_not_taken_for_it() {
        let (folder, launch) = (tempfile::tempdir().unwrap(), LaunchId::random());
        std::fs::write(folder.path().join(SUBCOMMAND), "sleep 300 & wait").unwrap();
        let mut shell = Command::new("sh");
        shell.arg(SUBCOMMAND).current_dir(folder.path()).env("SSBROKER_LAUNCH_ID", launch.to_string());
        let mut shell = shell.spawn().unwrap();
        let begun = std::time::Instant::now();
        // Between fork and exec it still has this process's arguments and environment.
        let found = loop {
            match find_launched(launch) {
                None if begun.elapsed().as_secs() < 30 => std::thread::yield_now(),
                found => break found,
            }
        };
        let mark = format!("SSBROKER_LAUNCH_ID={launch}");
        let marked: Vec<u32> =
            super::pids().filter(|pid| super::has_variable(*pid, mark.as_bytes())).collect();
        for pid in marked {
            let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).status();
        }
        shell.wait().unwrap();
        assert_eq!(found.map(|process| process.pid), Some(shell.id()));
    }
}
