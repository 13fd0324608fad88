//! The table of remembered requests, `ssbroker.waiters` (`sql/09-waiters.sql`), read and written.

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

/// What the table knows of one request.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) last_message: Option<Arrived>,
    pub(super) is_ended: bool,
    error: Option<ErrorBody>,
}

impl Record {
    /// How the request ended, if it did; the last message may be progress only.
    pub(super) fn outcome(self, until: &Until) -> Option<Outcome> {
        if let Some(message) = self.last_message
            && is_reply(until, &message.message_type, &message.body)
        {
            return Some(Outcome::Replied(message));
        }
        self.is_ended.then(|| self.error.map_or(Outcome::Ended, Outcome::Failed))
    }

    /// The number of the last message, -1 when there is none.
    pub(super) fn seen(&self) -> i64 {
        self.last_message.as_ref().map_or(-1, |message| message.sequence_number)
    }
}

/// Checks that the table exists.
pub(super) async fn verify(broker: &Broker) -> Result<()> {
    let results = broker.session().await?.execute(&Statement::new(statements::WAITERS_TABLE)).await?;
    match results.first_row().map(|row| row.get::<Option<i32>>("waiters")).transpose()? {
        Some(Some(_)) => Ok(()),
        _ => Err(Error::new(
            ErrorKind::ObjectMissing,
            "the table ssbroker.waiters is missing: run sql/09-waiters.sql, or do not remember requests",
        )),
    }
}

/// What the table knows of a request.
pub(super) async fn read(broker: &Broker, conversation: ConversationHandle) -> Result<Option<Record>> {
    let results = broker.session().await?.execute(&statements::read_request(conversation)).await?;
    results.into_rows().into_iter().next().map(record).transpose()
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
        Outcome::Replied(Arrived { sequence_number, message_type, body }) => {
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

fn record(row: Row) -> Result<Record> {
    let sequence: Option<i64> = row.get("message_sequence_number")?;
    let last_message = sequence.map(|sequence_number| arrived(&row, sequence_number)).transpose()?;
    let code: Option<i32> = row.get("error_code")?;
    let text: Option<String> = row.get("error_text")?;
    let error = code.filter(|code| *code != 0 || text.as_ref().is_some_and(|text| !text.is_empty()));
    Ok(Record {
        last_message,
        is_ended: row.get("is_ended")?,
        error: error.map(|code| ErrorBody { code, description: text.unwrap_or_default() }),
    })
}

fn arrived(row: &Row, sequence_number: i64) -> Result<Arrived> {
    let body: Option<Vec<u8>> = row.get("message_body")?;
    let message_type = row.get("message_type_name")?;
    Ok(Arrived { sequence_number, message_type, body: body.map_or(Body::empty(), Body::bytes) })
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

    fn record(message: Option<&str>, is_ended: bool, code: i32) -> Record {
        let error = (code != 0).then(|| ErrorBody { code, description: "no".to_owned() });
        let last_message = message.map(|text| Arrived {
            sequence_number: 4,
            message_type: text.to_owned(),
            body: Body::empty(),
        });
        Record { last_message, is_ended, error }
    }

    #[test]
    fn a_kept_reply_counts_before_the_end_behind_it_and_progress_does_not() {
        let until: Until = Arc::new(|message_type, _| message_type == "reply");
        let outcome = |record: Record| record.outcome(&until);
        assert!(matches!(outcome(record(Some("reply"), false, 0)), Some(Outcome::Replied(_))));
        assert!(matches!(outcome(record(Some("reply"), true, -8489)), Some(Outcome::Replied(_))));
        assert!(matches!(outcome(record(Some("progress"), true, 7)), Some(Outcome::Failed(_))));
        assert_eq!(outcome(record(None, true, 0)), Some(Outcome::Ended));
        assert_eq!(outcome(record(Some("progress"), false, 0)), None);
        assert_eq!((record(None, false, 0).seen(), record(Some("progress"), false, 0).seen()), (-1, 4));
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(fitting("short"), "short");
        assert_eq!(fitting(&"é".repeat(3_000)).len(), 3_000);
        assert_eq!(fitting(&"日".repeat(3_000)).len(), 3_000);
        assert_eq!(fitting(&format!("x{}", "é".repeat(3_000))).len(), 2_999);
    }
}
