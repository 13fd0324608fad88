//! How many handlers run: one more for each notification, never more than allowed, and no notification forgotten.

use super::daemon::{Daemon, config, eventually, outcomes, pids, shell, signal};
use ssbroker::activator::Record;
use ssbroker::activator::journal::Journal;
use ssbroker::activator::launch::Outcome;
use tempfile::TempDir;

#[tokio::test]
async fn each_notification_adds_one_up_to_max_and_one_at_max_waits_for_a_free_slot() {
    let state = TempDir::new().unwrap();
    let daemon = Daemon::start(config(state.path(), &shell("orders", "exec sleep 300", "min = 1\nmax = 2")));
    for expected in [1, 2, 2] {
        daemon.notify("orders").await.unwrap();
        assert_eq!(pids(&daemon.records()).len(), expected, "a notification is done when its launches are");
    }
    assert!(daemon.records().iter().any(|record| matches!(record, Record::AtMax { max: 2, .. })));
    let first = daemon.launched(2).await[0];
    signal(&first.to_string(), "KILL");
    assert_eq!(daemon.launched(3).await.len(), 3);
    assert_eq!(outcomes(&daemon.records()), [Outcome::Signal(9)]);
}

#[tokio::test]
async fn min_handlers_start_together() {
    let state = TempDir::new().unwrap();
    let daemon = Daemon::start(config(state.path(), &shell("orders", "exec sleep 300", "min = 3\nmax = 4")));
    daemon.notify("orders").await.unwrap();
    assert_eq!(daemon.launched(3).await.len(), 3);
}

#[tokio::test]
async fn a_notification_for_an_unknown_queue_is_consumed_and_told() {
    let state = TempDir::new().unwrap();
    let daemon = Daemon::start(config(state.path(), &shell("orders", "exit 0", "")));
    daemon.notify("Order").await.unwrap();
    let [Record::Unmatched { nearest: Some(nearest), .. }] = &daemon.records()[..] else {
        panic!("{:?}", daemon.records())
    };
    assert_eq!(nearest, "Sales.dbo.orders");
}

#[tokio::test]
async fn a_hundred_notifications_are_a_hundred_processes_and_none_is_left_in_the_journal() {
    let state = TempDir::new().unwrap();
    let daemon = Daemon::start(config(state.path(), &shell("orders", "exit 0", "max = 100")));
    for _ in 0..100 {
        daemon.notify("orders").await.unwrap();
    }
    assert!(daemon.outcomes(100).await.iter().all(|outcome| *outcome == Outcome::Code(0)));
    assert_eq!(pids(&daemon.stop().await).len(), 100);
    let (_, replay) = eventually("the journal is free", || Journal::open(state.path()).ok()).await;
    assert!(
        replay.running.is_empty() && replay.unfinished.is_empty() && replay.kept.is_empty(),
        "{replay:?}"
    );
}
