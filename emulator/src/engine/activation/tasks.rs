//! Activated procedures: which run for which queue, who starts them, and what follows their end (spec 5.4).
//!
//! A task counts from the moment it is called for, so that no more than MAX_QUEUE_READERS are ever on their way. It must
//! not know how a procedure is run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::CompletedReceive;
use crate::engine::core::Core;
use crate::engine::definitions::{Activation, ActivationUser, Object, User};
use crate::engine::ids::{PrincipalId, QueueKey, SessionId};
use crate::engine::security;
use crate::engine::state::State;
use crate::engine::tx::Principal;
use crate::value::Timestamp;

/// How long a queue waits for another try when its procedure could not be started (spec 5.4).
const RETRY: Duration = Duration::from_secs(5);

/// A procedure to start for a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActivationRequest {
    /// The task; its end is reported under this number.
    pub task: u64,
    /// The queue.
    pub queue: QueueKey,
    /// Name of the queue's database.
    pub database: Arc<str>,
    /// The procedure, each part in brackets.
    pub procedure: String,
    /// As whom it runs.
    pub principal: Principal,
}

/// How an activated procedure ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskEnd {
    /// It ran, well or not.
    Ran,
    /// It could not be started.
    NotStarted,
}

/// A row of `sys.dm_broker_activated_tasks`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRow {
    /// `spid`
    pub spid: i16,
    /// The queue.
    pub queue: QueueKey,
    /// `procedure_name`
    pub procedure: String,
    /// `execute_as`
    pub execute_as: i32,
}

#[derive(Debug)]
struct Task {
    queue: QueueKey,
    procedure: String,
    execute_as: i32,
    /// Its session, once it has one.
    session: Option<SessionId>,
    /// Whether it has issued a RECEIVE on its queue.
    received: bool,
}

/// The tasks of all queues.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    last: u64,
    running: BTreeMap<u64, Task>,
    /// Called for and not taken by the one who starts them.
    requested: Vec<ActivationRequest>,
    /// Queues whose procedure could not be started, and when it is tried again.
    retries: BTreeMap<QueueKey, Timestamp>,
}

impl Core {
    /// Procedures to start, each once. The caller starts them and reports their end.
    pub fn take_activations(&mut self) -> Vec<ActivationRequest> {
        std::mem::take(&mut self.broker.tasks.requested)
    }

    /// A task has got its session.
    pub fn task_started(&mut self, task: u64, session: SessionId) {
        if let Some(task) = self.broker.tasks.running.get_mut(&task) {
            task.session = Some(session);
        }
    }

    /// A task has ended. If it had issued a RECEIVE and messages are left, another one is called for.
    pub fn task_ended(&mut self, task: u64, end: TaskEnd, now: Timestamp) {
        let Some(ended) = self.broker.tasks.running.remove(&task) else { return };
        if end == TaskEnd::NotStarted {
            self.broker.tasks.retries.insert(ended.queue, now.plus(RETRY));
        } else if ended.received {
            self.activate_again(ended.queue);
        }
    }

    /// The activated procedures that run.
    pub fn activated_tasks(&self) -> Vec<TaskRow> {
        let running = self.broker.tasks.running.values();
        let row = |task: &Task| {
            let spid = self.sessions.get(&task.session?)?.info.spid;
            let (queue, execute_as) = (task.queue, task.execute_as);
            Some(TaskRow { spid, queue, procedure: task.procedure.clone(), execute_as })
        };
        running.filter_map(row).collect()
    }

    /// Calls for one more reader, unless the queue has as many as it may have.
    pub(super) fn call_for_task(&mut self, queue: QueueKey, activation: &Activation) {
        let running = self.broker.tasks.running.values().filter(|task| task.queue == queue).count();
        if running >= usize::from(activation.max_readers) {
            return;
        }
        let Some((object, database)) = self.queue_and_database(queue) else { return };
        let principal = principal_of(&self.state, queue, &object, activation.execute_as);
        let tasks = &mut self.broker.tasks;
        tasks.last += 1;
        let procedure = bracketed(activation);
        let request =
            ActivationRequest { task: tasks.last, queue, database, procedure: procedure.clone(), principal };
        let execute_as = activation.execute_as.catalog_value();
        let task = Task { queue, procedure, execute_as, session: None, received: false };
        tasks.running.insert(tasks.last, task);
        tasks.requested.push(request);
    }

    /// Notes that a session has received: its task has proved that it reads the queue.
    pub(in crate::engine) fn note_task_receives(
        &mut self,
        session: SessionId,
        receives: &[(QueueKey, CompletedReceive)],
    ) {
        let own = self.broker.tasks.running.values_mut().filter(|task| task.session == Some(session));
        for task in own {
            task.received |= receives.iter().any(|(queue, _)| *queue == task.queue);
        }
    }

    /// When a procedure that could not be started is tried again.
    pub(in crate::engine) fn task_deadline(&self) -> Option<Timestamp> {
        self.broker.tasks.retries.values().min().copied()
    }

    /// Tries again to start what could not be started.
    pub(in crate::engine) fn retry_tasks(&mut self, now: Timestamp) {
        let due: Vec<QueueKey> =
            self.broker.tasks.retries.iter().filter(|(_, at)| **at <= now).map(|(queue, _)| *queue).collect();
        for queue in due {
            self.broker.tasks.retries.remove(&queue);
            self.activate_again(queue);
        }
    }

    fn activate_again(&mut self, queue: QueueKey) {
        let view = self.queue_view(queue);
        let monitored = self.broker.monitors.contains_key(&queue);
        let activation = self.state.queue_def(queue).and_then(|def| def.activation.clone());
        if let Some(activation) = activation.filter(|it| it.enabled && monitored && view.wants_reader()) {
            self.call_for_task(queue, &activation);
        }
    }

    fn queue_and_database(&self, queue: QueueKey) -> Option<(Arc<Object>, Arc<str>)> {
        let object = Arc::clone(self.state.object(queue)?);
        Some((object, Arc::clone(&self.state.database(queue.database)?.def.name)))
    }
}

/// As whom the procedure runs; OWNER is the queue's owner at this moment.
fn principal_of(state: &State, queue: QueueKey, object: &Object, execute_as: ActivationUser) -> Principal {
    let user = match execute_as {
        ActivationUser::User(user) => user,
        ActivationUser::Owner => owner_of(state, queue, object),
    };
    security::impersonated(state, queue.database, user)
}

fn owner_of(state: &State, queue: QueueKey, object: &Object) -> PrincipalId {
    let schema = state.database(queue.database).and_then(|database| database.schemas.get(object.schema));
    object.owner.or(schema.map(|schema| schema.owner)).unwrap_or(User::DBO)
}

/// Two bracketed parts, three when the procedure is in another database.
fn bracketed(activation: &Activation) -> String {
    let parts = activation.database.iter().chain([&activation.schema, &activation.procedure]);
    parts.map(|part| format!("[{}]", part.replace(']', "]]"))).collect::<Vec<_>>().join(".")
}
