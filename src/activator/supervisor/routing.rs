//! Which application a notification is for.
//!
//! Pure. Database, schema and queue decide, without regard to case. The server's name decides only where an application
//! says so: it is the name the server gives itself, which need not be the one anybody connects by, and changes with a
//! failover.

use crate::activator::config::Application;
use crate::activator::launch::Target;
use crate::activator::nearest::nearest;
use std::collections::HashMap;
use std::sync::Arc;

/// The configured queues.
#[derive(Debug)]
pub(super) struct Routes {
    /// By position; one that is configured no more has no route.
    apps: Vec<Option<Arc<Application>>>,
    by_queue: HashMap<String, Vec<usize>>,
}

/// Where a notification goes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// To this application, whose configured server is another one if `mismatch`.
    To { app: usize, mismatch: bool },
    /// To none: this application has the queue, but insists on another server.
    OtherServer { app: usize },
    /// To none; the configured queue with the nearest name.
    Unmatched { nearest: Option<String> },
}

impl Routes {
    /// The routes to `apps`; a position without an application has none.
    pub(super) fn new(apps: impl Iterator<Item = Option<Arc<Application>>>) -> Self {
        let apps: Vec<_> = apps.collect();
        let mut by_queue: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, app) in apps.iter().enumerate() {
            if let Some(app) = app {
                by_queue.entry(app.on.to_string().to_lowercase()).or_default().push(index);
            }
        }
        Self { apps, by_queue }
    }

    /// Finds the application for `target`.
    pub(super) fn find(&self, target: &Target) -> Route {
        let name = format!("{}.{}.{}", target.database, target.schema, target.queue);
        let Some(candidates) = self.by_queue.get(&name.to_lowercase()) else {
            let known: Vec<String> = self.apps.iter().flatten().map(|app| app.on.to_string()).collect();
            let nearest = nearest(&name, known.iter().map(String::as_str)).map(str::to_owned);
            return Route::Unmatched { nearest };
        };
        let same_server = candidates.iter().find(|app| !self.is_mismatch(**app, target));
        let any_server = candidates.iter().find(|app| self.app(**app).is_some_and(|app| !app.strict_server));
        match (same_server, any_server, candidates.first()) {
            (Some(&app), _, _) => Route::To { app, mismatch: false },
            (None, Some(&app), _) => Route::To { app, mismatch: true },
            (None, None, Some(&app)) => Route::OtherServer { app },
            (None, None, None) => Route::Unmatched { nearest: None },
        }
    }

    fn app(&self, index: usize) -> Option<&Application> {
        self.apps.get(index)?.as_deref()
    }

    fn is_mismatch(&self, app: usize, target: &Target) -> bool {
        let configured = self.app(app).and_then(|app| app.on.server.as_deref());
        configured.is_some_and(|server| server.to_lowercase() != target.server.to_lowercase())
    }
}
