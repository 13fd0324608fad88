//! What a worker does when the server ends its transaction, refuses to store, or does not answer: nothing is lost, nothing
//! runs outside its transaction, and the message at fault is counted.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ssbroker::client::{
    Backoff, ConversationHandle, DeadLetterCause, Delivery, ErrorKind, HandlerError, LongHandler,
    MessageKind, MessageTypeName, PoisonAction, PoisonPolicy, QueueName, Receiver, RetrySchedule, StopReason,
    WorkItem, handler_fn,
};
use ssbroker_emulator::{Fault, Trigger};

use super::objects::Objects;
use super::work::{IDLE, drain};
use crate::support::{Embedded, until};

/// What a handler of these tests runs for the fault plan to strike at.
const PROBE: &str = "SELECT 42 AS probe";

struct Ground {
    embedded: Arc<Embedded>,
    objects: Objects,
}

impl std::ops::Deref for Ground {
    type Target = Objects;

    fn deref(&self) -> &Objects {
        &self.objects
    }
}

impl Ground {
    async fn start() -> Self {
        let embedded = Arc::new(Embedded::start().await);
        let objects = Objects::create(Arc::clone(&embedded) as Arc<dyn crate::support::Backend>).await;
        objects.create_tables().await;
        Self { embedded, objects }
    }

    /// Lets each probe make its session a deadlock's victim.
    fn deadlock_at_probes(&self, times: u64) {
        let probes = Trigger::statement().containing(PROBE).times(times);
        self.embedded.emulator.faults().plan(probes, Fault::Deadlock);
    }

    async fn receiver(&self) -> Receiver {
        self.broker.receive(self.queue()).open().await.unwrap()
    }

    /// The messages that are left on the target's queue.
    async fn left(&self) -> usize {
        self.take(&self.target_queue).await.len()
    }
}

/// Answers each message with its text once its work is done, which is nothing.
struct Answer(MessageTypeName);

impl LongHandler for Answer {
    type Output = String;

    async fn work(&self, item: &WorkItem) -> Result<String, HandlerError> {
        Ok(item.message().body.to_utf8()?.to_owned())
    }

    async fn complete(&self, output: String, delivery: &mut Delivery<'_>) -> Result<(), HandlerError> {
        Ok(delivery.reply(&self.0, output.into_bytes()).await?)
    }
}

impl Ground {
    async fn drain_long_worker(&self) {
        let answer = Answer(MessageTypeName::new(&*self.reply).unwrap());
        let worker = self.broker.long_worker(self.queue(), answer).drain_then_exit(IDLE);
        assert_eq!(worker.run(std::future::pending()).await.unwrap(), StopReason::Idle);
    }

    async fn sorted_replies(&self, count: usize) -> Vec<String> {
        let mut replies = self.replies(count).await;
        replies.sort_unstable();
        replies
    }
}

const STORE: &str = "INSERT INTO [ssbroker].[work_items]";

/// The commit has happened, the RECEIVE behind it too, and then storing fails: what was received goes back.
#[tokio::test]
async fn a_message_that_could_not_be_stored_behind_a_commit_goes_back_to_the_queue() {
    let ground = Ground::start().await;
    for text in ["a", "b", "c"] {
        let _dialog = ground.begin_with(&[text]).await;
    }
    let second = Trigger::statement().containing(STORE).nth(2);
    let planned = ground.embedded.emulator.faults().plan(second, Fault::error(1222));
    ground.drain_long_worker().await;
    assert_eq!(
        (planned.struck(), ground.sorted_replies(3).await),
        (1, ["a", "b", "c"].map(str::to_owned).to_vec())
    );
}

/// Giving back does not count as a roll back, five of which switch a queue off.
#[tokio::test]
async fn storing_that_fails_more_often_than_five_times_does_not_switch_the_queue_off() {
    let ground = Ground::start().await;
    let _dialog = ground.begin_with(&["a"]).await;
    let planned = ground
        .embedded
        .emulator
        .faults()
        .plan(Trigger::statement().containing(STORE).times(7), Fault::error(1222));
    ground.drain_long_worker().await;
    assert_eq!((planned.struck(), ground.is_on().await), (7, true));
    assert_eq!(ground.replies(1).await, ["a"]);
}

