//! Dialogs that fail while the pool sends (goal L4, cases C018 and C040): nothing is lost, nothing is sent twice, and the
//! messages of a key stay in order.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ssbroker::client::{
    Body, Broker, DialogPool, ErrorKind, MessageTypeName, OutgoingMessage, PoisonAction, PoisonPolicy,
    PoolOptions, QueueName, Repair, handler_fn, server_codes,
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::stage::{Stage, by_key};
use crate::support::{Backend, Embedded};

const KEYS: usize = 8;
const CALLS: usize = 10;
const EACH: usize = 2;

/// How far the senders have come; waited for instead of time.
#[derive(Default)]
struct Progress {
    sent: AtomicUsize,
    moved: Notify,
}

impl Progress {
    fn add(&self) {
        self.sent.fetch_add(1, Ordering::Relaxed);
        self.moved.notify_waiters();
    }

    async fn reached(&self, calls: usize) {
        loop {
            let moved = self.moved.notified();
            tokio::pin!(moved);
            moved.as_mut().enable();
            if self.sent.load(Ordering::Relaxed) >= calls {
                return;
            }
            moved.await;
        }
    }
}

/// Sends `key:0`, `key:1`, ... for each key, call after call.
fn send_by_key(
    stage: &Stage,
    pool: &DialogPool,
    progress: &Arc<Progress>,
) -> Vec<tokio::task::JoinHandle<()>> {
    let sender = |key: usize| {
        let destination = stage.objects.destination().key(format!("k{key}"));
        let text = |call: usize, at: usize| stage.objects.message(&format!("k{key}:{}", call * EACH + at));
        let calls: Vec<Vec<OutgoingMessage>> =
            (0..CALLS).map(|call| (0..EACH).map(|at| text(call, at)).collect()).collect();
        let (pool, progress) = (pool.clone(), Arc::clone(progress));
        tokio::spawn(async move {
            for messages in calls {
                let outcomes = pool.send(&destination, &messages).await.unwrap();
                outcomes.into_iter().for_each(|outcome| outcome.into_result().unwrap());
                progress.add();
            }
        })
    };
    (0..KEYS).map(sender).collect()
}

/// Who reads the queue of the sending side.
#[derive(Clone, Copy, Debug)]
enum Reading {
    Nobody,
    Receiver,
    Worker,
}

/// Reads the queue of the sending side until it stays empty, or until the stop.
async fn read(stage: Arc<Stage>, pool: DialogPool, by: Reading, stop: CancellationToken) {
    match by {
        Reading::Nobody => {}
        Reading::Receiver => drop(stage.repair_with_a_reader(&pool, Duration::from_millis(300)).await),
        Reading::Worker => {
            let queue = QueueName::in_schema("dbo", &*stage.objects.initiator_queue).unwrap();
            let worker =
                stage.objects.broker.worker(queue, handler_fn(|_delivery| Box::pin(async { Ok(()) })));
            let policy = PoisonPolicy::new(3, PoisonAction::EndConversation);
            worker.poison(policy).repairs(&pool).readers(2).run(stop.cancelled()).await.unwrap();
        }
    }
}

/// Lets dialogs fail in the middle of the stream, once with messages pending and once without; returns how many messages
/// ended up unsent.
async fn fail_mid_stream(number: u32, by: Reading) -> usize {
    let stage = Arc::new(Stage::start().await);
    let pool = stage.pool(PoolOptions::default().width(4));
    let progress = Arc::new(Progress::default());
    let senders = send_by_key(&stage, &pool, &progress);
    let stop = CancellationToken::new();
    let reading = tokio::spawn(read(Arc::clone(&stage), pool.clone(), by, stop.clone()));
    let calls = KEYS * CALLS;
    progress.reached(calls / 5).await;
    stage.target_takes_messages(false).await;
    progress.reached(2 * calls / 5).await;
    stage.fail_all(number).await;
    progress.reached(3 * calls / 5).await;
    stage.target_takes_messages(true).await;
    progress.reached(4 * calls / 5).await;
    stage.fail_all(number).await;
    for sender in senders {
        sender.await.unwrap();
    }
    stop.cancel();
    reading.await.unwrap();
    // Dialogs that nobody sent on since they failed.
    stage.repair_with_a_reader(&pool, Duration::from_millis(50)).await;
    pool.drain(Duration::from_secs(10)).await.unwrap();
    check_arrival(&stage, &pool, number).await
}

