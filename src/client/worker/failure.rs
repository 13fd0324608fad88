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
/// Such a message, and one that was in a batch with an unknown culprit, is handled alone, so that its neighbours are not handled again and again with it. The count in the
/// database decides where there is one; this one is needed before a handler runs.
#[derive(Debug, Default)]
pub(super) struct FailedMessages {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    tries: HashMap<Key, Tries>,
    in_order: VecDeque<Key>,
    /// Transactions in a row that had to be rolled back as a whole.
    doomed: u32,
}

#[derive(Debug, Default)]
struct Tries {
    /// Those that count.
    attempts: u32,
    /// Those that do not, since they failed through nobody's fault.
    spared: u32,
    /// Why there is to be no other one, if that is decided.
    given_up: Option<String>,
}

/// So many attempts of a message may fail through nobody's fault before they count.
const MOST_SPARED: u32 = 2;

impl FailedMessages {
    /// How often the message was tried.
    pub(super) fn attempts(&self, message: &Message) -> u32 {
        self.with(|known| known.tries.get(&key(message)).map_or(0, |tries| tries.attempts))
    }

    /// Whether the message has to be handled alone.
    pub(super) fn is_suspect(&self, message: &Message) -> bool {
        self.with(|known| known.tries.contains_key(&key(message)))
    }

    /// Has the message handled alone from now on, without an attempt counted.
    pub(super) fn suspect(&self, message: &Message) {
        self.with(|known| known.enter(key(message), |_tries| {}));
    }

    /// Remembers that it is not to be tried again, and why.
    pub(super) fn give_up(&self, message: &Message, count: u32, reason: String) {
        self.with(|known| {
            known.enter(key(message), |tries| {
                tries.attempts = count;
                tries.given_up = Some(reason);
            });
        });
    }

    /// Why it was given up.
    pub(super) fn reason(&self, message: &Message) -> Option<String> {
        self.with(|known| known.tries.get(&key(message))?.given_up.clone())
    }

    /// Whether this failure, which was nobody's fault, need not count; answers how many there were before.
    pub(super) fn spare(&self, message: &Message) -> Option<u32> {
        self.with(|known| {
            let mut before = 0;
            known.enter(key(message), |tries| {
                before = tries.spared;
                tries.spared += 1;
            });
            (before < MOST_SPARED).then_some(before)
        })
    }

    /// Remembers that it was tried so often.
    pub(super) fn note(&self, message: &Message, count: u32) {
        self.note_key(key(message), count);
    }

    /// Remembers a message of which only the identity is known.
    pub(super) fn note_key(&self, key: Key, count: u32) {
        self.with(|known| known.enter(key, |tries| tries.attempts = count));
    }

    /// Counts a transaction that was rolled back as a whole; answers how many there were in a row.
    pub(super) fn count_doomed(&self) -> u32 {
        self.with(|known| {
            known.doomed += 1;
            known.doomed
        })
    }

    /// A transaction with these messages was committed: they are done with, and the server counts roll backs anew, as we do.
    pub(super) fn committed(&self, messages: &[Message]) {
        self.with(|known| {
            known.doomed = 0;
            for key in messages.iter().map(key) {
                if known.tries.remove(&key).is_some() {
                    known.in_order.retain(|each| *each != key);
                }
            }
        });
    }

    /// The lock is held for one look; what a panicking thread left is still whole.
    fn with<T>(&self, look: impl FnOnce(&mut Known) -> T) -> T {
        look(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Known {
    /// Changes what is known of a message; the oldest makes room for a new one.
    fn enter(&mut self, key: Key, change: impl FnOnce(&mut Tries)) {
        let in_order = &mut self.in_order;
        change(self.tries.entry(key).or_insert_with(|| {
            in_order.push_back(key);
            Tries::default()
        }));
        while self.tries.len() > MOST_REMEMBERED {
            let Some(oldest) = self.in_order.pop_front() else { return };
            self.tries.remove(&oldest);
        }
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
            assert_eq!(known.tries.len(), MOST_REMEMBERED);
            assert!(!known.tries.contains_key(&(handle, 0)));
        });
    }
}
