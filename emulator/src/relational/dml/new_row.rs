//! Complete rows from given values: conversion to column types, defaults, identity, computed columns, NOT NULL, CHECK.

use crate::engine::Op;
use crate::error::SqlError;
use crate::relational::compare::in_collation;
use crate::relational::convert::assign;
use crate::relational::dml::shape::{Place, Shape};
use crate::relational::environment::Context;
use crate::relational::errors;
use crate::relational::expression::{Binder, Bound, Predicate, holds, value};
use crate::relational::query::CommonTables;
use crate::relational::scope::{Frame, Scope};
use crate::relational::stored_expression::{parse_condition, parse_expression};
use crate::value::{SqlType, Value};

/// Makes complete rows for one table.
pub(super) struct RowMaker {
    defaults: Vec<Option<Bound>>,
    computed: Vec<Option<Bound>>,
    checks: Vec<Predicate>,
}

impl RowMaker {
    /// Binds the defaults and computed columns of a table.
    ///
    /// # Errors
    /// Those of the stored expressions; 40510 for `rowversion` columns.
    pub(super) fn new(shape: &Shape, ctx: &mut Context<'_, '_>) -> Op<RowMaker> {
        if let Some(column) = shape.columns.iter().find(|column| column.column.ty == SqlType::RowVersion) {
            return Err(SqlError::unsupported(format!(
                "writing to a table with rowversion column {}",
                column.column.name
            ))
            .into());
        }
        let columns = shape.pseudo_columns(&shape.name);
        let scope = Scope::new(&columns, None);
        let (mut defaults, mut computed) = (Vec::new(), Vec::new());
        for column in &shape.columns {
            defaults.push(bind_stored(column.default.as_deref(), &Scope::empty(), ctx)?);
            computed.push(bind_stored(column.computed.as_deref(), &scope, ctx)?);
        }
        let checks = bind_checks(shape, &scope, ctx)?;
        Ok(RowMaker { defaults, computed, checks })
    }

    /// A row to insert: columns without a value get their default, the identity column its next value.
    ///
    /// # Errors
    /// 2628 for values that would be cut, 515 for NULL where it is not allowed, and those of conversions and defaults.
    pub(super) fn inserted(
        &self,
        shape: &Shape,
        given: Vec<Option<Value>>,
        ctx: &mut Context<'_, '_>,
    ) -> Op<Vec<Value>> {
        let mut row = Vec::with_capacity(given.len());
        for (index, given) in given.into_iter().enumerate() {
            let column = &shape.columns[index];
            let new = match (given, &self.defaults[index]) {
                (Some(given), _) => given,
                (None, _) if column.identity.is_some() => next_identity(shape, ctx)?,
                (None, Some(default)) => value(default, &Frame::EMPTY, ctx)?,
                (None, None) => Value::Null,
            };
            row.push(stored(new, shape, index)?);
        }
        self.finished(shape, row, "INSERT", ctx)
    }

    /// A row after its new values have been set: computed columns follow.
    ///
    /// # Errors
    /// 515 and those of computed columns.
    pub(super) fn updated(
        &self,
        shape: &Shape,
        row: Vec<Value>,
        ctx: &mut Context<'_, '_>,
    ) -> Op<Vec<Value>> {
        self.finished(shape, row, "UPDATE", ctx)
    }

    /// The default of a column, for `SET column = DEFAULT`.
    ///
    /// # Errors
    /// Those of the default.
    pub(super) fn default_of(&self, index: usize, ctx: &mut Context<'_, '_>) -> Op<Value> {
        match &self.defaults[index] {
            Some(default) => value(default, &Frame::EMPTY, ctx),
            None => Ok(Value::Null),
        }
    }

    /// A row with its computed columns, checked.
    ///
    /// # Errors
    /// 515, 547 and those of computed columns.
    pub(super) fn finished(
        &self,
        shape: &Shape,
        mut row: Vec<Value>,
        statement: &str,
        ctx: &mut Context<'_, '_>,
    ) -> Op<Vec<Value>> {
        for (index, computed) in self.computed.iter().enumerate() {
            if let Some(computed) = computed {
                let new = value(computed, &Frame::new(&row, None), ctx)?;
                row[index] = stored(new, shape, index)?;
            }
        }
        let wrong =
            row.iter().zip(&shape.columns).find(|(value, column)| value.is_null() && !column.column.nullable);
        if let Some((_, column)) = wrong {
            return Err(errors::null_not_allowed(&column.column.name, &shape.name, statement).into());
        }
        for (check, predicate) in shape.checks.iter().zip(&self.checks) {
            // A condition that is unknown is satisfied.
            if holds(predicate, &Frame::new(&row, None), ctx)? == Some(false) {
                return Err(errors::check_violated(statement, &check.name, &shape.name).into());
            }
        }
        Ok(row)
    }
}

fn bind_checks(shape: &Shape, scope: &Scope<'_>, ctx: &mut Context<'_, '_>) -> Op<Vec<Predicate>> {
    let mut bound = Vec::with_capacity(shape.checks.len());
    for check in &shape.checks {
        let condition = parse_condition(&check.condition)?;
        bound.push(Binder::new(scope, CommonTables::NONE, ctx).condition(&condition)?);
    }
    Ok(bound)
}

/// A value as its column stores it: in the column's type and collation.
///
/// # Errors
/// 2628 and those of conversions.
pub(super) fn stored(value: Value, shape: &Shape, index: usize) -> Result<Value, SqlError> {
    let column = &shape.columns[index].column;
    let value = assign(value, column.ty, &shape.name, &column.name)?;
    Ok(in_collation(value, column.collation))
}

fn bind_stored(text: Option<&str>, scope: &Scope<'_>, ctx: &mut Context<'_, '_>) -> Op<Option<Bound>> {
    let Some(text) = text else { return Ok(None) };
    let expr = parse_expression(text)?;
    Binder::new(scope, CommonTables::NONE, ctx).expression(&expr).map(Some)
}

fn next_identity(shape: &Shape, ctx: &mut Context<'_, '_>) -> Op<Value> {
    let next = match &shape.place {
        Place::Table(key) => ctx.tx.next_identity(*key),
        Place::Variable(name) => ctx.env.table_variable_mut(name).and_then(|table| table.next_identity()),
    };
    let Some(next) = next else { return Ok(Value::Null) };
    ctx.env.identity_inserted(next);
    Ok(Value::BigInt(next))
}
