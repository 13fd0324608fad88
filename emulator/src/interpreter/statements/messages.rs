//! Statements that say something: PRINT, RAISERROR, THROW.
//!
//! This file must not know what becomes of an error once it is raised.

use crate::engine::{Op, Tx};
use crate::error::SqlError;
use crate::interpreter::effects::Origin;
use crate::interpreter::errors;
use crate::interpreter::execution::{Done, Execution, Stop};
use crate::interpreter::frame::Frame;
use crate::interpreter::message_format::format_message;
use crate::interpreter::operands::{integer, text};
use crate::interpreter::scope::Scope;
use crate::relational::{convert, evaluate};
use crate::tsql::ast::Expr;
use crate::tsql::ast::statement::{RaiseError, Throw};
use crate::value::{SqlType, Value};

/// Numbers below this belong to the server's own messages, which RAISERROR must not use.
const FIRST_RAISABLE: i64 = 13_000;

/// The number of messages raised by text.
const BY_TEXT: i32 = 50_000;

/// `PRINT value`: a notice of number 0; NULL prints an empty text.
pub(super) async fn print(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    value: &Expr,
) -> Result<Done, Stop> {
    let message = execution
        .operate(frame, |tx, scope| {
            let (ty, value) = evaluate(value, scope, tx)?;
            Ok(printable(ty, value)?)
        })
        .await?;
    execution.inform(frame, notice(0, 0, 1, message));
    Ok(Done::PLAIN)
}

/// `RAISERROR (message, severity, state, arguments..)`. Severities up to 10 are notices and leave `@@ERROR` at 0 unless
/// SETERROR was written; 20 and above close the connection.
pub(super) async fn raise_error(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    statement: &RaiseError,
) -> Result<Done, Stop> {
    let raised = execution
        .operate(frame, |tx, scope| Ok(Message::evaluate(statement, scope, tx)?.into_error()?))
        .await?;
    if statement.log {
        tracing::info!(number = raised.number, severity = raised.severity, message = %raised.message, "RAISERROR WITH LOG");
    }
    if raised.severity > 10 {
        return Err(Stop::raised(raised, Origin::Raiserror));
    }
    let error_number = if statement.set_error { raised.number } else { 0 };
    execution.inform(frame, raised);
    if statement.no_wait {
        execution.flush_all().await?;
    }
    Ok(Done { error_number, ..Done::PLAIN })
}

/// `THROW number, message, state`, or `THROW` alone, which raises the caught error again.
pub(super) async fn throw(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    statement: Option<&Throw>,
) -> Result<Done, Stop> {
    let Some(statement) = statement else {
        let caught = execution.state.caught.get(frame.caught_before..).and_then(|own| own.last());
        let caught = caught.cloned().ok_or_else(errors::throw_outside_catch)?;
        return Err(Stop::raised(caught, Origin::Throw));
    };
    let error = execution
        .operate(frame, |tx, scope| {
            let number = integer(&statement.number, scope, tx)?.unwrap_or(0);
            let message = text(&statement.message, scope, tx)?.unwrap_or_default();
            let state = integer(&statement.state, scope, tx)?.unwrap_or(0);
            Ok(thrown(number, message, state)?)
        })
        .await?;
    Err(Stop::raised(error, Origin::Throw))
}

fn thrown(number: i64, message: String, state: i64) -> Result<SqlError, SqlError> {
    let valid = i32::try_from(number).ok().filter(|number| *number >= BY_TEXT);
    let number = valid.ok_or_else(|| errors::throw_number(number))?;
    let state = u8::try_from(state).map_err(|_| errors::raiserror_state(state))?;
    Ok(SqlError::new(number, message).state(state))
}

fn printable(ty: SqlType, value: Value) -> Result<String, SqlError> {
    if value.is_null() {
        return Ok(String::new());
    }
    let narrow = matches!(ty, SqlType::Char(_) | SqlType::VarChar(_) | SqlType::Text);
    let target = if narrow { SqlType::varchar(8000) } else { SqlType::nvarchar(4000) };
    match convert(value, target, None, true)? {
        Value::Text(text) => Ok(text.to_string()),
        _ => Ok(String::new()),
    }
}

fn notice(number: i32, severity: u8, state: u8, message: String) -> SqlError {
    SqlError::with_severity(number, severity, message).state(state)
}

/// What RAISERROR's operands evaluate to.
struct Message {
    message: Value,
    severity: i64,
    state: i64,
    arguments: Vec<Value>,
    log: bool,
}

impl Message {
    fn evaluate(statement: &RaiseError, scope: &mut Scope<'_>, tx: &mut Tx<'_>) -> Op<Message> {
        let (_, message) = evaluate(&statement.message, scope, tx)?;
        let severity = integer(&statement.severity, scope, tx)?.unwrap_or(0);
        let state = integer(&statement.state, scope, tx)?.unwrap_or(0);
        let mut arguments = Vec::with_capacity(statement.arguments.len());
        for argument in &statement.arguments {
            arguments.push(evaluate(argument, scope, tx)?.1);
        }
        Ok(Message { message, severity, state, arguments, log: statement.log })
    }

    fn into_error(self) -> Result<SqlError, SqlError> {
        if self.severity > 18 && !self.log {
            return Err(errors::severity_needs_log());
        }
        if self.state > 255 {
            return Err(errors::raiserror_state(self.state));
        }
        let severity = if self.severity == 10 { 0 } else { self.severity.clamp(0, 25) as u8 };
        let state = if self.state < 0 { 1 } else { self.state as u8 };
        let template = match &self.message {
            Value::Text(template) => template.to_string(),
            Value::Null => String::new(),
            other => return Err(self.by_number(other)),
        };
        Ok(notice(BY_TEXT, severity, state, format_message(&template, &self.arguments)?))
    }

    /// The emulator keeps no user messages, so a message number always ends in an error.
    fn by_number(&self, number: &Value) -> SqlError {
        match convert(number.clone(), SqlType::BigInt, None, false) {
            Ok(Value::BigInt(number)) if number < FIRST_RAISABLE || number == i64::from(BY_TEXT) => {
                errors::raiserror_number(number)
            }
            Ok(Value::BigInt(number)) => errors::no_such_message(number, self.severity, self.state),
            Ok(_) => errors::raiserror_number(0),
            Err(error) => error,
        }
    }
}
