//! Connections under stress: settings that must not leak, waiting readers, dropped calls, black holes, large bodies.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use ssbroker::client::{Body, Broker, BrokerOptions, MessageTypeName, QueueName, Receiver, SqlValue};
use ssbroker_emulator::Emulator;

use super::objects::Objects;
use super::proxy::Proxy;
use crate::support::{Backend, Embedded};

/// A small generator, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

async fn broker(emulator: &Emulator, options: impl FnOnce(BrokerOptions) -> BrokerOptions) -> Broker {
    let text = emulator.connection_string("msdb").replace("Encrypt=false", "Encrypt=danger_plaintext");
    Broker::with_options(options(text.parse().unwrap())).await.unwrap()
}

async fn number(broker: &Broker, number: i32) -> i32 {
    let results = broker.execute("SELECT @P1 AS number", &[SqlValue::I32(number)]).await.unwrap();
    results.first_row().unwrap().get("number").unwrap()
}

async fn receivers(objects: &Objects, count: usize) -> Vec<Receiver> {
    let mut receivers = Vec::new();
    for _ in 0..count {
        let queue = QueueName::in_schema("dbo", &*objects.target_queue).unwrap();
        receivers.push(objects.broker.receive(queue).open().await.unwrap());
    }
    receivers
}

/// Asks each receiver for messages, so that it waits at the server.
async fn set_waiting(receivers: &mut [Receiver]) {
    for receiver in receivers {
        assert!(receiver.next_within(Duration::from_millis(5)).await.unwrap().is_none());
    }
}

#[tokio::test]
async fn case_c120_settings_of_one_borrower_do_not_reach_the_next() {
    let emulator = Emulator::start().await.unwrap();
    let broker = broker(&emulator, |options| options.with_max_pool_size(1)).await;
    let settings = "SELECT (SELECT transaction_isolation_level FROM sys.dm_exec_sessions WHERE session_id = @@SPID) AS \
                    isolation, @@LOCK_TIMEOUT AS lock_timeout, @@OPTIONS & 16896 AS switches, DB_NAME() AS name";
    let read =
        || async { format!("{:?}", broker.execute(settings, &[]).await.unwrap().into_rows()[0].values()) };
    let before = read().await;
    let careless = "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; SET LOCK_TIMEOUT 5; SET XACT_ABORT ON; SET NOCOUNT ON;";
    broker.execute(careless, &[]).await.unwrap();
    assert_eq!(read().await, before, "after a statement");
    broker.batch(&format!("{careless} USE master;")).await.unwrap();
    assert_eq!(read().await, before, "after a batch");
}

