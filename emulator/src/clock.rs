//! The time of the emulator: the machine's, or one that a test moves.
//!
//! Only sessions and background tasks ask a clock; the engine is told the time. The server's local time is UTC:
//! `GETDATE()` and `GETUTCDATE()` agree, as they do on a server whose machine runs on UTC.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::{oneshot, watch};

use crate::value::Timestamp;

/// Longest single sleep of the real clock: a machine that was suspended, or whose clock was set, is noticed by then.
const LONGEST_SLEEP: Duration = Duration::from_secs(30);

/// A source of time. Cheap to clone; clones share one time.
#[derive(Debug, Clone)]
pub struct Clock {
    source: Source,
}

#[derive(Debug, Clone)]
enum Source {
    /// The system's clock; holds the latest time given out.
    Real(Arc<AtomicI64>),
    Manual(ManualClock),
}

impl Clock {
    /// The machine's clock. It never goes back, even if the machine's does: it then stands still.
    pub fn real() -> Clock {
        Clock { source: Source::Real(Arc::new(AtomicI64::new(i64::MIN))) }
    }

    /// A clock that stands at `start` until its [`ManualClock`] is moved.
    pub fn manual(start: Timestamp) -> (Clock, ManualClock) {
        let manual = ManualClock::new(start);
        (Clock { source: Source::Manual(manual.clone()) }, manual)
    }

    /// The time, in UTC.
    pub fn now(&self) -> Timestamp {
        match &self.source {
            Source::Real(latest) => {
                let now = system_time().0;
                Timestamp(latest.fetch_max(now, Ordering::Relaxed).max(now))
            }
            Source::Manual(manual) => manual.now(),
        }
    }

    /// Waits until the clock shows `deadline` or later. May be dropped at any time.
    pub async fn sleep_until(&self, deadline: Timestamp) {
        loop {
            let now = self.now();
            if now >= deadline {
                return;
            }
            match &self.source {
                Source::Real(_) => tokio::time::sleep(deadline.since(now).min(LONGEST_SLEEP)).await,
                Source::Manual(manual) => manual.sleep_until(deadline).await,
            }
        }
    }
}

/// Moves a manual clock. Clones move the same clock.
#[derive(Debug, Clone)]
pub struct ManualClock {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    sleeping: watch::Sender<usize>,
}

#[derive(Debug)]
struct State {
    now: Timestamp,
    next_id: u64,
    /// Sleepers in the order in which they are to wake: by deadline, then by arrival.
    sleepers: BTreeMap<(Timestamp, u64), oneshot::Sender<()>>,
}

impl ManualClock {
    fn new(now: Timestamp) -> ManualClock {
        let state = Mutex::new(State { now, next_id: 0, sleepers: BTreeMap::new() });
        ManualClock { shared: Arc::new(Shared { state, sleeping: watch::Sender::new(0) }) }
    }

    /// The time shown.
    pub fn now(&self) -> Timestamp {
        self.state().now
    }

    /// Moves the clock forward and wakes the sleepers whose deadline is reached, in order of their deadlines.
    pub fn advance(&self, by: Duration) {
        let mut state = self.state();
        state.now = state.now.plus(by);
        let now = state.now;
        while let Some(first) = state.sleepers.first_entry().filter(|first| first.key().0 <= now) {
            // The sleeper may have been dropped at this moment; nobody is left to wake then.
            let _ = first.remove().send(());
        }
        self.shared.sleeping.send_replace(state.sleepers.len());
    }

    /// Waits until at least `count` tasks sleep on this clock, so that a test need not guess when to move it.
    pub async fn wait_for_sleepers(&self, count: usize) {
        let mut sleeping = self.shared.sleeping.subscribe();
        let reached = sleeping.wait_for(|sleeping| *sleeping >= count).await;
        reached.expect("the sender lives as long as this clock");
    }

    async fn sleep_until(&self, deadline: Timestamp) {
        let Some((sleeper, woken)) = self.enter(deadline) else { return };
        // An error would mean that the sender is gone without having sent; the caller looks at the clock again.
        let _ = woken.await;
        drop(sleeper);
    }

    fn enter(&self, deadline: Timestamp) -> Option<(Sleeper<'_>, oneshot::Receiver<()>)> {
        let mut state = self.state();
        if state.now >= deadline {
            return None;
        }
        let key = (deadline, state.next_id);
        state.next_id += 1;
        let (sender, woken) = oneshot::channel();
        state.sleepers.insert(key, sender);
        self.shared.sleeping.send_replace(state.sleepers.len());
        Some((Sleeper { clock: self, key }, woken))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().expect("no code panics while it holds the clock")
    }
}

/// Takes a sleeper off the list when its future is dropped.
struct Sleeper<'a> {
    clock: &'a ManualClock,
    key: (Timestamp, u64),
}

impl Drop for Sleeper<'_> {
    fn drop(&mut self) {
        let mut state = self.clock.state();
        if state.sleepers.remove(&self.key).is_some() {
            self.clock.shared.sleeping.send_replace(state.sleepers.len());
        }
    }
}

fn system_time() -> Timestamp {
    let ticks = |elapsed: Duration| i64::try_from(elapsed.as_nanos() / 100).unwrap_or(i64::MAX);
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => Timestamp::from_unix_ticks(ticks(since)),
        Err(before) => Timestamp::from_unix_ticks(-ticks(before.duration())),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    const START: Timestamp = Timestamp(1_000_000);

    #[tokio::test]
    async fn sleepers_wake_in_the_order_of_their_deadlines() {
        let (clock, manual) = Clock::manual(START);
        let woken = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = tokio::task::JoinSet::new();
        for seconds in [3, 1, 2, 9] {
            let (clock, woken) = (clock.clone(), woken.clone());
            tasks.spawn(async move {
                clock.sleep_until(START.plus(Duration::from_secs(seconds))).await;
                woken.lock().unwrap().push(seconds);
            });
        }
        manual.wait_for_sleepers(4).await;
        manual.advance(Duration::from_secs(5));
        for _ in 0..3 {
            tasks.join_next().await.unwrap().unwrap();
        }
        assert_eq!(*woken.lock().unwrap(), [1, 2, 3]);
        manual.advance(Duration::from_secs(4));
        tasks.join_next().await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_deadline_in_the_past_does_not_wait_and_a_dropped_sleeper_is_forgotten() {
        let (clock, manual) = Clock::manual(START);
        clock.sleep_until(START).await;
        let sleeper = tokio::spawn({
            let clock = clock.clone();
            async move { clock.sleep_until(START.plus(Duration::from_secs(1))).await }
        });
        manual.wait_for_sleepers(1).await;
        sleeper.abort();
        assert!(sleeper.await.unwrap_err().is_cancelled());
        assert_eq!(*manual.shared.sleeping.borrow(), 0);
    }

    #[tokio::test]
    async fn the_real_clock_is_after_2020_and_sleeps() {
        let clock = Clock::real();
        let before = clock.now();
        assert!(before > Timestamp::from_unix_ticks(1_577_836_800 * 10_000_000));
        let deadline = before.plus(Duration::from_millis(2));
        clock.sleep_until(deadline).await;
        assert!(clock.now() >= deadline);
    }
}
