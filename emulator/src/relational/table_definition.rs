//! Table definitions as written, turned into what the engine keeps: CREATE TABLE and table variables.

use std::sync::Arc;

use crate::engine::{CheckDef, KeyDef, TableColumn, TableDef};
use crate::error::SqlError;
use crate::relational::errors;
use crate::relational::expression_text::expression_text;
use crate::relational::resolve_type::resolve_type;
use crate::tsql::ast::ddl::{
    ColumnContent, ColumnDefinition, ConstraintKind, Identity, IndexColumn, TableConstraint, TableElement,
};
use crate::tsql::ast::name::eq_ignore_case;
use crate::value::{Collation, Column, SqlType};

/// The definition of a table; `table` names its unnamed constraints.
///
/// # Errors
/// 2705 for a column name used twice, 8110 for a second primary key, 1911 for a key over an unknown column, 2715 for
/// unknown types, 2744, 2749 and 8111 for identity columns and keys that cannot be, 40510 for computed columns and
/// FOREIGN KEY.
pub(crate) fn table_definition(elements: &[TableElement], table: &str) -> Result<TableDef, SqlError> {
    extended_definition(TableDef::default(), elements, table)
}

/// A definition with more columns and constraints.
///
/// # Errors
/// As [`table_definition`].
pub(crate) fn extended_definition(
    def: TableDef,
    elements: &[TableElement],
    table: &str,
) -> Result<TableDef, SqlError> {
    let mut builder = Builder { table, def };
    for element in elements {
        if let TableElement::Column(column) = element {
            builder.column(column)?;
        }
    }
    for element in elements {
        match element {
            TableElement::Column(column) => builder.column_constraints(column)?,
            TableElement::Constraint(constraint) => builder.constraint(constraint, None)?,
            TableElement::Index(index) => {
                if index.filter.is_some() {
                    return Err(SqlError::unsupported("filtered index"));
                }
                builder.key(&index.columns, None, index.name.as_str(), (false, index.unique, false))?;
            }
        }
    }
    Ok(builder.def)
}

struct Builder<'t> {
    table: &'t str,
    def: TableDef,
}

impl Builder<'_> {
    fn column(&mut self, written: &ColumnDefinition) -> Result<(), SqlError> {
        let name = written.name.as_str();
        if self.def.columns.iter().any(|column| eq_ignore_case(&column.column.name, name)) {
            return Err(errors::column_twice(name, self.table));
        }
        let ColumnContent::Type(data_type) = &written.content else {
            return Err(SqlError::unsupported("computed column"));
        };
        let ty = resolve_type(data_type)?;
        let is_sysname = data_type.name.name().is("sysname");
        let collation = match &written.collation {
            None => Collation::DEFAULT,
            Some(name) if name.is("database_default") => Collation::DEFAULT,
            Some(name) => {
                Collation::by_name(name.as_str()).ok_or_else(|| errors::unknown_collation(name.as_str()))?
            }
        };
        let identity =
            written.identity.as_ref().map(|identity| self.identity(identity, ty, name)).transpose()?;
        let nullable =
            written.nullable.unwrap_or(!is_sysname && identity.is_none() && ty != SqlType::RowVersion);
        let column = Column { name: name.to_owned(), ty, nullable, collation };
        self.def.columns.push(TableColumn { identity, ..TableColumn::new(column) });
        Ok(())
    }

    fn identity(&self, written: &Identity, ty: SqlType, column: &str) -> Result<(i64, i64), SqlError> {
        if self.def.identity().is_some() {
            return Err(errors::second_identity(self.table));
        }
        let whole = matches!(ty, SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt)
            || matches!(ty, SqlType::Decimal { scale: 0, .. });
        match (whole, written.seed.parse(), written.increment.parse()) {
            (true, Ok(seed), Ok(increment)) if increment != 0 => Ok((seed, increment)),
            _ => Err(errors::invalid_identity(column)),
        }
    }

    fn column_constraints(&mut self, column: &ColumnDefinition) -> Result<(), SqlError> {
        let index = self.def.column_index(column.name.as_str());
        column.constraints.iter().try_for_each(|constraint| self.constraint(constraint, index))
    }

    fn constraint(&mut self, constraint: &TableConstraint, own: Option<usize>) -> Result<(), SqlError> {
        let given = constraint.name.as_ref().map(|name| name.as_str());
        match &constraint.kind {
            ConstraintKind::Key { primary, columns, .. } => {
                let name = given.map_or_else(|| self.key_name(*primary), str::to_owned);
                self.key(columns, own, &name, (*primary, true, true))
            }
            ConstraintKind::Default { value, column, .. } => {
                let named = column.as_ref().and_then(|column| self.def.column_index(column.as_str()));
                let index = own.or(named).ok_or_else(|| errors::incorrect_syntax("DEFAULT"))?;
                let text: Arc<str> = format!("({})", expression_text(value)?).into();
                let name = given.map_or_else(|| self.default_name(index), str::to_owned);
                let column = &mut self.def.columns[index];
                column.default = Some(text);
                column.default_name = Some(name.as_str().into());
                Ok(())
            }
            ConstraintKind::Check { text, .. } => {
                let name = given.map_or_else(|| self.check_name(), str::to_owned);
                self.def
                    .checks
                    .push(CheckDef { name: name.as_str().into(), condition: text.as_str().into() });
                Ok(())
            }
            ConstraintKind::ForeignKey { .. } => Err(SqlError::unsupported("FOREIGN KEY constraint")),
        }
    }

    /// Adds a key over `columns`, or over the column it stands at.
    fn key(
        &mut self,
        columns: &[IndexColumn],
        own: Option<usize>,
        name: &str,
        (primary, unique, constraint): (bool, bool, bool),
    ) -> Result<(), SqlError> {
        let place = |column: &IndexColumn| {
            let found = self.def.column_index(column.name.as_str());
            found.ok_or_else(|| errors::unknown_key_column(column.name.as_str(), self.table))
        };
        let mut places = columns.iter().map(place).collect::<Result<Vec<_>, _>>()?;
        if places.is_empty() {
            places.extend(own);
        }
        if primary {
            if self.def.keys.iter().any(|key| key.primary) {
                return Err(errors::second_primary_key(self.table));
            }
            for place in &places {
                self.def.columns[*place].column.nullable = false;
            }
        }
        let name = name.into();
        self.def.keys.push(KeyDef {
            name,
            columns: places,
            primary,
            unique,
            constraint,
            ignore_duplicates: false,
        });
        Ok(())
    }

    /// Names of unnamed constraints look like the server's, without its random digits.
    fn key_name(&self, primary: bool) -> String {
        let prefix = if primary { "PK" } else { "UQ" };
        format!("{prefix}__{}__{:08X}", self.table, self.def.keys.len() + 1)
    }

    fn check_name(&self) -> String {
        format!("CK__{}__{:08X}", self.table, self.def.checks.len() + 1)
    }

    fn default_name(&self, column: usize) -> String {
        format!("DF__{}__{}", self.table, self.def.columns[column].column.name)
    }
}
