//! One application's queue on one server: where it is, what may be seen of it, and its judge.

use super::findings::{self, Destination};
use super::judge::{Judge, Look};
use super::{Parts, RETRY, nothing};
use crate::activator::config::Application;
use crate::activator::launch::Target;
use crate::activator::log_lines;
use crate::activator::nearest::nearest;
use crate::activator::status::warnings::Found;
use crate::activator::status::{Board, QueueStatus};
use crate::client::{
    self, Broker, DatabaseState, Error, EventNotification, QueueDetails, QueueLocation, QueueName,
    QueueState, Visible,
};
use std::sync::Arc;
use std::time::Instant;

/// A queue that is looked at.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) app: Arc<Application>,
    pub(super) location: QueueLocation,
    pub(super) judge: Judge,
    /// The names to give a handler; `None` while the queue is not known to be on this server.
    pub(super) target: Option<Target>,
    can_select: bool,
    /// The queue's database and number, where its monitor may be seen.
    monitor: Option<(String, i32)>,
    /// Since when it is seen to be off.
    pub(super) off_since: Option<Instant>,
}

impl Watched {
    /// A queue nobody has looked at; `None` if its names are none.
    pub(super) fn new(app: &Arc<Application>, launches: u64) -> Option<Self> {
        let name = QueueName::in_schema(&app.on.schema, &app.on.queue).ok()?;
        Some(Self {
            location: QueueLocation::in_database(&app.on.database, name),
            app: Arc::clone(app),
            judge: Judge::new(launches),
            target: None,
            can_select: false,
            monitor: None,
            off_since: None,
        })
    }

    /// The same queue for its application as it is configured now.
    pub(super) fn of(self, app: &Arc<Application>) -> Self {
        Self { app: Arc::clone(app), ..self }
    }

    /// Whether a handler may be missing: it is on this server and none runs.
    pub(super) fn is_idle(&self, board: &Board) -> bool {
        self.target.is_some() && Judge::is_idle(board.handlers(&self.app.name))
    }

    /// Whether it may be asked for messages.
    pub(super) fn is_readable(&self) -> bool {
        self.can_select
    }

    /// Adds the state of the monitor to what a sweep saw, where that says anything and may be seen.
    pub(super) async fn see(&self, ready: Option<bool>, broker: &Broker) -> client::Result<Look> {
        let mut look = Look { ready, monitor: None };
        if let (true, Some((database, id))) = (ready != Some(false), &self.monitor) {
            look.monitor = Some(broker.queue_monitor(database, *id).await?.map(|monitor| monitor.state));
        }
        Ok(look)
    }

    /// Looks at everything, and writes it on the board. Answers when to look again, where that is sooner than usual.
    pub(super) async fn look(
        &mut self,
        broker: &Broker,
        parts: &Parts,
        here: &DatabaseState,
        to: &Destination<'_>,
    ) -> client::Result<Option<Instant>> {
        let looked_at = Instant::now();
        if self.belongs_elsewhere(parts, &here.server_name) {
            self.forget(parts);
            return Ok(None);
        }
        let Some(state) = broker.inspect_queue(&self.location).await? else {
            self.forget(parts);
            return Ok(None);
        };
        if state.details == Visible::Known(None) {
            self.forget(parts);
            let found = missing_queue(broker, &self.app).await?;
            parts.board.look(parts.index, &self.app.name, None, nothing(), vec![found]);
            return Ok(None);
        }
        self.learn(&state);
        let mut found = findings::of_queue(&self.app.on, &state, to);
        found.extend(findings::of_handlers(&self.app.on, &self.judge, self.monitor.is_some()));
        let attended = self.attend(broker, parts, &state, looked_at).await;
        found.extend(attended.found);
        if self.app.reenable.is_some() {
            found.extend(findings::disabled_unheard(&self.app.on, &state, to, true));
        }
        let status = status(&state, to);
        parts.board.look(parts.index, &self.app.name, self.target.clone(), status, found);
        Ok(attended.look_at)
    }

