//! Deciding the messages of a batch one by one, for programs that feed them to others: what is done stays received, what
//! failed goes back with an attempt counted or to the dead letters, and all of it is one transaction.
//!
//! [`Worker`](crate::client::Worker) decides all this by itself; these are its means, for callers with a policy of their own.
//! They need the tables of `sql/05-dead-letters.sql`, but for [`Batch::keep_first`] and [`Batch::undo`].

use super::batch::Batch;
use crate::client::broker::Broker;
use crate::client::error::Result;
use crate::client::ids::{ConversationGroup, ConversationHandle};
use crate::client::message::Message;
use crate::client::poison::DeadLetterCause;
use crate::client::rows::Row;
use crate::client::statements::{self, Failed};

impl Batch {
    /// Gives all messages back and takes the first `count` of the same conversation group again, without leaving the
    /// transaction; the roll back does not count against the queue. What was done in the transaction is undone.
    ///
    /// Answers the messages that were taken. They are the first `count` of the batch, unless a message that goes before
    /// them has come in between: compare conversations and sequence numbers, and give the batch back if they differ.
    ///
    /// # Errors
    /// What the server answered; give the batch back then. Cancelling is safe.
    pub async fn keep_first(&mut self, group: ConversationGroup, count: u32) -> Result<Vec<Message>> {
        if count > 0 {
            return self.shorten(group, count).await;
        }
        self.afterwards.clear();
        self.on_session(move |session| {
            Box::pin(async move { session.batch(statements::GIVE_BACK_AND_GO_ON).await.map(drop) })
        })
        .await?;
        Ok(Vec::new())
    }

    /// Undoes everything done in the transaction since the messages were received; they stay received.
    ///
    /// # Errors
    /// What the server answered, such as that the transaction can only be rolled back. Cancelling is safe.
    pub async fn undo(&mut self) -> Result<()> {
        self.undo_handling().await
    }

    /// How often each message of a conversation failed before, by sequence number; those that never did are left out.
    ///
    /// # Errors
    /// What the server answered; [`ErrorKind::ObjectMissing`](crate::client::ErrorKind::ObjectMissing) without the tables.
    /// Cancelling is safe.
    pub async fn attempts_on(&mut self, conversation: ConversationHandle) -> Result<Vec<(i64, u32)>> {
        let results = self.run(statements::attempts_on(conversation)).await?;
        let counted = |row: Row| {
            let attempts = u32::try_from(row.get::<i32>("attempts")?).unwrap_or(0);
            Ok((row.get("message_sequence_number")?, attempts))
        };
        results.into_rows().into_iter().map(counted).collect()
    }

    /// Counts a failed attempt of a message, with up to 2,000 UTF-16 units of its reason. It holds if the batch is
    /// committed.
    ///
    /// # Errors
    /// As [`attempts_on`](Self::attempts_on). Cancelling is safe; it may then be done, and holds if the batch is committed.
    pub async fn count_attempt(&mut self, message: &Message, reason: impl Into<String>) -> Result<()> {
        let (message, reason) = (message.clone(), reason.into());
        self.on_session(move |session| {
            Box::pin(
                async move { session.execute(&statements::count_attempt(&message, &reason)).await.map(drop) },
            )
        })
        .await
    }

    /// Forgets the attempts of a message that was handled after all.
    ///
    /// # Errors
    /// As [`attempts_on`](Self::attempts_on). Cancelling is safe; it may then be done, and holds if the batch is committed.
    pub async fn forget_attempts(&mut self, message: &Message) -> Result<()> {
        self.run(statements::forget_attempts(message)).await.map(drop)
    }

    /// Moves a received message to `ssbroker.dead_letters`; `attempts`, `cause` and up to 2,000 UTF-16 units of `reason` are kept
    /// with it.
    ///
    /// # Errors
    /// As [`attempts_on`](Self::attempts_on). Cancelling is safe; it may then be done, and holds if the batch is committed.
    pub async fn dead_letter(
        &mut self,
        message: Message,
        attempts: u32,
        cause: DeadLetterCause,
        reason: impl Into<String>,
    ) -> Result<()> {
        let (queue, reason) = (self.queue().to_owned(), reason.into());
        self.park(Failed { message, queue, attempts, retries: 0, reason }, cause.as_str()).await
    }
}

impl Broker {
    /// As [`Batch::count_attempt`], on a connection of the pool and at once: for a message whose batch was rolled back as a
    /// whole.
    ///
    /// # Errors
    /// As [`Batch::attempts_on`]. Dropping the future leaves it open whether the attempt was counted.
    pub async fn count_attempt(&self, message: &Message, reason: &str) -> Result<()> {
        let mut session = self.session().await?;
        session.execute(&statements::count_attempt(message, reason)).await.map(drop)
    }
}
