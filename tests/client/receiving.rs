//! Receiving: one batch after another, commits, give-backs, and what a dropped future may not do.

use std::collections::BTreeSet;
use std::time::Duration;

use ssbroker::client::{ErrorKind, QueueName, Receive, Receiver};

use super::objects::Objects;

async fn objects() -> Objects {
    Objects::create(crate::support::start().await).await
}

impl Objects {
    fn receive(&self) -> Receive {
        self.broker.receive(QueueName::in_schema("dbo", &*self.target_queue).unwrap())
    }

    async fn receiver(&self, max_messages: u32) -> Receiver {
        self.receive().max_messages(max_messages).open().await.unwrap()
    }

    /// Sends requests with the texts `from` to below `to` on one new dialog.
    async fn send(&self, from: usize, to: usize) {
        let builder = self.broker.dialog(&*self.initiator, &*self.target).contract(&*self.contract);
        let (_dialog, outcomes) = builder.begin_with(&self.messages(to)[from..]).await.unwrap();
        assert!(outcomes.iter().all(|outcome| outcome.is_sent()));
    }

    async fn is_receive_enabled(&self) -> bool {
        let sql = "SELECT is_receive_enabled FROM sys.service_queues WHERE name = @P1";
        let results = self.broker.execute(sql, &[self.target_queue.as_str().into()]).await.unwrap();
        results.first_row().unwrap().get("is_receive_enabled").unwrap()
    }
}

