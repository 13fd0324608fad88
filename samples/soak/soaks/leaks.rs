//! Goal L3: failing handlers and killed processes leave no conversation open, lose no message and handle none twice.
//!
//! The initiator sends a dialog's messages and says which is the last; a worker in a child process handles them, fails at one
//! in five, and ends its side at the last; a worker here ends the initiator's side. The child is killed again and again.

use std::error::Error;
use std::time::{Duration, Instant};

use ssbroker::client::{Broker, PoisonPolicy, handler_fn};

use super::random::Random;
use super::stage::{LAST, Stage, initiator_queue, target_queue};
use super::{Answer, Budget, Child, ensure};

/// Messages of one dialog, the last one not counted.
const DIALOG: u64 = 50;
/// The most messages under way.
const IN_FLIGHT: i32 = 5_000;
/// How long the rest may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// Starts a process that runs [`child`] on this connection string.
pub(crate) type Start<'a> = &'a dyn Fn(&str) -> Result<Child, Box<dyn Error>>;

/// Sends until the budget, counted in messages, or `most` is reached; kills a child every half second.
pub(crate) async fn run(budget: Budget, most: u64, start: Start<'_>) -> Answer {
    let stage = Stage::set().await?;
    let connection_string = stage.emulator.connection_string("msdb");
    let ending = handler_fn(|_delivery| Box::pin(async { Ok(()) }));
    let initiator = stage.broker.worker(initiator_queue()?, ending).poison(policy());
    let initiator = tokio::spawn(initiator.run_forever());
    let (mut sent, mut kills) = (0, 0u64);
    let mut random = Random::new(0x1EAF);
    let mut child = start(&connection_string)?;
    let mut kill_at = Instant::now() + Duration::from_millis(500);
    let mut open_most = 0;
    while sent < most && budget.has_left(sent) {
        if stage.count("SELECT COUNT(*) AS n FROM soak_target").await? < IN_FLIGHT {
            let texts: Vec<String> = (0..DIALOG).map(|at| (sent + at).to_string()).collect();
            stage.begin(&texts, true).await?;
            sent += DIALOG;
        } else {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        if Instant::now() >= kill_at {
            open_most = open_most.max(open_conversations(&stage).await?);
            child.kill().await?;
            kills += 1;
            child = start(&connection_string)?;
            kill_at = Instant::now() + Duration::from_millis(300 + random.below(700));
        }
    }
    let done_at = Instant::now() + PATIENCE;
    while open_conversations(&stage).await? > 0 && Instant::now() < done_at {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    child.kill().await?;
    initiator.abort();
    report(&stage, sent, kills, open_most).await
}

async fn report(stage: &Stage, sent: u64, kills: u64, open_most: i32) -> Answer {
    let open = open_conversations(stage).await?;
    let handled = stage.count("SELECT COUNT(*) AS n FROM dbo.handled").await?;
    let parked = stage.count("SELECT COUNT(*) AS n FROM ssbroker.dead_letters").await?;
    let attempts = stage.count("SELECT COUNT(*) AS n FROM ssbroker.attempts").await?;
    let numbers = format!(
        "L3: {sent} messages, one in five handlings failed, {kills} kill -9: {handled} handled once, {parked} parked, \
         {open} conversations open at the end (at most {open_most} meanwhile), {attempts} attempts left over"
    );
    ensure(open == 0, format!("conversations leaked: {numbers}"))?;
    ensure(u64::try_from(handled + parked)? == sent, format!("messages were lost or doubled: {numbers}"))?;
    ensure(stage.is_on().await?, format!("the queue was switched off: {numbers}"))?;
    Ok(numbers)
}

async fn open_conversations(stage: &Stage) -> Result<i32, Box<dyn Error>> {
    stage
        .count("SELECT COUNT(*) AS n FROM sys.conversation_endpoints WHERE is_system = 0 AND state <> 'CD'")
        .await
}

/// The worker of the target service, until it is killed.
pub(crate) async fn child(connection_string: &str) -> Answer {
    let broker = Broker::connect(connection_string).await?;
    let random = std::sync::Mutex::new(Random::new(u64::from(std::process::id())));
    let handler = handler_fn(move |delivery| {
        let unlucky = random.lock().is_ok_and(|mut random| random.below(5) == 0);
        Box::pin(async move {
            let text = delivery.message().body.to_utf8()?.to_owned();
            delivery.execute("INSERT INTO dbo.handled (body) VALUES (@P1)", &[text.into()]).await?;
            if unlucky { Err("out of luck".into()) } else { Ok(()) }
        })
    });
    let ending = handler_fn(|delivery| Box::pin(async move { Ok(delivery.end().await?) }));
    let worker = broker.worker(target_queue()?, handler).on(LAST, ending)?.readers(2).poison(policy());
    worker.run_forever().await?;
    Ok(String::new())
}

fn policy() -> PoisonPolicy {
    PoisonPolicy::default()
}
