//! Rows of tables: reading under the isolation levels and hints, inserting, updating, deleting.
//!
//! Writers lock their rows X until the transaction ends; a deleted row stays as a ghost until then. Readers under READ
//! COMMITTED need no lock on a row nobody else has locked, since nothing runs between looking and reading; where
//! somebody has, they wait. Expressions are the caller's; this file must not know them.

use std::sync::Arc;

use crate::error::SqlError;
use crate::request::IsolationLevel;
use crate::value::Value;

use super::definitions::KeyDef;
use super::errors;
use super::ids::{RowId, TableKey};
use super::locks::{LockDuration, LockMode, Resource};
use super::state::Row;
use super::tx::{Op, Tx};

/// What a reader does about rows that others have locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReadHint {
    /// Waits for them (READ COMMITTED).
    #[default]
    Wait,
    /// Reads them as they are (NOLOCK, READ UNCOMMITTED).
    NoLock,
    /// Skips them (READPAST).
    ReadPast,
}

/// How rows are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadOptions {
    /// What to do about locked rows.
    pub hint: ReadHint,
    /// Lock that rows taken keep until the transaction ends: S for REPEATABLE READ, U for UPDLOCK and rows about to be
    /// changed, X for XLOCK.
    pub lock: Option<LockMode>,
    /// Keeps others from adding rows until the transaction ends (SERIALIZABLE, HOLDLOCK): locks the table S.
    pub whole_table: bool,
    /// Stops after so many rows taken.
    pub limit: Option<usize>,
}

/// Which rows are looked at.
#[derive(Debug, Clone, Copy)]
pub enum Access<'a> {
    /// All of them, in order of insertion.
    Scan,
    /// Those with a key: the unique key's name and its values in the declared types.
    Key(&'a str, &'a [Value]),
}

/// A row read.
#[derive(Debug, Clone, PartialEq)]
pub struct RowRead {
    /// Its id, by which it is updated and deleted.
    pub id: RowId,
    /// Its values.
    pub values: Arc<[Value]>,
}

/// What became of an insert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inserted {
    /// The row is in.
    Row(RowId),
    /// A key with IGNORE_DUP_KEY has that value; nothing was inserted.
    Ignored,
}

