//! Request and reply: dispatch, time-outs, late replies, races between a waiter and the recovery handler, restarts.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ssbroker::client::{
    Body, Delivery, DiscardReplies, ErrorBody, ErrorKind, Handler, HandlerError, MessageTypeName,
    OutgoingMessage, PoisonAction, PoisonPolicy, QueueName, Request, Requester, Wait,
};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::objects::Objects;

const WAITERS: &str = include_str!("../../sql/09-waiters.sql");
const LONG: Duration = Duration::from_secs(60);

/// A recovery handler that tells a test what it gets, and fails as often as it is told to.
#[derive(Clone)]
struct Recovered {
    heard: mpsc::UnboundedSender<String>,
    failures: Arc<AtomicUsize>,
}

impl Recovered {
    fn new() -> (Self, mpsc::UnboundedReceiver<String>) {
        let (heard, received) = mpsc::unbounded_channel();
        (Self { heard, failures: Arc::default() }, received)
    }
}

impl Handler for Recovered {
    async fn handle(&self, delivery: &mut Delivery<'_>) -> Result<(), HandlerError> {
        let more =
            self.failures.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        if more.is_ok() {
            return Err("not now".into());
        }
        self.heard.send(delivery.message().body.to_utf8()?.to_owned())?;
        Ok(())
    }

    async fn on_error(&self, _delivery: &mut Delivery<'_>, error: &ErrorBody) -> Result<(), HandlerError> {
        Ok(self.heard.send(format!("error {}", error.code))?)
    }

    async fn on_end(&self, _delivery: &mut Delivery<'_>) -> Result<(), HandlerError> {
        Ok(self.heard.send("end".to_owned())?)
    }
}

impl Objects {
    pub(super) fn ask(&self, requester: &Requester, text: &str) -> Request {
        let request = requester.request(&*self.target, &*self.request, Body::utf8(text));
        request.contract(&*self.contract).timeout(LONG)
    }

    async fn requester(&self, recovery: impl Handler) -> Requester {
        self.broker.requester(&*self.initiator, recovery).open().await.unwrap()
    }

    async fn remembering(&self, recovery: impl Handler) -> Requester {
        self.broker.requester(&*self.initiator, recovery).remember_as("web").open().await.unwrap()
    }

    /// Answers each request as its text says: `"a,b"` by two replies and an end, `"!7"` by an error, `"."` by an end only,
    /// `"a?"` by a reply without an end.
    pub(super) async fn serve(&self) -> tokio::task::JoinHandle<()> {
        let reply = MessageTypeName::new(&*self.reply).unwrap();
        let queue = QueueName::in_schema("dbo", &*self.target_queue).unwrap();
        let mut receiver = self.broker.receive(queue).open().await.unwrap();
        tokio::spawn(async move {
            loop {
                let mut batch = receiver.next().await.unwrap();
                for message in batch.take_messages() {
                    let conversation = message.conversation;
                    let text = message.body.to_utf8().unwrap();
                    match (message.is_user_message(), text.strip_prefix('!')) {
                        (true, Some(code)) => {
                            batch
                                .end_with_error(conversation, code.parse().unwrap(), "refused")
                                .await
                                .unwrap();
                            continue;
                        }
                        (true, None) if text != "." => {
                            let parts = text.trim_end_matches('?').split(',');
                            let message = |part: &str| OutgoingMessage::new(reply.clone(), Body::utf8(part));
                            batch
                                .send_all(parts.map(|part| (conversation, message(part))).collect())
                                .await
                                .unwrap();
                        }
                        _ => {}
                    }
                    if !text.ends_with('?') {
                        batch.end(conversation).await.unwrap();
                    }
                }
                batch.commit().await.unwrap();
            }
        })
    }

    /// Waits until no conversation of the test's database is open.
    pub(super) async fn until_nothing_is_open(&self) {
        let sql =
            "SELECT COUNT(*) AS n FROM sys.conversation_endpoints WHERE is_system = 0 AND state <> 'CD'";
        self.until(sql, |open| open == 0).await;
    }