#[tokio::test]
async fn after_the_server_has_ended_the_transaction_a_batch_does_nothing_more() {
    let ground = Ground::start().await;
    let _dialog = ground.begin_with(&["a"]).await;
    let mut receiver = ground.receiver().await;
    let mut batch = receiver.next().await.unwrap();
    let message = batch.messages()[0].clone();
    ground.deadlock_at_probes(1);
    assert_eq!(batch.execute(PROBE, &[]).await.unwrap_err().server_number(), Some(1205));
    let reply = MessageTypeName::new(&*ground.reply).unwrap();
    for error in [
        batch.send(message.conversation, &reply, b"stray".to_vec()).await.unwrap_err(),
        batch.execute("SELECT 1 AS n", &[]).await.unwrap_err(),
        batch.keep_first(message.group, 1).await.unwrap_err(),
        batch.commit().await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::TransactionDoomed, "{error:?}");
    }
    drop(receiver);
    assert_eq!((ground.left().await, ground.take(&ground.initiator_queue).await.len()), (1, 0));
}

/// An error that leaves the transaction open is the handler's own to treat.
#[tokio::test]
async fn an_error_that_leaves_the_transaction_open_does_not_end_a_batch() {
    let ground = Ground::start().await;
    let _dialog = ground.begin_with(&["a"]).await;
    let mut receiver = ground.receiver().await;
    let mut batch = receiver.next().await.unwrap();
    let conversation = batch.messages()[0].conversation;
    assert_eq!(batch.execute("SELECT 1 / 0 AS n", &[]).await.unwrap_err().server_number(), Some(8134));
    let reply = MessageTypeName::new(&*ground.reply).unwrap();
    batch.send(conversation, &reply, b"kept".to_vec()).await.unwrap();
    batch.commit().await.unwrap();
    assert_eq!(ground.replies(1).await, ["kept"]);
}

/// A handler that treats such an error itself is at fault all the same: it and nobody else is counted.
#[tokio::test]
async fn a_handler_that_hides_the_end_of_its_transaction_is_counted_and_parked() {
    let ground = Ground::start().await;
    let _dialog = ground.begin_with(&["a", "hide", "b"]).await;
    ground.deadlock_at_probes(u64::MAX);
    let reply = MessageTypeName::new(&*ground.reply).unwrap();
    let handler = handler_fn(move |delivery| {
        let reply = reply.clone();
        Box::pin(async move {
            let text = delivery.message().body.to_utf8()?.to_owned();
            if text == "hide" {
                let _treated = delivery.execute(PROBE, &[]).await;
                let _treated = delivery.reply(&reply, b"stray".to_vec()).await;
                return Ok(());
            }
            Ok(delivery.reply(&reply, text.into_bytes()).await?)
        })
    });
    drain(ground.broker.worker(ground.queue(), handler)).await;
    assert_eq!(ground.sorted_replies(2).await, ["a", "b"]);
    assert!(ground.take(&ground.initiator_queue).await.is_empty());
    assert_eq!((ground.rows("dead_letters").await, ground.is_on().await), (1, true));
    let letter = &ground.broker.dead_letters().list(None, 0, 10).await.unwrap()[0];
    assert_eq!((letter.cause, letter.attempts), (DeadLetterCause::Interrupted, 3));
}