    /// An application that names a server is looked at there; elsewhere only if no listener is on that server, and never
    /// if it insists.
    fn belongs_elsewhere(&self, parts: &Parts, server: &str) -> bool {
        let Some(wanted) = &self.app.on.server else { return false };
        let is_other = wanted.to_lowercase() != server.to_lowercase();
        is_other && (self.app.strict_server || parts.board.is_placed_on(&self.app.name, wanted))
    }

    fn forget(&mut self, parts: &Parts) {
        (self.target, self.monitor, self.can_select) = (None, None, false);
        parts.board.look(parts.index, &self.app.name, None, nothing(), Vec::new());
    }

    /// The server refuses to show this queue for now: the others are looked at all the same, and this one again soon, at the
    /// time that is answered.
    ///
    /// # Errors
    /// The same one, if it says nothing of a single queue: the server does not answer, or is about to leave.
    pub(super) fn set_aside(&mut self, parts: &Parts, error: Error) -> client::Result<Instant> {
        if error.server_number().is_none() || error.is_connection_lost() {
            return Err(error);
        }
        (self.target, self.monitor, self.can_select) = (None, None, false);
        let found = findings::unseen(&self.app.on, &log_lines::chain(&error));
        parts.board.look(parts.index, &self.app.name, None, nothing(), vec![found]);
        Ok(Instant::now() + RETRY)
    }

    fn learn(&mut self, state: &QueueState) {
        let details = state.details.as_ref().known().and_then(Option::as_ref);
        let named = |details: &QueueDetails| {
            (details.name.schema().map(str::to_owned), details.name.name().to_owned())
        };
        let (schema, queue) = details.map(named).unwrap_or_default();
        self.target = Some(Target {
            server: state.database.server_name.clone(),
            database: state.database.database.clone(),
            schema: schema.unwrap_or_else(|| self.app.on.schema.clone()),
            queue: if queue.is_empty() { self.app.on.queue.clone() } else { queue },
        });
        self.can_select = state.ready.missing().is_none();
        let id = details.map(|details| details.id).filter(|_| state.monitor.missing().is_none());
        self.monitor = id.map(|id| (state.database.database.clone(), id));
    }
}

/// Tells of a queue that does not exist, with the name that may have been meant.
pub(in crate::activator) async fn missing_queue(broker: &Broker, app: &Application) -> client::Result<Found> {
    let queues = broker.queues(Some(&app.on.database)).await?;
    let name = |queue: &QueueName| format!("{}.{}", queue.schema().unwrap_or_default(), queue.name());
    let names: Vec<String> = queues.iter().map(name).collect();
    let wanted = format!("{}.{}", app.on.schema, app.on.queue);
    Ok(findings::missing_queue(&app.on, nearest(&wanted, names.iter().map(String::as_str))))
}

/// What is shown.
fn status(state: &QueueState, to: &Destination<'_>) -> QueueStatus {
    let monitor = state.monitor.as_ref().known();
    let monitor =
        monitor.map(|monitor| monitor.as_ref().map_or_else(|| "NONE".to_owned(), |it| it.state.to_string()));
    QueueStatus {
        depth: state.depth.known(),
        oldest: state.oldest.known().flatten().map(|age| age.as_secs()),
        monitor_state: monitor,
        notification: state.notifications.as_ref().known().map(|all| notification(all, to)),
    }
}

/// The name of the event notification that starts the application, or what is wrong with it.
fn notification(all: &[EventNotification], to: &Destination<'_>) -> String {
    let mut ours =
        all.iter().filter(|one| one.event == "QUEUE_ACTIVATION" && to.known_services.contains(&one.service));
    match ours.next() {
        None => "missing".to_owned(),
        Some(one) if !one.has_conversation => "dead".to_owned(),
        Some(one) => one.name.clone(),
    }
}
