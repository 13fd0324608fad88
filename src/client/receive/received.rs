//! What a RECEIVE, or what takes its place, has answered.

use crate::client::error::{Error, ErrorKind, Result};
use crate::client::ids::ConversationHandle;
use crate::client::message::Message;
use crate::client::rows::{ResultSet, Results, Row};

/// Messages as they came, and what a table of the library knows of the first one.
#[derive(Debug, Default)]
pub(crate) struct Received {
    pub(crate) messages: Vec<Message>,
    pub(crate) earlier: Earlier,
    /// The message behind these, if its body is too long to be taken. What came after it is left out.
    pub(crate) withheld: Option<Withheld>,
}

/// A message whose body has more bytes than the receiver allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Withheld {
    conversation: ConversationHandle,
    bytes: i64,
}

/// What is known of the earlier attempts of a message that waited in a table of the library; nothing for messages of a
/// queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Earlier {
    /// Whether the message waited in `ssbroker.retries`.
    pub(crate) is_retry: bool,
    /// How often it was tried before it was put there.
    pub(crate) attempts: u32,
    /// How often it was put there before.
    pub(crate) retries: u32,
}

impl Received {
    /// The messages are the last result set.
    pub(super) fn read(results: Results) -> Result<Self> {
        let rows = results.into_sets().pop().map(ResultSet::into_rows).unwrap_or_default();
        let earlier = rows.first().map(Earlier::from_row).unwrap_or_default();
        let (mut messages, mut withheld) = (Vec::with_capacity(rows.len()), None);
        for row in rows {
            withheld = Withheld::from_row(&row)?;
            if withheld.is_some() {
                break;
            }
            messages.push(Message::from_row(row)?);
        }
        Ok(Self { messages, earlier, withheld })
    }

    /// All of it, or the error that a message was withheld.
    pub(super) fn whole(self) -> Result<Self> {
        match self.withheld {
            Some(withheld) => Err(withheld.into_error()),
            None => Ok(self),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.withheld.is_none()
    }
}

impl Withheld {
    /// The column is there when the receiver has a limit.
    fn from_row(row: &Row) -> Result<Option<Self>> {
        let Some(bytes) = row.get::<Option<i64>>("withheld_bytes").ok().flatten() else { return Ok(None) };
        Ok(Some(Self { conversation: row.get("conversation_handle")?, bytes }))
    }

    pub(super) fn into_error(self) -> Error {
        let text =
            format!("the next message has a body of {} bytes, more than this receiver allows", self.bytes);
        Error::new(ErrorKind::BodyTooLarge, text).on_conversation(self.conversation)
    }
}

impl Earlier {
    /// Reads the columns beside those of RECEIVE.
    fn from_row(row: &Row) -> Self {
        let count = |column: &str| {
            let count = row.get::<i32>(column).ok()?;
            u32::try_from(count).ok()
        };
        let retries = count("retries");
        Self {
            is_retry: retries.is_some(),
            attempts: count("attempts").unwrap_or(0),
            retries: retries.unwrap_or(0),
        }
    }
}
