//! The reconcilers of all notification services, and how to make all of them look now.

use super::{LookRequest, Parts};
use crate::activator::config::Config;
use crate::activator::inbox::EventSender;
use crate::activator::listener::Link;
use crate::activator::reenabling::Reenabling;
use crate::activator::status::Board;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio_util::sync::{CancellationToken, DropGuard};

/// The tasks that look. Dropped, none goes on.
#[derive(Debug)]
pub(in crate::activator) struct Reconcilers {
    tasks: JoinSet<()>,
    /// By position of the service in the configuration.
    stops: HashMap<usize, DropGuard>,
    looks: Looks,
    config: watch::Sender<Arc<Config>>,
    board: Board,
    reenabling: Reenabling,
    events: EventSender,
}

/// Asks every reconciler for a look. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(in crate::activator) struct Looks(Arc<Mutex<HashMap<usize, mpsc::Sender<LookRequest>>>>);

impl Reconcilers {
    /// None so far; what they find goes to `board` and `events`.
    pub(in crate::activator) fn new(
        config: Arc<Config>,
        board: Board,
        reenabling: Reenabling,
        events: EventSender,
    ) -> Self {
        let config = watch::channel(config).0;
        let (tasks, stops, looks) = (JoinSet::new(), HashMap::new(), Looks::default());
        Self { tasks, stops, looks, config, board, reenabling, events }
    }

    /// Looks from the notification service at position `index`, instead of the former one there, if any.
    pub(in crate::activator) fn start(&mut self, index: usize, service: &str, link: Link) {
        let stop = CancellationToken::new();
        let parts = Parts {
            index,
            service: service.to_owned(),
            link,
            config: self.config.subscribe(),
            board: self.board.clone(),
            reenabling: self.reenabling.clone(),
            events: self.events.clone(),
            stop: stop.clone(),
        };
        let (look, requests) = mpsc::channel(1);
        self.looks.with(|looks| looks.insert(index, look));
        // The former one stops with its guard.
        self.stops.insert(index, stop.drop_guard());
        self.tasks.spawn(super::run(parts, requests));
        while self.tasks.try_join_next().is_some() {}
    }

    /// Looks no more from the service at position `index`.
    pub(in crate::activator) fn stop(&mut self, index: usize) {
        self.looks.with(|looks| looks.remove(&index));
        self.stops.remove(&index);
    }

    /// Looks no more at all.
    pub(in crate::activator) fn stop_all(&mut self) {
        self.looks.with(HashMap::clear);
        self.stops.clear();
    }

    /// Takes over a new configuration.
    pub(in crate::activator) fn configure(&self, config: Arc<Config>) {
        self.config.send_replace(config);
    }

    /// A way to ask for looks.
    pub(in crate::activator) fn looks(&self) -> Looks {
        self.looks.clone()
    }
}

impl Looks {
    /// Asks all of them and waits until each has looked. One that is busy or gone is not waited for.
    pub(in crate::activator) async fn now(&self) {
        let asked = self.with(|looks| looks.values().cloned().collect::<Vec<_>>());
        let mut answers = JoinSet::new();
        for look in asked {
            let (request, done) = oneshot::channel();
            if look.try_send(request).is_ok() {
                answers.spawn(done);
            }
        }
        while answers.join_next().await.is_some() {}
    }

    /// Asks all of them and waits for none.
    pub(in crate::activator) fn soon(&self) {
        for look in self.with(|looks| looks.values().cloned().collect::<Vec<_>>()) {
            // One that is asked already looks anyway.
            let _ = look.try_send(oneshot::channel().0);
        }
    }

    fn with<T>(&self, use_them: impl FnOnce(&mut HashMap<usize, mpsc::Sender<LookRequest>>) -> T) -> T {
        use_them(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