    pub(super) async fn until(&self, sql: &str, is_reached: impl Fn(i32) -> bool) {
        let reached = async {
            loop {
                let results = self.broker.execute(sql, &[]).await.unwrap();
                if is_reached(results.first_row().unwrap().get("n").unwrap()) {
                    return;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(LONG, reached).await.expect(sql);
    }

    /// How long so many requests at once take, estimated by a fifth of them.
    async fn time_of(&self, requester: &Requester, requests: usize) -> Duration {
        let begun = Instant::now();
        let mut waiters = JoinSet::new();
        for _ in 0..requests / 5 {
            let request = self.ask(requester, "warm-up");
            waiters.spawn(async move { request.send().await.unwrap().settle().await.unwrap() });
        }
        waiters.join_all().await;
        begun.elapsed() * 5
    }

    async fn remembered_rows(&self) -> i32 {
        let sql = "SELECT (SELECT COUNT(*) FROM ssbroker.waiters) + (SELECT COUNT(*) FROM ssbroker.waiter_messages) AS n";
        self.broker.execute(sql, &[]).await.unwrap().first_row().unwrap().get("n").unwrap()
    }
}

pub(super) async fn objects() -> Objects {
    let objects = Objects::create(crate::support::start().await).await;
    crate::support::run_script(&objects.broker, WAITERS).await;
    objects
}

pub(super) fn text(reply: &ssbroker::client::Reply) -> &str {
    reply.body.to_utf8().unwrap()
}

#[tokio::test]
async fn a_request_costs_one_round_trip() {
    let objects = objects().await;
    let requester = objects.remembering(DiscardReplies).await;
    drop(objects.ask(&requester, "a").post().await.unwrap());
    let before = objects.broker.requests_sent();
    for _ in 0..50 {
        drop(objects.ask(&requester, "a").post().await.unwrap());
    }
    // The reader may begin to wait meanwhile.
    let requests = objects.broker.requests_sent() - before;
    println!("{requests} round trips for 50 requests, each remembered");
    assert!(requests <= 51, "{requests}");
}

#[tokio::test]
async fn the_receipt_of_the_reply_ends_the_dialog_whether_or_not_the_target_did() {
    let objects = objects().await;
    let _service = objects.serve().await;
    let requester = objects.requester(DiscardReplies).await;
    for (request, expected) in [("a", "a"), ("b?", "b")] {
        let reply = objects.ask(&requester, request).send().await.unwrap();
        assert_eq!((text(&reply), &*reply.message_type), (expected, &*objects.reply));
        objects.until_nothing_is_open().await;
    }
    assert_eq!(requester.stats().delivered, 2);
}

#[tokio::test]
async fn requesters_that_share_a_queue_find_the_replies_the_other_one_received() {
    let objects = objects().await;
    let _service = objects.serve().await;
    let open = |name: &str| {
        let builder = objects.broker.requester(&*objects.initiator, DiscardReplies).remember_as(name);
        builder.share_queue(Duration::from_millis(20)).open()
    };
    let requesters = [open("a").await.unwrap(), open("b").await.unwrap()];
    let mut waiters = JoinSet::new();
    for number in 0..60 {
        let request = objects.ask(&requesters[number % 2], &number.to_string());
        waiters.spawn(async move {
            let reply = request.send().await.unwrap();
            assert_eq!(text(&reply), number.to_string());
            reply.settle().await.unwrap();
        });
    }
    waiters.join_all().await;
    objects.until_nothing_is_open().await;
    assert_eq!(objects.remembered_rows().await, 0);
    let from_memory: u64 = requesters.iter().map(|requester| requester.stats().delivered).sum();
    println!("{from_memory} of 60 replies were received by their own requester");
    let alone = objects.broker.requester(&*objects.initiator, DiscardReplies).share_queue(LONG).open().await;
    assert_eq!(alone.unwrap_err().kind(), ErrorKind::Config);
}

#[tokio::test]
async fn two_hundred_waiters_share_one_reply_queue_and_each_gets_its_own_reply() {
    let objects = objects().await;
    let _service = objects.serve().await;
    let requester = objects.requester(DiscardReplies).await;
    let mut waiters = JoinSet::new();
    for number in 0..200 {
        let request = objects.ask(&requester, &number.to_string());
        waiters.spawn(async move { text(&request.send().await.unwrap()) == number.to_string() });
    }
    assert!(waiters.join_all().await.iter().all(|own| *own));
    let stats = requester.stats();
    assert_eq!((stats.delivered, stats.waiting, stats.recovered), (200, 0, 0));
    objects.until_nothing_is_open().await;
}

#[tokio::test]
async fn progress_is_shown_to_the_predicate_and_consumed() {
    let objects = objects().await;
    let _service = objects.serve().await;
    let requester = objects.requester(DiscardReplies).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (noted, reply_type) = (Arc::clone(&seen), objects.reply.clone());
    let request = objects.ask(&requester, "10,90,done").until(move |message_type, body| {
        assert_eq!(message_type, reply_type);
        noted.lock().unwrap().push(body.to_utf8().unwrap().to_owned());
        body.as_bytes() == b"done"
    });
    assert_eq!(text(&request.send().await.unwrap()), "done");
    assert_eq!(*seen.lock().unwrap(), ["10", "90", "done"]);
    let error = objects.ask(&requester, "10,90").until(|_, body| body.as_bytes() == b"done").send().await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::NoReply);
}

#[tokio::test]
async fn an_error_of_the_target_and_an_end_without_a_reply_are_typed_errors() {
    let objects = objects().await;
    let _service = objects.serve().await;
    for requester in [objects.requester(DiscardReplies).await, objects.remembering(DiscardReplies).await] {
        let pending = objects.ask(&requester, "!7").post().await.unwrap();
        let conversation = pending.conversation();
        let error = pending.reply().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::RequestFailed);
        let body = error.conversation_error().unwrap();
        assert_eq!((body.code, body.description.as_str()), (7, "refused"));
        assert_eq!(error.conversation(), Some(conversation));
        assert_eq!(error.to_string(), "the request failed: conversation error 7: refused");
        let error = objects.ask(&requester, ".").send().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoReply, "{error}");
        objects.until_nothing_is_open().await;
        drop(requester);
    }
    assert_eq!(objects.remembered_rows().await, 0);
}

