//! Cases about calls that are given up: dropped half-way, in a black hole, in the instant they begin, after a first answer.
//!
//! The library sends no cancel packet. Who gives a receive up leaves it waiting for the next caller; any other request that
//! is given up takes its connection with it, which ends it at the server too.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ssbroker::client::{Body, BrokerOptions, ErrorKind, SqlValue, StopReason, handler_fn};
use ssbroker_emulator::Emulator;
use tokio::sync::{Notify, oneshot};
use tracing_subscriber::layer::{Context, SubscriberExt};

use super::connections::{broker, number, plain, sessions, until_sessions, waiting_receivers};
use super::objects::Objects;
use super::proxy::Proxy;
use super::soaks::random::Random;
use crate::support::{Backend, Embedded};

/// Case C122. "A message consumed by a cancelled call must come again": it is held for the next call, which is stricter.
#[tokio::test]
async fn c122_dropped_receives_lose_no_message_and_leave_no_answer_to_the_next_call() {
    let objects = Objects::create(crate::support::start().await).await;
    let mut receiver = waiting_receivers(&objects, 1).await.remove(0);
    let dialog = objects.begin_with(&[]).await;
    let mut random = Random::new(0xC122);
    let (mut sent, mut dropped, mut seen) = (0, 0, Vec::new());
    for round in 0..1_000 {
        let patience = Duration::from_micros(random.below(2_000));
        let sends = async {
            if random.below(3) == 0 {
                dialog.send(&*objects.request, Body::utf8(sent.to_string())).await.unwrap();
                sent += 1;
            }
        };
        let (batch, ()) = tokio::join!(receiver.next_within(patience), sends);
        match batch.unwrap() {
            Some(batch) => {
                seen.extend(batch.messages().iter().map(|it| it.body.to_utf8().unwrap().to_owned()));
                batch.commit().await.unwrap();
            }
            None => dropped += 1,
        }
        assert_eq!(number(&objects.broker, round).await, round);
    }
    while seen.len() < sent {
        let batch = receiver.next().await.unwrap();
        seen.extend(batch.messages().iter().map(|it| it.body.to_utf8().unwrap().to_owned()));
        batch.commit().await.unwrap();
    }
    println!("C122: {dropped} of 1000 receives were dropped, {sent} messages sent and received once");
    assert!(seen.iter().map(|text| text.parse::<usize>().unwrap()).eq(0..sent), "{seen:?}");
    assert!(dropped > 100 && sent > 100);
    let before = sessions(&objects.broker).await;
    drop(receiver);
    until_sessions(&objects.broker, before - 1).await;
}

#[tokio::test]
async fn c122_a_thousand_dropped_requests_never_leave_their_answer_to_the_next_one() {
    let emulator = Emulator::start().await.unwrap();
    let broker = broker(&emulator, |options| options).await;
    let mut random = Random::new(0xC122);
    let mut dropped = 0;
    for round in 0..1_000 {
        let patience = Duration::from_micros(random.below(1_500));
        let slow = broker.execute("WAITFOR DELAY '00:00:00.001'; SELECT -1 AS number", &[]);
        dropped += i32::from(tokio::time::timeout(patience, slow).await.is_err());
        assert_eq!(number(&broker, round).await, round);
    }
    println!("C122: {dropped} of 1000 requests were dropped half-way");
    assert!(dropped > 100);
    until_sessions(&broker, 1).await;
}

/// A server behind a network that can swallow everything, and objects that are reached through it.
async fn behind_a_proxy() -> (Proxy, Objects) {
    let embedded = Arc::new(Embedded::start().await);
    let address = embedded.emulator.address();
    let proxy = Proxy::to(address).await;
    let there = embedded.connection_string().replace(&address.port().to_string(), &proxy.port().to_string());
    let change = |_direct: BrokerOptions| {
        plain(&there).with_command_timeout(Duration::from_secs(2)).with_connect_timeout(DEADLINE)
    };
    let objects = Objects::create_with(embedded as Arc<dyn Backend>, change).await;
    objects.create_tables().await;
    (proxy, objects)
}

