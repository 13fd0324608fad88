//! What the supervisor keeps of each application and each launch.
//!
//! Plain state with the few rules that concern one application alone; the machine that changes it is in the parent.

use super::record::Record;
use crate::activator::config::Application;
use crate::activator::exit_policy::ExitPolicy;
use crate::activator::launch::{ImageStamp, Source, Target};
use crate::activator::slots::{LaunchPermit, Slots};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

/// What is known of one application.
pub(super) struct AppState {
    pub(super) app: Arc<Application>,
    pub(super) slots: Slots,
    /// The last notification, for whatever is started without one of its own.
    pub(super) last: Option<Source>,
    pub(super) policy: ExitPolicy,
    /// Why the last launch failed, until one succeeds; the same again is no news.
    pub(super) last_failure: Option<(String, Option<ImageStamp>)>,
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
    /// Without secrets, for the log.
    pub(super) command_line: Vec<String>,
    pub(super) phase: Phase,
    /// When it has run long enough, if it may not run for ever.
    pub(super) deadline: Option<Instant>,
    /// Why it was asked to end, if not by the stop of the daemon.
    pub(super) ending: Option<EndReason>,
}

/// Why a process was asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EndReason {
    /// By the daemon, for reasons of its own; no fault of the process.
    Asked,
    /// It ran too long.
    TimedOut,
    /// Whoever serves it found that it does not do its work.
    Unfit,
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
            policy: ExitPolicy::new(app.backoff.clone(), app.rate),
            app,
            last: None,
            last_failure: None,
            paused: false,
            is_retired: false,
            strange_servers: HashSet::new(),
        }
    }

    /// An application of which nothing is known but its name, since it is configured no more.
    pub(super) fn retired(name: &str) -> Self {
        Self { is_retired: true, ..Self::new(Arc::new(Application::unconfigured(name))) }
    }

    /// Whether its queue is this one, by the names that decide where a notification goes.
    pub(super) fn reads(&self, queue: &Target) -> bool {
        let name = format!("{}.{}.{}", queue.database, queue.schema, queue.queue);
        name.to_lowercase() == self.app.on.to_string().to_lowercase()
    }

    /// Whether anything of it may be launched at all.
    pub(super) fn is_launchable(&self) -> bool {
        self.app.enabled && !self.is_retired && !self.paused
    }

    /// Goes on as `app`, which begins with a clean record.
    pub(super) fn reconfigure(&mut self, app: Arc<Application>) {
        self.slots.resize(app.min, app.max);
        self.policy.renew(app.backoff.clone(), app.rate);
        self.app = app;
        self.last_failure = None;
        self.strange_servers.clear();
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
