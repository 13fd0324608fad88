//! What a transaction undoes and what it sees of itself (spec 7, U-28), and the locks it holds (spec 2.5, U-17).

use super::fixture::Fixture;
use super::message::{COLUMNS, Message, texts};
use super::sql::Sql;
use super::vector::Outcome;

pub(super) async fn a_roll_back_undoes_everything(fixture: &Fixture) -> Outcome {
    let handle = fixture.begin().await;
    fixture.send(handle, "m0").await;
    fixture.send(handle, "m1").await;
    let session = fixture.session().await;
    session.begin_transaction().await;
    let dead = session.begin().await;
    session.send(dead, "undone").await;
    assert_eq!(texts(&session.receive("qb_#").await), ["m0", "m1"]);
    session.end(handle).await;
    session.roll_back().await;
    assert_eq!(fixture.state(dead).await, None);
    assert_eq!(fixture.state(handle).await.as_deref(), Some("CO"));
    assert_eq!(fixture.error("SEND ON CONVERSATION @P1 ('m')", &[dead]).await, 8426);
    assert_eq!(texts(&fixture.receive("qb_#").await), ["m0", "m1"]);
    assert_eq!(fixture.receive("qb_#").await, []);
    Outcome::Passed
}

pub(super) async fn an_own_send_is_not_received_before_the_commit(fixture: &Fixture) -> Outcome {
    let session = fixture.session().await;
    session.begin_transaction().await;
    let handle = session.begin().await;
    session.send(handle, "m0").await;
    assert_eq!(session.receive("qb_#").await, []);
    session.commit().await;
    assert_eq!(texts(&fixture.receive("qb_#").await), ["m0"]);
    Outcome::Passed
}

pub(super) async fn an_unused_dialog_ends_silently(fixture: &Fixture) -> Outcome {
    let handle = fixture.begin().await;
    fixture.end(handle).await;
    assert_eq!(fixture.endpoints().await, []);
    assert_eq!(fixture.look("qb_#").await, []);
    Outcome::Passed
}

pub(super) async fn getting_a_group_locks_it(fixture: &Fixture) -> Outcome {
    let handle = fixture.begin().await;
    fixture.send(handle, "m0").await;
    let group = fixture.look("qb_#").await[0].group;
    let session = fixture.session().await;
    session.begin_transaction().await;
    let get =
        "DECLARE @g uniqueidentifier; GET CONVERSATION GROUP @g FROM [qb_#]; SELECT @g AS conversation_group";
    assert_eq!(session.value::<Option<uuid::Uuid>>(get, &[]).await, Some(group));
    assert_eq!(fixture.receive("qb_#").await, []);
    assert_eq!(fixture.value::<Option<uuid::Uuid>>(get, &[]).await, None);
    assert_eq!(texts(&session.receive("qb_#").await), ["m0"]);
    session.commit().await;
    Outcome::Passed
}

/// The documented sample that removes poison messages relies on this; what a RECEIVE without WAITFOR does is U-17.
pub(super) async fn a_wait_for_a_locked_conversation_ends_at_its_timeout(fixture: &Fixture) -> Outcome {
    let handle = fixture.begin().await;
    fixture.send(handle, "m0").await;
    let target = fixture.peer(handle).await;
    let session = fixture.session().await;
    session.begin_transaction().await;
    assert_eq!(session.receive("qb_#").await.len(), 1);
    let sql = format!(
        "WAITFOR (RECEIVE {COLUMNS} FROM [qb_#] WHERE conversation_handle = '{target}'), TIMEOUT 500"
    );
    assert_eq!(fixture.in_time(&sql).await, []);
    session.roll_back().await;
    assert_eq!(texts(&Message::all(fixture.in_time(&sql).await)), ["m0"]);
    Outcome::Passed
}
