//! Keeps tables of the library small: rows that nobody will ask for again are removed, a bounded number at a time.
//!
//! A row of attempts outlives its message when another process handled that one and did not know of earlier attempts.

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::client::broker::Broker;
use crate::client::error::Result;
use crate::client::names::QueueName;
use crate::client::statements;

/// How long a row of attempts may be of use: a message that waits longer is simply tried as often again.
const KEEP: Duration = Duration::from_secs(7 * 24 * 3600);
/// Rows removed in one statement.
const AT_ONCE: u32 = 1000;
/// How long one go may take.
const BUDGET: Duration = Duration::from_secs(2);
/// How often there is a go.
const EVERY: Duration = Duration::from_secs(3600);

/// What is kept small.
pub(super) enum Kept {
    /// The attempts, of all queues.
    Attempts,
    /// The handled messages of a queue, as long as they are remembered.
    Handled(QueueName, Duration),
}

/// Prunes at once and every hour until `stop`. A failure is logged and changes nothing else.
pub(super) async fn keep_small(broker: Broker, kept: Kept, stop: CancellationToken) {
    loop {
        if let Err(error) = kept.prune(&broker).await {
            tracing::debug!(%error, "old rows were not removed");
        }
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            () = stop.cancelled() => return,
        }
    }
}

impl Kept {
    async fn prune(&self, broker: &Broker) -> Result<()> {
        let begun = Instant::now();
        while begun.elapsed() < BUDGET {
            if self.prune_some(broker).await? < u64::from(AT_ONCE) {
                return Ok(());
            }
        }
        Ok(())
    }

    async fn prune_some(&self, broker: &Broker) -> Result<u64> {
        match self {
            Self::Handled(queue, age) => broker.forget_handled(queue, *age, AT_ONCE).await,
            Self::Attempts => {
                let mut session = broker.session().await?;
                let results = session.execute(&statements::prune_attempts(AT_ONCE, KEEP)).await?;
                Ok(results.row_counts().iter().sum())
            }
        }
    }
}
