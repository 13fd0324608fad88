//! Faults that the engine itself does on request: deadlock victims, sessions killed, brokers renewed, queues switched off,
//! events lost or late. Acknowledgements held back are in `acknowledgements.rs`.
//!
//! It must not know which occasion calls for a fault.

use std::time::Duration;

use super::broker_database::BrokerOption;
use super::core::{Call, Core};
use super::databases::Termination;
use super::definitions::{Effect, ObjectKind, QueueDef};
use super::errors;
use super::ids::{DatabaseId, QueueKey, SessionId};
use super::objects::ObjectName;
use super::tx::{Op, Tx};
use crate::error::SqlError;
use crate::value::Timestamp;

/// What happens to events that event notifications ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EventFault {
    /// Nothing.
    #[default]
    None,
    /// The next so many are lost.
    Drop(u64),
    /// They come so much later.
    Delay(Duration),
}

/// Events that are held back.
#[derive(Debug, Default)]
pub(crate) struct HeldEvents {
    fault: EventFault,
    held: Vec<HeldEvent>,
}

#[derive(Debug)]
struct HeldEvent {
    due: Timestamp,
    occurred: Timestamp,
    queue: QueueKey,
    event: String,
}

impl Core {
    /// Decides what becomes of events from now on. Those held back already come when they are due.
    pub(crate) fn set_event_fault(&mut self, fault: EventFault) {
        self.broker.held_events.fault = fault;
    }

    /// Rolls the session's transaction back as that of a deadlock victim; the error it answers.
    pub(crate) fn make_victim(&mut self, call: &Call) -> SqlError {
        let session = self.session_mut(call.session);
        session.lost_trancount = session.trancount;
        let spid = session.info.spid;
        self.abandon_transaction(call);
        self.collect_wakes();
        errors::deadlock_victim(spid)
    }

    /// Ends all sessions: what they have open is rolled back.
    pub(crate) fn kill_all(&mut self, now: Timestamp) {
        let sessions: Vec<SessionId> = self.sessions().map(|(id, _)| id).collect();
        sessions.into_iter().for_each(|session| self.kill_session(session, now));
        self.collect_wakes();
    }

    /// Gives a database a new broker guid.
    ///
    /// # Errors
    /// 911
    pub(crate) fn renew_broker(&mut self, database: &str, now: Timestamp) -> Result<(), SqlError> {
        let id = self.database_of_name(database)?;
        self.background(id, now, |tx| {
            tx.alter_database_broker(database, BrokerOption::New, Termination::RollbackImmediate)
        })
    }

    /// Switches a queue on or off.
    ///
    /// # Errors
    /// 911, 15151
    pub(crate) fn set_queue_status(
        &mut self,
        database: &str,
        queue: &str,
        on: bool,
        now: Timestamp,
    ) -> Result<(), SqlError> {
        let id = self.database_of_name(database)?;
        let name = match queue.split_once('.') {
            Some((schema, name)) => ObjectName { schema: Some(schema.to_owned()), ..ObjectName::plain(name) },
            None => ObjectName { schema: Some("dbo".to_owned()), ..ObjectName::plain(queue) },
        };
        self.background(id, now, |tx| tx.force_queue_status(&name, on))
    }

    /// Whether an event is lost or held back, and not to be posted now.
    pub(super) fn withholds_event(&mut self, queue: QueueKey, event: &str, now: Timestamp) -> bool {
        let events = &mut self.broker.held_events;
        match &mut events.fault {
            EventFault::None => false,
            EventFault::Drop(left) => {
                *left -= 1;
                if *left == 0 {
                    events.fault = EventFault::None;
                }
                true
            }
            EventFault::Delay(by) => {
                let due = now.plus(*by);
                events.held.push(HeldEvent { due, occurred: now, queue, event: event.to_owned() });
                true
            }
        }
    }

    /// When the next event held back is due.
    pub(super) fn held_event_deadline(&self) -> Option<Timestamp> {
        self.broker.held_events.held.iter().map(|event| event.due).min()
    }

    /// Posts the events that were held back until now.
    pub(super) fn release_events(&mut self, now: Timestamp) {
        let (due, held): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.broker.held_events.held).into_iter().partition(|event| event.due <= now);
        self.broker.held_events.held = held;
        for event in due {
            self.post_event_now(event.queue, &event.event, (event.occurred, now));
        }
    }

    fn database_of_name(&self, name: &str) -> Result<DatabaseId, SqlError> {
        let found = self.state.database_by_name(name).map(|database| database.def.id);
        found.ok_or_else(|| errors::no_database(name))
    }
}

impl Tx<'_> {
    /// Switches a queue on or off without waiting for those who use it.
    fn force_queue_status(&mut self, name: &ObjectName, on: bool) -> Op<()> {
        let (queue, _, old) = self.own_queue(name)?;
        let def = QueueDef { receive_enabled: on, enqueue_enabled: on, ..old };
        self.change_object(queue, ObjectKind::Queue(def));
        self.push_effect(Effect::CatalogChanged);
        Ok(())
    }
}
