//! CREATE, ALTER and DROP DATABASE, apart from what is about the broker.
//!
//! It must not know what the broker keeps in a database beyond that it has to go with it.

use std::collections::BTreeMap;
use std::sync::Arc;

use uuid::Uuid;

use crate::error::SqlError;

use super::core::WaitOn;
use super::definitions::{
    BrokerPriority, Contract, Database, EventNotification, Login, MessageType, Object, Permission,
    RemoteServiceBinding, Route, Schema, Securable, Service, User, UserAccess, UserKind,
};
use super::errors;
use super::ids::{DatabaseId, FoldedName, ObjectKey, QueueKey};
use super::locks::{LockDuration, LockMode, Resource};
use super::state::{Entity, UndoableEntity};
use super::system_objects;
use super::tx::{Op, Tx};

/// First id of user databases; the system databases come before.
const FIRST_USER_DATABASE: i32 = 5;

/// What happens to other sessions in a database that a statement needs for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Termination {
    /// The statement waits until they have left.
    #[default]
    Wait,
    /// `WITH NO_WAIT`: it fails with 5070.
    NoWait,
    /// `WITH ROLLBACK IMMEDIATE`: they are rolled back and disconnected.
    RollbackImmediate,
}

/// An option that ALTER DATABASE ... SET changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DatabaseOption {
    /// `SINGLE_USER`, `MULTI_USER`, `RESTRICTED_USER`
    Access(UserAccess),
    /// `TRUSTWORTHY`
    Trustworthy(bool),
    /// Any other option with a value; it is stored and shown, nothing more.
    Stored(String, String),
}

