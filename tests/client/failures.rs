//! Failing handlers: attempts, isolation, doomed transactions, later attempts, the ledger, and what is nobody's fault.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ssbroker::client::{
    Backoff, Body, Broker, DeadLetterCause, ErrorKind, HandlerError, MessageKind, MessageTypeName,
    OutgoingMessage, PoisonAction, PoisonPolicy, QueueName, RetrySchedule, handler_fn,
};
use tokio::io::{AsyncBufReadExt, BufReader};

use super::objects::Objects;
use super::work::{IDLE, child_test, drain, objects};

#[tokio::test]
async fn a_failing_message_is_parked_after_three_attempts_and_its_neighbours_are_answered_once() {
    let objects = objects().await;
    let _dialog = objects.begin_with(&["a", "fail", "b"]).await;
    let (echo, _) = objects.echo();
    let worker = objects.broker.worker(objects.queue(), echo).drain_then_exit(IDLE);
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
    let worker = objects.broker.worker(objects.queue(), echo).drain_then_exit(IDLE);
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
    worker.drain_then_exit(IDLE).run(std::future::pending()).await.unwrap();
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
    let worker = objects.broker.worker(objects.queue(), handler).drain_then_exit(IDLE);
    worker.run(std::future::pending()).await.unwrap();
    assert_eq!(objects.count("SELECT COUNT(*) AS n FROM ssbroker.dead_letters").await, 1);
    let enabled = "SELECT CAST(is_receive_enabled AS int) AS n FROM sys.service_queues WHERE name = ";
    assert_eq!(objects.count(&format!("{enabled}'{}'", objects.target_queue)).await, 1);
}

/// A failing message is handled alone from its second attempt on: its ninety-nine neighbours are handled at most twice.
#[tokio::test]
async fn a_failing_message_does_not_make_its_whole_batch_be_handled_again_and_again() {
    let objects = objects().await;
    let mut texts = vec!["x"; 100];
    texts[60] = "fail";
    let _dialog = objects.begin_with(&texts).await;
    let (echo, handled) = objects.echo();
    drain(objects.broker.worker(objects.queue(), echo).max_messages(100)).await;
    let handled = handled.load(Ordering::Relaxed);
    println!("{handled} handler calls for 100 messages with one poison message among them");
    assert!((101..=170).contains(&handled), "{handled}");
    assert_eq!((objects.replies(99).await.len(), objects.rows("dead_letters").await), (99, 1));
}

/// Case C013: control characters, as a reference and as a raw byte.
#[tokio::test]
async fn c013_a_body_that_xml_cannot_hold_is_a_dead_letter_at_once_with_its_bytes_and_the_loop_goes_on() {
    let objects = objects().await;
    let bodies: [&[u8]; 4] = [b"<r/>", b"<r a=\"x&#x4;\"/>", b"<r>\0</r>", b"<r>ok</r>"];
    let message_type = MessageTypeName::new(&*objects.request).unwrap();
    let messages = bodies.map(|body| OutgoingMessage::new(message_type.clone(), body));
    let builder = objects.broker.dialog(&*objects.initiator, &*objects.target).contract(&*objects.contract);
    builder.begin_with(&messages).await.unwrap();
    let errors = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&errors);
    let reply = MessageTypeName::new(&*objects.reply).unwrap();
    let handler = handler_fn(move |delivery| {
        let (seen, reply) = (Arc::clone(&seen), reply.clone());
        Box::pin(async move {
            let read = delivery.message().read_body(Body::to_xml_text);
            let text = read.inspect_err(|error| seen.lock().unwrap().push(error.clone()))?;
            Ok(delivery.reply(&reply, Body::utf8(text)).await?)
        })
    });
    let policy = PoisonPolicy::default().with_retries(RetrySchedule::default());
    drain(objects.broker.worker(objects.queue(), handler).poison(policy)).await;
    assert_eq!(objects.replies(2).await, ["<r/>", "<r>ok</r>"]);
    assert_eq!((objects.rows("retries").await, objects.rows("attempts").await), (0, 0));
    let letters = objects.broker.dead_letters().list(None, 0, 10).await.unwrap();
    let errors = std::mem::take(&mut *errors.lock().unwrap());
    assert_eq!((letters.len(), errors.len()), (2, 2), "each is read once and never again");
    for ((letter, error), bytes) in letters.iter().zip(errors.iter()).zip(&bodies[1..3]) {
        assert_eq!((letter.cause, letter.attempts), (DeadLetterCause::Refused, 1));
        assert!(letter.reason.contains("the body is not xml"), "{}", letter.reason);
        let kept = objects.broker.dead_letters().get(letter.id).await.unwrap().unwrap();
        assert_eq!(kept.body.unwrap().as_bytes(), *bytes);
        assert_eq!(
            (error.kind(), error.conversation()),
            (ErrorKind::BodyUnreadable, Some(letter.conversation))
        );
        assert_eq!(error.body().unwrap().as_bytes(), *bytes);
    }
}

