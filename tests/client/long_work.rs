//! Store and commit: long work under a lease, takeovers, heartbeats, order within a group.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ssbroker::client::{
    Delivery, HandlerError, LongHandler, LongWorker, MessageTypeName, StopReason, WorkItem,
};

use super::objects::Objects;
use super::work::{IDLE, objects};

/// Answers each message with its text and attempt; does what the text says first.
#[derive(Clone)]
struct Slow {
    reply: MessageTypeName,
    seen: Arc<Mutex<Vec<String>>>,
    begun: Arc<tokio::sync::Notify>,
}

impl LongHandler for Slow {
    type Output = String;

    async fn work(&self, item: &WorkItem) -> Result<String, HandlerError> {
        let text = item.message().body.to_utf8()?.to_owned();
        self.seen.lock().unwrap().push(format!("{text} {}", item.attempt()));
        self.begun.notify_one();
        match (text.as_str(), item.attempt()) {
            ("fail", _) => {
                return Err(HandlerError::retry_after(Duration::from_millis(10), "the message says so"));
            }
            ("refuse", _) => return Err(HandlerError::refuse("the message says so")),
            ("panic", 1) => panic!("the message says so"),
            ("hang", 1) => std::future::pending().await,
            ("long", _) => tokio::time::sleep(Duration::from_millis(2500)).await,
            _ => {}
        }
        Ok(text)
    }

    async fn complete(&self, output: String, delivery: &mut Delivery<'_>) -> Result<(), HandlerError> {
        Ok(delivery.reply(&self.reply, output.into_bytes()).await?)
    }
}

impl Objects {
    fn slow(&self) -> Slow {
        let reply = MessageTypeName::new(&*self.reply).unwrap();
        Slow { reply, seen: Arc::default(), begun: Arc::default() }
    }

    fn long_worker(&self, handler: &Slow) -> LongWorker<Slow> {
        self.broker.long_worker(self.queue(), handler.clone()).lease(Duration::from_secs(1))
    }
}

async fn drain(worker: LongWorker<Slow>) {
    let reason = worker.drain_then_exit(IDLE).run(std::future::pending()).await.unwrap();
    assert_eq!(reason, StopReason::Idle);
}

#[tokio::test]
async fn messages_are_stored_worked_off_in_the_order_of_their_group_and_answered_once() {
    let objects = objects().await;
    let texts: Vec<String> = (0..20).map(|number| number.to_string()).collect();
    let _dialog = objects.begin_with(&texts.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let other = objects.begin_with(&["other"]).await;
    let slow = objects.slow();
    drain(objects.long_worker(&slow).tasks(3)).await;
    let seen = slow.seen.lock().unwrap().clone();
    let in_order: Vec<String> = texts.iter().map(|text| format!("{text} 1")).collect();
    assert_eq!(seen.into_iter().filter(|each| each != "other 1").collect::<Vec<_>>(), in_order);
    assert_eq!(objects.replies(21).await.len(), 21);
    other.end().await.unwrap();
    drain(objects.long_worker(&slow)).await;
    let ended =
        "SELECT COUNT(*) AS n FROM sys.conversation_endpoints WHERE is_initiator = 0 AND state = 'CD'";
    assert_eq!(objects.count(ended).await, 1, "an EndDialog message goes the same way and ends our side");
    assert_eq!((objects.rows("work_items").await, objects.waiting().await.len()), (0, 0));
}

/// While the work lasts the queue's conversation group is not locked and no transaction is open.
#[tokio::test]
async fn c034_long_work_holds_no_lock_and_its_lease_is_kept_by_the_heartbeat() {
    let objects = objects().await;
    let _dialog = objects.begin_with(&["long"]).await;
    let slow = objects.slow();
    let running = tokio::spawn(drain(objects.long_worker(&slow).tasks(2)));
    slow.begun.notified().await;
    assert_eq!(objects.rows("work_items").await, 1, "the message is stored and that is committed");
    assert!(objects.waiting().await.is_empty());
    running.await.unwrap();
    assert_eq!(*slow.seen.lock().unwrap(), ["long 1"], "nobody takes over what has a heartbeat");
    assert_eq!(objects.replies(1).await, ["long"]);
}

#[tokio::test]
async fn an_item_whose_holder_died_is_taken_over_when_its_lease_has_run_out() {
    let objects = objects().await;
    let _dialog = objects.begin_with(&["hang"]).await;
    let slow = objects.slow();
    let dying = tokio::spawn(objects.long_worker(&slow).run(std::future::pending()));
    slow.begun.notified().await;
    dying.abort();
    drain(objects.long_worker(&slow)).await;
    assert_eq!(*slow.seen.lock().unwrap(), ["hang 1", "hang 2"]);
    assert_eq!(objects.replies(1).await, ["hang"]);
}

#[tokio::test]
async fn a_shutdown_frees_the_item_in_hand_at_once_and_counts_no_attempt() {
    let objects = objects().await;
    let _dialog = objects.begin_with(&["hang"]).await;
    let slow = objects.slow();
    let worker = objects.long_worker(&slow).lease(Duration::from_secs(600));
    let begun = Arc::clone(&slow.begun);
    let stopped =
        worker.shutdown_budget(Duration::from_millis(10)).run(async move { begun.notified().await });
    assert_eq!(stopped.await.unwrap(), StopReason::Shutdown);
    let free = "SELECT COUNT(*) AS n FROM ssbroker.work_items WHERE lease IS NULL AND attempts = 0";
    assert_eq!(objects.count(free).await, 1);
}

#[tokio::test]
async fn failing_work_is_parked_and_what_panics_is_tried_again() {
    let objects = objects().await;
    for text in ["fail", "refuse", "panic"] {
        let _dialog = objects.begin_with(&[text]).await;
    }
    let slow = objects.slow();
    let worker = objects.long_worker(&slow).tasks(3);
    let handle = worker.handle();
    drain(worker).await;
    assert_eq!(objects.replies(1).await, ["panic"]);
    let letters = objects.broker.dead_letters().list(None, 0, 10).await.unwrap();
    let mut parked: Vec<_> = letters.iter().map(|letter| (letter.cause.as_str(), letter.attempts)).collect();
    parked.sort_unstable();
    assert_eq!(parked, [("attempts", 3), ("refused", 1)]);
    assert_eq!((handle.stats().parked, objects.rows("work_items").await), (2, 0));
}
