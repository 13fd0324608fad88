//! Every queue with messages gets a reader, whatever became of its notification; and what is wrong is named with its cure.

use super::daemon::{pids, shell};
use super::site::{Site, cured, login, reader, until, warning};
use ssbroker::activator::Record;
use ssbroker::client::{MonitorState, QueueLocation, QueueName, Visible};
use ssbroker_emulator::{Fault, Trigger};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long anything may take before a test fails.
const DEADLINE: Duration = Duration::from_secs(40);

/// Pains 6, 7 and 29.
#[tokio::test(flavor = "multi_thread")]
async fn c051_a_handler_that_exits_without_receive_is_started_again_and_named() {
    let (state, site) = (TempDir::new().unwrap(), Site::new(&["Orders"]).await);
    let switch = state.path().join("switch");
    let handler = super::daemon::program();
    let script = format!(
        "[ -e {} ] || exit 0; exec {} digest-handler x Sales dbo Orders",
        switch.display(),
        handler.display()
    );
    let daemon = site.daemon(state.path(), &shell("Orders", &script, "pass_connection = true"));
    site.send("Orders", 3).await;
    let told = warning(state.path(), "Orders", "exits-without-receive").await;
    assert!(told.text.contains("without executing RECEIVE on [Sales].[dbo].[Orders]"), "{told:?}");
    daemon.launched(3).await;
    assert_eq!(site.waiting("Orders").await, 3, "nobody received");
    std::fs::write(&switch, "").unwrap();
    site.send("Orders", 1).await;
    site.drained("Orders").await;
    cured(state.path(), "Orders", "exits-without-receive").await;
}

/// Pain 7: a RECEIVE that fails in its own columns is none for the monitor, and no roll back of the poison rule.
#[tokio::test(flavor = "multi_thread")]
async fn a_handler_whose_receive_fails_is_started_again_and_named() {
    let (state, site) = (TempDir::new().unwrap(), Site::new(&["Orders"]).await);
    let go = state.path().join("go");
    let script = format!("while [ ! -e {} ]; do sleep 0.02; done", go.display());
    let daemon = site.daemon(state.path(), &shell("Orders", &script, ""));
    site.send("Orders", 1).await;
    daemon.launched(1).await;
    let fails = "BEGIN TRANSACTION; DECLARE @n int; RECEIVE TOP (1) @n = CAST(CAST(message_body AS nvarchar(10)) AS int) FROM \
                 dbo.Orders; ROLLBACK TRANSACTION;";
    assert!(site.owner.batch(fails).await.is_err(), "its body is no number");
    std::fs::write(&go, "").unwrap();
    daemon.launched(2).await;
    warning(state.path(), "Orders", "exits-without-receive").await;
    assert_eq!(site.waiting("Orders").await, 1);
}

/// Pain 8: somebody else took the notification, or it was lost before.
#[tokio::test(flavor = "multi_thread")]
async fn c056_messages_that_wait_at_start_are_read_although_their_notification_is_gone() {
    let (state, site) = (TempDir::new().unwrap(), Site::new(&["Orders", "Returns"]).await);
    site.send("Orders", 5).await;
    site.send("Returns", 5).await;
    let taken = site.run("RECEIVE conversation_handle FROM dbo.Notifications; RECEIVE conversation_handle FROM dbo.Notifications;").await;
    assert!(taken.first_row().is_some());
    let apps = reader("Orders", "max = 2") + &reader("Returns", "max = 2");
    let daemon = site.daemon(state.path(), &apps);
    site.drained("Orders").await;
    site.drained("Returns").await;
    assert!(daemon.records().iter().any(|record| matches!(record, Record::Reconciled { .. })));
}

/// Pains 10 and 11.
#[tokio::test(flavor = "multi_thread")]
async fn c053_cleaning_up_all_conversations_is_made_good_and_named_with_the_statement() {
    let (state, site) = (TempDir::new().unwrap(), Site::new(&["Orders"]).await);
    let daemon = site.daemon(state.path(), &reader("Orders", ""));
    until(state.path(), "Orders", |app| app.notification.clone().filter(|name| name == "OrdersActivation"))
        .await;
    site.run(
        "DECLARE @h uniqueidentifier; WHILE EXISTS (SELECT 1 FROM sys.conversation_endpoints) BEGIN SELECT TOP (1) @h = \
         conversation_handle FROM sys.conversation_endpoints; END CONVERSATION @h WITH CLEANUP; END",
    )
    .await;
    site.send("Orders", 2).await;
    site.drained("Orders").await;
    assert!(pids(&daemon.records()).len() == 1);
    let told = until(state.path(), "Orders", |app| {
        app.warnings
            .iter()
            .find(|one| one.id == "notification-dead" || one.id == "notification-missing")
            .cloned()
    })
    .await;
    // What it says cures it.
    for statement in told.cure.split("; ").map(|statement| statement.trim_end_matches(';')) {
        site.run(statement).await;
    }
    until(state.path(), "Orders", |app| app.notification.clone().filter(|name| name == "OrdersActivation"))
        .await;
    assert!(
        told.cure.contains("CREATE EVENT NOTIFICATION [OrdersActivation] ON QUEUE [dbo].[Orders]"),
        "{told:?}"
    );
}

