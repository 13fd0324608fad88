//! Conversation timers and lifetimes: V-32 to V-34.

use std::time::Duration;

use super::fixture::Fixture;
use super::message::{DIALOG_TIMER, texts, types};
use super::sql::Sql;
use super::vector::Outcome;

pub(super) async fn a_timer_replaces_the_one_before(fixture: &Fixture) -> Outcome {
    let handle = fixture.begin().await;
    fixture.send(handle, "m0").await;
    assert_eq!(fixture.wait("qb_#").await.len(), 1);
    for _ in 0..2 {
        fixture.run("BEGIN CONVERSATION TIMER (@P1) TIMEOUT = 1", &[handle]).await;
    }
    let fired = fixture.wait("qa_#").await;
    assert_eq!(types(&fired), [DIALOG_TIMER]);
    assert_eq!((fired[0].handle, fired[0].body.as_ref()), (handle, None));
    fixture.stays_empty("qa_#", Duration::from_secs(3)).await;
    assert_eq!(fixture.look("qb_#").await, []);
    Outcome::Passed
}

pub(super) async fn a_timer_fits_into_the_lifetime(fixture: &Fixture) -> Outcome {
    let clauses = "FROM SERVICE [a_#] TO SERVICE N'b_#' WITH LIFETIME = 10, ENCRYPTION = OFF";
    let handle = fixture.begin_with(clauses).await;
    assert_eq!(fixture.error("BEGIN CONVERSATION TIMER (@P1) TIMEOUT = 100", &[handle]).await, 8410);
    Outcome::Passed
}

pub(super) async fn a_dialog_ends_with_its_lifetime(fixture: &Fixture) -> Outcome {
    let clauses = "FROM SERVICE [a_#] TO SERVICE N'b_#' WITH LIFETIME = 2, ENCRYPTION = OFF";
    let handle = fixture.begin_with(clauses).await;
    fixture.send(handle, "m0").await;
    let told = fixture.wait("qa_#").await;
    assert_eq!((told.len(), told[0].error_code()), (1, -8489));
    fixture.until_in_time("the target is told", || async { fixture.look("qb_#").await.len() == 2 }).await;
    let received = fixture.receive("qb_#").await;
    assert_eq!(received[0].error_code(), -8489);
    assert_eq!(texts(&received)[1], "m0");
    assert_eq!(fixture.error("SEND ON CONVERSATION @P1 ('m1')", &[handle]).await, 8429);
    Outcome::Passed
}
