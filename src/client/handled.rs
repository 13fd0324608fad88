//! Handling each message once although it arrives twice: its id is noted in the transaction that handles it
//! (`sql/12-handled-messages.sql`).
//!
//! A message arrives again when its sender sends it again without knowing that it had arrived: after a lost
//! acknowledgement, an unknown commit, a restart. Ids come with envelopes; programs without them choose their own.

use std::time::Duration;

use uuid::Uuid;

use super::broker::Broker;
use super::error::{Error, ErrorKind, Result};
use super::message::Message;
use super::names::QueueName;
use super::receive::Batch;
use super::rows::Results;
use super::statements;

impl Batch {
    /// Notes in the receiving transaction that the message with this id is handled, for this queue. False when it was noted
    /// before: then nothing is to be done for it. Another transaction that has just noted it is waited for.
    ///
    /// [`Worker::skip_repeated`](super::Worker::skip_repeated) does this for messages with an envelope.
    ///
    /// # Errors
    /// What the server answered; [`ErrorKind::ObjectMissing`] without the table of `sql/12-handled-messages.sql`.
    /// Cancelling is safe; the note may then be made, and holds if the batch is committed.
    pub async fn note_handled(&mut self, id: Uuid) -> Result<bool> {
        let queue = self.queue().to_owned();
        let noted = self
            .on_session(move |session| {
                Box::pin(async move { session.execute(&statements::note_handled(&queue, id)).await })
            })
            .await;
        read_noted(&noted.map_err(|error| error.during("noting a message in ssbroker.handled_messages"))?)
    }
}

impl Broker {
    /// Forgets which messages of a queue were handled longer ago than this, at most so many; returns how many. Call it again
    /// until it returns less. A message that is forgotten would be handled again. A worker does this by itself, see
    /// [`Worker::skip_repeated`](super::Worker::skip_repeated).
    ///
    /// # Errors
    /// `ObjectMissing` without the table of `sql/12-handled-messages.sql`; the server's otherwise. Dropping the future leaves
    /// it open whether they were forgotten.
    pub async fn forget_handled(&self, queue: &QueueName, older_than: Duration, most: u32) -> Result<u64> {
        let queue = queue.quoted();
        let mut session = self.session().await?;
        let results = session.execute(&statements::forget_handled(&queue, older_than, most)).await;
        Ok(results.map_err(Error::into_commit_outcome)?.row_counts().iter().sum())
    }
}

/// Whether a message that says who it is was handled before; notes that it is handled now. One without an id is new.
pub(crate) async fn is_repeated(batch: &mut Batch, message: &Message) -> Result<bool> {
    let Some(id) = message.message_id().filter(|_| message.is_user_message()) else { return Ok(false) };
    let is_new = batch.note_handled(id).await?;
    if !is_new {
        let conversation = message.conversation;
        tracing::info!(%conversation, %id, "a message that was handled before has come again and is skipped");
    }
    Ok(!is_new)
}

fn read_noted(results: &Results) -> Result<bool> {
    let row = results.first_row().ok_or_else(|| {
        Error::new(ErrorKind::Protocol, "the server did not say whether a message was handled before")
    })?;
    Ok(row.get::<i32>("noted")? != 0)
}