/// Every message once, at the target in the order of its key or in the table of unsent messages with the code.
async fn check_arrival(stage: &Stage, pool: &DialogPool, number: u32) -> usize {
    let arrived = stage.objects.waiting().await;
    let unsent = stage.unsent().await;
    let code = -i32::try_from(number).unwrap();
    assert!(unsent.iter().all(|(noted, _)| *noted == Some(code)), "{number}: {unsent:?}");
    let all: Vec<&String> = arrived.iter().chain(unsent.iter().map(|(_, text)| text)).collect();
    let distinct: BTreeSet<&String> = all.iter().copied().collect();
    assert_eq!((all.len(), distinct.len()), (KEYS * CALLS * EACH, KEYS * CALLS * EACH), "{number}");
    for (key, numbers) in by_key(&arrived) {
        assert!(numbers.is_sorted(), "{number}: key {key} arrived as {numbers:?}");
    }
    assert!(pool.stats().replaced > 0, "{number}: {:?}", pool.stats());
    assert_eq!(stage.number("SELECT COUNT(*) FROM sys.transmission_queue").await, 0);
    assert_eq!(pool.leaked(), 0);
    unsent.len()
}

const RESENDABLE: [u32; 4] = [8489, 8462, 9719, 28052];
const OTHERS: [u32; 20] = [
    8408, 8425, 8428, 8430, 8437, 8457, 8469, 8470, 8487, 8490, 8494, 8495, 8498, 8499, 9615, 9616, 9617,
    9618, 28004, 28054,
];

/// Goal L4, C040.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l4_resendable_errors_mid_stream_lose_nothing_and_keep_the_order_of_each_key() {
    for number in RESENDABLE {
        for by in [Reading::Nobody, Reading::Receiver, Reading::Worker] {
            assert_eq!(fail_mid_stream(number, by).await, 0, "{number}, {by:?}");
        }
    }
    println!(
        "L4: 4 resendable codes, without a reader, with one and with a worker: 0 lost, 0 twice, 0 inversions, 0 unsent"
    );
}

/// Goal L4, C040.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l4_other_errors_mid_stream_put_what_was_pending_into_the_unsent_table_with_their_code() {
    let mut unsent = 0;
    for (at, number) in OTHERS.into_iter().enumerate() {
        assert!(!server_codes::is_resendable(-i32::try_from(number).unwrap()));
        let by = [Reading::Nobody, Reading::Receiver, Reading::Worker][at % 3];
        unsent += fail_mid_stream(number, by).await;
    }
    println!("L4: 20 other codes: 0 lost, 0 twice, 0 inversions, {unsent} unsent with their code");
    assert!(unsent > 0);
}

/// Sends `before` messages, holds the target back, sends more, breaks the dialog, lets the target go on, sends the rest.
async fn broken_by(stage: &Stage, pool: &DialogPool, fault: impl AsyncFnOnce(&Stage)) {
    let destination = stage.objects.destination().key("k");
    let send = async |numbers: std::ops::Range<u32>| {
        let messages: Vec<_> = numbers.map(|number| stage.objects.message(&format!("k:{number}"))).collect();
        let outcomes = pool.send(&destination, &messages).await.unwrap();
        outcomes.into_iter().for_each(|outcome| outcome.into_result().unwrap());
    };
    send(0..3).await;
    stage.target_takes_messages(false).await;
    send(3..6).await;
    fault(stage).await;
    stage.target_takes_messages(true).await;
    send(6..9).await;
    pool.drain(Duration::from_secs(5)).await.unwrap();
}

async fn assert_all_arrived_in_order(stage: &Stage) {
    let expected: Vec<String> = (0..9).map(|number| format!("k:{number}")).collect();
    assert_eq!(stage.objects.waiting().await, expected);
    assert_eq!(stage.unsent().await, []);
}

