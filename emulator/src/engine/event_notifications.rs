//! Event notifications (spec 1.9, 5.5, 5.6): CREATE and DROP, and posting an event about a queue to its subscribers.
//!
//! A notification keeps one dialog to its service, begun with it and owned by the broker. Two events are made here:
//! QUEUE_ACTIVATION and BROKER_QUEUE_DISABLED. This file must not know when they happen.

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::broker_errors;
use super::core::Core;
use super::definitions::{
    Contract, Effect, Endpoint, EndpointState, EventNotification, Inbound, MessageKind, NotificationScope,
    OwnSide, PendingSend, Permission, Securable, Service,
};
use super::dialogs::instance_text;
use super::errors;
use super::ids::{DatabaseId, FoldedName, QueueKey};
use super::locks::Resource;
use super::system_messages::{QueueEvent, names, queue_event_body};
use super::tx::{Op, Tx};
use crate::error::SqlError;
use crate::value::Timestamp;

/// A reader is needed.
pub(super) const QUEUE_ACTIVATION: &str = "QUEUE_ACTIVATION";
/// The poison rule switched the queue off.
pub(super) const BROKER_QUEUE_DISABLED: &str = "BROKER_QUEUE_DISABLED";
/// msdb keeps the notifications ON SERVER.
const MSDB: DatabaseId = DatabaseId(4);
/// Lifetime of a notification's dialog in seconds: the longest possible.
const DIALOG_LIFETIME: u64 = i32::MAX as u64;

/// What a notification is created on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotifyOn {
    /// ON SERVER
    Server,
    /// ON DATABASE
    Database,
    /// ON QUEUE, a queue of the current database.
    Queue(QueueKey),
}

/// CREATE EVENT NOTIFICATION.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewNotification {
    /// Name.
    pub name: String,
    /// ON
    pub on: NotifyOn,
    /// WITH FAN_IN
    pub fan_in: bool,
    /// FOR: events, in any case.
    pub events: Vec<String>,
    /// TO SERVICE
    pub service: String,
    /// Broker instance: a guid, or `current database` in any case.
    pub broker_instance: String,
}

