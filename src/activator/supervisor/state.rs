//! What the supervisor keeps of each application and each launch.
//!
//! Plain state with the few rules that concern one application alone; the machine that changes it is in the parent.

use super::record::Record;
use crate::activator::config::Application;
use crate::activator::launch::Target;
use crate::activator::slots::{LaunchPermit, Slots};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// First pause after a failed launch; doubled with each further failure up to [`MAX_RETRY`].
const FIRST_RETRY: Duration = Duration::from_secs(1);
/// Longest pause between attempts to launch an application whose program cannot be started.
const MAX_RETRY: Duration = Duration::from_secs(60);

/// What is known of one application.
pub(super) struct AppState {
    pub(super) app: Arc<Application>,
    pub(super) slots: Slots,
    /// The last notification, for whatever is started without one of its own.
    pub(super) last: Option<(usize, Target)>,
    pub(super) failures: u32,
    pub(super) retry_at: Option<Instant>,
    /// Whether a person has asked to launch nothing for now.
    pub(super) paused: bool,
    /// It is configured no more; what runs of it is ending.
    pub(super) is_retired: bool,
    /// Server names that were warned of already.
    pub(super) strange_servers: HashSet<String>,
}

/// One launch, from the order until its end.
pub(super) struct Launch {
    pub(super) app: usize,
    pub(super) permit: LaunchPermit,
    pub(super) command_line: Vec<String>,
    pub(super) phase: Phase,
}

/// How far a launch is. `since` is `None` for an adopted process.
#[derive(Debug, Clone, Copy)]
pub(super) enum Phase {
    Starting,
    Running { pid: u32, since: Option<Instant> },
    Terminating { pid: u32, since: Option<Instant>, kill_at: Instant },
    Killed { pid: u32, since: Option<Instant>, give_up_at: Instant },
}

impl AppState {
    pub(super) fn new(app: Arc<Application>) -> Self {
        Self {
            slots: Slots::new(app.min, app.max),
            app,
            last: None,
            failures: 0,
            retry_at: None,
            paused: false,
            is_retired: false,
            strange_servers: HashSet::new(),
        }
    }

    /// Goes on as `app`, which begins with a clean record.
    pub(super) fn reconfigure(&mut self, app: Arc<Application>) {
        self.slots.resize(app.min, app.max);
        self.app = app;
        self.failures = 0;
        self.retry_at = None;
        self.strange_servers.clear();
    }

    /// Sets the time of the next attempt. Several launches that fail together count once.
    pub(super) fn postpone(&mut self, now: Instant) -> Duration {
        if let Some(at) = self.retry_at.filter(|at| *at > now) {
            return at - now;
        }
        let delay = FIRST_RETRY.saturating_mul(1 << self.failures.min(16)).min(MAX_RETRY);
        self.failures += 1;
        self.retry_at = Some(now + delay);
        delay
    }

    pub(super) fn other_server(&self, target: &Target) -> Record {
        Record::OtherServer {
            app: self.app.name.clone(),
            configured: self.app.on.server.clone().unwrap_or_default(),
            target: target.clone(),
        }
    }

    pub(super) fn server_mismatch(&self, target: &Target) -> Record {
        Record::ServerMismatch {
            app: self.app.name.clone(),
            configured: self.app.on.server.clone().unwrap_or_default(),
            received: target.server.clone(),
        }
    }
}

impl Phase {
    pub(super) fn pid(self) -> Option<u32> {
        match self {
            Self::Starting => None,
            Self::Running { pid, .. } | Self::Terminating { pid, .. } | Self::Killed { pid, .. } => Some(pid),
        }
    }

    pub(super) fn since(self) -> Option<Instant> {
        match self {
            Self::Starting => None,
            Self::Running { since, .. } | Self::Terminating { since, .. } | Self::Killed { since, .. } => {
                since
            }
        }
    }
}