#[tokio::test]
async fn case_c121_waiting_readers_take_nothing_from_the_pool() {
    let objects =
        Objects::create_with(crate::support::start().await, |options| options.with_max_pool_size(1)).await;
    let mut waiting = receivers(&objects, 4).await;
    set_waiting(&mut waiting).await;
    let begun = Instant::now();
    assert_eq!(number(&objects.broker, 7).await, 7);
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn case_c122_a_thousand_dropped_calls_never_leave_their_answer_to_the_next_one() {
    let emulator = Emulator::start().await.unwrap();
    let broker = broker(&emulator, |options| options).await;
    let mut random = Random(0xC122);
    let mut dropped = 0;
    for round in 0..1_000 {
        let patience = Duration::from_micros(random.below(1_500));
        let slow = broker.execute("WAITFOR DELAY '00:00:00.001'; SELECT -1 AS number", &[]);
        dropped += i32::from(tokio::time::timeout(patience, slow).await.is_err());
        assert_eq!(number(&broker, round).await, round);
    }
    println!("C122: {dropped} of 1000 calls were dropped half-way");
    assert!(dropped > 100);
}

#[tokio::test]
async fn case_c123_giving_up_receivers_in_a_black_hole_takes_no_time() {
    let emulator = Arc::new(Embedded::start().await);
    let proxy = Proxy::to(emulator.emulator.address()).await;
    let through = |options: BrokerOptions| {
        let text = emulator.connection_string().replace("Encrypt=false", "Encrypt=danger_plaintext");
        drop(options);
        let text = text.replace(&emulator.emulator.address().port().to_string(), &proxy.port().to_string());
        text.parse::<BrokerOptions>()
            .unwrap()
            .with_command_timeout(Duration::from_millis(200))
            .with_connect_timeout(Duration::from_secs(1))
    };
    let objects = Objects::create_with(Arc::clone(&emulator) as Arc<dyn Backend>, through).await;
    let mut waiting = receivers(&objects, 50).await;
    set_waiting(&mut waiting).await;
    proxy.black_hole();
    let begun = Instant::now();
    drop(waiting);
    let error = objects.broker.execute("SELECT 1 AS one", &[]).await.unwrap_err();
    println!("C123: 50 receivers and a request given up after {:?}: {error}", begun.elapsed());
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert!(error.is_connection_lost(), "{error:?}");
}

#[tokio::test]
async fn case_c124_five_thousand_calls_given_up_at_once_lose_nothing() {
    let objects = Objects::create(crate::support::start().await).await;
    let mut receiver = receivers(&objects, 1).await.remove(0);
    let mut random = Random(0xC124);
    for _ in 0..5_000 {
        let patience = Duration::from_micros([0, 0, 0, 100][random.below(4) as usize]);
        assert!(receiver.next_within(patience).await.unwrap().is_none());
    }
    let builder = objects.broker.dialog(&*objects.initiator, &*objects.target).contract(&*objects.contract);
    builder.begin_with(&objects.messages(1)).await.unwrap();
    let batch = tokio::time::timeout(Duration::from_secs(5), receiver.next()).await.unwrap().unwrap();
    assert_eq!(batch.messages().len(), 1);
}

#[tokio::test]
async fn case_c125_a_call_that_has_begun_to_answer_can_be_given_up() {
    let emulator = Emulator::start().await.unwrap();
    let broker = broker(&emulator, |options| options).await;
    let slow = "RAISERROR('x', 10, 1) WITH NOWAIT; SELECT 1 AS first; WAITFOR DELAY '00:00:30'";
    let begun = Instant::now();
    assert!(tokio::time::timeout(Duration::from_millis(50), broker.batch(slow)).await.is_err());
    assert_eq!(number(&broker, 1).await, 1);
    let waiting = "SELECT COUNT(*) AS number FROM sys.dm_exec_sessions WHERE is_user_process = 1";
    loop {
        let results = broker.execute(waiting, &[]).await.unwrap();
        if results.first_row().unwrap().get::<i32>("number").unwrap() == 1 {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn case_c118_idle_readers_log_in_once_and_ask_once_per_wait() {
    const READERS: u64 = 10;
    const MINUTES: u64 = 10;
    let backend = Arc::new(Embedded::with_manual_clock().await);
    let objects = Objects::create(Arc::clone(&backend) as Arc<dyn Backend>).await;
    let mut waiting = receivers(&objects, READERS as usize).await;
    set_waiting(&mut waiting).await;
    let emulator = &backend.emulator;
    let counts =
        || (emulator.server_counters().logins.load(Ordering::Relaxed), objects.broker.requests_sent());
    let (logins, requests) = counts();
    for _second in 0..MINUTES * 60 {
        backend.manual_clock().unwrap().advance(Duration::from_secs(1));
        // Lets the answers of this second reach the readers; one that comes later only lowers the count.
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
    }
    let (logins_after, requests_after) = counts();
    let (logins, requests) = (logins_after - logins, requests_after - requests);
    println!("C118: {READERS} idle readers, {MINUTES} minutes: {requests} requests, {logins} logins");
    assert!(requests <= READERS * MINUTES * 2, "at most one request for each wait of 30 s");
    assert!(requests >= READERS, "the waits are renewed");
    assert_eq!(logins, 0);
}

#[tokio::test]
async fn case_c131_bodies_around_packet_boundaries_arrive_whole() {
    let emulator = Arc::new(Embedded::start().await);
    for packet_size in [512usize, 4_096, 32_767] {
        let text = format!("{};Packet Size={packet_size}", emulator.connection_string());
        let options = |_| text.parse::<BrokerOptions>().unwrap();
        let objects = Objects::create_with(Arc::clone(&emulator) as Arc<dyn Backend>, options).await;
        let sizes = (packet_size - 20..=packet_size + 20).chain([0, 1, 7_999, 8_000, 8_001]);
        let mut sizes: Vec<usize> = sizes.collect();
        if packet_size == 4_096 {
            sizes.push(64 << 20);
        }
        let body = |size: usize| (0..size).map(|at| (at * 31 + size) as u8).collect::<Vec<u8>>();
        let request = MessageTypeName::new(&*objects.request).unwrap();
        let builder =
            objects.broker.dialog(&*objects.initiator, &*objects.target).contract(&*objects.contract);
        let dialog = builder.begin().await.unwrap();
        for size in &sizes {
            dialog.send(&request, Body::bytes(body(*size))).await.unwrap();
        }
        let queue = QueueName::in_schema("dbo", &*objects.target_queue).unwrap();
        let mut receiver = objects.broker.receive(queue).max_messages(200).open().await.unwrap();
        let batch = receiver.next().await.unwrap();
        let hashes = batch.messages().iter().map(|message| Sha256::digest(message.body.as_bytes()));
        let expected = sizes.iter().map(|size| Sha256::digest(body(*size)));
        assert!(hashes.eq(expected), "packet size {packet_size}");
        batch.commit().await.unwrap();
    }
    let broker = broker(&emulator.emulator, |options| options).await;
    let long = format!("DECLARE @n int = 7; {} SELECT @n AS number", "SET @n = @n + 0; ".repeat(20_000));
    assert!(long.len() > 300 << 10);
    assert_eq!(broker.batch(&long).await.unwrap().first_row().unwrap().get::<i32>("number").unwrap(), 7);
}
