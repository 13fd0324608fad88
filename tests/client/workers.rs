//! Workers: replies, the broker's own messages, routing by type, and how a worker is steered and stops.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ssbroker::client::{
    Delivery, ErrorBody, ErrorKind, Handler, HandlerError, MessageKind, StopReason, UnknownType,
    WhenUnavailable, handler_fn,
};
use tokio::sync::{mpsc, oneshot};

use super::objects::Objects;
use super::work::{IDLE, drain, objects};
use crate::support::until;

#[tokio::test]
async fn a_worker_answers_each_message_and_goes_when_idle() {
    let objects = objects().await;
    let _dialog = objects.begin_with(&["a", "b"]).await;
    let (echo, handled) = objects.echo();
    let worker = objects.broker.worker(objects.queue(), echo).drain_then_exit(IDLE);
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
    let worker = objects.broker.worker(objects.queue(), handler).drain_then_exit(IDLE);
    worker.run(std::future::pending()).await.unwrap();
    let open = "SELECT COUNT(*) AS n FROM sys.conversation_endpoints WHERE is_system = 0 AND state <> 'CD'";
    assert_eq!(objects.count(open).await, 0);
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

#[tokio::test]
async fn c024_messages_go_to_the_handler_of_their_type_and_the_brokers_own_to_the_hooks() {
    #[derive(Clone)]
    struct Hooks(mpsc::UnboundedSender<String>);
    impl Handler for Hooks {
        async fn handle(&self, delivery: &mut Delivery<'_>) -> Result<(), HandlerError> {
            self.0.send(format!("unknown {}", delivery.message().body.to_utf8()?))?;
            Ok(())
        }

        async fn on_end(&self, delivery: &mut Delivery<'_>) -> Result<(), HandlerError> {
            delivery.execute("SELECT 1 AS n", &[]).await?;
            self.0.send("end".to_owned())?;
            Ok(())
        }

        async fn on_error(
            &self,
            _delivery: &mut Delivery<'_>,
            error: &ErrorBody,
        ) -> Result<(), HandlerError> {
            self.0.send(error.to_string())?;
            Ok(())
        }
    }
    let objects = objects().await;
    objects.begin_with(&["a"]).await.end().await.unwrap();
    objects.begin_with(&[]).await.end_with_error(7, "changed my mind").await.unwrap();
    let dialog = objects.begin_with(&["b"]).await;
    dialog.send(&*objects.end_of_stream, Vec::new()).await.unwrap();
    dialog.end_with_error(8, "gone").await.unwrap();
    let (heard, mut hears) = mpsc::unbounded_channel();
    let requests = heard.clone();
    let request = handler_fn(move |delivery| {
        let requests = requests.clone();
        Box::pin(async move { Ok(requests.send(format!("request {}", delivery.message().body.to_utf8()?))?) })
    });
    let worker = objects.broker.worker(objects.queue(), Hooks(heard)).on(&*objects.request, request).unwrap();
    drain(worker).await;
    let mut said = Vec::new();
    while let Ok(text) = hears.try_recv() {
        said.push(text);
    }
    said.sort();
    assert_eq!(said, ["conversation error 8: gone", "end", "request a", "request b", "unknown "]);
    let open = "SELECT COUNT(*) AS n FROM sys.conversation_endpoints WHERE is_system = 0 AND state <> 'CD'";
    assert_eq!(objects.count(open).await, 0);
}

#[tokio::test]
async fn c024_an_unknown_type_is_refused_or_ends_its_conversation_or_is_ignored_but_never_ends_the_worker() {
    for policy in [UnknownType::Refuse, UnknownType::EndWithError, UnknownType::Ignore] {
        let objects = objects().await;
        let _dialog = objects.begin_with(&["a"]).await;
        drain(objects.broker.worker(objects.queue(), policy)).await;
        let parked =
            "SELECT COUNT(*) AS n FROM ssbroker.dead_letters WHERE cause = 'refused' AND attempts = 1";
        assert_eq!(objects.count(parked).await, i32::from(policy == UnknownType::Refuse));
        assert!(objects.waiting().await.is_empty());
        if policy == UnknownType::EndWithError {
            let received = objects.take(&objects.initiator_queue).await;
            let MessageKind::Error(error) = &received[0].kind else { panic!("{received:?}") };
            assert!(error.description.contains(&objects.request), "{error}");
        }
    }
}

#[tokio::test]
async fn a_paused_worker_takes_nothing_and_a_resumed_one_goes_on() {
    let objects = objects().await;
    let (echo, handled) = objects.echo();
    let worker = objects.broker.worker(objects.queue(), echo);
    let handle = worker.handle();
    let running = tokio::spawn(worker.run_forever());
    let _first = objects.begin_with(&["a"]).await;
    assert_eq!(objects.replies(1).await, ["a"]);
    handle.pause();
    // A receive that was under way takes the message and gives it back, so another reader gets it in any case.
    let _second = objects.begin_with(&["b"]).await;
    let mut other = objects.broker.receive(objects.queue()).open().await.unwrap();
    let left = other.next().await.unwrap();
    assert_eq!(left.messages()[0].body.to_utf8().unwrap(), "b");
    left.commit().await.unwrap();
    drop(other);
    assert_eq!((handled.load(Ordering::Relaxed), handle.is_paused()), (1, true));
    handle.resume();
    let _third = objects.begin_with(&["c"]).await;
    assert_eq!(objects.replies(1).await, ["c"]);
    handle.stop();
    assert_eq!(running.await.unwrap().unwrap(), StopReason::Shutdown);
    let stats = handle.stats();
    assert_eq!((stats.batches, stats.messages, stats.failures, stats.parked), (2, 2, 0, 0));
}

/// Case C029: what was sent while the consumer was away is handled when it is back, in the order of each dialog.
#[tokio::test]
async fn c029_a_hundred_messages_sent_while_the_worker_was_away_are_handled_in_order() {
    let objects = objects().await;
    let (echo, _) = objects.echo();
    drain(objects.broker.worker(objects.queue(), echo)).await;
    let texts: Vec<String> = (0..100).map(|number| number.to_string()).collect();
    let dialog = objects.begin_with(&texts.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let (echo, _) = objects.echo();
    drain(objects.broker.worker(objects.queue(), echo)).await;
    assert_eq!(objects.replies(100).await, texts);
    drop(dialog);
}

/// Case C027: a queue that is dropped under a waiting worker is waited for; a worker may also be told to stop then.
#[tokio::test]
async fn c027_a_worker_recovers_when_its_dropped_queue_is_made_again() {
    let objects = objects().await;
    for policy in [WhenUnavailable::Wait, WhenUnavailable::Stop] {
        let (echo, _) = objects.echo();
        let worker = objects.broker.worker(objects.queue(), echo).when_unavailable(policy);
        let handle = worker.handle();
        let running = tokio::spawn(worker.run_forever());
        let _dialog = objects.begin_with(&["a"]).await;
        assert_eq!(objects.replies(1).await, ["a"]);
        objects.broker.batch(&objects.drop_target()).await.unwrap();
        if policy == WhenUnavailable::Stop {
            assert_eq!(running.await.unwrap().unwrap_err().kind(), ErrorKind::ObjectMissing);
            break;
        }
        until("the dropped queue is noticed", || handle.stats().troubles > 0).await;
        objects.broker.batch(&objects.make_target()).await.unwrap();
        objects.take(&objects.initiator_queue).await;
        let _dialog = objects.begin_with(&["b"]).await;
        assert_eq!(objects.replies(1).await, ["b"]);
        handle.stop();
        assert_eq!(running.await.unwrap().unwrap(), StopReason::Shutdown);
    }
}

impl Objects {
    fn drop_target(&self) -> String {
        format!("DROP SERVICE [{}]; DROP QUEUE [{}];", self.target, self.target_queue)
    }

    fn make_target(&self) -> String {
        let Self { target, target_queue, contract, .. } = self;
        format!(
            "CREATE QUEUE [{target_queue}]; CREATE SERVICE [{target}] ON QUEUE [{target_queue}] ([{contract}]);"
        )
    }
}

#[tokio::test]
async fn a_missing_queue_at_the_start_ends_the_worker_at_once() {
    let objects = objects().await;
    let queue = ssbroker::client::QueueName::in_schema("dbo", "nowhere").unwrap();
    let (echo, _) = objects.echo();
    let error = objects.broker.worker(queue, echo).run_forever().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ObjectMissing, "{error:?}");
}

#[tokio::test]
async fn the_batch_size_grows_while_a_backlog_is_quickly_worked_off() {
    let objects = objects().await;
    for _ in 0..3 {
        let _dialog = objects.begin_with(&vec!["x"; 400]).await;
    }
    let seen = Arc::new(Mutex::new(0));
    let count = Arc::clone(&seen);
    let handler = handler_fn(move |_delivery| {
        *count.lock().unwrap() += 1;
        Box::pin(async { Ok(()) })
    });
    let worker = objects.broker.worker(objects.queue(), handler);
    let handle = worker.handle();
    drain(worker).await;
    assert_eq!((*seen.lock().unwrap(), handle.stats().messages), (1200, 1200));
    assert!(handle.stats().batches < 1200 / 64, "{:?}", handle.stats());
}
