//! Messages: what is sent, what is received, and what kind a received one is.
//!
//! The broker's own messages (Error, EndDialog, DialogTimer) are told from the application's by their type name, byte by
//! byte. Nothing here sends or receives.

mod error_body;

use std::time::{Duration, SystemTime};

use super::body::Body;
use super::error::{ErrorKind, Result};
use super::ids::{ConversationGroup, ConversationHandle};
use super::names::MessageTypeName;
use super::rows::Row;
use super::values::{SqlDateTime, SqlValue};

pub use error_body::ErrorBody;

/// A message to send: its type and its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingMessage {
    /// The message type. It must be in the contract of the dialog.
    pub message_type: MessageTypeName,
    /// The body, possibly empty.
    pub body: Body,
}

impl OutgoingMessage {
    /// A message of this type with this body.
    #[must_use]
    pub fn new(message_type: MessageTypeName, body: impl Into<Body>) -> Self {
        Self { message_type, body: body.into() }
    }
}

/// What a received message is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MessageKind {
    /// A message of the application.
    User,
    /// The peer ended the conversation: end our side too.
    EndDialog,
    /// The conversation failed, or the peer ended it with an error: end our side too.
    Error(ErrorBody),
    /// A conversation timer of ours ran out.
    DialogTimer,
}

/// A received message.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Message {
    /// What it is.
    pub kind: MessageKind,
    /// Our side of the conversation it came on: answers are sent on this handle.
    pub conversation: ConversationHandle,
    /// The conversation group, locked by the receiving transaction.
    pub group: ConversationGroup,
    /// The number of the message in its conversation and direction, from 0.
    pub sequence_number: i64,
    /// The service it came for. A queue may belong to several.
    pub service: String,
    /// The contract of the conversation.
    pub contract: String,
    /// The name of its type.
    pub message_type: String,
    /// When it was put on the queue, in UTC; `None` for a message of which a table of the library
    /// kept no time.
    pub enqueued_at: Option<SqlDateTime>,
    /// The priority of the conversation, 1 to 10.
    pub priority: i32,
    /// The body, empty when the message has none.
    pub body: Body,
}

impl Message {
    /// Makes a message of a row of RECEIVE, taking the body out of it; for callers that write their own RECEIVE. The row
    /// needs the columns `conversation_group_id`, `conversation_handle`, `message_sequence_number`, `service_name`,
    /// `service_contract_name`, `message_type_name`, `message_enqueue_time`, `priority` and `message_body`.
    ///
    /// # Errors
    /// [`ErrorKind::Value`](super::ErrorKind::Value) when a column is missing or has another type.
    pub fn from_row(mut row: Row) -> Result<Self> {
        let body = match row.take("message_body")? {
            SqlValue::Bytes(bytes) => Body::bytes(bytes),
            _ => Body::empty(),
        };
        let message_type: String = row.get("message_type_name")?;
        Ok(Self {
            kind: kind_of(&message_type, &body),
            conversation: row.get("conversation_handle")?,
            group: row.get("conversation_group_id")?,
            sequence_number: row.get("message_sequence_number")?,
            service: row.get("service_name")?,
            contract: row.get("service_contract_name")?,
            enqueued_at: row.get("message_enqueue_time")?,
            priority: row.get("priority")?,
            message_type,
            body,
        })
    }

    /// Reads the body by one of its own methods, so that a failure names the message it is about:
    ///
    /// ```
    /// # fn example(message: ssbroker::client::Message) -> Result<(), ssbroker::client::Error> {
    /// use ssbroker::client::Body;
    ///
    /// let document = message.read_body(Body::to_xml_text)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// What `read` answers. An error of the kind [`BodyUnreadable`](ErrorKind::BodyUnreadable) then carries
    /// the [conversation](super::Error::conversation) and the [bytes](super::Error::body). A worker does not try such a
    /// message again.
    pub fn read_body<'a, T>(&'a self, read: impl FnOnce(&'a Body) -> Result<T>) -> Result<T> {
        read(&self.body).map_err(|error| match error.kind() {
            ErrorKind::BodyUnreadable => {
                error.on_conversation(self.conversation).about_body(self.body.clone())
            }
            _ => error,
        })
    }

    /// How long ago it was put on the queue, by the clock of this machine against the server's; zero when that is not known
    /// or the clocks differ.
    pub(crate) fn age(&self) -> Duration {
        let enqueued = self.enqueued_at.and_then(SqlDateTime::to_system_time);
        enqueued.and_then(|at| SystemTime::now().duration_since(at).ok()).unwrap_or_default()
    }

    /// Whether it is the application's, not the broker's.
    #[must_use]
    pub fn is_user_message(&self) -> bool {
        self.kind == MessageKind::User
    }

    /// Whether our side of the conversation has to be ended after it: the peer is gone.
    #[must_use]
    pub fn ends_conversation(&self) -> bool {
        matches!(self.kind, MessageKind::EndDialog | MessageKind::Error(_))
    }
}

fn kind_of(message_type: &str, body: &Body) -> MessageKind {
    match message_type {
        MessageTypeName::END_DIALOG => MessageKind::EndDialog,
        MessageTypeName::DIALOG_TIMER => MessageKind::DialogTimer,
        MessageTypeName::ERROR => MessageKind::Error(ErrorBody::read(body)),
        _ => MessageKind::User,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::rows::ResultSet;

    fn row(message_type: &str, body: SqlValue) -> Row {
        let columns = crate::client::statements::RECEIVE_COLUMNS.split(", ").map(str::to_owned).collect();
        let mut set = ResultSet::new(columns);
        set.push(vec![
            SqlValue::Uuid(uuid::Uuid::from_u128(1)),
            SqlValue::Uuid(uuid::Uuid::from_u128(2)),
            SqlValue::I64(3),
            SqlValue::from("//t/target"),
            SqlValue::from("//t/contract"),
            SqlValue::from(message_type),
            SqlValue::from("N "),
            SqlValue::Null,
            SqlValue::I32(5),
            body,
        ]);
        set.into_rows().remove(0)
    }

    #[test]
    fn a_row_becomes_a_message_and_a_null_body_an_empty_one() {
        let message = Message::from_row(row("//t/request", SqlValue::Null)).unwrap();
        assert!(message.is_user_message() && message.body.is_empty());
        assert_eq!(message.conversation.as_uuid().as_u128(), 2);
        assert_eq!((message.sequence_number, message.priority), (3, 5));
        assert_eq!(message.enqueued_at, None);
    }

    #[test]
    fn the_brokers_own_messages_are_known_by_their_exact_names() {
        let kind = |name: &str| Message::from_row(row(name, SqlValue::Null)).unwrap().kind;
        assert_eq!(kind("http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog"), MessageKind::EndDialog);
        assert_eq!(
            kind("http://schemas.microsoft.com/SQL/ServiceBroker/DialogTimer"),
            MessageKind::DialogTimer
        );
        assert!(matches!(
            kind("http://schemas.microsoft.com/SQL/ServiceBroker/Error"),
            MessageKind::Error(_)
        ));
        assert_eq!(kind("https://schemas.microsoft.com/SQL/ServiceBroker/EndDialog"), MessageKind::User);
    }
}
