//! Goal L1: receives that are dropped at random moments lose nothing, double nothing, and leave the queue on.

use std::collections::BTreeSet;
use std::time::Duration;

use ssbroker::client::Batch;

use super::random::Random;
use super::stage::{Stage, target_queue};
use super::{Answer, Budget, ensure};

/// Drops receives until the budget is spent, then takes the rest and counts.
pub(crate) async fn run(budget: Budget) -> Answer {
    let stage = Stage::set().await?;
    let receive = stage.broker.receive(target_queue()?).max_messages(3).hold(Duration::from_millis(2));
    let mut receiver = receive.open().await?;
    let mut random = Random::new(0x5EED);
    let (mut seen, mut sent, mut drops) = (BTreeSet::new(), 0u64, 0);
    while budget.has_left(drops) {
        if sent - (seen.len() as u64) < 200 && random.below(5) == 0 {
            let texts: Vec<String> = (0..1 + random.below(4)).map(|at| (sent + at).to_string()).collect();
            sent += texts.len() as u64;
            stage.begin(&texts, false).await?;
        }
        let patience = Duration::from_micros(random.below(3000));
        let Some(batch) = receiver.next_within(patience).await? else {
            drops += 1;
            continue;
        };
        match random.below(3) {
            0 => drop(batch),
            1 => batch.give_back().await?,
            _ => commit(batch, &mut seen).await?,
        }
    }
    while (seen.len() as u64) < sent {
        commit(receiver.next().await?, &mut seen).await?;
    }
    let expected: BTreeSet<String> = (0..sent).map(|number| number.to_string()).collect();
    ensure(seen == expected, "messages were lost")?;
    ensure(stage.count("SELECT COUNT(*) AS n FROM soak_target").await? == 0, "messages came twice")?;
    ensure(stage.is_on().await?, "the queue was switched off")?;
    Ok(format!(
        "L1: {drops} dropped receives, {sent} messages sent, {} received, 0 lost, 0 doubled, queue ON",
        seen.len()
    ))
}

/// Commits a batch and notes its texts, each of which must be new.
async fn commit(batch: Batch, seen: &mut BTreeSet<String>) -> Result<(), Box<dyn std::error::Error>> {
    let mut texts = Vec::new();
    for message in batch.messages() {
        texts.push(message.body.to_utf8()?.to_owned());
    }
    batch.commit().await?;
    for text in texts {
        ensure(seen.insert(text.clone()), format!("message {text} came twice"))?;
    }
    Ok(())
}
