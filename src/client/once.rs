//! Sending each message once although the call is repeated: its identifier is noted in the transaction of its SEND
//! (`sql/07-sending.sql`).
//!
//! After an unknown outcome, or a crash, call again with the same identifiers: what was sent answers so and is not sent
//! again.

use std::time::Duration;

use uuid::Uuid;

use super::broker::Broker;
use super::dialog_pool::{BorrowedPlace, Destination, DialogPool, MOST_ATTEMPTS};
use super::error::{Error, ErrorKind, Result};
use super::ids::ConversationHandle;
use super::message::OutgoingMessage;
use super::outcome;
use super::pool::random_fraction;
use super::retry::Backoff;
use super::sending;
use super::session::Connection;
use super::statements::{self, SEND_SIZES, Scope};

/// What became of a message sent under an identifier.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SendOnce {
    /// It was sent now.
    Sent,
    /// An earlier call has sent a message under this identifier; nothing was sent now.
    AlreadySent,
    /// It was not sent, and its identifier is free.
    Failed(Error),
}

impl DialogPool {
    /// Sends messages in order on one dialog of the pool, each unless a message with its identifier was sent before. One
    /// transaction, up to 100 messages a round trip. Identifiers are compared over all destinations of the database.
    ///
    /// Two calls with one identifier at the same time: the second waits for the first and then answers `AlreadySent`.
    ///
    /// # Errors
    /// As [`send`](DialogPool::send). After [`CommitUnknown`](ErrorKind::CommitUnknown) call again: that is what this is for.
    /// `ObjectMissing` when the table is missing. Dropping the future leaves it open whether the messages were sent.
    pub async fn send_once(
        &self,
        destination: &Destination,
        messages: &[(Uuid, OutgoingMessage)],
    ) -> Result<Vec<SendOnce>> {
        if messages.is_empty() {
            return Ok(Vec::new());
        }
        let mut place = self.borrow_place(destination).await?;
        place.sending(messages.iter().map(|(_, message)| message));
        let mut attempt = 0;
        loop {
            let outcomes = self.attempt_once(&mut place, messages).await?;
            attempt += 1;
            let again = attempt < MOST_ATTEMPTS && outcomes.iter().any(is_repeated);
            if !again {
                place.committed();
                return Ok(outcomes);
            }
            if outcomes.iter().any(is_over) {
                let dialog = place.dialog()?;
                place.replace(dialog).await?;
            } else {
                tokio::time::sleep(Backoff::reconnect().delay(attempt, random_fraction())).await;
            }
        }
    }

    /// All in one transaction. What a dead dialog refuses undoes it: the next attempt sends everything in order.
    async fn attempt_once(
        &self,
        place: &mut BorrowedPlace,
        messages: &[(Uuid, OutgoingMessage)],
    ) -> Result<Vec<SendOnce>> {
        let mut session = self.broker().session().await?;
        session.begin().await?;
        let dialog = place.dialog()?;
        let sent = send_chunks(&mut *session, Scope::Joined, dialog, messages).await;
        let keep = sent.as_ref().is_ok_and(|sent| !sent.rolled_back && !sent.outcomes.iter().any(is_over));
        if keep {
            session.commit().await?;
        } else if session.is_clean() {
            session.rollback_if_open().await?;
        }
        let sent = sent?;
        Ok(if keep { sent.outcomes } else { undone(sent.outcomes) })
    }
}

impl Broker {
    /// Forgets identifiers of messages sent longer ago than this, at most so many; returns how many. Call it again until it
    /// returns less. A message whose identifier is forgotten can be sent again.
    ///
    /// # Errors
    /// `ObjectMissing` without the table of `sql/07-sending.sql`; the server's otherwise. Dropping the future leaves it open
    /// whether they were forgotten.
    pub async fn forget_sent(&self, older_than: Duration, most: u32) -> Result<u64> {
        let seconds = i32::try_from(older_than.as_secs()).unwrap_or(i32::MAX);
        let most = i32::try_from(most).unwrap_or(i32::MAX);
        let mut session = self.session().await?;
        let results = session.execute(&statements::prune_sent(seconds, most)).await;
        let results = results.map_err(Error::into_commit_outcome)?;
        let pruned: i32 = results.first_row().map_or(Ok(0), |row| row.get("pruned"))?;
        Ok(u64::try_from(pruned).unwrap_or(0))
    }
}

/// What one transaction has tried.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) outcomes: Vec<SendOnce>,
    /// Whether the transaction can only be rolled back, or was.
    pub(super) rolled_back: bool,
}

/// Sends in the open transaction of a connection.
pub(super) async fn send_chunks(
    connection: &mut impl Connection,
    scope: Scope,
    dialog: ConversationHandle,
    messages: &[(Uuid, OutgoingMessage)],
) -> Result<Attempt> {
    sending::check_bodies(connection, messages.iter().map(|(_, message)| message))?;
    let mut attempt = Attempt { outcomes: Vec::new(), rolled_back: false };
    for chunk in messages.chunks(SEND_SIZES[SEND_SIZES.len() - 1]) {
        let chunk: Vec<&(Uuid, OutgoingMessage)> = chunk.iter().collect();
        let response = connection.run(&statements::send_once(scope, dialog, &chunk)).await?;
        let answer = outcome::decode(chunk.len(), response).map_err(|error| {
            error.during(format!("sending once on {dialog} (tables of sql/07-sending.sql)"))
        })?;
        attempt.outcomes.extend(answer.outcomes.into_iter().map(read));
        attempt.rolled_back = answer.rolled_back;
        if answer.rolled_back {
            let rest = messages.len() - attempt.outcomes.len();
            attempt.outcomes.extend(std::iter::repeat_n(SendOnce::Sent, rest));
            break;
        }
    }
    Ok(attempt)
}

/// Error number 0 stands for a message that was sent before.
fn read(outcome: outcome::SendOutcome) -> SendOnce {
    match outcome.into_result() {
        Ok(()) => SendOnce::Sent,
        Err(error) if error.server_number() == Some(0) => SendOnce::AlreadySent,
        Err(error) => SendOnce::Failed(error),
    }
}

/// Nothing was sent, since the transaction is gone.
fn undone(outcomes: Vec<SendOnce>) -> Vec<SendOnce> {
    let undo = |outcome| match outcome {
        SendOnce::Sent => SendOnce::Failed(Error::new(
            ErrorKind::TransactionDoomed,
            "not sent: the transaction was rolled back",
        )),
        other => other,
    };
    outcomes.into_iter().map(undo).collect()
}

fn is_over(outcome: &SendOnce) -> bool {
    matches!(outcome, SendOnce::Failed(error) if error.dialog_is_over())
}

fn is_repeated(outcome: &SendOnce) -> bool {
    matches!(outcome, SendOnce::Failed(error) if error.dialog_is_over() || error.kind() == ErrorKind::Transient)
}
