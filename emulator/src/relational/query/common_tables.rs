//! What WITH before a statement declares: the common table expressions a name in FROM may mean, and xml namespaces.

use crate::error::SqlError;
use crate::relational::xml::Namespaces;
use crate::tsql::ast::name::ObjectName;
use crate::tsql::ast::query::{CommonTable, With, XmlNamespace};

/// The common table expressions of a statement, as far as they are in sight.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommonTables<'q> {
    tables: &'q [CommonTable],
    namespaces: &'q [XmlNamespace],
    visible: usize,
    /// The one being bound, which may not name itself.
    current: Option<usize>,
}

impl<'q> CommonTables<'q> {
    /// None at all.
    pub(crate) const NONE: CommonTables<'static> =
        CommonTables { tables: &[], namespaces: &[], visible: 0, current: None };

    /// All those of a WITH clause.
    pub(crate) fn of(with: &'q With) -> CommonTables<'q> {
        CommonTables {
            tables: &with.tables,
            namespaces: &with.xml_namespaces,
            visible: with.tables.len(),
            current: None,
        }
    }

    /// The namespaces of WITH XMLNAMESPACES.
    pub(crate) fn namespaces(&self) -> Namespaces {
        let prefix =
            |it: &XmlNamespace| it.prefix.as_ref().map_or_else(String::new, |it| it.as_str().to_owned());
        Namespaces(self.namespaces.iter().map(|it| (prefix(it), it.uri.clone())).collect())
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
            let inside = CommonTables { visible: index, current: Some(index), ..*self };
            (&self.tables[index], inside)
        }))
    }
}
