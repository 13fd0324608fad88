//! What a service manager wants to know of the daemon's life.
//!
//! The daemon tells whoever was named; it knows no service manager.

use crate::activator::inbox::EventSender;
use crate::activator::web::is_alive;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A point in the daemon's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Milestone {
    /// What an earlier daemon left is taken up, and the listeners are started.
    Ready,
    /// The loop turns: told again and again, at the pace that was asked for.
    Alive,
    /// The stop has begun.
    Stopping,
}

/// Who is told, and how often it is told that the loop turns.
#[derive(Clone)]
pub(super) struct Milestones {
    pub(super) pace: Option<Duration>,
    pub(super) tell: Arc<dyn Fn(Milestone) + Send + Sync>,
}

impl fmt::Debug for Milestones {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Milestones").field("pace", &self.pace).finish_non_exhaustive()
    }
}

impl Milestones {
    /// Nobody is told.
    pub(super) fn untold() -> Self {
        Self { pace: None, tell: Arc::new(|_| {}) }
    }

    pub(super) fn tell(&self, milestone: Milestone) {
        (self.tell)(milestone);
    }

    /// Tells that the loop turns for as long as it does, until dropped.
    pub(super) async fn beat(self, events: EventSender) {
        let Some(pace) = self.pace else { return };
        let mut beats = tokio::time::interval(pace);
        beats.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            beats.tick().await;
            if !is_alive(&events).await {
                return;
            }
            self.tell(Milestone::Alive);
        }
    }
}
