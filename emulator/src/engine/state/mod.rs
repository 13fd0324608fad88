//! Everything the instance keeps, as maps with their indexes.
//!
//! Reading is free to all of the engine and to catalog views. Every change goes through `put` functions that only
//! [`crate::engine::Tx`] and undo call, so that each change has its undo record. This module must not know locks,
//! sessions or permissions.

mod catalog;
mod endpoints;
mod entities;
mod table;
mod transmission;

use std::collections::BTreeMap;
use std::sync::Arc;

use uuid::Uuid;

pub use catalog::{Catalog, Entity};
pub use endpoints::Endpoints;
pub use entities::DatabaseEntity;
pub(super) use entities::UndoableEntity;
pub use table::{Row, TableData};
pub use transmission::Transmission;

use super::definitions::{
    BrokerPriority, Contract, Database, Endpoint, EventNotification, Grant, Group, Login, MessageType,
    Object, PermissionKey, RemoteServiceBinding, Route, Schema, Service, StoredMessage, User,
};
use super::ids::{DatabaseId, FoldedName, QueueKey, RowId, TableKey};
use super::queue_state::QueueState;
use super::undo::put_in_map;

/// The whole instance.
#[derive(Debug, Default)]
pub struct State {
    /// Databases by id.
    pub databases: BTreeMap<DatabaseId, DatabaseState>,
    database_names: BTreeMap<FoldedName, DatabaseId>,
    /// Logins.
    pub logins: Catalog<Login>,
    /// Permissions of all databases and of the server.
    pub permissions: BTreeMap<PermissionKey, Grant>,
    /// Conversation endpoints of all databases.
    pub endpoints: Endpoints,
    /// Conversation groups by id.
    pub groups: BTreeMap<Uuid, Arc<Group>>,
    /// Messages of each queue; a queue without an entry is empty.
    pub queues: BTreeMap<QueueKey, QueueState>,
    /// Messages on their way, of all databases.
    pub transmission: Transmission,
    /// Rows of each table; every table has an entry.
    pub tables: BTreeMap<TableKey, TableData>,
    catalog_version: u64,
}

/// One database and its catalogs.
#[derive(Debug)]
pub struct DatabaseState {
    /// Its row of `sys.databases`.
    pub def: Arc<Database>,
    /// Schemas.
    pub schemas: Catalog<Schema>,
    /// Tables, queues, procedures.
    pub objects: Catalog<Object>,
    /// Message types.
    pub message_types: Catalog<MessageType>,
    /// Contracts.
    pub contracts: Catalog<Contract>,
    /// Services.
    pub services: Catalog<Service>,
    /// Routes.
    pub routes: Catalog<Route>,
    /// Remote service bindings.
    pub bindings: Catalog<RemoteServiceBinding>,
    /// Broker priorities.
    pub priorities: Catalog<BrokerPriority>,
    /// Event notifications.
    pub event_notifications: Catalog<EventNotification>,
    /// Users and roles.
    pub users: Catalog<User>,
}

impl DatabaseState {
    fn new(def: Arc<Database>) -> DatabaseState {
        DatabaseState {
            def,
            schemas: Catalog::default(),
            objects: Catalog::default(),
            message_types: Catalog::default(),
            contracts: Catalog::default(),
            services: Catalog::default(),
            routes: Catalog::default(),
            bindings: Catalog::default(),
            priorities: Catalog::default(),
            event_notifications: Catalog::default(),
            users: Catalog::default(),
        }
    }
}

impl State {
    /// The database of that id.
    pub fn database(&self, id: DatabaseId) -> Option<&DatabaseState> {
        self.databases.get(&id)
    }

    /// The database of that name.
    pub fn database_by_name(&self, name: &str) -> Option<&DatabaseState> {
        self.databases.get(self.database_names.get(&FoldedName::new(name))?)
    }

    /// Counts every change of a database or catalog entry, undone ones included.
    pub fn catalog_version(&self) -> u64 {
        self.catalog_version
    }

    /// The object of that key.
    pub fn object(&self, key: QueueKey) -> Option<&Arc<Object>> {
        self.databases.get(&key.database)?.objects.get(key.object)
    }

