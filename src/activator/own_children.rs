//! Which processes are children of the daemon that somebody here waits for.
//!
//! As process 1 of a container the daemon inherits the orphans of its handlers, and nobody but it can reap them. Each of our
//! own children is waited for by its id and never as "any", which takes no stranger's status; the other way round, this
//! list keeps the reaper from taking the status of a child of ours. While one is being started nothing is reaped, so that
//! there is no moment in which the reaper could take it for a stranger. Starts nothing itself.

use crate::activator::platform;
use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::MissedTickBehavior;

/// How often strangers are looked for without a signal: signals of several children may be one.
const LOOK: Duration = Duration::from_secs(5);

/// Our own children.
#[derive(Debug, Clone, Default)]
pub(super) struct OwnChildren(Arc<Mutex<Known>>);

/// Only ever locked for one look or change.
#[derive(Debug, Default)]
struct Known {
    pids: HashSet<u32>,
    /// How many are being started, whose process ids are not known yet.
    starting: usize,
}

impl OwnChildren {
    /// Starts a child with `spawn`, which answers its process id.
    pub(super) fn start(&self, spawn: impl FnOnce() -> io::Result<u32>) -> io::Result<u32> {
        self.lock().starting += 1;
        let started = spawn();
        let mut known = self.lock();
        known.starting -= 1;
        known.pids.extend(started.as_ref().ok());
        started
    }

    /// The child has been waited for.
    pub(super) fn forget(&self, pid: u32) {
        self.lock().pids.remove(&pid);
    }

    /// Reaps strangers whenever a child has ended, for ever. Returns at once where no strangers can come.
    pub(super) async fn reap_strangers(self) {
        if !platform::inherits_orphans() {
            return;
        }
        let Ok(mut ended) = signal(SignalKind::child()) else {
            tracing::error!(target: "activator", "ended orphans cannot be reaped: there is no signal for them");
            return;
        };
        let mut look = tokio::time::interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ended.recv() => {}
                _ = look.tick() => {}
            }
            self.reap();
        }
    }

    fn reap(&self) {
        let known = self.lock();
        if known.starting > 0 {
            return;
        }
        let reaped = platform::reap_children(|pid| !known.pids.contains(&pid));
        drop(known);
        if reaped > 0 {
            tracing::debug!(target: "activator", reaped, "orphans that had ended were reaped");
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
