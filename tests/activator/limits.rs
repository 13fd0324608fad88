//! What the activator sets and bounds for a process: account, limits, time, output.

use super::daemon::{Daemon, config, eventually, is_running, number_in, outcomes, program, shell};
use ssbroker::activator::launch::Outcome;
use ssbroker::activator::{ActivatorError, ProcessRecord, Record};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        // A handler that runs as another user has to get to its files.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        Self { folder }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn daemon(&self, script: &str, keys: &str) -> Daemon {
        Daemon::start(config(&self.file("state"), &shell("orders", script, keys)))
    }

    /// Keys that give the script `$OUT`, a file here.
    fn out(&self) -> String {
        format!("env = {{ OUT = {:?} }}", self.file("out").display().to_string())
    }

    async fn run(&self, script: &str, keys: &str) -> (Outcome, String) {
        let daemon = self.daemon(script, &format!("{keys}\n{}", self.out()));
        daemon.notify("orders").await.unwrap();
        let outcome = daemon.outcomes(1).await[0];
        daemon.stop().await;
        (outcome, fs::read_to_string(self.file("out")).unwrap_or_default())
    }

    /// The size of all output files.
    fn output(&self) -> u64 {
        let files = fs::read_dir(self.file("state").join("runs")).unwrap();
        files.map(|file| file.unwrap().metadata().map_or(0, |metadata| metadata.len())).sum()
    }
}

fn is_root() -> bool {
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    if !is_root {
        println!("skipped: another user can be had by root only");
    }
    is_root
}

#[tokio::test]
async fn limits_and_mask_hold_for_the_handler() {
    let script = "ulimit -n > $OUT; ulimit -t >> $OUT; ulimit -d >> $OUT; umask >> $OUT";
    let keys = "limits = { memory = \"64MiB\", cpu = \"7s\", files = 64 }\numask = \"027\"";
    let (outcome, told) = Place::new().run(script, keys).await;
    assert_eq!((outcome, told.as_str()), (Outcome::Code(0), "64\n7\n65536\n0027\n"));
}

#[tokio::test]
async fn a_handler_that_wants_more_memory_than_it_may_have_fails_by_itself() {
    let script = "exec python3 -c 'x = bytearray(256 * 1024 * 1024)'";
    let (outcome, _) = Place::new().run(script, "limits = { memory = \"64MiB\" }").await;
    assert_eq!(outcome, Outcome::Code(1));
}

