//! The common table expressions a name in FROM may mean.

use crate::error::SqlError;
use crate::tsql::ast::name::ObjectName;
use crate::tsql::ast::query::{CommonTable, With};

/// The common table expressions of a statement, as far as they are in sight.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommonTables<'q> {
    tables: &'q [CommonTable],
    visible: usize,
    /// The one being bound, which may not name itself.
    current: Option<usize>,
}

impl<'q> CommonTables<'q> {
    /// None at all.
    pub(crate) const NONE: CommonTables<'static> = CommonTables { tables: &[], visible: 0, current: None };

    /// All those of a WITH clause.
    pub(crate) fn of(with: &'q With) -> CommonTables<'q> {
        CommonTables { tables: &with.tables, visible: with.tables.len(), current: None }
    }

    /// The one of that name, and what its own query sees.
    ///
    /// # Errors
    /// 40510 for one that names itself.
    pub(crate) fn find(
        &self,
        name: &ObjectName,
    ) -> Result<Option<(&'q CommonTable, CommonTables<'q>)>, SqlError> {
        if name.parts.len() > 1 {
            return Ok(None);
        }
        let wanted = |index: usize| self.tables[index].name.is(name.name().as_str());
        if self.current.is_some_and(wanted) {
            return Err(SqlError::unsupported("recursive common table expression"));
        }
        let found = (0..self.visible).rev().find(|index| wanted(*index));
        Ok(found.map(|index| {
            let inside = CommonTables { tables: self.tables, visible: index, current: Some(index) };
            (&self.tables[index], inside)
        }))
    }
}
