//! The tables of remembered requests, `ssbroker.waiters` and `ssbroker.waiter_messages` (`sql/09-waiters.sql`), read and
//! written.

use std::time::Duration;

use super::verdict::{Arrived, Outcome, Until, is_reply};
use crate::client::body::Body;
use crate::client::broker::Broker;
use crate::client::error::{Error, ErrorKind, Result};
use crate::client::ids::ConversationHandle;
use crate::client::message::{ErrorBody, Message, MessageKind};
use crate::client::receive::Batch;
use crate::client::rows::{Results, Row};
use crate::client::statements::{self, Statement};
use crate::client::values::SqlDateTime;

/// A request that was remembered and is not settled yet.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct UnfinishedRequest {
    /// Its conversation, for [`Requester::attach`](super::Requester::attach).
    pub conversation: ConversationHandle,
    /// What the caller noted with it.
    pub note: Option<String>,
    /// When it was sent, in UTC.
    pub created: SqlDateTime,
    /// Until when its reply was to be waited for, in UTC.
    pub deadline: SqlDateTime,
    /// Whether a message or an end has come already.
    pub is_answered: bool,
}

/// What the tables know of one request.
#[derive(Clone, Debug)]
pub(super) struct Record {
    /// In the order in which they came. What the waiter consumed itself is not among them.
    messages: Vec<Arrived>,
    pub(super) is_ended: bool,
    error: Option<ErrorBody>,
}

impl Record {
    /// How the request ended, if it did: the first message that counts as the reply decides, those before it are progress.
    pub(super) fn outcome(self, until: &Until) -> Option<Outcome> {
        let mut messages = self.messages.into_iter();
        let reply = messages.find(|message| is_reply(until, &message.message_type, &message.body));
        match reply {
            Some(mut reply) => {
                reply.behind = messages.collect();
                Some(Outcome::Replied(reply))
            }
            None => self.is_ended.then(|| self.error.map_or(Outcome::Ended, Outcome::Failed)),
        }
    }

    /// The number of the last message, -1 when there is none.
    pub(super) fn seen(&self) -> i64 {
        self.messages.last().map_or(-1, |message| message.sequence_number)
    }
}

/// Checks that the tables exist.
pub(super) async fn verify(broker: &Broker) -> Result<()> {
    let results = broker.session().await?.execute(&Statement::new(statements::WAITERS_TABLES)).await?;
    for table in ["waiters", "waiter_messages"] {
        if results.first_row().is_none_or(|row| !matches!(row.get::<Option<i32>>(table), Ok(Some(_)))) {
            let text = format!(
                "the table ssbroker.{table} is missing: run sql/09-waiters.sql, or do not remember requests"
            );
            return Err(Error::new(ErrorKind::ObjectMissing, text));
        }
    }
    Ok(())
}

/// What the table knows of a request.
pub(super) async fn read(broker: &Broker, conversation: ConversationHandle) -> Result<Option<Record>> {
    let results = broker.session().await?.execute(&statements::read_request(conversation)).await?;
    record(&results.into_rows())
}

/// Forgets a request unless something newer than `seen` has come; true when it was there.
pub(super) async fn give_up(broker: &Broker, conversation: ConversationHandle, seen: i64) -> Result<bool> {
    let statement = statements::give_up_waiting(conversation, seen);
    count(&broker.session().await?.execute(&statement).await?, "forgotten")
}

/// Forgets a request; true when it was there.
pub(super) async fn forget(broker: &Broker, conversation: ConversationHandle) -> Result<bool> {
    let statement = statements::forget_request(conversation);
    count(&broker.session().await?.execute(&statement).await?, "forgotten")
}

impl Broker {
    /// Forgets remembered requests, of all requesters, whose time to wait ran out longer ago than this, with the replies kept
    /// for them; at most so many, and says how many. Call it until it answers less. A requester that comes back under its name
    /// forgets its requests by itself; this is for those that never do. A reply that comes afterwards goes to a recovery
    /// handler.
    ///
    /// # Errors
    /// `ObjectMissing` without the tables of `sql/09-waiters.sql`; the server's otherwise. Dropping the future leaves it open
    /// whether they were forgotten.
    pub async fn forget_requests(&self, older_than: Duration, most: u32) -> Result<u64> {
        let seconds = i32::try_from(older_than.as_secs()).unwrap_or(i32::MAX);
        let most = i32::try_from(most).unwrap_or(i32::MAX);
        let mut session = self.session().await?;
        let results = session.execute(&statements::forget_old_requests(seconds, most)).await;
        let results = results.map_err(Error::into_commit_outcome)?;
        let forgotten: i32 = results.first_row().map_or(Ok(0), |row| row.get("forgotten"))?;
        Ok(u64::try_from(forgotten).unwrap_or(0))
    }
}

/// The unsettled requests of one requester, the oldest first.
pub(super) async fn unfinished(broker: &Broker, requester: &str) -> Result<Vec<UnfinishedRequest>> {
    let results = broker.session().await?.execute(&statements::unfinished_requests(requester)).await?;
    results.into_rows().iter().map(unfinished_request).collect()
}

/// Writes down how a request ended, in the receiving transaction.
pub(super) async fn store_outcome(
    batch: &mut Batch,
    conversation: ConversationHandle,
    outcome: &Outcome,
) -> Result<()> {
    let statement = match outcome {
        Outcome::Replied(Arrived { sequence_number, message_type, body, .. }) => {
            statements::store_reply(conversation, *sequence_number, message_type, body, true)
        }
        Outcome::Failed(error) => {
            statements::conclude_request(conversation, error.code, fitting(&error.description))
        }
        Outcome::Ended => statements::conclude_request(conversation, 0, ""),
    };
    batch.run(statement).await.map(drop)
}

