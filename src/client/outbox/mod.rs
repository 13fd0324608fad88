//! Sending inside a transaction that somebody else has open: on a `tiberius` client of the caller's, or in the receiving
//! transaction of a batch.
//!
//! Message and business data are committed together, without an outbox table: SEND is part of the transaction. The dialog
//! is one of a pool; it is begun on a connection of the pool's own, so that it exists whatever becomes of the transaction.
//! This folder is the one place of the public interface that names the driver.
//!
//! ```no_run
//! # use ssbroker::client::{Destination, DialogPool, OutgoingMessage};
//! # async fn example<S>(pool: DialogPool, destination: Destination, messages: Vec<OutgoingMessage>,
//! #     client: &mut tiberius::Client<S>) -> Result<(), Box<dyn std::error::Error>>
//! # where S: futures_util::AsyncRead + futures_util::AsyncWrite + Unpin + Send {
//! client.simple_query("BEGIN TRANSACTION").await?.into_results().await?;
//! client.execute("INSERT INTO orders (id) VALUES (@P1)", &[&7]).await?;
//! let mut joined = pool.outbox(&destination).await?.send(client, &messages).await?;
//! for outcome in joined.take_outcomes() {
//!     outcome.into_result()?;
//! }
//! client.simple_query("COMMIT TRANSACTION").await?.into_results().await?;
//! joined.committed();
//! # Ok(())
//! # }
//! ```

mod batch;
mod once;

use futures_util::{AsyncRead, AsyncWrite};
use tiberius::Client;

use super::dialog_pool::{BorrowedPlace, Destination, DialogPool};
use super::error::{Error, ErrorKind, Result};
use super::message::OutgoingMessage;
use super::outcome::{SendAnswer, SendOutcome, cause_of_roll_back};
use super::sending;
use super::session::{Connection, Guest};
use super::statements::Opening;

/// A dialog of a pool, borrowed for one transaction; made by [`DialogPool::outbox`].
///
/// Nothing has been sent yet: dropping it gives the dialog back.
#[derive(Debug)]
#[must_use = "nothing is sent before `send`"]
pub struct Outbox {
    place: BorrowedPlace,
}

/// Messages sent in a transaction that is still open.
///
/// Tell it how the transaction ends, with [`committed`](Self::committed) or [`rolled_back`](Self::rolled_back). Dropped
/// without that, nobody knows, and the pool verifies the dialog before it uses it again. Until then the dialog's place is
/// taken, as the server's lock on its conversation would force anyway: other calls for it wait.
#[derive(Debug)]
#[must_use = "say how the transaction ended, or the dialog has to be verified"]
pub struct Joined {
    place: BorrowedPlace,
    outcomes: Vec<SendOutcome>,
}

impl DialogPool {
    /// Borrows a dialog for sending in a transaction of yours. Waits for a place like [`send`](DialogPool::send).
    ///
    /// Borrow it after the transaction has done its other work, and do not borrow two in one transaction: others may do so in
    /// the other order and wait for each other.
    ///
    /// # Errors
    /// `Config` for a shared pool; those of beginning a dialog. Dropping the future gives the place back.
    pub async fn outbox(&self, destination: &Destination) -> Result<Outbox> {
        Ok(Outbox { place: self.borrow_place(destination).await? })
    }
}

impl Outbox {
    /// Sends messages in order in the transaction that `client` has open; they leave when it commits. Up to 100 messages are
    /// one round trip, each with an outcome of its own in [`Joined::outcomes`].
    ///
    /// The same request looks first whether a transaction is open and whether the dialog is still alive, without dooming
    /// anything; a dialog that is over is replaced on a connection of the pool's own, and the messages go to the new one.
    ///
    /// # Errors
    /// `Statement` when no transaction is open; then nothing was sent. `TransactionDoomed` when a message doomed the
    /// transaction, as any of its errors does under `XACT_ABORT`: roll it back. Those of the connection otherwise.
    ///
    /// Dropping the future leaves the client in the middle of a request: close it.
    pub async fn send<S>(self, client: &mut Client<S>, messages: &[OutgoingMessage]) -> Result<Joined>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        let mut joined = Joined { place: self.place, outcomes: Vec::new() };
        joined.send(client, messages).await?;
        Ok(joined)
    }
}

impl Joined {
    /// Sends further messages on the same dialog, in the same transaction. Their outcomes replace those before.
    ///
    /// # Errors
    /// As [`Outbox::send`].
    ///
    /// Dropping the future leaves the client in the middle of a request: close it.
    pub async fn send<S>(&mut self, client: &mut Client<S>, messages: &[OutgoingMessage]) -> Result<()>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        self.send_on(&mut Guest::new(client, self.place.max_body()), messages).await
    }

    /// What became of each message of the last call.
    #[must_use]
    pub fn outcomes(&self) -> &[SendOutcome] {
        &self.outcomes
    }

    /// The same, taken out.
    pub fn take_outcomes(&mut self) -> Vec<SendOutcome> {
        std::mem::take(&mut self.outcomes)
    }

    /// The transaction is committed: the messages are on their way.
    ///
    /// ```compile_fail,E0382
    /// # use ssbroker::client::outbox::Joined;
    /// # async fn example<S>(mut joined: Joined, client: &mut tiberius::Client<S>) -> Result<(), ssbroker::client::Error>
    /// # where S: futures_util::AsyncRead + futures_util::AsyncWrite + Unpin + Send {
    /// joined.committed();
    /// joined.send(client, &[]).await?; // the transaction is over
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// ```compile_fail,E0382
    /// # use ssbroker::client::outbox::Joined;
    /// # fn example(joined: Joined) {
    /// joined.rolled_back();
    /// joined.committed(); // and it ended in one way
    /// # }
    /// ```
    pub fn committed(self) {
        self.place.committed();
    }

    /// The transaction is rolled back: nothing was sent.
    pub fn rolled_back(self) {
        self.place.rolled_back();
    }

    async fn send_on(
        &mut self,
        connection: &mut impl Connection,
        messages: &[OutgoingMessage],
    ) -> Result<()> {
        if messages.is_empty() {
            return Ok(());
        }
        let batch: Vec<&OutgoingMessage> = messages.iter().collect();
        let untouched = self.place.is_untouched();
        self.place.sending(messages);
        let dialog = self.place.dialog()?;
        let mut answer = sending::send_as_guest(connection, Opening::Existing(dialog), &batch).await;
        // Before anything was sent the transaction holds no lock of the dialog, so another connection may repair it.
        if untouched && answer.as_ref().is_err_and(|error| error.dialog_is_over()) {
            self.place.replace(dialog).await?;
            let successor = self.place.dialog()?;
            answer = sending::send_as_guest(connection, Opening::Existing(successor), &batch).await;
        }
        self.outcomes = judge(answer?)?;
        Ok(())
    }
}

fn judge(answer: SendAnswer) -> Result<Vec<SendOutcome>> {
    if !answer.rolled_back {
        return Ok(answer.outcomes);
    }
    let error = Error::new(ErrorKind::TransactionDoomed, "a message doomed the transaction: roll it back");
    Err(match cause_of_roll_back(answer.outcomes) {
        Some(reason) => error.with_cause(reason),
        None => error,
    })
}
