//! The undo log: what each change of a transaction replaced.
//!
//! A record names a map entry and holds its value before, so undoing is putting back in reverse order, and the keys of
//! a committed log tell a store what to write. There are no closures. This file must not know locks or sessions.

use std::sync::Arc;

use uuid::Uuid;

use super::definitions::{
    BrokerPriority, Contract, Database, Effect, Endpoint, EventNotification, Grant, Group, Login,
    MessageType, Object, PermissionKey, RemoteServiceBinding, Route, Schema, Service, StoredMessage,
    TransmissionRow, User,
};
use super::ids::{
    BindingId, ContractId, DatabaseId, LoginId, MessageTypeId, ObjectId, PrincipalId, PriorityId, QueueKey,
    RouteId, RowId, SchemaId, ServiceId, TableKey,
};
use super::state::{Row, State, TableData};

/// One record: the entry that was changed and its value before (`None`: there was no entry).
#[derive(Debug)]
pub(super) enum Undo {
    /// A database's own row.
    Database(DatabaseId, Option<Arc<Database>>),
    /// A schema.
    Schema(DatabaseId, SchemaId, Option<Arc<Schema>>),
    /// A table, queue or procedure.
    Object(DatabaseId, ObjectId, Option<Arc<Object>>),
    /// A message type.
    MessageType(DatabaseId, MessageTypeId, Option<Arc<MessageType>>),
    /// A contract.
    Contract(DatabaseId, ContractId, Option<Arc<Contract>>),
    /// A service.
    Service(DatabaseId, ServiceId, Option<Arc<Service>>),
    /// A route.
    Route(DatabaseId, RouteId, Option<Arc<Route>>),
    /// A remote service binding.
    Binding(DatabaseId, BindingId, Option<Arc<RemoteServiceBinding>>),
    /// A broker priority.
    Priority(DatabaseId, PriorityId, Option<Arc<BrokerPriority>>),
    /// An event notification.
    EventNotification(DatabaseId, ObjectId, Option<Arc<EventNotification>>),
    /// A user or role.
    User(DatabaseId, PrincipalId, Option<Arc<User>>),
    /// A login.
    Login(LoginId, Option<Arc<Login>>),
    /// A permission.
    Permission(PermissionKey, Option<Grant>),
    /// A conversation endpoint.
    Endpoint(Uuid, Option<Arc<Endpoint>>),
    /// A conversation group.
    Group(Uuid, Option<Arc<Group>>),
    /// A message of a queue, by its queuing order.
    Message(QueueKey, i64, Option<Arc<StoredMessage>>),
    /// A row of the transmission queue, by its order.
    Transmission(i64, Option<Arc<TransmissionRow>>),
    /// A row of a table.
    Row(TableKey, RowId, Option<Arc<Row>>),
    /// The whole content of a table (CREATE, DROP, TRUNCATE, change of shape).
    Table(TableKey, Option<Box<TableData>>),
}

impl Undo {
    /// Puts the entry back as it was.
    pub(super) fn revert(self, state: &mut State) {
        match self {
            Undo::Database(id, before) => drop(state.put_database(id, before)),
            Undo::Schema(database, id, before) => drop(state.put_entry(database, id, before)),
            Undo::Object(database, id, before) => drop(state.put_entry(database, id, before)),
            Undo::MessageType(database, id, before) => drop(state.put_entry(database, id, before)),
            Undo::Contract(database, id, before) => drop(state.put_entry(database, id, before)),
            Undo::Service(database, id, before) => drop(state.put_entry(database, id, before)),
            Undo::Route(database, id, before) => drop(state.put_entry(database, id, before)),
            Undo::Binding(database, id, before) => drop(state.put_entry(database, id, before)),
            Undo::Priority(database, id, before) => drop(state.put_entry(database, id, before)),
            Undo::EventNotification(database, id, before) => drop(state.put_entry(database, id, before)),
            Undo::User(database, id, before) => drop(state.put_entry(database, id, before)),
            Undo::Login(id, before) => drop(state.logins.put(id, before)),
            Undo::Permission(key, before) => drop(put_in_map(&mut state.permissions, key, before)),
            Undo::Endpoint(handle, before) => state.revert_endpoint(handle, before),
            Undo::Group(id, before) => drop(put_in_map(&mut state.groups, id, before)),
            Undo::Message(queue, order, before) => drop(state.put_message(queue, order, before)),
            Undo::Transmission(order, before) => drop(state.transmission.put(order, before)),
            Undo::Row(table, id, before) => drop(state.put_row(table, id, before)),
            Undo::Table(table, before) => drop(state.put_table(table, before)),
        }
    }
}

/// A place in a transaction's log to which it can be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Mark {
    undo: usize,
    effects: usize,
}

/// What a transaction has done so far: its undo records, and what it does to others when it commits.
#[derive(Debug, Default)]
pub(super) struct Log {
    undo: Vec<Undo>,
    effects: Vec<Effect>,
}

impl Log {
    /// The current end of the log.
    pub(super) fn mark(&self) -> Mark {
        Mark { undo: self.undo.len(), effects: self.effects.len() }
    }

    /// How much rolling back would undo, by which deadlock victims are chosen.
    pub(super) fn cost(&self) -> usize {
        self.undo.len() + self.effects.len()
    }

    /// Adds a record.
    pub(super) fn push(&mut self, record: Undo) {
        self.undo.push(record);
    }

    /// Adds something to do at commit.
    pub(super) fn push_effect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// All records, oldest first.
    pub(super) fn records(&self) -> &[Undo] {
        &self.undo
    }

    /// Takes what is to be done at commit.
    pub(super) fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// Puts back everything changed since `mark`, latest first, and forgets the effects added since.
    pub(super) fn undo_to(&mut self, mark: Mark, state: &mut State) {
        for record in self.undo.drain(mark.undo..).rev() {
            record.revert(state);
        }
        self.effects.truncate(mark.effects);
    }
}

/// Puts or removes an entry of a plain map; gives the entry before.
pub(super) fn put_in_map<K: Ord, V>(
    map: &mut std::collections::BTreeMap<K, V>,
    key: K,
    value: Option<V>,
) -> Option<V> {
    match value {
        Some(value) => map.insert(key, value),
        None => map.remove(&key),
    }
}
