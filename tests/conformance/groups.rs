//! Conversation groups: what one RECEIVE takes, and what it locks. V-06 to V-08, V-24, V-43.

use super::fixture::Fixture;
use super::message::texts;
use super::sql::Sql;
use super::vector::Outcome;

pub(super) async fn a_receive_locks_the_group(fixture: &Fixture) -> Outcome {
    let handle = fixture.begin().await;
    fixture.send(handle, "m0").await;
    fixture.send(handle, "m1").await;
    let first = fixture.session().await;
    first.begin_transaction().await;
    assert_eq!(texts(&first.receive_one("qb_#").await), ["m0"]);
    assert_eq!(fixture.receive("qb_#").await, []);
    first.commit().await;
    assert_eq!(texts(&fixture.receive("qb_#").await), ["m1"]);
    Outcome::Passed
}

pub(super) async fn a_receive_takes_one_group(fixture: &Fixture) -> Outcome {
    for text in ["one", "two"] {
        let handle = fixture.begin().await;
        fixture.send(handle, text).await;
    }
    let mut seen = Vec::new();
    for _ in 0..2 {
        let received = fixture.receive("qb_#").await;
        assert_eq!(received.len(), 1, "{received:?}");
        seen.extend(texts(&received));
    }
    seen.sort();
    assert_eq!(seen, ["one", "two"]);
    Outcome::Passed
}

/// The receiving side begins both dialogs, so that they are related at that side.
pub(super) async fn a_receive_takes_the_whole_group(fixture: &Fixture) -> Outcome {
    let own = fixture.begin_with("FROM SERVICE [b_#] TO SERVICE N'a_#' WITH ENCRYPTION = OFF").await;
    let related =
        format!("FROM SERVICE [b_#] TO SERVICE N'a_#' WITH RELATED_CONVERSATION = '{own}', ENCRYPTION = OFF");
    let other = fixture.begin_with(&related).await;
    let (one, two) = (fixture.endpoint(own).await.unwrap(), fixture.endpoint(other).await.unwrap());
    assert_eq!(one.group, two.group);
    let mut peers = Vec::new();
    for handle in [own, other] {
        fixture.send(handle, "request").await;
        peers.push(fixture.wait("qa_#").await[0].handle);
    }
    for (peer, text) in [(0, "one/1"), (1, "two/1"), (0, "one/2"), (1, "two/2")] {
        fixture.send(peers[peer], text).await;
    }
    let received = fixture.receive("qb_#").await;
    assert_eq!(texts(&received), ["one/1", "one/2", "two/1", "two/2"]);
    assert!(received.iter().all(|message| message.group == one.group));
    Outcome::Passed
}

pub(super) async fn a_savepoint_gives_back_messages_but_not_the_lock(fixture: &Fixture) -> Outcome {
    let handle = fixture.begin().await;
    fixture.send(handle, "m0").await;
    let first = fixture.session().await;
    first.begin_transaction().await;
    for _ in 0..5 {
        first.run("SAVE TRANSACTION s", &[]).await;
        assert_eq!(texts(&first.receive("qb_#").await), ["m0"]);
        first.run("ROLLBACK TRANSACTION s", &[]).await;
    }
    fixture.send(handle, "m1").await;
    assert_eq!(fixture.receive("qb_#").await, []);
    first.commit().await;
    assert!(fixture.is_on("qb_#").await);
    assert_eq!(texts(&fixture.receive("qb_#").await), ["m0", "m1"]);
    Outcome::Passed
}

pub(super) async fn a_receive_prefers_the_higher_priority(fixture: &Fixture) -> Outcome {
    fixture
        .run(
            "CREATE CONTRACT [low_#] ([DEFAULT] SENT BY ANY);
             CREATE CONTRACT [high_#] ([DEFAULT] SENT BY ANY);
             ALTER SERVICE [b_#] (ADD CONTRACT [low_#], ADD CONTRACT [high_#]);
             CREATE BROKER PRIORITY [plow_#] FOR CONVERSATION
                 SET (CONTRACT_NAME = [low_#], LOCAL_SERVICE_NAME = [b_#], PRIORITY_LEVEL = 1);
             CREATE BROKER PRIORITY [phigh_#] FOR CONVERSATION
                 SET (CONTRACT_NAME = [high_#], LOCAL_SERVICE_NAME = [b_#], PRIORITY_LEVEL = 10);",
            &[],
        )
        .await;
    for level in ["low", "high"] {
        let clauses =
            format!("FROM SERVICE [a_#] TO SERVICE N'b_#' ON CONTRACT [{level}_#] WITH ENCRYPTION = OFF");
        let handle = fixture.begin_with(&clauses).await;
        fixture.send(handle, level).await;
    }
    for expected in [("high", 10), ("low", 1)] {
        let received = fixture.receive("qb_#").await;
        assert_eq!(received.len(), 1, "{received:?}");
        assert_eq!((&*received[0].text(), received[0].priority), expected);
    }
    Outcome::Passed
}
