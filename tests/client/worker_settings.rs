//! What a worker may be told beside its handler: time limits, breakers, and handlers for the services of one queue.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ssbroker::client::{
    Backoff, DeadLetterCause, Delivery, ErrorKind, Handler, HandlerError, LongHandler, PoisonAction,
    PoisonPolicy, RetrySchedule, WorkItem, handler_fn,
};

use super::work::{IDLE, drain, objects};

fn quickly() -> RetrySchedule {
    RetrySchedule::new(Backoff::new(Duration::from_millis(20), Duration::from_millis(80)), 10)
}

#[tokio::test]
async fn a_handler_that_takes_too_long_is_cancelled_and_its_message_parked_with_that_cause() {
    let objects = objects().await;
    let _dialog = objects.begin_with(&["quick", "slow", "quick"]).await;
    let handler = handler_fn(|delivery| {
        Box::pin(async move {
            if delivery.message().body.to_utf8()? == "slow" {
                std::future::pending::<()>().await;
            }
            Ok(())
        })
    });
    let policy = PoisonPolicy::new(2, PoisonAction::Park);
    let worker = objects.broker.worker(objects.queue(), handler).poison(policy);
    drain(worker.handler_timeout(Duration::from_millis(50))).await;
    let letters = objects.broker.dead_letters().list(None, 0, 10).await.unwrap();
    assert_eq!(letters.len(), 1);
    assert_eq!((letters[0].cause, letters[0].attempts), (DeadLetterCause::TimedOut, 2));
    assert!(letters[0].reason.contains("longer than 50ms"), "{}", letters[0].reason);
    assert!(objects.waiting().await.is_empty());
}

/// Never comes to an end.
struct Stuck;

impl LongHandler for Stuck {
    type Output = ();

    async fn work(&self, _item: &WorkItem) -> Result<(), HandlerError> {
        std::future::pending().await
    }

    async fn complete(&self, (): (), _delivery: &mut Delivery<'_>) -> Result<(), HandlerError> {
        Ok(())
    }
}

#[tokio::test]
async fn long_work_has_a_limit_too() {
    let objects = objects().await;
    let _dialog = objects.begin_with(&["x"]).await;
    let worker = objects.broker.long_worker(objects.queue(), Stuck).work_timeout(Duration::from_millis(50));
    let worker = worker.poison(PoisonPolicy::new(1, PoisonAction::Park)).drain_then_exit(IDLE);
    worker.run(std::future::pending()).await.unwrap();
    let letters = objects.broker.dead_letters().list(None, 0, 10).await.unwrap();
    assert_eq!((letters.len(), letters[0].cause), (1, DeadLetterCause::TimedOut));
}

#[tokio::test]
async fn a_message_that_gets_too_old_for_its_next_attempt_expires() {
    let objects = objects().await;
    let _dialog = objects.begin_with(&["fail"]).await;
    let (echo, handled) = objects.echo();
    let schedule = quickly().with_max_age(Duration::ZERO);
    let policy = PoisonPolicy::new(1, PoisonAction::Park).with_retries(schedule);
    drain(objects.broker.worker(objects.queue(), echo).poison(policy)).await;
    let letters = objects.broker.dead_letters().list(None, 0, 10).await.unwrap();
    assert_eq!((letters[0].cause, letters[0].attempts), (DeadLetterCause::Expired, 1));
    assert_eq!((handled.load(Ordering::Relaxed), objects.rows("retries").await), (1, 0));
}

/// Two failures open the breaker: the other three messages wait without an attempt until one gets through.
#[tokio::test]
async fn a_breaker_keeps_messages_from_a_handler_that_only_fails_until_it_works_again() {
    let objects = objects().await;
    for text in ["1", "2", "3", "4", "5"] {
        let _dialog = objects.begin_with(&[text]).await;
    }
    let (calls, attempts) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
    let (counted, seen) = (Arc::clone(&calls), Arc::clone(&attempts));
    let handler = handler_fn(move |delivery| {
        let (call, seen) = (counted.fetch_add(1, Ordering::Relaxed), Arc::clone(&seen));
        Box::pin(async move {
            if call < 2 {
                return Err("the other system is away".into());
            }
            seen.lock().unwrap().push(delivery.attempt());
            Ok(())
        })
    });
    let policy = PoisonPolicy::new(1, PoisonAction::Park).with_retries(quickly());
    let worker = objects.broker.worker(objects.queue(), handler).poison(policy);
    let worker = worker.breaker(2, Duration::from_millis(100));
    let handle = worker.handle();
    drain(worker).await;
    let mut attempts = attempts.lock().unwrap().clone();
    attempts.sort_unstable();
    assert_eq!(attempts, [1, 1, 1, 2, 2], "waiting is no attempt");
    assert_eq!((calls.load(Ordering::Relaxed), handle.stats().failures), (7, 2));
    assert_eq!((objects.rows("retries").await, objects.rows("dead_letters").await), (0, 0));
}

#[tokio::test]
async fn settings_that_contradict_each_other_are_refused_before_anything_is_received() {
    let objects = objects().await;
    let worker = || objects.broker.worker(objects.queue(), handler_fn(|_| Box::pin(async { Ok(()) })));
    let breaker = worker().breaker(3, Duration::from_secs(1)).run_forever().await.unwrap_err();
    let late = worker().stopped_within(Duration::from_secs(20)).run_forever().await.unwrap_err();
    assert_eq!((breaker.kind(), late.kind()), (ErrorKind::Config, ErrorKind::Config));
    assert!(late.to_string().contains("35s"), "{late}");
}

/// Notes what it is called for.
#[derive(Clone)]
struct Clerk(&'static str, Arc<Mutex<Vec<String>>>);

impl Clerk {
    fn note(&self, what: &str) {
        self.1.lock().unwrap().push(format!("{}: {what}", self.0));
    }
}

impl Handler for Clerk {
    async fn handle(&self, delivery: &mut Delivery<'_>) -> Result<(), HandlerError> {
        self.note(delivery.message().body.to_utf8()?);
        Ok(())
    }

    async fn on_end(&self, _delivery: &mut Delivery<'_>) -> Result<(), HandlerError> {
        self.note("end");
        Ok(())
    }
}

#[tokio::test]
async fn services_on_one_queue_have_handlers_of_their_own() {
    let objects = objects().await;
    let (queue, contract) = (&objects.target_queue, &objects.contract);
    objects
        .broker
        .batch(&format!("CREATE SERVICE [//second] ON QUEUE [{queue}] ([{contract}])"))
        .await
        .unwrap();
    for (service, text) in [(&*objects.target, "a"), ("//second", "b")] {
        let builder = objects.broker.dialog(&*objects.initiator, service).contract(&**contract);
        let (dialog, _) = builder.begin_with(&[objects.message(text)]).await.unwrap();
        dialog.end().await.unwrap();
    }
    let noted = Arc::new(Mutex::new(Vec::new()));
    let clerk = |name| Clerk(name, Arc::clone(&noted));
    let worker = objects.broker.worker(objects.queue(), clerk("main"));
    let worker = worker.on(&*objects.request, clerk("by type")).unwrap();
    drain(worker.at_service("//second", clerk("second")).unwrap()).await;
    let mut noted = noted.lock().unwrap().clone();
    noted.sort();
    assert_eq!(noted, ["by type: a", "main: end", "second: b", "second: end"]);
    let open = "SELECT COUNT(*) AS n FROM sys.conversation_endpoints WHERE state <> 'CD'";
    assert_eq!(objects.count(open).await, 0, "both conversations were ended");
}
