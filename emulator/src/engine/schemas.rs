//! CREATE and DROP SCHEMA, and ownership of schemas.

use std::sync::Arc;

use super::definitions::{Permission, Schema, Securable};
use super::errors;
use super::ids::FoldedName;
use super::tx::{Op, Tx};

impl Tx<'_> {
    /// CREATE SCHEMA in the current database, owned by its creator unless `authorization` names somebody.
    ///
    /// # Errors
    /// 2714 when the name is taken; 15151 for an unknown owner; 262 without CREATE SCHEMA; 3930.
    pub fn create_schema(&mut self, name: &str, authorization: Option<&str>) -> Op<()> {
        self.require_writable()?;
        let database = self.database();
        self.require(Permission::CreateSchema, Securable::Database(database))?;
        if self.database_state(database).schemas.find(&FoldedName::new(name)).is_some() {
            return Err(errors::name_taken(name).into());
        }
        let owner = self.new_owner(authorization)?;
        let id = self.allocate::<Schema>(database);
        self.put(database, id, Some(Arc::new(Schema { id, name: name.into(), owner })));
        Ok(())
    }

    /// DROP SCHEMA of an empty schema.
    ///
    /// # Errors
    /// 15151 when there is none, it is built in, or CONTROL on it is missing; 3729 when something is in it; 3930.
    pub fn drop_schema(&mut self, name: &str) -> Op<()> {
        self.require_writable()?;
        let database = self.database();
        let refused = || errors::not_found_or_denied("drop", "schema", name);
        let schemas = &self.database_state(database).schemas;
        let schema = schemas.find(&FoldedName::new(name)).cloned().ok_or_else(refused)?;
        let securable = Securable::Schema(database, schema.id);
        let allowed = self.has_permission(Permission::Control, securable)
            || self.has_permission(Permission::AlterAnySchema, Securable::Database(database));
        if schema.is_built_in() || !allowed {
            return Err(refused().into());
        }
        if let Some(object) = self.database_state(database).objects.iter().find(|it| it.schema == schema.id) {
            return Err(errors::schema_in_use(name, &object.name).into());
        }
        self.drop_permissions_on(securable);
        self.put::<Schema>(database, schema.id, None);
        Ok(())
    }

    /// ALTER AUTHORIZATION ON SCHEMA.
    ///
    /// # Errors
    /// 15151 when either is unknown or the right is missing; 3930.
    pub fn set_schema_owner(&mut self, name: &str, owner: &str) -> Op<()> {
        self.require_writable()?;
        let database = self.database();
        let schemas = &self.database_state(database).schemas;
        let found = schemas.find(&FoldedName::new(name)).cloned();
        let schema = found.ok_or_else(|| errors::not_found_or_denied("find", "schema", name))?;
        let securable = Securable::Schema(database, schema.id);
        self.require_for_ddl(
            &[Permission::TakeOwnership, Permission::Control],
            securable,
            "alter",
            "schema",
            name,
        )?;
        let owner = self.new_owner(Some(owner))?;
        self.put(database, schema.id, Some(Arc::new(Schema { owner, ..Schema::clone(&schema) })));
        Ok(())
    }
}

impl Schema {
    /// Whether every database has it.
    pub fn is_built_in(&self) -> bool {
        self.id.0 < 5 || self.id.0 >= 16384
    }
}
