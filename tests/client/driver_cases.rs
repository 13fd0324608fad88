//! Cases about connections: settings that must not leak, waiting readers and the pool.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ssbroker::client::{Body, BrokerOptions, ErrorKind, StopReason, handler_fn};
use ssbroker_emulator::Emulator;
use tokio::sync::Barrier;

use super::connections::{broker, number, waiting_receivers};
use super::objects::Objects;
use crate::support::{Backend, Embedded};

/// What one borrower of a connection may change for the next.
const SETTINGS: &str = "SELECT (SELECT transaction_isolation_level FROM sys.dm_exec_sessions WHERE session_id = @@SPID) AS \
     isolation, @@LOCK_TIMEOUT AS lock_timeout, @@OPTIONS AS switches, @@DATEFIRST AS first_day, @@TEXTSIZE AS text_size, \
     @@LANGUAGE AS language, DB_NAME() AS name, SUSER_SNAME() AS login, @@TRANCOUNT AS open_transactions, \
     OBJECT_ID('tempdb..#left') AS left_table";

const CARELESS: &str = "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; SET LOCK_TIMEOUT 5; SET XACT_ABORT ON; SET NOCOUNT ON; \
     SET DATEFIRST 3; SET TEXTSIZE 100; SET LANGUAGE us_english; USE master;";

/// Case C120. The embedded broker knows one language; that a batch with SET LANGUAGE costs its connection like any other
/// SET is tested beside the code that decides it.
#[tokio::test]
async fn c120_settings_of_one_borrower_do_not_reach_the_next() {
    let emulator = Emulator::start().await.unwrap();
    let broker = broker(&emulator, |options| options.with_max_pool_size(1)).await;
    broker.batch("CREATE QUEUE q").await.unwrap();
    let read =
        || async { format!("{:?}", broker.execute(SETTINGS, &[]).await.unwrap().into_rows()[0].values()) };
    let before = read().await;
    let set = [
        CARELESS,
        "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
        "BEGIN TRANSACTION",
        "CREATE TABLE #left (n int)",
    ];
    for careless in set {
        // What a statement begins and does not end is an error of its own; its connection is not lent again.
        let _ = broker.execute(careless, &[]).await;
        assert_eq!(read().await, before, "after the statement {careless}");
        broker.batch(careless).await.unwrap();
        assert_eq!(read().await, before, "after the batch {careless}");
        broker.execute("RECEIVE * FROM q", &[]).await.unwrap();
    }
}

/// Case C120: a lock of the session outlives the statement that took it, and must not outlive the loan.
#[tokio::test]
async fn c120_a_lock_that_a_statement_took_for_its_session_goes_with_the_connection() {
    let emulator = Emulator::start().await.unwrap();
    let careless = broker(&emulator, |options| options.with_max_pool_size(1)).await;
    let lock = "DECLARE @n int; EXEC @n = sp_getapplock @Resource = N'r', @LockMode = N'Exclusive', @LockOwner = N'Session', \
                @LockTimeout = 20000; SELECT @n AS n";
    let other = broker(&emulator, |options| options.with_max_pool_size(1)).await;
    for taker in [&careless, &other, &careless] {
        let results = taker.execute(lock, &[]).await.unwrap();
        assert!(
            results.first_row().unwrap().get::<i32>("n").unwrap() >= 0,
            "the one before still has the lock"
        );
    }
}

