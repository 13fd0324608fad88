//! Compares what waits on a server with what runs here, whatever notifications said, and tells what is wrong.
//!
//! One task for each notification service, which uses that service's connection and no other. Three looks:
//!
//! - *sweep*, every second while something is idle: one request for all queues without a process, which asks for the first
//!   row that can be received and never counts. What it finds is judged by the pure [`judge`].
//! - *full look*, at start, once a minute, after trouble, and when somebody asks for the status: settings, rights, depth, age,
//!   monitor and event notifications of each queue, from which the pure [`findings`] make warnings.
//! - the end of a process wakes it at once.
//!
//! With fewer rights it does less, and says once what is lost. A scan that fails starts nothing and ends nothing: launches
//! by notification go on. It changes nothing on the server, but for one thing an application may ask for ([`switching`]).

pub(super) mod findings;
mod judge;
pub(super) mod rights;
mod set;
mod switching;
mod watched;

pub(super) use set::{Looks, Reconcilers};
pub(super) use watched::missing_queue;

use crate::activator::beat;
use crate::activator::config::Config;
use crate::activator::guarded;
use crate::activator::inbox::{EventSender, Until};
use crate::activator::listener::{Health, Link};
use crate::activator::log_lines;
use crate::activator::reenabling::Reenabling;
use crate::activator::status::warnings::Found;
use crate::activator::status::{Board, QueueStatus};
use crate::activator::supervisor::Event;
use crate::client::{self, Broker, DatabaseState, Error, QueueLocation, ServiceName};
use findings::Destination;
use judge::Verdict;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;
use watched::Watched;

/// Time between two sweeps; the tasks of all services sweep at the same moments.
const SWEEP: Duration = Duration::from_secs(1);
/// Time between two full looks.
const FULL: Duration = Duration::from_secs(60);
/// Shortest time between two rounds, however often processes end.
const BREATH: Duration = Duration::from_millis(100);
/// Time to the next attempt after a failure.
const RETRY: Duration = Duration::from_secs(3);

/// A wish for a full look now; answered when it is done.
pub(super) type LookRequest = oneshot::Sender<()>;

/// What the task of one notification service works with.
#[derive(Debug, Clone)]
pub(super) struct Parts {
    /// Position of the service in the configuration.
    pub(super) index: usize,
    pub(super) service: String,
    pub(super) link: Link,
    pub(super) config: watch::Receiver<Arc<Config>>,
    pub(super) board: Board,
    pub(super) reenabling: Reenabling,
    pub(super) events: EventSender,
    pub(super) stop: CancellationToken,
}

/// Looks until told to stop. A fault of ours in a look ends that look, not the daemon, and not the looking.
pub(super) async fn run(parts: Parts, requests: mpsc::Receiver<LookRequest>) {
    let mut requests = Some(requests);
    let begin = || {
        // Whoever has asked before a fault is answered by nobody and does without; new requests have nowhere to go.
        let requests = requests.take().unwrap_or_else(|| mpsc::channel(1).1);
        Reconciler::new(parts.clone()).run(requests)
    };
    let tell = |fault: &JoinError| {
        tracing::error!(
            target: "activator", service = parts.service,
            "looking at the queues failed by a fault of the activator and begins anew: {fault}"
        );
    };
    guarded::run_again(parts.stop.clone(), begin, tell).await;
}

struct Reconciler {
    parts: Parts,
    queues: Vec<Watched>,
    full_look_at: Instant,
    health: Health,
    /// The database of the notification service, as last seen.
    here: Option<DatabaseState>,
}

impl Reconciler {
    fn new(parts: Parts) -> Self {
        let now = Instant::now();
        let mut reconciler =
            Self { parts, queues: Vec::new(), full_look_at: now, health: Health::default(), here: None };
        reconciler.configure();
        reconciler
    }

    /// Takes over the configuration; what is known of a queue that stays is kept.
    fn configure(&mut self) {
        let config = Arc::clone(&self.parts.config.borrow_and_update());
        let mut before = std::mem::take(&mut self.queues);
        for app in config.applications.iter().filter(|app| app.enabled) {
            let known = before.iter().position(|queue| queue.app.name == app.name && queue.app.on == app.on);
            let launches = self.parts.board.handlers(&app.name).launches;
            let fresh = || Watched::new(app, launches);
            let mut kept = |at| before.swap_remove(at).of(app);
            self.queues.extend(known.map_or_else(fresh, |at| Some(kept(at))));
        }
        self.full_look_at = Instant::now();
    }