/// Specification section 2.13.
#[tokio::test]
async fn l4_a_lifetime_that_runs_out_with_messages_pending_loses_nothing() {
    let stage = Stage::with_manual_clock().await;
    let pool = stage.pool(PoolOptions::default().width(1).lifetime(Duration::from_secs(60)));
    broken_by(&stage, &pool, async |stage| {
        stage.backend.embedded.manual_clock().unwrap().advance(Duration::from_secs(61));
    })
    .await;
    assert_all_arrived_in_order(&stage).await;
    assert_eq!(pool.stats().resent, 3);
}

/// Specification section 1.10; both sides get the error, what had arrived stays receivable.
#[tokio::test]
async fn l4_error_broker_conversations_with_messages_pending_loses_nothing() {
    // One connection, so that the one thrown out is also the one that notices.
    let stage = Stage::on(Embedded::start().await, |options| options.with_max_pool_size(1)).await;
    let pool = stage.pool(PoolOptions::default().width(1));
    broken_by(&stage, &pool, async |stage| {
        let master =
            Broker::connect(&stage.backend.embedded.emulator.connection_string("master")).await.unwrap();
        master
            .batch("ALTER DATABASE ssb1 SET ERROR_BROKER_CONVERSATIONS WITH ROLLBACK IMMEDIATE")
            .await
            .unwrap();
        assert!(stage.objects.broker.instance().await.is_err(), "its session was killed");
    })
    .await;
    assert_all_arrived_in_order(&stage).await;
}

/// The message that finds the peer's endpoint gone is pending itself, and sent again.
#[tokio::test]
async fn l4_a_target_that_was_cleaned_away_gets_everything_on_a_new_dialog() {
    let stage = Stage::start().await;
    let pool = stage.pool(PoolOptions::default().width(1));
    let destination = stage.objects.destination();
    pool.send(&destination, &[stage.objects.message("k:0")]).await.unwrap();
    let taken = stage.objects.take(&stage.objects.target_queue).await;
    stage.run(&format!("END CONVERSATION '{}' WITH CLEANUP", taken[0].conversation)).await;
    for number in 1..4 {
        pool.send(&destination, &[stage.objects.message(&format!("k:{number}"))]).await.unwrap();
    }
    assert_eq!(stage.objects.waiting().await, ["k:1", "k:2", "k:3"]);
    assert_eq!(pool.stats().resent, 1);
}

/// -8470 is not resent, unless the caller says that the service will be back.
#[tokio::test]
async fn l4_a_dropped_target_service_leaves_its_messages_unsent_or_waiting_for_it_as_the_caller_says() {
    for again in [false, true] {
        let stage = Stage::start().await;
        let also = again.then_some(-8470);
        let pool = stage.pool(PoolOptions::default().width(1).also_resend(also));
        let destination = stage.objects.destination();
        pool.send(&destination, &[stage.objects.message("k:0")]).await.unwrap();
        stage.target_takes_messages(false).await;
        pool.send(&destination, &[stage.objects.message("k:1")]).await.unwrap();
        stage.run(&format!("DROP SERVICE [{}]", stage.objects.target)).await;
        pool.send(&destination, &[stage.objects.message("k:2")]).await.unwrap();
        stage.target_takes_messages(true).await;
        let objects = &stage.objects;
        let (target, queue, contract) = (&objects.target, &objects.target_queue, &objects.contract);
        stage.run(&format!("CREATE SERVICE [{target}] ON QUEUE [{queue}] ([{contract}])")).await;
        pool.drain(Duration::from_secs(5)).await.unwrap();
        let unsent: Vec<String> = stage.unsent().await.into_iter().map(|(_, text)| text).collect();
        let arrived = stage.objects.waiting().await;
        assert_eq!(unsent.is_empty(), again, "{unsent:?} {arrived:?}");
        assert_eq!(arrived.last().map(String::as_str), Some("k:2"));
        assert!(by_key(&arrived)["k"].is_sorted());
    }
}

/// The peer's own error is its verdict on the conversation; later messages go to a new one.
#[tokio::test]
async fn a_dialog_that_the_target_ended_with_an_error_is_replaced_and_nothing_is_resent() {
    let stage = Stage::start().await;
    let pool = stage.pool(PoolOptions::default().width(1));
    let destination = stage.objects.destination();
    pool.send(&destination, &[stage.objects.message("k:0")]).await.unwrap();
    let taken = stage.objects.take(&stage.objects.target_queue).await;
    stage.objects.broker.attach(taken[0].conversation).end_with_error(4711, "no more").await.unwrap();
    pool.send(&destination, &[stage.objects.message("k:1")]).await.unwrap();
    assert_eq!(stage.objects.waiting().await, ["k:1"]);
    let stats = pool.stats();
    assert_eq!((stats.replaced, stats.resent, stats.unsent), (1, 0, 0), "{stats:?}");
}

