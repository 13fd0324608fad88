//! Messages that were not sent: looking at what dialog pools have noted, and sending it again.
//!
//! They lie in the table `ssbroker.unsent` (`sql/07-sending.sql`). Everything that takes many rows goes in bounded steps.

use std::time::Duration;

use super::body::Body;
use super::broker::Broker;
use super::dialog_pool::{BorrowedPlace, Destination, DialogPool, MOST_ATTEMPTS};
use super::error::{Error, ErrorKind, Result};
use super::ids::ConversationHandle;
use super::message::OutgoingMessage;
use super::names::MessageTypeName;
use super::rows::Row;
use super::sending;
use super::session::Session;
use super::statements::{self, Scope};
use super::values::{SqlDateTime, SqlValue};

/// Rows removed in one statement.
const AT_ONCE: u32 = 1000;

/// The unsent messages of a database; made by [`Broker::unsent`].
#[derive(Clone, Debug)]
pub struct UnsentMessages {
    broker: Broker,
}

/// A message that was pending on a dialog that failed for good, or that was refused when its time had come.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct UnsentMessage {
    /// Its number, by which it is asked for.
    pub id: i64,
    /// When it was noted, in UTC.
    pub noted: SqlDateTime,
    /// The conversation it was pending on, which was ended; `None` for a delayed message.
    pub conversation: Option<ConversationHandle>,
    /// Its place in that conversation.
    pub sequence_number: Option<i64>,
    /// The service it was sent from.
    pub from: String,
    /// The service it was sent to.
    pub to: String,
    /// The contract of its conversation.
    pub contract: String,
    /// Its type.
    pub message_type: String,
    /// The code of the Error message that ended the conversation, or the number of the server's error; `None` if there was
    /// none.
    pub code: Option<i32>,
    /// Why it was not sent.
    pub reason: String,
    /// The length of its body in bytes.
    pub body_length: u64,
    /// Its body; `None` in a list.
    pub body: Option<Body>,
}

impl Broker {
    /// The unsent messages of the database.
    #[must_use]
    pub fn unsent(&self) -> UnsentMessages {
        UnsentMessages { broker: self.clone() }
    }
}

impl UnsentMessages {
    /// The next unsent messages after the one with number `after`, oldest first, without their bodies. Begin with 0, and go
    /// on with the last number of the page before.
    ///
    /// # Errors
    /// The server's: the table is missing (`ObjectMissing`) or not permitted. Cancelling is safe.
    pub async fn list(&self, after: i64, limit: u32) -> Result<Vec<UnsentMessage>> {
        let mut session = self.broker.session().await?;
        let results = session.execute(&statements::list_unsent(after, limit)).await?;
        results.into_rows().into_iter().map(UnsentMessage::from_row).collect()
    }

    /// One unsent message with its body.
    ///
    /// # Errors
    /// As [`list`](Self::list). Cancelling is safe.
    pub async fn get(&self, id: i64) -> Result<Option<UnsentMessage>> {
        get(&mut *self.broker.session().await?, id).await
    }

    /// Removes one unsent message; answers whether there was one.
    ///
    /// # Errors
    /// As [`list`](Self::list); [`ErrorKind::CommitUnknown`] when the answer was lost. Dropping the future leaves it open
    /// whether it happened.
    pub async fn remove(&self, id: i64) -> Result<bool> {
        let mut session = self.broker.session().await?;
        let results = session.execute(&statements::delete_unsent(id)).await;
        Ok(results.map_err(Error::into_commit_outcome)?.row_counts().iter().sum::<u64>() > 0)
    }

    /// Removes all that were noted at least so long ago, a thousand in a statement. Answers how many there were.
    ///
    /// # Errors
    /// As [`list`](Self::list); those removed so far stay removed. Cancelling stops between two statements.
    pub async fn purge(&self, older_than: Duration) -> Result<u64> {
        let mut removed = 0;
        loop {
            let mut session = self.broker.session().await?;
            let results = session.execute(&statements::purge_unsent(older_than, AT_ONCE)).await?;
            let count = results.row_counts().iter().sum::<u64>();
            removed += count;
            if count < u64::from(AT_ONCE) {
                return Ok(removed);
            }
        }
    }
}

impl DialogPool {
    /// Sends an unsent message again on a dialog of the pool, to the service it was sent to, and removes it: both or
    /// neither. False when there is no such message. Take them in the order of their numbers to keep their order.
    ///
    /// # Errors
    /// As [`send`](DialogPool::send); `MessageRefused` and whatever else SEND refuses. The message stays noted then.
    /// [`CommitUnknown`](ErrorKind::CommitUnknown) when the answer was lost: look whether it is still noted. Dropping the
    /// future leaves it open whether it happened; it is not sent twice.
    pub async fn send_unsent(&self, id: i64) -> Result<bool> {
        let Some(unsent) = self.broker().unsent().get(id).await? else { return Ok(false) };
        let destination = Destination::new(unsent.from, unsent.to)?.contract(unsent.contract)?;
        let mut place = self.borrow_place(&destination).await?;
        for _ in 0..MOST_ATTEMPTS {
            let mut session = self.broker().session().await?;
            session.begin().await?;
            match send_again(&mut session, &mut place, id).await {
                Ok(sent) => {
                    session.commit().await?;
                    place.committed();
                    return Ok(sent);
                }
                Err(error) => {
                    if session.is_clean() {
                        session.rollback_if_open().await?;
                    }
                    if !error.dialog_is_over() {
                        return Err(error.during(format_args!("sending unsent message {id} again")));
                    }
                }
            }
            drop(session);
            let dialog = place.dialog()?;
            place.replace(dialog).await?;
        }
        Err(Error::new(
            ErrorKind::Transient,
            "the dialogs for an unsent message are over as soon as they are begun",
        ))
    }
}

impl UnsentMessage {
    fn from_row(mut row: Row) -> Result<Self> {
        let body = match row.take("message_body") {
            Ok(SqlValue::Bytes(bytes)) => Some(Body::bytes(bytes)),
            Ok(_) => Some(Body::empty()),
            Err(_not_asked_for) => None,
        };
        Ok(Self {
            id: row.get("id")?,
            noted: row.get("noted")?,
            conversation: row.get("conversation_handle")?,
            sequence_number: row.get("message_sequence_number")?,
            from: row.get("from_service_name")?,
            to: row.get("to_service_name")?,
            contract: row.get("contract_name")?,
            message_type: row.get("message_type_name")?,
            code: row.get("error_code")?,
            reason: row.get("reason")?,
            body_length: row.get::<Option<i64>>("body_length")?.unwrap_or(0).unsigned_abs(),
            body,
        })
    }
}

async fn get(session: &mut Session, id: i64) -> Result<Option<UnsentMessage>> {
    let results = session.execute(&statements::get_unsent(id)).await?;
    results.into_rows().into_iter().next().map(UnsentMessage::from_row).transpose()
}

/// Within a transaction: the row is locked, sent and removed. Another may have done so meanwhile.
async fn send_again(session: &mut Session, place: &mut BorrowedPlace, id: i64) -> Result<bool> {
    let Some(unsent) = get(session, id).await? else { return Ok(false) };
    let body = unsent.body.unwrap_or_default();
    let message = OutgoingMessage::new(MessageTypeName::new(unsent.message_type)?, body);
    place.sending([&message]);
    sending::send(session, Scope::Joined, place.dialog()?, &message).await?;
    session.execute(&statements::delete_unsent(id)).await?;
    Ok(true)
}
