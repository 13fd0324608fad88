//! The listeners of all notification services: each can be started and stopped by itself, and all together.

use super::Listener;
use crate::activator::inbox::EventSender;
use crate::client::BrokerOptions;
use std::collections::HashMap;
use std::fmt;
use std::time::Duration;
use tokio::task::JoinSet;
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
}

impl fmt::Debug for Listeners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listeners").field("listening", &self.stops.len()).finish_non_exhaustive()
    }
}

impl Listeners {
    /// None so far; what they hear goes to `events`.
    pub(in crate::activator) fn new(events: EventSender) -> Self {
        Self { tasks: JoinSet::new(), stops: HashMap::new(), all: CancellationToken::new(), events }
    }

    /// Listens on `service`, the one at position `index`; instead of the former one there, if any.
    pub(in crate::activator) fn start(&mut self, index: usize, service: &str, options: BrokerOptions) {
        self.stop(index);
        let stop = self.all.child_token();
        let listener = Listener::new(index, service, options, self.events.clone(), stop.clone());
        self.tasks.spawn(listener.run());
        self.stops.insert(index, stop);
        // Those that have ended since are not kept for ever.
        while self.tasks.try_join_next().is_some() {}
    }

    /// Listens no more on the service at position `index`. What is in the listener's hands is brought to its end.
    pub(in crate::activator) fn stop(&mut self, index: usize) {
        if let Some(stop) = self.stops.remove(&index) {
            stop.cancel();
        }
    }

    /// Listens no more. What is not received any more stays on its queue, for another activator or the next start.
    pub(in crate::activator) fn stop_all(&self) {
        self.all.cancel();
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
