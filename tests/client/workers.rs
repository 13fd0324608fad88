//! Workers: replies, the broker's own messages, failures, poison messages, and how a worker stops.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ssbroker::client::{
    Delivery, ErrorKind, Handler, HandlerError, MessageKind, MessageTypeName, PoisonAction, PoisonPolicy,
    QueueName, StopReason, handler_fn,
};
use tokio::sync::oneshot;

use super::objects::Objects;

const POISON_TABLES: &str = include_str!("../../sql/05-dead-letters.sql");

async fn objects() -> Objects {
    let objects = Objects::create(crate::support::start().await).await;
    crate::support::run_script(&objects.broker, POISON_TABLES).await;
    objects
}

impl Objects {
    fn queue(&self) -> QueueName {
        QueueName::in_schema("dbo", &*self.target_queue).unwrap()
    }

    async fn count(&self, sql: &str) -> i32 {
        self.broker.execute(sql, &[]).await.unwrap().first_row().unwrap().get("n").unwrap()
    }
}

/// Answers each message with its own body; fails or panics on those that say so.
struct Echo {
    reply: MessageTypeName,
    handled: Arc<AtomicUsize>,
}

impl Handler for Echo {
    async fn handle(&self, delivery: &mut Delivery<'_>) -> Result<(), HandlerError> {
        self.handled.fetch_add(1, Ordering::Relaxed);
        let body = delivery.message().body.clone();
        delivery.reply(&self.reply, body.clone()).await?;
        match body.to_utf8()? {
            "panic" => panic!("the message says so"),
            "fail" => Err("the message says so".into()),
            _ => Ok(()),
        }
    }
}

impl Objects {
    fn echo(&self) -> (Echo, Arc<AtomicUsize>) {
        let handled = Arc::new(AtomicUsize::new(0));
        let reply = MessageTypeName::new(&*self.reply).unwrap();
        (Echo { reply, handled: Arc::clone(&handled) }, handled)
    }

    async fn begin_with(&self, texts: &[&str]) -> ssbroker::client::Dialog {
        let builder = self.broker.dialog(&*self.initiator, &*self.target).contract(&*self.contract);
        let messages: Vec<_> = texts.iter().map(|text| self.message(text)).collect();
        let (dialog, outcomes) = builder.begin_with(&messages).await.unwrap();
        assert!(outcomes.iter().all(|outcome| outcome.is_sent()));
        dialog
    }

    async fn replies(&self, count: usize) -> Vec<String> {
        let mut replies = Vec::new();
        while replies.len() < count {
            let messages = self.take(&self.initiator_queue).await;
            assert!(!messages.is_empty(), "only {replies:?} arrived");
            let user = messages.iter().filter(|message| message.kind == MessageKind::User);
            replies.extend(user.map(|message| message.body.to_utf8().unwrap().to_owned()));
        }
        replies
    }
}

#[tokio::test]
async fn a_worker_answers_each_message_and_goes_when_idle() {
    let objects = objects().await;
    let _dialog = objects.begin_with(&["a", "b"]).await;
    let (echo, handled) = objects.echo();
    let worker = objects.broker.worker(objects.queue(), echo).drain_then_exit(Duration::from_millis(200));
    let reason = worker.run(std::future::pending()).await.unwrap();
    assert_eq!((reason, handled.load(Ordering::Relaxed)), (StopReason::Idle, 2));
    assert_eq!(objects.replies(2).await, ["a", "b"]);
}

#[tokio::test]
async fn a_worker_ends_conversations_that_the_peer_has_ended() {
    let objects = objects().await;
    objects.begin_with(&[]).await.end().await.unwrap();
    let dialog = objects.begin_with(&["a"]).await;
    dialog.end().await.unwrap();
    let handler = handler_fn(|_delivery| Box::pin(async { Ok(()) }));
    let worker = objects.broker.worker(objects.queue(), handler).drain_then_exit(Duration::from_millis(200));
    worker.run(std::future::pending()).await.unwrap();
    let open = "SELECT COUNT(*) AS n FROM sys.conversation_endpoints WHERE is_system = 0 AND state <> 'CD'";
    assert_eq!(objects.count(open).await, 0);
}

