//! Messages that arrive twice and are handled once: case C019, and what the table of handled messages promises.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ssbroker::client::{
    Body, Delivery, Envelope, ErrorKind, Handler, HandlerError, LongHandler, OutgoingMessage, PoisonAction,
    PoisonPolicy, PoolOptions, QueueName, WorkItem, Worker, WorkerStats, handler_fn,
};
use uuid::Uuid;

use super::stage::Stage;
use super::work::{IDLE, drain};
use crate::support::{Backend, run_script};

const TABLE: &str = include_str!("../../sql/12-handled-messages.sql");
const DAY: Duration = Duration::from_secs(24 * 3600);

/// Notes the texts of the messages it handles; fails at the first attempt of those that say so.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<String>>>);

impl Handler for Recorder {
    async fn handle(&self, delivery: &mut Delivery<'_>) -> Result<(), HandlerError> {
        let envelope = delivery.message().envelope()?;
        let body = envelope.map_or_else(|| delivery.message().body.clone(), Envelope::into_body);
        let text = body.to_utf8()?.to_owned();
        if text == "fails first" && delivery.attempt() == 1 {
            return Err("the message says so".into());
        }
        self.0.lock().unwrap().push(text);
        Ok(())
    }
}

impl Recorder {
    fn texts(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Stage {
    async fn with_table() -> Self {
        let stage = Self::start().await;
        run_script(&stage.objects.broker, TABLE).await;
        stage
    }

    fn enveloped(&self, id: u128, text: &str) -> OutgoingMessage {
        let body = Envelope::new(Body::utf8(text)).identified(Uuid::from_u128(id));
        OutgoingMessage { body: body.into(), ..self.objects.message("") }
    }

    /// Sends each on a dialog of its own.
    async fn send_apart(&self, messages: &[OutgoingMessage]) {
        let pool = self.pool(PoolOptions::default().width(messages.len()));
        for message in messages {
            let sent = pool.send(&self.objects.destination(), std::slice::from_ref(message)).await.unwrap();
            assert!(sent[0].is_sent());
        }
    }

    fn target_queue(&self) -> QueueName {
        QueueName::in_schema("dbo", &*self.objects.target_queue).unwrap()
    }

    fn worker<H: Handler>(&self, handler: H) -> Worker<H> {
        let worker = self.objects.broker.worker(self.target_queue(), handler);
        worker.poison(PoisonPolicy::new(3, PoisonAction::EndConversation))
    }

    /// Has a worker that skips repeated messages empty the queue.
    async fn drain_once<H: Handler>(&self, handler: H) -> WorkerStats {
        let worker = self.worker(handler).skip_repeated(DAY);
        let handle = worker.handle();
        drain(worker).await;
        handle.stats()
    }

    /// How many messages lie in the target's queue.
    async fn arrived(&self) -> i32 {
        self.number(&format!("SELECT COUNT(*) FROM [{}]", self.objects.target_queue)).await
    }

    async fn noted(&self) -> i32 {
        self.number("SELECT COUNT(*) FROM ssbroker.handled_messages").await
    }
}

/// The target has message n, the sender never hears of that, and then the dialog fails.
async fn resent_after_a_lost_acknowledgement() -> Stage {
    let stage = Stage::with_table().await;
    let pool = stage.pool(PoolOptions::default().width(1));
    let destination = stage.objects.destination();
    stage.backend.embedded.emulator.faults().withhold_acknowledgements();
    pool.send(&destination, &[stage.enveloped(1, "n")]).await.unwrap();
    let pending = "SELECT COUNT(*) FROM sys.transmission_queue";
    assert_eq!((stage.number(pending).await, stage.arrived().await), (1, 1));
    stage.fail_all(8462).await;
    pool.send(&destination, &[stage.enveloped(2, "after")]).await.unwrap();
    assert_eq!((pool.stats().resent, stage.arrived().await), (1, 3));
    stage
}

#[tokio::test]
async fn c019_a_message_whose_acknowledgement_was_lost_is_handled_twice_unless_repeated_ones_are_skipped() {
    let (stage, recorder) = (resent_after_a_lost_acknowledgement().await, Recorder::default());
    drain(stage.worker(recorder.clone())).await;
    let mut handled = recorder.texts();
    handled.sort();
    assert_eq!(handled, ["after", "n", "n"], "at least once across a resend");
    let (stage, recorder) = (resent_after_a_lost_acknowledgement().await, Recorder::default());
    let stats = stage.drain_once(recorder.clone()).await;
    assert_eq!(recorder.texts(), ["n", "after"]);
    assert_eq!((stats.repeated, stage.noted().await), (1, 2));
    assert_eq!(stage.arrived().await, 0, "what was skipped is received all the same");
}

/// The id is noted in the transaction of the handler.
#[tokio::test]
async fn a_failed_attempt_is_no_handling_and_a_raw_message_is_always_handled() {
    let (stage, recorder) = (Stage::with_table().await, Recorder::default());
    let raw = || stage.objects.message("raw");
    stage.send_apart(&[stage.enveloped(1, "fails first"), raw(), raw()]).await;
    let stats = stage.drain_once(recorder.clone()).await;
    let mut handled = recorder.texts();
    handled.sort();
    assert_eq!(handled, ["fails first", "raw", "raw"]);
    assert_eq!((stats.repeated, stats.failures, stage.noted().await), (0, 1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_that_meet_the_same_message_at_once_handle_it_once() {
    let stage = Stage::with_table().await;
    let copies: Vec<_> = (0..16).map(|copy| stage.enveloped(copy % 4, &(copy % 4).to_string())).collect();
    stage.send_apart(&copies).await;
    let recorder = Recorder::default();
    let worker = stage.worker(recorder.clone()).skip_repeated(DAY).readers(4);
    let handle = worker.handle();
    drain(worker).await;
    let mut handled = recorder.texts();
    handled.sort();
    assert_eq!(handled, ["0", "1", "2", "3"]);
    assert!(handle.stats().repeated >= 12);
}

/// For programs without envelopes.
#[tokio::test]
async fn a_handler_may_note_an_id_of_its_own() {
    let stage = Stage::with_table().await;
    stage.send_apart(&["7", "7", "8"].map(|text| stage.objects.message(text))).await;
    let handled = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&handled);
    let handler = handler_fn(move |delivery| {
        let seen = Arc::clone(&seen);
        Box::pin(async move {
            let order: u128 = delivery.message().body.to_utf8()?.parse()?;
            if delivery.note_handled(Uuid::from_u128(order)).await? {
                seen.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        })
    });
    drain(stage.worker(handler)).await;
    assert_eq!((handled.load(Ordering::Relaxed), stage.noted().await), (2, 2));
}

#[tokio::test]
async fn what_was_handled_is_forgotten_by_age_in_bounded_numbers_for_its_queue_only() {
    let stage = Stage::with_manual_clock().await;
    run_script(&stage.objects.broker, TABLE).await;
    let messages: Vec<_> = (0..30).map(|id| stage.enveloped(id, "x")).collect();
    stage.pool(PoolOptions::default().width(1)).send(&stage.objects.destination(), &messages).await.unwrap();
    let queue = stage.target_queue();
    let mut batch = stage.objects.broker.receive(queue.clone()).open().await.unwrap().next().await.unwrap();
    for id in 0..30 {
        assert!(batch.note_handled(Uuid::from_u128(id)).await.unwrap());
        assert!(!batch.note_handled(Uuid::from_u128(id)).await.unwrap());
    }
    batch.commit().await.unwrap();
    stage.backend.manual_clock().unwrap().advance(2 * DAY);
    let broker = &stage.objects.broker;
    let other = QueueName::in_schema("dbo", &*stage.objects.initiator_queue).unwrap();
    assert_eq!(broker.forget_handled(&other, DAY, 20).await.unwrap(), 0);
    assert_eq!(broker.forget_handled(&queue, 3 * DAY, 20).await.unwrap(), 0);
    assert_eq!(broker.forget_handled(&queue, DAY, 20).await.unwrap(), 20);
    // A worker does the rest at its start.
    let forgotten = async {
        while stage.noted().await > 0 {
            tokio::task::yield_now().await;
        }
    };
    stage.worker(Recorder::default()).skip_repeated(DAY).run(forgotten).await.unwrap();
}

#[tokio::test]
async fn without_the_table_a_worker_does_not_start_and_the_error_names_the_script() {
    let stage = Stage::start().await;
    let error = stage.worker(Recorder::default()).skip_repeated(DAY).run_forever().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ObjectMissing, "{error}");
    assert!(error.to_string().contains("12-handled-messages.sql"), "{error}");
}

/// Completes each message by a row.
struct Long;

impl LongHandler for Long {
    type Output = ();

    async fn work(&self, _item: &WorkItem) -> Result<(), HandlerError> {
        Ok(())
    }

    async fn complete(&self, (): (), delivery: &mut Delivery<'_>) -> Result<(), HandlerError> {
        delivery.execute("INSERT INTO done VALUES (1)", &[]).await?;
        Ok(())
    }
}

#[tokio::test]
async fn a_long_worker_completes_a_repeated_message_once() {
    let stage = Stage::with_table().await;
    stage.objects.create_tables().await;
    stage.run("CREATE TABLE done (id int NOT NULL)").await;
    stage.send_apart(&[stage.enveloped(1, "a"), stage.enveloped(1, "a"), stage.enveloped(2, "b")]).await;
    let worker = stage.objects.broker.long_worker(stage.target_queue(), Long).skip_repeated(DAY);
    let handle = worker.handle();
    worker.drain_then_exit(IDLE).run(std::future::pending()).await.unwrap();
    assert_eq!((stage.number("SELECT COUNT(*) FROM done").await, handle.stats().repeated), (2, 1));
    assert_eq!(stage.objects.rows("work_items").await, 0);
}