/// Whether the handler tells of it or not.
#[tokio::test]
async fn a_handler_that_leaves_a_transaction_open_is_counted_and_parked() {
    for hides in [true, false] {
        let ground = Ground::start().await;
        let _dialog = ground.begin_with(&["a", "open", "b"]).await;
        let reply = MessageTypeName::new(&*ground.reply).unwrap();
        let handler = handler_fn(move |delivery| {
            let reply = reply.clone();
            Box::pin(async move {
                let text = delivery.message().body.to_utf8()?.to_owned();
                if text == "open" {
                    let begun = delivery.execute("BEGIN TRANSACTION", &[]).await;
                    return if hides { Ok(()) } else { Ok(begun.map(drop)?) };
                }
                Ok(delivery.reply(&reply, text.into_bytes()).await?)
            })
        });
        drain(ground.broker.worker(ground.queue(), handler)).await;
        assert_eq!(ground.sorted_replies(2).await, ["a", "b"], "{hides}");
        assert_eq!((ground.rows("dead_letters").await, ground.is_on().await), (1, true), "{hides}");
    }
}

/// A statement that takes too long is the handler's fault, whatever else a silent server may mean.
#[tokio::test]
async fn a_statement_that_takes_too_long_is_counted_and_its_message_parked() {
    for hides in [true, false] {
        let ground = Ground::start().await;
        let _dialog = ground.begin_with(&["a", "slow", "b"]).await;
        let reply = MessageTypeName::new(&*ground.reply).unwrap();
        let handler = handler_fn(move |delivery| {
            let reply = reply.clone();
            Box::pin(async move {
                let text = delivery.message().body.to_utf8()?.to_owned();
                if text == "slow" {
                    let done = delivery.execute("WAITFOR DELAY '01:00:00'", &[]).await;
                    return if hides { Ok(()) } else { Ok(done.map(drop)?) };
                }
                Ok(delivery.reply(&reply, text.into_bytes()).await?)
            })
        });
        let worker = ground.broker.worker(ground.queue(), handler);
        drain(worker.statement_timeout(Duration::from_secs(2))).await;
        assert_eq!(ground.sorted_replies(2).await, ["a", "b"], "{hides}");
        assert_eq!((ground.rows("dead_letters").await, ground.is_on().await), (1, true), "{hides}");
    }
}

fn put_off_for(pause: Duration, most: u32) -> PoisonPolicy {
    let schedule = RetrySchedule::new(Backoff::new(pause, pause), most);
    PoisonPolicy::new(1, PoisonAction::Park).with_retries(schedule)
}

/// A program that drains its queue stays for what it has put off; meanwhile it goes on reading.
#[tokio::test]
async fn a_draining_worker_reads_its_queue_as_long_as_it_waits_for_what_was_put_off() {
    let ground = Ground::start().await;
    let _dialog = ground.begin_with(&["fail"]).await;
    let (echo, handled) = ground.echo();
    let worker = ground.broker.worker(ground.queue(), echo).poison(put_off_for(Duration::from_secs(3600), 3));
    let handle = worker.handle();
    let running = tokio::spawn(worker.readers(2).drain_then_exit(IDLE).run(std::future::pending()));
    until("the message is put off", || handle.stats().put_off == 1).await;
    // Longer than the readers' patience; nothing announces that it is over.
    tokio::time::sleep(IDLE * 3).await;
    let _dialog = ground.begin_with(&["now"]).await;
    until("the queue is read", || handled.load(Ordering::Relaxed) == 2).await;
    assert!(!running.is_finished());
    ground.broker.batch("DELETE FROM ssbroker.retries").await.unwrap();
    assert_eq!(running.await.unwrap().unwrap(), StopReason::Idle);
    assert_eq!(ground.replies(1).await, ["now"]);
}

