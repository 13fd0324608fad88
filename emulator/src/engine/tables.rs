//! Tables as objects: CREATE, ALTER, DROP, TRUNCATE, identity values. Rows are in `rows`.

use std::sync::Arc;

use crate::error::SqlError;
use crate::value::{Timestamp, Value};

use super::core::Core;
use super::definitions::{Object, ObjectKind, Permission, Securable, TableDef};
use super::errors;
use super::ids::{ObjectKey, SessionId, TableKey};
use super::locks::{LockDuration, LockMode};
use super::objects::{ObjectName, TEMPDB, is_temporary_of};
use super::state::{Row, TableData};
use super::tx::{Op, Tx};

impl Tx<'_> {
    /// CREATE TABLE.
    ///
    /// # Errors
    /// 2714 when the name is taken; 2760 for an unknown schema; 262 without CREATE TABLE; 3930.
    pub fn create_table(&mut self, name: &ObjectName, def: TableDef) -> Op<TableKey> {
        let data = TableData::new(&def);
        let key = self.create_object(name, Permission::CreateTable, ObjectKind::Table(def))?;
        self.put_table(key, Some(data));
        Ok(key)
    }

    /// The table of that name with its definition.
    ///
    /// # Errors
    /// 208 when there is none or the object is no table; 911, 916.
    pub fn resolve_table(&self, name: &ObjectName) -> Result<(TableKey, Arc<Object>), SqlError> {
        let (key, object) = self.resolve_object(name)?;
        match object.kind {
            ObjectKind::Table(_) => Ok((key, object)),
            _ => Err(errors::invalid_object(&name.to_string())),
        }
    }

    /// The definition of a table that exists.
    pub fn table_def(&self, table: TableKey) -> Option<&TableDef> {
        match &self.state().object(table)?.kind {
            ObjectKind::Table(def) => Some(def),
            _ => None,
        }
    }

    /// ALTER TABLE: another definition, and for each row its values in the new shape.
    ///
    /// # Errors
    /// 229 without ALTER; 2627 or 2601 when rows have the same key by the new definition; what `convert` fails with; 3930.
    pub fn alter_table(
        &mut self,
        table: TableKey,
        def: TableDef,
        mut convert: impl FnMut(&[Value]) -> Result<Vec<Value>, SqlError>,
    ) -> Op<()> {
        self.require_writable()?;
        self.require(Permission::Alter, Securable::Object(table.database, table.object))?;
        self.lock_object(table, LockMode::X, LockDuration::Transaction)?;
        let mut data = TableData::new(&def);
        let Some(old) = self.state().tables.get(&table) else { return Ok(()) };
        data.set_last_identity(old.last_identity());
        for (id, row) in old.iter() {
            let values = convert(&row.values)?.into();
            data.put(id, Some(Arc::new(Row { values, deleted_by: row.deleted_by })));
        }
        self.change_object(table, ObjectKind::Table(def));
        self.put_table(table, Some(data));
        self.check_all_keys(table)
    }

    /// DROP TABLE.
    ///
    /// # Errors
    /// 3701 when there is no such table or the right is missing; 3930.
    pub fn drop_table(&mut self, name: &ObjectName) -> Op<()> {
        self.require_writable()?;
        let key = self.droppable(name, "table", |kind| matches!(kind, ObjectKind::Table(_)))?;
        self.lock_object(key, LockMode::X, LockDuration::Transaction)?;
        self.put_table(key, None);
        self.remove_object(key);
        Ok(())
    }

    /// TRUNCATE TABLE: removes all rows and starts identity values anew.
    ///
    /// # Errors
    /// 229 without ALTER; 3930.
    pub fn truncate_table(&mut self, table: TableKey) -> Op<()> {
        self.require_writable()?;
        self.require_on_table(Permission::Alter, table)?;
        self.lock_object(table, LockMode::X, LockDuration::Transaction)?;
        let Some(def) = self.table_def(table) else { return Ok(()) };
        let data = TableData::new(def);
        self.put_table(table, Some(data));
        Ok(())
    }

    /// The next value of a table's identity column; `None` if it has none. A value is used up even when the statement
    /// is undone.
    pub fn next_identity(&mut self, table: TableKey) -> Option<i64> {
        let (_, (seed, increment)) = self.table_def(table)?.identity()?;
        let data = self.core.state.tables.get_mut(&table)?;
        let next = data.last_identity().map_or(seed, |last| last.saturating_add(increment));
        data.set_last_identity(Some(next));
        Some(next)
    }

    /// Notes a value written into the identity column under IDENTITY_INSERT: the next ones go on from the greatest.
    pub fn note_identity(&mut self, table: TableKey, value: i64) {
        let Some((_, (_, increment))) = self.table_def(table).and_then(TableDef::identity) else { return };
        let Some(data) = self.core.state.tables.get_mut(&table) else { return };
        let further =
            data.last_identity().is_none_or(|last| if increment < 0 { value < last } else { value > last });
        if further {
            data.set_last_identity(Some(value));
        }
    }

    /// Fails unless the principal has a permission on a table; a temporary table is its session's to use.
    ///
    /// # Errors
    /// 229
    pub fn require_on_table(&self, permission: Permission, table: TableKey) -> Result<(), SqlError> {
        if table.database == TEMPDB && self.is_own_temporary(table) {
            return Ok(());
        }
        self.require(permission, Securable::Object(table.database, table.object))
    }

    /// Name of a table for messages: `schema.table`.
    pub(super) fn table_title(&self, table: TableKey) -> String {
        let Some(object) = self.state().object(table) else { return String::new() };
        let schema = self.database_state(table.database).schemas.get(object.schema);
        format!("{}.{}", schema.map_or("", |schema| &*schema.name), object.name)
    }

    fn is_own_temporary(&self, table: TableKey) -> bool {
        let name = self.state().object(table).map(|object| &object.name);
        name.is_some_and(|name| name.starts_with("##") || is_temporary_of(name, self.call().session.0))
    }
}

impl Core {
    /// Drops the temporary tables of a session that ends or is reset.
    pub(super) fn drop_temporary_tables(&mut self, session: SessionId, now: Timestamp) {
        let Some(tempdb) = self.state.database(TEMPDB) else { return };
        let own = tempdb.objects.iter().filter(|object| is_temporary_of(&object.name, session.0));
        let keys: Vec<ObjectKey> = own.map(|object| ObjectKey::new(TEMPDB, object.id)).collect();
        if keys.is_empty() {
            return;
        }
        let dropped = self.background(TEMPDB, now, |tx| {
            for key in keys {
                tx.put_table(key, None);
                tx.remove_object(key);
            }
            Ok(())
        });
        debug_assert!(dropped.is_ok(), "dropping takes no locks and delivers nothing");
    }
}
