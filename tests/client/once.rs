//! Sending under an identifier: repeated calls send nothing twice.

use ssbroker::client::{ErrorKind, OutgoingMessage, PoolOptions, SendOnce};
use std::time::Duration;
use uuid::Uuid;

use super::stage::Stage;

fn identified(stage: &Stage, numbers: std::ops::Range<u128>) -> Vec<(Uuid, OutgoingMessage)> {
    numbers.map(|n| (Uuid::from_u128(n + 1), stage.objects.message(&n.to_string()))).collect()
}

fn brief(outcomes: &[SendOnce]) -> String {
    let letter = |outcome: &SendOnce| match outcome {
        SendOnce::Sent => 'S',
        SendOnce::AlreadySent => 'A',
        _ => 'F',
    };
    outcomes.iter().map(letter).collect()
}

#[tokio::test]
async fn the_same_identifier_is_sent_once_however_often_the_call_is_repeated() {
    let stage = Stage::start().await;
    let pool = stage.pool(PoolOptions::default().width(1));
    let destination = stage.objects.destination();
    assert_eq!(brief(&pool.send_once(&destination, &identified(&stage, 0..3)).await.unwrap()), "SSS");
    assert_eq!(brief(&pool.send_once(&destination, &identified(&stage, 0..5)).await.unwrap()), "AAASS");
    let other = stage.pool(PoolOptions::default().width(2));
    assert_eq!(brief(&other.send_once(&destination, &identified(&stage, 4..6)).await.unwrap()), "AS");
    assert_eq!(stage.objects.waiting().await, ["0", "1", "2", "3", "4", "5"]);
}

#[tokio::test]
async fn hundreds_in_one_call_are_one_transaction() {
    let stage = Stage::start().await;
    let pool = stage.pool(PoolOptions::default().width(1));
    let outcomes = pool.send_once(&stage.objects.destination(), &identified(&stage, 0..250)).await.unwrap();
    assert_eq!(brief(&outcomes), "S".repeat(250));
    assert_eq!(stage.number("SELECT COUNT(*) FROM ssbroker.sent_messages").await, 250);
}

#[tokio::test]
async fn a_refused_message_leaves_its_identifier_free() {
    let stage = Stage::start().await;
    let pool = stage.pool(PoolOptions::default().width(1));
    let mut messages = identified(&stage, 0..2);
    messages[0].1.message_type = ssbroker::client::MessageTypeName::new(&*stage.objects.reply).unwrap();
    let outcomes = pool.send_once(&stage.objects.destination(), &messages).await.unwrap();
    assert_eq!(brief(&outcomes), "FS");
    let SendOnce::Failed(error) = &outcomes[0] else { panic!() };
    assert_eq!(error.kind(), ErrorKind::MessageRefused, "{error}");
    let again = pool.send_once(&stage.objects.destination(), &identified(&stage, 0..2)).await.unwrap();
    assert_eq!(brief(&again), "SA");
    assert_eq!(stage.objects.waiting().await, ["1", "0"]);
}

#[tokio::test]
async fn a_dialog_that_is_over_is_replaced_and_the_rows_of_the_first_attempt_are_undone() {
    let stage = Stage::start().await;
    let pool = stage.pool(PoolOptions::default().width(1));
    pool.send_once(&stage.objects.destination(), &identified(&stage, 0..1)).await.unwrap();
    stage.fail_all(8489).await;
    let outcomes = pool.send_once(&stage.objects.destination(), &identified(&stage, 0..3)).await.unwrap();
    assert_eq!(brief(&outcomes), "ASS");
    assert_eq!(stage.objects.waiting().await, ["0", "1", "2"]);
}

/// A caller whose future is dropped, or whose connection breaks, does not know; asking again with the same identifiers tells.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_cut_off_anywhere_and_repeated_send_each_message_once() {
    let stage = Stage::start().await;
    let pool = stage.pool(PoolOptions::default().width(2));
    let destination = stage.objects.destination();
    for number in 0..40u128 {
        let messages = identified(&stage, number * 3..number * 3 + 3);
        let limit = Duration::from_micros(u64::try_from(number).unwrap() * 150);
        let _ = tokio::time::timeout(limit, pool.send_once(&destination, &messages)).await;
        let outcomes = pool.send_once(&destination, &messages).await.unwrap();
        assert!(!brief(&outcomes).contains('F'), "{outcomes:?}");
    }
    let mut numbers: Vec<u32> =
        stage.objects.waiting().await.iter().map(|text| text.parse().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..120).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_senders_of_one_identifier_at_the_same_time_send_it_once() {
    let stage = Stage::start().await;
    let pool = stage.pool(PoolOptions::default().width(4));
    let senders: Vec<_> = (0..4)
        .map(|_| {
            let (pool, destination) = (pool.clone(), stage.objects.destination());
            let messages = identified(&stage, 0..20);
            tokio::spawn(async move { pool.send_once(&destination, &messages).await.unwrap() })
        })
        .collect();
    let mut sent = 0;
    for sender in senders {
        sent += brief(&sender.await.unwrap()).matches('S').count();
    }
    assert_eq!((sent, stage.objects.waiting().await.len()), (20, 20));
}

#[tokio::test]
async fn identifiers_are_forgotten_by_age_in_bounded_numbers() {
    let stage = Stage::with_manual_clock().await;
    let pool = stage.pool(PoolOptions::default().width(1));
    pool.send_once(&stage.objects.destination(), &identified(&stage, 0..30)).await.unwrap();
    let hour = Duration::from_secs(3_600);
    assert_eq!(stage.objects.broker.forget_sent(hour, 20).await.unwrap(), 0);
    crate::support::Backend::manual_clock(&*stage.backend).unwrap().advance(hour * 2);
    assert_eq!(stage.objects.broker.forget_sent(hour, 20).await.unwrap(), 20);
    assert_eq!(stage.objects.broker.forget_sent(hour, 20).await.unwrap(), 10);
}

#[tokio::test]
async fn without_the_table_the_error_names_it() {
    let stage = Stage::start().await;
    stage.run("DROP TABLE ssbroker.sent_messages").await;
    let pool = stage.pool(PoolOptions::default().width(1));
    let outcomes = pool.send_once(&stage.objects.destination(), &identified(&stage, 0..1)).await;
    let error = match outcomes {
        Err(error) => error,
        Ok(outcomes) => panic!("{outcomes:?}"),
    };
    assert_eq!(error.kind(), ErrorKind::ObjectMissing, "{error}");
    assert!(error.to_string().contains("07-sending.sql"), "{error}");
}
