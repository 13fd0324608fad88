//! What a user of a worker implements: a handler, as a trait or as a closure, and the error it may answer with.

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use super::delivery::Delivery;
use crate::client::error::{Error, ErrorKind};
use crate::client::message::ErrorBody;
use crate::client::poison::Wish;

/// The failure of a handler. Any error becomes one by `?` or `into`, and then counts one attempt of its message; but an
/// [`Error`] of the kind [`BodyUnreadable`](ErrorKind::BodyUnreadable) [refuses](HandlerError::refuse) the message, since
/// another attempt would read the same bytes.
///
/// It is not itself an error type, so that every error can become one.
pub struct HandlerError {
    cause: Box<dyn StdError + Send + Sync>,
    wish: Wish,
}

impl HandlerError {
    /// The message is to be tried again after this time: it waits in the retries of the worker's
    /// [`RetrySchedule`](crate::client::RetrySchedule), and its place in the order of its conversation is given up.
    /// Without a schedule this is a failure like others.
    #[must_use]
    pub fn retry_after(delay: Duration, cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self { cause: cause.into(), wish: Wish::Later(delay) }
    }

    /// Trying again is of no use: the message becomes a dead letter, or its conversation is ended, at once.
    #[must_use]
    pub fn refuse(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self { cause: cause.into(), wish: Wish::Refuse }
    }

    /// The message goes back to the queue for a moment, which counts nothing.
    pub(super) fn not_now(cause: &'static str) -> Self {
        Self { cause: cause.into(), wish: Wish::NotNow }
    }

    /// What went wrong.
    #[must_use]
    pub fn cause(&self) -> &(dyn StdError + Send + Sync + 'static) {
        self.cause.as_ref()
    }

    pub(crate) fn wish(&self) -> Wish {
        self.wish
    }
}

impl<E: Into<Box<dyn StdError + Send + Sync>>> From<E> for HandlerError {
    fn from(cause: E) -> Self {
        let cause = cause.into();
        let error = cause.downcast_ref::<Error>();
        let unreadable = error.is_some_and(|error| error.kind() == ErrorKind::BodyUnreadable);
        Self { cause, wish: if unreadable { Wish::Refuse } else { Wish::None } }
    }
}

impl fmt::Debug for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HandlerError").field("cause", &self.cause).field("wish", &self.wish).finish()
    }
}

impl fmt::Display for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

/// Treats the messages of a queue.
///
/// A handler runs in the receiving transaction: what it does through its [`Delivery`] is committed together with the
/// receipt of the message, or undone with it. It may be cancelled at any await by a shutdown whose budget is spent; the
/// message then goes back to the queue and nothing is counted. A panic counts as a failure. A message may be handled
/// again although its handler succeeded, when a neighbour in its batch failed: effects outside the transaction must bear
/// that.
pub trait Handler: Send + Sync + 'static {
    /// Treats one message of the application. An error counts an attempt; what then becomes of the message the worker's
    /// [`PoisonPolicy`](crate::client::PoisonPolicy) says.
    fn handle(&self, delivery: &mut Delivery<'_>) -> impl Future<Output = Result<(), HandlerError>> + Send;

    /// Hears that a conversation failed or was ended with an error by the peer; logs it if not implemented. The worker
    /// ends our side afterwards, in the same transaction.
    fn on_error(
        &self,
        delivery: &mut Delivery<'_>,
        error: &ErrorBody,
    ) -> impl Future<Output = Result<(), HandlerError>> + Send {
        let conversation = delivery.message().conversation;
        tracing::warn!(%conversation, code = error.code, text = error.description, "a conversation failed");
        async { Ok(()) }
    }

    /// Hears that the peer ended a conversation; does nothing if not implemented. The worker ends our side afterwards, in
    /// the same transaction.
    fn on_end(&self, delivery: &mut Delivery<'_>) -> impl Future<Output = Result<(), HandlerError>> + Send {
        let _ = delivery;
        async { Ok(()) }
    }

    /// Treats a conversation timer that ran out; does nothing if not implemented.
    fn on_timer(&self, delivery: &mut Delivery<'_>) -> impl Future<Output = Result<(), HandlerError>> + Send {
        let _ = delivery;
        async { Ok(()) }
    }
}

/// The future a handler closure returns.
pub type Handling<'a> = Pin<Box<dyn Future<Output = Result<(), HandlerError>> + Send + 'a>>;

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
    async fn handle(&self, delivery: &mut Delivery<'_>) -> Result<(), HandlerError> {
        (self.0)(delivery).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_errors_become_handler_errors_and_keep_what_they_say() {
        let of_text: HandlerError = "out of paper".into();
        let of_error: HandlerError = std::io::Error::other("disk full").into();
        assert_eq!((of_text.to_string(), of_text.wish()), ("out of paper".to_owned(), Wish::None));
        assert_eq!(of_error.cause().to_string(), "disk full");
        let later = HandlerError::retry_after(Duration::from_secs(5), "busy");
        assert_eq!(later.wish(), Wish::Later(Duration::from_secs(5)));
        assert_eq!(HandlerError::refuse("no such customer").wish(), Wish::Refuse);
        let unreadable: HandlerError = Error::unreadable("the body is not xml").into();
        assert_eq!(unreadable.wish(), Wish::Refuse);
        let value: HandlerError = Error::value("the column holds NULL").into();
        assert_eq!(value.wish(), Wish::None);
    }
}
