//! Resident processes: always there, whatever notifications say, and taken up again by the next daemon.

use super::daemon::{Daemon, config, eventually, pids, program, shell, signal, text, within};
use ssbroker::activator::Record;
use std::fs::{File, read_to_string, write};
use std::process::Stdio;
use tempfile::TempDir;
use tokio::process::Command;

const KEYS: &str = "kind = \"resident\"\nmin = 2\nmax = 3\nbackoff = { first = \"20ms\", max = \"40ms\" }";

#[tokio::test]
async fn resident_processes_run_without_a_notification_and_come_back() {
    let state = TempDir::new().unwrap();
    let script = "test \"$SSBROKER_KIND\" = resident || exit 9; exec sleep 300";
    let daemon = Daemon::start(config(state.path(), &shell("orders", script, KEYS)));
    let first = daemon.launched(2).await;
    signal(&first[0].to_string(), "KILL");
    let third = daemon.launched(3).await[2];
    assert!(!first.contains(&third));
    daemon.notify("orders").await.unwrap();
    assert_eq!(daemon.launched(4).await.len(), 4, "a notification adds one");
    let records = daemon.stop().await;
    assert_eq!(pids(&records).len(), 4);
    assert!(matches!(records.last(), Some(Record::Stopped)));
}

#[tokio::test]
async fn a_resident_process_that_ends_well_is_started_again_too() {
    let state = TempDir::new().unwrap();
    let script = "sleep 0.05; exit 0";
    let daemon = Daemon::start(config(state.path(), &shell("orders", script, KEYS)));
    daemon.launched(6).await;
    daemon.stop().await;
}

#[tokio::test]
async fn resident_processes_survive_the_daemon_and_are_not_doubled() {
    let state = TempDir::new().unwrap();
    let config = config(state.path(), &shell("orders", "exec sleep 300", KEYS));
    let first = Daemon::start(config.clone());
    let mut running = first.launched(2).await;
    first.crash().await;
    let second = Daemon::start(config);
    let mut adopted = second.launched(2).await;
    running.sort_unstable();
    adopted.sort_unstable();
    assert_eq!(adopted, running);
    assert!(second.records().iter().all(|record| !matches!(record, Record::Launched { .. })));
    second.stop().await;
}

/// Standard error on a full disk: no line can be written, nor the complaint about it.
#[tokio::test]
async fn a_log_that_cannot_be_written_costs_its_lines_and_nothing_else() {
    let state = TempDir::new().unwrap();
    let (file, runs) = (state.path().join("activator.toml"), state.path().join("runs.txt"));
    let script = format!("echo said; echo run >> {}; exit 0", runs.display());
    write(&file, text(state.path(), &shell("orders", &script, KEYS))).unwrap();
    let mut command = Command::new(program());
    command.args(["activator", "run", "--config"]).arg(&file).stderr(Stdio::from(full_disk()));
    let mut daemon = command.kill_on_drop(true).spawn().unwrap();
    // Both are started again and again only while the loop turns and each end is reported.
    eventually("six runs", || {
        let ended = read_to_string(&runs).unwrap_or_default().lines().count();
        (ended >= 6).then_some(())
    })
    .await;
    signal(&daemon.id().unwrap().to_string(), "TERM");
    assert!(within(daemon.wait()).await.unwrap().success());
}

fn full_disk() -> File {
    File::options().write(true).open("/dev/full").unwrap()
}
