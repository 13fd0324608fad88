//! The journal as the daemon's loop uses it: lines are written at once, and forced to disk beside the loop.
//!
//! A line that is with the system survives this process, which is all that its own next steps need. What the server is told
//! has to survive the machine too: so a receipt waits until every line before it is on disk. One sync serves all receipts
//! that have come by then, and a slow disk holds up neither launches nor the tasks that watch handlers.

use crate::activator::inbox::Receipt;
use crate::activator::journal::{Entry, Journal, JournalError};
use crate::activator::log_lines;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc;

/// A journal that is shared with the task that syncs it, which ends with the last receipt.
#[derive(Debug)]
pub(super) struct Ledger {
    journal: Shared,
    receipts: mpsc::UnboundedSender<Receipt>,
}

/// Locked for the time of a line, and for that of some disk writes when the journal is compacted.
type Shared = Arc<Mutex<Journal>>;

impl Ledger {
    /// To be called within a runtime.
    pub(super) fn new(journal: Journal) -> Self {
        let journal = Arc::new(Mutex::new(journal));
        let (receipts, due) = mpsc::unbounded_channel();
        tokio::spawn(give_when_safe(Arc::clone(&journal), due));
        Self { journal, receipts }
    }

    /// Adds one line, which the death of this process cannot take back.
    pub(super) fn append(&self, entry: &Entry) -> Result<(), JournalError> {
        lock(&self.journal).append(entry)
    }

    /// As [`append`](Self::append), for a line whose loss a restart makes good: it finds out by itself what became of the
    /// process. A failure is logged.
    pub(super) fn note(&self, entry: &Entry) {
        if let Err(error) = self.append(entry) {
            tracing::error!(target: "activator", "{}; the next start finds out by itself", log_lines::chain(&error));
        }
    }

    /// Gives a receipt once every line that was added before is on disk; refuses it if that cannot be.
    pub(super) fn give_when_safe(&self, receipt: Receipt) {
        // The task ends before its sender only with the runtime, and then the receipt is refused.
        let _ = self.receipts.send(receipt);
    }
}

async fn give_when_safe(journal: Shared, mut due: mpsc::UnboundedReceiver<Receipt>) {
    let mut receipts = Vec::new();
    while due.recv_many(&mut receipts, usize::MAX).await > 0 {
        match secure(&journal).await {
            Ok(()) => receipts.drain(..).for_each(Receipt::give),
            Err(error) => {
                receipts.clear();
                let reason = log_lines::chain(&error);
                tracing::error!(
                    target: "activator",
                    "what was decided is not safe on disk ({reason}); notifications come again from their queue"
                );
            }
        }
    }
}

/// Forces to disk what is not there yet, on a thread for blocking work.
async fn secure(journal: &Shared) -> Result<(), JournalError> {
    let Some(file) = lock(journal).unsecured() else { return Ok(()) };
    let journal = Arc::clone(journal);
    let sync = move || {
        let outcome = file.sync_data();
        lock(&journal).secured(outcome)
    };
    tokio::task::spawn_blocking(sync).await.expect("syncing the journal does not panic")
}

fn lock(journal: &Shared) -> MutexGuard<'_, Journal> {
    journal.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::Ledger;
    use crate::activator::inbox::{Receipt, Until};
    use crate::activator::journal::{Entry, Journal};
    use crate::activator::launch::{LaunchId, Outcome};

    #[tokio::test]
    async fn receipts_are_given_when_what_they_stand_for_is_on_disk() {
        let dir = tempfile::tempdir().unwrap();
        let (journal, _) = Journal::open(dir.path()).unwrap();
        let ledger = Ledger::new(journal);
        for number in 0..3 {
            let (receipt, given) = Receipt::new(Until::Safe);
            ledger.note(&Entry::Ended { launch: LaunchId::from_u128(number), outcome: Outcome::Code(0) });
            ledger.give_when_safe(receipt);
            given.await.unwrap();
            assert!(super::lock(&ledger.journal).unsecured().is_none());
        }
    }

    #[tokio::test]
    async fn receipts_are_refused_when_it_cannot_be_put_on_disk() {
        let dir = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::open(dir.path()).unwrap();
        journal.append(&Entry::Forgotten { app: "a".to_owned() }).unwrap();
        journal.break_sync();
        std::fs::remove_dir_all(dir.path()).unwrap();
        let ledger = Ledger::new(journal);
        let (receipt, given) = Receipt::new(Until::Safe);
        ledger.give_when_safe(receipt);
        assert!(given.await.is_err());
    }
}
