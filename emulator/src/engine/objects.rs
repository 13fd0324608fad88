//! Schema objects in general: names, look-up, creation, removal; and modules, whose text only the interpreter reads.
//!
//! Queues and tables have files of their own, which use these.

use std::sync::Arc;

use crate::error::SqlError;

use super::definitions::{ModuleDef, Object, ObjectKind, Permission, Securable};
use super::errors;
use super::ids::{DatabaseId, FoldedName, ObjectKey, SchemaId};
use super::locks::{LockDuration, LockMode};
use super::permission_rule;
use super::security;
use super::tx::{Op, Tx};

/// `tempdb`, where temporary objects live.
pub(super) const TEMPDB: DatabaseId = DatabaseId(2);
/// Length to which names of temporary tables are filled before the part that makes them the session's own.
const TEMPORARY_NAME_LENGTH: usize = 116;

/// Name of a schema object as written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ObjectName {
    /// Database; `None` is the current one.
    pub database: Option<String>,
    /// Schema; `None` is the user's default schema, then `dbo`.
    pub schema: Option<String>,
    /// Name. `#name` is temporary and belongs to the session, `##name` is temporary and everybody's.
    pub name: String,
}

impl ObjectName {
    /// A name without database and schema.
    pub fn plain(name: &str) -> ObjectName {
        ObjectName { name: name.to_string(), ..ObjectName::default() }
    }

    fn is_temporary(&self) -> bool {
        self.name.starts_with('#')
    }
}

impl std::fmt::Display for ObjectName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(database) = &self.database {
            write!(f, "{database}.")?;
        }
        match &self.schema {
            Some(schema) => write!(f, "{schema}.")?,
            None if self.database.is_some() => f.write_str(".")?,
            None => {}
        }
        f.write_str(&self.name)
    }
}