/// What the case allows for a call that is given up.
const DEADLINE: Duration = Duration::from_secs(5);

#[tokio::test]
async fn c123_receivers_and_a_request_are_given_up_in_a_black_hole_and_their_connections_discarded() {
    let (proxy, objects) = behind_a_proxy().await;
    let waiting = waiting_receivers(&objects, 50).await;
    proxy.black_hole();
    let begun = Instant::now();
    drop(waiting);
    let error = objects.broker.execute("SELECT 1 AS one", &[]).await.unwrap_err();
    println!("C123: 50 receivers and a request given up after {:?}: {error}", begun.elapsed());
    assert!(begun.elapsed() < DEADLINE);
    assert!(error.is_connection_lost() && error.kind() == ErrorKind::CommitUnknown, "{error:?}");
    proxy.restore();
    assert_eq!(number(&objects.broker, 7).await, 7, "on a new connection");
}

/// Case C123, the variant: the peer takes the connection and reads nothing, so the request cannot even be written.
#[tokio::test]
async fn c123_a_request_that_cannot_be_written_ends_at_its_time_limit_or_when_it_is_dropped() {
    let (proxy, objects) = behind_a_proxy().await;
    let large = [SqlValue::from(vec![7u8; 32 << 20])];
    let write = || objects.broker.execute("SELECT DATALENGTH(@P1) AS n", &large);
    for is_dropped in [false, true] {
        assert_eq!(number(&objects.broker, 7).await, 7);
        proxy.black_hole();
        let begun = Instant::now();
        let patience = if is_dropped { Duration::from_millis(20) } else { DEADLINE };
        let outcome = tokio::time::timeout(patience, write()).await;
        assert!(begun.elapsed() < DEADLINE, "{:?}", begun.elapsed());
        match outcome {
            Ok(answer) => assert_eq!(answer.unwrap_err().kind(), ErrorKind::CommitUnknown),
            Err(_elapsed) => assert!(is_dropped),
        }
        proxy.restore();
    }
    assert_eq!(number(&objects.broker, 8).await, 8);
}

#[tokio::test]
async fn c123_a_worker_of_fifty_readers_shuts_down_in_a_black_hole() {
    let (proxy, objects) = behind_a_proxy().await;
    let before = objects.broker.requests_sent();
    let handler = handler_fn(|_delivery| Box::pin(async { Ok(()) }));
    let worker = objects.broker.worker(objects.queue(), handler).readers(50);
    let handle = worker.handle();
    let running = tokio::spawn(worker.run_forever());
    // Settings, identity of the broker, a first look, and the wait.
    while objects.broker.requests_sent() < before + 50 * 4 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    proxy.black_hole();
    let begun = Instant::now();
    handle.stop();
    assert_eq!(running.await.unwrap().unwrap(), StopReason::Shutdown);
    println!("C123: 50 readers shut down after {:?}", begun.elapsed());
    assert!(begun.elapsed() < Duration::from_secs(6));
}

/// Case C123: also a commit that is on its way holds up a shutdown no longer than its budget and the time for giving back.
#[tokio::test]
async fn c123_a_commit_in_a_black_hole_does_not_hold_up_a_shutdown() {
    let (proxy, objects) = behind_a_proxy().await;
    let (begun, has_begun) = oneshot::channel();
    let (begun, go_on) = (std::sync::Mutex::new(Some(begun)), Arc::new(Notify::new()));
    let may_end = Arc::clone(&go_on);
    let handler = handler_fn(move |_delivery| {
        let (begun, may_end) = (begun.lock().unwrap().take(), Arc::clone(&may_end));
        Box::pin(async move {
            begun.into_iter().for_each(|begun| begun.send(()).unwrap());
            may_end.notified().await;
            Ok(())
        })
    });
    let worker = objects.broker.worker(objects.queue(), handler).shutdown_budget(Duration::from_millis(100));
    let handle = worker.handle();
    let running = tokio::spawn(worker.run_forever());
    let _dialog = objects.begin_with(&["a"]).await;
    has_begun.await.unwrap();
    proxy.black_hole();
    go_on.notify_one();
    handle.stop();
    let stopped = tokio::time::timeout(DEADLINE * 3, running).await.expect("the request's own limit is 60 s");
    assert_eq!(stopped.unwrap().unwrap(), StopReason::Shutdown);
}

