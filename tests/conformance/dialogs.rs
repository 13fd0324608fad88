//! Dialogs from their beginning to their end: V-01 to V-05, V-09 to V-14, V-35, V-37, and U-50.

use std::time::Duration;

use super::fixture::Fixture;
use super::message::{DIALOG_TIMER, END_DIALOG, ERROR, texts, types};
use super::sql::Sql;
use super::vector::Outcome;

pub(super) async fn begin_makes_one_endpoint(fixture: &Fixture) -> Outcome {
    let handle = fixture.begin().await;
    let endpoints = fixture.endpoints().await;
    let [endpoint] = &*endpoints else { panic!("{endpoints:?}") };
    assert_eq!((endpoint.handle, endpoint.is_initiator, &*endpoint.state), (handle, true, "SO"));
    Outcome::Passed
}

pub(super) async fn first_send_makes_the_target_endpoint(fixture: &Fixture) -> Outcome {
    let handle = fixture.begin().await;
    fixture.send(handle, "m0").await;
    let target = fixture.endpoint(fixture.peer(handle).await).await.unwrap();
    let initiator = fixture.endpoint(handle).await.unwrap();
    assert_eq!((&*initiator.state, &*target.state), ("CO", "CO"));
    assert_eq!((initiator.is_initiator, target.is_initiator), (true, false));
    assert_eq!(initiator.conversation, target.conversation);
    assert_ne!(initiator.group, target.group);
    let queue = fixture.look("qb_#").await;
    let [message] = &*queue else { panic!("{queue:?}") };
    assert_eq!((message.status, message.sequence, message.handle), (1, 0, target.handle));
    Outcome::Passed
}

pub(super) async fn empty_bodies_are_null(fixture: &Fixture) -> Outcome {
    let handle = fixture.begin().await;
    for body in ["", "(0x)", "(N'')"] {
        fixture.run(&format!("SEND ON CONVERSATION @P1 MESSAGE TYPE [DEFAULT] {body}"), &[handle]).await;
    }
    let bodies: Vec<_> = fixture.look("qb_#").await.into_iter().map(|message| message.body).collect();
    assert_eq!(bodies, [None, None, None]);
    Outcome::Passed
}

pub(super) async fn a_null_body_is_refused(fixture: &Fixture) -> Outcome {
    let handle = fixture.begin().await;
    let sql = "SEND ON CONVERSATION @P1 MESSAGE TYPE [DEFAULT] (CAST(NULL AS varbinary(max)))";
    assert_eq!(fixture.error(sql, &[handle]).await, 8433);
    Outcome::Passed
}

pub(super) async fn a_send_is_delivered_at_commit(fixture: &Fixture) -> Outcome {
    let sender = fixture.session().await;
    sender.begin_transaction().await;
    let handle = sender.begin().await;
    sender.send(handle, "m0").await;
    assert_eq!(fixture.receive("qb_#").await, []);
    sender.commit().await;
    assert_eq!(texts(&fixture.wait("qb_#").await), ["m0"]);
    Outcome::Passed
}

pub(super) async fn the_peer_of_an_end_is_told(fixture: &Fixture) -> Outcome {
    let handle = fixture.begin().await;
    fixture.send(handle, "m0").await;
    let target = fixture.wait("qb_#").await[0].handle;
    fixture.end(target).await;
    let told = fixture.wait("qa_#").await;
    assert_eq!(types(&told), [END_DIALOG]);
    assert_eq!((told[0].body.as_ref(), told[0].handle), (None, handle));
    assert_eq!(fixture.state(handle).await.as_deref(), Some("DI"));
    assert_eq!(fixture.state(target).await.as_deref(), Some("CD"));
    assert_eq!(fixture.error("SEND ON CONVERSATION @P1 ('m1')", &[handle]).await, 8429);
    Outcome::Passed
}

pub(super) async fn the_initiator_goes_and_the_target_stays_closed(fixture: &Fixture) -> Outcome {
    let handle = fixture.begin().await;
    fixture.send(handle, "m0").await;
    let target = fixture.wait("qb_#").await[0].handle;
    fixture.end(target).await;
    fixture.wait("qa_#").await;
    fixture.end(handle).await;
    fixture.until("the initiator is gone", || async { fixture.state(handle).await.is_none() }).await;
    assert_eq!(fixture.state(target).await.as_deref(), Some("CD"));
    Outcome::Passed
}

