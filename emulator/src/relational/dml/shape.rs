//! The table or table variable a statement writes to: its name and columns, whichever of the two it is.

use crate::engine::{CheckDef, ObjectKind, Op, Permission, TableColumn, TableKey};
use crate::error::SqlError;
use crate::relational::environment::Context;
use crate::relational::errors;
use crate::relational::names::engine_name;
use crate::relational::scope::{Qualifier, ScopeColumn};
use crate::tsql::ast::dml::DmlTarget;
use crate::tsql::ast::name::eq_ignore_case;
use crate::value::SqlType;

/// Where rows are written.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    /// The table or variable.
    pub(super) place: Place,
    /// Its name in errors.
    pub(super) name: String,
    /// Its columns.
    pub(super) columns: Vec<TableColumn>,
    /// Its CHECK constraints.
    pub(super) checks: Vec<CheckDef>,
}

/// A table or a table variable.
#[derive(Debug, Clone)]
pub(super) enum Place {
    /// A table.
    Table(TableKey),
    /// A table variable, by name.
    Variable(String),
}

impl Shape {
    /// The target of a statement that names it directly.
    ///
    /// # Errors
    /// 208 and 1087 for unknown targets, 229 without the permission, 4406 for what is no table.
    pub(super) fn of(target: &DmlTarget, permission: Permission, ctx: &Context<'_, '_>) -> Op<Shape> {
        match target {
            DmlTarget::Variable(name) => Ok(Shape::of_variable(name.as_str(), ctx)?),
            DmlTarget::Table { name, .. } => {
                let engine_name = engine_name(name)?;
                if crate::catalog::find(engine_name.schema.as_deref(), &engine_name.name).is_some() {
                    return Err(errors::not_updatable(&name.to_string()).into());
                }
                let (key, object) = ctx.tx.resolve_object(&engine_name)?;
                match object.kind {
                    ObjectKind::Table(_) => Ok(Shape::of_table(key, permission, ctx)?),
                    _ => Err(errors::not_updatable(&name.to_string()).into()),
                }
            }
        }
    }

    /// A table by its key.
    ///
    /// # Errors
    /// 229 without the permission.
    pub(super) fn of_table(
        key: TableKey,
        permission: Permission,
        ctx: &Context<'_, '_>,
    ) -> Result<Shape, SqlError> {
        ctx.tx.require_on_table(permission, key)?;
        let def = ctx.tx.table_def(key).cloned().unwrap_or_default();
        let name = ctx.tx.state().object(key).map_or_else(String::new, |object| object.name.to_string());
        Ok(Shape { place: Place::Table(key), name, columns: def.columns, checks: def.checks })
    }

    /// A table variable by its name.
    ///
    /// # Errors
    /// 1087
    pub(super) fn of_variable(name: &str, ctx: &Context<'_, '_>) -> Result<Shape, SqlError> {
        let table = ctx.env.table_variable(name).ok_or_else(|| errors::undeclared_table_variable(name))?;
        Ok(Shape {
            place: Place::Variable(name.to_owned()),
            name: name.to_owned(),
            columns: table.columns.clone(),
            checks: table.checks.clone(),
        })
    }

    /// Position of the column of that name.
    ///
    /// # Errors
    /// 207
    pub(super) fn position(&self, name: &str) -> Result<usize, SqlError> {
        let found = self.columns.iter().position(|column| eq_ignore_case(&column.column.name, name));
        found.ok_or_else(|| errors::unknown_column(name))
    }

    /// Whether a column gets its values from the engine alone.
    pub(super) fn is_generated(&self, index: usize) -> bool {
        let column = &self.columns[index];
        column.identity.is_some() || column.computed.is_some() || column.column.ty == SqlType::RowVersion
    }

    /// The columns as names see them after `inserted.` or `deleted.`.
    pub(super) fn pseudo_columns(&self, table: &str) -> Vec<ScopeColumn> {
        let scoped = |column: &TableColumn| ScopeColumn {
            qualifier: Qualifier::alias(table),
            column: column.column.clone(),
            hidden: false,
        };
        self.columns.iter().map(scoped).collect()
    }
}
