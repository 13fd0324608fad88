//! The reins of a running worker: pause, resume, stop, and what it has done so far.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::Settings;
use super::crew::Ended;
use super::trouble::{Reaction, Trouble};
use crate::client::error::{Error, Result};
use crate::client::pool::random_fraction;

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
    /// Calls of handlers, those for messages that came again included.
    pub calls: u64,
    /// How long they took together.
    pub busy: Duration,
    /// Failures of handlers, panics and time-outs included.
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

impl WorkerStats {
    /// How long a handler takes on average; `None` before the first call.
    #[must_use]
    pub fn mean_call(&self) -> Option<Duration> {
        let calls = u32::try_from(self.calls).unwrap_or(u32::MAX);
        self.busy.checked_div(calls)
    }

    /// How many readers, over all processes, keep up with so many messages a second, by what handlers have taken so far;
    /// `None` before the first call. It counts the handlers' time only: add some for peaks and for commits.
    ///
    /// A reader works on one conversation group at a time, so the senders need at least as many dialogs
    /// ([`PoolOptions::width`](crate::client::PoolOptions::width)).
    #[must_use]
    pub fn readers_for(&self, messages_per_second: f64) -> Option<usize> {
        let busy = self.mean_call()?.as_secs_f64() * messages_per_second;
        Some((busy.ceil() as usize).max(1))
    }
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
    activity: Mutex<Activity>,
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
            activity: Mutex::new(Activity { in_hand: 0, last: Instant::now() }),
            stored: Notify::new(),
            counters: Counters::default(),
        }
    }

    /// Whether new messages may be taken right now.
    pub(super) fn is_taking(&self) -> bool {
        !self.stop.is_cancelled() && !*self.paused.borrow()
    }

    /// Pauses after an error that is not a handler's, at most until the stop, or says that it is over.
    pub(super) async fn face(
        &self,
        error: Error,
        trouble: &mut Trouble,
        settings: &Settings,
    ) -> Result<Option<Ended>> {
        count(&self.counters.troubles);
        match trouble.react(&error, settings.unavailable, settings.broker_changes, random_fraction()) {
            Reaction::Fail => Err(error),
            Reaction::BrokerChanged => Ok(Some(Ended::BrokerChanged)),
            Reaction::Pause(pause) => {
                self.rest(pause).await;
                self.begin_anew();
                Ok(None)
            }
        }
    }

    /// Waits, at most until the stop.
    pub(super) async fn rest(&self, span: Duration) {
        tokio::select! {
            () = tokio::time::sleep(span) => {}
            () = self.stop.cancelled() => {}
        }
    }

    /// Time that was lost to an error is not time in which nothing came.
    fn begin_anew(&self) {
        self.with_activity(|activity| activity.last = Instant::now());
    }

    /// How long a reader waits for a message before it asks whether the worker is idle: until that can be so.
    pub(super) fn patience(&self, idle: Duration) -> Duration {
        let rest = self.quiet_since().map_or(idle, |since| idle.saturating_sub(since.elapsed()));
        if rest.is_zero() { idle } else { rest }
    }

    /// Whether nobody has had a message for so long, and none has come while `waits` found that nothing waits in a table.
    pub(super) async fn is_quiet_for(
        &self,
        idle: Duration,
        waits: impl AsyncFnOnce() -> Result<bool>,
    ) -> Result<bool> {
        let since = self.quiet_since();
        if since.is_none_or(|since| since.elapsed() < idle) || waits().await? {
            return Ok(false);
        }
        Ok(self.quiet_since() == since)
    }

    /// Since when no message is in hand; `None` while one is.
    fn quiet_since(&self) -> Option<Instant> {
        self.with_activity(|activity| (activity.in_hand == 0).then_some(activity.last))
    }

    /// The lock is held for one look; what a panicking thread left is still whole.
    fn with_activity<T>(&self, look: impl FnOnce(&mut Activity) -> T) -> T {
        look(&mut self.activity.lock().unwrap_or_else(PoisonError::into_inner))
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

/// How many batches or items are in hand, and when the last one was.
#[derive(Debug)]
struct Activity {
    in_hand: usize,
    last: Instant,
}

/// Something that is in hand, until this is dropped.
pub(super) struct InHand(Arc<Control>);

impl InHand {
    pub(super) fn new(control: &Arc<Control>) -> Self {
        control.with_activity(|activity| activity.in_hand += 1);
        Self(Arc::clone(control))
    }
}

impl Drop for InHand {
    fn drop(&mut self) {
        self.0.with_activity(|activity| {
            activity.in_hand -= 1;
            activity.last = Instant::now();
        });
    }
}

/// The counters behind [`WorkerStats`].
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) batches: AtomicU64,
    pub(super) messages: AtomicU64,
    pub(super) calls: AtomicU64,
    pub(super) busy_nanoseconds: AtomicU64,
    pub(super) failures: AtomicU64,
    pub(super) put_off: AtomicU64,
    pub(super) parked: AtomicU64,
    pub(super) ended: AtomicU64,
    pub(super) repeated: AtomicU64,
    pub(super) troubles: AtomicU64,
}

impl Counters {
    /// Counts a call of a handler.
    pub(super) fn handled(&self, took: Duration) {
        count(&self.calls);
        self.busy_nanoseconds
            .fetch_add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    fn read(&self) -> WorkerStats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        WorkerStats {
            batches: read(&self.batches),
            messages: read(&self.messages),
            calls: read(&self.calls),
            busy: Duration::from_nanos(read(&self.busy_nanoseconds)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_about_readers_is_what_the_handlers_took_times_the_rate() {
        let counters = Counters::default();
        assert_eq!((counters.read().mean_call(), counters.read().readers_for(1.0)), (None, None));
        for took in [5, 15] {
            counters.handled(Duration::from_millis(took));
        }
        let stats = counters.read();
        assert_eq!((stats.calls, stats.mean_call()), (2, Some(Duration::from_millis(10))));
        let advice = [0.0, 100.0, 101.0, 1600.0].map(|rate| stats.readers_for(rate));
        assert_eq!(advice, [Some(1), Some(1), Some(2), Some(16)]);
    }
}