fn texts(batch: &ssbroker::client::Batch) -> Vec<String> {
    batch.messages().iter().map(|message| message.body.to_utf8().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_batch_is_gone_after_its_commit_and_back_after_a_give_back_or_a_drop() {
    let objects = objects().await;
    objects.send(0, 3).await;
    let mut receiver = objects.receiver(2).await;
    receiver.next().await.unwrap().give_back().await.unwrap();
    drop(receiver.next().await.unwrap());
    let batch = receiver.next().await.unwrap();
    assert_eq!(texts(&batch), ["0", "1"]);
    batch.commit().await.unwrap();
    assert_eq!(objects.waiting().await, ["2"]);
}

#[tokio::test]
async fn with_a_backlog_a_batch_costs_one_request_commit_included() {
    let objects = objects().await;
    objects.send(0, 100).await;
    let mut receiver = objects.receiver(10).await;
    let mut batch = receiver.next().await.unwrap();
    let before = objects.broker.requests_sent();
    let mut batches = 1;
    while let Some(next) = batch.commit_and_next().await.unwrap() {
        batch = next;
        batches += 1;
    }
    assert_eq!(batches, 10);
    assert_eq!(objects.broker.requests_sent() - before, 10);
    assert!(objects.waiting().await.is_empty());
}

#[tokio::test]
async fn what_is_done_through_a_batch_is_committed_or_undone_with_it() {
    let objects = objects().await;
    objects.send(0, 1).await;
    let reply = ssbroker::client::MessageTypeName::new(&*objects.reply).unwrap();
    let mut receiver = objects.receiver(10).await;
    let mut batch = receiver.next().await.unwrap();
    let conversation = batch.messages()[0].conversation;
    batch.send(conversation, &reply, b"undone".to_vec()).await.unwrap();
    batch.give_back().await.unwrap();
    let mut batch = receiver.next().await.unwrap();
    batch.send(conversation, &reply, b"kept".to_vec()).await.unwrap();
    batch.commit().await.unwrap();
    let replies = objects.take(&objects.initiator_queue).await;
    assert_eq!(replies.iter().map(|reply| reply.body.to_utf8().unwrap()).collect::<Vec<_>>(), ["kept"]);
}

#[tokio::test]
async fn a_statement_that_leaves_a_transaction_open_is_found_at_the_commit() {
    let objects = objects().await;
    objects.send(0, 1).await;
    let mut receiver = objects.receiver(10).await;
    let mut batch = receiver.next().await.unwrap();
    let error = batch.execute("BEGIN TRANSACTION", &[]).await.unwrap_err();
    assert_eq!(error.server_number(), Some(266), "{error:?}");
    assert!(batch.commit().await.is_err());
    assert_eq!(texts(&receiver.next().await.unwrap()), ["0"]);
}

#[tokio::test]
async fn a_disabled_queue_is_told_and_the_receiver_goes_on_when_it_is_enabled() {
    let objects = objects().await;
    let alter = |status: &str| format!("ALTER QUEUE [{}] WITH STATUS = {status}", objects.target_queue);
    objects.broker.batch(&alter("OFF")).await.unwrap();
    let mut receiver = objects.receiver(10).await;
    let error = receiver.next().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::QueueDisabled, "{error:?}");
    objects.broker.batch(&alter("ON")).await.unwrap();
    objects.send(0, 1).await;
    assert_eq!(texts(&receiver.next().await.unwrap()), ["0"]);
}

#[tokio::test]
async fn twenty_give_backs_do_not_switch_the_queue_off() {
    let objects = objects().await;
    objects.send(0, 1).await;
    let mut receiver = objects.receiver(10).await;
    for _ in 0..20 {
        receiver.next().await.unwrap().give_back().await.unwrap();
    }
    assert!(objects.is_receive_enabled().await);
    assert_eq!(texts(&receiver.next().await.unwrap()), ["0"]);
}

#[tokio::test]
async fn a_receiver_that_is_dropped_in_a_wait_leaves_the_server() {
    let objects = objects().await;
    let mut receiver = objects.receiver(10).await;
    assert!(receiver.next_within(Duration::from_millis(20)).await.unwrap().is_none());
    drop(receiver);
    objects.send(0, 1).await;
    let mut other = objects.receiver(10).await;
    assert_eq!(texts(&other.next().await.unwrap()), ["0"]);
}

/// Case C022: one RECEIVE gives one conversation group, so only an empty answer means an empty queue.
#[tokio::test]
async fn c022_each_batch_has_one_conversation_group_in_the_order_of_its_conversations() {
    let objects = objects().await;
    for dialog in 0..3 {
        objects.send(dialog * 2, dialog * 2 + 2).await;
    }
    let mut receiver = objects.receiver(100).await;
    let mut next = Some(receiver.next().await.unwrap());
    let (mut sizes, mut groups) = (Vec::new(), BTreeSet::new());
    while let Some(batch) = next {
        assert!(batch.messages().iter().all(|message| message.group == batch.messages()[0].group));
        assert!(batch.messages().is_sorted_by_key(|message| message.sequence_number));
        groups.insert(batch.messages()[0].group);
        sizes.push(batch.messages().len());
        next = batch.commit_and_next().await.unwrap();
    }
    assert_eq!((sizes, groups.len()), (vec![2, 2, 2], 3));
}

/// Case C022, second part: related dialogs come together.
#[tokio::test]
async fn c022_dialogs_in_one_group_come_in_one_batch() {
    let objects = objects().await;
    let group = ssbroker::client::ConversationGroup::random();
    let mut dialogs = Vec::new();
    for _ in 0..3 {
        let builder =
            objects.broker.dialog(&*objects.initiator, &*objects.target).contract(&*objects.contract);
        let (dialog, _) = builder.in_group(group).begin_with(&objects.messages(2)).await.unwrap();
        dialogs.push(dialog);
    }
    let reply = ssbroker::client::MessageTypeName::new(&*objects.reply).unwrap();
    let mut receiver = objects.receiver(100).await;
    for _ in 0..3 {
        let mut batch = receiver.next().await.unwrap();
        let conversation = batch.messages()[0].conversation;
        batch.send(conversation, &reply, b"yes".to_vec()).await.unwrap();
        batch.commit().await.unwrap();
    }
    let queue = QueueName::in_schema("dbo", &*objects.initiator_queue).unwrap();
    let mut receiver = objects.broker.receive(queue).open().await.unwrap();
    let batch = receiver.next().await.unwrap();
    assert_eq!(batch.messages().len(), 3, "the initiator's sides are one group");
    assert!(batch.commit_and_next().await.unwrap().is_none());
}

/// Case C025: order holds within a conversation, whatever happens to the queue meanwhile.
#[tokio::test]
async fn c025_one_dialog_keeps_its_order_through_a_disabled_queue_and_many_arrive_whole() {
    let objects = objects().await;
    let alter = |status: &str| format!("ALTER QUEUE [{}] WITH STATUS = {status}", objects.target_queue);
    objects.broker.batch(&alter("OFF")).await.unwrap();
    objects.send(0, 20).await;
    for number in 20..40 {
        objects.send(number, number + 1).await;
    }
    objects.broker.batch(&alter("ON")).await.unwrap();
    let mut receiver = objects.receiver(100).await;
    let mut all = BTreeSet::new();
    while all.len() < 40 {
        let batch = receiver.next().await.unwrap();
        let texts = texts(&batch);
        if texts.len() > 1 {
            assert_eq!(texts, (0..20).map(|number| number.to_string()).collect::<Vec<_>>());
        }
        all.extend(texts);
        batch.commit().await.unwrap();
    }
    assert!(objects.waiting().await.is_empty());
}

/// Case C043: the body is never interpreted by RECEIVE, so a bad one cannot keep the good ones from being received.
#[tokio::test]
async fn c043_a_body_that_is_not_xml_is_received_like_any_other() {
    let objects = objects().await;
    let builder = objects.broker.dialog(&*objects.initiator, &*objects.target).contract(&*objects.contract);
    let bodies = ["<bad", "<ok/>"].map(|text| {
        let request = ssbroker::client::MessageTypeName::new(&*objects.request).unwrap();
        ssbroker::client::OutgoingMessage::new(request, ssbroker::client::Body::utf16(text))
    });
    let (_dialog, _) = builder.begin_with(&bodies).await.unwrap();
    let batch = objects.receiver(10).await.next().await.unwrap();
    let read: Vec<String> = batch.messages().iter().map(|each| each.body.to_xml_text().unwrap()).collect();
    assert_eq!(read, ["<bad", "<ok/>"]);
}

/// Case C047: the sender keeps its side open, so a refusal finds somebody.
#[tokio::test]
async fn c047_a_refusal_reaches_the_sender_who_keeps_its_side_open() {
    let objects = objects().await;
    objects.broker.batch("CREATE CONTRACT [//test/c047] ([DEFAULT] SENT BY ANY)").await.unwrap();
    let builder = objects.broker.dialog(&*objects.initiator, &*objects.target).contract("//test/c047");
    let _dialog = builder.begin().await.unwrap();
    _dialog.send("DEFAULT", b"x".to_vec()).await.unwrap();
    let received = objects.take(&objects.initiator_queue).await;
    let ssbroker::client::MessageKind::Error(error) = &received[0].kind else { panic!("{received:?}") };
    assert_eq!(error.code, -8408, "{error}");
}

/// Case C048: what END CONVERSATION WITH ERROR takes. The case wants a long text cut; the library refuses it by name, so that
/// nothing is lost unseen; the worker's own texts are cut to fit.
#[tokio::test]
async fn c048_codes_below_one_and_long_texts_are_refused_and_the_rest_arrives_as_it_was() {
    let objects = objects().await;
    let dialog = || async {
        objects.send(0, 1).await;
        let handle = objects.take(&objects.target_queue).await[0].conversation;
        objects.broker.attach(handle)
    };
    for (code, text) in [(0, "x".to_owned()), (-1, "x".to_owned()), (1, "x".repeat(3001))] {
        let error = dialog().await.end_with_error(code, &text).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{code}: {error}");
    }
    for (code, text) in [(1, ""), (i32::MAX, "ü€🙂")] {
        dialog().await.end_with_error(code, text).await.unwrap();
        let received = objects.take(&objects.initiator_queue).await;
        let ssbroker::client::MessageKind::Error(error) = &received[0].kind else { panic!("{received:?}") };
        assert_eq!((error.code, error.description.as_str()), (code, text));
    }
}
