//! What a worker remembers of failed messages within its process, and how a failure reads.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::client::ids::ConversationHandle;
use crate::client::message::Message;

/// Attempts of messages that failed in this process.
///
/// The count in the database decides where there is one. This one is needed where the database's cannot be asked in
/// time: a message that doomed its transaction must be parked before its handler runs again.
#[derive(Debug, Default)]
pub(super) struct FailedMessages {
    attempts: Mutex<HashMap<(ConversationHandle, i64), u32>>,
}

impl FailedMessages {
    /// How often the message failed in this process.
    pub(super) fn attempts(&self, message: &Message) -> u32 {
        self.with(|attempts| attempts.get(&key(message)).copied().unwrap_or(0))
    }

    /// Remembers that it has failed so often.
    pub(super) fn note(&self, message: &Message, count: u32) {
        self.with(|attempts| attempts.insert(key(message), count));
    }

    /// Forgets a message that is done with; answers whether it was known.
    pub(super) fn forget(&self, message: &Message) -> bool {
        self.with(|attempts| !attempts.is_empty() && attempts.remove(&key(message)).is_some())
    }

    /// The lock is held for one look into the map; what a panicking thread left is still whole.
    fn with<T>(&self, look: impl FnOnce(&mut HashMap<(ConversationHandle, i64), u32>) -> T) -> T {
        look(&mut self.attempts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn key(message: &Message) -> (ConversationHandle, i64) {
    (message.conversation, message.sequence_number)
}

/// The chain of an error on one line, as far as the column of the attempts' reason holds it.
pub(crate) fn reason_of(error: &(dyn std::error::Error + 'static)) -> String {
    let mut reason = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        reason.push_str(": ");
        reason.push_str(&error.to_string());
        cause = error.source();
    }
    shortened(&reason)
}

/// What a panic said.
pub(crate) fn panic_reason(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    shortened(&format!("the handler panicked: {}", text.as_deref().unwrap_or("without a text")))
}

/// The reason's column takes 2,000 UTF-16 units.
fn shortened(reason: &str) -> String {
    let mut units = 0;
    reason
        .chars()
        .take_while(|c| {
            units += c.len_utf16();
            units <= 2000
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_the_whole_chain_and_fits_its_column() {
        let error = crate::client::Error::handler(std::io::Error::other("disk full"));
        assert_eq!(reason_of(&error), "the handler failed: disk full");
        assert_eq!(shortened(&"😀".repeat(3000)).encode_utf16().count(), 2000);
    }

    #[test]
    fn a_panic_says_its_text() {
        let panic = std::panic::catch_unwind(|| panic!("order {} is odd", 7)).unwrap_err();
        assert_eq!(panic_reason(panic.as_ref()), "the handler panicked: order 7 is odd");
    }
}