/// Pain 11: its conversation has ended, and no event has shown that yet.
#[tokio::test(flavor = "multi_thread")]
async fn an_event_notification_without_its_conversation_is_dead_and_the_cure_revives_it() {
    let (state, site) = (TempDir::new().unwrap(), Site::new(&["Orders"]).await);
    let _daemon = site.daemon(state.path(), &reader("Orders", ""));
    until(state.path(), "Orders", |app| app.notification.clone().filter(|name| name == "OrdersActivation"))
        .await;
    site.run(
        "DECLARE @h uniqueidentifier; SELECT @h = conversation_handle FROM sys.conversation_endpoints WHERE is_initiator = 1; \
         END CONVERSATION @h WITH CLEANUP;",
    )
    .await;
    let told = warning(state.path(), "Orders", "notification-dead").await;
    assert!(told.text.contains("OrdersActivation of [Sales].[dbo].[Orders] is listed"), "{told:?}");
    until(state.path(), "Orders", |app| app.notification.clone().filter(|name| name == "dead")).await;
    site.run(&told.cure).await;
    site.run("USE Sales;").await;
    cured(state.path(), "Orders", "notification-dead").await;
    site.send("Orders", 1).await;
    site.drained("Orders").await;
}

/// Pain 11: everything is as it should be, and yet nothing came.
#[tokio::test(flavor = "multi_thread")]
async fn a_notification_that_never_came_is_made_good_and_named() {
    let (state, site) = (TempDir::new().unwrap(), Site::new(&["Orders"]).await);
    let daemon = site.daemon(state.path(), &shell("Orders", "exec sleep 300", ""));
    until(state.path(), "Orders", |app| app.notification.clone()).await;
    site.embedded.emulator.faults().drop_event_notifications(1);
    site.send("Orders", 1).await;
    daemon.launched(1).await;
    let told = warning(state.path(), "Orders", "notification-lost").await;
    assert!(
        told.text.contains("no notification came") && told.cure.contains("CREATE EVENT NOTIFICATION"),
        "{told:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_event_notification_is_named_and_its_queue_is_read_all_the_same() {
    let (state, site) = (TempDir::new().unwrap(), Site::new(&["Orders"]).await);
    let _daemon = site.daemon(state.path(), &reader("Orders", ""));
    site.send("Orders", 1).await;
    site.drained("Orders").await;
    site.run("DROP EVENT NOTIFICATION OrdersActivation ON QUEUE dbo.Orders;").await;
    site.send("Orders", 2).await;
    site.drained("Orders").await;
    let told = warning(state.path(), "Orders", "notification-missing").await;
    assert!(told.text.contains("goes to //notify"), "{told:?}");
    // Pain 33: the server has ended its side of the notification's conversation, and the listener has ended ours.
    let open = "SELECT COUNT(*) AS n FROM sys.conversation_endpoints WHERE far_service = N'//notify' OR (is_system = 1 AND \
                state <> 'CD');";
    let deadline = Instant::now() + DEADLINE;
    while site.run(open).await.first_row().unwrap().get::<i32>("n").unwrap() > 0 {
        assert!(Instant::now() < deadline, "a conversation stays open");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    site.notify_of("Orders").await;
    cured(state.path(), "Orders", "notification-missing").await;
}

/// Pain 27.
#[tokio::test(flavor = "multi_thread")]
async fn c063_a_disabled_queue_is_named_and_read_again_once_it_is_on() {
    let (state, site) = (TempDir::new().unwrap(), Site::new(&["Orders"]).await);
    site.run("ALTER QUEUE dbo.Orders WITH STATUS = OFF;").await;
    let _daemon = site.daemon(state.path(), &reader("Orders", ""));
    let told = warning(state.path(), "Orders", "queue-disabled").await;
    assert!(told.cure.ends_with("USE [Sales]; ALTER QUEUE [dbo].[Orders] WITH STATUS = ON;"), "{told:?}");
    site.run("ALTER QUEUE dbo.Orders WITH STATUS = ON;").await;
    site.send("Orders", 10).await;
    site.drained("Orders").await;
    cured(state.path(), "Orders", "queue-disabled").await;
}

/// Pain 27: five roll backs in a row, told by the server itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_the_server_switches_off_is_told_at_once() {
    let (state, site) = (TempDir::new().unwrap(), Site::new(&["Orders"]).await);
    site.run(
        "CREATE EVENT NOTIFICATION OrdersOff ON QUEUE dbo.Orders FOR BROKER_QUEUE_DISABLED TO SERVICE '//notify', 'current \
         database';",
    )
    .await;
    let daemon = site.daemon(state.path(), &shell("Orders", "exec sleep 300", ""));
    until(state.path(), "Orders", |app| app.notification.clone()).await;
    site.send("Orders", 1).await;
    for _ in 0..5 {
        site.run("BEGIN TRANSACTION; RECEIVE * FROM dbo.Orders; ROLLBACK TRANSACTION;").await;
    }
    daemon
        .until(|records| {
            let told = |record: &Record| matches!(record, Record::QueueDisabled { target } if target.queue == "Orders");
            records.iter().any(told).then_some(())
        })
        .await;
    warning(state.path(), "Orders", "queue-disabled").await;
}

/// The other half of C052, what RECEIVE does to a monitor, is a vector of the conformance suite.
#[tokio::test(flavor = "multi_thread")]
async fn c052_no_look_of_ours_changes_a_monitor_or_takes_a_message() {
    let site = Site::new(&["Orders"]).await;
    site.send("Orders", 1).await;
    let queue = QueueLocation::in_database("Sales", QueueName::in_schema("dbo", "Orders").unwrap());
    for _ in 0..3 {
        let state = site.owner.inspect_queue(&queue).await.unwrap().unwrap();
        assert_eq!(state.ready, Visible::Known(true));
        let monitor = state.monitor.known().flatten().unwrap();
        assert_eq!(monitor.state, MonitorState::Notified);
        assert_eq!(site.owner.ready_queues(std::slice::from_ref(&queue)).await.unwrap(), [true]);
        assert!(site.owner.has_ready_messages(&queue).await.unwrap());
    }
    assert_eq!((site.waiting("Orders").await, site.waiting("Notifications").await), (1, 1));
}

/// Pain 9.
#[tokio::test(flavor = "multi_thread")]
async fn a_monitor_that_has_notified_over_an_empty_queue_is_named_with_its_cure() {
    let (state, site) = (TempDir::new().unwrap(), Site::new(&["Orders"]).await);
    let daemon = site.daemon(state.path(), &shell("Orders", "exit 0", ""));
    site.send("Orders", 1).await;
    until(state.path(), "Orders", |app| (app.monitor_state.as_deref() == Some("NOTIFIED")).then_some(()))
        .await;
    let clean_up = "DECLARE @h uniqueidentifier; SELECT TOP (1) @h = conversation_handle FROM dbo.Orders; END CONVERSATION @h \
                    WITH CLEANUP;";
    site.run(clean_up).await;
    warning(state.path(), "Orders", "stuck-notified").await;
    // The server says nothing of the next message, and yet a handler is started.
    let before = pids(&daemon.records()).len();
    site.send("Orders", 1).await;
    daemon.launched(before + 1).await;
    site.run(clean_up).await;
    let told = warning(state.path(), "Orders", "stuck-notified").await;
    let cure = told.cure.split(" -- ").next().unwrap().to_owned();
    assert_eq!(cure, "USE [Sales]; RECEIVE TOP (0) conversation_handle FROM [dbo].[Orders];");
    site.run(&cure).await;
    cured(state.path(), "Orders", "stuck-notified").await;
}

/// Pain 24.
#[tokio::test(flavor = "multi_thread")]
async fn a_disabled_broker_and_a_new_broker_id_are_named() {
    let (state, site) = (TempDir::new().unwrap(), Site::new(&["Orders"]).await);
    let _daemon = site.daemon(state.path(), &reader("Orders", ""));
    until(state.path(), "Orders", |app| app.notification.clone()).await;
    site.run("ALTER DATABASE Sales SET DISABLE_BROKER WITH ROLLBACK IMMEDIATE;").await;
    let told = warning(state.path(), "Orders", "broker-disabled").await;
    assert!(
        told.cure.starts_with("ALTER DATABASE [Sales] SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE;")
            && told.cure.ends_with("ends every other session in it"),
        "{told:?}"
    );
    site.run("ALTER DATABASE Sales SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE;").await;
    cured(state.path(), "Orders", "broker-disabled").await;
    site.run("ALTER DATABASE Sales SET NEW_BROKER WITH ROLLBACK IMMEDIATE;").await;
    let told = warning(state.path(), "Orders", "notification-elsewhere").await;
    assert!(told.cure.contains("DROP EVENT NOTIFICATION [OrdersActivation]"), "{told:?}");
}

/// C067.
#[tokio::test(flavor = "multi_thread")]
async fn c067_a_queue_that_does_not_exist_is_named_with_the_nearest_one() {
    let (state, site) = (TempDir::new().unwrap(), Site::new(&["Orders"]).await);
    let _daemon = site.daemon(state.path(), &reader("Order", ""));
    let told = warning(state.path(), "Order", "queue-missing").await;
    assert!(told.text.ends_with("the nearest is dbo.Orders"), "{told:?}");
}

/// One after the other, each right shows more, and the warning that names it goes.
#[tokio::test(flavor = "multi_thread")]
async fn with_fewer_rights_less_is_seen_and_each_missing_one_is_named() {
    let (state, site) = (TempDir::new().unwrap(), Site::new(&["Orders"]).await);
    let connection = login(&site).await;
    // Whoever has a right on the schema sees what is in it.
    site.run("REVOKE REFERENCES ON SCHEMA::dbo FROM ea;").await;
    let _daemon = site.daemon_as(state.path(), &connection, &shell("Orders", "exit 0", ""));
    let mut cures = Vec::new();
    for (id, lost) in [
        ("right-select", "whether messages wait"),
        ("right-view-definition", "event notification are not noticed"),
        ("right-server-state", "is guessed"),
    ] {
        let told = warning(state.path(), "Orders", id).await;
        assert!(told.text.contains(lost) && told.text.starts_with("login ea lacks"), "{told:?}");
        cures.push((id, told.cure.split(" -- ").next().unwrap().to_owned()));
    }
    for (id, cure) in cures {
        site.run(&cure).await;
        site.run("USE Sales;").await;
        cured(state.path(), "Orders", id).await;
    }
    let seen = until(state.path(), "Orders", |app| app.monitor_state.clone().zip(app.depth)).await;
    assert_eq!(seen.1, 0);
}

/// One queue that the server does not show, and another whose notification was taken away.
#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_cannot_be_looked_at_keeps_no_other_from_its_handler() {
    let (state, site) = (TempDir::new().unwrap(), Site::new(&["Sick", "Orders"]).await);
    site.send("Sick", 1).await;
    site.send("Orders", 1).await;
    // Each comes on a conversation of its own.
    while site.waiting("Notifications").await > 0 {
        site.run("RECEIVE conversation_handle FROM dbo.Notifications;").await;
    }
    let trigger = Trigger::statement().containing("[Sick]").always();
    let fault = site.embedded.emulator.faults().plan(trigger, Fault::error(1222));
    let apps = reader("Sick", "") + &reader("Orders", "");
    let _daemon = site.daemon(state.path(), &apps);
    site.drained("Orders").await;
    let told = warning(state.path(), "Sick", "queue-unseen").await;
    assert!(told.text.starts_with("queue Sales.dbo.Sick cannot be looked at: "), "{told:?}");
    fault.end();
    cured(state.path(), "Sick", "queue-unseen").await;
    site.drained("Sick").await;
}

/// With no right on the queue a lost notification is made good as soon as the monitor may be seen.
#[tokio::test(flavor = "multi_thread")]
async fn the_monitor_alone_is_enough_to_make_a_lost_notification_good() {
    let (state, site) = (TempDir::new().unwrap(), Site::new(&["Orders"]).await);
    let connection = login(&site).await;
    site.run(
        "GRANT VIEW DEFINITION ON dbo.Orders TO ea; USE master; GRANT VIEW SERVER STATE TO ea; USE Sales;",
    )
    .await;
    site.send("Orders", 1).await;
    site.run("RECEIVE conversation_handle FROM dbo.Notifications;").await;
    let daemon = site.daemon_as(state.path(), &connection, &shell("Orders", "exit 0", ""));
    daemon.launched(1).await;
    warning(state.path(), "Orders", "right-select").await;
}
