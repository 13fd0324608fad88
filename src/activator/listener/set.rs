//! The listeners of all notification services: each can be started and stopped by itself, and all together.

use super::{Link, Listener};
use crate::activator::config::Config;
use crate::activator::guarded;
use crate::activator::inbox::EventSender;
use crate::activator::reconcile::{Looks, Reconcilers};
use crate::activator::reenabling::Reenabling;
use crate::activator::status::{Board, ListenerState};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

/// How long the listeners may take to commit what is in their hands when everything else has stopped.
const PATIENCE: Duration = Duration::from_secs(2);

/// The tasks that listen. Dropped, none goes on: what they had in their hands comes again.
pub(in crate::activator) struct Listeners {
    tasks: JoinSet<()>,
    /// By position of the service in the configuration.
    stops: HashMap<usize, CancellationToken>,
    all: CancellationToken,
    events: EventSender,
    board: Board,
    /// What looks beside each listener, over its connection.
    reconcilers: Reconcilers,
    links: Links,
}

/// The connection of each service that is or was listened on, by its name. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(in crate::activator) struct Links(Arc<Mutex<HashMap<String, Link>>>);

impl Links {
    /// The connection of this service as it was last listened on.
    pub(in crate::activator) fn of(&self, service: &str) -> Option<Link> {
        self.lock().get(service).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Link>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Listeners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listeners").field("listening", &self.stops.len()).finish_non_exhaustive()
    }
}

impl Listeners {
    /// None so far; what they hear goes to `events`, and how they do to `board`.
    pub(in crate::activator) fn new(
        config: Arc<Config>,
        events: EventSender,
        board: Board,
        reenabling: Reenabling,
    ) -> Self {
        Self {
            tasks: JoinSet::new(),
            stops: HashMap::new(),
            all: CancellationToken::new(),
            reconcilers: Reconcilers::new(config, board.clone(), reenabling, events.clone()),
            events,
            board,
            links: Links::default(),
        }
    }

    /// Listens on `service`, the one at position `index`; instead of the former one there, if any.
    pub(in crate::activator) fn start(&mut self, index: usize, service: &str, link: Link) {
        self.stop(index);
        let stop = self.all.child_token();
        self.board.listener(index, ListenerState::Connecting, None);
        self.reconcilers.start(index, service, link.clone());
        self.links.lock().insert(service.to_owned(), link.clone());
        self.tasks.spawn(listen(
            index,
            service.to_owned(),
            link,
            self.events.clone(),
            self.board.clone(),
            stop.clone(),
        ));
        self.stops.insert(index, stop);
        // Those that have ended since are not kept for ever.
        while self.tasks.try_join_next().is_some() {}
    }

    /// Listens no more on the service at position `index`. What is in the listener's hands is brought to its end.
    pub(in crate::activator) fn stop(&mut self, index: usize) {
        if let Some(stop) = self.stops.remove(&index) {
            stop.cancel();
            self.reconcilers.stop(index);
            self.board.listener(index, ListenerState::Disabled, None);
        }
    }

    /// Lets what looks know of a changed configuration.
    pub(in crate::activator) fn configure(&self, config: Arc<Config>) {
        self.reconcilers.configure(config);
    }

    /// The connections, for who has something to do beside listening.
    pub(in crate::activator) fn links(&self) -> Links {
        self.links.clone()
    }

    /// A way to ask for a look at every queue.
    pub(in crate::activator) fn looks(&self) -> Looks {
        self.reconcilers.looks()
    }

    /// Listens no more. What is not received any more stays on its queue, for another activator or the next start.
    pub(in crate::activator) fn stop_all(&mut self) {
        self.all.cancel();
        self.reconcilers.stop_all();
    }

    /// Lets the listeners commit what they have. One that does not come to an end is dropped: its notification comes
    /// again.
    pub(in crate::activator) async fn finish(mut self) {
        self.stop_all();
        let all = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(PATIENCE, all).await.is_err() {
            tracing::warn!(target: "activator", "a listener does not stop and is dropped");
        }
    }
}

/// Listens until told to stop. A fault of ours gives what is in hand back to the queue, and ends neither the daemon nor the
/// listening.
async fn listen(
    index: usize,
    service: String,
    link: Link,
    events: EventSender,
    board: Board,
    stop: CancellationToken,
) {
    let begin =
        || Listener::new(index, &service, link.clone(), board.clone(), events.clone(), stop.clone()).run();
    let tell = |fault: &JoinError| {
        let reason = format!("a fault of the activator: {fault}");
        tracing::error!(target: "activator", service, "listening failed by {reason}; it begins anew");
        board.listener(index, ListenerState::Failing, Some(reason));
    };
    guarded::run_again(stop.clone(), begin, tell).await;
}