/// The same for stored messages.
#[tokio::test]
async fn a_draining_long_worker_reads_its_queue_as_long_as_items_wait() {
    let ground = Ground::start().await;
    let row = format!(
        "INSERT INTO ssbroker.work_items (queue_name, stored, due, attempts, conversation_group_id, conversation_handle, \
         message_sequence_number, service_name, service_contract_name, message_type_name, validation, \
         message_enqueue_time, priority, message_body) VALUES (N'{}', SYSUTCDATETIME(), DATEADD(hour, 1, \
         SYSUTCDATETIME()), 0, NEWID(), NEWID(), 0, N's', N'c', N't', N'N', SYSUTCDATETIME(), 5, NULL)",
        ground.queue().quoted()
    );
    ground.broker.batch(&row).await.unwrap();
    let answer = Answer(MessageTypeName::new(&*ground.reply).unwrap());
    let worker = ground.broker.long_worker(ground.queue(), answer).drain_then_exit(IDLE);
    let running = tokio::spawn(worker.run(std::future::pending()));
    // Longer than the storer's patience; nothing announces that it is over.
    tokio::time::sleep(IDLE * 3).await;
    let _dialog = ground.begin_with(&["now"]).await;
    assert_eq!(ground.replies(1).await, ["now"]);
    assert!(!running.is_finished());
    ground.broker.batch("DELETE FROM ssbroker.work_items").await.unwrap();
    assert_eq!(running.await.unwrap().unwrap(), StopReason::Idle);
}

/// A retry has no message on the queue, and its conversation may be gone: nobody looks for it there.
#[tokio::test]
async fn a_retry_that_dooms_its_transactions_does_not_send_the_worker_to_a_conversation_that_is_gone() {
    let ground = Ground::start().await;
    let _dialog = ground.begin_with(&["x"]).await;
    let conversation: Arc<Mutex<Option<ConversationHandle>>> = Arc::default();
    let (noted, broker) = (Arc::clone(&conversation), ground.broker.clone());
    let handler = handler_fn(move |delivery| {
        let (noted, broker) = (Arc::clone(&noted), broker.clone());
        Box::pin(async move {
            let handle = delivery.message().conversation;
            if delivery.attempt() == 1 {
                *noted.lock().unwrap() = Some(handle);
                return Err("first an ordinary failure".into());
            }
            let _gone = broker.batch(&format!("END CONVERSATION '{handle}' WITH CLEANUP")).await;
            delivery.execute("SET XACT_ABORT ON; SELECT 1 / 0 AS n", &[]).await?;
            Ok(())
        })
    });
    let policy = put_off_for(Duration::from_millis(20), 5);
    drain(ground.broker.worker(ground.queue(), handler).poison(policy)).await;
    assert!(conversation.lock().unwrap().is_some());
    assert_eq!((ground.rows("dead_letters").await, ground.rows("retries").await), (1, 0));
}

/// A wait that ends without messages ends its transaction, and that is no roll back.
#[tokio::test]
async fn an_idle_receiver_does_not_keep_a_transaction_open() {
    let ground = Ground::start().await;
    let wait = Duration::from_millis(20);
    let mut receiver = ground.broker.receive(ground.queue()).wait(wait).open().await.unwrap();
    let counters = || ground.embedded.emulator.broker_counters();
    let before = counters();
    let waiting = tokio::spawn(async move { receiver.next().await.map(|batch| batch.messages().len()) });
    until("three waits are over", || counters().commits >= before.commits + 3).await;
    assert_eq!(counters().rollbacks, before.rollbacks);
    let _dialog = ground.begin_with(&["a"]).await;
    assert_eq!(waiting.await.unwrap().unwrap(), 1);
}

/// What was handled before the poison message in its conversation is answered, and the peer reads why it ended.
#[tokio::test]
async fn a_poisoned_conversation_is_ended_after_its_earlier_messages_were_handled() {
    let ground = Ground::start().await;
    let _dialog = ground.begin_with(&["a", "b", "fail", "c"]).await;
    let (echo, _) = ground.echo();
    let policy = PoisonPolicy::new(1, PoisonAction::EndConversation);
    drain(ground.broker.worker(ground.queue(), echo).poison(policy)).await;
    let received = ground.take(&ground.initiator_queue).await;
    let mut texts: Vec<_> = received
        .iter()
        .map(|message| match &message.kind {
            MessageKind::Error(error) => error.description.clone(),
            _ => message.body.to_utf8().unwrap().to_owned(),
        })
        .collect();
    // An Error message has no place in the order of its conversation.
    texts.sort_unstable();
    assert_eq!(texts, ["a", "b", "the message says so"]);
}