#[tokio::test]
async fn a_time_out_keeps_the_dialog_and_the_late_reply_goes_to_the_recovery_handler() {
    let objects = objects().await;
    for remembers in [false, true] {
        let (recovered, mut late) = Recovered::new();
        let builder = objects.broker.requester(&*objects.initiator, recovered);
        let builder = if remembers { builder.remember_as("web") } else { builder };
        let requester = builder.open().await.unwrap();
        let error = objects.ask(&requester, "a").timeout(Duration::from_millis(1)).send().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ReplyTimeout, "{error}");
        assert!(!error.is_retryable() && error.conversation().is_some());
        let service = objects.serve().await;
        assert_eq!(late.recv().await.unwrap(), "a");
        assert_eq!(late.recv().await.unwrap(), "end");
        objects.until_nothing_is_open().await;
        assert_eq!(requester.stats().timed_out, 1);
        assert_eq!(objects.remembered_rows().await, 0);
        service.abort();
    }
}

#[tokio::test]
async fn a_request_to_nowhere_is_bounded_by_the_lifetime_of_its_dialog() {
    let objects = objects().await;
    let (recovered, mut late) = Recovered::new();
    let requester = objects.requester(recovered).await;
    let request =
        requester.request("//test/nowhere", &*objects.request, Body::empty()).contract(&*objects.contract);
    let error = request.timeout(Duration::from_millis(5)).lifetime(Duration::from_secs(1)).send().await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::ReplyTimeout);
    assert_eq!(late.recv().await.unwrap(), "error -8489");
    objects.until_nothing_is_open().await;
}

#[tokio::test]
async fn a_reply_of_an_unknown_conversation_goes_to_the_recovery_handler_which_is_tried_again() {
    let objects = objects().await;
    let _service = objects.serve().await;
    let dialog = objects.broker.dialog(&*objects.initiator, &*objects.target).contract(&*objects.contract);
    let _dialog = dialog.begin_with(&[objects.message("a")]).await.unwrap();
    let (recovered, mut late) = Recovered::new();
    recovered.failures.store(2, Ordering::Relaxed);
    let requester = objects.requester(recovered).await;
    requester.start();
    assert_eq!(late.recv().await.unwrap(), "a");
    objects.until_nothing_is_open().await;
}

