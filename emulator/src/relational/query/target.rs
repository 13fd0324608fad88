//! The target of an UPDATE or DELETE among the sources of its statement, and its part of their rows.

use crate::engine::TableKey;
use crate::tsql::ast::dml::DmlTarget;
use crate::tsql::ast::name::eq_ignore_case;
use crate::value::Value;

/// The table a data change is about, to be found among the sources.
pub(crate) struct Target<'t> {
    /// How the statement names it.
    pub(crate) name: &'t DmlTarget,
    /// What it is found by.
    pub(crate) by: TargetMatch,
    /// What it turned out to be.
    pub(crate) found: Option<TargetRows>,
}

/// What the target of a data change is found by among the sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TargetMatch {
    /// What the source is called in the statement.
    Alias,
    /// The name of its table, whatever it is called.
    Name,
}

/// A target found.
#[derive(Debug, Clone)]
pub(crate) struct TargetRows {
    /// The table; `None` for a table variable.
    pub(crate) table: Option<TableKey>,
    /// Where its first column stands in a row.
    pub(crate) offset: usize,
    /// Its columns in the row, without the id that follows them.
    pub(crate) width: usize,
    /// For a target seen through a common table expression: which table column each of its columns is.
    pub(crate) mapping: Option<Vec<(String, Option<usize>)>>,
}

impl TargetRows {
    /// The id of the target's row in a row of the statement; `None` where an outer join has found none.
    pub(crate) fn id(&self, row: &[Value]) -> Option<u64> {
        match row.get(self.offset + self.width) {
            Some(Value::BigInt(id)) => Some(*id as u64),
            _ => None,
        }
    }

    /// The values of the target's row.
    pub(crate) fn values<'r>(&self, row: &'r [Value]) -> &'r [Value] {
        &row[self.offset..self.offset + self.width]
    }

    /// For a target seen through a common table expression: the table column that one of its columns is.
    pub(crate) fn mapped(&self, column: &str) -> Option<Option<usize>> {
        let mapping = self.mapping.as_ref()?;
        let found = mapping.iter().find(|(name, _)| eq_ignore_case(name, column));
        Some(found.and_then(|(_, place)| *place))
    }
}