pub(super) async fn a_closed_target_goes_after_half_an_hour(fixture: &Fixture) -> Outcome {
    let Some(clock) = fixture.manual_clock() else { return Outcome::Skipped("manual clock unavailable") };
    let handle = fixture.begin().await;
    fixture.send(handle, "m0").await;
    let target = fixture.wait("qb_#").await[0].handle;
    fixture.end(target).await;
    fixture.wait("qa_#").await;
    fixture.end(handle).await;
    clock.advance(Duration::from_secs(29 * 60));
    assert_eq!(fixture.state(target).await.as_deref(), Some("CD"));
    clock.advance(Duration::from_secs(2 * 60));
    fixture.until_in_time("the target is gone", || async { fixture.state(target).await.is_none() }).await;
    Outcome::Passed
}

pub(super) async fn the_peer_of_an_error_is_told(fixture: &Fixture) -> Outcome {
    let handle = fixture.begin().await;
    fixture.send(handle, "m0").await;
    let target = fixture.wait("qb_#").await[0].handle;
    fixture.end_with_error(target).await;
    let told = fixture.wait("qa_#").await;
    assert_eq!((told.len(), told[0].error_code()), (1, 5));
    let text = told[0].text();
    assert!(text.contains("<Description>x&lt;y</Description>"), "{text}");
    assert!(text.contains(r#"xmlns="http://schemas.microsoft.com/SQL/ServiceBroker/Error""#), "{text}");
    assert_eq!(fixture.state(handle).await.as_deref(), Some("ER"));
    Outcome::Passed
}

pub(super) async fn error_codes_are_positive(fixture: &Fixture) -> Outcome {
    let handle = fixture.begin().await;
    fixture.send(handle, "m0").await;
    for code in [0, -1] {
        let sql = format!(
            "DECLARE @code int = {code}; END CONVERSATION @P1 WITH ERROR = @code DESCRIPTION = N'no such code'"
        );
        // Which number it is, is not written anywhere (U-38).
        fixture.error(&sql, &[handle]).await;
    }
    assert_eq!(fixture.state(handle).await.as_deref(), Some("CO"));
    Outcome::Passed
}

pub(super) async fn an_end_comes_after_what_was_sent(fixture: &Fixture) -> Outcome {
    let handle = fixture.begin().await;
    fixture.send(handle, "m0").await;
    fixture.send(handle, "m1").await;
    fixture.end(handle).await;
    fixture.until("all is there", || async { fixture.look("qb_#").await.len() == 3 }).await;
    let received = fixture.receive("qb_#").await;
    assert_eq!(types(&received), ["DEFAULT", "DEFAULT", END_DIALOG]);
    assert_eq!(texts(&received), ["m0", "m1", ""]);
    Outcome::Passed
}

pub(super) async fn timer_and_error_come_first(fixture: &Fixture) -> Outcome {
    let handle = fixture.begin().await;
    fixture.send(handle, "m0").await;
    let target = fixture.peer(handle).await;
    fixture.run("BEGIN CONVERSATION TIMER (@P1) TIMEOUT = 1", &[target]).await;
    let fired = || async { fixture.look("qb_#").await.len() == 2 };
    fixture.until_in_time("the timer fired", fired).await;
    fixture.end_with_error(handle).await;
    fixture.until("all is there", || async { fixture.look("qb_#").await.len() == 3 }).await;
    assert_eq!(types(&fixture.receive("qb_#").await), [DIALOG_TIMER, ERROR, "DEFAULT"]);
    Outcome::Passed
}

pub(super) async fn a_send_on_several_is_all_or_nothing(fixture: &Fixture) -> Outcome {
    let (good, ended) = (fixture.begin().await, fixture.begin().await);
    fixture.send(good, "m0").await;
    fixture.wait("qb_#").await;
    fixture.send(ended, "m0").await;
    let target = fixture.wait("qb_#").await[0].handle;
    fixture.end(target).await;
    fixture.wait("qa_#").await;
    let sql = "SEND ON CONVERSATION (@P1, @P2) MESSAGE TYPE [DEFAULT] ('m1')";
    assert_eq!(fixture.error(sql, &[good, ended]).await, 8429);
    assert_eq!(fixture.look("qb_#").await, []);
    let fine = fixture.begin().await;
    fixture.run(sql, &[good, fine]).await;
    fixture.until("both are there", || async { texts(&fixture.look("qb_#").await) == ["m1", "m1"] }).await;
    Outcome::Passed
}

pub(super) async fn a_cleanup_tells_nobody(fixture: &Fixture) -> Outcome {
    let handle = fixture.begin().await;
    fixture.send(handle, "m0").await;
    let target = fixture.peer(handle).await;
    let before = fixture.look("qb_#").await;
    fixture.run("END CONVERSATION @P1 WITH CLEANUP", &[handle]).await;
    assert_eq!(fixture.state(handle).await, None);
    assert_eq!(fixture.state(target).await.as_deref(), Some("CO"));
    assert_eq!(fixture.look("qb_#").await, before);
    Outcome::Passed
}