#[tokio::test]
async fn a_handler_runs_as_its_user_with_its_groups_and_its_home() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    let script = "id -u > $OUT; id -g >> $OUT; echo $HOME $USER >> $OUT; echo hello > /dev/stderr";
    fs::write(place.file("out"), "").unwrap();
    fs::set_permissions(place.file("out"), fs::Permissions::from_mode(0o666)).unwrap();
    let (outcome, told) = place.run(script, "user = \"nobody\"").await;
    let id = |option: &str| {
        let output = Command::new("id").args([option, "nobody"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(outcome, Outcome::Code(0), "it can open its own standard error anew");
    let told: Vec<&str> = told.lines().collect();
    assert_eq!(told[..2], [id("-u"), id("-g")]);
    assert!(told[2].ends_with(" nobody") && !told[2].starts_with("/root"), "{told:?}");
}

#[tokio::test]
async fn an_account_that_cannot_be_had_keeps_the_daemon_from_starting() {
    let place = Place::new();
    let error = place.daemon("exit 0", "user = \"no-such-user\"").refused().await;
    assert!(matches!(&error, ActivatorError::Account { app, .. } if app == "orders"), "{error:?}");
}

/// C075
#[tokio::test]
async fn c075_a_run_that_takes_too_long_is_ended_and_its_slot_used_again() {
    let place = Place::new();
    let ready = place.file("ready").display().to_string();
    let script = format!("trap '' TERM; echo $$ > {ready}; while :; do sleep 1; done");
    let keys = "timeout = \"500ms\"\nstop_grace = \"200ms\"\nbackoff = { first = \"10ms\", max = \"20ms\" }";
    let daemon = place.daemon(&script, keys);
    daemon.notify("orders").await.unwrap();
    assert_eq!(daemon.outcomes(2).await[..2], [Outcome::Signal(9); 2]);
    let records = daemon.records();
    let timed_out = |record: &&Record| matches!(record, Record::Process(ProcessRecord::TimedOut { .. }));
    assert!(records.iter().filter(timed_out).count() >= 2);
    assert!(records.iter().any(|record| matches!(record, Record::Process(ProcessRecord::Pausing { .. }))));
}

#[tokio::test]
async fn a_kill_finds_what_left_the_group_and_even_the_session() {
    let place = Place::new();
    let (stayed, left) = (place.file("stayed"), place.file("left"));
    let script = format!(
        "trap '' TERM; set -m; (trap '' TERM; echo $(sh -c 'echo $PPID') > {}; sleep 300) & setsid sh -c 'trap \"\" TERM; \
         echo $$ > {}; sleep 300' & while :; do sleep 1; done",
        stayed.display(),
        left.display()
    );
    let daemon = place.daemon(&script, "timeout = \"1s\"\nstop_grace = \"100ms\"");
    daemon.notify("orders").await.unwrap();
    let pids = [number_in(&stayed).await, number_in(&left).await];
    assert!(pids.iter().all(|pid| is_running(*pid)));
    daemon.outcomes(1).await;
    eventually("everything ends", || pids.iter().all(|pid| !is_running(*pid)).then_some(())).await;
}

/// C072
#[tokio::test]
async fn c072_what_a_handler_leaves_behind_neither_holds_its_slot_nor_lives_on() {
    let place = Place::new();
    let script = "sleep 600 & echo $! > $OUT; exit 0";
    let daemon = place.daemon(script, &place.out());
    for round in 1..=3 {
        let before = Instant::now();
        daemon.notify("orders").await.unwrap();
        assert_eq!(daemon.outcomes(round).await.len(), round);
        assert!(
            before.elapsed() < Duration::from_secs(10),
            "the end is that of the process, not of its files"
        );
    }
    let pid = number_in(&place.file("out")).await;
    eventually("what was left ends", || (!is_running(pid)).then_some(())).await;
}

/// C073
#[tokio::test]
async fn c073_a_flood_of_output_neither_blocks_the_handler_nor_fills_the_disk() {
    let place = Place::new();
    let script = "head -c 50000000 /dev/zero | tr '\\0' x; head -c 50000000 /dev/urandom >&2; \
                  yes 'a line' | head -n 1000000; echo the end >&2; exit 3";
    let (outcome, _) = place.run(script, "").await;
    assert_eq!(outcome, Outcome::Code(3));
    // What is written between two looks is not bounded; that the files began anew is what is looked for.
    assert!(place.output() < 60_000_000, "{}", place.output());
}

/// C076
#[tokio::test]
async fn c076_a_program_that_is_missing_or_not_executable_is_tried_until_it_is_there() {
    let place = Place::new();
    let program = place.file("handler");
    let app = format!(
        "[[app]]\nname = \"one\"\ncommand = {:?}\non = {{ database = \"Sales\", schema = \"dbo\", queue = \"one\" }}\n\
         backoff = {{ first = \"20ms\", max = \"50ms\" }}\n",
        program.display().to_string()
    );
    let daemon = Daemon::start(config(&place.file("state"), &app));
    let failures = |records: &[Record]| -> Vec<(String, bool)> {
        let read = |record: &Record| match record {
            Record::LaunchFailed { reason, repeated, .. } => Some((reason.clone(), *repeated)),
            _ => None,
        };
        records.iter().filter_map(read).collect()
    };
    daemon.notify("one").await.unwrap();
    daemon.until(|records| (failures(records).len() >= 3).then_some(())).await;
    fs::write(&program, "#!/bin/sh\nexit 0\n").unwrap();
    let is_refused = |(reason, _): &(String, bool)| reason.contains("Permission denied");
    daemon
        .until(|records| (failures(records).iter().filter(|one| is_refused(one)).count() >= 3).then_some(()))
        .await;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(daemon.outcomes(1).await, [Outcome::Code(0)]);
    let told: Vec<_> = failures(&daemon.stop().await).into_iter().filter(|(_, repeated)| !repeated).collect();
    assert!(told.len() <= 4, "once for each change: {told:?}");
    assert!(told[0].0.contains("No such file") && told.iter().any(is_refused), "{told:?}");
}

#[tokio::test]
async fn as_process_one_it_reaps_orphans_and_keeps_the_status_of_its_own_children() {
    let namespace = ["--fork", "--pid", "--mount-proc", "--kill-child"];
    let works = Command::new("unshare").args(namespace).arg("true").stderr(Stdio::null()).status();
    if !works.is_ok_and(|status| status.success()) {
        println!("skipped: no namespace of processes can be made here");
        return;
    }
    let place = Place::new();
    let zombies = place.file("zombies").display().to_string();
    // Orphans that end at once; the resident handler waits for its own to be gone and counts what is left unreaped.
    let script = format!(
        "for i in 1 2 3 4 5; do setsid sh -c '(sleep 0.2) &' ; done; sleep 7; ps -eo stat= | grep -c ^Z > {zombies}.tmp; mv \
         {zombies}.tmp {zombies}; exit 5"
    );
    let text = format!(
        "[state]\ndir = {:?}\n[log]\nlevel = \"info\"\n[[notification]]\nname = \"//n\"\nenabled = false\nconnection = \
         \"server=x;user id=u;password=p\"\n{}",
        place.file("state").display().to_string(),
        shell("orders", &script, "kind = \"resident\"\nbackoff = { first = \"60s\" }")
    );
    // Root is refused a configuration that others can change.
    let private = TempDir::new().unwrap();
    let file = private.path().join("activator.toml");
    fs::write(&file, text).unwrap();
    let mut command = Command::new("unshare");
    command.args(namespace).arg(program()).args(["activator", "run", "--config"]).arg(&file);
    let errors = fs::File::create(place.file("log")).unwrap();
    let mut daemon = command.stdout(Stdio::null()).stderr(errors).spawn().unwrap();
    let left = eventually("the zombies are counted", || fs::read_to_string(&zombies).ok()).await;
    let ended =
        || fs::read_to_string(place.file("log")).unwrap().contains("ended with exit code 5").then_some(());
    eventually("its own child's exit code is known", ended).await;
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    assert_eq!(left.trim(), "0");
}

#[tokio::test]
async fn a_stop_does_not_wait_for_pauses() {
    let place = Place::new();
    let daemon = place.daemon("exit 1", "backoff = { first = \"5m\" }");
    daemon.notify("orders").await.unwrap();
    daemon.outcomes(1).await;
    assert_eq!(outcomes(&daemon.stop().await).len(), 1);
}
