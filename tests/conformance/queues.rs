//! Queues: disabled ones, poison messages, waiting, retention. V-20 to V-23, V-41, V-42.

use super::fixture::Fixture;
use super::message::texts;
use super::sql::Sql;
use super::vector::Outcome;

pub(super) async fn a_disabled_queue_gives_nothing(fixture: &Fixture) -> Outcome {
    fixture.notify("qb_#", "QUEUE_ACTIVATION").await;
    fixture.switch("qb_#", "OFF").await;
    assert_eq!(fixture.error("RECEIVE * FROM [qb_#]", &[]).await, 9617);
    let get = "DECLARE @g uniqueidentifier; GET CONVERSATION GROUP @g FROM [qb_#]";
    assert_eq!(fixture.error(get, &[]).await, 9617);
    fixture.switch("qb_#", "ON").await;
    let reader = fixture.session().await;
    let waiting = reader.error("WAITFOR (RECEIVE * FROM [qb_#]), TIMEOUT 120000", &[]);
    let disabling = async {
        fixture.until("the reader waits", || async { fixture.waiting_tasks("qb_#").await == 1 }).await;
        fixture.switch("qb_#", "OFF").await;
    };
    let (number, ()) = tokio::join!(waiting, disabling);
    assert_eq!(number, 9617);
    Outcome::Passed
}

/// Receives and rolls back that many times, expecting so many messages each time.
async fn roll_back(fixture: &Fixture, times: usize, messages: usize) {
    let session = fixture.session().await;
    for _ in 0..times {
        session.begin_transaction().await;
        assert_eq!(session.receive("qb_#").await.len(), messages);
        session.roll_back().await;
    }
}

pub(super) async fn five_roll_backs_disable_the_queue(fixture: &Fixture) -> Outcome {
    fixture.notify("qb_#", "BROKER_QUEUE_DISABLED").await;
    let handle = fixture.begin().await;
    fixture.send(handle, "m0").await;
    roll_back(fixture, 4, 1).await;
    assert!(fixture.is_on("qb_#").await);
    roll_back(fixture, 1, 1).await;
    fixture.until_in_time("the queue is off", || async { !fixture.is_on("qb_#").await }).await;
    let events = fixture.wait("qe_#").await;
    assert_eq!(events.len(), 1, "{events:?}");
    let text = events[0].text();
    assert!(text.contains("<EventType>BROKER_QUEUE_DISABLED</EventType>"), "{text}");
    assert!(text.contains(&format!("<ObjectName>qb_{}</ObjectName>", fixture.id())), "{text}");
    fixture.switch("qb_#", "ON").await;
    assert_eq!(texts(&fixture.wait("qb_#").await), ["m0"]);
    Outcome::Passed
}

pub(super) async fn poison_handling_can_be_off(fixture: &Fixture) -> Outcome {
    fixture.run("ALTER QUEUE [qb_#] WITH POISON_MESSAGE_HANDLING (STATUS = OFF)", &[]).await;
    let handle = fixture.begin().await;
    fixture.send(handle, "m0").await;
    roll_back(fixture, 6, 1).await;
    assert!(fixture.is_on("qb_#").await);
    assert_eq!(texts(&fixture.receive("qb_#").await), ["m0"]);
    Outcome::Passed
}

pub(super) async fn roll_backs_without_messages_do_not_count(fixture: &Fixture) -> Outcome {
    roll_back(fixture, 6, 0).await;
    assert!(fixture.is_on("qb_#").await);
    Outcome::Passed
}

pub(super) async fn a_wait_ends_at_its_timeout(fixture: &Fixture) -> Outcome {
    let sql = "DECLARE @start datetime = GETUTCDATE(), @rows int;
               DECLARE @taken TABLE (body varbinary(max));
               WAITFOR (RECEIVE message_body FROM [qb_#] INTO @taken), TIMEOUT 500;
               SET @rows = @@ROWCOUNT;
               SELECT DATEDIFF(millisecond, @start, GETUTCDATE()) AS elapsed, @rows AS taken";
    let rows = fixture.in_time(sql).await;
    assert_eq!(rows[0].get::<i32>("taken").unwrap(), 0);
    let elapsed: i32 = rows[0].get("elapsed").unwrap();
    // `datetime` counts in steps of 3 to 4 milliseconds.
    assert!((496..2_000).contains(&elapsed), "{elapsed} ms");
    Outcome::Passed
}

pub(super) async fn retained_messages_stay_until_the_end(fixture: &Fixture) -> Outcome {
    fixture.run("ALTER QUEUE [qb_#] WITH RETENTION = ON", &[]).await;
    let handle = fixture.begin().await;
    fixture.send(handle, "request").await;
    let received = fixture.wait("qb_#").await;
    fixture.send(received[0].handle, "reply").await;
    let retained = fixture.look("qb_#").await;
    let mut rows: Vec<(i32, String)> =
        retained.iter().map(|message| (message.status, message.text())).collect();
    rows.sort();
    assert_eq!(rows, [(0, "request".to_owned()), (3, "reply".to_owned())]);
    assert_eq!(fixture.receive("qb_#").await, []);
    fixture.end(received[0].handle).await;
    assert_eq!(fixture.look("qb_#").await, []);
    assert_eq!(texts(&fixture.receive("qa_#").await)[0], "reply");
    Outcome::Passed
}
