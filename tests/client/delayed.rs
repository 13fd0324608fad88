//! Messages sent later: at their time by the server's clock, once, in order, across restarts.

use std::time::{Duration, SystemTime};

use ssbroker::client::{Destination, ErrorKind, MessageTypeName, PoolOptions};

use super::stage::Stage;
use crate::support::Backend;

const KEPT: &str = "SELECT COUNT(*) FROM ssbroker.delayed_messages";

#[tokio::test]
async fn a_delayed_message_is_sent_when_its_time_has_come_and_not_before() {
    let stage = Stage::with_manual_clock().await;
    let pool = stage.pool(PoolOptions::default().width(1));
    let destination = stage.objects.destination();
    pool.send_after(&destination, Duration::from_secs(60), &[stage.objects.message("late")]).await.unwrap();
    pool.send_after(&destination, Duration::from_millis(1_500), &[stage.objects.message("soon")])
        .await
        .unwrap();
    let first = pool.send_due().await.unwrap();
    assert_eq!((first.sent, first.next), (0, Some(Duration::from_millis(1_500))));
    let clock = stage.backend.manual_clock().unwrap();
    clock.advance(Duration::from_millis(1_500));
    assert_eq!(pool.send_due().await.unwrap().sent, 1);
    assert_eq!(stage.objects.waiting().await, ["soon"]);
    clock.advance(Duration::from_secs(60));
    assert_eq!(pool.send_due().await.unwrap().sent, 1);
    assert_eq!(pool.send_due().await.unwrap().next, None);
    assert_eq!((stage.objects.waiting().await.len(), stage.number(KEPT).await), (2, 0));
}

#[tokio::test]
async fn a_moment_is_compared_with_the_servers_clock_and_one_in_the_past_is_now() {
    let stage = Stage::start().await;
    let pool = stage.pool(PoolOptions::default().width(1));
    let past = SystemTime::now() - Duration::from_secs(5);
    pool.send_at(&stage.objects.destination(), past, &stage.objects.messages(2)).await.unwrap();
    let future = SystemTime::now() + Duration::from_secs(3_600);
    pool.send_at(&stage.objects.destination(), future, &stage.objects.messages(1)).await.unwrap();
    let done = pool.send_due().await.unwrap();
    assert_eq!((done.sent, done.unsent), (2, 0));
    assert_eq!((pool.send_due().await.unwrap().sent, stage.number(KEPT).await), (0, 1));
}

#[tokio::test]
async fn messages_of_several_keys_and_destinations_keep_the_order_of_their_times() {
    let stage = Stage::with_manual_clock().await;
    let pool = stage.pool(PoolOptions::default().width(3));
    for number in 0..12u64 {
        let destination = stage.objects.destination().key(format!("k{}", number % 3));
        let delay = Duration::from_secs(100 - number);
        let text = format!("k{}:{}", number % 3, 100 - number);
        pool.send_after(&destination, delay, &[stage.objects.message(&text)]).await.unwrap();
    }
    stage.backend.manual_clock().unwrap().advance(Duration::from_secs(200));
    let mut sent = 0;
    while sent < 12 {
        sent += pool.send_due().await.unwrap().sent;
    }
    let keys = super::stage::by_key(&stage.objects.waiting().await);
    assert!(
        keys.len() == 3 && keys.values().all(|numbers| numbers.len() == 4 && numbers.is_sorted()),
        "{keys:?}"
    );
}

/// The pumps die at any point, again and again, and others take over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pumps_that_are_cut_off_anywhere_send_each_message_once() {
    let stage = Stage::start().await;
    let keeper = stage.pool(PoolOptions::default().width(1));
    keeper
        .send_after(&stage.objects.destination(), Duration::ZERO, &stage.objects.messages(300))
        .await
        .unwrap();
    let mut micros = 0;
    while stage.number(KEPT).await > 0 {
        let pool = stage.pool(PoolOptions::default().width(1));
        let pumps = async { tokio::join!(pool.send_due(), pool.send_due()) };
        drop(tokio::time::timeout(Duration::from_micros(micros), pumps).await);
        micros += 500;
    }
    let mut numbers: Vec<u32> =
        stage.objects.waiting().await.iter().map(|text| text.parse().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..300).collect::<Vec<_>>());
}