#[tokio::test]
async fn a_late_reply_that_cannot_be_handled_is_put_aside_and_the_others_go_on() {
    let objects = objects().await;
    crate::support::run_script(&objects.broker, include_str!("../../sql/05-dead-letters.sql")).await;
    let _service = objects.serve().await;
    for (action, parked) in [(PoisonAction::EndConversation, 0), (PoisonAction::Park, 1)] {
        let (recovered, mut late) = Recovered::new();
        recovered.failures.store(3, Ordering::Relaxed);
        let builder = objects.broker.requester(&*objects.initiator, recovered);
        let requester = builder.poison(PoisonPolicy::new(3, action)).open().await.unwrap();
        drop(objects.ask(&requester, "a").post().await.unwrap());
        let sql = format!("SELECT COUNT(*) AS n FROM [{}]", objects.target_queue);
        objects.until(&sql, |waiting| waiting == 0).await;
        objects.until_nothing_is_open().await;
        drop(objects.ask(&requester, "b").post().await.unwrap());
        assert_eq!(late.recv().await.unwrap(), if parked == 1 { "end" } else { "b" });
        let sql = "SELECT COUNT(*) AS n FROM ssbroker.dead_letters WHERE reason = 'not now'";
        objects.until(sql, |count| count == parked).await;
        objects.until_nothing_is_open().await;
    }
}

#[tokio::test]
async fn a_second_waiter_for_the_same_reply_is_refused() {
    let objects = objects().await;
    let requester = objects.requester(DiscardReplies).await;
    let pending = objects.ask(&requester, "a").post().await.unwrap();
    let error = requester.attach(pending.conversation(), Wait::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    let conversation = pending.conversation();
    drop(pending);
    assert!(requester.attach(conversation, Wait::default()).is_ok());
}

#[tokio::test]
async fn after_a_restart_a_waiter_gets_the_reply_that_lies_in_the_queue_or_is_still_to_come() {
    let objects = objects().await;
    let before = objects.requester(DiscardReplies).await;
    let (first, second) = (objects.ask(&before, "a"), objects.ask(&before, "b"));
    let conversations =
        [first.post().await.unwrap().conversation(), second.post().await.unwrap().conversation()];
    drop(before);
    let service = objects.serve().await;
    let lying = format!("SELECT COUNT(*) AS n FROM [{}]", objects.initiator_queue);
    objects.until(&lying, |messages| messages == 4).await;
    service.abort();
    let after = objects.requester(DiscardReplies).await;
    let attached = conversations.map(|conversation| after.attach(conversation, Wait::at_most(LONG)).unwrap());
    let mut replies = Vec::new();
    for pending in attached {
        replies.push(text(&pending.reply().await.unwrap()).to_owned());
    }
    assert_eq!(replies, ["a", "b"]);
    let error = after.attach(conversations[0], Wait::at_most(LONG)).unwrap().reply().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoReply, "{error}");
    let pending = objects.ask(&after, "c").post().await.unwrap();
    let again = objects.requester(DiscardReplies).await;
    let conversation = pending.conversation();
    drop((pending, after));
    let waits = again.attach(conversation, Wait::at_most(LONG)).unwrap();
    let _service = objects.serve().await;
    assert_eq!(text(&waits.reply().await.unwrap()), "c");
}

#[tokio::test]
async fn a_remembered_request_survives_until_it_is_settled_and_is_settled_once() {
    let objects = objects().await;
    let _service = objects.serve().await;
    let requester = objects.remembering(DiscardReplies).await;
    let reply = objects.ask(&requester, "a").note("order 7").send().await.unwrap();
    drop((reply, requester));
    let requester = objects.remembering(DiscardReplies).await;
    let unfinished = requester.unfinished().await.unwrap();
    assert_eq!((unfinished.len(), unfinished[0].note.as_deref()), (1, Some("order 7")));
    assert!(unfinished[0].is_answered && !requester.give_up(unfinished[0].conversation).await.unwrap());
    let attach = || requester.attach(unfinished[0].conversation, Wait::at_most(LONG)).unwrap().reply();
    let (first, second) = (attach().await.unwrap(), attach().await.unwrap());
    objects.broker.batch("CREATE TABLE used (what nvarchar(10))").await.unwrap();
    let insert = "INSERT INTO used VALUES (@P1)";
    first.settle_with(insert, &["once".into()]).await.unwrap();
    let error = second.settle_with(insert, &["twice".into()]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoReply);
    objects.until("SELECT COUNT(*) AS n FROM used", |rows| rows == 1).await;
    objects.until_nothing_is_open().await;
    assert_eq!(objects.remembered_rows().await, 0);
}

