//! Pools in a table: several processes use the same dialogs, and one that dies leaves its claims to nobody (C017).

use std::time::Duration;

use ssbroker::client::{Broker, DialogPool, ErrorKind, MessageTypeName, PoolOptions, Repair};

use ssbroker_emulator::{Fault, Trigger};

use super::stage::{Stage, by_key};
use crate::support::Backend;

/// A pool of another process: its own connections, its own memory.
async fn process(stage: &Stage, options: PoolOptions) -> DialogPool {
    let broker = Broker::connect(&stage.backend.connection_string()).await.unwrap();
    broker.dialog_pool(options.shared("test")).unwrap()
}

fn options() -> PoolOptions {
    PoolOptions::default().width(3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_processes_use_the_same_dialogs_and_each_key_keeps_its_order() {
    let stage = Stage::start().await;
    let mut senders = Vec::new();
    for part in 0..3 {
        let pool = process(&stage, options()).await;
        for key in [part * 2, part * 2 + 1] {
            let (pool, destination) = (pool.clone(), stage.objects.destination().key(format!("k{key}")));
            let messages: Vec<_> =
                (0..15).map(|number| stage.objects.message(&format!("k{key}:{number}"))).collect();
            senders.push(tokio::spawn(async move {
                for message in messages {
                    let outcomes = pool.send(&destination, &[message]).await.unwrap();
                    outcomes.into_iter().for_each(|outcome| outcome.into_result().unwrap());
                }
            }));
        }
    }
    for sender in senders {
        sender.await.unwrap();
    }
    let keys = by_key(&stage.objects.waiting().await);
    assert_eq!(keys.len(), 6);
    assert!(keys.values().all(|numbers| *numbers == (0..15).collect::<Vec<_>>()), "{keys:?}");
    let dialogs = stage.objects.conversations().await;
    println!("shared pool: 90 calls of 3 processes on {dialogs} dialogs");
    assert!(dialogs <= 3, "{dialogs}");
}

#[tokio::test]
async fn a_process_that_starts_later_goes_on_with_the_dialogs_of_those_before() {
    let stage = Stage::start().await;
    for _ in 0..4 {
        let pool = process(&stage, options().width(1)).await;
        pool.send(&stage.objects.destination(), &stage.objects.messages(2)).await.unwrap();
    }
    assert_eq!((stage.objects.conversations().await, stage.objects.waiting().await.len()), (1, 8));
}

/// A process dies, at any point of a call: the place is free at once, and the table never names a dialog that is none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claims_of_a_process_that_dies_end_with_its_connection() {
    let stage = Stage::start().await;
    let destination = stage.objects.destination().key("k");
    let survivor = process(&stage, options()).await;
    for step in 0..30u64 {
        let victim = process(&stage, options()).await;
        let messages = stage.objects.messages(3);
        drop(
            tokio::time::timeout(Duration::from_micros(step * 300), victim.send(&destination, &messages))
                .await,
        );
        drop(victim);
        let sent = survivor.send(&destination, &messages);
        let outcomes = tokio::time::timeout(Duration::from_secs(10), sent).await.unwrap().unwrap();
        assert!(outcomes.iter().all(|outcome| outcome.is_sent()));
    }
    let orphans = "SELECT COUNT(*) FROM sys.conversation_endpoints AS e WHERE is_initiator = 1 AND NOT EXISTS \
                   (SELECT 1 FROM ssbroker.pool_dialogs AS p WHERE p.conversation_handle = e.conversation_handle)";
    assert_eq!(stage.number(orphans).await, 0, "every dialog is known to its place");
    assert_eq!(
        stage.number("SELECT COUNT(*) FROM sys.conversation_endpoints WHERE is_initiator = 1").await,
        1
    );
}

#[tokio::test]
async fn limits_count_over_all_processes_and_the_target_ends_first() {
    let stage = Stage::start().await;
    let end_of_stream = MessageTypeName::new(&*stage.objects.end_of_stream).unwrap();
    for _ in 0..4 {
        let pool =
            process(&stage, options().width(1).max_sends(10).end_of_stream(end_of_stream.clone())).await;
        pool.send(&stage.objects.destination(), &stage.objects.messages(5)).await.unwrap();
    }
    assert_eq!(stage.objects.conversations().await, 2, "20 messages, 10 on each dialog");
    let ends = format!(
        "SELECT COUNT(*) FROM [{}] WHERE message_type_name = N'{}'",
        stage.objects.target_queue, stage.objects.end_of_stream
    );
    assert_eq!(stage.number(&ends).await, 2);
}

#[tokio::test]
async fn a_dialog_that_failed_is_replaced_for_all_processes_in_order() {
    let stage = Stage::start().await;
    let (one, two) = (process(&stage, options().width(1)).await, process(&stage, options().width(1)).await);
    let destination = stage.objects.destination();
    stage.target_takes_messages(false).await;
    one.send(&destination, &[stage.objects.message("k:0")]).await.unwrap();
    two.send(&destination, &[stage.objects.message("k:1")]).await.unwrap();
    stage.fail_all(8489).await;
    two.send(&destination, &[stage.objects.message("k:2")]).await.unwrap();
    one.send(&destination, &[stage.objects.message("k:3")]).await.unwrap();
    stage.fail_all(8462).await;
    let repairs = stage.repair_with_a_reader(&one, Duration::from_millis(50)).await;
    assert_eq!(repairs, [Repair::Done { resent: 4, unsent: 0 }]);
    two.send(&destination, &[stage.objects.message("k:4")]).await.unwrap();
    stage.target_takes_messages(true).await;
    assert_eq!(stage.objects.waiting().await, ["k:0", "k:1", "k:2", "k:3", "k:4"]);
    assert_eq!(stage.objects.conversations().await, 1);
}

/// The server ends the whole transaction of a call that loses a deadlock: nothing of it may go on, and all of it is repeated.
#[tokio::test]
async fn a_repair_that_loses_a_deadlock_is_repeated_with_its_whole_transaction() {
    let stage = Stage::start().await;
    let pool = process(&stage, options().width(1)).await;
    let destination = stage.objects.destination();
    stage.target_takes_messages(false).await;
    pool.send(&destination, &[stage.objects.message("k:0")]).await.unwrap();
    stage.fail_all(8489).await;
    let faults = stage.backend.embedded.emulator.faults();
    let struck = faults.plan(Trigger::statement().containing("RECEIVE TOP (10)"), Fault::Deadlock);
    let outcomes = pool.send(&destination, &stage.objects.messages(2)).await.unwrap();
    outcomes.into_iter().for_each(|outcome| outcome.into_result().unwrap());
    assert_eq!((struck.struck(), pool.stats().repeated, pool.stats().resent), (1, 1, 1));
    stage.target_takes_messages(true).await;
    assert_eq!(stage.objects.waiting().await, ["k:0", "0", "1"]);
    assert_eq!(stage.objects.conversations().await, 1);
}

/// Rounds of sending while a reader repairs dialogs that fail again and again, on the same places: no deadlock, since the
/// reader, who holds the group, never waits for a place.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c017_pool_and_reader_never_deadlock_on_each_other() {
    let stage = Stage::start().await;
    let pool = process(&stage, options().width(2)).await;
    let failing = async {
        for round in 0..200 {
            let destination = stage.objects.destination().key(format!("k{}", round % 4));
            let outcomes = pool.send(&destination, &stage.objects.messages(1)).await.unwrap();
            outcomes.into_iter().for_each(|outcome| outcome.into_result().unwrap());
            if round % 5 == 0 {
                stage.fail_all(8489).await;
            }
        }
    };
    let reading = stage.repair_with_a_reader(&pool, Duration::from_millis(400));
    let (repairs, ()) = tokio::join!(reading, failing);
    let busy = repairs.iter().filter(|repair| **repair == Repair::Busy).count();
    println!(
        "C017: 200 rounds, {} repairs by the reader, {busy} left to the sender, {} deadlocks",
        repairs.len() - busy,
        pool.stats().repeated
    );
    assert_eq!(pool.stats().repeated, 0);
    assert_eq!(stage.objects.waiting().await.len(), 200);
}

#[tokio::test]
async fn without_the_table_the_error_names_the_script() {
    let stage = Stage::start().await;
    stage.run("DROP TABLE ssbroker.pool_dialogs").await;
    let pool = process(&stage, options()).await;
    let error = pool.send(&stage.objects.destination(), &stage.objects.messages(1)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ObjectMissing);
    assert!(error.to_string().contains("sql/06-shared-pool.sql"), "{error}");
}

#[tokio::test]
async fn a_process_with_a_smaller_width_is_refused_before_it_can_lose_the_order_of_a_key() {
    let stage = Stage::start().await;
    process(&stage, options())
        .await
        .send(&stage.objects.destination(), &stage.objects.messages(1))
        .await
        .unwrap();
    let narrow = process(&stage, options().width(2)).await;
    let error = narrow.send(&stage.objects.destination(), &stage.objects.messages(1)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.to_string().contains("width of 3, not 2"), "{error}");
    assert_eq!(stage.objects.waiting().await.len(), 1);
}
