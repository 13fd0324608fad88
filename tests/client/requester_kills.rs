//! L7: a requester that is killed at random points and started again, and every reply used exactly once.
//!
//! [`kill_requester`] is the whole scenario; it needs a connection string and a way to start [`requester_program`] in
//! another process, so a soak program can include this file as well.

use std::fmt;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ssbroker::client::{
    Body, Broker, Delivery, ErrorKind, Handler, HandlerError, PendingReply, PoisonAction, PoisonPolicy,
    QueueName, Requester, Wait,
};
use tokio::process::Command;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

const OBJECTS: &str = "
    CREATE MESSAGE TYPE [//kills/ask]; CREATE MESSAGE TYPE [//kills/answer];
    CREATE CONTRACT [//kills/contract] ([//kills/ask] SENT BY INITIATOR, [//kills/answer] SENT BY TARGET);
    CREATE QUEUE KillsReplies; CREATE QUEUE KillsRequests;
    CREATE SERVICE [//kills/requester] ON QUEUE KillsReplies;
    CREATE SERVICE [//kills/answerer] ON QUEUE KillsRequests ([//kills/contract]);
    CREATE TABLE asked (id nvarchar(60) NOT NULL);
    CREATE TABLE used (id nvarchar(60) NOT NULL, taker nvarchar(10) NOT NULL);";
const WAITERS: &str = include_str!("../../sql/09-waiters.sql");
/// How long anything may take before the scenario fails.
const PATIENCE: Duration = Duration::from_secs(120);

/// What the scenario counted.
#[derive(Debug)]
pub(crate) struct Kills {
    pub(crate) kills: usize,
    pub(crate) requests: i32,
    pub(crate) by_waiters: i32,
    pub(crate) by_recovery: i32,
    pub(crate) lost: i32,
    pub(crate) doubled: i32,
}

impl fmt::Display for Kills {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kills, requests, by_waiters, by_recovery, lost, doubled } = self;
        write!(
            f,
            "{kills} kills, {requests} requests: {by_waiters} replies used by waiters, {by_recovery} by the recovery \
             handler, {lost} lost, {doubled} doubled"
        )
    }
}

/// Kills the requester at so many points in a database that has none of the scenario's objects yet. `child` makes the
/// command whose process runs [`requester_program`]; its argument says whether that one asks nothing new.
pub(crate) async fn kill_requester(
    connection_string: &str,
    points: usize,
    child: impl Fn(bool) -> Command,
) -> Kills {
    let broker = Broker::connect(connection_string).await.unwrap();
    for batch in OBJECTS.split(';').chain(WAITERS.split("\nGO\n")).filter(|batch| !batch.trim().is_empty()) {
        broker.batch(batch).await.unwrap();
    }
    let stop = CancellationToken::new();
    let answering = tokio::spawn(answer(broker.clone(), stop.clone()));
    let mut random = 0x5EED_u64;
    for _ in 0..points {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        live(child(false), tokio::time::sleep(Duration::from_millis(10 + (random >> 33) % 400))).await;
    }
    live(child(true), settled(&broker)).await;
    stop.cancel();
    answering.await.unwrap();
    count(&broker, points).await
}

/// The program that is killed: it takes up what an earlier life left, then asks and asks, and uses every reply with a
/// row in the table `used`.
pub(crate) async fn requester_program(connection_string: &str, only_finishes: bool) {
    let broker = Broker::connect(connection_string).await.unwrap();
    let builder = broker.requester("//kills/requester", UseLate);
    let requester = builder.remember_as("the only one").open().await.unwrap();
    requester.start();
    let mut tasks = JoinSet::new();
    for request in requester.unfinished().await.unwrap() {
        let pending = requester.attach(request.conversation, Wait::at_most(PATIENCE)).unwrap();
        tasks.spawn(use_reply(pending));
    }
    if !only_finishes {
        for _ in 0..4 {
            tasks.spawn(ask_for_ever(requester.clone()));
        }
    }
    tasks.join_all().await;
    std::future::pending().await
}

/// Every fourth request waits so short that its reply is usually late.
async fn ask_for_ever(requester: Requester) {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let id = format!("{}-{number}", uuid::Uuid::new_v4());
        let timeout = if number % 4 == 3 { Duration::from_millis(3) } else { PATIENCE };
        let request = requester.request("//kills/answerer", "//kills/ask", Body::utf8(id));
        use_reply(request.contract("//kills/contract").timeout(timeout).post().await.unwrap()).await;
    }
}

async fn use_reply(pending: PendingReply) {
    match pending.reply().await {
        Ok(reply) => {
            let id = reply.body.to_utf8().unwrap().to_owned();
            reply.settle_with("INSERT INTO used VALUES (@P1, N'waiter')", &[id.into()]).await.unwrap();
        }
        Err(error) => assert_eq!(error.kind(), ErrorKind::ReplyTimeout, "{error:?}"),
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
struct Answer;

impl Handler for Answer {
    async fn handle(&self, delivery: &mut Delivery<'_>) -> Result<(), HandlerError> {
        let body = delivery.message().body.clone();
        delivery.execute("INSERT INTO asked VALUES (@P1)", &[body.to_utf8()?.into()]).await?;
        delivery.reply(&"//kills/answer".try_into()?, body).await?;
        delivery.end().await?;
        Ok(())
    }
}

async fn answer(broker: Broker, stop: CancellationToken) {
    let worker = broker.worker(QueueName::new("dbo.KillsRequests").unwrap(), Answer);
    let worker = worker.poison(PoisonPolicy::new(1, PoisonAction::EndConversation));
    worker.run(stop.cancelled_owned()).await.unwrap();
}

/// One life of the requester: started, and killed when `end` is ready.
async fn live(mut command: Command, end: impl Future<Output = ()>) {
    let mut child = command.stdout(Stdio::null()).kill_on_drop(true).spawn().unwrap();
    tokio::select! {
        () = end => child.kill().await.unwrap(),
        status = child.wait() => panic!("the requester ended by itself: {status:?}"),
    }
}

/// Nothing is remembered, waiting or open any more.
async fn settled(broker: &Broker) {
    let sql = "SELECT (SELECT COUNT(*) FROM ssbroker.waiters) + (SELECT COUNT(*) FROM KillsRequests) + \
               (SELECT COUNT(*) FROM KillsReplies) + (SELECT COUNT(*) FROM sys.conversation_endpoints WHERE \
               is_system = 0 AND state <> 'CD') AS n";
    let all = async {
        while number(broker, sql).await != 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, all).await.expect("every request comes to its end");
}

async fn count(broker: &Broker, kills: usize) -> Kills {
    let taken_by = |taker: &str| format!("SELECT COUNT(*) AS n FROM used WHERE taker = N'{taker}'");
    let lost = "SELECT COUNT(*) AS n FROM asked WHERE id NOT IN (SELECT id FROM used)";
    let doubled = "SELECT (SELECT COUNT(*) FROM used) - (SELECT COUNT(DISTINCT id) FROM used) AS n";
    Kills {
        kills,
        requests: number(broker, "SELECT COUNT(*) AS n FROM asked").await,
        by_waiters: number(broker, &taken_by("waiter")).await,
        by_recovery: number(broker, &taken_by("recovery")).await,
        lost: number(broker, lost).await,
        doubled: number(broker, doubled).await,
    }
}

async fn number(broker: &Broker, sql: &str) -> i32 {
    broker.execute(sql, &[]).await.unwrap().first_row().unwrap().get("n").unwrap()
}

/// The short form; `SSBROKER_TEST_KILLS` asks for more points than ten.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l7_a_requester_killed_at_random_points_uses_every_reply_exactly_once() {
    let backend = crate::support::start().await;
    let connection_string = backend.connection_string();
    let child = |only_finishes: bool| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([
            "client::requester_kills::program_of_the_child",
            "--exact",
            "--ignored",
            "--nocapture",
        ]);
        command.env("SSBROKER_TEST_CHILD", &connection_string);
        command.env("SSBROKER_TEST_CHILD_FINISHES", only_finishes.to_string());
        command
    };
    let points = std::env::var("SSBROKER_TEST_KILLS").map_or(10, |points| points.parse().unwrap());
    let kills = kill_requester(&connection_string, points, child).await;
    println!("L7: {kills}");
    assert_eq!((kills.lost, kills.doubled), (0, 0), "{kills}");
    assert!(kills.by_waiters > 0 && kills.requests == kills.by_waiters + kills.by_recovery, "{kills}");
}

#[tokio::test]
#[ignore = "the process that the test beside it starts and kills"]
async fn program_of_the_child() {
    let Ok(connection_string) = std::env::var("SSBROKER_TEST_CHILD") else { return };
    let only_finishes = std::env::var("SSBROKER_TEST_CHILD_FINISHES").is_ok_and(|text| text == "true");
    requester_program(&connection_string, only_finishes).await;
}
