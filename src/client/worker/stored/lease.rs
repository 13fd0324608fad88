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

/// In how long an item of a queue may be free to be claimed, or now; `None` when there is none.
pub(super) async fn next_item(broker: &Broker, queue: &str) -> Result<Option<Duration>> {
    let mut session = broker.session().await?;
    let results = session.execute(&statements::next_work_item(queue)).await?;
    let wait = results.first_row().map(|row| row.get::<Option<i64>>("wait")).transpose()?.flatten();
    Ok(wait.map(|wait| Duration::from_millis(wait.max(0).unsigned_abs())))
}

/// Extends the lease at a third of its span until it is lost, which is when this ends: somebody else has taken the item
/// over, or the server could not be reached for the whole span.
pub(super) async fn beat(broker: &Broker, id: i64, lease: Uuid, span: Duration) {
    let mut kept_at = tokio::time::Instant::now();
    loop {
        let left = || span.saturating_sub(kept_at.elapsed());
        tokio::time::sleep(left().min(span / 3)).await;
        let asked_at = tokio::time::Instant::now();
        match tokio::time::timeout(left(), extend(broker, id, lease, span)).await {
            Ok(Ok(true)) => kept_at = asked_at,
            Ok(Ok(false)) => return,
            Ok(Err(error)) => tracing::debug!(item = id, %error, "a heartbeat failed and is repeated"),
            Err(_elapsed) => {
                tracing::warn!(item = id, "a lease could not be extended in time");
                return;
            }
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