#[tokio::test]
async fn replies_that_come_while_nobody_waits_are_kept_in_the_table_progress_and_errors_too() {
    let objects = objects().await;
    let requester = objects.remembering(DiscardReplies).await;
    let mut conversations = Vec::new();
    for text in ["a?", "10,done", "!7", "10,90"] {
        let request = objects.ask(&requester, text).note(text);
        conversations.push(request.post().await.unwrap().conversation());
    }
    let _service = objects.serve().await;
    let answered = "SELECT COUNT(*) AS n FROM ssbroker.waiters WHERE is_ended = 1 OR message_sequence_number = 0 AND note = N'a?'";
    objects.until(answered, |rows| rows == 4).await;
    let is_last = |_: &str, body: &Body| matches!(body.as_bytes(), b"a" | b"done");
    let attach =
        |at: usize| requester.attach(conversations[at], Wait::at_most(LONG).until(is_last)).unwrap().reply();
    for (at, expected) in ["a", "done"].into_iter().enumerate() {
        let reply = attach(at).await.unwrap();
        assert_eq!(text(&reply), expected);
        reply.settle().await.unwrap();
    }
    let error = attach(2).await.unwrap_err();
    assert_eq!(error.conversation_error().map(|body| body.code), Some(7), "{error}");
    assert_eq!(attach(3).await.unwrap_err().kind(), ErrorKind::NoReply);
    objects.until_nothing_is_open().await;
    assert_eq!(objects.remembered_rows().await, 0);
}

/// Goal L7.
#[tokio::test]
async fn l7_a_kept_reply_is_found_although_more_was_kept_behind_it() {
    let objects = objects().await;
    let requester = objects.remembering(DiscardReplies).await;
    let mut conversations = Vec::new();
    for text in ["r,x?", "10,90,r,x,y?", "r,x"] {
        conversations.push(objects.ask(&requester, text).post().await.unwrap().conversation());
    }
    let _service = objects.serve().await;
    let kept = "SELECT COUNT(*) AS n FROM ssbroker.waiters WHERE message_sequence_number IN (1, 4)";
    objects.until(kept, |rows| rows == 3).await;
    drop(requester);
    let requester = objects.remembering(DiscardReplies).await;
    let is_reply = |_: &str, body: &Body| body.as_bytes() == b"r";
    let waits =
        [Wait::at_most(LONG), Wait::at_most(LONG).until(is_reply), Wait::at_most(LONG).until(is_reply)];
    let mut further = Vec::new();
    for (conversation, wait) in conversations.into_iter().zip(waits) {
        let reply = requester.attach(conversation, wait).unwrap().reply().await.unwrap();
        assert_eq!(text(&reply), "r");
        assert!(reply.further.iter().all(|message| matches!(message.body.as_bytes(), b"x" | b"y")));
        further.push(reply.further.len());
        reply.settle().await.unwrap();
    }
    assert_eq!(further, [1, 2, 1]);
    assert_eq!(objects.remembered_rows().await, 0);
    objects.until_nothing_is_open().await;
}

#[tokio::test]
async fn requests_that_nobody_comes_back_for_are_forgotten_a_bounded_number_at_once() {
    let objects = objects().await;
    let requester = objects.remembering(DiscardReplies).await;
    for text in ["a?", "b?", "c?"] {
        drop(objects.ask(&requester, text).timeout(Duration::ZERO).post().await.unwrap());
    }
    drop(objects.ask(&requester, "d?").post().await.unwrap());
    let _service = objects.serve().await;
    let kept = "SELECT COUNT(*) AS n FROM ssbroker.waiter_messages";
    objects.until(kept, |messages| messages == 4).await;
    let past = "UPDATE ssbroker.waiters SET deadline = DATEADD(day, -2, deadline) WHERE DATEDIFF(second, created, deadline) = 0";
    objects.broker.batch(past).await.unwrap();
    let day = Duration::from_secs(24 * 3600);
    let mut forgotten = Vec::new();
    for _ in 0..3 {
        forgotten.push(objects.broker.forget_requests(day, 2).await.unwrap());
    }
    assert_eq!(forgotten, [2, 1, 0]);
    objects.until(kept, |messages| messages == 1).await;
    assert_eq!(requester.unfinished().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_missing_table_and_a_missing_service_are_told_when_the_requester_is_opened() {
    let objects = Objects::create(crate::support::start().await).await;
    let builder = || objects.broker.requester(&*objects.initiator, DiscardReplies);
    let error = builder().remember_as("web").open().await.unwrap_err();
    assert!(error.to_string().contains("sql/09-waiters.sql"), "{error}");
    assert_eq!(builder().remember_as("").open().await.unwrap_err().kind(), ErrorKind::Config);
    let error = objects.broker.requester("//test/none", DiscardReplies).open().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ObjectMissing);
    let requester = objects.requester(DiscardReplies).await;
    let error = requester.request("", &*objects.request, Body::empty()).send().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    let error = objects.ask(&requester, "a").contract("//test/none").send().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ObjectMissing, "{error}");
    assert_eq!(requester.stats().waiting, 0);
}