#[tokio::test]
async fn c124_five_thousand_receives_given_up_at_once_settle_and_lose_nothing() {
    let objects = Objects::create(crate::support::start().await).await;
    let mut receiver = waiting_receivers(&objects, 1).await.remove(0);
    let mut random = Random::new(0xC124);
    for _ in 0..5_000 {
        let patience = Duration::from_micros([0, 0, 0, 100, 500, 1_000][random.below(6) as usize]);
        let settled = tokio::time::timeout(DEADLINE, receiver.next_within(patience)).await;
        assert!(settled.expect("settles").unwrap().is_none());
    }
    let _dialog = objects.begin_with(&["a"]).await;
    let batch = tokio::time::timeout(DEADLINE, receiver.next()).await.unwrap().unwrap();
    assert_eq!(batch.messages().len(), 1);
}

/// Case C124 for requests, which end by the end of their connection: none of them lives on at the server for its 30 s.
#[tokio::test]
async fn c124_requests_given_up_at_once_are_gone_from_the_server_too() {
    let objects = Objects::create(crate::support::start().await).await;
    let wait = format!("WAITFOR (RECEIVE * FROM [{}]), TIMEOUT 30000", objects.target_queue);
    let mut random = Random::new(0xC124);
    for round in 0..500 {
        let patience = Duration::from_micros([0, 100, 500, 1_000][random.below(4) as usize]);
        let given_up = tokio::time::timeout(patience, objects.broker.execute(&wait, &[])).await;
        assert!(given_up.is_err(), "nothing is sent");
        let next = tokio::time::timeout(DEADLINE, number(&objects.broker, round)).await;
        assert_eq!(next.expect("settles"), round);
    }
    until_sessions(&objects.broker, 1).await;
    let _dialog = objects.begin_with(&["a"]).await;
    assert_eq!(objects.waiting().await, ["a"], "no wait that was given up takes it");
}

/// Tells when the server's information reaches the log.
#[derive(Clone, Default)]
struct Heard(Arc<Notify>);

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Heard {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        struct Text(String);
        impl tracing::field::Visit for Text {
            fn record_debug(&mut self, _: &tracing::field::Field, value: &dyn std::fmt::Debug) {
                self.0 += &format!("{value:?}");
            }
        }
        let mut text = Text(String::new());
        event.record(&mut text);
        if event.metadata().target().starts_with("tiberius") && text.0.contains("c125 speaks") {
            self.0.notify_one();
        }
    }
}

#[tokio::test]
async fn c125_a_call_that_has_begun_to_answer_can_be_given_up_and_what_it_said_is_logged() {
    let heard = Heard::default();
    // With just one subscriber, the first thread that meets an event decides for all whether it is wanted.
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(heard.clone()));
    let emulator = Emulator::start().await.unwrap();
    let broker = broker(&emulator, |options| options).await;
    for first in ["", "SELECT name FROM sys.columns;"] {
        let slow = format!("{first} RAISERROR('c125 speaks', 10, 1) WITH NOWAIT; WAITFOR DELAY '00:00:30'");
        tokio::select! {
            answer = broker.batch(&slow) => panic!("{answer:?}"),
            () = heard.0.notified() => {}
        }
        let begun = Instant::now();
        assert_eq!(number(&broker, 1).await, 1);
        until_sessions(&broker, 1).await;
        assert!(begun.elapsed() < DEADLINE, "{:?}", begun.elapsed());
    }
}
