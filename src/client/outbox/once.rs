//! The same under identifiers (`sql/07-sending.sql`): a transaction that is repeated sends nothing twice.

use futures_util::{AsyncRead, AsyncWrite};
use tiberius::Client;
use uuid::Uuid;

use super::{Joined, Outbox};
use crate::client::error::{Error, ErrorKind, Result};
use crate::client::message::OutgoingMessage;
use crate::client::once::{self, SendOnce};
use crate::client::session::Guest;
use crate::client::statements::Scope;

impl Outbox {
    /// Sends messages in the transaction that `client` has open, each unless a message with its identifier was sent before,
    /// and notes the identifiers in that transaction. Answers what became of each.
    ///
    /// This makes a transaction repeatable whose commit may or may not have happened: do all of it again under the same
    /// identifiers. [`AlreadySent`](SendOnce::AlreadySent) says that the first one was committed; roll this one back, then.
    /// Another transaction that has an identifier in hand is waited for.
    ///
    /// # Errors
    /// As [`send`](Outbox::send), but that a message that is refused dooms nothing, whatever `XACT_ABORT` says;
    /// `ObjectMissing` when the table is missing, as the error or in each outcome.
    ///
    /// Dropping the future leaves the client in the middle of a request: close it.
    pub async fn send_once<S>(
        self,
        client: &mut Client<S>,
        messages: &[(Uuid, OutgoingMessage)],
    ) -> Result<(Joined, Vec<SendOnce>)>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        let mut joined = Joined { place: self.place, outcomes: Vec::new() };
        let outcomes = joined.send_once(client, messages).await?;
        Ok((joined, outcomes))
    }
}

impl Joined {
    /// Sends further messages under identifiers, on the same dialog and in the same transaction.
    ///
    /// # Errors
    /// As [`Outbox::send_once`].
    ///
    /// Dropping the future leaves the client in the middle of a request: close it.
    pub async fn send_once<S>(
        &mut self,
        client: &mut Client<S>,
        messages: &[(Uuid, OutgoingMessage)],
    ) -> Result<Vec<SendOnce>>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        let connection = &mut Guest::new(client, self.place.max_body());
        let untouched = self.place.is_untouched();
        self.place.sending(messages.iter().map(|(_, message)| message));
        let dialog = self.place.dialog()?;
        let mut attempt = once::send_chunks(connection, Scope::Guest, dialog, messages).await;
        // As in `send`: before anything was sent the dialog can be repaired by another connection.
        if untouched && attempt.as_ref().is_err_and(|error| error.dialog_is_over()) {
            self.place.replace(dialog).await?;
            let successor = self.place.dialog()?;
            attempt = once::send_chunks(connection, Scope::Guest, successor, messages).await;
        }
        let attempt = attempt?;
        if attempt.rolled_back {
            let text = "the transaction can only be rolled back: roll it back";
            return Err(Error::new(ErrorKind::TransactionDoomed, text));
        }
        Ok(attempt.outcomes)
    }
}
