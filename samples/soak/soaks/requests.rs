//! Goal L7: a requester that is killed at random points and started again has every reply used exactly once.
//!
//! The requester in a child process remembers its requests. It takes up what an earlier life left, then asks and asks; every
//! fourth request waits so short that its reply is usually late and goes to the recovery handler. Each reply is used by a
//! row in a table, in the transaction that settles its request.

use std::collections::BTreeSet;
use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ssbroker::client::{
    Body, Broker, Delivery, ErrorKind, Handler, HandlerError, PendingReply, PoisonAction, PoisonPolicy,
    QueueName, Requester, Wait,
};
use ssbroker_emulator::Emulator;
use tokio::task::JoinSet;

use super::leaks::Start;
use super::random::Random;
use super::{Answer, Budget, Child, ensure};

const OBJECTS: &str = "
    CREATE MESSAGE TYPE [//kills/ask]; CREATE MESSAGE TYPE [//kills/answer];
    CREATE CONTRACT [//kills/contract] ([//kills/ask] SENT BY INITIATOR, [//kills/answer] SENT BY TARGET);
    CREATE QUEUE KillsReplies; CREATE QUEUE KillsRequests;
    CREATE SERVICE [//kills/requester] ON QUEUE KillsReplies;
    CREATE SERVICE [//kills/answerer] ON QUEUE KillsRequests ([//kills/contract]);
    CREATE TABLE asked (id nvarchar(60) NOT NULL);
    CREATE TABLE used (id nvarchar(60) NOT NULL, taker nvarchar(10) NOT NULL);
    CREATE TABLE finishing (is_so int NOT NULL);";
const WAITERS: &str = include_str!("../../../sql/09-waiters.sql");
/// How long anything may take before the soak fails.
const PATIENCE: Duration = Duration::from_secs(120);

/// Kills the requester, one kill for each unit of the budget.
pub(crate) async fn run(budget: Budget, start: Start<'_>) -> Answer {
    let emulator = Emulator::start().await?;
    let connection_string = emulator.connection_string("msdb");
    let broker = Broker::connect(&connection_string).await?;
    for batch in OBJECTS.split(';').chain(WAITERS.split("\nGO\n")).filter(|batch| !batch.trim().is_empty()) {
        broker.batch(batch).await?;
    }
    let worker = broker.worker(QueueName::new("dbo.KillsRequests")?, Answering);
    let worker = worker.poison(PoisonPolicy::new(1, PoisonAction::EndConversation));
    let answering = tokio::spawn(worker.run_forever());
    let (mut random, mut kills) = (Random::new(0x5EED), 0);
    while budget.has_left(kills) {
        let life = Duration::from_millis(10 + random.below(400));
        live(start(&connection_string)?, after(life)).await?;
        kills += 1;
    }
    broker.batch("INSERT INTO finishing VALUES (1)").await?;
    live(start(&connection_string)?, settled(&broker)).await?;
    answering.abort();
    report(&broker, kills).await
}

/// The program that is killed.
pub(crate) async fn child(connection_string: &str) -> Answer {
    let broker = Broker::connect(connection_string).await?;
    let builder = broker.requester("//kills/requester", UseLate);
    let requester = builder.remember_as("the only one").open().await?;
    requester.start();
    let mut tasks = JoinSet::new();
    for request in requester.unfinished().await? {
        tasks.spawn(use_reply(requester.attach(request.conversation, Wait::at_most(PATIENCE))?));
    }
    if count(&broker, "SELECT COUNT(*) AS n FROM finishing").await? == 0 {
        for _ in 0..4 {
            tasks.spawn(ask_for_ever(requester.clone()));
        }
    }
    while let Some(done) = tasks.join_next().await {
        done?.map_err(|error| format!("a reply could not be used: {error:?}"))?;
    }
    std::future::pending().await
}

async fn ask_for_ever(requester: Requester) -> Result<(), ssbroker::client::Error> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let id = format!("{}-{number}", uuid::Uuid::new_v4());
        let timeout = if number % 4 == 3 { Duration::from_millis(3) } else { PATIENCE };
        let request = requester.request("//kills/answerer", "//kills/ask", Body::utf8(id));
        use_reply(request.contract("//kills/contract").timeout(timeout).post().await?).await?;
    }
}

async fn use_reply(pending: PendingReply) -> Result<(), ssbroker::client::Error> {
    match pending.reply().await {
        Ok(reply) => {
            let id = reply.body.to_utf8()?.to_owned();
            reply.settle_with("INSERT INTO used VALUES (@P1, N'waiter')", &[id.into()]).await.map(drop)
        }
        Err(error) if error.kind() == ErrorKind::ReplyTimeout => Ok(()),
        Err(error) => Err(error),
    }
}

/// The recovery handler: the same use, in the receiving transaction.
struct UseLate;

impl Handler for UseLate {
    async fn handle(&self, delivery: &mut Delivery<'_>) -> Result<(), HandlerError> {
        let id = delivery.message().body.to_utf8()?.to_owned();
        delivery.execute("INSERT INTO used VALUES (@P1, N'recovery')", &[id.into()]).await?;
        Ok(())
    }
}

/// The service: it notes each request and answers with the request's own body.
struct Answering;

impl Handler for Answering {
    async fn handle(&self, delivery: &mut Delivery<'_>) -> Result<(), HandlerError> {
        let body = delivery.message().body.clone();
        delivery.execute("INSERT INTO asked VALUES (@P1)", &[body.to_utf8()?.into()]).await?;
        delivery.reply(&"//kills/answer".try_into()?, body).await?;
        delivery.end().await?;
        Ok(())
    }
}

async fn after(life: Duration) -> Result<(), Box<dyn Error>> {
    tokio::time::sleep(life).await;
    Ok(())
}

/// One life of the requester: killed when `end` is ready.
async fn live(
    mut child: Child,
    end: impl Future<Output = Result<(), Box<dyn Error>>>,
) -> Result<(), Box<dyn Error>> {
    tokio::select! {
        ended = end => ended?,
        status = child.wait() => return Err(format!("the requester ended by itself: {status:?}").into()),
    }
    Ok(child.kill().await?)
}

/// Nothing is remembered, waiting or open any more.
async fn settled(broker: &Broker) -> Result<(), Box<dyn Error>> {
    let sql = "SELECT (SELECT COUNT(*) FROM ssbroker.waiters) + (SELECT COUNT(*) FROM KillsRequests) + \
               (SELECT COUNT(*) FROM KillsReplies) + (SELECT COUNT(*) FROM sys.conversation_endpoints WHERE \
               is_system = 0 AND state <> 'CD') AS n";
    let all = async {
        while count(broker, sql).await? != 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    };
    tokio::time::timeout(PATIENCE, all).await.map_err(|_| "some requests come to no end")?
}

async fn report(broker: &Broker, kills: u64) -> Answer {
    let asked = ids(broker, "SELECT id FROM asked").await?;
    let used = ids(broker, "SELECT id FROM used").await?;
    let by_waiters = count(broker, "SELECT COUNT(*) AS n FROM used WHERE taker = N'waiter'").await?;
    let late = count(broker, "SELECT COUNT(*) AS n FROM used WHERE taker = N'recovery'").await?;
    let distinct: BTreeSet<&String> = used.iter().collect();
    let lost = asked.iter().filter(|id| !distinct.contains(id)).count();
    let (asked, doubled) = (asked.len(), used.len() - distinct.len());
    let numbers = format!(
        "L7: {kills} kill -9, {asked} requests: {by_waiters} replies used by waiters, {late} by the recovery handler, \
         {lost} lost, {doubled} doubled"
    );
    ensure(
        lost == 0 && doubled == 0 && i32::try_from(asked)? == by_waiters + late,
        format!("replies were lost or doubled: {numbers}"),
    )?;
    ensure(by_waiters > 0, format!("nobody waited for a reply: {numbers}"))?;
    Ok(numbers)
}

async fn ids(broker: &Broker, sql: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let rows = broker.batch(sql).await?.into_rows();
    rows.iter().map(|row| Ok(row.get("id")?)).collect()
}

async fn count(broker: &Broker, sql: &str) -> Result<i32, Box<dyn Error>> {
    let results = broker.execute(sql, &[]).await?;
    Ok(results.first_row().ok_or("a count has a row")?.get("n")?)
}
