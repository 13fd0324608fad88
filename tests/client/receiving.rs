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

/// The acceptance of cancel safety: a thousand receives are dropped at random moments while messages keep coming.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_dropped_receives_lose_nothing_and_double_nothing() {
    const MESSAGES: usize = 400;
    let objects = objects().await;
    let mut receiver = objects.receive().max_messages(3).hold(Duration::from_millis(2)).open().await.unwrap();
    let mut random = Random(0x5EED);
    let (mut seen, mut sent, mut drops) = (BTreeSet::new(), 0, 0);
    while drops < 1000 {
        if sent < MESSAGES && random.below(5) == 0 {
            let count = (1 + random.below(4)).min(MESSAGES - sent);
            objects.send(sent, sent + count).await;
            sent += count;
        }
        let patience = Duration::from_micros(random.below(3000) as u64);
        let Some(batch) = receiver.next_within(patience).await.unwrap() else {
            drops += 1;
            continue;
        };
        match random.below(3) {
            0 => drop(batch),
            1 => batch.give_back().await.unwrap(),
            _ => seen.extend(commit(batch).await),
        }
    }
    while seen.len() < sent {
        seen.extend(commit(receiver.next().await.unwrap()).await);
    }
    println!("{drops} dropped receives, {sent} messages sent, {} received", seen.len());
    assert_eq!(seen, (0..sent).map(|number| number.to_string()).collect::<BTreeSet<_>>());
    assert!(objects.waiting().await.is_empty());
    assert!(objects.is_receive_enabled().await);
}

/// Commits a batch and answers its texts, each of which must be new.
async fn commit(batch: ssbroker::client::Batch) -> Vec<String> {
    let texts = texts(&batch);
    batch.commit().await.unwrap();
    texts
}

/// A small generator, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}