/// A body that is NULL and one of a megabyte are sent again as they were (C040).
#[tokio::test]
async fn bodies_and_types_are_the_same_when_they_are_sent_again() {
    let stage = Stage::start().await;
    let pool = stage.pool(PoolOptions::default().width(1));
    let request = MessageTypeName::new(&*stage.objects.request).unwrap();
    let large = vec![7u8; 1 << 20];
    stage.target_takes_messages(false).await;
    let messages: Vec<_> = [Vec::new(), large.clone(), vec![0]]
        .into_iter()
        .map(|body| OutgoingMessage::new(request.clone(), body))
        .collect();
    pool.send(&stage.objects.destination(), &messages).await.unwrap();
    stage.fail_all(8489).await;
    pool.send(&stage.objects.destination(), &[stage.objects.message("after")]).await.unwrap();
    stage.target_takes_messages(true).await;
    let received = stage.objects.take(&stage.objects.target_queue).await;
    let bodies: Vec<Vec<u8>> = received.into_iter().map(|message| message.body.into_bytes()).collect();
    assert_eq!(bodies, [Vec::new(), large, vec![0], b"after".to_vec()]);
}

/// More messages than one page of the repair.
#[tokio::test]
async fn hundreds_of_pending_messages_are_sent_again_in_order() {
    let stage = Stage::start().await;
    let pool = stage.pool(PoolOptions::default().width(1));
    stage.target_takes_messages(false).await;
    pool.send(&stage.objects.destination(), &stage.objects.messages(350)).await.unwrap();
    stage.fail_all(28052).await;
    let repairs = stage.repair_with_a_reader(&pool, Duration::from_millis(100)).await;
    assert_eq!(repairs, [Repair::Done { resent: 350, unsent: 0 }]);
    stage.target_takes_messages(true).await;
    assert_eq!(stage.objects.waiting().await, (0..350).map(|n| n.to_string()).collect::<Vec<_>>());
    let begun = pool.stats().begun;
    pool.send(&stage.objects.destination(), &stage.objects.messages(1)).await.unwrap();
    assert_eq!(pool.stats().begun, begun, "the reader's new dialog has taken the place");
}

#[tokio::test]
async fn a_repair_that_is_given_back_changes_nothing_and_the_next_send_does_it() {
    let stage = Stage::start().await;
    let pool = stage.pool(PoolOptions::default().width(1));
    stage.target_takes_messages(false).await;
    pool.send(&stage.objects.destination(), &[stage.objects.message("k:0")]).await.unwrap();
    stage.fail_all(8462).await;
    let mut reader = stage.reader().await;
    let mut batch = reader.next().await.unwrap();
    let message = batch.messages()[0].clone();
    assert_eq!(pool.on_error(&mut batch, &message).await.unwrap(), Repair::Done { resent: 1, unsent: 0 });
    batch.give_back().await.unwrap();
    drop(reader);
    pool.send(&stage.objects.destination(), &[stage.objects.message("k:1")]).await.unwrap();
    stage.target_takes_messages(true).await;
    assert_eq!(stage.objects.waiting().await, ["k:0", "k:1"]);
}

