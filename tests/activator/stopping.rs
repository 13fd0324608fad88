//! How the daemon stops: handlers are asked, given their time, and killed with everything they started.

use super::daemon::{Daemon, config, eventually, is_running, number_in, outcomes, parse, shell};
use ssbroker::activator::launch::Outcome;
use ssbroker::activator::{ActivatorError, Record};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Writes its process id to `ready` once it is prepared for what comes.
fn prepared(folder: &TempDir, trap: &str) -> String {
    let ready = folder.path().join("ready").display().to_string();
    format!("{trap}; echo $$ > {ready}; while :; do sleep 1; done")
}

async fn start(folder: &TempDir, script: &str, keys: &str) -> Daemon {
    let daemon = Daemon::start(config(&folder.path().join("state"), &shell("orders", script, keys)));
    daemon.notify("orders").await.unwrap();
    number_in(&folder.path().join("ready")).await;
    daemon
}

#[tokio::test]
async fn a_daemon_without_handlers_stops_at_once() {
    let folder = TempDir::new().unwrap();
    let records = Daemon::start(config(folder.path(), &shell("orders", "exit 0", ""))).stop().await;
    assert_eq!(records, [Record::Stopping { running: 0 }, Record::Stopped]);
}

#[tokio::test]
async fn a_handler_that_ends_when_asked_is_not_killed() {
    let folder = TempDir::new().unwrap();
    let daemon = start(&folder, &prepared(&folder, "trap 'exit 7' TERM"), "").await;
    let records = daemon.stop().await;
    assert_eq!(outcomes(&records), [Outcome::Code(7)]);
    assert!(!records.iter().any(|record| matches!(record, Record::Killing { .. })));
}

#[tokio::test]
async fn after_the_grace_a_handler_is_killed_with_everything_it_started() {
    let folder = TempDir::new().unwrap();
    let grandchild = folder.path().join("grandchild");
    let trap = format!("trap '' TERM; sleep 300 & echo $! > {}", grandchild.display());
    let daemon = start(&folder, &prepared(&folder, &trap), "stop_grace = \"200ms\"").await;
    let grandchild = number_in(&grandchild).await;
    assert!(is_running(grandchild));
    assert_eq!(outcomes(&daemon.stop().await), [Outcome::Signal(9)]);
    eventually("the handler's own child ends", || (!is_running(grandchild)).then_some(())).await;
}

#[tokio::test]
async fn a_second_request_kills_without_waiting_for_the_grace() {
    let folder = TempDir::new().unwrap();
    let daemon = start(&folder, &prepared(&folder, "trap '' TERM"), "stop_grace = \"10m\"").await;
    daemon.request_stop().await;
    daemon
        .until(|records| records.iter().any(|one| matches!(one, Record::Terminating { .. })).then_some(()))
        .await;
    assert!(outcomes(&daemon.records()).is_empty());
    daemon.request_stop().await;
    assert_eq!(outcomes(&daemon.stopped().await), [Outcome::Signal(9)]);
}

#[tokio::test]
async fn a_server_that_is_away_neither_ends_the_daemon_nor_holds_up_its_stop() {
    let folder = TempDir::new().unwrap();
    let notification =
        "[[notification]]\nname = \"//n\"\nconnection = \"server=127.0.0.1,1;user id=u;password=p\"\n";
    let state = format!("[state]\ndir = {:?}\n", folder.path().display().to_string());
    let daemon = Daemon::start(parse(&format!("{state}{notification}{}", shell("orders", "exit 0", ""))));
    daemon.notify("orders").await.unwrap();
    daemon.outcomes(1).await;
    let before = Instant::now();
    daemon.stop().await;
    assert!(before.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_faulty_connection_string_keeps_the_daemon_from_starting() {
    let folder = TempDir::new().unwrap();
    let text = format!(
        "[state]\ndir = {:?}\n[[notification]]\nname = \"//n\"\nconnection = \"server=x;pasword=s3cret\"\n{}",
        folder.path().display().to_string(),
        shell("orders", "exit 0", "")
    );
    let error = Daemon::start(parse(&text)).refused().await;
    assert!(matches!(&error, ActivatorError::Connection { service, .. } if service == "//n"));
    assert!(!format!("{error:?}").contains("s3cret"), "{error:?}");
}
