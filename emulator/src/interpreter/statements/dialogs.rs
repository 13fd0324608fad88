//! Statements about conversations other than RECEIVE: BEGIN DIALOG, SEND, END, MOVE, TIMER.
//!
//! Each evaluates its operands and calls the engine within one operation. This file must not know what a conversation
//! is made of.

use bytes::Bytes;
use uuid::Uuid;

use crate::engine::{self, Body, End, Op, Tx};
use crate::error::SqlError;
use crate::interpreter::errors;
use crate::interpreter::execution::{Done, Execution, Stop};
use crate::interpreter::frame::Frame;
use crate::interpreter::operands::{assign, constant_text, declared_type, integer, name, text, uuid};
use crate::interpreter::scope::Scope;
use crate::relational::{convert, evaluate};
use crate::tsql::ast::Expr;
use crate::tsql::ast::broker::{
    BeginConversationTimer, BeginDialog, EndConversation, EndMode, MoveConversation, Related, Send,
};
use crate::value::{Length, SqlType, Value};

/// `BEGIN DIALOG ..`; the handle's variable must be a uniqueidentifier (8402).
pub(super) async fn begin_dialog(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    statement: &BeginDialog,
) -> Result<Done, Stop> {
    execution
        .operate(frame, |tx, scope| {
            let variable = statement.handle.as_str();
            if declared_type(scope, variable)? != SqlType::UniqueIdentifier {
                return Err(errors::clause_type("BEGIN DIALOG", "uniqueidentifier").into());
            }
            let dialog = dialog_of(statement, scope, tx)?;
            let handle = tx.begin_dialog(&dialog)?;
            Ok(assign(scope, variable, Value::Uuid(handle))?)
        })
        .await?;
    Ok(Done::PLAIN)
}

/// `BEGIN CONVERSATION TIMER (handle) TIMEOUT = seconds`
pub(super) async fn begin_timer(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    statement: &BeginConversationTimer,
) -> Result<Done, Stop> {
    execution
        .operate(frame, |tx, scope| {
            let handle = handle(&statement.handle, scope, tx)?;
            let seconds = integer(&statement.timeout, scope, tx)?;
            let seconds = seconds.ok_or_else(|| errors::clause_type("TIMEOUT", "int, not NULL"))?;
            tx.begin_timer(handle, seconds)
        })
        .await?;
    Ok(Done::PLAIN)
}

/// `SEND ON CONVERSATION ..`
pub(super) async fn send(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    statement: &Send,
) -> Result<Done, Stop> {
    execution
        .operate(frame, |tx, scope| {
            let mut handles = Vec::with_capacity(statement.handles.len());
            for expression in &statement.handles {
                handles.push(handle(expression, scope, tx)?);
            }
            let message_type = match &statement.message_type {
                Some(written) => Some(name(written, scope)?.unwrap_or_default()),
                None => None,
            };
            let body = body(statement.body.as_ref(), scope, tx)?;
            tx.send(&handles, message_type.as_deref(), &body)
        })
        .await?;
    Ok(Done::PLAIN)
}

/// `MOVE CONVERSATION handle TO group`
pub(super) async fn move_conversation(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    statement: &MoveConversation,
) -> Result<Done, Stop> {
    execution
        .operate(frame, |tx, scope| {
            let handle = handle(&statement.handle, scope, tx)?;
            let group = uuid(&statement.group, scope, tx)?.ok_or_else(errors::group_missing)?;
            tx.move_conversation(handle, group)
        })
        .await?;
    Ok(Done::PLAIN)
}

/// `END CONVERSATION handle ..`
pub(super) async fn end_conversation(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    statement: &EndConversation,
) -> Result<Done, Stop> {
    execution
        .operate(frame, |tx, scope| {
            let handle = handle(&statement.handle, scope, tx)?;
            let end = end_of(&statement.mode, scope, tx)?;
            tx.end_conversation(handle, &end)
        })
        .await?;
    Ok(Done::PLAIN)
}

/// A conversation handle; 8418 for NULL.
fn handle(expression: &Expr, scope: &mut Scope<'_>, tx: &mut Tx<'_>) -> Op<Uuid> {
    Ok(uuid(expression, scope, tx)?.ok_or_else(errors::handle_missing)?)
}

fn dialog_of(statement: &BeginDialog, scope: &mut Scope<'_>, tx: &mut Tx<'_>) -> Op<engine::BeginDialog> {
    let from_service = name(&statement.from_service, scope)?.ok_or_else(errors::service_name_missing)?;
    let to_service = constant_text(&statement.to_service, scope)?.ok_or_else(errors::service_name_missing)?;
    let broker_instance = match &statement.broker_instance {
        Some(instance) => constant_text(instance, scope)?,
        None => None,
    };
    let contract = match &statement.contract {
        Some(contract) => Some(name(contract, scope)?.ok_or_else(errors::contract_name_is_null)?),
        None => None,
    };
    let lifetime = match &statement.lifetime {
        Some(lifetime) => Some(integer(lifetime, scope, tx)?.ok_or_else(errors::lifetime_is_null)?),
        None => None,
    };
    Ok(engine::BeginDialog {
        from_service,
        to_service,
        broker_instance,
        contract,
        related: related(statement.related.as_ref(), scope, tx)?,
        lifetime,
        encryption: statement.encryption.unwrap_or(true),
    })
}

fn related(written: Option<&Related>, scope: &mut Scope<'_>, tx: &mut Tx<'_>) -> Op<Option<engine::Related>> {
    Ok(match written {
        None => None,
        Some(Related::Conversation(conversation)) => {
            Some(engine::Related::Conversation(handle(conversation, scope, tx)?))
        }
        Some(Related::Group(group)) => {
            let group = uuid(group, scope, tx)?.ok_or_else(errors::group_missing)?;
            Some(engine::Related::Group(group))
        }
    })
}

/// The bytes of a body as SEND stores them: text and binary as they are, xml as UTF-16LE with its mark (U-14).
fn body(written: Option<&Expr>, scope: &mut Scope<'_>, tx: &mut Tx<'_>) -> Op<Body> {
    let Some(written) = written else { return Ok(Body::Absent) };
    let (_, value) = evaluate(written, scope, tx)?;
    Ok(match bytes_of(value)? {
        Some(bytes) => Body::Bytes(bytes),
        None => Body::Null,
    })
}

fn bytes_of(value: Value) -> Result<Option<Bytes>, SqlError> {
    match value {
        Value::Xml(xml) => {
            let units = std::iter::once(&0xFEFF).chain(xml.units());
            Ok(Some(units.flat_map(|unit| unit.to_le_bytes()).collect()))
        }
        value => match convert(value, SqlType::VarBinary(Length::Max), None, true)? {
            Value::Binary(bytes) => Ok(Some(bytes)),
            _ => Ok(None),
        },
    }
}

fn end_of(mode: &EndMode, scope: &mut Scope<'_>, tx: &mut Tx<'_>) -> Op<End> {
    Ok(match mode {
        EndMode::Plain => End::Plain,
        EndMode::WithCleanup => End::Cleanup,
        EndMode::WithError { code, description } => {
            let code = integer(code, scope, tx)?;
            let text = text(description, scope, tx)?;
            let missing = errors::error_incomplete(code.is_none(), text.is_none());
            let (code, text) = code.zip(text).ok_or(missing)?;
            let code = i32::try_from(code).map_err(|_| errors::clause_type("ERROR", "int"))?;
            End::Error { code, text }
        }
    })
}