/// Messages that are refused at once are put aside in the batch; the others are handled at most twice all the same.
#[tokio::test]
async fn many_refused_messages_in_one_batch_cost_each_neighbour_at_most_one_more_call() {
    let objects = objects().await;
    let texts: Vec<&str> = (0..60).map(|at| if at % 6 == 5 { "refuse" } else { "x" }).collect();
    let _dialog = objects.begin_with(&texts).await;
    let (echo, handled) = objects.echo();
    drain(objects.broker.worker(objects.queue(), echo).max_messages(100)).await;
    let handled = handled.load(Ordering::Relaxed);
    assert!((60..=120).contains(&handled), "{handled}");
    assert_eq!((objects.replies(50).await.len(), objects.rows("dead_letters").await), (50, 10));
    let refused = "SELECT COUNT(*) AS n FROM ssbroker.dead_letters WHERE cause = 'refused' AND attempts = 1";
    assert_eq!(objects.count(refused).await, 10);
}

/// The server switches a queue off after five roll backs in a row; six messages that each doom their transaction must not
/// add up to that.
#[tokio::test]
async fn l5_messages_that_doom_their_transactions_at_the_same_time_do_not_switch_the_queue_off() {
    let objects = objects().await;
    for _ in 0..6 {
        let _dialog = objects.begin_with(&["x"]).await;
    }
    let handler = handler_fn(|delivery| {
        Box::pin(async move {
            delivery.execute("SET XACT_ABORT ON; SELECT 1 / 0 AS n", &[]).await?;
            Ok(())
        })
    });
    drain(objects.broker.worker(objects.queue(), handler)).await;
    assert!(objects.is_on().await);
    assert_eq!(objects.rows("dead_letters").await, 6);
}

/// A connection that breaks under a handler is not the message's fault: nothing is counted.
#[tokio::test]
async fn a_killed_session_does_not_count_as_an_attempt() {
    let objects = objects().await;
    let _dialog = objects.begin_with(&["x"]).await;
    let (broker, calls) = (objects.broker.clone(), Arc::new(AtomicUsize::new(0)));
    let seen = Arc::clone(&calls);
    let handler = handler_fn(move |delivery| {
        let (broker, call) = (broker.clone(), seen.fetch_add(1, Ordering::Relaxed));
        Box::pin(async move {
            if call < 4 {
                let results = delivery.execute("SELECT CAST(@@SPID AS int) AS n", &[]).await?;
                let session: i32 = results.first_row().unwrap().get("n")?;
                broker.batch(&format!("KILL {session}")).await?;
                delivery.execute("SELECT 1 AS n", &[]).await?;
            }
            Ok(())
        })
    });
    drain(objects.broker.worker(objects.queue(), handler)).await;
    assert_eq!(calls.load(Ordering::Relaxed), 5, "a connection is lost four times, then all is well");
    assert_eq!((objects.rows("dead_letters").await, objects.rows("attempts").await), (0, 0));
}

fn quickly(most: u32) -> PoisonPolicy {
    let pauses = Backoff::new(Duration::from_millis(20), Duration::from_millis(80));
    PoisonPolicy::new(1, PoisonAction::Park).with_retries(RetrySchedule::new(pauses, most))
}

#[tokio::test]
async fn a_message_that_fails_for_now_comes_back_later_and_its_neighbours_do_not_wait() {
    let objects = objects().await;
    let _dialog = objects.begin_with(&["later", "now"]).await;
    let order = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&order);
    let handler = handler_fn(move |delivery| {
        let text = delivery.message().body.to_utf8().unwrap().to_owned();
        let (seen, attempt) = (Arc::clone(&seen), delivery.attempt());
        Box::pin(async move {
            if text == "later" && attempt < 3 {
                return Err(HandlerError::retry_after(Duration::from_millis(30), "not yet"));
            }
            seen.lock().unwrap().push(format!("{text} at attempt {attempt}"));
            Ok(())
        })
    });
    let worker = objects.broker.worker(objects.queue(), handler).poison(quickly(5));
    let handle = worker.handle();
    drain(worker).await;
    assert_eq!(*order.lock().unwrap(), ["now at attempt 1", "later at attempt 3"]);
    assert_eq!((objects.rows("retries").await, objects.rows("dead_letters").await), (0, 0));
    assert_eq!(handle.stats().put_off, 2);
}

#[tokio::test]
async fn after_the_last_later_attempt_a_message_is_parked_with_that_cause() {
    let objects = objects().await;
    let _dialog = objects.begin_with(&["fail"]).await;
    let (echo, handled) = objects.echo();
    drain(objects.broker.worker(objects.queue(), echo).poison(quickly(2))).await;
    assert_eq!(handled.load(Ordering::Relaxed), 3, "one attempt at once and two later ones");
    let parked = "SELECT attempts AS n FROM ssbroker.dead_letters WHERE cause = 'retries'";
    assert_eq!((objects.count(parked).await, objects.rows("retries").await), (3, 0));
}

