//! Operands of statements: what their expressions, names and variables come to, in the type the statement wants.
//!
//! All are evaluated inside the operation that uses them. This file must not know any particular statement.

use uuid::Uuid;

use super::errors;
use super::frame::Frame;
use super::scope::Scope;
use crate::engine::{Op, Tx};
use crate::error::SqlError;
use crate::relational::{Environment, convert, evaluate};
use crate::tsql::ast::Expr;
use crate::tsql::ast::broker::{NameOrVariable, TextOrVariable};
use crate::tsql::ast::name::VariableName;
use crate::value::{Length, SqlType, Value};

/// The value of an expression as a whole number; `None` for NULL.
pub(super) fn integer(expression: &Expr, scope: &mut Scope<'_>, tx: &mut Tx<'_>) -> Op<Option<i64>> {
    let (_, value) = evaluate(expression, scope, tx)?;
    Ok(to_integer(value)?)
}

/// The value of an expression as text; `None` for NULL.
pub(super) fn text(expression: &Expr, scope: &mut Scope<'_>, tx: &mut Tx<'_>) -> Op<Option<String>> {
    let (_, value) = evaluate(expression, scope, tx)?;
    Ok(to_text(value)?)
}

/// The value of an expression as a uniqueidentifier; `None` for NULL, 8169 for a text that is none.
pub(super) fn uuid(expression: &Expr, scope: &mut Scope<'_>, tx: &mut Tx<'_>) -> Op<Option<Uuid>> {
    let (_, value) = evaluate(expression, scope, tx)?;
    Ok(to_uuid(value)?)
}

/// A name written out or held by a variable; `None` for NULL.
pub(super) fn name(name: &NameOrVariable, scope: &Scope<'_>) -> Result<Option<String>, SqlError> {
    match name {
        NameOrVariable::Name(name) => Ok(Some(name.as_str().to_owned())),
        NameOrVariable::Variable(variable) => to_text(value_of(variable, scope)?),
    }
}

/// A text written out or held by a variable; `None` for NULL.
pub(super) fn constant_text(text: &TextOrVariable, scope: &Scope<'_>) -> Result<Option<String>, SqlError> {
    match text {
        TextOrVariable::Text(text) => Ok(Some(text.clone())),
        TextOrVariable::Variable(variable) => to_text(value_of(variable, scope)?),
    }
}

/// A uniqueidentifier written out as text or held by a variable; `None` for NULL.
pub(super) fn constant_uuid(text: &TextOrVariable, scope: &Scope<'_>) -> Result<Option<Uuid>, SqlError> {
    match text {
        TextOrVariable::Text(text) => to_uuid(Value::nvarchar(text)),
        TextOrVariable::Variable(variable) => to_uuid(value_of(variable, scope)?),
    }
}

/// Puts a value into a variable, converted to its type as SET does.
pub(super) fn assign(scope: &mut Scope<'_>, variable: &str, value: Value) -> Result<(), SqlError> {
    let ty = declared_type(scope, variable)?;
    let value = convert(value, ty, None, false)?;
    scope.set_variable(variable, value);
    Ok(())
}

/// Declared type of a variable; 137 when there is none of that name.
pub(super) fn declared_type(scope: &Scope<'_>, variable: &str) -> Result<SqlType, SqlError> {
    let known = scope.variable(variable).map(|(ty, _)| *ty);
    known.ok_or_else(|| errors::variable_not_declared(variable))
}

/// The text in a variable of `frame`, outside any operation; `None` for NULL.
pub(super) fn variable_text(frame: &Frame, variable: &VariableName) -> Result<Option<String>, SqlError> {
    let name = variable.as_str();
    let slot = frame.variables.find(name, frame.at).and_then(|slot| frame.variables.scalar(slot));
    let (_, value) = slot.ok_or_else(|| errors::variable_not_declared(name))?;
    to_text(value.clone())
}

/// A value as a whole number; `None` for NULL.
pub(super) fn to_integer(value: Value) -> Result<Option<i64>, SqlError> {
    match convert(value, SqlType::BigInt, None, false)? {
        Value::BigInt(number) => Ok(Some(number)),
        _ => Ok(None),
    }
}

/// A value as text; `None` for NULL.
pub(super) fn to_text(value: Value) -> Result<Option<String>, SqlError> {
    match convert(value, SqlType::NVarChar(Length::Max), None, false)? {
        Value::Text(text) => Ok(Some(text.to_string())),
        _ => Ok(None),
    }
}

fn to_uuid(value: Value) -> Result<Option<Uuid>, SqlError> {
    match convert(value, SqlType::UniqueIdentifier, None, false)? {
        Value::Uuid(uuid) => Ok(Some(uuid)),
        _ => Ok(None),
    }
}

fn value_of(variable: &VariableName, scope: &Scope<'_>) -> Result<Value, SqlError> {
    let name = variable.as_str();
    let known = scope.variable(name).map(|(_, value)| value.clone());
    known.ok_or_else(|| errors::variable_not_declared(name))
}