#[tokio::test]
async fn the_pump_sends_until_it_is_stopped() {
    let stage = Stage::start().await;
    let pool = stage.pool(PoolOptions::default().width(1));
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let pump = {
        let pool = pool.clone();
        tokio::spawn(async move { pool.run_delayed(async { drop(stopped.await) }).await })
    };
    pool.send_after(&stage.objects.destination(), Duration::from_millis(30), &stage.objects.messages(1))
        .await
        .unwrap();
    let received = stage.objects.take(&stage.objects.target_queue).await;
    assert_eq!(received.len(), 1);
    drop(stop);
    tokio::time::timeout(Duration::from_secs(5), pump).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn a_refused_delayed_message_goes_to_the_unsent_table_and_does_not_hold_up_the_others() {
    let stage = Stage::start().await;
    let pool = stage.pool(PoolOptions::default().width(1));
    let mut messages = stage.objects.messages(3);
    messages[1].message_type = MessageTypeName::new(&*stage.objects.reply).unwrap();
    pool.send_after(&stage.objects.destination(), Duration::ZERO, &messages).await.unwrap();
    let done = pool.send_due().await.unwrap();
    assert_eq!((done.sent, done.unsent), (2, 1));
    assert_eq!(stage.unsent().await, [(Some(8432), "1".to_owned())]);
    assert_eq!(stage.objects.waiting().await, ["0", "2"]);
}

#[tokio::test]
async fn a_destination_that_cannot_be_sent_to_does_not_hold_up_the_others() {
    let stage = Stage::start().await;
    let pool = stage.pool(PoolOptions::default().width(1));
    let good = stage.objects.destination();
    let no_contract = good.clone().contract("//test/none").unwrap();
    let no_service = Destination::new("//test/nobody", &*stage.objects.target).unwrap();
    for (destination, text) in [(&no_contract, "a"), (&no_service, "b"), (&good, "c"), (&no_contract, "d")] {
        pool.send_after(destination, Duration::ZERO, &[stage.objects.message(text)]).await.unwrap();
    }
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let runner = pool.clone();
    let pump = tokio::spawn(async move {
        runner
            .run_delayed(async {
                let _ = stopped.await;
            })
            .await
    });
    let emptied = async {
        while stage.number(KEPT).await > 0 {
            assert!(!pump.is_finished());
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), emptied).await.unwrap();
    stop.send(()).unwrap();
    pump.await.unwrap().unwrap();
    assert_eq!(stage.objects.waiting().await, ["c"]);
    let mut unsent = stage.unsent().await;
    unsent.sort_by(|left, right| left.1.cmp(&right.1));
    let texts: Vec<&str> = unsent.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts, ["a", "b", "d"]);
    assert!(unsent.iter().all(|(code, _)| code.is_some()), "{unsent:?}");
}

#[tokio::test]
async fn a_dialog_that_is_over_is_replaced_by_the_pump() {
    let stage = Stage::start().await;
    let pool = stage.pool(PoolOptions::default().width(1));
    pool.send(&stage.objects.destination(), &stage.objects.messages(1)).await.unwrap();
    pool.send_after(&stage.objects.destination(), Duration::ZERO, &[stage.objects.message("1")])
        .await
        .unwrap();
    stage.fail_all(8489).await;
    assert_eq!(pool.send_due().await.unwrap().sent, 1);
    assert_eq!(stage.objects.waiting().await, ["0", "1"]);
}

#[tokio::test]
async fn without_the_table_the_error_names_it() {
    let stage = Stage::start().await;
    stage.run("DROP TABLE ssbroker.delayed_messages").await;
    let pool = stage.pool(PoolOptions::default().width(1));
    let sent =
        pool.send_after(&stage.objects.destination(), Duration::ZERO, &stage.objects.messages(1)).await;
    let error = sent.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ObjectMissing);
    assert!(error.to_string().contains("ssbroker.delayed_messages"), "{error}");
    assert!(pool.run_delayed(std::future::pending()).await.is_err());
}
