//! The reins of a running worker: pause, resume, stop, and what it has done so far.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

/// Steers a worker from outside; made by [`Worker::handle`](super::Worker::handle). Clones steer the same worker.
#[derive(Clone, Debug)]
pub struct WorkerHandle(Arc<Control>);

impl WorkerHandle {
    pub(super) fn new(control: Arc<Control>) -> Self {
        Self(control)
    }

    /// Takes no new messages until [`resume`](Self::resume). Batches in hand are finished.
    pub fn pause(&self) {
        self.0.paused.send_replace(true);
    }

    /// Takes messages again.
    pub fn resume(&self) {
        self.0.paused.send_replace(false);
    }

    /// Whether it is paused.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        *self.0.paused.borrow()
    }

    /// Stops the worker as its shutdown future does: batches in hand are finished within the budget.
    pub fn stop(&self) {
        self.0.stop.cancel();
    }

    /// What the worker has done so far.
    #[must_use]
    pub fn stats(&self) -> WorkerStats {
        self.0.counters.read()
    }
}

/// What a worker has done since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerStats {
    /// Transactions committed that had messages.
    pub batches: u64,
    /// Messages in them, those put off, parked or ended included.
    pub messages: u64,
    /// Failures of handlers, panics included.
    pub failures: u64,
    /// Messages put off for a later attempt.
    pub put_off: u64,
    /// Messages moved to the dead letters.
    pub parked: u64,
    /// Conversations ended because of a poison message.
    pub ended: u64,
    /// Messages skipped because they were handled before, counted each time they are met; see
    /// [`Worker::skip_repeated`](super::Worker::skip_repeated).
    pub repeated: u64,
    /// Times a batch failed for a reason other than its handler: a lost connection, a deadlock, a disabled queue.
    pub troubles: u64,
}

/// What all parts of a worker share to be steered and counted.
#[derive(Debug)]
pub(super) struct Control {
    /// No new messages any more.
    pub(super) stop: CancellationToken,
    /// Handlers are cancelled.
    pub(super) cut: CancellationToken,
    /// The queue is drained: helpers end when they have nothing left to do.
    pub(super) drained: CancellationToken,
    pub(super) paused: watch::Sender<bool>,
    /// Messages were stored, or an item of a group is done with.
    pub(super) stored: Notify,
    pub(super) counters: Counters,
}

impl Control {
    pub(super) fn new() -> Self {
        Self {
            stop: CancellationToken::new(),
            cut: CancellationToken::new(),
            drained: CancellationToken::new(),
            paused: watch::Sender::new(false),
            stored: Notify::new(),
            counters: Counters::default(),
        }
    }

    /// Whether new messages may be taken right now.
    pub(super) fn is_taking(&self) -> bool {
        !self.stop.is_cancelled() && !*self.paused.borrow()
    }

    /// Ready when the worker is paused.
    pub(super) async fn until_paused(&self) {
        // The sender lives as long as this does.
        let _ = self.paused.subscribe().wait_for(|paused| *paused).await;
    }

    /// Ready when the worker is not paused, or is to stop.
    pub(super) async fn until_resumed(&self) {
        let mut paused = self.paused.subscribe();
        tokio::select! {
            _ = paused.wait_for(|paused| !*paused) => {}
            () = self.stop.cancelled() => {}
        }
    }
}

/// The counters behind [`WorkerStats`].
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) batches: AtomicU64,
    pub(super) messages: AtomicU64,
    pub(super) failures: AtomicU64,
    pub(super) put_off: AtomicU64,
    pub(super) parked: AtomicU64,
    pub(super) ended: AtomicU64,
    pub(super) repeated: AtomicU64,
    pub(super) troubles: AtomicU64,
}

impl Counters {
    fn read(&self) -> WorkerStats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        WorkerStats {
            batches: read(&self.batches),
            messages: read(&self.messages),
            failures: read(&self.failures),
            put_off: read(&self.put_off),
            parked: read(&self.parked),
            ended: read(&self.ended),
            repeated: read(&self.repeated),
            troubles: read(&self.troubles),
        }
    }
}

/// Counts one more.
pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Counts so many more.
pub(super) fn count_many(counter: &AtomicU64, many: usize) {
    counter.fetch_add(many as u64, Ordering::Relaxed);
}
