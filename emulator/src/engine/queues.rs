//! CREATE, ALTER and DROP QUEUE, and reading a queue as a table (spec 1.4, 8).
//!
//! It must not know how messages get in or out.

use std::sync::Arc;

use super::broker_errors;
use super::core::Op;
use super::definitions::{
    Activation, ActivationUser, Effect, MessageStatus, ModuleKind, Object, ObjectKind, Permission, QueueDef,
    QueuedMessage, Securable, Service, StoredMessage,
};
use super::errors;
use super::event_notifications::QUEUE_ACTIVATION;
use super::ids::QueueKey;
use super::locks::{LockDuration, LockMode, Resource};
use super::objects::ObjectName;
use super::rows::ReadHint;
use super::tx::Tx;
use crate::error::SqlError;

/// Most readers of a queue.
const MOST_READERS: i64 = 32_767;

/// EXECUTE AS of an ACTIVATION clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExecuteAs {
    /// SELF: who runs the statement.
    Caller,
    /// A named user; IMPERSONATE on it is needed.
    User(String),
    /// OWNER: the queue's owner.
    Owner,
}

/// An ACTIVATION clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActivationClause {
    /// ACTIVATION (DROP)
    Drop,
    /// What is set; `None` stays as it is.
    Set {
        /// STATUS
        status: Option<bool>,
        /// PROCEDURE_NAME
        procedure: Option<ObjectName>,
        /// MAX_QUEUE_READERS
        max_readers: Option<i64>,
        /// EXECUTE AS
        execute_as: Option<ExecuteAs>,
    },
}

/// Options of CREATE and ALTER QUEUE; `None` stays as it is, or takes the default.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QueueOptions {
    /// STATUS
    pub status: Option<bool>,
    /// RETENTION
    pub retention: Option<bool>,
    /// POISON_MESSAGE_HANDLING (STATUS)
    pub poison_handling: Option<bool>,
    /// ACTIVATION
    pub activation: Option<ActivationClause>,
}

