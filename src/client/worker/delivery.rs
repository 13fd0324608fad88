//! One message in the hands of a handler, with what it may do in the receiving transaction.

use crate::client::body::Body;
use crate::client::error::Result;
use crate::client::ids::ConversationHandle;
use crate::client::message::Message;
use crate::client::names::MessageTypeName;
use crate::client::receive::Batch;
use crate::client::rows::Results;
use crate::client::values::SqlValue;

/// One message in the hands of a handler, with what it may do in the receiving transaction.
#[derive(Debug)]
pub struct Delivery<'a> {
    pub(super) message: &'a Message,
    pub(super) batch: &'a mut Batch,
    pub(super) attempt: u32,
}

impl<'a> Delivery<'a> {
    /// One received message with the batch it came in.
    pub(crate) fn new(message: &'a Message, batch: &'a mut Batch, attempt: u32) -> Self {
        Self { message, batch, attempt }
    }
}

impl Delivery<'_> {
    /// The message.
    #[must_use]
    pub fn message(&self) -> &Message {
        self.message
    }

    /// Which attempt this is, from 1, as far as it is known: attempts in other processes are known when they are counted
    /// in a table before they are made ([`PoisonPolicy::with_ledger`](crate::client::PoisonPolicy::with_ledger)), and for
    /// messages that were put off or stored. Above 1 effects outside the transaction may have happened already.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Answers on the message's conversation; the answer leaves at the commit.
    ///
    /// # Errors
    /// What the server answered. Cancelling is safe.
    pub async fn reply(&mut self, message_type: &MessageTypeName, body: impl Into<Body>) -> Result<()> {
        self.batch.send(self.message.conversation, message_type, body).await
    }

    /// Sends on any conversation of ours.
    ///
    /// # Errors
    /// What the server answered. Cancelling is safe.
    pub async fn send(
        &mut self,
        conversation: ConversationHandle,
        message_type: &MessageTypeName,
        body: impl Into<Body>,
    ) -> Result<()> {
        self.batch.send(conversation, message_type, body).await
    }

    /// Runs a statement; the values are `@P1`, `@P2`, and so on.
    ///
    /// # Errors
    /// What the server answered. Cancelling is safe: the statement runs to its end.
    pub async fn execute(&mut self, sql: impl Into<String>, values: &[SqlValue]) -> Result<Results> {
        self.batch.execute(sql, values).await
    }

    /// Notes that the message with this id is handled; false when it was before, see [`Batch::note_handled`]. For ids of the
    /// program's own, such as an order's number in another form, where messages have no envelope.
    ///
    /// # Errors
    /// As [`Batch::note_handled`]. Cancelling is safe.
    pub async fn note_handled(&mut self, id: uuid::Uuid) -> Result<bool> {
        self.batch.note_handled(id).await
    }

    /// Ends our side of the message's conversation.
    ///
    /// # Errors
    /// What the server answered. Cancelling is safe.
    pub async fn end(&mut self) -> Result<()> {
        self.batch.end(self.message.conversation).await
    }

    /// Ends our side of the message's conversation with an error; `code` is positive.
    ///
    /// # Errors
    /// What the server answered. Cancelling is safe.
    pub async fn end_with_error(&mut self, code: i32, description: impl Into<String>) -> Result<()> {
        self.batch.end_with_error(self.message.conversation, code, description).await
    }
}
