//! Switching a queue on again.
//!
//! The server switches a queue off after five roll backs in a row (specification section 6). Whether it is to be switched
//! on again, and how often, is the caller's business.

use super::broker::Broker;
use super::error::Result;
use super::inspection::QueueLocation;
use super::statements;

impl Broker {
    /// Switches a queue on (`STATUS = ON`); one that is on stays so. The login needs ALTER on the queue.
    ///
    /// A message that made the server switch it off is still in it: whoever receives it and rolls back makes the server
    /// switch it off once more.
    ///
    /// # Errors
    /// [`ErrorKind::PermissionDenied`](super::ErrorKind::PermissionDenied) or
    /// [`ErrorKind::ObjectMissing`](super::ErrorKind::ObjectMissing) without that right or queue, which the server does not
    /// tell apart, and the server's others. Cancelling leaves it open whether the queue is on.
    pub async fn enable_queue(&self, location: impl Into<QueueLocation>) -> Result<()> {
        let mut session = self.session().await?;
        session.batch(&statements::enable_queue(&location.into())).await.map(drop)
    }
}