/// Keeps the messages of a conversation whose waiter is not here, in the receiving transaction. False when the request is
/// not remembered.
pub(super) async fn store_unattended(batch: &mut Batch, messages: &[Message]) -> Result<bool> {
    for message in messages {
        let conversation = message.conversation;
        let statement = match &message.kind {
            MessageKind::User => statements::store_reply(
                conversation,
                message.sequence_number,
                &message.message_type,
                &message.body,
                false,
            ),
            MessageKind::Error(error) => {
                statements::conclude_request(conversation, error.code, fitting(&error.description))
            }
            MessageKind::EndDialog => statements::conclude_request(conversation, 0, ""),
            MessageKind::DialogTimer => continue,
        };
        if !count(&batch.run(statement).await?, "stored")? {
            return Ok(false);
        }
        if message.ends_conversation() {
            batch.end(conversation).await?;
        }
    }
    Ok(true)
}

/// Whether a statement that answers its row count concerned a row.
pub(super) fn count(results: &Results, column: &str) -> Result<bool> {
    let row = results
        .first_row()
        .ok_or_else(|| Error::new(ErrorKind::Protocol, "the server did not say how many rows it changed"))?;
    Ok(row.get::<i32>(column)? > 0)
}

fn record(rows: &[Row]) -> Result<Option<Record>> {
    let Some(first) = rows.first() else { return Ok(None) };
    let messages: Result<Vec<_>> = rows.iter().filter_map(|row| arrived(row).transpose()).collect();
    let code: Option<i32> = first.get("error_code")?;
    let text: Option<String> = first.get("error_text")?;
    let error = code.filter(|code| *code != 0 || text.as_ref().is_some_and(|text| !text.is_empty()));
    Ok(Some(Record {
        messages: messages?,
        is_ended: first.get("is_ended")?,
        error: error.map(|code| ErrorBody { code, description: text.unwrap_or_default() }),
    }))
}

/// The message of a row; a request without messages has one row with none.
fn arrived(row: &Row) -> Result<Option<Arrived>> {
    let Some(sequence_number) = row.get("message_sequence_number")? else { return Ok(None) };
    let body: Option<Vec<u8>> = row.get("message_body")?;
    let message_type = row.get("message_type_name")?;
    let body = body.map_or(Body::empty(), Body::bytes);
    Ok(Some(Arrived { sequence_number, message_type, body, behind: Vec::new() }))
}

fn unfinished_request(row: &Row) -> Result<UnfinishedRequest> {
    Ok(UnfinishedRequest {
        conversation: row.get("conversation_handle")?,
        note: row.get("note")?,
        created: row.get("created")?,
        deadline: row.get("deadline")?,
        is_answered: row.get::<i32>("is_answered")? != 0,
    })
}

/// As much of a text as its column of 3,000 UTF-16 units surely holds. The broker's own limit is the same, so only a body
/// of another layout is longer.
fn fitting(text: &str) -> &str {
    let mut end = text.len().min(3_000);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// A record of messages of these types, numbered from 4.
    fn record(types: &[&str], is_ended: bool, code: i32) -> Record {
        let error = (code != 0).then(|| ErrorBody { code, description: "no".to_owned() });
        let message = |(text, sequence_number): (&&str, i64)| Arrived {
            sequence_number,
            message_type: (*text).to_owned(),
            body: Body::empty(),
            behind: Vec::new(),
        };
        Record { messages: types.iter().zip(4..).map(message).collect(), is_ended, error }
    }

    fn outcome(types: &[&str], is_ended: bool, code: i32) -> Option<Outcome> {
        let until: Until = Arc::new(|message_type, _| message_type == "reply");
        record(types, is_ended, code).outcome(&until)
    }

    #[test]
    fn a_kept_reply_counts_before_the_end_behind_it_and_progress_does_not() {
        assert!(matches!(outcome(&["reply"], false, 0), Some(Outcome::Replied(_))));
        assert!(matches!(outcome(&["reply"], true, -8489), Some(Outcome::Replied(_))));
        assert!(matches!(outcome(&["progress"], true, 7), Some(Outcome::Failed(_))));
        assert_eq!(outcome(&[], true, 0), Some(Outcome::Ended));
        assert_eq!(outcome(&["progress"], false, 0), None);
        assert_eq!((record(&[], false, 0).seen(), record(&["a", "b"], false, 0).seen()), (-1, 5));
    }

    #[test]
    fn the_first_kept_message_that_counts_is_the_reply_and_the_rest_stays_with_it() {
        let Some(Outcome::Replied(reply)) = outcome(&["progress", "reply", "more", "reply"], false, 0) else {
            panic!("there is a reply")
        };
        let numbers: Vec<i64> = reply.behind.iter().map(|message| message.sequence_number).collect();
        assert_eq!((reply.sequence_number, numbers), (5, vec![6, 7]));
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(fitting("short"), "short");
        assert_eq!(fitting(&"é".repeat(3_000)).len(), 3_000);
        assert_eq!(fitting(&"日".repeat(3_000)).len(), 3_000);
        assert_eq!(fitting(&format!("x{}", "é".repeat(3_000))).len(), 2_999);
    }
}