    /// The entry of `T` with that id in a database.
    pub fn entry<T: DatabaseEntity>(&self, database: DatabaseId, id: T::Id) -> Option<&Arc<T>> {
        T::catalog(self.databases.get(&database)?).get(id)
    }

    /// Puts, replaces or removes a database; a new one starts with empty catalogs, and only an emptied one may go.
    pub(super) fn put_database(
        &mut self,
        id: DatabaseId,
        value: Option<Arc<Database>>,
    ) -> Option<Arc<Database>> {
        self.catalog_version += 1;
        let before = self.databases.get(&id).map(|database| Arc::clone(&database.def));
        if let Some(before) = &before {
            self.database_names.remove(&FoldedName::new(&before.name));
        }
        match value {
            None => drop(self.databases.remove(&id)),
            Some(def) => {
                self.database_names.insert(FoldedName::new(&def.name), id);
                let state = self.databases.entry(id).or_insert_with(|| DatabaseState::new(Arc::clone(&def)));
                state.def = def;
            }
        }
        before
    }

    /// Puts, replaces or removes a catalog entry of an existing database; gives the entry before.
    pub(super) fn put_entry<T: UndoableEntity>(
        &mut self,
        database: DatabaseId,
        id: T::Id,
        value: Option<Arc<T>>,
    ) -> Option<Arc<T>> {
        self.catalog_version += 1;
        let database = self.databases.get_mut(&database)?;
        T::catalog_mut(database).put(id, value)
    }

    /// Puts, replaces or removes a message of a queue; gives the message before.
    pub(super) fn put_message(
        &mut self,
        queue: QueueKey,
        order: i64,
        value: Option<Arc<StoredMessage>>,
    ) -> Option<Arc<StoredMessage>> {
        let endpoint = value.as_ref().and_then(|message| self.endpoints.get(message.handle));
        let group = endpoint.map_or(Uuid::nil(), |endpoint| endpoint.group);
        self.queues.entry(queue).or_default().put(order, value, group)
    }

    /// Puts, replaces or removes an endpoint; gives the endpoint before. Its messages follow it into another group.
    pub(super) fn put_endpoint(
        &mut self,
        handle: Uuid,
        value: Option<Arc<Endpoint>>,
    ) -> Option<Arc<Endpoint>> {
        let before = self.endpoints.put(handle, value.clone());
        if let (Some(before), Some(after)) = (&before, &value)
            && before.group != after.group
        {
            self.regroup(after);
        }
        before
    }

    /// Puts an endpoint back as it was, except for what arrived since: deliveries do not wait for the lock of the
    /// conversation group (spec 2.10) and are not undone with a transaction of this side.
    pub(super) fn revert_endpoint(&mut self, handle: Uuid, before: Option<Arc<Endpoint>>) {
        let merged = match (before, self.endpoints.get(handle)) {
            (Some(before), Some(current)) if before.inbound != current.inbound => {
                Some(Arc::new(Endpoint { inbound: current.inbound.clone(), ..(*before).clone() }))
            }
            (before, _) => before,
        };
        self.put_endpoint(handle, merged);
    }

    fn regroup(&mut self, endpoint: &Endpoint) {
        let service = self.entry::<Service>(endpoint.database, endpoint.service);
        let queue = service.map(|service| QueueKey::new(endpoint.database, service.queue));
        if let Some(queue) = queue.and_then(|queue| self.queues.get_mut(&queue)) {
            queue.regroup(endpoint.handle, endpoint.group);
        }
    }

    /// Puts, replaces or removes a row of an existing table; gives the row before.
    pub(super) fn put_row(
        &mut self,
        table: TableKey,
        id: RowId,
        value: Option<Arc<Row>>,
    ) -> Option<Arc<Row>> {
        self.tables.get_mut(&table)?.put(id, value)
    }

    /// Puts, replaces or removes a whole table's content; gives the content before.
    pub(super) fn put_table(
        &mut self,
        table: TableKey,
        value: Option<Box<TableData>>,
    ) -> Option<Box<TableData>> {
        put_in_map(&mut self.tables, table, value.map(|data| *data)).map(Box::new)
    }
}

#[cfg(test)]
mod tests;
