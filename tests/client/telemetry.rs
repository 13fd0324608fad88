//! The numbers and spans a program sees, taken with recorders that belong to the test's thread.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use metrics_util::debugging::{DebugValue, DebuggingRecorder};
use ssbroker::client::telemetry as names;
use ssbroker::client::{PoisonAction, PoisonPolicy, QueueName, handler_fn};
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use super::objects::Objects;

/// Sends three messages, handles them with one failure, and gives a batch back.
async fn work() {
    let objects = Objects::create(crate::support::start().await).await;
    let queue = QueueName::in_schema("dbo", &*objects.target_queue).unwrap();
    let pool = objects.broker.dialog_pool(ssbroker::client::PoolOptions::default()).unwrap();
    pool.send(&objects.destination(), &objects.messages(3)).await.unwrap();
    let mut receiver = objects.broker.receive(queue.clone()).open().await.unwrap();
    receiver.next().await.unwrap().give_back().await.unwrap();
    drop(receiver);
    let handler = handler_fn(|delivery| {
        Box::pin(async move {
            match delivery.message().body.to_utf8()? {
                "1" => Err("one is refused".into()),
                _ => Ok(()),
            }
        })
    });
    let worker = objects
        .broker
        .worker(queue, handler)
        .poison(PoisonPolicy::new(2, PoisonAction::EndConversation))
        .drain_then_exit(Duration::from_millis(50));
    worker.run(std::future::pending()).await.unwrap();
}

fn run() {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work());
}

#[test]
fn a_recorder_sees_what_was_sent_received_decided_and_refused() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    metrics::with_local_recorder(&recorder, run);
    let mut seen: BTreeMap<String, f64> = BTreeMap::new();
    for (key, _, _, value) in snapshotter.snapshot().into_vec() {
        let mut name = key.key().name().to_owned();
        for label in key.key().labels().filter(|label| label.key() != "queue") {
            write!(name, " {}", label.value()).unwrap();
        }
        let value = match value {
            DebugValue::Counter(count) => count as f64,
            DebugValue::Gauge(value) => value.0,
            DebugValue::Histogram(values) => values.len() as f64,
        };
        *seen.entry(name).or_default() += value;
    }
    println!("{seen:#?}");
    let value = |name: &str| seen.get(name).copied().unwrap_or_default();
    assert_eq!(value(names::SENT_MESSAGES), 3.0);
    assert_eq!(value(names::SENT_BYTES), 3.0);
    // Given back once by hand and once after the failed attempt; then three, cut before the one that had failed, and two,
    // cut again so that it is alone.
    assert_eq!(value(names::RECEIVED_MESSAGES), 11.0);
    assert_eq!(value(names::BATCH_MESSAGES), 4.0);
    assert_eq!(value(&format!("{} given_back", names::BATCHES)), 2.0);
    assert_eq!(value(&format!("{} committed", names::BATCHES)), 2.0);
    assert_eq!(value(&format!("{} failed", names::HANDLE_SECONDS)), 2.0);
    assert!(value(&format!("{} ok", names::HANDLE_SECONDS)) >= 2.0);
    assert_eq!(value(names::RETRIED_MESSAGES), 1.0);
    assert!(value(names::MESSAGE_AGE) >= 4.0, "one for each call of a handler");
    assert_eq!(seen.get(names::ACTIVE_HANDLERS), Some(&0.0), "nobody is at work any more");
    assert_eq!(value(&format!("{} conversation_ended", names::PARKED_MESSAGES)), 1.0);
    assert_eq!(value(&format!("{} begun", names::POOL_DIALOGS)), 1.0);
    assert!(value(names::CONNECTIONS_OPENED) >= 3.0);
    assert!(seen.contains_key(&format!("{} idle", names::POOL_CONNECTIONS)));
}

/// Keeps name and fields of every span of the library.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<(&'static str, String)>>>);

struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, _value: &dyn std::fmt::Debug) {
        write!(self.0, "{} ", field.name()).unwrap();
    }
}

impl<S: tracing::Subscriber> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &tracing::span::Attributes<'_>, _: &tracing::Id, _: Context<'_, S>) {
        let name = attributes.metadata().name();
        if name.starts_with("ssbroker.") {
            let mut fields = String::new();
            attributes.record(&mut Fields(&mut fields));
            self.0.lock().unwrap().push((name, fields));
        }
    }
}

#[test]
fn spans_stand_around_sending_receiving_and_handling_with_stable_fields() {
    let spans = Spans::default();
    // While there is just one subscriber, whichever thread meets a span first decides for all whether it is wanted, also a
    // thread of another test, which has none. A second subscriber makes the library ask them all.
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    let subscriber = tracing_subscriber::registry().with(spans.clone());
    tracing::subscriber::with_default(subscriber, run);
    let spans = spans.0.lock().unwrap();
    let fields = |wanted: &str| spans.iter().find(|(name, _)| *name == wanted).unwrap().1.clone();
    assert_eq!(fields("ssbroker.send"), "messages bytes ");
    assert_eq!(fields("ssbroker.receive"), "queue ");
    assert_eq!(fields("ssbroker.handle"), "queue conversation message_type sequence ");
}

/// The table of the crate page is the documentation of the names; it must not lag behind.
#[test]
fn the_crate_page_names_every_metric() {
    let source =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/src/client/telemetry/mod.rs")).unwrap();
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/src/lib.rs")).unwrap();
    let metrics: Vec<&str> = source.split('"').filter(|text| text.starts_with("ssbroker_")).collect();
    assert!(metrics.len() > 10);
    let unnamed: Vec<&&str> = metrics.iter().filter(|name| !page.contains(&format!("`{name}`"))).collect();
    assert!(unnamed.is_empty(), "{unnamed:?}");
}