    async fn run(mut self, mut requests: mpsc::Receiver<LookRequest>) {
        let stop = self.parts.stop.clone();
        let mut changes = self.parts.board.changes();
        let mut config = self.parts.config.clone();
        loop {
            let Some(next) = stop.run_until_cancelled(self.round()).await else { return };
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep_until(next.into()) => {}
                Ok(()) = changes.changed() => tokio::time::sleep(BREATH).await,
                Ok(()) = config.changed() => self.configure(),
                Some(request) = requests.recv() => self.look_now(request).await,
            }
        }
    }

    async fn look_now(&mut self, request: LookRequest) {
        self.full_look_at = Instant::now();
        self.round().await;
        // Who has gone needs no answer.
        let _ = request.send(());
    }

    /// One round; answers when the next is due.
    async fn round(&mut self) -> Instant {
        match self.look().await {
            Ok(next) => {
                if self.health.works() {
                    tracing::debug!(target: "activator", service = self.parts.service, "looking at the queues works");
                }
                next
            }
            Err(error) => {
                self.tell_failure(&error);
                Instant::now() + RETRY
            }
        }
    }

    async fn look(&mut self) -> client::Result<Instant> {
        let link = self.parts.link.clone();
        let broker = link.broker().await?;
        if self.full_look_at <= Instant::now() {
            self.full_look(broker).await?;
        }
        self.sweep(broker).await
    }

    /// Looks at everything there is to see.
    async fn full_look(&mut self, broker: &Broker) -> client::Result<()> {
        let Some(here) = broker.inspect_database(None).await? else { return Ok(()) };
        self.full_look_at = Instant::now() + FULL;
        let service = self.parts.service.clone();
        self.look_at_service(broker, &service).await?;
        let known_services: Vec<String> =
            self.parts.config.borrow().notifications.iter().map(|one| one.name.clone()).collect();
        let to = Destination {
            service: &service,
            broker_id: here.broker_id.to_string(),
            known_services: &known_services,
        };
        for queue in &mut self.queues {
            let look_at = match queue.look(broker, &self.parts, &here, &to).await {
                Ok(look_at) => look_at,
                Err(error) => Some(queue.set_aside(&self.parts, error)?),
            };
            self.full_look_at = look_at.map_or(self.full_look_at, |at| self.full_look_at.min(at));
        }
        self.here = Some(here);
        Ok(())
    }

    async fn look_at_service(&self, broker: &Broker, service: &str) -> client::Result<()> {
        let Some(state) = broker.inspect_service(&ServiceName::new(service)?).await? else {
            // The listener says that it cannot work, and why.
            self.parts.board.look_at_service(self.parts.index, None, Vec::new());
            return Ok(());
        };
        if let Some(queue) = broker.inspect_queue(&state.queue).await? {
            let depth = queue.depth.known();
            let found = findings::of_service(service, &state, &queue);
            self.parts.board.look_at_service(self.parts.index, depth, found);
        }
        Ok(())
    }

    /// Looks for messages in queues that have no process.
    async fn sweep(&mut self, broker: &Broker) -> client::Result<Instant> {
        let idle: Vec<usize> =
            (0..self.queues.len()).filter(|at| self.queues[*at].is_idle(&self.parts.board)).collect();
        let readable: Vec<usize> = idle.iter().copied().filter(|at| self.queues[*at].is_readable()).collect();
        let locations: Vec<QueueLocation> =
            readable.iter().map(|at| self.queues[*at].location.clone()).collect();
        let ready = match broker.ready_queues(&locations).await {
            Ok(ready) => ready,
            Err(error) => {
                // Something has changed: a queue is gone, or a right. The full look finds out which.
                self.full_look_at = Instant::now() + RETRY;
                return Err(error);
            }
        };
        let mut next = self.full_look_at;
        for at in idle {
            let ready = readable.iter().position(|readable| *readable == at).map(|position| ready[position]);
            next = next.min(beat::after(Instant::now(), SWEEP));
            next = next.min(self.judge(at, ready, broker).await?);
        }
        Ok(next)
    }

    async fn judge(&mut self, at: usize, ready: Option<bool>, broker: &Broker) -> client::Result<Instant> {
        let far = Instant::now() + FULL;
        let look = match self.queues[at].see(ready, broker).await {
            Ok(look) => look,
            Err(error) => return self.queues[at].set_aside(&self.parts, error),
        };
        let queue = &mut self.queues[at];
        let handlers = self.parts.board.handlers(&queue.app.name);
        match queue.judge.judge(&look, handlers, Instant::now()) {
            Verdict::Fine => Ok(far),
            Verdict::LookAgain(at) => Ok(at),
            Verdict::Launch => {
                let Some(target) = queue.target.clone() else { return Ok(far) };
                let event = Event::Reconcile { listener: self.parts.index, target };
                // A loop that has ended needs nothing more; a receipt is of no use, since the next look shows.
                let _ = self.parts.events.send(event, Until::Safe).await.map(drop);
                // Why no notification came is looked for now.
                self.full_look_at = self.full_look_at.min(Instant::now() + SWEEP);
                Ok(far)
            }
        }
    }

    /// One line for each change, as a listener does; C070: nothing else depends on it.
    fn tell_failure(&mut self, error: &Error) {
        let reason = log_lines::chain(error);
        if self.health.fails(error) {
            tracing::warn!(
                target: "activator", service = self.parts.service,
                "the queues cannot be looked at, so only notifications start handlers: {reason}; trying again until it works"
            );
        }
        let cure = "see the error; launches by notification go on".to_owned();
        let text = format!("the queues cannot be looked at: {reason}");
        self.parts.board.look_at_service(
            self.parts.index,
            None,
            vec![Found { id: "scan-failing", text, cure }],
        );
    }
}

/// What is shown of a queue nobody has looked at.
fn nothing() -> QueueStatus {
    QueueStatus::default()
}

#[cfg(test)]
mod schedule_tests;