impl Tx<'_> {
    /// Creates an event notification and begins its dialog. Errors: 2714, 8413, 9718, 15151, 40510 for events the emulator
    /// does not raise.
    pub fn create_event_notification(&mut self, new: &NewNotification) -> Op<()> {
        self.require_writable()?;
        let events = known_events(&new.events)?;
        let (database, scope) = self.scope_of(&new.on);
        if scope_is_wide(scope) && events.iter().any(|event| **event == *QUEUE_ACTIVATION) {
            return Err(SqlError::unsupported("QUEUE_ACTIVATION on anything but a queue").into());
        }
        self.require_for_notification(&new.on, "create", &new.name)?;
        if self.find_notification(database, scope, &new.name).is_some() {
            return Err(errors::name_taken(&new.name).into());
        }
        self.check_no_activation(&new.on, &events)?;
        let broker_instance = self.notified_instance(&new.broker_instance)?;
        let dialog = self.begin_notification_dialog(database, &new.service, &broker_instance)?;
        let id = self.allocate::<EventNotification>(database);
        let notification = EventNotification {
            id,
            name: new.name.as_str().into(),
            scope,
            events,
            service: new.service.as_str().into(),
            broker_instance,
            creator: self.principal().user,
            fan_in: new.fan_in,
            created: self.now(),
            dialogs: vec![dialog],
        };
        self.put(database, id, Some(Arc::new(notification)));
        self.push_effect(Effect::CatalogChanged);
        Ok(())
    }

    /// Drops an event notification and ends its dialog. Errors: 15151.
    pub fn drop_event_notification(&mut self, name: &str, on: &NotifyOn) -> Op<()> {
        self.require_writable()?;
        let (database, scope) = self.scope_of(on);
        let found = self.find_notification(database, scope, name);
        let found = found.ok_or_else(|| errors::not_found_or_denied("drop", "event notification", name))?;
        if found.creator != self.principal().user {
            self.require_for_notification(on, "drop", name)?;
        }
        self.remove_notification(database, &found);
        Ok(())
    }

    /// Drops the notifications on a queue that is being dropped.
    pub(super) fn drop_notifications_on(&mut self, queue: QueueKey) {
        let scope = NotificationScope::Queue(queue.object);
        let all = self.database_state(queue.database).event_notifications.iter();
        let on_queue: Vec<Arc<EventNotification>> = all.filter(|it| it.scope == scope).cloned().collect();
        on_queue.iter().for_each(|notification| self.remove_notification(queue.database, notification));
    }

    fn remove_notification(&mut self, database: DatabaseId, notification: &EventNotification) {
        self.put::<EventNotification>(database, notification.id, None);
        for dialog in &notification.dialogs {
            if let Some(endpoint) = self.state().endpoints.get(*dialog).cloned() {
                self.end_quietly(&endpoint);
            }
        }
        self.push_effect(Effect::CatalogChanged);
    }

    /// Posts an event on the dialogs of a notification. A dialog that no longer converses is the end of the notification
    /// (spec 1.9).
    fn post(&mut self, database: DatabaseId, notification: &EventNotification, body: &bytes::Bytes) {
        for dialog in &notification.dialogs {
            match self.state().endpoints.get(*dialog).cloned() {
                Some(endpoint) if can_send(&endpoint) => self.post_on(&endpoint, body.clone()),
                _ => return self.remove_notification(database, notification),
            }
        }
    }

    fn post_on(&mut self, endpoint: &Endpoint, body: bytes::Bytes) {
        let sequence = endpoint.own.send_sequence;
        self.put_own_side(endpoint, OwnSide { send_sequence: sequence + 1, ..endpoint.own.clone() });
        let send = PendingSend {
            handle: endpoint.handle,
            sequence,
            kind: MessageKind::User,
            message_type: names::EVENT_NOTIFICATION.into(),
            body: Some(body),
            message_id: self.new_uuid(),
            sent: self.now(),
        };
        self.push_effect(Effect::Send(send));
    }

    fn begin_notification_dialog(&mut self, database: DatabaseId, to: &str, instance: &Arc<str>) -> Op<Uuid> {
        let service = self.state().service(database, names::EVENT_NOTIFICATION_SERVICE).cloned();
        let service: Arc<Service> = service.expect("system services cannot be dropped (9663)");
        let contract = self.state().contract(database, names::POST_EVENT_NOTIFICATION).cloned();
        let contract: Arc<Contract> = contract.expect("system contracts cannot be dropped (9663)");
        let (group, handle) = (self.new_uuid(), self.new_uuid());
        self.lock_group(group)?;
        self.put_group_of(database, group, &service, true);
        let endpoint = Endpoint {
            handle,
            conversation_id: self.new_uuid(),
            is_initiator: true,
            database,
            service: service.id,
            service_name: Arc::clone(&service.name),
            contract: contract.id,
            contract_name: Arc::clone(&contract.name),
            group,
            far_service: to.into(),
            names_instance: true,
            owner: service.owner,
            expires: self.now().plus(Duration::from_secs(DIALOG_LIFETIME)),
            is_system: true,
            encryption: false,
            priority: self.priority_of(database, &contract, &service, to),
            own: OwnSide::default(),
            inbound: Inbound { far_broker_instance: Some(Arc::clone(instance)), ..Inbound::default() },
        };
        self.put_endpoint(handle, Some(Arc::new(endpoint)));
        Ok(handle)
    }

    fn scope_of(&self, on: &NotifyOn) -> (DatabaseId, NotificationScope) {
        match on {
            NotifyOn::Server => (MSDB, NotificationScope::Server),
            NotifyOn::Database => (self.database(), NotificationScope::Database),
            NotifyOn::Queue(queue) => (queue.database, NotificationScope::Queue(queue.object)),
        }
    }

    fn find_notification(
        &self,
        database: DatabaseId,
        scope: NotificationScope,
        name: &str,
    ) -> Option<Arc<EventNotification>> {
        let key = (scope, FoldedName::new(name));
        self.state().database(database)?.event_notifications.find(&key).cloned()
    }

    fn require_for_notification(&self, on: &NotifyOn, action: &str, name: &str) -> Result<(), SqlError> {
        let (permission, securable) = match on {
            NotifyOn::Server => (Permission::CreateDdlEventNotification, Securable::Server),
            NotifyOn::Database => {
                (Permission::CreateDatabaseDdlEventNotification, Securable::Database(self.database()))
            }
            NotifyOn::Queue(queue) => (Permission::Alter, Securable::Object(queue.database, queue.object)),
        };
        self.require_for_ddl(&[permission], securable, action, "event notification", name)
    }

    /// A queue has internal activation or QUEUE_ACTIVATION notifications, not both (9718).
    fn check_no_activation(&self, on: &NotifyOn, events: &[Arc<str>]) -> Result<(), SqlError> {
        let NotifyOn::Queue(queue) = on else { return Ok(()) };
        let activated = self.state().queue_def(*queue).is_some_and(|def| def.activation.is_some());
        if activated && events.iter().any(|event| **event == *QUEUE_ACTIVATION) {
            return Err(broker_errors::activation_exists(&self.state().queue_title(*queue)));
        }
        Ok(())
    }

    fn notified_instance(&self, text: &str) -> Result<Arc<str>, SqlError> {
        if text.eq_ignore_ascii_case("current database") {
            return Ok(self.own_instance());
        }
        let guid = Uuid::try_parse(text).map_err(|_| broker_errors::malformed_broker_instance(text))?;
        Ok(instance_text(guid))
    }
}