/// Ending our side would throw the replies away, so the pool waits for whoever reads them.
#[tokio::test]
async fn unread_replies_on_a_failed_dialog_are_never_thrown_away() {
    let stage = Stage::start().await;
    let pool = stage.pool(PoolOptions::default().width(1));
    pool.send(&stage.objects.destination(), &[stage.objects.message("k:0")]).await.unwrap();
    let taken = stage.objects.take(&stage.objects.target_queue).await;
    stage
        .objects
        .broker
        .attach(taken[0].conversation)
        .send(&*stage.objects.reply, Body::utf8("r"))
        .await
        .unwrap();
    stage.target_takes_messages(false).await;
    pool.send(&stage.objects.destination(), &[stage.objects.message("k:1")]).await.unwrap();
    stage.fail_all(8489).await;
    let error = pool.send(&stage.objects.destination(), &[stage.objects.message("k:2")]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transient, "{error}");
    let mut reader = stage.reader().await;
    let mut batch = reader.next().await.unwrap();
    let messages = batch.take_messages();
    assert_eq!(messages.len(), 2, "the error and the reply");
    let repair = pool.on_error(&mut batch, &messages[0]).await.unwrap();
    assert_eq!(repair, Repair::Done { resent: 1, unsent: 0 });
    assert_eq!(messages[1].body.to_utf8().unwrap(), "r");
    batch.commit().await.unwrap();
    pool.send(&stage.objects.destination(), &[stage.objects.message("k:2")]).await.unwrap();
    stage.target_takes_messages(true).await;
    assert_eq!(stage.objects.waiting().await, ["k:1", "k:2"]);
}

/// A failed dialog with an unread reply on it, and a message pending; returns the pool it is of.
async fn failed_with_a_reply(stage: &Stage, options: PoolOptions) -> DialogPool {
    let pool = stage.pool(options);
    let destination = stage.objects.destination().key("k");
    pool.send(&destination, &[stage.objects.message("k:0")]).await.unwrap();
    let taken = stage.objects.take(&stage.objects.target_queue).await;
    let target = stage.objects.broker.attach(taken[0].conversation);
    target.send(&*stage.objects.reply, Body::utf8("r")).await.unwrap();
    stage.target_takes_messages(false).await;
    pool.send(&destination, &[stage.objects.message("k:1")]).await.unwrap();
    stage.fail_all(8489).await;
    stage.target_takes_messages(true).await;
    pool
}

/// While senders try again and again, a worker gets the replies of a failed dialog and repairs it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn senders_that_keep_trying_do_not_keep_a_worker_from_repairing_their_dialog() {
    let stage = Arc::new(Stage::start().await);
    let pool = failed_with_a_reply(&stage, PoolOptions::default().width(1)).await;
    let mut senders = tokio::task::JoinSet::new();
    for number in 2..5 {
        let (stage, pool) = (Arc::clone(&stage), pool.clone());
        senders.spawn(async move {
            let destination = stage.objects.destination().key("k");
            let message = [stage.objects.message(&format!("k:{number}"))];
            loop {
                match pool.send(&destination, &message).await {
                    Ok(outcomes) => {
                        return outcomes.into_iter().for_each(|outcome| outcome.into_result().unwrap());
                    }
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Transient, "{error}"),
                }
            }
        });
    }
    let (heard, mut replies) = tokio::sync::mpsc::unbounded_channel();
    let queue = QueueName::in_schema("dbo", &*stage.objects.initiator_queue).unwrap();
    let handler = handler_fn(move |delivery| {
        let _ = heard.send(delivery.message().body.to_utf8().unwrap().to_owned());
        Box::pin(async { Ok(()) })
    });
    let worker = stage.objects.broker.worker(queue, handler);
    let policy = PoisonPolicy::new(3, PoisonAction::EndConversation);
    let worker = worker.poison(policy).repairs(&pool).run(async {
        tokio::time::timeout(Duration::from_secs(60), senders.join_all()).await.unwrap();
    });
    worker.await.unwrap();
    assert_eq!(replies.recv().await.unwrap(), "r");
    let mut arrived = stage.objects.waiting().await;
    assert_eq!(arrived.remove(0), "k:1", "what was pending comes first");
    arrived.sort();
    assert_eq!(arrived, ["k:2", "k:3", "k:4"]);
    assert_eq!(pool.leaked(), 0);
}

