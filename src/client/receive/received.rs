//! What a RECEIVE, or what takes its place, has answered.

use crate::client::error::Result;
use crate::client::message::Message;
use crate::client::rows::{ResultSet, Results, Row};

/// Messages as they came, and what a table of the library knows of the first one.
#[derive(Debug, Default)]
pub(crate) struct Received {
    pub(crate) messages: Vec<Message>,
    pub(crate) earlier: Earlier,
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
        let messages = rows.into_iter().map(Message::from_row).collect::<Result<_>>()?;
        Ok(Self { messages, earlier })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
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
