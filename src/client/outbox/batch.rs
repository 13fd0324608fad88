//! The same in the receiving transaction of a batch, whose end the pool then learns by itself.

use super::{Joined, Outbox};
use crate::client::dialog::DialogBuilder;
use crate::client::error::Result;
use crate::client::ids::ConversationHandle;
use crate::client::message::OutgoingMessage;
use crate::client::outcome::SendOutcome;
use crate::client::receive::Batch;
use crate::client::sending;
use crate::client::statements::Scope;

impl Outbox {
    /// Sends messages in the receiving transaction of a batch; they leave when it is committed. The place is given back when
    /// the batch is decided.
    ///
    /// # Errors
    /// As [`send`](Outbox::send). Cancelling is safe for the batch; the messages may then leave with its commit.
    pub async fn send_in(self, batch: &mut Batch, messages: &[OutgoingMessage]) -> Result<Vec<SendOutcome>> {
        let mut joined = Joined { place: self.place, outcomes: Vec::new() };
        let messages = messages.to_vec();
        let (sent, mut joined) = batch
            .on_session(move |session| {
                Box::pin(async move {
                    let sent = joined.send_on(session, &messages).await;
                    Ok((sent, joined))
                })
            })
            .await?;
        let outcomes = joined.take_outcomes();
        // Not committed means undone or unknown; dropped, the place has its dialog verified.
        batch.after_commit(move || joined.committed());
        sent.map(|()| outcomes)
    }
}

impl DialogBuilder {
    /// Begins the dialog in the receiving transaction of a batch; it exists once that is committed. Send on it with
    /// [`Batch::send`].
    ///
    /// # Errors
    /// As [`begin`](DialogBuilder::begin). Cancelling is safe; the dialog may then be begun by the commit.
    pub async fn begin_in(self, batch: &mut Batch) -> Result<ConversationHandle> {
        let spec = self.into_spec()?;
        batch
            .on_session(move |session| {
                Box::pin(async move { sending::begin(session, Scope::Joined, &spec).await })
            })
            .await
    }
}
