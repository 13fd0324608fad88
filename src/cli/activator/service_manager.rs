//! What systemd is told: ready, still alive, stopping. Without systemd nobody is told anything.
//!
//! The variables by which systemd names its socket are read by the crate that speaks its protocol, and only there.

use crate::activator::{Activator, Milestone};
use sd_notify::NotifyState;

/// Lets the activator tell the service manager how it does, twice within each time its watchdog allows.
pub(super) fn attach(activator: Activator) -> Activator {
    let pace = sd_notify::watchdog_enabled().map(|limit| limit / 2);
    activator.milestones(pace, |milestone| tell(&[state(milestone)]))
}

/// Tells that the configuration is being read again; [`reloaded`] ends it.
pub(super) fn reloading() {
    if let Ok(now) = NotifyState::monotonic_usec_now() {
        tell(&[NotifyState::Reloading, now]);
    }
}

/// Tells that the daemon is as it was.
pub(super) fn reloaded() {
    tell(&[NotifyState::Ready]);
}

fn state(milestone: Milestone) -> NotifyState<'static> {
    match milestone {
        Milestone::Ready => NotifyState::Ready,
        Milestone::Alive => NotifyState::Watchdog,
        Milestone::Stopping => NotifyState::Stopping,
    }
}

fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(target: "activator", "the service manager cannot be told: {error}");
    }
}
