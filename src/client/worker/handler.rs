//! What a user of a worker implements: a handler, as a trait or as a closure.

use std::future::Future;
use std::pin::Pin;

use crate::client::body::Body;
use crate::client::error::Result;
use crate::client::ids::ConversationHandle;
use crate::client::message::{ErrorBody, Message};
use crate::client::names::MessageTypeName;
use crate::client::receive::Batch;
use crate::client::rows::Results;
use crate::client::values::SqlValue;

/// Any error of a handler. It counts one attempt of the message.
pub type HandlerError = Box<dyn std::error::Error + Send + Sync>;

/// Treats the messages of a queue.
///
/// A handler runs in the receiving transaction: what it does through its [`Delivery`] is committed together with the
/// receipt of the message, or undone with it. It may be cancelled at any await by a shutdown whose budget is spent; the
/// message then goes back to the queue. A panic counts as a failure.
pub trait Handler: Send + Sync + 'static {
    /// Treats one message of the application.
    fn handle(
        &self,
        delivery: &mut Delivery<'_>,
    ) -> impl Future<Output = std::result::Result<(), HandlerError>> + Send;

    /// Hears that a conversation ended with an error. The worker ends our side afterwards.
    fn on_error(&self, message: &Message, error: &ErrorBody) {
        tracing::warn!(conversation = %message.conversation, code = error.code, text = error.description, "a conversation failed");
    }

    /// Hears that the peer ended a conversation. The worker ends our side afterwards.
    fn on_end(&self, message: &Message) {
        tracing::debug!(conversation = %message.conversation, "the peer ended a conversation");
    }

    /// Treats a conversation timer that ran out; does nothing if not implemented.
    fn on_timer(
        &self,
        delivery: &mut Delivery<'_>,
    ) -> impl Future<Output = std::result::Result<(), HandlerError>> + Send {
        let _ = delivery;
        async { Ok(()) }
    }
}

/// One message in the hands of a handler, with what it may do in the receiving transaction.
#[derive(Debug)]
pub struct Delivery<'a> {
    pub(super) message: &'a Message,
    pub(super) batch: &'a mut Batch,
}

impl<'a> Delivery<'a> {
    /// One received message with the batch it came in.
    pub(crate) fn new(message: &'a Message, batch: &'a mut Batch) -> Self {
        Self { message, batch }
    }
}

impl Delivery<'_> {
    /// The message.
    #[must_use]
    pub fn message(&self) -> &Message {
        self.message
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

/// The future a handler closure returns.
pub type Handling<'a> = Pin<Box<dyn Future<Output = std::result::Result<(), HandlerError>> + Send + 'a>>;

/// A handler made of a closure; see [`handler_fn`].
#[derive(Clone, Copy, Debug)]
pub struct HandlerFn<F>(F);

/// Makes a handler of a closure that returns a boxed future:
/// `handler_fn(|delivery| Box::pin(async move { delivery.end().await?; Ok(()) }))`.
pub fn handler_fn<F>(handle: F) -> HandlerFn<F>
where
    F: for<'a, 'b> Fn(&'a mut Delivery<'b>) -> Handling<'a> + Send + Sync + 'static,
{
    HandlerFn(handle)
}

impl<F> Handler for HandlerFn<F>
where
    F: for<'a, 'b> Fn(&'a mut Delivery<'b>) -> Handling<'a> + Send + Sync + 'static,
{
    async fn handle(&self, delivery: &mut Delivery<'_>) -> std::result::Result<(), HandlerError> {
        (self.0)(delivery).await
    }
}