/// A deadlock is nobody's fault: the attempt is not counted, and the next one comes after a pause.
#[tokio::test]
async fn a_deadlock_victim_is_tried_again_without_counting_the_attempt() {
    let ground = Ground::start().await;
    let _dialog = ground.begin_with(&["a"]).await;
    ground.deadlock_at_probes(2);
    let attempts: Arc<Mutex<Vec<u32>>> = Arc::default();
    let seen = Arc::clone(&attempts);
    let handler = handler_fn(move |delivery| {
        let seen = Arc::clone(&seen);
        Box::pin(async move {
            seen.lock().unwrap().push(delivery.attempt());
            delivery.execute(PROBE, &[]).await?;
            Ok(())
        })
    });
    let policy = PoisonPolicy::new(1, PoisonAction::Park);
    drain(ground.broker.worker(ground.queue(), handler).poison(policy)).await;
    assert_eq!(*attempts.lock().unwrap(), [1, 1, 1]);
    assert_eq!((ground.rows("dead_letters").await, ground.rows("attempts").await), (0, 0));
}

/// However often the caller spells a queue without its schema.
#[tokio::test]
async fn a_workers_rows_name_the_queue_as_the_catalog_does() {
    let ground = Ground::start().await;
    let _dialog = ground.begin_with(&["refuse"]).await;
    let (echo, _) = ground.echo();
    drain(ground.broker.worker(QueueName::new(&*ground.target_queue).unwrap(), echo)).await;
    let letter = &ground.broker.dead_letters().list(None, 0, 10).await.unwrap()[0];
    assert_eq!(letter.queue, format!("[dbo].[{}]", ground.target_queue));
}

/// Nothing was sent, so nothing is unknown.
#[tokio::test]
async fn a_commit_that_was_never_sent_is_a_lost_connection_and_no_unknown_commit() {
    let ground = Ground::start().await;
    let _dialog = ground.begin_with(&["a"]).await;
    let mut receiver = ground.receiver().await;
    let mut batch = receiver.next().await.unwrap();
    let cut = Trigger::statement().containing(PROBE);
    ground.embedded.emulator.faults().plan(cut, Fault::CutBefore);
    assert_eq!(batch.execute(PROBE, &[]).await.unwrap_err().kind(), ErrorKind::ConnectionLost);
    assert_eq!(batch.commit().await.unwrap_err().kind(), ErrorKind::ConnectionLost);
    assert_eq!(receiver.next().await.unwrap().messages().len(), 1);
}

/// Tasks that have nothing to do wait behind a busy group, they do not ask again and again.
#[tokio::test]
async fn idle_tasks_do_not_poll_while_the_first_item_of_a_group_is_worked_on() {
    let ground = Ground::start().await;
    let _dialog = ground.begin_with(&["a", "b"]).await;
    let (begun, calls) = (Arc::new(tokio::sync::Notify::new()), Arc::new(AtomicUsize::new(0)));
    let worker = ground.broker.long_worker(ground.queue(), Long { begun: Arc::clone(&begun), calls });
    let running = tokio::spawn(
        worker.tasks(2).lease(Duration::from_secs(60)).drain_then_exit(IDLE).run(std::future::pending()),
    );
    begun.notified().await;
    let looks = || ground.embedded.emulator.server_counters().requests.load(Ordering::Relaxed);
    let before = looks();
    // Time in which a task that polls would ask many times; a slow machine only makes it ask less often.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let asked = looks() - before;
    assert!(asked < 25, "{asked} requests in two seconds");
    begun.notify_waiters();
    running.abort();
}

/// Works for ever.
struct Long {
    begun: Arc<tokio::sync::Notify>,
    calls: Arc<AtomicUsize>,
}

impl LongHandler for Long {
    type Output = ();

    async fn work(&self, _item: &WorkItem) -> Result<(), HandlerError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.begun.notify_one();
        std::future::pending().await
    }

    async fn complete(&self, (): (), _delivery: &mut Delivery<'_>) -> Result<(), HandlerError> {
        Ok(())
    }
}
