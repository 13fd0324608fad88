//! One lease on one item: claimed, kept by a heartbeat, given up.

use std::time::Duration;

use uuid::Uuid;

use super::WorkItem;
use crate::client::broker::Broker;
use crate::client::error::Result;
use crate::client::message::Message;
use crate::client::statements;

/// Claims the next free item of a queue.
pub(super) async fn claim(broker: &Broker, queue: &str, span: Duration) -> Result<Option<WorkItem>> {
    let lease = Uuid::new_v4();
    let mut session = broker.session().await?;
    let results = session.execute(&statements::claim_work_item(queue, lease, span)).await?;
    let Some(row) = results.into_rows().into_iter().next() else { return Ok(None) };
    let attempt = u32::try_from(row.get::<i32>("attempts")?).unwrap_or(1);
    Ok(Some(WorkItem {
        id: row.get("id")?,
        lease,
        attempt,
        last_reason: row.get("last_reason")?,
        message: Message::from_row(row)?,
    }))
}

/// Extends the lease at a third of its span until it is lost, which is when this ends: somebody else has taken the item
/// over, or the server could not be reached for the whole span.
pub(super) async fn beat(broker: &Broker, id: i64, lease: Uuid, span: Duration) {
    let mut kept_at = tokio::time::Instant::now();
    loop {
        tokio::time::sleep(span / 3).await;
        match extend(broker, id, lease, span).await {
            Ok(true) => kept_at = tokio::time::Instant::now(),
            Ok(false) => return,
            Err(error) if kept_at.elapsed() >= span => {
                tracing::warn!(item = id, %error, "a lease could not be extended in time");
                return;
            }
            Err(error) => tracing::debug!(item = id, %error, "a heartbeat failed and is repeated"),
        }
    }
}

async fn extend(broker: &Broker, id: i64, lease: Uuid, span: Duration) -> Result<bool> {
    let extend = async {
        let mut session = broker.session().await?;
        let results = session.execute(&statements::extend_lease(id, lease, span)).await?;
        Ok(results.row_counts().iter().sum::<u64>() > 0)
    };
    match tokio::time::timeout(span / 3, extend).await {
        Ok(outcome) => outcome,
        Err(_elapsed) => Err(crate::client::Error::new(
            crate::client::ErrorKind::Timeout,
            "the server did not answer a heartbeat in time",
        )),
    }
}