impl Tx<'_> {
    /// The object of that name, of whatever kind.
    ///
    /// # Errors
    /// 911 for an unknown database; 916 for one the principal may not enter.
    pub fn find_object(&self, name: &ObjectName) -> Result<Option<(ObjectKey, Arc<Object>)>, SqlError> {
        let database = self.database_of(name)?;
        let catalogs = self.database_state(database);
        let folded = FoldedName::new(&self.stored_name(name));
        let found = self
            .schemas_to_search(database, name)
            .into_iter()
            .find_map(|schema| catalogs.objects.find(&(schema, folded.clone())));
        Ok(found.map(|object| (ObjectKey::new(database, object.id), Arc::clone(object))))
    }

    /// The object of that name, of whatever kind.
    ///
    /// # Errors
    /// 208 when there is none; 911, 916.
    pub fn resolve_object(&self, name: &ObjectName) -> Result<(ObjectKey, Arc<Object>), SqlError> {
        self.find_object(name)?.ok_or_else(|| errors::invalid_object(&name.to_string()))
    }

    /// Puts a new object after checking name and rights, and locks it for the rest of the transaction.
    ///
    /// # Errors
    /// 2714 when the name is taken; 2760 for an unknown schema; 262 without `permission`; 911, 916, 3930.
    pub(super) fn create_object(
        &mut self,
        name: &ObjectName,
        permission: Permission,
        kind: ObjectKind,
    ) -> Op<ObjectKey> {
        self.require_writable()?;
        let database = self.database_of(name)?;
        let schema = self.schema_for_new(database, name)?;
        if !name.is_temporary() {
            self.require_create(database, schema, permission)?;
        }
        let stored = self.stored_name(name);
        if self.database_state(database).objects.find(&(schema, FoldedName::new(&stored))).is_some() {
            return Err(errors::name_taken(&name.name).into());
        }
        let id = self.allocate::<Object>(database);
        let key = ObjectKey::new(database, id);
        self.lock_object(key, LockMode::X, LockDuration::Transaction)?;
        let now = self.now();
        let name = stored.as_str().into();
        let object =
            Object { id, schema, name, owner: None, created: now, modified: now, is_system: false, kind };
        self.put(database, id, Some(Arc::new(object)));
        Ok(key)
    }

    /// Puts another definition of an object, with a new modify date.
    pub(super) fn change_object(&mut self, key: ObjectKey, kind: ObjectKind) {
        let Some(old) = self.state().object(key) else { return };
        let object = Object { kind, modified: self.now(), ..Object::clone(old) };
        self.put(key.database, key.object, Some(Arc::new(object)));
    }

    /// Removes an object and the permissions on it; its content is the caller's.
    pub(super) fn remove_object(&mut self, key: ObjectKey) {
        self.drop_permissions_on(Securable::Object(key.database, key.object));
        self.put::<Object>(key.database, key.object, None);
    }

    /// CREATE (OR ALTER) of a module: procedure, view, function, trigger.
    ///
    /// # Errors
    /// 2714 when the name is taken and `or_alter` is off or the other object is of another kind; 262, 2760, 3930.
    pub fn create_module(
        &mut self,
        name: &ObjectName,
        module: ModuleDef,
        permission: Permission,
        or_alter: bool,
    ) -> Op<ObjectKey> {
        if or_alter && self.find_object(name)?.is_some() {
            return self.alter_module(name, module);
        }
        self.create_object(name, permission, ObjectKind::Procedure(module))
    }

    /// ALTER of a module.
    ///
    /// # Errors
    /// 208 when there is none; 2714 when it is of another kind; 229 without ALTER on it; 3930.
    pub fn alter_module(&mut self, name: &ObjectName, module: ModuleDef) -> Op<ObjectKey> {
        self.require_writable()?;
        let (key, object) = self.resolve_object(name)?;
        match &object.kind {
            ObjectKind::Procedure(old) if old.kind == module.kind => {}
            _ => return Err(errors::name_taken(&name.name).into()),
        }
        self.require(Permission::Alter, Securable::Object(key.database, key.object))?;
        self.lock_object(key, LockMode::X, LockDuration::Transaction)?;
        self.change_object(key, ObjectKind::Procedure(module));
        Ok(key)
    }

    /// DROP of a module; `kind` is the word for messages (`procedure`). `is_kind` tells whether an object is one.
    ///
    /// # Errors
    /// 3701 when there is none of that kind or the right is missing; 3930.
    pub fn drop_module(
        &mut self,
        name: &ObjectName,
        kind: &str,
        is_kind: impl Fn(&ModuleDef) -> bool,
    ) -> Op<()> {
        self.require_writable()?;
        let key = self.droppable(
            name,
            kind,
            |object| matches!(object, ObjectKind::Procedure(module) if is_kind(module)),
        )?;
        self.lock_object(key, LockMode::X, LockDuration::Transaction)?;
        self.remove_object(key);
        Ok(())
    }

    /// An object that may be dropped: of the right kind, with CONTROL on it or ALTER on its schema.
    ///
    /// # Errors
    /// 3701; 911, 916.
    pub(super) fn droppable(
        &self,
        name: &ObjectName,
        kind: &str,
        is_kind: impl Fn(&ObjectKind) -> bool,
    ) -> Result<ObjectKey, SqlError> {
        let refused = || errors::cannot_drop(kind, &name.to_string());
        let (key, object) =
            self.find_object(name)?.filter(|(_, it)| is_kind(&it.kind)).ok_or_else(refused)?;
        let own = self.has_permission(Permission::Control, Securable::Object(key.database, key.object));
        let schema = Securable::Schema(key.database, object.schema);
        if name.is_temporary() || own || self.has_permission(Permission::Alter, schema) {
            return Ok(key);
        }
        Err(refused())
    }

    /// The database a name is about.
    ///
    /// # Errors
    /// 911 for an unknown database; 916 for one the principal may not enter.
    pub(super) fn database_of(&self, name: &ObjectName) -> Result<DatabaseId, SqlError> {
        if name.is_temporary() {
            return Ok(TEMPDB);
        }
        let Some(wanted) = name.database.as_deref().filter(|wanted| !wanted.is_empty()) else {
            return Ok(self.database());
        };
        let database =
            self.state().database_by_name(wanted).ok_or_else(|| errors::no_database(wanted))?.def.id;
        let open = permission_rule::has_permission(
            self.state(),
            self.principal(),
            Permission::Connect,
            Securable::Database(database),
        );
        if open { Ok(database) } else { Err(errors::no_database_access(&self.login_name(), wanted)) }
    }

    /// The schema a new object goes into.
    ///
    /// # Errors
    /// 2760
    pub(super) fn schema_for_new(
        &self,
        database: DatabaseId,
        name: &ObjectName,
    ) -> Result<SchemaId, SqlError> {
        let default = self.default_schema(database);
        let wanted = name.schema.as_deref().filter(|wanted| !wanted.is_empty()).unwrap_or(&default);
        let schema = self.database_state(database).schemas.find(&FoldedName::new(wanted));
        schema.map(|schema| schema.id).ok_or_else(|| errors::no_schema(wanted))
    }

    /// Fails unless the principal may create objects of a kind in a schema.
    ///
    /// # Errors
    /// 262 without the database permission; 2760 without ALTER on the schema.
    pub(super) fn require_create(
        &self,
        database: DatabaseId,
        schema: SchemaId,
        permission: Permission,
    ) -> Result<(), SqlError> {
        self.require(permission, Securable::Database(database))?;
        if self.has_permission(Permission::Alter, Securable::Schema(database, schema)) {
            return Ok(());
        }
        let name = self.database_state(database).schemas.get(schema).map(|schema| Arc::clone(&schema.name));
        Err(errors::no_schema(name.as_deref().unwrap_or_default()))
    }

    /// Name of the login the principal acts with, for messages.
    pub(super) fn login_name(&self) -> String {
        let login = self.principal().login.and_then(|login| self.state().logins.get(login));
        login.map_or_else(String::new, |login| login.name.to_string())
    }

    /// Name of the default schema of the principal in a database.
    fn default_schema(&self, database: DatabaseId) -> Arc<str> {
        let principal = self.principal();
        let user = if principal.database == database {
            Some(principal.user)
        } else {
            principal.login.and_then(|login| security::user_of_login(self.state(), database, login))
        };
        let user = user.and_then(|user| self.database_state(database).users.get(user));
        user.map_or_else(|| "dbo".into(), |user| Arc::clone(&user.default_schema))
    }

    fn schemas_to_search(&self, database: DatabaseId, name: &ObjectName) -> Vec<SchemaId> {
        let default = self.default_schema(database);
        let names = match name.schema.as_deref().filter(|schema| !schema.is_empty()) {
            Some(schema) => vec![schema],
            None => vec![&*default, "dbo"],
        };
        let schemas = &self.database_state(database).schemas;
        names.into_iter().filter_map(|name| Some(schemas.find(&FoldedName::new(name))?.id)).collect()
    }

    /// The name under which an object is kept: that of a session's temporary object tells whose it is.
    fn stored_name(&self, name: &ObjectName) -> String {
        if !name.is_temporary() || name.name.starts_with("##") {
            return name.name.clone();
        }
        temporary_name(&name.name, self.call().session.0)
    }
}

/// Whether a stored name is that of a temporary object of the session.
pub(super) fn is_temporary_of(stored: &str, session: u64) -> bool {
    stored.starts_with('#') && !stored.starts_with("##") && stored.ends_with(&format!("{session:012X}"))
}

fn temporary_name(name: &str, session: u64) -> String {
    format!("{name:_<TEMPORARY_NAME_LENGTH$}{session:012X}")
}

#[cfg(test)]
#[path = "objects_tests.rs"]
mod tests;
