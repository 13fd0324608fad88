//! How many handlers run: one more for each notification, never more than allowed, and no notification forgotten.

use super::daemon::{Daemon, config, eventually, outcomes, pids, shell, signal};
use super::site::Site;
use crate::support::{Backend, Embedded};
use ssbroker::activator::Record;
use ssbroker::activator::journal::Journal;
use ssbroker::activator::launch::Outcome;
use ssbroker::client::QueueName;
use std::time::Duration;
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

/// Case C116: all messages are on one conversation, so a second reader is of no use. One is tried, since the server cannot
/// know; it waits for what it may not have, and as long as it does no other is started.
#[tokio::test(flavor = "multi_thread")]
async fn c116_readers_that_cannot_help_are_not_started_one_after_another() {
    let (state, site) =
        (TempDir::new().unwrap(), Site::on(Embedded::with_manual_clock().await, &["Orders"]).await);
    site.run(
        "DECLARE @h uniqueidentifier, @n int = 0; BEGIN DIALOG @h FROM SERVICE [//Orders] TO SERVICE '//Orders' WITH \
         ENCRYPTION = OFF; WHILE @n < 100 BEGIN SEND ON CONVERSATION @h (0x01); SET @n = @n + 1; END",
    )
    .await;
    let daemon = site.daemon(state.path(), &shell("Orders", "exec sleep 300", "max = 16"));
    daemon.launched(1).await;
    // What the handlers would do: the first takes message by message, the second waits.
    let queue = || QueueName::in_schema("dbo", "Orders").unwrap();
    let mut first = site.owner.receive(queue()).max_messages(1).open().await.unwrap();
    let clock = site.embedded.manual_clock().unwrap();
    let mut batch = first.next().await.unwrap();
    for second in 0..6 {
        clock.advance(Duration::from_secs(1));
        batch = batch.commit_and_next().await.unwrap().unwrap_or_else(|| panic!("second {second}"));
    }
    daemon.launched(2).await;
    // In one wait to the end: between two it would miss many of these quick seconds.
    let mut second = site.owner.receive(queue()).wait(Duration::from_secs(120)).open().await.unwrap();
    assert!(second.next_within(Duration::from_millis(50)).await.unwrap().is_none());
    for second in 0..60 {
        clock.advance(Duration::from_secs(1));
        batch = batch.commit_and_next().await.unwrap().unwrap_or_else(|| panic!("second {second}"));
    }
    // This one is handled after all that the server may have sent.
    daemon.notify("Orders").await.unwrap();
    assert_eq!(pids(&daemon.records()).len(), 3, "two, and the one for this test's own notification");
    drop(batch);
}
