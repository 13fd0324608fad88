//! Messages that a pool has noted as unsent: looking at them and sending them again.

use std::time::Duration;

use ssbroker::client::{ErrorKind, PoolOptions, UnsentMessage};

use super::stage::Stage;
use crate::support::Backend;

impl Stage {
    /// Has these messages pending on a dialog when the target's permission is found missing (-8494).
    async fn leave_unsent(&self, texts: &[&str]) -> Vec<UnsentMessage> {
        let pool = self.pool(PoolOptions::default().width(1));
        self.target_takes_messages(false).await;
        let messages: Vec<_> = texts.iter().map(|text| self.objects.message(text)).collect();
        pool.send(&self.objects.destination(), &messages).await.unwrap();
        self.fail_all(8494).await;
        self.repair_with_a_reader(&pool, Duration::from_millis(100)).await;
        self.target_takes_messages(true).await;
        self.objects.broker.unsent().list(0, 100).await.unwrap()
    }
}

#[tokio::test]
async fn an_unsent_message_says_where_it_was_to_go_and_why_it_did_not() {
    let stage = Stage::start().await;
    let (objects, unsent) = (&stage.objects, stage.objects.broker.unsent());
    let noted = stage.leave_unsent(&["one", "two!"]).await;
    assert_eq!(noted.len(), 2);
    let second = &noted[1];
    assert_eq!((&second.from, &second.to), (&objects.initiator, &objects.target));
    assert_eq!((&second.contract, &second.message_type), (&objects.contract, &objects.request));
    assert_eq!((second.code, second.sequence_number, second.body_length), (Some(-8494), Some(1), 4));
    assert!(second.reason.contains("-8494") && second.body.is_none() && second.conversation.is_some());
    assert_eq!(unsent.get(second.id).await.unwrap().unwrap().body.unwrap().as_bytes(), b"two!");
    assert_eq!(unsent.list(noted[0].id, 1).await.unwrap()[0].id, second.id);
    assert!(unsent.remove(second.id).await.unwrap() && !unsent.remove(second.id).await.unwrap());
    assert!(unsent.get(second.id).await.unwrap().is_none());
}

#[tokio::test]
async fn an_unsent_message_is_sent_again_and_removed_both_or_neither() {
    let stage = Stage::start().await;
    let noted = stage.leave_unsent(&["a", "b"]).await;
    let pool = stage.pool(PoolOptions::default().width(1));
    stage.run("UPDATE ssbroker.unsent SET message_type_name = N'//no/such/type'").await;
    let error = pool.send_unsent(noted[0].id).await.unwrap_err();
    assert!(error.to_string().contains(&format!("unsent message {}", noted[0].id)), "{error}");
    assert_eq!(stage.unsent().await.len(), 2, "what is refused stays noted");
    stage.run(&format!("UPDATE ssbroker.unsent SET message_type_name = N'{}'", stage.objects.request)).await;
    for message in &noted {
        assert!(pool.send_unsent(message.id).await.unwrap());
        assert!(!pool.send_unsent(message.id).await.unwrap(), "it is gone");
    }
    assert_eq!(stage.objects.waiting().await, ["a", "b"]);
    assert_eq!((pool.stats().begun, stage.unsent().await.len()), (1, 0));
}

#[tokio::test]
async fn a_dialog_that_is_over_is_replaced_before_an_unsent_message_goes() {
    let stage = Stage::start().await;
    let noted = stage.leave_unsent(&["a"]).await;
    let pool = stage.pool(PoolOptions::default().width(1));
    pool.send(&stage.objects.destination(), &[stage.objects.message("before")]).await.unwrap();
    stage.fail_all(8489).await;
    assert!(pool.send_unsent(noted[0].id).await.unwrap());
    assert_eq!(stage.objects.waiting().await, ["before", "a"]);
    assert_eq!((pool.stats().replaced, stage.unsent().await.len()), (1, 0));
}

#[tokio::test]
async fn unsent_messages_are_purged_by_age() {
    let stage = Stage::with_manual_clock().await;
    stage.leave_unsent(&["a", "b"]).await;
    let (unsent, day) = (stage.objects.broker.unsent(), Duration::from_secs(24 * 3600));
    assert_eq!(unsent.purge(day).await.unwrap(), 0);
    stage.backend.manual_clock().unwrap().advance(2 * day);
    assert_eq!(unsent.purge(day).await.unwrap(), 2);
    stage.run("DROP TABLE ssbroker.unsent").await;
    assert_eq!(unsent.purge(day).await.unwrap_err().kind(), ErrorKind::ObjectMissing);
}
