//! One running server: the engine behind its mutex, the clock, wake-ups of waiting sessions, the timer task, and the start
//! of activated procedures.
//!
//! The mutex is held for one synchronous engine call at a time and never across a wait. This file must not know T-SQL or
//! the wire.

use std::collections::HashMap;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::activation;
use crate::clock::Clock;
use crate::engine::{ActivationRequest, Core, CoreOptions, IdSource, SessionId};
use crate::error::SqlError;
use crate::faults::FaultPlan;
use crate::interpreter::{Procedure, Program, TextCache};
use crate::value::Timestamp;

/// A running server that any number of sessions share. It ends when the last handle to it is dropped.
pub struct Instance {
    core: Mutex<Core>,
    clock: Clock,
    waiters: Mutex<HashMap<SessionId, Arc<Notify>>>,
    programs: Mutex<TextCache<Program>>,
    procedures: Mutex<TextCache<Procedure>>,
    faults: FaultPlan,
    /// This instance, for the tasks it starts.
    me: Weak<Instance>,
    runtime: Handle,
    activation: CancellationToken,
    timer: Arc<Timer>,
    _timer_task: DropGuard,
}

/// What the timer task sleeps towards, and how it is told of an earlier deadline.
#[derive(Default)]
struct Timer {
    deadline: Mutex<Option<Timestamp>>,
    earlier: Notify,
}

impl Instance {
    /// Starts a server with empty system databases. Must be called within a tokio runtime, which runs its timers until
    /// the last handle is dropped.
    pub fn new(options: CoreOptions, clock: Clock, ids: Box<dyn IdSource + Send>) -> Arc<Instance> {
        let core = Core::new(options, ids, clock.now());
        let stop = CancellationToken::new();
        let timer = Arc::new(Timer::default());
        let instance = Arc::new_cyclic(|me| Instance {
            core: Mutex::new(core),
            clock: clock.clone(),
            waiters: Mutex::default(),
            programs: Mutex::default(),
            procedures: Mutex::default(),
            faults: FaultPlan::default(),
            me: Weak::clone(me),
            runtime: Handle::current(),
            activation: CancellationToken::new(),
            timer: Arc::clone(&timer),
            _timer_task: stop.clone().drop_guard(),
        });
        tokio::spawn(run_timers(Arc::downgrade(&instance), clock, timer, stop));
        instance
    }

    /// The clock all sessions share.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Ends the activated procedures, and starts no more: they keep the instance alive while they run.
    pub fn end_activation(&self) {
        self.activation.cancel();
    }

    /// What goes wrong on purpose.
    pub(crate) fn faults(&self) -> &FaultPlan {
        &self.faults
    }

    /// Runs one engine call, then wakes the sessions whose wait it may have ended.
    pub(crate) fn call<T>(&self, operation: impl FnOnce(&mut Core) -> T) -> T {
        let (outcome, deadline) = self.call_and_wake(operation);
        self.timer.aim_at(deadline);
        outcome
    }

    /// Registers a session for wake-ups.
    pub(crate) fn register(&self, session: SessionId) -> Arc<Notify> {
        let notify = Arc::new(Notify::new());
        lock(&self.waiters).insert(session, Arc::clone(&notify));
        notify
    }

    /// Closes a session: its transaction is rolled back and its wake-ups end.
    pub(crate) fn close(&self, session: SessionId) {
        lock(&self.waiters).remove(&session);
        let now = self.clock.now();
        self.call(|core| core.close_session(session, now));
    }

    /// The batch of that text, parsed and laid out, from the cache when it was seen before.
    ///
    /// # Errors
    /// What is wrong with the text as a whole.
    pub(crate) fn program(&self, text: &str, quoted_identifier: bool) -> Result<Arc<Program>, SqlError> {
        if let Some(program) = lock(&self.programs).get(text, quoted_identifier) {
            return Ok(program);
        }
        let program = Arc::new(Program::parse(text, quoted_identifier)?);
        lock(&self.programs).insert(text, quoted_identifier, Arc::clone(&program));
        Ok(program)
    }

    /// The procedure that a CREATE or ALTER PROCEDURE text defines, from the cache when it was called before.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub(crate) fn procedure(&self, text: &str, quoted_identifier: bool) -> Result<Arc<Procedure>, SqlError> {
        if let Some(procedure) = lock(&self.procedures).get(text, quoted_identifier) {
            return Ok(procedure);
        }
        let procedure = Arc::new(Procedure::parse(text, quoted_identifier)?);
        lock(&self.procedures).insert(text, quoted_identifier, Arc::clone(&procedure));
        Ok(procedure)
    }

    /// Runs an engine call and wakes sessions; also the engine's next deadline.
    fn call_and_wake<T>(&self, operation: impl FnOnce(&mut Core) -> T) -> (T, Option<Timestamp>) {
        let (outcome, wakes, activations, deadline) = {
            let mut core = lock(&self.core);
            let outcome = operation(&mut core);
            (outcome, core.take_wakes(), core.take_activations(), core.next_deadline())
        };
        self.wake(&wakes);
        self.activate(activations);
        (outcome, deadline)
    }

    fn wake(&self, sessions: &[SessionId]) {
        if sessions.is_empty() {
            return;
        }
        let waiters = lock(&self.waiters);
        for notify in sessions.iter().filter_map(|session| waiters.get(session)) {
            notify.notify_one();
        }
    }

    /// Starts the procedures that queues call for.
    fn activate(&self, requests: Vec<ActivationRequest>) {
        for request in requests {
            if let Some(instance) = self.me.upgrade().filter(|_| !self.activation.is_cancelled()) {
                self.runtime.spawn(activation::run(instance, request, self.activation.clone()));
            }
        }
    }

    /// Lets the engine do what is due; the deadline to sleep towards next. Calls that end meanwhile compare theirs with it
    /// afterwards, so none is missed.
    fn tick(&self) -> Option<Timestamp> {
        let mut aimed = lock(&self.timer.deadline);
        let now = self.clock.now();
        let ((), deadline) = self.call_and_wake(|core| core.tick(now));
        *aimed = deadline;
        deadline
    }
}

impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Instance").finish_non_exhaustive()
    }
}

impl Timer {
    /// Tells the timer task when `deadline` comes before the one it sleeps towards.
    fn aim_at(&self, deadline: Option<Timestamp>) {
        let Some(deadline) = deadline else { return };
        let mut aimed = lock(&self.deadline);
        if aimed.is_none_or(|aimed| deadline < aimed) {
            *aimed = Some(deadline);
            self.earlier.notify_one();
        }
    }
}

async fn run_timers(instance: Weak<Instance>, clock: Clock, timer: Arc<Timer>, stop: CancellationToken) {
    loop {
        let Some(running) = instance.upgrade() else { return };
        let deadline = running.tick();
        drop(running);
        let due = async {
            match deadline {
                Some(deadline) => clock.sleep_until(deadline).await,
                None => pending().await,
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = timer.earlier.notified() => {}
            () = due => {}
        }
    }
}

/// Locks a mutex that guards state whole sections of code leave consistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no thread panics while it holds the engine or its registers")
}