#[tokio::test]
async fn a_disabled_reply_queue_is_told_to_those_who_wait() {
    let objects = objects().await;
    let requester = objects.requester(DiscardReplies).await;
    let alter = |status: &str| format!("ALTER QUEUE [{}] WITH STATUS = {status}", objects.initiator_queue);
    objects.broker.batch(&alter("OFF")).await.unwrap();
    let error = objects.ask(&requester, "a").send().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::QueueDisabled, "{error}");
    objects.broker.batch(&alter("ON")).await.unwrap();
    let _service = objects.serve().await;
    let reply = loop {
        match objects.ask(&requester, "b").send().await {
            Err(error) if error.kind() == ErrorKind::QueueDisabled => {}
            reply => break reply.unwrap(),
        }
    };
    assert_eq!(text(&reply), "b");
}

/// Time-outs spread over as long as the replies take race with them; each reply has exactly one taker.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exactly_one_of_waiter_and_recovery_handler_gets_a_reply() {
    const REQUESTS: usize = 300;
    for remembers in [false, true] {
        let objects = objects().await;
        let _service = objects.serve().await;
        let (recovered, mut late) = Recovered::new();
        let builder = objects.broker.requester(&*objects.initiator, recovered);
        let builder = if remembers { builder.remember_as("web") } else { builder };
        let requester = builder.open().await.unwrap();
        let span = objects.time_of(&requester, REQUESTS).await.as_micros() as u64;
        let mut waiters = JoinSet::new();
        for number in 0..REQUESTS {
            let timeout =
                Duration::from_micros(number as u64 * 7919 % REQUESTS as u64 * span / REQUESTS as u64);
            let request = objects.ask(&requester, &number.to_string()).timeout(timeout);
            waiters.spawn(async move {
                match request.send().await {
                    Ok(reply) => {
                        let number = text(&reply).to_owned();
                        reply.settle().await.unwrap();
                        Some(number)
                    }
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::ReplyTimeout, "{error:?}");
                        None
                    }
                }
            });
        }
        let mut taken: Vec<String> = waiters.join_all().await.into_iter().flatten().collect();
        let in_time = taken.len();
        while taken.len() < REQUESTS {
            let late = tokio::time::timeout(LONG, late.recv()).await.expect("no reply is lost").unwrap();
            taken.extend(Some(late).filter(|text| text != "end"));
        }
        objects.until_nothing_is_open().await;
        println!("remembers: {remembers}; {in_time} replies to waiters, {} recovered", REQUESTS - in_time);
        assert_eq!(taken.iter().collect::<BTreeSet<_>>().len(), REQUESTS);
        late.close();
        let doubled = std::iter::from_fn(|| late.try_recv().ok()).find(|text| text != "end");
        assert_eq!(doubled, None);
        if remembers {
            assert_eq!(objects.remembered_rows().await, 0);
        }
    }
}

/// A waiter that is dropped just as its reply comes loses nothing: the reply goes to the recovery handler or is kept.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_waiter_leaves_its_reply_to_the_recovery_handler_or_to_who_attaches() {
    let objects = objects().await;
    let _service = objects.serve().await;
    let (recovered, mut late) = Recovered::new();
    let requester = objects.requester(recovered).await;
    let (mut attached, mut answered) = (0, 0);
    for number in 0..100_u64 {
        let pending = objects.ask(&requester, "x").post().await.unwrap();
        let conversation = pending.conversation();
        let patience = Duration::from_micros((number * 131) % 6_000);
        match tokio::time::timeout(patience, pending.reply()).await {
            Ok(reply) => answered += usize::from(reply.is_ok()),
            Err(_dropped) => {
                let again = requester.attach(conversation, Wait::at_most(LONG)).unwrap();
                match again.reply().await {
                    Ok(_) => attached += 1,
                    Err(error) => assert_eq!(error.kind(), ErrorKind::NoReply, "{error:?}"),
                }
            }
        }
    }
    objects.until_nothing_is_open().await;
    late.close();
    let recovered = std::iter::from_fn(|| late.try_recv().ok()).filter(|text| text != "end").count();
    println!("{answered} in time, {attached} by attaching again, {recovered} recovered");
    assert_eq!(answered + attached + recovered, 100);
}
