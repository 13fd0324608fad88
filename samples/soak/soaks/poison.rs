//! Goal L5: errors, panics, doomed transactions and cancelled handlers neither switch the queue off nor cost a neighbour its
//! place: every message is handled once or parked after at most three attempts.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ssbroker::client::{Delivery, Handler, HandlerError};

use super::random::Random;
use super::stage::{Stage, target_queue};
use super::{Answer, Budget, ensure};

/// Does to each message what a random number says, in three readers.
struct Unreliable {
    random: Mutex<Random>,
    calls: Arc<AtomicU64>,
}

impl Handler for Unreliable {
    async fn handle(&self, delivery: &mut Delivery<'_>) -> Result<(), HandlerError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let text = delivery.message().body.to_utf8()?.to_owned();
        delivery.execute("INSERT INTO dbo.handled (body) VALUES (@P1)", &[text.into()]).await?;
        let number = self.random.lock().map_or(0, |mut random| random.below(40));
        match number {
            0 => return Err("out of luck".into()),
            1 => panic!("out of luck"),
            2 => drop(delivery.execute("SET XACT_ABORT ON; SELECT 1 / 0 AS n", &[]).await?),
            3 => return Err(HandlerError::refuse("not with me")),
            4 => tokio::time::sleep(Duration::from_millis(20)).await,
            _ => {}
        }
        Ok(())
    }
}

/// Runs rounds of a hundred messages until the budget is spent; every second one is shut down in the middle.
pub(crate) async fn run(budget: Budget) -> Answer {
    let stage = Stage::set().await?;
    let calls = Arc::new(AtomicU64::new(0));
    let mut rounds = 0;
    while budget.has_left(rounds) {
        for dialog in 0..20 {
            let texts: Vec<String> = (0..5).map(|at| format!("{rounds} {dialog} {at}")).collect();
            stage.begin(&texts, false).await?;
        }
        let handler = Unreliable { random: Mutex::new(Random::new(rounds + 1)), calls: Arc::clone(&calls) };
        let worker = stage.broker.worker(target_queue()?, handler).readers(3).max_messages(20);
        if rounds % 2 == 1 {
            let soon = tokio::time::sleep(Duration::from_millis(5 + rounds % 20));
            worker.shutdown_budget(Duration::from_millis(1)).run(soon).await?;
        } else {
            worker.drain_then_exit(Duration::from_millis(200)).run(std::future::pending()).await?;
        }
        ensure(stage.is_on().await?, format!("the queue was switched off in round {rounds}"))?;
        rounds += 1;
    }
    let calm = ssbroker::client::handler_fn(|delivery| {
        Box::pin(async move {
            let text = delivery.message().body.to_utf8()?.to_owned();
            delivery.execute("INSERT INTO dbo.handled (body) VALUES (@P1)", &[text.into()]).await?;
            Ok(())
        })
    });
    let worker = stage.broker.worker(target_queue()?, calm).drain_then_exit(Duration::from_millis(200));
    worker.run(std::future::pending()).await?;
    report(&stage, rounds, calls.load(Ordering::Relaxed)).await
}

async fn report(stage: &Stage, rounds: u64, calls: u64) -> Answer {
    let handled = stage.count("SELECT COUNT(*) AS n FROM dbo.handled").await?;
    let parked = stage.count("SELECT COUNT(*) AS n FROM ssbroker.dead_letters").await?;
    let most = "SELECT COALESCE(MAX(attempts), 0) AS n FROM ssbroker.dead_letters";
    let most = stage.count(most).await?;
    let sent = rounds * 100;
    let numbers = format!(
        "L5: {rounds} rounds, {sent} messages, {calls} handler calls: {handled} handled once, {parked} parked after at most \
         {most} attempts, queue ON throughout"
    );
    ensure(u64::try_from(handled + parked)? == sent, format!("messages were lost or doubled: {numbers}"))?;
    ensure(most <= 3, format!("a message was tried too often: {numbers}"))?;
    Ok(numbers)
}
