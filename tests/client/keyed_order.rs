//! Goal L6: messages of one key stay in order through the pool and through many readers, and keys go side by side.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ssbroker::client::{Delivery, Handler, HandlerError, PoolOptions, QueueName};
use tokio::sync::watch;

use super::objects::Objects;

const DIALOGS: usize = 16;
const READERS: usize = 8;

/// Notes the order in which messages `key:number` are handled.
#[derive(Clone)]
struct Recorder {
    seen: Arc<Mutex<HashMap<String, Vec<u32>>>>,
    /// How many there were.
    handled: Arc<watch::Sender<usize>>,
    /// How long the work on one of them lasts.
    work: Duration,
}

impl Recorder {
    fn new(work: Duration) -> Self {
        Self { seen: Arc::default(), handled: Arc::default(), work }
    }
}

impl Handler for Recorder {
    async fn handle(&self, delivery: &mut Delivery<'_>) -> Result<(), HandlerError> {
        let text = delivery.message().body.to_utf8()?.to_owned();
        if !self.work.is_zero() {
            tokio::time::sleep(self.work).await;
        }
        let (key, number) = text.split_once(':').ok_or("no key")?;
        self.seen.lock().unwrap().entry(key.to_owned()).or_default().push(number.parse()?);
        self.handled.send_modify(|handled| *handled += 1);
        Ok(())
    }
}

async fn objects() -> Objects {
    let objects = Objects::create(crate::support::start().await).await;
    crate::support::run_script(&objects.broker, include_str!("../../sql/05-dead-letters.sql")).await;
    objects
}

/// Sends `each` messages for each key, key by key interleaved and several calls at once.
async fn send(objects: &Objects, keys: usize, each: usize) {
    let pool = objects.broker.dialog_pool(PoolOptions::default().width(DIALOGS)).unwrap();
    let destination = objects.destination();
    let senders = (0..4).map(|part| {
        let (pool, destination) = (pool.clone(), destination.clone());
        let keys: Vec<usize> = (0..keys).filter(|key| key % 4 == part).collect();
        let text = |key: usize, number: usize| objects.message(&format!("k{key}:{number}"));
        let calls: Vec<_> = (0..each)
            .flat_map(|number| keys.iter().map(move |key| (*key, number)))
            .map(|(key, number)| (key, text(key, number)))
            .collect();
        tokio::spawn(async move {
            for (key, message) in calls {
                let destination = destination.clone().key(format!("k{key}"));
                assert!(pool.send(&destination, &[message]).await.unwrap()[0].is_sent());
            }
        })
    });
    for sender in senders.collect::<Vec<_>>() {
        sender.await.unwrap();
    }
    assert_eq!(pool.stats().begun, DIALOGS as u64);
}

async fn drain(objects: &Objects, recorder: Recorder, readers: usize, most: u32) {
    let queue = QueueName::in_schema("dbo", &*objects.target_queue).unwrap();
    let worker = objects.broker.worker(queue, recorder).readers(readers).max_messages(most);
    worker.drain_then_exit(Duration::from_millis(200)).run(std::future::pending()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l6_a_thousand_keys_over_16_dialogs_and_8_readers_have_no_inversion() {
    let objects = objects().await;
    let recorder = Recorder::new(Duration::ZERO);
    let reading = drain(&objects, recorder.clone(), READERS, 20);
    tokio::join!(send(&objects, 1_000, 3), async {
        reading.await;
    });
    drain(&objects, recorder.clone(), READERS, 20).await;
    let seen = recorder.seen.lock().unwrap();
    assert_eq!(seen.values().map(Vec::len).sum::<usize>(), 3_000);
    let inversions = seen.values().filter(|numbers| **numbers != [0, 1, 2]).count();
    println!("L6: 1000 keys, {DIALOGS} dialogs, {READERS} readers: {inversions} inversions");
    assert_eq!((seen.len(), inversions), (1_000, 0));
}

/// How long so many readers take for 320 messages, 20 on each dialog, whose handler takes 10 ms.
async fn time_with(readers: usize) -> Duration {
    let objects = objects().await;
    let pool = objects.broker.dialog_pool(PoolOptions::default().width(DIALOGS)).unwrap();
    for number in 0..320 {
        // Without a key each call takes the next dialog.
        let message = objects.message(&format!("d{}:{}", number % DIALOGS, number / DIALOGS));
        assert!(pool.send(&objects.destination(), &[message]).await.unwrap()[0].is_sent());
    }
    let recorder = Recorder::new(Duration::from_millis(10));
    let queue = QueueName::in_schema("dbo", &*objects.target_queue).unwrap();
    let worker = objects.broker.worker(queue, recorder.clone()).readers(readers).max_messages(10);
    let (done, finished) = tokio::sync::oneshot::channel::<()>();
    let started = Instant::now();
    let mut running = tokio::spawn(worker.run(async {
        let _ = finished.await;
    }));
    let mut handled = recorder.handled.subscribe();
    tokio::select! {
        all = handled.wait_for(|handled| *handled == 320) => drop(all.unwrap()),
        stopped = &mut running => panic!("the worker stopped early: {stopped:?}"),
    }
    let elapsed = started.elapsed();
    drop(done);
    running.await.unwrap().unwrap();
    assert!(recorder.seen.lock().unwrap().values().all(|numbers| numbers.is_sorted()));
    elapsed
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l6_eight_readers_are_seven_times_as_fast_as_one_when_handlers_take_10_ms() {
    let alone = time_with(1).await;
    // The best of a few: what is measured is how far readers hinder each other, not what else the machine does.
    let mut together = Duration::MAX;
    for _ in 0..4 {
        together = together.min(time_with(READERS).await);
        if alone >= together * 7 {
            break;
        }
    }
    let speed_up = alone.as_secs_f64() / together.as_secs_f64();
    println!(
        "L6: 320 messages of 10 ms: {alone:?} with 1 reader, {together:?} with {READERS}: {speed_up:.1} times"
    );
    assert!(speed_up >= 7.0, "{speed_up}");
}
