//! ALTER TABLE, CREATE INDEX and DROP INDEX: another definition, and the rows that exist brought into its shape.
//!
//! This file must not know how a statement got here.

use crate::engine::{
    Access, CheckDef, Interrupt, KeyDef, Op, Permission, ReadHint, ReadOptions, TableDef, TableKey, Tx,
};
use crate::error::SqlError;
use crate::relational::convert::assign;
use crate::relational::dml::TableRows;
use crate::relational::environment::{Context, Environment};
use crate::relational::errors;
use crate::relational::names::engine_name;
use crate::relational::resolve_type::resolve_type;
use crate::relational::table_definition::extended_definition;
use crate::tsql::ast::ObjectName;
use crate::tsql::ast::ddl::{
    AlterTable, AlterTableAction, AlterTableDrop, ColumnContent, ColumnDefinition, ConstraintKind,
    CreateIndex, TableConstraint, TableElement,
};
use crate::tsql::ast::name::{Ident, eq_ignore_case};
use crate::value::Value;

/// Runs an ALTER TABLE.
///
/// # Errors
/// 208, 229, 515, 547, 1505, 2627, 3728, 4901, 4924, 5074, those of definitions and conversions; 40510 for triggers and
/// switching constraints on and off.
pub(crate) fn alter_table(statement: &AlterTable, env: &mut dyn Environment, tx: &mut Tx<'_>) -> Op<()> {
    let (table, name) = resolved(&statement.name, tx)?;
    let old = tx.table_def(table).cloned().unwrap_or_default();
    let mut ctx = Context { env, tx };
    match &statement.action {
        AlterTableAction::Add { elements, no_check } => {
            add((table, &name), old, elements, *no_check, &mut ctx)
        }
        AlterTableAction::Drop(drops) => remove((table, &name), old, drops, &mut ctx),
        AlterTableAction::AlterColumn(column) => alter_column((table, &name), old, column, &mut ctx),
        AlterTableAction::CheckConstraint { .. } => {
            Err(SqlError::unsupported("ALTER TABLE CHECK and NOCHECK CONSTRAINT").into())
        }
        AlterTableAction::EnableTrigger { .. } => {
            Err(SqlError::unsupported("ALTER TABLE ENABLE and DISABLE TRIGGER").into())
        }
    }
}

/// Runs a CREATE INDEX. An index that is not unique has no effect but to be there.
///
/// # Errors
/// 208, 229, 1505, 1911, 1913; 40510 for unique indexes with a filter.
pub(crate) fn create_index(statement: &CreateIndex, tx: &mut Tx<'_>) -> Op<()> {
    let (table, name) = resolved(&statement.table, tx)?;
    let index = statement.index.name.as_str();
    if statement.index.unique && statement.index.filter.is_some() {
        return Err(SqlError::unsupported("unique filtered index").into());
    }
    let mut def = tx.table_def(table).cloned().unwrap_or_default();
    let existing = def.keys.iter().position(|key| eq_ignore_case(&key.name, index));
    match existing {
        Some(place) if statement.drop_existing => drop(def.keys.remove(place)),
        Some(_) => return Err(errors::index_exists(index, &name).into()),
        None => {}
    }
    let mut columns = Vec::with_capacity(statement.index.columns.len());
    for column in &statement.index.columns {
        let place = def.column_index(column.name.as_str());
        columns.push(place.ok_or_else(|| errors::unknown_key_column(column.name.as_str(), &name))?);
    }
    def.keys.push(KeyDef {
        name: index.into(),
        columns,
        primary: false,
        unique: statement.index.unique,
        constraint: false,
        ignore_duplicates: statement.ignore_duplicates,
    });
    let altered = tx.alter_table(table, def, |row| Ok(row.to_vec()));
    altered.map_err(|interrupt| match interrupt {
        Interrupt::Error(error) if error.number == 2601 => errors::index_has_duplicates(index, &name).into(),
        other => other,
    })
}

