//! External activation: when a queue's subscribers are told. V-25 to V-31, C052, C062 and C069.

use std::time::Duration;

use super::fixture::Fixture;
use super::message::{EVENT_NOTIFICATION, Message, texts};
use super::sql::Sql;
use super::vector::Outcome;

/// Longer than the five seconds after which a queue that is read but not emptied causes another event.
const PAST_THE_THRESHOLD: Duration = Duration::from_secs(8);

impl Fixture {
    /// Makes a service `e_#` on `qe_#` that is told of that event on a queue.
    pub(super) async fn notify(&self, queue: &str, event: &str) {
        let sql = format!(
            "CREATE QUEUE [qe_#];
             CREATE SERVICE [e_#] ON QUEUE [qe_#] ([http://schemas.microsoft.com/SQL/Notifications/PostEventNotification]);
             CREATE EVENT NOTIFICATION [n_#] ON QUEUE [{queue}] FOR {event} TO SERVICE N'e_#', N'current database';"
        );
        self.run(&sql, &[]).await;
    }

    /// How many readers wait on a queue that is monitored.
    pub(super) async fn waiting_tasks(&self, queue: &str) -> i32 {
        self.value(&monitor("tasks_waiting", queue), &[]).await
    }

    async fn monitor_state(&self, queue: &str) -> String {
        self.value(&monitor("state", queue), &[]).await
    }

    /// Waits for an event and takes it; there must be exactly one, and it must be about `qb_#`.
    async fn one_event(&self) -> Message {
        let mut events = self.wait("qe_#").await;
        assert_eq!(events.len(), 1, "{events:?}");
        let event = events.remove(0);
        assert_eq!(event.message_type, EVENT_NOTIFICATION);
        let text = event.text();
        assert!(text.contains("<EventType>QUEUE_ACTIVATION</EventType>"), "{text}");
        assert!(text.contains(&format!("<ObjectName>qb_{}</ObjectName>", self.id())), "{text}");
        event
    }

    /// The start of several vectors: a hundred messages come to a queue whose subscriber is told once.
    async fn hundred_messages(&self) {
        self.notify("qb_#", "QUEUE_ACTIVATION").await;
        let handle = self.begin().await;
        let sql = "DECLARE @left int = 100;
                   WHILE @left > 0
                   BEGIN
                       SET @left = @left - 1;
                       SEND ON CONVERSATION @P1 MESSAGE TYPE [DEFAULT] ('m');
                   END";
        self.run(sql, &[handle]).await;
        self.one_event().await;
    }
}

fn monitor(column: &str, queue: &str) -> String {
    format!(
        "SELECT m.{column} FROM sys.dm_broker_queue_monitors AS m
         JOIN sys.service_queues AS q ON q.object_id = m.queue_id
         WHERE q.name = N'{queue}' AND m.database_id = DB_ID()"
    )
}

pub(super) async fn a_burst_is_one_event(fixture: &Fixture) -> Outcome {
    fixture.hundred_messages().await;
    fixture.stays_empty("qe_#", PAST_THE_THRESHOLD).await;
    assert_eq!(fixture.monitor_state("qb_#").await, "NOTIFIED");
    assert_eq!(fixture.look("qb_#").await.len(), 100);
    Outcome::Passed
}

pub(super) async fn a_reader_that_stops_is_one_more_event(fixture: &Fixture) -> Outcome {
    fixture.hundred_messages().await;
    assert_eq!(fixture.receive_one("qb_#").await.len(), 1);
    assert_eq!(fixture.monitor_state("qb_#").await, "RECEIVES_OCCURRING");
    fixture.stays_empty("qe_#", Duration::from_secs(3)).await;
    fixture.one_event().await;
    fixture.stays_empty("qe_#", PAST_THE_THRESHOLD).await;
    Outcome::Passed
}

pub(super) async fn a_drained_queue_starts_anew(fixture: &Fixture) -> Outcome {
    fixture.hundred_messages().await;
    while !fixture.wait_for("qb_#", 100).await.is_empty() {}
    let inactive = || async { fixture.monitor_state("qb_#").await == "INACTIVE" };
    fixture.until_in_time("the monitor is inactive", inactive).await;
    assert_eq!(fixture.receive("qe_#").await, []);
    let handle = fixture.begin().await;
    fixture.send(handle, "m").await;
    fixture.one_event().await;
    Outcome::Passed
}

pub(super) async fn a_waiting_reader_needs_no_event(fixture: &Fixture) -> Outcome {
    fixture.notify("qb_#", "QUEUE_ACTIVATION").await;
    let reader = fixture.session().await;
    let sending = async {
        fixture.until("the reader waits", || async { fixture.waiting_tasks("qb_#").await == 1 }).await;
        let handle = fixture.begin().await;
        fixture.send(handle, "m0").await;
    };
    let (received, ()) = tokio::join!(reader.wait("qb_#"), sending);
    assert_eq!(texts(&received), ["m0"]);
    fixture.stays_empty("qe_#", Duration::from_secs(1)).await;
    Outcome::Passed
}

/// The backlog is one group that is locked, so that the second reader finds nothing.
pub(super) async fn readers_that_see_nothing_need_no_more_events(fixture: &Fixture) -> Outcome {
    fixture.hundred_messages().await;
    let busy = fixture.session().await;
    busy.begin_transaction().await;
    assert_eq!(busy.receive_one("qb_#").await.len(), 1);
    for _ in 0..5 {
        assert_eq!(fixture.receive("qb_#").await, []);
        fixture.pass(Duration::from_secs(3)).await;
        assert_eq!(fixture.receive("qe_#").await, []);
    }
    busy.commit().await;
    Outcome::Passed
}

pub(super) async fn ending_the_notifications_dialog_ends_the_notification(fixture: &Fixture) -> Outcome {
    fixture.notify("qb_#", "QUEUE_ACTIVATION").await;
    let handle = fixture.begin().await;
    fixture.send(handle, "m0").await;
    let event = fixture.one_event().await;
    fixture.end(event.handle).await;
    assert_eq!(fixture.receive("qb_#").await.len(), 1);
    fixture.send(handle, "m1").await;
    fixture.stays_empty("qe_#", PAST_THE_THRESHOLD).await;
    let sql = "SELECT COUNT(*) FROM sys.event_notifications WHERE name = N'n_#'";
    let gone = || async { fixture.value::<i32>(sql, &[]).await == 0 };
    fixture.until_in_time("the notification is gone", gone).await;
    Outcome::Passed
}

pub(super) async fn a_queue_is_activated_in_one_way_only(fixture: &Fixture) -> Outcome {
    fixture.notify("qb_#", "QUEUE_ACTIVATION").await;
    fixture.run("CREATE PROCEDURE [p_#] AS RETURN", &[]).await;
    let activate = |queue| {
        format!(
            "ALTER QUEUE [{queue}] WITH ACTIVATION (STATUS = ON, PROCEDURE_NAME = [p_#], MAX_QUEUE_READERS = 1, EXECUTE AS SELF)"
        )
    };
    assert_eq!(fixture.error(&activate("qb_#"), &[]).await, 9717);
    fixture.run(&activate("qa_#"), &[]).await;
    let sql = "CREATE EVENT NOTIFICATION [n2_#] ON QUEUE [qa_#] FOR QUEUE_ACTIVATION TO SERVICE N'e_#', N'current database'";
    assert_eq!(fixture.error(sql, &[]).await, 9718);
    Outcome::Passed
}

/// A look changes nothing; a RECEIVE that takes nothing changes the monitor, and with it whether events come.
pub(super) async fn c052_a_receive_that_takes_nothing_rearms_the_monitor(fixture: &Fixture) -> Outcome {
    fixture.notify("qb_#", "QUEUE_ACTIVATION").await;
    let handle = fixture.begin().await;
    fixture.send(handle, "m0").await;
    fixture.one_event().await;
    assert_eq!(texts(&fixture.look("qb_#").await), ["m0"]);
    fixture.stays_empty("qe_#", PAST_THE_THRESHOLD).await;
    assert_eq!(fixture.monitor_state("qb_#").await, "NOTIFIED");
    let somebody = fixture.session().await;
    somebody.begin_transaction().await;
    somebody.run("RECEIVE TOP (0) conversation_handle FROM [qb_#]", &[]).await;
    somebody.commit().await;
    assert_eq!(fixture.monitor_state("qb_#").await, "RECEIVES_OCCURRING");
    fixture.one_event().await;
    assert_eq!(fixture.monitor_state("qb_#").await, "NOTIFIED");
    assert_eq!(texts(&fixture.look("qb_#").await), ["m0"]);
    Outcome::Passed
}

/// An event belongs to the transaction that causes it.
pub(super) async fn c062_an_event_comes_with_the_commit_and_never_before(fixture: &Fixture) -> Outcome {
    fixture.notify("qb_#", "QUEUE_ACTIVATION").await;
    let sender = fixture.session().await;
    sender.begin_transaction().await;
    let handle = sender.begin().await;
    sender.send(handle, "m0").await;
    fixture.stays_empty("qe_#", Duration::from_secs(2)).await;
    sender.roll_back().await;
    fixture.stays_empty("qe_#", PAST_THE_THRESHOLD).await;
    assert_eq!(fixture.look("qb_#").await, []);
    sender.begin_transaction().await;
    let handle = sender.begin().await;
    sender.send(handle, "m1").await;
    fixture.stays_empty("qe_#", Duration::from_secs(2)).await;
    sender.commit().await;
    fixture.one_event().await;
    assert_eq!(texts(&fixture.look("qb_#").await), ["m1"], "the event is not ahead of its message");
    fixture.stays_empty("qe_#", PAST_THE_THRESHOLD).await;
    Outcome::Passed
}

/// Its dialog errors, and once that is noticed the notification is dropped (spec 1.9); when it is noticed is not said.
pub(super) async fn c069_a_service_without_the_contract_hears_nothing(fixture: &Fixture) -> Outcome {
    let sql = "CREATE QUEUE [qe_#]; CREATE SERVICE [e_#] ON QUEUE [qe_#];
               CREATE EVENT NOTIFICATION [n_#] ON QUEUE [qb_#] FOR QUEUE_ACTIVATION TO SERVICE N'e_#', N'current database';";
    fixture.run(sql, &[]).await;
    let handle = fixture.begin().await;
    fixture.send(handle, "m0").await;
    fixture.stays_empty("qe_#", PAST_THE_THRESHOLD).await;
    let alive = "SELECT COUNT(*) FROM sys.event_notifications AS n WHERE n.name = N'n_#' AND EXISTS (SELECT 1 FROM \
                 sys.conversation_endpoints AS e WHERE e.far_service = N'e_#' AND e.state IN ('SO', 'CO'))";
    let over = || async { fixture.value::<i32>(alive, &[]).await == 0 };
    fixture.until_in_time("the notification or its dialog is over", over).await;
    assert_eq!(texts(&fixture.look("qb_#").await), ["m0"]);
    Outcome::Passed
}