#[tokio::test]
async fn a_later_attempt_that_dooms_its_transaction_is_put_off_again_and_parked_in_the_end() {
    let objects = objects().await;
    let _dialog = objects.begin_with(&["x"]).await;
    let handler = handler_fn(|delivery| {
        Box::pin(async move {
            if delivery.attempt() == 1 {
                return Err("first an ordinary failure".into());
            }
            delivery.execute("SET XACT_ABORT ON; SELECT 1 / 0 AS n", &[]).await?;
            Ok(())
        })
    });
    drain(objects.broker.worker(objects.queue(), handler).poison(quickly(2))).await;
    assert_eq!((objects.rows("dead_letters").await, objects.rows("retries").await), (1, 0));
    assert!(objects.is_on().await);
}

const LEDGER: &str = "SSBROKER_TEST_LEDGER";

/// The ledger's promise: a message that takes its whole process down is parked after three deaths, and its neighbours are
/// answered once.
#[tokio::test]
async fn l5_with_a_ledger_a_message_that_kills_its_process_is_parked_after_three_deaths() {
    let objects = objects().await;
    let _dialog = objects.begin_with(&["a", "kill", "b"]).await;
    let value = format!("{}\n{}\n{}", objects.connection_string(), objects.target_queue, objects.reply);
    let mut deaths = 0;
    loop {
        let mut child = child_test("client::failures::ledger_child", LEDGER, &value);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut is_deadly = false;
        while let Some(line) = lines.next_line().await.unwrap() {
            if line.contains("about to die") {
                is_deadly = true;
                // SIGKILL.
                child.kill().await.unwrap();
            }
        }
        if !is_deadly {
            assert!(child.wait().await.unwrap().success());
            break;
        }
        deaths += 1;
    }
    println!("{deaths} processes killed by one message");
    assert_eq!(deaths, 3);
    assert_eq!(objects.replies(2).await, ["a", "b"]);
    let parked = "SELECT attempts AS n FROM ssbroker.dead_letters WHERE cause = 'interrupted'";
    assert_eq!((objects.count(parked).await, objects.rows("attempts").await), (3, 0));
    assert!(objects.is_on().await);
}

/// Not a test: the process that dies.
#[tokio::test]
#[ignore = "runs as a child process of another test"]
async fn ledger_child() {
    let Ok(value) = std::env::var(LEDGER) else { return };
    let parts: Vec<&str> = value.lines().collect();
    let broker = Broker::connect(parts[0]).await.unwrap();
    let reply = ssbroker::client::MessageTypeName::new(parts[2]).unwrap();
    let handler = handler_fn(move |delivery| {
        let reply = reply.clone();
        Box::pin(async move {
            let body = delivery.message().body.clone();
            if body.as_bytes() == b"kill" {
                println!("about to die");
                std::future::pending::<()>().await;
            }
            Ok(delivery.reply(&reply, body).await?)
        })
    });
    let queue = QueueName::in_schema("dbo", parts[1]).unwrap();
    let worker = broker.worker(queue, handler).poison(PoisonPolicy::default().with_ledger());
    drain(worker).await;
}

#[tokio::test]
async fn a_ledger_costs_one_request_for_a_batch_and_leaves_nothing_behind() {
    let objects = objects().await;
    let _dialog = objects.begin_with(&vec!["x"; 150]).await;
    let handler = handler_fn(|_delivery| Box::pin(async { Ok(()) }));
    let worker = objects.broker.worker(objects.queue(), handler).max_messages(50);
    let before = objects.broker.requests_sent();
    drain(worker.poison(PoisonPolicy::default().with_ledger())).await;
    println!("{} requests for 3 batches with a ledger", objects.broker.requests_sent() - before);
    assert_eq!(objects.rows("attempts").await, 0);
}

/// A shutdown that cancels a handler does not cost its message an attempt, ledger or not.
#[tokio::test]
async fn a_cancelled_handler_costs_no_attempt_even_with_a_ledger() {
    let objects = objects().await;
    let _dialog = objects.begin_with(&["slow", "x"]).await;
    for _ in 0..4 {
        let begun = Arc::new(tokio::sync::Notify::new());
        let has_begun = Arc::clone(&begun);
        let handler = handler_fn(move |_delivery| {
            begun.notify_one();
            Box::pin(std::future::pending())
        });
        let policy = PoisonPolicy::default().with_ledger();
        let worker = objects.broker.worker(objects.queue(), handler).poison(policy);
        let worker = worker.shutdown_budget(Duration::from_millis(10));
        worker.run(has_begun.notified()).await.unwrap();
        assert_eq!(objects.rows("attempts").await, 0);
    }
    assert_eq!(objects.waiting().await, ["slow", "x"]);
}

impl Objects {
    fn connection_string(&self) -> String {
        self.backend().connection_string()
    }
}
