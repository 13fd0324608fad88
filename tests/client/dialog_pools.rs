//! The dialog pool against a server: how few dialogs it begins, keys, recycling, dead dialogs.

use std::time::Duration;

use ssbroker::client::{DialogPool, MessageKind, MessageTypeName, PoolOptions};

use super::objects::Objects;

async fn objects() -> Objects {
    Objects::create(crate::support::start().await).await
}

fn recycling(objects: &Objects, sends: u64) -> DialogPool {
    let end_of_stream = MessageTypeName::new(&objects.end_of_stream).unwrap();
    let options = PoolOptions::default().width(1).max_sends(sends).end_of_stream(end_of_stream);
    objects.broker.dialog_pool(options).unwrap()
}

#[tokio::test]
async fn many_calls_share_as_many_dialogs_as_the_pool_is_wide() {
    let objects = objects().await;
    let pool = objects.broker.dialog_pool(PoolOptions::default().width(3)).unwrap();
    let destination = objects.destination();
    let calls = (0..60).map(|number| {
        let (pool, destination, messages) =
            (pool.clone(), destination.clone(), objects.messages(1 + number % 3));
        tokio::spawn(async move { pool.send(&destination, &messages).await.unwrap() })
    });
    for call in calls.collect::<Vec<_>>() {
        assert!(call.await.unwrap().iter().all(|outcome| outcome.is_sent()));
    }
    let stats = pool.stats();
    assert!(stats.begun <= 3 && stats.open == stats.begun, "{stats:?}");
    assert_eq!(stats.begun + stats.reused, 60);
    assert_eq!(objects.waiting().await.len(), 120);
    assert_eq!(objects.conversations().await as u64, stats.begun);
}

#[tokio::test]
async fn a_hundred_messages_in_a_transaction_cost_at_most_two_hundredths_of_a_round_trip_each() {
    let objects = objects().await;
    let pool = objects.broker.dialog_pool(PoolOptions::default().width(1)).unwrap();
    let before = objects.broker.requests_sent();
    for _ in 0..10 {
        pool.send(&objects.destination(), &objects.messages(100)).await.unwrap();
    }
    let requests = objects.broker.requests_sent() - before;
    println!("{requests} requests for 1000 messages on {} dialogs", pool.stats().begun);
    assert!(requests <= 20, "{requests}");
}

#[tokio::test]
async fn messages_of_one_key_stay_on_one_dialog_in_order() {
    let objects = objects().await;
    let pool = objects.broker.dialog_pool(PoolOptions::default().width(4)).unwrap();
    let destination = objects.destination().key("customer-7");
    for number in 0..20 {
        pool.send(&destination, &[objects.message(&number.to_string())]).await.unwrap();
    }
    assert_eq!(objects.conversations().await, 1);
    assert_eq!(objects.waiting().await, (0..20).map(|number| number.to_string()).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_used_up_dialog_is_retired_in_the_same_request_and_the_target_ends_first() {
    let objects = objects().await;
    let pool = recycling(&objects, 10);
    let before = objects.broker.requests_sent();
    for _ in 0..5 {
        pool.send(&objects.destination(), &objects.messages(5)).await.unwrap();
    }
    assert!(objects.broker.requests_sent() - before <= 5, "retiring costs no round trip");
    let stats = pool.stats();
    assert_eq!((stats.begun, stats.retired, stats.open), (3, 2, 1), "{stats:?}");
    pool.close().await.unwrap();
    assert_eq!(pool.retiring().len(), 3);
    assert_eq!(objects.end_target_sides().await.len(), 3);
    while !pool.retiring().is_empty() {
        for message in objects.take(&objects.initiator_queue).await {
            assert_eq!(message.kind, MessageKind::EndDialog);
            objects.broker.attach(message.conversation).end().await.unwrap();
            assert!(pool.on_end_dialog(message.conversation));
        }
    }
    tokio::time::timeout(Duration::from_secs(1), pool.drained()).await.unwrap();
    assert_eq!(pool.leaked(), 0);
}

#[tokio::test]
async fn a_dead_dialog_is_replaced_and_its_messages_are_sent_in_order_on_the_new_one() {
    let objects = objects().await;
    let pool = objects.broker.dialog_pool(PoolOptions::default().width(1)).unwrap();
    pool.send(&objects.destination(), &objects.messages(1)).await.unwrap();
    objects.end_target_sides().await;
    let outcomes = pool.send(&objects.destination(), &objects.messages(30)).await.unwrap();
    assert!(outcomes.iter().all(|outcome| outcome.is_sent()));
    assert_eq!(objects.waiting().await, (0..30).map(|number| number.to_string()).collect::<Vec<_>>());
    let stats = pool.stats();
    assert_eq!((stats.begun, stats.replaced, stats.open), (2, 1, 1), "{stats:?}");
}

#[tokio::test]
async fn a_dialog_the_peer_ended_is_not_used_again_once_the_pool_is_told() {
    let objects = objects().await;
    let pool = objects.broker.dialog_pool(PoolOptions::default().width(1)).unwrap();
    pool.send(&objects.destination(), &objects.messages(1)).await.unwrap();
    objects.end_target_sides().await;
    let ended = objects.take(&objects.initiator_queue).await;
    assert!(pool.on_end_dialog(ended[0].conversation));
    let before = objects.broker.requests_sent();
    pool.send(&objects.destination(), &objects.messages(1)).await.unwrap();
    assert_eq!(objects.broker.requests_sent() - before, 1);
    assert_eq!(pool.stats().ended_by_peer, 1);
}

/// What a peak has begun need not stay.
#[tokio::test]
async fn dialogs_that_nobody_used_for_a_while_are_retired_and_those_in_use_are_not() {
    let objects = objects().await;
    let end_of_stream = MessageTypeName::new(&objects.end_of_stream).unwrap();
    let options = PoolOptions::default().width(4).end_of_stream(end_of_stream);
    let pool = objects.broker.dialog_pool(options).unwrap();
    for _ in 0..4 {
        // Without a key each call takes the next dialog.
        pool.send(&objects.destination(), &objects.messages(1)).await.unwrap();
    }
    pool.retire_idle(Duration::from_secs(3600)).await.unwrap();
    assert_eq!((pool.stats().open, pool.stats().retired), (4, 0));
    let on_loan = pool.outbox(&objects.destination()).await.unwrap();
    pool.retire_idle(Duration::ZERO).await.unwrap();
    assert_eq!((pool.stats().open, pool.retiring().len()), (1, 3));
    drop(on_loan);
    pool.send(&objects.destination(), &objects.messages(1)).await.unwrap();
}