impl Tx<'_> {
    /// What the session's isolation level means for reading, before hints.
    pub fn read_options(&self) -> ReadOptions {
        let plain = ReadOptions::default();
        match self.session().map(|session| session.info.isolation).unwrap_or_default() {
            IsolationLevel::ReadUncommitted => ReadOptions { hint: ReadHint::NoLock, ..plain },
            IsolationLevel::ReadCommitted | IsolationLevel::Snapshot => plain,
            IsolationLevel::RepeatableRead => ReadOptions { lock: Some(LockMode::S), ..plain },
            IsolationLevel::Serializable => {
                ReadOptions { lock: Some(LockMode::S), whole_table: true, ..plain }
            }
        }
    }

    /// The rows for which `keep` answers `true`, in order of insertion.
    ///
    /// # Errors
    /// What `keep` fails with; blocks on rows and tables that others have locked, as the options say.
    pub fn rows(
        &mut self,
        table: TableKey,
        access: Access<'_>,
        options: ReadOptions,
        mut keep: impl FnMut(&[Value]) -> Result<bool, SqlError>,
    ) -> Op<Vec<RowRead>> {
        let mut taken = Vec::new();
        for id in self.row_ids(table, access, options)? {
            if options.limit.is_some_and(|limit| taken.len() >= limit) {
                break;
            }
            let Some(row) = self.read_row(table, id, options)? else { continue };
            if keep(&row.values)? && self.keep_locked(table, id, options)? {
                taken.push(row);
            }
        }
        Ok(taken)
    }

    /// The rows that a reader has to look at, in order of insertion. The table is locked as the options say.
    ///
    /// # Errors
    /// None of its own; blocks on a table that others have locked.
    pub fn row_ids(&mut self, table: TableKey, access: Access<'_>, options: ReadOptions) -> Op<Vec<RowId>> {
        self.lock_for_reading(table, options)?;
        Ok(self.candidates(table, access))
    }

    /// One of these rows, unless it is gone or has to be skipped. No lock stays on it: the reader decides whether it takes
    /// the row, and [`keep_locked`](Tx::keep_locked) locks those taken and no others.
    ///
    /// # Errors
    /// None of its own; blocks on a row that others have locked, as the options say.
    pub fn read_row(&mut self, table: TableKey, id: RowId, options: ReadOptions) -> Op<Option<RowRead>> {
        let row = self.readable_row(table, id, options)?;
        Ok(row.map(|row| RowRead { id, values: Arc::clone(&row.values) }))
    }

    /// Inserts a row; values are complete and of the columns' types. Waits for others that have inserted or deleted a
    /// row of the same key and not ended yet.
    ///
    /// # Errors
    /// 2627, 2601 for a duplicate key; 3930.
    pub fn insert_row(&mut self, table: TableKey, values: Vec<Value>) -> Op<Inserted> {
        self.require_writable()?;
        self.lock_object(table, LockMode::IX, LockDuration::Transaction)?;
        if let Some(key) = self.taken_key(table, None, &values)? {
            if key.ignore_duplicates {
                return Ok(Inserted::Ignored);
            }
            return Err(self.duplicate(table, &key, &values).into());
        }
        let data = self.core.state.tables.get_mut(&table);
        let id = data.expect("a table resolved in this statement has its data").allocate_row();
        self.lock(Resource::Row(table, id), LockMode::X, LockDuration::Transaction)?;
        self.put_row(table, id, Some(Arc::new(Row { values: values.into(), deleted_by: None })));
        Ok(Inserted::Row(id))
    }

    /// Gives rows new values, all at once: keys must be unique when all are changed. Rows that are gone are passed over;
    /// the number of those changed is returned.
    ///
    /// # Errors
    /// 2627, 2601 for a duplicate key; 3930.
    pub fn update_rows(&mut self, table: TableKey, changes: Vec<(RowId, Vec<Value>)>) -> Op<usize> {
        self.require_writable()?;
        self.lock_object(table, LockMode::IX, LockDuration::Transaction)?;
        let mut changed = Vec::with_capacity(changes.len());
        for (id, values) in changes {
            if self.lock_live_row(table, id)?.is_some() {
                let values: Arc<[Value]> = values.into();
                self.put_row(
                    table,
                    id,
                    Some(Arc::new(Row { values: Arc::clone(&values), deleted_by: None })),
                );
                changed.push((id, values));
            }
        }
        for (id, values) in &changed {
            if let Some(key) = self.taken_key(table, Some(*id), values)? {
                return Err(self.duplicate(table, &key, values).into());
            }
        }
        Ok(changed.len())
    }

    /// Deletes a row; `false` if it is gone already.
    ///
    /// # Errors
    /// 3930
    pub fn delete_row(&mut self, table: TableKey, id: RowId) -> Op<bool> {
        self.require_writable()?;
        self.lock_object(table, LockMode::IX, LockDuration::Transaction)?;
        let Some(row) = self.lock_live_row(table, id)? else { return Ok(false) };
        let ghost = Row { values: Arc::clone(&row.values), deleted_by: Some(self.transaction()) };
        self.put_row(table, id, Some(Arc::new(ghost)));
        Ok(true)
    }

    /// Fails if two live rows of the table have the same unique key.
    pub(super) fn check_all_keys(&self, table: TableKey) -> Op<()> {
        let Some(data) = self.state().tables.get(&table) else { return Ok(()) };
        for (id, row) in data.iter().filter(|(_, row)| row.deleted_by.is_none()) {
            let same = data.same_keys(&row.values);
            let taken = same.into_iter().find(|(_, rows)| rows.iter().any(|other| *other != id));
            if let Some((key, _)) = taken {
                return Err(self.duplicate(table, key, &row.values).into());
            }
        }
        Ok(())
    }

    fn lock_for_reading(&mut self, table: TableKey, options: ReadOptions) -> Op<()> {
        if options.whole_table {
            // Who means to change what nobody may add to must not wait for another who means the same: that would be a
            // deadlock.
            let mode = match options.lock {
                Some(LockMode::U | LockMode::X) => LockMode::U,
                _ => LockMode::S,
            };
            return self.lock_object(table, mode, LockDuration::Transaction);
        }
        match options.lock {
            Some(LockMode::U | LockMode::X) => {
                self.lock_object(table, LockMode::IX, LockDuration::Transaction)
            }
            Some(_) => self.lock_object(table, LockMode::IS, LockDuration::Transaction),
            None if options.hint == ReadHint::NoLock => Ok(()),
            None => self.lock_object(table, LockMode::IS, LockDuration::Statement),
        }
    }

    fn candidates(&self, table: TableKey, access: Access<'_>) -> Vec<RowId> {
        let Some(data) = self.state().tables.get(&table) else { return Vec::new() };
        match access {
            Access::Scan => data.iter().map(|(id, _)| id).collect(),
            Access::Key(key, values) => data
                .find(key, values)
                .map_or_else(|| data.iter().map(|(id, _)| id).collect(), <[RowId]>::to_vec),
        }
    }

    /// The row as this reader may see it: waits for it, skips it, or reads it as it is.
    fn readable_row(&mut self, table: TableKey, id: RowId, options: ReadOptions) -> Op<Option<Arc<Row>>> {
        let resource = Resource::Row(table, id);
        let contended = self.core.locks.is_contended(self.transaction(), &resource);
        if contended && options.hint != ReadHint::NoLock {
            let mode = options.lock.unwrap_or(LockMode::S);
            if options.hint == ReadHint::Wait {
                self.lock(resource, mode, LockDuration::Statement)?;
            } else if !self.try_lock(resource, mode, LockDuration::Statement) {
                return Ok(None);
            }
        }
        let row = self.state().tables.get(&table).and_then(|data| data.get(id));
        Ok(row.filter(|row| row.deleted_by.is_none()).cloned())
    }

    /// Keeps a row that was taken locked, if the options ask for it; `false` if it has to be skipped after all.
    ///
    /// # Errors
    /// 1205, 1222; blocks on a row that others have locked, unless READPAST skips it.
    pub fn keep_locked(&mut self, table: TableKey, id: RowId, options: ReadOptions) -> Op<bool> {
        let Some(mode) = options.lock else { return Ok(true) };
        let resource = Resource::Row(table, id);
        if options.hint == ReadHint::ReadPast {
            return Ok(self.try_lock(resource, mode, LockDuration::Transaction));
        }
        self.lock(resource, mode, LockDuration::Transaction)?;
        Ok(true)
    }

    fn lock_live_row(&mut self, table: TableKey, id: RowId) -> Op<Option<Arc<Row>>> {
        self.lock(Resource::Row(table, id), LockMode::X, LockDuration::Transaction)?;
        let row = self.state().tables.get(&table).and_then(|data| data.get(id));
        Ok(row.filter(|row| row.deleted_by.is_none()).cloned())
    }

    /// The unique key that a row other than `own` has already. Waits for rows of the key that others are changing: a
    /// ghost may come back, an insert may go.
    fn taken_key(&mut self, table: TableKey, own: Option<RowId>, values: &[Value]) -> Op<Option<KeyDef>> {
        let Some(data) = self.core.state.tables.get(&table) else { return Ok(None) };
        let same: Vec<(KeyDef, RowId)> = data
            .same_keys(values)
            .flat_map(|(key, rows)| rows.iter().filter(|id| Some(**id) != own).map(|id| (key.clone(), *id)))
            .collect();
        for (key, id) in same {
            let resource = Resource::Row(table, id);
            if self.core.locks.is_contended(self.transaction(), &resource) {
                self.lock(resource, LockMode::S, LockDuration::Statement)?;
            }
            let row = self.state().tables.get(&table).and_then(|data| data.get(id));
            if row.is_some_and(|row| row.deleted_by.is_none()) {
                return Ok(Some(key));
            }
        }
        Ok(None)
    }

    fn duplicate(&self, table: TableKey, key: &KeyDef, values: &[Value]) -> SqlError {
        let table = self.table_title(table);
        let shown: Vec<String> = key.columns.iter().map(|column| shown(&values[*column])).collect();
        let shown = format!("({})", shown.join(", "));
        match (key.constraint, key.primary) {
            (true, true) => errors::duplicate_key(&table, &key.name, "PRIMARY KEY", &shown),
            (true, false) => errors::duplicate_key(&table, &key.name, "UNIQUE KEY", &shown),
            (false, _) => errors::duplicate_index_key(&table, &key.name, &shown),
        }
    }
}

/// A key value in a message.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "<NULL>".to_string(),
        Value::Bit(value) => u8::from(*value).to_string(),
        Value::TinyInt(value) => value.to_string(),
        Value::SmallInt(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::BigInt(value) => value.to_string(),
        Value::Decimal(value) => value.to_string(),
        Value::Text(value) | Value::Xml(value) => value.to_string(),
        Value::Uuid(value) => value.to_string(),
        other => format!("{other:?}"),
    }
}

#[cfg(test)]
#[path = "rows_tests.rs"]
mod tests;
