//! A message as RECEIVE or SELECT shows it, read without the client's own decoding, which these vectors do not test.

use std::fmt;

use ssbroker::client::Row;
use uuid::Uuid;

pub(crate) const END_DIALOG: &str = "http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog";
pub(crate) const ERROR: &str = "http://schemas.microsoft.com/SQL/ServiceBroker/Error";
pub(crate) const DIALOG_TIMER: &str = "http://schemas.microsoft.com/SQL/ServiceBroker/DialogTimer";
pub(crate) const EVENT_NOTIFICATION: &str =
    "http://schemas.microsoft.com/SQL/Notifications/EventNotification";

/// The columns a [`Message`] is made of.
pub(super) const COLUMNS: &str = "status, priority, conversation_group_id, conversation_handle, \
     message_sequence_number, message_type_name, message_body";

/// One row of a queue.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) status: i32,
    pub(crate) priority: i32,
    pub(crate) group: Uuid,
    pub(crate) handle: Uuid,
    pub(crate) sequence: i64,
    pub(crate) message_type: String,
    pub(crate) body: Option<Vec<u8>>,
}

impl Message {
    pub(super) fn all(rows: Vec<Row>) -> Vec<Self> {
        rows.iter().map(Self::from_row).collect()
    }

    fn from_row(row: &Row) -> Self {
        Self {
            status: row.get("status").unwrap(),
            priority: row.get("priority").unwrap(),
            group: row.get("conversation_group_id").unwrap(),
            handle: row.get("conversation_handle").unwrap(),
            sequence: row.get("message_sequence_number").unwrap(),
            message_type: row.get("message_type_name").unwrap(),
            body: row.get("message_body").unwrap(),
        }
    }

    /// The body as text. UTF-16 when it starts with a byte order mark, as system messages do (U-21); else UTF-8.
    pub(crate) fn text(&self) -> String {
        let body = self.body.as_deref().unwrap_or_default();
        match body.strip_prefix(&[0xFF, 0xFE]) {
            Some(units) => {
                let units: Vec<u16> =
                    units.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
                String::from_utf16_lossy(&units)
            }
            None => String::from_utf8_lossy(body).into_owned(),
        }
    }

    /// The code of an Error message; fails for any other.
    pub(crate) fn error_code(&self) -> i32 {
        assert_eq!(self.message_type, ERROR, "{self:?}");
        let text = self.text();
        let code = text.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>"));
        code.unwrap_or_else(|| panic!("no code in {text}")).0.parse().unwrap()
    }
}

/// What a failed expectation shows: the body as text, without the identifiers, which say nothing.
impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (status, sequence, message_type) = (self.status, self.sequence, &self.message_type);
        write!(
            f,
            "[{message_type} {sequence}, status {status}: {:?}]",
            self.body.as_ref().map(|_| self.text())
        )
    }
}

/// The texts of messages, in their order.
pub(crate) fn texts(messages: &[Message]) -> Vec<String> {
    messages.iter().map(Message::text).collect()
}

/// The types of messages, in their order.
pub(crate) fn types(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|message| &*message.message_type).collect()
}