/// A handler that sends on the dialog it was called for, on another connection, waits for its own lock. It gets an error.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_waits_for_its_own_place_gets_an_error_and_the_repair_goes_on() {
    let limit = Duration::from_secs(2);
    let stage = Stage::on(Embedded::start().await, |options| options.with_command_timeout(limit)).await;
    let pool = failed_with_a_reply(&stage, PoolOptions::default().width(1)).await;
    let (heard, mut outcomes) = tokio::sync::mpsc::unbounded_channel();
    let queue = QueueName::in_schema("dbo", &*stage.objects.initiator_queue).unwrap();
    let (sender, destination) = (pool.clone(), stage.objects.destination().key("k"));
    let message = stage.objects.message("k:2");
    let handler = handler_fn(move |_delivery| {
        let (sender, destination, message) = (sender.clone(), destination.clone(), message.clone());
        let heard = heard.clone();
        Box::pin(async move {
            heard.send(sender.send(&destination, &[message]).await.map(drop))?;
            Ok(())
        })
    });
    let worker = stage.objects.broker.worker(queue, handler).repairs(&pool);
    let policy = PoisonPolicy::new(3, PoisonAction::EndConversation);
    let repaired = async {
        while stage.objects.waiting().await.is_empty() {
            tokio::task::yield_now().await;
        }
    };
    worker
        .poison(policy)
        .run(async { tokio::time::timeout(Duration::from_secs(60), repaired).await.unwrap() })
        .await
        .unwrap();
    assert!(outcomes.recv().await.unwrap().is_err());
    assert_eq!(stage.objects.waiting().await, ["k:1"]);
}

/// The reader of another run knows the dialog by its endpoint only.
#[tokio::test]
async fn what_is_sent_again_goes_to_the_broker_instance_it_was_sent_to() {
    let stage = Stage::start().await;
    let instance = stage.objects.broker.instance().await.unwrap().id.to_string();
    let destination = stage.objects.destination().broker_instance(&instance);
    let earlier = stage.pool(PoolOptions::default().width(1));
    stage.target_takes_messages(false).await;
    earlier.send(&destination, &[stage.objects.message("k:0")]).await.unwrap();
    stage.fail_all(8489).await;
    let later = stage.pool(PoolOptions::default().width(1));
    let repairs = stage.repair_with_a_reader(&later, Duration::from_millis(50)).await;
    assert_eq!(repairs, [Repair::Done { resent: 1, unsent: 0 }]);
    let named = format!(
        "SELECT COUNT(*) FROM sys.conversation_endpoints WHERE is_initiator = 1 AND state = 'CO' AND \
         far_broker_instance = N'{instance}'"
    );
    assert_eq!(stage.number(&named).await, 1);
}

/// An ordinary sender: may use the dialogs, sees no row of the transmission queue (specification section 1.11).
async fn ordinary_login(stage: &Stage, grants: &str) -> Broker {
    let master = Broker::connect(&stage.backend.embedded.emulator.connection_string("master")).await.unwrap();
    master.batch("CREATE LOGIN plain WITH PASSWORD = 'Plain-pw-1'").await.unwrap();
    let objects = &stage.objects;
    stage
        .run(&format!(
            "CREATE USER plain FOR LOGIN plain; GRANT RECEIVE ON [{}] TO plain; GRANT REFERENCES ON CONTRACT::[{}] TO plain;
             GRANT SEND ON SERVICE::[{}] TO plain; GRANT VIEW DEFINITION TO plain;
             GRANT SELECT, INSERT, UPDATE, DELETE ON SCHEMA::ssbroker TO plain; {grants}",
            objects.initiator_queue, objects.contract, objects.target
        ))
        .await;
    let text = stage.backend.embedded.emulator.connection_string("ssb1");
    Broker::connect(&format!("{text};User ID=plain;Password=Plain-pw-1")).await.unwrap()
}

/// C104 for the pool.
#[tokio::test]
async fn without_the_right_to_see_what_is_pending_a_failed_dialog_is_pending_unknown_and_nothing_is_lost() {
    let stage = Stage::start().await;
    let broker = ordinary_login(&stage, "").await;
    let destination = stage.objects.destination();
    let pool = broker.dialog_pool(PoolOptions::default().width(1)).unwrap();
    stage.target_takes_messages(false).await;
    pool.send(&destination, &[stage.objects.message("k:0")]).await.unwrap();
    stage.fail_all(8489).await;
    let error = pool.send(&destination, &[stage.objects.message("k:1")]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PendingUnknown, "{error}");
    assert_eq!(pool.drain(Duration::ZERO).await.unwrap_err().kind(), ErrorKind::PendingUnknown);
    assert_eq!(stage.number("SELECT COUNT(*) FROM sys.transmission_queue").await, 1, "it is still there");
    let lenient = broker.dialog_pool(PoolOptions::default().width(1).leave_unknown_pending(true)).unwrap();
    lenient.send(&destination, &[stage.objects.message("k:2")]).await.unwrap();
    stage.fail_all(8489).await;
    lenient.send(&destination, &[stage.objects.message("k:3")]).await.unwrap();
    assert_eq!(lenient.leaked(), 1);
    assert_eq!(stage.number("SELECT COUNT(*) FROM sys.transmission_queue").await, 3);
}

