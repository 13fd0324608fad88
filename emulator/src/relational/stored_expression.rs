//! Expressions that a table keeps as text: defaults, computed columns, CHECK constraints.

use crate::error::SqlError;
use crate::tsql::ast::query::{QueryBody, Select};
use crate::tsql::ast::{Condition, Expr, SelectItem, StatementKind};
use crate::tsql::{ParseOptions, parse_batch};

/// The expression in a text.
///
/// # Errors
/// 102 when the text is no expression.
pub(crate) fn parse_expression(text: &str) -> Result<Expr, SqlError> {
    let batch = parse_batch(&format!("SELECT {text}"), ParseOptions::default())
        .map_err(|error| SqlError::with_severity(error.number, 15, error.message))?;
    let kind = batch.statements.into_iter().next().map(|statement| statement.kind);
    let Some(StatementKind::Select(select)) = kind else { return Err(no_expression(text)) };
    let QueryBody::Select(select) = select.query.body else { return Err(no_expression(text)) };
    only_value(*select).ok_or_else(|| no_expression(text))
}

/// The condition in a text.
///
/// # Errors
/// 102 when the text is no condition.
pub(crate) fn parse_condition(text: &str) -> Result<Condition, SqlError> {
    let batch = parse_batch(&format!("SELECT 1 WHERE {text}"), ParseOptions::default())
        .map_err(|error| SqlError::with_severity(error.number, 15, error.message))?;
    let kind = batch.statements.into_iter().next().map(|statement| statement.kind);
    let Some(StatementKind::Select(select)) = kind else { return Err(no_expression(text)) };
    let QueryBody::Select(select) = select.query.body else { return Err(no_expression(text)) };
    select.filter.ok_or_else(|| no_expression(text))
}

fn only_value(select: Select) -> Option<Expr> {
    match select.items.into_iter().next()? {
        SelectItem::Value { value, .. } => Some(value),
        _ => None,
    }
}

fn no_expression(text: &str) -> SqlError {
    crate::relational::errors::incorrect_syntax(text)
}