/// Case C121: the receivers' connections are not those of the pool, so its only one is free for whoever asks, the handlers
/// of those receivers included.
#[tokio::test]
async fn c121_waiting_readers_take_nothing_from_the_pool_and_handlers_may_use_it() {
    const READERS: usize = 4;
    let backend = crate::support::start().await;
    let objects = Objects::create_with(backend, |options| options.with_max_pool_size(1)).await;
    objects.create_tables().await;
    let waiting = waiting_receivers(&objects, READERS).await;
    assert_eq!(number(&objects.broker, 7).await, 7);
    drop(waiting);
    for _ in 0..READERS {
        drop(objects.begin_with(&["a"]).await);
    }
    let (all, done) = (Arc::new(Barrier::new(READERS)), Arc::new(AtomicUsize::new(0)));
    let (broker, counted) = (objects.broker.clone(), Arc::clone(&done));
    let handler = handler_fn(move |_delivery| {
        let (all, broker, counted) = (Arc::clone(&all), broker.clone(), Arc::clone(&counted));
        Box::pin(async move {
            all.wait().await;
            let nth = counted.fetch_add(1, Ordering::Relaxed) as i32;
            assert_eq!(number(&broker, nth).await, nth);
            Ok(())
        })
    });
    let worker = objects.broker.worker(objects.queue(), handler).readers(READERS);
    let handle = worker.handle();
    let running = tokio::spawn(worker.run_forever());
    while handle.stats().messages < READERS as u64 {
        assert!(!running.is_finished(), "{:?}", running.await);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    handle.stop();
    assert_eq!(running.await.unwrap().unwrap(), StopReason::Shutdown);
    assert_eq!((done.load(Ordering::Relaxed), handle.stats().failures), (READERS, 0));
}

/// Case C121: a pool that is used up says so, and receivers go on meanwhile.
#[tokio::test]
async fn c121_a_pool_that_is_used_up_is_a_typed_error_and_stops_no_receiver() {
    let short =
        |options: BrokerOptions| options.with_max_pool_size(2).with_acquire_timeout(Duration::from_secs(2));
    let objects = Objects::create_with(crate::support::start().await, short).await;
    let mut receiver = waiting_receivers(&objects, 1).await.remove(0);
    let dialog = objects.begin_with(&[]).await;
    let wait = "WAITFOR DELAY '00:01:00'";
    let users = [0, 1].map(|_| {
        let broker = objects.broker.clone();
        tokio::spawn(async move { broker.execute(wait, &[]).await.map(drop) })
    });
    let error = loop {
        match objects.broker.execute("SELECT 1 AS one", &[]).await {
            Ok(_) => tokio::task::yield_now().await,
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::PoolExhausted, "{error:?}");
    assert!(error.to_string().contains("all 2 connections"), "{error}");
    assert!(error.is_retryable() && !error.is_connection_lost());
    users.iter().for_each(|user| user.abort());
    dialog.send(&*objects.request, Body::utf8("a")).await.unwrap();
    assert_eq!(receiver.next().await.unwrap().messages().len(), 1);
}

/// Case C121: the server refuses connections for half a minute. A receiver that is opened meanwhile is refused; a worker that
/// runs tries again with pauses, however long it takes.
#[tokio::test]
async fn c121_a_worker_outlives_a_server_that_refuses_connections() {
    let backend = Arc::new(Embedded::with_manual_clock().await);
    let few = |options: BrokerOptions| options.with_connect_retries(0);
    let objects = Objects::create_with(Arc::clone(&backend) as Arc<dyn Backend>, few).await;
    objects.create_tables().await;
    let (echo, handled) = objects.echo();
    let worker = objects.broker.worker(objects.queue(), echo).readers(4);
    let handle = worker.handle();
    let running = tokio::spawn(worker.run_forever());
    drop(objects.begin_with(&["before"]).await);
    assert_eq!(objects.replies(1).await, ["before"]);
    let faults = backend.emulator.faults();
    faults.refuse_connections(Duration::from_secs(30));
    let error = objects.broker.receive(objects.queue()).open().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connect, "{error:?}");
    faults.fail_over();
    // Three attempts of each reader.
    while faults.connections_refused() < 1 + 4 * 3 {
        assert!(!running.is_finished(), "{:?}", running.await);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    backend.manual_clock().unwrap().advance(Duration::from_secs(30));
    // Those of the pool learn of the cut when they are used.
    while objects.broker.instance().await.is_err() {}
    drop(objects.begin_with(&["after"]).await);
    assert_eq!(objects.replies(1).await, ["after"]);
    assert_eq!(handled.load(Ordering::Relaxed), 2);
    handle.stop();
    assert_eq!(running.await.unwrap().unwrap(), StopReason::Shutdown);
}