/// Recycling needs no right to see what is pending: the target ends after the last message.
#[tokio::test]
async fn an_ordinary_login_recycles_dialogs_without_the_right_to_see_what_is_pending() {
    let stage = Stage::start().await;
    let broker = ordinary_login(&stage, "").await;
    let end = MessageTypeName::new(&*stage.objects.end_of_stream).unwrap();
    let pool = broker.dialog_pool(PoolOptions::default().width(1).max_sends(2).end_of_stream(end)).unwrap();
    for _ in 0..3 {
        pool.send(&stage.objects.destination(), &stage.objects.messages(2)).await.unwrap();
    }
    assert_eq!(stage.objects.end_target_sides().await.len(), 3);
    let repairs = stage.repair_with_a_reader(&pool, Duration::from_millis(100)).await;
    assert_eq!(repairs, [Repair::Done { resent: 0, unsent: 0 }; 3]);
    assert_eq!((pool.retiring().len(), pool.leaked()), (0, 0));
}

#[tokio::test]
async fn the_procedures_of_the_script_lend_an_ordinary_login_what_a_repair_needs() {
    let stage = Stage::start().await;
    let broker = ordinary_login(&stage, "GRANT EXECUTE ON SCHEMA::ssbroker TO plain;").await;
    let pool = broker.dialog_pool(PoolOptions::default().width(1)).unwrap();
    stage.target_takes_messages(false).await;
    let destination = stage.objects.destination();
    pool.send(&destination, &[stage.objects.message("k:0")]).await.unwrap();
    stage.fail_all(8489).await;
    pool.send(&destination, &[stage.objects.message("k:1")]).await.unwrap();
    let pending = pool.drain(Duration::ZERO).await.unwrap_err();
    assert!(pending.to_string().contains("2 messages"), "{pending}");
    stage.target_takes_messages(true).await;
    pool.drain(Duration::from_secs(5)).await.unwrap();
    assert_eq!(stage.objects.waiting().await, ["k:0", "k:1"]);
}

/// The tables are never needed for plain sending.
#[tokio::test]
async fn without_the_unsent_table_a_failed_dialog_is_left_with_its_messages_and_sending_goes_on() {
    let stage = Stage::start().await;
    stage.run("DROP TABLE ssbroker.unsent").await;
    let pool = stage.pool(PoolOptions::default().width(1));
    stage.target_takes_messages(false).await;
    pool.send(&stage.objects.destination(), &[stage.objects.message("k:0")]).await.unwrap();
    stage.fail_all(8494).await;
    pool.send(&stage.objects.destination(), &[stage.objects.message("k:1")]).await.unwrap();
    assert_eq!(stage.number("SELECT COUNT(*) FROM sys.transmission_queue").await, 2);
    assert_eq!((pool.leaked(), pool.stats().unsent), (1, 0));
}

/// A dialog that an earlier run of the program began and left: its messages are not lost with it.
#[tokio::test]
async fn a_failed_dialog_of_an_earlier_run_is_settled_by_its_route() {
    let stage = Stage::start().await;
    let end_of_stream = MessageTypeName::new(&*stage.objects.end_of_stream).unwrap();
    let options = PoolOptions::default().width(1).end_of_stream(end_of_stream);
    let earlier = stage.pool(options.clone());
    stage.target_takes_messages(false).await;
    earlier.send(&stage.objects.destination(), &stage.objects.messages(2)).await.unwrap();
    drop(earlier);
    stage.fail_all(9719).await;
    let pool = stage.pool(options);
    let repairs = stage.repair_with_a_reader(&pool, Duration::from_millis(100)).await;
    assert_eq!(repairs, [Repair::Done { resent: 2, unsent: 0 }]);
    stage.target_takes_messages(true).await;
    assert_eq!(stage.objects.waiting().await, ["0", "1"]);
    assert_eq!(pool.retiring().len(), 1, "the new dialog asks the target to end it");
}
