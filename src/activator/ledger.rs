//! The journal as the daemon's loop uses it: written on a thread for blocking work.
//!
//! A line is short, but it is forced to disk, and a slow disk must not hold up the tasks that watch handlers and listen to
//! servers. The loop itself waits for each line: what follows may only happen once the line is safe.

use crate::activator::journal::{Entry, Journal, JournalError};
use crate::activator::log_lines;
use std::sync::{Arc, Mutex, PoisonError};

/// A journal that is shared with the blocking threads. The lock is held by one of them for the time of a line, and never
/// contended, since the loop waits for each.
#[derive(Debug, Clone)]
pub(super) struct Ledger(Arc<Mutex<Journal>>);

impl Ledger {
    pub(super) fn new(journal: Journal) -> Self {
        Self(Arc::new(Mutex::new(journal)))
    }

    /// Adds one line and returns once it is on disk. If the future is dropped the line is written all the same.
    pub(super) async fn append(&self, entry: Entry) -> Result<(), JournalError> {
        let journal = Arc::clone(&self.0);
        let write = move || journal.lock().unwrap_or_else(PoisonError::into_inner).append(&entry);
        tokio::task::spawn_blocking(write).await.expect("writing to the journal does not panic")
    }

    /// As [`append`](Self::append), for a line whose loss a restart makes good: it finds out by itself what became of the
    /// process. A failure is logged.
    pub(super) async fn note(&self, entry: Entry) {
        if let Err(error) = self.append(entry).await {
            tracing::error!(target: "activator", "{}; the next start finds out by itself", log_lines::chain(&error));
        }
    }
}
