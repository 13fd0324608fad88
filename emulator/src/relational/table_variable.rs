//! Table variables: rows that belong to a batch and to no transaction.

use std::collections::HashSet;

use crate::engine::{CheckDef, KeyDef, TableColumn};
use crate::error::SqlError;
use crate::relational::compare::write_key;
use crate::relational::convert::display;
use crate::relational::errors;
use crate::relational::table_definition::table_definition;
use crate::tsql::ast::ddl::TableElement;
use crate::value::Value;

/// The content of `DECLARE @t TABLE (..)`.
#[derive(Debug, Clone)]
pub(crate) struct TableVariable {
    /// The columns.
    pub(crate) columns: Vec<TableColumn>,
    /// The CHECK constraints.
    pub(crate) checks: Vec<CheckDef>,
    keys: Vec<KeyDef>,
    rows: Vec<Vec<Value>>,
    last_identity: Option<i64>,
}

impl TableVariable {
    /// An empty table of that shape.
    ///
    /// # Errors
    /// What is wrong with the definition: see `table_definition`.
    pub(crate) fn define(elements: &[TableElement]) -> Result<TableVariable, SqlError> {
        let def = table_definition(elements, "@table")?;
        Ok(TableVariable {
            columns: def.columns,
            checks: def.checks,
            keys: def.keys,
            rows: Vec::new(),
            last_identity: None,
        })
    }

    /// The rows, in order of insertion.
    pub(crate) fn rows(&self) -> &[Vec<Value>] {
        &self.rows
    }

    /// Adds a complete row of values of the columns' types.
    ///
    /// # Errors
    /// 515 for NULL where it is not allowed, 2627 for a duplicate key.
    pub(crate) fn insert(&mut self, row: Vec<Value>) -> Result<(), SqlError> {
        self.insert_all(vec![row])
    }

    /// Adds several rows, all or none.
    ///
    /// # Errors
    /// As [`TableVariable::insert`].
    pub(crate) fn insert_all(&mut self, new: Vec<Vec<Value>>) -> Result<(), SqlError> {
        let mut rows = std::mem::take(&mut self.rows);
        let before = rows.len();
        rows.extend(new);
        let checked = self.check(&rows);
        if checked.is_err() {
            rows.truncate(before);
        }
        self.rows = rows;
        checked
    }

    /// Gives rows, by their positions, new values, all or none.
    ///
    /// # Errors
    /// As [`TableVariable::insert`].
    pub(crate) fn update(&mut self, changes: Vec<(usize, Vec<Value>)>) -> Result<(), SqlError> {
        let mut rows = self.rows.clone();
        for (place, row) in changes {
            rows[place] = row;
        }
        self.check(&rows)?;
        self.rows = rows;
        Ok(())
    }

    /// Removes rows by their positions.
    pub(crate) fn delete(&mut self, places: &HashSet<usize>) {
        let mut place = 0;
        self.rows.retain(|_| {
            place += 1;
            !places.contains(&(place - 1))
        });
    }

    /// The next value of the identity column, if there is one.
    pub(crate) fn next_identity(&mut self) -> Option<i64> {
        let (seed, increment) = self.columns.iter().find_map(|column| column.identity)?;
        let next = self.last_identity.map_or(seed, |last| last.saturating_add(increment));
        self.last_identity = Some(next);
        Some(next)
    }

    fn check(&self, rows: &[Vec<Value>]) -> Result<(), SqlError> {
        for (index, column) in self.columns.iter().enumerate() {
            if !column.column.nullable && rows.iter().any(|row| row[index].is_null()) {
                return Err(errors::null_not_allowed(&column.column.name, "@table", "INSERT"));
            }
        }
        self.keys.iter().filter(|key| key.unique).try_for_each(|key| self.check_key(key, rows))
    }

    fn check_key(&self, key: &KeyDef, rows: &[Vec<Value>]) -> Result<(), SqlError> {
        let mut seen = HashSet::with_capacity(rows.len());
        for row in rows {
            let mut bytes = Vec::new();
            for column in &key.columns {
                write_key(&row[*column], self.columns[*column].column.collation, &mut bytes);
            }
            if !seen.insert(bytes) {
                let shown: Vec<String> = key.columns.iter().map(|column| display(&row[*column])).collect();
                return Err(errors::duplicate_variable_key(&key.name, &shown.join(", ")));
            }
        }
        Ok(())
    }
}
