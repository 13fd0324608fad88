//! Goal L9 and its surroundings: servers that go away and come back, as themselves, as somebody else, or with the broker off.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ssbroker::client::{
    Broker, Connectivity, ErrorKind, Receiver, StopReason, WhenBrokerChanges, handler_fn,
};
use ssbroker_emulator::Emulator;

use super::soaks::proxy::Proxy;
use super::soaks::stage::{Stage, target_queue};
use super::work::child_test;
use crate::support::until;

/// A stage behind a network that can be cut, and a broker on this side of it.
async fn behind_a_proxy() -> (Stage, Proxy, Broker) {
    let stage = Stage::set().await.unwrap();
    let proxy = Proxy::start(stage.emulator.address()).await.unwrap();
    let broker = Broker::connect(&through(&proxy, &stage.emulator.connection_string("msdb"))).await.unwrap();
    (stage, proxy, broker)
}

fn through(proxy: &Proxy, connection_string: &str) -> String {
    format!("{connection_string};Server=tcp:127.0.0.1,{}", proxy.address().port())
}

async fn next_text(receiver: &mut Receiver) -> String {
    let batch = receiver.next().await.unwrap();
    let text = batch.messages()[0].body.to_utf8().unwrap().to_owned();
    batch.commit().await.unwrap();
    text
}

/// Goal L9: one log line when the connection is lost and one when it is back, however many attempts lie between. In a process
/// of its own, since a process has one set of log lines.
#[tokio::test]
async fn l9_there_is_one_log_line_for_each_change_of_state() {
    let mut child = child_test("client::reconnect::log_lines", "SSBROKER_TEST_LOG", "1");
    assert!(child.wait().await.unwrap().success());
}

/// Not a test: the process whose log lines are counted.
#[tokio::test]
#[ignore = "runs as a child process of another test"]
async fn log_lines() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let writer = Lines(Arc::clone(&lines));
    let subscriber = tracing_subscriber::fmt()
        .with_writer(move || writer.clone())
        .with_env_filter("ssbroker=info")
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let (stage, mut proxy, broker) = behind_a_proxy().await;
    let mut receiver = broker.receive(target_queue().unwrap()).open().await.unwrap();
    assert!(receiver.next_within(Duration::from_millis(20)).await.unwrap().is_none());
    for outage in 0..2 {
        lines.lock().unwrap().clear();
        proxy.cut();
        assert!(receiver.next_within(Duration::from_millis(1500)).await.unwrap().is_none());
        stage.begin(&[outage.to_string()], false).await.unwrap();
        proxy.restore().await.unwrap();
        assert_eq!(next_text(&mut receiver).await, outage.to_string());
        let log = String::from_utf8(lines.lock().unwrap().clone()).unwrap();
        let said: Vec<&str> = log.lines().filter(|line| line.contains("client::receive")).collect();
        assert_eq!(said.len(), 2, "{log}");
        assert!(said[0].contains("lost its connection") && said[1].contains("connected again"), "{log}");
    }
}

/// A wait that goes on over a lost connection can be told from one that only finds nothing.
#[tokio::test]
async fn whether_a_receiver_has_its_connection_can_be_followed() {
    let (stage, mut proxy, broker) = behind_a_proxy().await;
    let mut receiver = broker.receive(target_queue().unwrap()).open().await.unwrap();
    let mut connectivity = receiver.connectivity();
    assert!(matches!(*connectivity.borrow(), Connectivity::Connected));
    let waiting = tokio::spawn(async move { next_text(&mut receiver).await });
    proxy.cut();
    let limit = Duration::from_secs(30);
    let is_away =
        |now: &Connectivity| matches!(now, Connectivity::Reconnecting(error) if error.is_retryable());
    drop(tokio::time::timeout(limit, connectivity.wait_for(is_away)).await.unwrap().unwrap());
    stage.begin(&["later".to_owned()], false).await.unwrap();
    proxy.restore().await.unwrap();
    let is_back = |now: &Connectivity| matches!(now, Connectivity::Connected);
    drop(tokio::time::timeout(limit, connectivity.wait_for(is_back)).await.unwrap().unwrap());
    assert_eq!(tokio::time::timeout(limit, waiting).await.unwrap().unwrap(), "later");
}