/// Drops an index.
///
/// # Errors
/// 208, 229, 3701, 3723.
pub(crate) fn drop_index(index: &Ident, table: &ObjectName, tx: &mut Tx<'_>) -> Op<()> {
    let (table, name) = resolved(table, tx)?;
    let mut def = tx.table_def(table).cloned().unwrap_or_default();
    let place = def.keys.iter().position(|key| eq_ignore_case(&key.name, index.as_str()));
    let place = place.ok_or_else(|| errors::no_index(index.as_str(), &name))?;
    if def.keys[place].constraint {
        return Err(errors::index_of_constraint(index.as_str()).into());
    }
    def.keys.remove(place);
    tx.alter_table(table, def, |row| Ok(row.to_vec()))
}

fn resolved(name: &ObjectName, tx: &Tx<'_>) -> Op<(TableKey, String)> {
    let (key, object) = tx.resolve_table(&engine_name(name)?)?;
    tx.require_on_table(Permission::Alter, key)?;
    Ok((key, object.name.to_string()))
}

/// ADD: new columns get their default in the rows that exist if they must have a value, or WITH VALUES says so.
fn add(
    (table, name): (TableKey, &str),
    old: TableDef,
    elements: &[TableElement],
    no_check: bool,
    ctx: &mut Context<'_, '_>,
) -> Op<()> {
    let (width, checks) = (old.columns.len(), old.checks.len());
    let def = extended_definition(old, elements, name)?;
    let rows = ctx.tx.state().tables.get(&table).map_or(0, |data| data.len());
    let mut new: Vec<std::vec::IntoIter<Value>> = Vec::new();
    for column in &def.columns[width..] {
        let identity = column.identity.is_some();
        let wanted = !column.column.nullable || with_values(elements, &column.column.name);
        if rows > 0 && !column.column.nullable && !identity && column.default.is_none() {
            return Err(errors::new_column_needs_value(&column.column.name, name).into());
        }
        let mut values = Vec::with_capacity(rows);
        for row in 0..rows {
            values.push(match (column.identity, &column.default) {
                (Some((seed, increment)), _) => {
                    let given = Value::BigInt(seed.saturating_add(increment.saturating_mul(row as i64)));
                    assign(given, column.column.ty, name, &column.column.name)?
                }
                (None, Some(text)) if wanted => {
                    let given = crate::relational::stored_value(text, ctx)?;
                    assign(given, column.column.ty, name, &column.column.name)?
                }
                _ => Value::Null,
            });
        }
        new.push(values.into_iter());
    }
    ctx.tx.alter_table(table, def, |row| {
        let mut row = row.to_vec();
        row.extend(new.iter_mut().map(|values| values.next().unwrap_or_default()));
        Ok(row)
    })?;
    let identity = ctx.tx.table_def(table).and_then(TableDef::identity);
    if let Some((place, (seed, increment))) = identity
        && place >= width
        && rows > 0
    {
        ctx.tx.note_identity(table, seed.saturating_add(increment.saturating_mul(rows as i64 - 1)));
    }
    if no_check { Ok(()) } else { check_rows(table, checks, ctx) }
}

/// Whether a new column was written with DEFAULT .. WITH VALUES.
fn with_values(elements: &[TableElement], column: &str) -> bool {
    let says = |constraint: &TableConstraint| {
        matches!(constraint.kind, ConstraintKind::Default { with_values: true, .. })
    };
    elements.iter().any(|element| match element {
        TableElement::Column(written) => written.name.is(column) && written.constraints.iter().any(says),
        _ => false,
    })
}

/// The rows that exist must satisfy the constraints that are new.
fn check_rows(table: TableKey, known: usize, ctx: &mut Context<'_, '_>) -> Op<()> {
    if ctx.tx.table_def(table).is_none_or(|def| def.checks.len() == known) {
        return Ok(());
    }
    let as_they_are = ReadOptions { hint: ReadHint::NoLock, ..ReadOptions::default() };
    let rows = ctx.tx.rows(table, Access::Scan, as_they_are, |_| Ok(true))?;
    let maker = TableRows::of(table, ctx)?;
    rows.iter().try_for_each(|row| maker.check(row.values.to_vec(), "ALTER TABLE", ctx))
}

