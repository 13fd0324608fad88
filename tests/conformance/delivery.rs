//! What becomes of a message that cannot simply be delivered: V-15 to V-19, V-36, V-38.

use super::fixture::Fixture;
use super::message::texts;
use super::sql::Sql;
use super::vector::Outcome;

impl Fixture {
    /// Waits for the initiator's one message, which must be an Error.
    async fn error_at_initiator(&self) -> i32 {
        let told = self.wait("qa_#").await;
        assert_eq!(told.len(), 1, "{told:?}");
        told[0].error_code()
    }
}

pub(super) async fn a_service_may_come_later(fixture: &Fixture) -> Outcome {
    let handle = fixture.begin_with("FROM SERVICE [a_#] TO SERVICE N'late_#' WITH ENCRYPTION = OFF").await;
    fixture.send(handle, "m0").await;
    assert_eq!(fixture.undelivered(handle).await, 1);
    assert_eq!(fixture.look("qa_#").await, []);
    fixture.run("CREATE SERVICE [late_#] ON QUEUE [qb_#] ([DEFAULT])", &[]).await;
    assert_eq!(texts(&fixture.wait("qb_#").await), ["m0"]);
    fixture.until_in_time("it is acknowledged", || async { fixture.undelivered(handle).await == 0 }).await;
    Outcome::Passed
}

pub(super) async fn a_service_missing_in_a_named_broker_is_an_error(fixture: &Fixture) -> Outcome {
    let clauses = "FROM SERVICE [a_#] TO SERVICE N'none_#', N'CURRENT DATABASE' WITH ENCRYPTION = OFF";
    let handle = fixture.begin_with(clauses).await;
    fixture.send(handle, "m0").await;
    assert_eq!(fixture.error_at_initiator().await, -8490);
    assert_eq!(fixture.state(handle).await.as_deref(), Some("ER"));
    Outcome::Passed
}

pub(super) async fn a_contract_that_is_not_offered_is_an_error(fixture: &Fixture) -> Outcome {
    fixture
        .run(
            "CREATE CONTRACT [other_#] ([DEFAULT] SENT BY ANY);
             CREATE SERVICE [only_#] ON QUEUE [qb_#] ([other_#]);",
            &[],
        )
        .await;
    let clauses = "FROM SERVICE [a_#] TO SERVICE N'only_#' ON CONTRACT [DEFAULT] WITH ENCRYPTION = OFF";
    let handle = fixture.begin_with(clauses).await;
    fixture.send(handle, "m0").await;
    assert_eq!(fixture.error_at_initiator().await, -8408);
    Outcome::Passed
}

pub(super) async fn a_body_that_is_not_xml_is_an_error(fixture: &Fixture) -> Outcome {
    fixture
        .run(
            "CREATE MESSAGE TYPE [xml_#] VALIDATION = WELL_FORMED_XML;
             CREATE CONTRACT [cxml_#] ([xml_#] SENT BY ANY);
             ALTER SERVICE [b_#] (ADD CONTRACT [cxml_#]);",
            &[],
        )
        .await;
    let clauses = "FROM SERVICE [a_#] TO SERVICE N'b_#' ON CONTRACT [cxml_#] WITH ENCRYPTION = OFF";
    let handle = fixture.begin_with(clauses).await;
    fixture.run("SEND ON CONVERSATION @P1 MESSAGE TYPE [xml_#] (N'<a>')", &[handle]).await;
    assert_eq!(fixture.error_at_initiator().await, -9615);
    assert_eq!(fixture.look("qb_#").await, []);
    let fine = fixture.begin_with(clauses).await;
    fixture.run("SEND ON CONVERSATION @P1 MESSAGE TYPE [xml_#] (N'<a/>')", &[fine]).await;
    assert_eq!(fixture.wait("qb_#").await.len(), 1);
    Outcome::Passed
}

pub(super) async fn messages_wait_for_a_disabled_queue(fixture: &Fixture) -> Outcome {
    let handle = fixture.begin().await;
    fixture.switch("qb_#", "OFF").await;
    for text in ["m0", "m1", "m2"] {
        fixture.send(handle, text).await;
    }
    assert_eq!(fixture.undelivered(handle).await, 3);
    assert_eq!(fixture.look("qb_#").await, []);
    assert_eq!(fixture.look("qa_#").await, []);
    fixture.switch("qb_#", "ON").await;
    fixture.until_in_time("all are there", || async { fixture.look("qb_#").await.len() == 3 }).await;
    assert_eq!(texts(&fixture.receive("qb_#").await), ["m0", "m1", "m2"]);
    Outcome::Passed
}

pub(super) async fn service_names_differ_by_case(fixture: &Fixture) -> Outcome {
    fixture.run("CREATE SERVICE [Case_#] ON QUEUE [qb_#] ([DEFAULT])", &[]).await;
    let clauses = "FROM SERVICE [a_#] TO SERVICE N'case_#', N'CURRENT DATABASE' WITH ENCRYPTION = OFF";
    let handle = fixture.begin_with(clauses).await;
    fixture.send(handle, "m0").await;
    assert_eq!(fixture.error_at_initiator().await, -8490);
    Outcome::Passed
}

pub(super) async fn dropping_a_service_is_an_error_for_the_peer(fixture: &Fixture) -> Outcome {
    let handle = fixture.begin().await;
    fixture.send(handle, "m0").await;
    fixture.run("DROP SERVICE [b_#]", &[]).await;
    assert_eq!(fixture.look("qb_#").await, []);
    assert_eq!(fixture.error_at_initiator().await, -8470);
    assert_eq!(fixture.state(handle).await.as_deref(), Some("ER"));
    Outcome::Passed
}