impl Tx<'_> {
    /// CREATE DATABASE: with a new broker guid, the broker enabled (spec 1.10), owned by the acting login.
    ///
    /// # Errors
    /// 226 inside a transaction; 1801 when the name is taken; 262 without the right to create databases.
    pub fn create_database(&mut self, name: &str) -> Op<DatabaseId> {
        self.require_no_transaction("CREATE DATABASE")?;
        self.require_database_creation()?;
        if self.state().database_by_name(name).is_some() {
            return Err(errors::database_exists(name).into());
        }
        let taken = &self.state().databases;
        let id = (FIRST_USER_DATABASE..).map(DatabaseId).find(|id| !taken.contains_key(id));
        let id = id.expect("database ids outlast memory");
        self.lock(Resource::Database(id), LockMode::X, LockDuration::Transaction)?;
        let owner = self.principal().login.unwrap_or(Login::SA);
        let database = Database {
            id,
            name: name.into(),
            broker_guid: self.new_uuid(),
            broker_enabled: true,
            honor_priority: false,
            trustworthy: false,
            user_access: UserAccess::Multi,
            owner,
            created: self.now(),
            options: BTreeMap::new(),
        };
        system_objects::create_database(self, database);
        Ok(id)
    }

    /// DROP DATABASE with everything in it.
    ///
    /// # Errors
    /// 226 inside a transaction; 3701 when there is none or CONTROL on it is missing; 3708 for a system database; 3702
    /// when a session is in it.
    pub fn drop_database(&mut self, name: &str) -> Op<()> {
        self.require_no_transaction("DROP DATABASE")?;
        let refused = || errors::cannot_drop("database", name);
        let database = Arc::clone(&self.state().database_by_name(name).ok_or_else(refused)?.def);
        if database.id.0 < FIRST_USER_DATABASE {
            return Err(errors::cannot_drop_system("database", name).into());
        }
        if !self.may_alter(&database, Permission::Control) {
            return Err(refused().into());
        }
        let here = self.session().is_some_and(|session| session.info.database == database.id);
        if here || !self.core.others_in(database.id, self.call().session).is_empty() {
            return Err(errors::database_in_use(name).into());
        }
        self.lock(Resource::Database(database.id), LockMode::X, LockDuration::Transaction)?;
        self.empty_database(database.id);
        self.put_database(database.id, None);
        Ok(())
    }

    /// ALTER DATABASE ... MODIFY NAME.
    ///
    /// # Errors
    /// 226 inside a transaction; 5011 when there is none or the right is missing; 1801 when the new name is taken; 5058 for system databases.
    pub fn rename_database(&mut self, name: &str, new_name: &str) -> Op<()> {
        self.require_no_transaction("ALTER DATABASE")?;
        let database = self.alterable_database(name)?;
        if database.id.0 < FIRST_USER_DATABASE {
            return Err(errors::option_not_for_database("MODIFY NAME", name).into());
        }
        let other = self.state().database_by_name(new_name);
        if other.is_some_and(|other| other.def.id != database.id) {
            return Err(errors::database_exists(new_name).into());
        }
        self.claim_database(database.id, Termination::Wait)?;
        let renamed = Database { name: new_name.into(), ..Database::clone(&database) };
        self.put_database(database.id, Some(Arc::new(renamed)));
        Ok(())
    }

    /// ALTER DATABASE ... SET of one option that is not the broker's.
    ///
    /// # Errors
    /// 226 inside a transaction; 5011 when there is none or the right is missing; 5058 for access options of master and tempdb; 5070 with NO_WAIT
    /// while others are in it. SINGLE_USER and RESTRICTED_USER block until others have left.
    pub fn alter_database(
        &mut self,
        name: &str,
        option: &DatabaseOption,
        termination: Termination,
    ) -> Op<()> {
        self.require_no_transaction("ALTER DATABASE")?;
        let database = self.alterable_database(name)?;
        let mut changed = Database::clone(&database);
        match option {
            DatabaseOption::Access(access) => {
                self.claim_for_access(&database, *access, termination)?;
                changed.user_access = *access;
            }
            DatabaseOption::Trustworthy(on) => changed.trustworthy = *on,
            DatabaseOption::Stored(option, value) => {
                changed.options.insert(option.to_ascii_uppercase().into(), value.as_str().into());
            }
        }
        self.put_database(database.id, Some(Arc::new(changed)));
        Ok(())
    }

    /// ALTER AUTHORIZATION ON DATABASE.
    ///
    /// # Errors
    /// 5011 when there is no such database or the right is missing; 15151 for an unknown login; 15063 when the
    /// login has a user there.
    pub fn set_database_owner(&mut self, name: &str, login: &str) -> Op<()> {
        let database = self.alterable_database(name)?;
        let missing = || errors::not_found_or_denied("find", "principal", login);
        let owner = self.state().logins.find(&FoldedName::new(login)).ok_or_else(missing)?.id;
        let users = &self.database_state(database.id).users;
        if users.iter().any(|user| user.kind == UserKind::Login(owner)) {
            return Err(errors::login_has_user(login).into());
        }
        self.put_database(database.id, Some(Arc::new(Database { owner, ..Database::clone(&database) })));
        Ok(())
    }

    /// A database the acting principal may alter.
    ///
    /// # Errors
    /// 5011; 3930
    pub(super) fn alterable_database(&self, name: &str) -> Result<Arc<Database>, SqlError> {
        self.require_writable()?;
        let database = self.state().database_by_name(name).map(|database| Arc::clone(&database.def));
        let allowed = database.filter(|database| self.may_alter(database, Permission::Alter));
        allowed.ok_or_else(|| errors::cannot_alter_database(name))
    }

    /// Makes sure that no other session is in the database.
    ///
    /// # Errors
    /// 5070 with `NoWait`; blocks with `Wait`.
    pub(super) fn claim_database(&mut self, database: DatabaseId, termination: Termination) -> Op<()> {
        let others = self.core.others_in(database, self.call().session);
        if others.is_empty() {
            return self.lock(Resource::Database(database), LockMode::X, LockDuration::Transaction);
        }
        match termination {
            Termination::NoWait => {
                let name = Arc::clone(&self.database_state(database).def.name);
                Err(errors::others_in_database(&name).into())
            }
            Termination::Wait => Err(self.wait_for(WaitOn::DatabaseInUse(database))?),
            Termination::RollbackImmediate => {
                let now = self.now();
                others.into_iter().for_each(|session| self.core.kill_session(session, now));
                self.lock(Resource::Database(database), LockMode::X, LockDuration::Transaction)
            }
        }
    }

    fn claim_for_access(
        &mut self,
        database: &Database,
        access: UserAccess,
        termination: Termination,
    ) -> Op<()> {
        if database.id.0 <= 2 && access != UserAccess::Multi {
            return Err(errors::option_not_for_database("user access", &database.name).into());
        }
        if access == database.user_access { Ok(()) } else { self.claim_database(database.id, termination) }
    }

    pub(super) fn require_no_transaction(&self, statement: &str) -> Result<(), SqlError> {
        if self.transaction.explicit { Err(errors::not_in_transaction(statement)) } else { Ok(()) }
    }

    fn require_database_creation(&self) -> Result<(), SqlError> {
        let master = Securable::Database(DatabaseId(1));
        let allowed = self.has_permission(Permission::CreateAnyDatabase, Securable::Server)
            || self.has_permission(Permission::AlterAnyDatabase, Securable::Server)
            || self.has_permission(Permission::CreateDatabase, master);
        if allowed { Ok(()) } else { Err(errors::database_permission_denied("CREATE DATABASE", "master")) }
    }

    fn may_alter(&self, database: &Database, permission: Permission) -> bool {
        self.has_permission(permission, Securable::Database(database.id))
            || self.has_permission(Permission::AlterAnyDatabase, Securable::Server)
    }

    /// Removes all that a database contains.
    fn empty_database(&mut self, database: DatabaseId) {
        self.remove_conversations(database);
        let tables: Vec<ObjectKey> =
            self.state().tables.keys().filter(|it| it.database == database).copied().collect();
        tables.into_iter().for_each(|table| self.put_table(table, None));
        self.drop_permissions_where(|key| key.securable.database() == Some(database));
        self.remove_all::<EventNotification>(database);
        self.remove_all::<BrokerPriority>(database);
        self.remove_all::<RemoteServiceBinding>(database);
        self.remove_all::<Route>(database);
        self.remove_all::<Service>(database);
        self.remove_all::<Contract>(database);
        self.remove_all::<MessageType>(database);
        self.remove_all::<Object>(database);
        self.remove_all::<Schema>(database);
        self.remove_all::<User>(database);
    }

    /// Removes messages, endpoints and groups of a database without a word to their peers; they learn of it when they
    /// send (-8462).
    fn remove_conversations(&mut self, database: DatabaseId) {
        let queues = self.state().queues.iter().filter(|(queue, _)| queue.database == database);
        let messages: Vec<(QueueKey, i64)> = queues
            .flat_map(|(queue, messages)| messages.messages().map(|message| (*queue, message.queuing_order)))
            .collect();
        messages.into_iter().for_each(|(queue, order)| self.put_message(queue, order, None));
        let waiting = self.state().transmission.iter().filter(|row| row.database == database);
        let waiting: Vec<i64> = waiting.map(|row| row.order).collect();
        waiting.into_iter().for_each(|order| self.put_transmission(order, None));
        let endpoints: Vec<Uuid> = self.state().endpoints.of_database(database).map(|it| it.handle).collect();
        endpoints.into_iter().for_each(|handle| self.put_endpoint(handle, None));
        let groups = self.state().groups.values().filter(|group| group.database == database);
        let groups: Vec<Uuid> = groups.map(|group| group.id).collect();
        groups.into_iter().for_each(|group| self.put_group(group, None));
    }

    fn remove_all<T: UndoableEntity>(&mut self, database: DatabaseId) {
        let catalog = T::catalog(self.database_state(database));
        let ids: Vec<T::Id> = catalog.iter().map(|entry| Entity::id(&**entry)).collect();
        ids.into_iter().for_each(|id| self.put::<T>(database, id, None));
    }
}

#[cfg(test)]
#[path = "databases_tests.rs"]
mod tests;