impl Tx<'_> {
    /// CREATE QUEUE. Returns the notice 9648 when activation has no readers (U-05). Errors: 262, 2714, 2760, 8402, 9613,
    /// 9614, 9620, 9653, 9742 (U-52), 911, 916.
    pub fn create_queue(&mut self, name: &ObjectName, options: &QueueOptions) -> Op<Option<SqlError>> {
        self.require_writable()?;
        if name.name.starts_with('#') {
            return Err(broker_errors::clause_value("the queue name", "a queue cannot be temporary").into());
        }
        let def = self.changed_def(QueueDef::default(), options)?;
        let notice = readers_notice(&name.name, &def);
        self.create_object(name, Permission::CreateQueue, ObjectKind::Queue(def))?;
        self.push_effect(Effect::CatalogChanged);
        Ok(notice)
    }

    /// ALTER QUEUE. Returns the notice 9648. Errors: 9663, 9717, 15151, and those of activation as for CREATE. Waits until
    /// nobody has an open transaction that received from the queue.
    pub fn alter_queue(&mut self, name: &ObjectName, options: &QueueOptions) -> Op<Option<SqlError>> {
        self.require_writable()?;
        let (queue, object, old) = self.own_queue(name)?;
        self.lock_object(queue, LockMode::X, LockDuration::Transaction)?;
        if is_system(&object) && options.activation.is_some() {
            return Err(broker_errors::system_object("queue", &object.name).into());
        }
        let def = self.changed_def(old, options)?;
        if def.activation.is_some() && self.is_notified(queue) {
            return Err(broker_errors::notification_exists(&self.state().queue_title(queue)).into());
        }
        let notice = readers_notice(&object.name, &def);
        self.change_object(queue, ObjectKind::Queue(def));
        self.push_effect(Effect::CatalogChanged);
        Ok(notice)
    }

    /// ALTER QUEUE ... REBUILD, REORGANIZE or MOVE TO: there is nothing to do for the emulator's storage, but the queue has
    /// to exist. Errors: 15151.
    pub fn maintain_queue(&mut self, name: &ObjectName) -> Op<()> {
        self.own_queue(name).map(|_| ())
    }

    /// DROP QUEUE with its event notifications. Errors: 3716 while a service uses it, 9663, 15151.
    pub fn drop_queue(&mut self, name: &ObjectName) -> Op<()> {
        self.require_writable()?;
        let refused = |_| errors::not_found_or_denied("drop", "queue", &name.to_string());
        let queue =
            self.droppable(name, "queue", |kind| matches!(kind, ObjectKind::Queue(_))).map_err(refused)?;
        let object = self.state().object(queue).cloned();
        if object.is_some_and(|object| is_system(&object)) {
            return Err(broker_errors::system_object("queue", &name.name).into());
        }
        self.lock_object(queue, LockMode::X, LockDuration::Transaction)?;
        let uses = |service: &Arc<Service>| service.queue == queue.object;
        if self.database_state(queue.database).services.iter().any(uses) {
            return Err(errors::bound_to_others("queue", &name.to_string()).into());
        }
        self.drop_notifications_on(queue);
        self.remove_object(queue);
        self.push_effect(Effect::CatalogChanged);
        Ok(())
    }

    /// The queue of that name. Errors: 208, 911, 916.
    pub fn resolve_queue(&self, name: &ObjectName) -> Op<QueueKey> {
        match self.find_object(name)? {
            Some((queue, object)) if matches!(object.kind, ObjectKind::Queue(_)) => Ok(queue),
            _ => Err(errors::invalid_object(&name.to_string()).into()),
        }
    }

    /// The rows of a queue for SELECT, oldest first, whatever their status. Errors: 229 (U-11: SELECT, which the manual's
    /// page on GRANT lists for queues, RECEIVE or CONTROL on the queue). Waits for transactions that have received rows, as
    /// the hint says.
    pub fn queue_rows(&mut self, queue: QueueKey, hint: ReadHint) -> Op<Vec<QueuedMessage>> {
        let securable = Securable::Object(queue.database, queue.object);
        if !self.has_permission(Permission::Receive, securable) {
            self.require(Permission::Select, securable)?;
        }
        if hint != ReadHint::NoLock {
            self.lock_object(queue, LockMode::IS, LockDuration::Statement)?;
        }
        let state = self.state().queues.get(&queue);
        let messages: Vec<Arc<StoredMessage>> =
            state.map(|state| state.messages().cloned().collect()).unwrap_or_default();
        let mut rows = Vec::with_capacity(messages.len());
        for message in messages {
            if self.is_readable(&message, hint)? {
                rows.extend(self.state().queue_row(&message));
            }
        }
        Ok(rows)
    }

    /// Whether SELECT shows a row: not one that this transaction has received, unless it is retained.
    fn is_readable(&mut self, message: &StoredMessage, hint: ReadHint) -> Op<bool> {
        let Some(taker) = message.taken_by else { return Ok(true) };
        if taker == self.transaction() {
            return Ok(message.status == MessageStatus::Received);
        }
        match hint {
            ReadHint::NoLock => Ok(true),
            ReadHint::ReadPast => Ok(false),
            ReadHint::Wait => {
                let group = self.state().endpoints.get(message.handle).map(|endpoint| endpoint.group);
                let group = group.expect("an endpoint outlives its messages");
                self.lock(Resource::Group(group), LockMode::S, LockDuration::Statement)?;
                Ok(true)
            }
        }
    }

    pub(super) fn own_queue(&self, name: &ObjectName) -> Op<(QueueKey, Arc<Object>, QueueDef)> {
        let refused = || errors::not_found_or_denied("alter", "queue", &name.to_string());
        let (queue, _) = self.find_object(name)?.ok_or_else(refused)?;
        let (object, def) = self.queue_object(queue).ok_or_else(refused)?;
        let securable = Securable::Object(queue.database, queue.object);
        self.require_for_ddl(&[Permission::Alter], securable, "alter", "queue", &name.to_string())?;
        Ok((queue, object, def))
    }

    fn changed_def(&self, old: QueueDef, options: &QueueOptions) -> Op<QueueDef> {
        let activation = match &options.activation {
            None => old.activation.clone(),
            Some(ActivationClause::Drop) => None,
            Some(clause) => Some(self.changed_activation(old.activation.as_ref(), clause)?),
        };
        Ok(QueueDef {
            receive_enabled: options.status.unwrap_or(old.receive_enabled),
            enqueue_enabled: options.status.unwrap_or(old.enqueue_enabled),
            retention: options.retention.unwrap_or(old.retention),
            poison_handling: options.poison_handling.unwrap_or(old.poison_handling),
            activation,
        })
    }

    fn changed_activation(&self, old: Option<&Activation>, clause: &ActivationClause) -> Op<Activation> {
        let ActivationClause::Set { status, procedure, max_readers, execute_as } = clause else {
            return Err(broker_errors::activation_procedure_invalid("").into());
        };
        let (database, schema, procedure) = match (procedure, old) {
            (Some(procedure), _) => self.activation_procedure(procedure)?,
            (None, Some(old)) => (old.database.clone(), Arc::clone(&old.schema), Arc::clone(&old.procedure)),
            (None, None) => return Err(broker_errors::activation_procedure_invalid("").into()),
        };
        let max_readers = max_readers.unwrap_or_else(|| old.map_or(0, |old| i64::from(old.max_readers)));
        let max_readers =
            u16::try_from(max_readers).ok().filter(|readers| i64::from(*readers) <= MOST_READERS);
        let max_readers = max_readers
            .ok_or_else(|| broker_errors::clause_value("MAX_QUEUE_READERS", "it must be from 0 to 32767"))?;
        let execute_as = match (execute_as, old) {
            (Some(user), _) => self.activation_user(user)?,
            (None, Some(old)) => old.execute_as,
            (None, None) => return Err(broker_errors::activation_user_missing().into()),
        };
        let enabled = status.unwrap_or_else(|| old.is_none_or(|old| old.enabled));
        Ok(Activation { enabled, database, schema, procedure, max_readers, execute_as })
    }

    /// U-52: the procedure has to exist when the queue names it, and must have no parameters.
    fn activation_procedure(&self, name: &ObjectName) -> Op<ProcedureName> {
        let title = name.to_string();
        if name.name.starts_with('#') {
            return Err(broker_errors::activation_procedure_temporary(&title).into());
        }
        let (key, object) =
            self.find_object(name)?.ok_or_else(|| broker_errors::activation_procedure_invalid(&title))?;
        let ObjectKind::Procedure(module) = &object.kind else {
            return Err(broker_errors::activation_procedure_invalid(&title).into());
        };
        match module.kind {
            ModuleKind::Procedure if module.parameters == 0 => {}
            ModuleKind::Procedure => {
                return Err(broker_errors::activation_procedure_has_parameters(&title).into());
            }
            ModuleKind::ScalarFunction | ModuleKind::TableFunction => {
                return Err(broker_errors::activation_function(&title).into());
            }
            ModuleKind::View | ModuleKind::Trigger => {
                return Err(broker_errors::activation_procedure_invalid(&title).into());
            }
        }
        let home = self.database_state(key.database);
        let schema =
            home.schemas.get(object.schema).map(|schema| Arc::clone(&schema.name)).unwrap_or_default();
        let elsewhere = (key.database != self.database()).then(|| Arc::clone(&home.def.name));
        Ok((elsewhere, schema, Arc::clone(&object.name)))
    }

    fn activation_user(&self, user: &ExecuteAs) -> Op<ActivationUser> {
        match user {
            ExecuteAs::Owner => Ok(ActivationUser::Owner),
            ExecuteAs::Caller => Ok(ActivationUser::User(self.principal().user)),
            ExecuteAs::User(name) => {
                let user = self.resolve_principal(name)?;
                let securable = Securable::User(self.database(), user);
                if user != self.principal().user && !self.has_permission(Permission::Impersonate, securable) {
                    return Err(errors::not_found_or_denied("execute as", "user", name).into());
                }
                Ok(ActivationUser::User(user))
            }
        }
    }

    fn is_notified(&self, queue: QueueKey) -> bool {
        let scope = super::definitions::NotificationScope::Queue(queue.object);
        let mut all = self.database_state(queue.database).event_notifications.iter();
        all.any(|it| it.scope == scope && it.events.iter().any(|event| **event == *QUEUE_ACTIVATION))
    }
}

/// Database (if another one), schema and name of an activation procedure.
type ProcedureName = (Option<Arc<str>>, Arc<str>, Arc<str>);

fn is_system(object: &Object) -> bool {
    object.is_system
}

fn readers_notice(queue: &str, def: &QueueDef) -> Option<SqlError> {
    let activation = def.activation.as_ref()?;
    (activation.enabled && activation.max_readers == 0).then(|| broker_errors::no_queue_readers(queue))
}
