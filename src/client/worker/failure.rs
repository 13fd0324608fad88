//! How a failure reads, and which messages have failed in this process.

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::client::ids::ConversationHandle;
use crate::client::message::Message;

/// The most messages remembered. The oldest is forgotten first: it was most likely handled by another process.
const MOST_REMEMBERED: usize = 10_000;

type Key = (ConversationHandle, i64);

/// Attempts of messages that failed in this process, or are known from the ledger to have been tried.
///
/// Such a message is handled alone, so that its neighbours are not handled again and again with it. The count in the
/// database decides where there is one; this one is needed before a handler runs.
#[derive(Debug, Default)]
pub(super) struct FailedMessages {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    attempts: HashMap<Key, u32>,
    in_order: VecDeque<Key>,
    /// Transactions in a row that had to be rolled back as a whole.
    doomed: u32,
}

impl FailedMessages {
    /// How often the message was tried.
    pub(super) fn attempts(&self, message: &Message) -> u32 {
        self.with(|known| known.attempts.get(&key(message)).copied().unwrap_or(0))
    }

    /// Remembers that it was tried so often.
    pub(super) fn note(&self, message: &Message, count: u32) {
        self.note_key(key(message), count);
    }

    /// Remembers a message of which only the identity is known.
    pub(super) fn note_key(&self, key: Key, count: u32) {
        self.with(|known| {
            if known.attempts.insert(key, count).is_none() {
                known.in_order.push_back(key);
            }
            while known.attempts.len() > MOST_REMEMBERED {
                let Some(oldest) = known.in_order.pop_front() else { return };
                known.attempts.remove(&oldest);
            }
        });
    }

    /// Forgets a message that is done with; answers whether it was known.
    pub(super) fn forget(&self, message: &Message) -> bool {
        self.with(|known| {
            if known.attempts.remove(&key(message)).is_none() {
                return false;
            }
            known.in_order.retain(|each| *each != key(message));
            true
        })
    }

    /// Counts a transaction that was rolled back as a whole; answers how many there were in a row.
    pub(super) fn count_doomed(&self) -> u32 {
        self.with(|known| {
            known.doomed += 1;
            known.doomed
        })
    }

    /// A transaction with messages was committed: the server counts roll backs anew, and so do we.
    pub(super) fn committed(&self) {
        self.with(|known| known.doomed = 0);
    }

    /// The lock is held for one look; what a panicking thread left is still whole.
    fn with<T>(&self, look: impl FnOnce(&mut Known) -> T) -> T {
        look(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn key(message: &Message) -> Key {
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

/// Awaits `work` for as long as the limit allows.
pub(super) async fn within<T>(limit: Option<Duration>, work: impl Future<Output = T>) -> Option<T> {
    match limit {
        Some(limit) => tokio::time::timeout(limit, work).await.ok(),
        None => Some(work.await),
    }
}

/// The reason of a handler that was cancelled because of its limit.
pub(super) fn too_long(limit: Option<Duration>) -> String {
    format!("the handler took longer than {:?} and was cancelled", limit.unwrap_or_default())
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

    #[test]
    fn the_oldest_of_too_many_messages_is_forgotten() {
        let failed = FailedMessages::default();
        let handle = ConversationHandle::from_uuid(uuid::Uuid::nil());
        (0..=MOST_REMEMBERED as i64).for_each(|number| failed.note_key((handle, number), 1));
        failed.with(|known| {
            assert_eq!(known.attempts.len(), MOST_REMEMBERED);
            assert!(!known.attempts.contains_key(&(handle, 0)));
        });
    }
}
