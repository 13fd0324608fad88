//! Resident processes: always there, whatever notifications say, and taken up again by the next daemon.

use super::daemon::{Daemon, config, pids, shell, signal};
use ssbroker::activator::Record;
use tempfile::TempDir;

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