/// DROP COLUMN and DROP CONSTRAINT.
fn remove(
    (table, name): (TableKey, &str),
    mut def: TableDef,
    drops: &[AlterTableDrop],
    ctx: &mut Context<'_, '_>,
) -> Op<()> {
    let mut kept: Vec<usize> = (0..def.columns.len()).collect();
    for drop in drops {
        let wanted = drop.name.as_str();
        let found = if drop.column {
            remove_column(&mut def, &mut kept, wanted)?
        } else {
            remove_constraint(&mut def, wanted)
        };
        if !found && !drop.if_exists {
            let error = if drop.column {
                errors::no_column_to_alter(wanted, name)
            } else {
                errors::no_constraint(wanted)
            };
            return Err(error.into());
        }
    }
    ctx.tx.alter_table(table, def, |row| Ok(kept.iter().map(|place| row[*place].clone()).collect()))
}

fn remove_column(def: &mut TableDef, kept: &mut Vec<usize>, column: &str) -> Result<bool, SqlError> {
    let Some(place) = def.column_index(column) else { return Ok(false) };
    let depends = |object: &str| errors::depends_on_column(object, column);
    if let Some(key) = def.keys.iter().find(|key| key.columns.contains(&place)) {
        return Err(depends(&key.name));
    }
    if let Some(name) = &def.columns[place].default_name {
        return Err(depends(name));
    }
    if let Some(check) = def.checks.iter().find(|check| mentions(check, column)) {
        return Err(depends(&check.name));
    }
    def.columns.remove(place);
    kept.remove(place);
    for key in &mut def.keys {
        key.columns.iter_mut().filter(|other| **other > place).for_each(|other| *other -= 1);
    }
    Ok(true)
}

/// Whether the condition has a word of that name; rather too often than too seldom.
fn mentions(check: &CheckDef, column: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '#' | '$' | '@');
    check.condition.split(|c| !is_name(c)).any(|word| eq_ignore_case(word, column))
}

fn remove_constraint(def: &mut TableDef, constraint: &str) -> bool {
    let before = (def.keys.len(), def.checks.len());
    def.keys.retain(|key| !(key.constraint && eq_ignore_case(&key.name, constraint)));
    def.checks.retain(|check| !eq_ignore_case(&check.name, constraint));
    let defaulted = def
        .columns
        .iter_mut()
        .find(|column| column.default_name.as_ref().is_some_and(|name| eq_ignore_case(name, constraint)));
    if let Some(column) = defaulted {
        column.default = None;
        column.default_name = None;
        return true;
    }
    before != (def.keys.len(), def.checks.len())
}

/// ALTER COLUMN: another type or nullability; values are converted.
fn alter_column(
    (table, name): (TableKey, &str),
    mut def: TableDef,
    written: &ColumnDefinition,
    ctx: &mut Context<'_, '_>,
) -> Op<()> {
    let column_name = written.name.as_str();
    let place = def.column_index(column_name).ok_or_else(|| errors::no_column_to_alter(column_name, name))?;
    let ColumnContent::Type(data_type) = &written.content else {
        return Err(SqlError::unsupported("computed column").into());
    };
    let ty = resolve_type(data_type)?;
    let column = &mut def.columns[place].column;
    column.ty = ty;
    column.nullable = written.nullable.unwrap_or(true);
    let nullable = column.nullable;
    ctx.tx.alter_table(table, def, |row| {
        let mut row = row.to_vec();
        let value = assign(std::mem::take(&mut row[place]), ty, name, column_name)?;
        if value.is_null() && !nullable {
            return Err(errors::null_not_allowed(column_name, name, "ALTER TABLE"));
        }
        row[place] = value;
        Ok(row)
    })
}