impl Core {
    /// Posts an event about a queue to everybody who asked for it.
    pub(super) fn post_queue_event(&mut self, queue: QueueKey, event: &str, now: Timestamp) {
        if !self.withholds_event(queue, event, now) {
            self.post_event_now(queue, event, (now, now));
        }
    }

    /// Posts an event that occurred at the first of two moments and is told at the second.
    pub(super) fn post_event_now(
        &mut self,
        queue: QueueKey,
        event: &str,
        (occurred, now): (Timestamp, Timestamp),
    ) {
        let Some(body) = self.event_body(queue, event, occurred) else { return };
        let subscribers = self.subscribers(queue, event);
        if event == QUEUE_ACTIVATION {
            self.broker.counters.activation_events += subscribers.len() as u64;
        }
        for (database, notification) in subscribers {
            self.in_background(database, now, |tx| tx.post(database, &notification, &body));
        }
    }

    /// Whether a committed notification asks for the event on the queue.
    pub(super) fn has_subscriber(&self, queue: QueueKey, event: &str) -> bool {
        !self.subscribers(queue, event).is_empty()
    }

    fn subscribers(&self, queue: QueueKey, event: &str) -> Vec<(DatabaseId, Arc<EventNotification>)> {
        let own = self.notifications_of(
            queue.database,
            &[NotificationScope::Queue(queue.object), NotificationScope::Database],
        );
        let of_server = self.notifications_of(MSDB, &[NotificationScope::Server]);
        let all = own.into_iter().chain(of_server);
        all.filter(|(_, notification)| {
            notification.events.iter().any(|wanted| **wanted == *event) && self.is_settled(notification)
        })
        .collect()
    }

    fn notifications_of(
        &self,
        database: DatabaseId,
        scopes: &[NotificationScope],
    ) -> Vec<(DatabaseId, Arc<EventNotification>)> {
        let all = self.state.database(database).into_iter().flat_map(|it| it.event_notifications.iter());
        all.filter(|it| scopes.contains(&it.scope)).map(|it| (database, Arc::clone(it))).collect()
    }

    /// Whether no open transaction is still creating the notification.
    fn is_settled(&self, notification: &EventNotification) -> bool {
        notification.dialogs.iter().all(|dialog| {
            let group = self.state.endpoints.get(*dialog).map(|endpoint| endpoint.group);
            group
                .is_none_or(|group| !self.locks.is_contended(super::waiters::NOBODY, &Resource::Group(group)))
        })
    }

    fn event_body(&self, queue: QueueKey, event: &str, now: Timestamp) -> Option<bytes::Bytes> {
        let (schema, name) = self.state.queue_names(queue)?;
        let database = Arc::clone(&self.state.database(queue.database)?.def.name);
        Some(queue_event_body(&QueueEvent {
            event,
            post_time: now,
            server: &self.options.server_name,
            database: &database,
            schema: &schema,
            queue: &name,
        }))
    }
}

fn can_send(endpoint: &Endpoint) -> bool {
    matches!(endpoint.state(), EndpointState::StartedOutbound | EndpointState::Conversing)
        && !endpoint.own.removed
}

fn scope_is_wide(scope: NotificationScope) -> bool {
    !matches!(scope, NotificationScope::Queue(_))
}

/// Only the two queue events are raised; a subscription to another would wait for ever, so it is refused.
fn known_events(events: &[String]) -> Result<Vec<Arc<str>>, SqlError> {
    let known = |event: &String| {
        let event = event.to_uppercase();
        match event.as_str() {
            QUEUE_ACTIVATION | BROKER_QUEUE_DISABLED => Ok(event.as_str().into()),
            _ => Err(SqlError::unsupported(format_args!("event notifications for {event}"))),
        }
    };
    events.iter().map(known).collect()
}
