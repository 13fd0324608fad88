//! `ssbroker demo`: the main job end to end, on trees, on synthetic messages, and with a handler that is killed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

struct Demo {
    code: Option<i32>,
    numbers: Value,
    said: String,
}

impl Demo {
    fn number(&self, name: &str) -> u64 {
        self.numbers[name].as_u64().unwrap_or_else(|| panic!("{name} is missing in {}", self.numbers))
    }

    fn assert_well(&self) {
        assert_eq!(self.code, Some(0), "{}\n{}", self.numbers, self.said);
        for fault in ["lost", "duplicated", "mismatched", "leaked_conversations"] {
            assert_eq!(self.number(fault), 0, "{fault}: {}\n{}", self.numbers, self.said);
        }
        assert_eq!(self.number("verified"), self.number("sent"));
    }
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ssbroker"));
    command.args(["demo", "--json"]).args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn finish(child: Child) -> Demo {
    let output = child.wait_with_output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let numbers = stdout.lines().last().map(serde_json::from_str).and_then(Result::ok).unwrap_or(Value::Null);
    Demo { code: output.status.code(), numbers, said }
}

fn demo(arguments: &[&str]) -> Demo {
    finish(command(arguments).spawn().unwrap())
}

/// 1,200 files: names with spaces and non-ASCII, empty ones, one of 20 MB.
fn make_tree(root: &Path) {
    for number in 0..1200 {
        let folder =
            root.join(format!("folder {}", number % 12)).join(["plain", "größe", "世界"][number % 3]);
        fs::create_dir_all(&folder).unwrap();
        let size = if number == 600 { 20 << 20 } else { (number % 17) * (number % 13) * 30 };
        let bytes: Vec<u8> = (0..size).map(|at| (at * 31 + number) as u8).collect();
        fs::write(folder.join(format!("file {number} ünïcode.bin")), bytes).unwrap();
    }
}

#[test]
fn a_tree_of_1200_files_is_verified_file_by_file() {
    let tree = tempfile::tempdir().unwrap();
    make_tree(tree.path());
    let demo = demo(&[tree.path().to_str().unwrap()]);
    demo.assert_well();
    assert_eq!((demo.number("sent"), demo.number("skipped")), (1200, 0));
    println!("{}", demo.numbers);
}

#[test]
fn an_empty_tree_is_well() {
    let tree = tempfile::tempdir().unwrap();
    let demo = demo(&[tree.path().to_str().unwrap()]);
    demo.assert_well();
    assert_eq!(demo.number("sent"), 0);
}

#[test]
fn an_unreadable_file_is_named_and_skipped_and_the_rest_goes_on() {
    let tree = tempfile::tempdir().unwrap();
    fs::write(tree.path().join("readable"), b"a").unwrap();
    let unreadable = tree.path().join("unreadable");
    fs::write(&unreadable, b"b").unwrap();
    fs::set_permissions(&unreadable, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&unreadable).is_ok() {
        println!("skipped: the superuser can read every file");
        return;
    }
    let demo = demo(&[tree.path().to_str().unwrap()]);
    demo.assert_well();
    assert_eq!((demo.number("sent"), demo.number("skipped")), (1, 1));
    assert!(demo.said.contains("unreadable"), "{}", demo.said);
}

#[test]
fn handlers_grow_with_the_backlog_each_step_after_a_notification() {
    let demo = demo(&["--messages", "3000", "--size", "64", "--work", "20ms", "--min", "1", "--max", "4"]);
    demo.assert_well();
    assert!(demo.number("max_alive") >= 3, "{}", demo.numbers);
    assert!(demo.number("launches") <= demo.number("notifications"), "{}", demo.numbers);
    println!("{}", demo.numbers);
}

/// A handler that dies by SIGKILL in the middle gives its messages back; another one answers them, each exactly once.
#[test]
fn a_killed_handler_leaves_every_message_verified_once() {
    let child =
        command(&["--messages", "400", "--size", "64", "--work", "5ms", "--max", "2"]).spawn().unwrap();
    let demo_pid = child.id();
    let handler = wait_for(|| handlers_of(demo_pid).first().copied());
    // In the middle: it has opened its connection and works.
    wait_for(|| has_worked(handler).then_some(()));
    assert!(Command::new("kill").args(["-KILL", &handler.to_string()]).status().unwrap().success());
    let demo = finish(child);
    demo.assert_well();
    assert!(demo.number("launches") >= 2, "{}", demo.numbers);
    println!("{}", demo.numbers);
}

#[test]
fn wrong_usage_is_told_and_exits_with_2() {
    let output = command(&["--messages", "many"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let output = command(&["/no/such/folder"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot read /no/such/folder"));
}

/// Process ids of the digest handlers whose parent is the demo.
fn handlers_of(parent: u32) -> Vec<u32> {
    let processes =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    processes
        .filter(|pid| parent_of(*pid) == Some(parent) && command_line(*pid).contains("digest-handler"))
        .collect()
}

fn parent_of(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}

/// The trampoline carries the handler's name too; it is the handler once it is called by its own subcommand.
fn command_line(pid: u32) -> String {
    let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<&str> = line.split('\0').collect();
    words.get(1).copied().unwrap_or_default().to_owned()
}

/// A handler waits for each message's working time, so one that has waited often is past its start.
fn has_worked(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let waits = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    waits.and_then(|count| count.trim().parse::<u64>().ok()).is_some_and(|waits| waits > 50)
}

fn wait_for<T>(mut condition: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(Instant::now() < deadline, "the condition did not come true in 30 s");
        std::thread::yield_now();
    }
}
