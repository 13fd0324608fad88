//! How many requests, transactions and dialogs the library needs, counted by the embedded broker: goals P1, P2 and P3.
//!
//! Counts do not depend on the machine, so this is no measurement of time: it runs each case once, prints a line, and fails
//! when a goal is missed. `cargo bench --profile dev --bench round_trips`, and `cargo test` runs it too.
#![allow(clippy::print_stdout, reason = "printing the numbers is what this program is for")]

use std::error::Error;
use std::sync::atomic::Ordering;

use ssbroker::client::{
    Body, Broker, Destination, DialogPool, MessageTypeName, OutgoingMessage, PoolOptions, QueueName,
};
use ssbroker_emulator::Emulator;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const MESSAGES: usize = 10_000;
const EACH: usize = 100;

const OBJECTS: &str = "CREATE MESSAGE TYPE [//b/m] VALIDATION = NONE; CREATE MESSAGE TYPE [//b/end] VALIDATION = EMPTY;
    CREATE CONTRACT [//b/c] ([//b/m] SENT BY INITIATOR, [//b/end] SENT BY INITIATOR);
    CREATE QUEUE bi; CREATE QUEUE bt; CREATE SERVICE [//b/i] ON QUEUE bi; CREATE SERVICE [//b/t] ON QUEUE bt ([//b/c]);";

#[tokio::main]
async fn main() -> Outcome {
    let sent = pooled_batches().await?;
    let received = receiving().await?;
    let begun = recycling().await?;
    let missed = [sent, received, begun].iter().filter(|met| !**met).count();
    if missed > 0 {
        return Err(format!("{missed} goals missed").into());
    }
    Ok(())
}

/// P1: pooled sends of 100 messages a transaction.
async fn pooled_batches() -> Outcome<bool> {
    let (emulator, broker) = start().await?;
    let pool = broker.dialog_pool(PoolOptions::default().width(4))?;
    let before = Counts::of(&emulator);
    send_all(&pool).await?;
    let spent = Counts::of(&emulator).since(before);
    Ok(report(
        "P1 requests per message, pooled, 100 a transaction",
        spent.requests as f64 / MESSAGES as f64,
        0.02,
    ) & report("P1 commits per transaction of 100", spent.commits as f64 / (MESSAGES / EACH) as f64, 1.0))
}

/// P2, L2: a backlog received 100 at a time, each batch committed with the next RECEIVE.
async fn receiving() -> Outcome<bool> {
    let (emulator, broker) = start().await?;
    send_all(&broker.dialog_pool(PoolOptions::default().width(1))?).await?;
    let mut receiver = broker.receive(QueueName::new("bt")?).max_messages(100).open().await?;
    let before = Counts::of(&emulator);
    let mut messages = 0;
    let mut batches = 0;
    let mut batch = Some(receiver.next().await?);
    while let Some(current) = batch {
        messages += current.messages().len();
        batches += 1;
        batch = current.commit_and_next().await?;
    }
    let spent = Counts::of(&emulator).since(before);
    if messages != MESSAGES {
        return Err(format!("{messages} messages arrived").into());
    }
    let empty = 1;
    Ok(report("P2 requests per message, RECEIVE TOP(100)", spent.requests as f64 / MESSAGES as f64, 0.011)
        & report("L2 requests per batch", (spent.requests - empty) as f64 / f64::from(batches), 1.0)
        & report("L2 commits per batch", spent.commits as f64 / f64::from(batches), 1.0)
        & report("L2 roll backs", spent.rollbacks as f64, 0.0))
}

/// P3: a pool of 10 dialogs, each recycled after 1,000 messages; the target ends first.
async fn recycling() -> Outcome<bool> {
    let (emulator, broker) = start().await?;
    let end = MessageTypeName::new("//b/end")?;
    let pool = broker.dialog_pool(PoolOptions::default().width(10).max_sends(1_000).end_of_stream(end))?;
    let before = Counts::of(&emulator);
    send_all(&pool).await?;
    pool.close().await?;
    let spent = Counts::of(&emulator).since(before);
    let mut targets = broker.receive(QueueName::new("bt")?).max_messages(10_000).open().await?;
    let mut ended = 0;
    while ended < spent.dialogs {
        let mut batch = targets.next().await?;
        let messages = batch.take_messages();
        for message in messages.iter().filter(|message| message.message_type == "//b/end") {
            batch.end(message.conversation).await?;
            ended += 1;
        }
        batch.commit().await?;
    }
    let mut replies = broker.receive(QueueName::new("bi")?).open().await?;
    while !pool.retiring().is_empty() {
        let mut batch = replies.next().await?;
        for message in batch.take_messages() {
            pool.on_end_dialog(message.conversation);
            batch.end(message.conversation).await?;
        }
        batch.commit().await?;
    }
    let left =
        broker.execute("SELECT COUNT(*) FROM sys.conversation_endpoints WHERE state <> 'CD'", &[]).await?;
    let left: i32 = left.first_row().ok_or("no count")?.get(0)?;
    Ok(report("P3 BEGIN DIALOG per 10,000 messages, 10 wide, recycled at 1,000", spent.dialogs as f64, 20.0)
        & report("P3 endpoints left open once both sides ended", f64::from(left), 0.0)
        & report("P3 dialogs leaked, by the pool's own count", pool.leaked() as f64, 0.0))
}

/// What the embedded broker has counted.
#[derive(Clone, Copy)]
struct Counts {
    requests: u64,
    commits: u64,
    rollbacks: u64,
    dialogs: u64,
}

impl Counts {
    fn of(emulator: &Emulator) -> Self {
        let broker = emulator.broker_counters();
        Self {
            requests: emulator.server_counters().requests.load(Ordering::Relaxed),
            commits: broker.commits,
            rollbacks: broker.rollbacks,
            dialogs: broker.begin_dialogs,
        }
    }

    fn since(self, before: Self) -> Self {
        Self {
            requests: self.requests - before.requests,
            commits: self.commits - before.commits,
            rollbacks: self.rollbacks - before.rollbacks,
            dialogs: self.dialogs - before.dialogs,
        }
    }
}

async fn start() -> Outcome<(Emulator, Broker)> {
    let emulator = Emulator::start().await?;
    let broker = Broker::connect(&emulator.connection_string("msdb")).await?;
    broker.batch(OBJECTS).await?;
    Ok((emulator, broker))
}

async fn send_all(pool: &DialogPool) -> Outcome {
    let destination = Destination::new("//b/i", "//b/t")?.contract("//b/c")?;
    let message = OutgoingMessage::new(MessageTypeName::new("//b/m")?, Body::bytes(vec![7u8; 1_024]));
    let messages = vec![message; EACH];
    for _ in 0..MESSAGES / EACH {
        for outcome in pool.send(&destination, &messages).await? {
            outcome.into_result()?;
        }
    }
    Ok(())
}

/// Prints a number beside its goal; says whether it is met.
fn report(what: &str, number: f64, at_most: f64) -> bool {
    let met = number <= at_most;
    let verdict = if met { "met" } else { "MISSED" };
    println!("{what:<65} {number:>9.4}   goal <= {at_most:<7} {verdict}");
    met
}