#[tokio::test]
async fn a_failing_message_is_parked_after_three_attempts_and_its_neighbours_are_answered_once() {
    let objects = objects().await;
    let _dialog = objects.begin_with(&["a", "fail", "b"]).await;
    let (echo, _) = objects.echo();
    let worker = objects.broker.worker(objects.queue(), echo).drain_then_exit(Duration::from_millis(200));
    worker.run(std::future::pending()).await.unwrap();
    assert_eq!(objects.replies(2).await, ["a", "b"]);
    let parked = "SELECT attempts AS n FROM ssbroker.dead_letters WHERE reason = 'the message says so'";
    assert_eq!(objects.count(parked).await, 3);
    assert_eq!(objects.count("SELECT COUNT(*) AS n FROM ssbroker.attempts").await, 0);
}

/// The acceptance of poison isolation: panics neither lose a message nor switch the queue off.
#[tokio::test]
async fn fifty_panics_leave_the_queue_on_and_the_poisoned_messages_parked() {
    let objects = objects().await;
    for _ in 0..17 {
        let _dialog = objects.begin_with(&["a", "panic"]).await;
    }
    let (echo, handled) = objects.echo();
    let worker = objects.broker.worker(objects.queue(), echo).drain_then_exit(Duration::from_millis(200));
    worker.run(std::future::pending()).await.unwrap();
    assert!(handled.load(Ordering::Relaxed) >= 51, "17 messages panic three times each");
    assert_eq!(objects.replies(17).await, ["a"; 17]);
    let parked = "SELECT COUNT(*) AS n FROM ssbroker.dead_letters WHERE reason LIKE 'the handler panicked%'";
    assert_eq!(objects.count(parked).await, 17);
    let enabled = "SELECT CAST(is_receive_enabled AS int) AS n FROM sys.service_queues WHERE name = ";
    assert_eq!(objects.count(&format!("{enabled}'{}'", objects.target_queue)).await, 1);
    println!("{} handler calls, 17 parked", handled.load(Ordering::Relaxed));
}

#[tokio::test]
async fn without_tables_a_poisoned_conversation_is_ended_with_an_error() {
    let objects = Objects::create(crate::support::start().await).await;
    let (echo, _) = objects.echo();
    let error = objects.broker.worker(objects.queue(), echo).run(std::future::pending()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ObjectMissing, "{error:?}");
    let _dialog = objects.begin_with(&["fail"]).await;
    let (echo, _) = objects.echo();
    let policy = PoisonPolicy::new(2, PoisonAction::EndConversation);
    let worker = objects.broker.worker(objects.queue(), echo).poison(policy);
    worker.drain_then_exit(Duration::from_millis(200)).run(std::future::pending()).await.unwrap();
    let received = objects.take(&objects.initiator_queue).await;
    let MessageKind::Error(error) = &received[0].kind else { panic!("{received:?}") };
    assert_eq!((error.code, error.description.as_str()), (1, "the message says so"));
}

#[tokio::test]
async fn a_doomed_transaction_counts_attempts_too_and_the_message_is_parked() {
    let objects = objects().await;
    let _dialog = objects.begin_with(&["x"]).await;
    let handler = handler_fn(|delivery| {
        Box::pin(async move {
            delivery.execute("SET XACT_ABORT ON; SELECT 1 / 0 AS n", &[]).await?;
            Ok(())
        })
    });
    let worker = objects.broker.worker(objects.queue(), handler).drain_then_exit(Duration::from_millis(200));
    worker.run(std::future::pending()).await.unwrap();
    assert_eq!(objects.count("SELECT COUNT(*) AS n FROM ssbroker.dead_letters").await, 1);
    let enabled = "SELECT CAST(is_receive_enabled AS int) AS n FROM sys.service_queues WHERE name = ";
    assert_eq!(objects.count(&format!("{enabled}'{}'", objects.target_queue)).await, 1);
}

#[tokio::test]
async fn a_shutdown_lets_a_handler_finish_and_cancels_it_after_the_budget() {
    let objects = objects().await;
    let _dialog = objects.begin_with(&["slow"]).await;
    let (begun, has_begun) = oneshot::channel();
    let begun = std::sync::Mutex::new(Some(begun));
    let handler = handler_fn(move |_delivery| {
        let begun = begun.lock().unwrap().take();
        Box::pin(async move {
            if let Some(begun) = begun {
                begun.send(()).unwrap();
            }
            std::future::pending().await
        })
    });
    let worker = objects.broker.worker(objects.queue(), handler).shutdown_budget(Duration::from_millis(50));
    let shutdown = async { has_begun.await.unwrap() };
    assert_eq!(worker.run(shutdown).await.unwrap(), StopReason::Shutdown);
    assert_eq!(objects.take(&objects.target_queue).await.len(), 1);
}