#[derive(Clone)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Case C032, short form: a worker that comes back to a backlog has the first message within two seconds and never more
/// in hand than its readers' batches.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c032_a_backlog_after_an_outage_neither_waits_nor_floods() {
    let (stage, mut proxy, broker) = behind_a_proxy().await;
    let in_hand = Arc::new(Mutex::new((0usize, 0usize, None)));
    let seen = Arc::clone(&in_hand);
    let handler = handler_fn(move |_delivery| {
        let seen = Arc::clone(&seen);
        Box::pin(async move {
            {
                let mut seen = seen.lock().unwrap();
                seen.0 += 1;
                seen.1 = seen.1.max(seen.0);
                seen.2.get_or_insert_with(Instant::now);
            }
            tokio::task::yield_now().await;
            seen.lock().unwrap().0 -= 1;
            Ok(())
        })
    });
    let worker = broker.worker(target_queue().unwrap(), handler).readers(4).max_messages(20);
    let handle = worker.handle();
    let running = tokio::spawn(worker.run_forever());
    stage.begin(&["first".to_owned()], false).await.unwrap();
    until("the first message is handled", || handle.stats().messages == 1).await;
    in_hand.lock().unwrap().2 = None;
    proxy.cut();
    let texts: Vec<String> = (0..100).map(|number| number.to_string()).collect();
    for _ in 0..20 {
        stage.begin(&texts, false).await.unwrap();
    }
    proxy.restore().await.unwrap();
    let returned = Instant::now();
    until("the backlog is handled", || handle.stats().messages == 2001).await;
    handle.stop();
    assert_eq!(running.await.unwrap().unwrap(), StopReason::Shutdown);
    let (_, most, first) = *in_hand.lock().unwrap();
    let first = first.unwrap().duration_since(returned);
    println!("C032: first message {first:?} after the return, at most {most} handlers at once");
    assert!(first < Duration::from_secs(2) && most <= 4);
}

/// A server that was stopped and started on the same port, with nothing left of what it held.
async fn replaced(old: Emulator) -> Emulator {
    let (address, password) = (old.address(), old.password().to_owned());
    old.shutdown().await;
    loop {
        match Emulator::builder().listen(address).password(&*password).start().await {
            Ok(emulator) => return emulator,
            Err(_still_in_use) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

#[tokio::test]
async fn another_broker_behind_the_same_name_is_told_from_a_lost_connection() {
    let Stage { emulator, broker } = Stage::set().await.unwrap();
    let before = broker.instance().await.unwrap();
    let mut receiver = broker.receive(target_queue().unwrap()).open().await.unwrap();
    assert!(receiver.next_within(Duration::from_millis(20)).await.unwrap().is_none());
    let emulator = replaced(emulator).await;
    let error = receiver.next().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BrokerChanged, "{error:?}");
    let broker = Broker::connect(&emulator.connection_string("msdb")).await.unwrap();
    let after = broker.instance().await.unwrap();
    assert!(error.to_string().contains(&after.id.to_string()) && before.id != after.id, "{error}");
    let error = receiver.next().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ObjectMissing, "the receiver goes on with the new broker: {error:?}");
}

#[tokio::test]
async fn a_worker_stops_or_goes_on_when_another_broker_answers_as_it_was_told() {
    for reaction in [WhenBrokerChanges::Stop, WhenBrokerChanges::GoOn] {
        let stage = Stage::set().await.unwrap();
        let seen = Arc::new(tokio::sync::Notify::new());
        let sees = Arc::clone(&seen);
        let handler = handler_fn(move |_delivery| {
            sees.notify_one();
            Box::pin(async { Ok(()) })
        });
        let worker = stage.broker.worker(target_queue().unwrap(), handler).when_broker_changes(reaction);
        let handle = worker.handle();
        let running = tokio::spawn(worker.run_forever());
        stage.begin(&["first".to_owned()], false).await.unwrap();
        seen.notified().await;
        let stage = stage.replaced().await;
        if reaction == WhenBrokerChanges::Stop {
            assert_eq!(running.await.unwrap().unwrap(), StopReason::BrokerChanged);
            continue;
        }
        stage.begin(&["second".to_owned()], false).await.unwrap();
        seen.notified().await;
        handle.stop();
        assert_eq!(running.await.unwrap().unwrap(), StopReason::Shutdown);
    }
}

impl Stage {
    async fn replaced(self) -> Self {
        Stage::set_on(replaced(self.emulator).await).await.unwrap()
    }
}

#[tokio::test]
async fn a_broker_that_was_switched_off_meanwhile_is_told_and_used_again_when_it_is_on() {
    let stage = Stage::set().await.unwrap();
    stage.broker.batch("CREATE DATABASE away").await.unwrap();
    stage.broker.batch("ALTER DATABASE away SET ENABLE_BROKER").await.unwrap();
    let mut proxy = Proxy::start(stage.emulator.address()).await.unwrap();
    let away = through(&proxy, &stage.emulator.connection_string("away"));
    let broker = Broker::connect(&away).await.unwrap();
    broker.batch("CREATE QUEUE [soak_target]").await.unwrap();
    let mut receiver = broker.receive(target_queue().unwrap()).open().await.unwrap();
    assert!(receiver.next_within(Duration::from_millis(20)).await.unwrap().is_none());
    proxy.cut();
    stage.broker.batch("ALTER DATABASE away SET DISABLE_BROKER WITH ROLLBACK IMMEDIATE").await.unwrap();
    proxy.restore().await.unwrap();
    let error = receiver.next().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BrokerDisabled, "{error:?}");
    stage.broker.batch("ALTER DATABASE away SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE").await.unwrap();
    assert!(receiver.next_within(Duration::from_millis(100)).await.unwrap().is_none());
}
