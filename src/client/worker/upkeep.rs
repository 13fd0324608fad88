//! Keeps the table of attempts small: rows that nobody will ask for again are removed, a bounded number at a time.
//!
//! A row outlives its message when another process handled that one and did not know of earlier attempts.

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::client::broker::Broker;
use crate::client::error::Result;
use crate::client::statements;

/// How long a row may be of use: a message that waits longer is simply tried as often again.
const KEEP: Duration = Duration::from_secs(7 * 24 * 3600);
/// Rows removed in one statement.
const AT_ONCE: u32 = 1000;
/// How long one go may take.
const BUDGET: Duration = Duration::from_secs(2);
/// How often there is a go.
const EVERY: Duration = Duration::from_secs(3600);

/// Prunes at once and every hour until `stop`. A failure is logged and changes nothing else.
pub(super) async fn prune_attempts(broker: Broker, stop: CancellationToken) {
    loop {
        if let Err(error) = prune(&broker).await {
            tracing::debug!(%error, "old attempts were not removed");
        }
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            () = stop.cancelled() => return,
        }
    }
}

async fn prune(broker: &Broker) -> Result<()> {
    let begun = Instant::now();
    while begun.elapsed() < BUDGET {
        let mut session = broker.session().await?;
        let results = session.execute(&statements::prune_attempts(AT_ONCE, KEEP)).await?;
        if results.row_counts().iter().sum::<u64>() < u64::from(AT_ONCE) {
            return Ok(());
        }
    }
    Ok(())
}
