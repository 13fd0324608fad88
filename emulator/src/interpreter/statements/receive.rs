//! RECEIVE and GET CONVERSATION GROUP, alone and inside WAITFOR.
//!
//! The column expressions are evaluated inside the operation that takes the messages: if one fails, nothing was taken.
//! This file must not know how messages are chosen.

use std::sync::Arc;
use std::time::Duration;

use super::variables::combined;
use crate::engine::{self, Filter, Op, Tx, Waiting};
use crate::error::SqlError;
use crate::interpreter::errors;
use crate::interpreter::execution::{Done, Execution, Stop};
use crate::interpreter::frame::Frame;
use crate::interpreter::names::object_name;
use crate::interpreter::operands::{assign, constant_uuid, declared_type, integer};
use crate::interpreter::scope::Scope;
use crate::output::Command;
use crate::relational::{Environment, Projection, convert, queue_columns, queue_row};
use crate::tsql::ast::broker::{GetConversationGroup, Receive, ReceiveFilter};
use crate::tsql::ast::{Expr, SelectItem};
use crate::value::{Column, SqlType, Timestamp, Value};

/// The rows a RECEIVE returns to the client, or the number of messages it took without returning any.
enum Received {
    /// To the client.
    Rows { columns: Arc<[Column]>, rows: Vec<Vec<Value>> },
    /// Into variables or a table variable.
    Kept { count: usize },
}

/// `RECEIVE ..` without WAITFOR.
pub(super) async fn receive(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    statement: &Receive,
) -> Result<Done, Stop> {
    let received = execution.operate(frame, |tx, scope| take(statement, Waiting::No, scope, tx)).await?;
    deliver(execution, received).await
}

/// `WAITFOR (RECEIVE ..) [, TIMEOUT n]`: when the time is over, one last RECEIVE that does not wait decides.
pub(super) async fn wait_for_receive(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    statement: &Receive,
    timeout: Option<&Expr>,
) -> Result<Done, Stop> {
    let limit = limit_of(execution, frame, timeout).await?;
    let waited =
        execution.operate_until(frame, limit, |tx, scope| take(statement, Waiting::Yes, scope, tx)).await?;
    let received = match waited {
        Some(received) => received,
        None => execution.operate(frame, |tx, scope| take(statement, Waiting::Over, scope, tx)).await?,
    };
    deliver(execution, received).await
}

/// `GET CONVERSATION GROUP @g FROM queue`; NULL when there is none (U-18).
pub(super) async fn get_conversation_group(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    statement: &GetConversationGroup,
) -> Result<Done, Stop> {
    execution.operate(frame, |tx, scope| take_group(statement, Waiting::No, scope, tx)).await?;
    Ok(Done::PLAIN)
}

/// `WAITFOR (GET CONVERSATION GROUP ..) [, TIMEOUT n]`
pub(super) async fn wait_for_group(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    statement: &GetConversationGroup,
    timeout: Option<&Expr>,
) -> Result<Done, Stop> {
    let limit = limit_of(execution, frame, timeout).await?;
    let waited = execution
        .operate_until(frame, limit, |tx, scope| take_group(statement, Waiting::Yes, scope, tx))
        .await?;
    match waited {
        Some(()) => Ok(Done::PLAIN),
        None => {
            execution.operate(frame, |tx, scope| take_group(statement, Waiting::Over, scope, tx)).await?;
            Ok(Done::PLAIN)
        }
    }
}

/// When a TIMEOUT in milliseconds is over: never for none and for -1; other negative ones are refused (U-38).
async fn limit_of(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    timeout: Option<&Expr>,
) -> Result<Option<Timestamp>, Stop> {
    let Some(timeout) = timeout else { return Ok(None) };
    let milliseconds = execution.operate(frame, |tx, scope| integer(timeout, scope, tx)).await?;
    match milliseconds {
        None | Some(-1) => Ok(None),
        Some(milliseconds) => {
            let wait = u64::try_from(milliseconds)
                .map_err(|_| errors::clause_type("TIMEOUT", "int, -1 or above"))?;
            Ok(Some(execution.state.instance.clock().now().plus(Duration::from_millis(wait))))
        }
    }
}

async fn deliver(execution: &mut Execution<'_>, received: Received) -> Result<Done, Stop> {
    match received {
        Received::Rows { columns, rows } => {
            let count = rows.len();
            execution.send_rows(columns, rows).await?;
            Ok(Done::rows(Command::Select, count))
        }
        Received::Kept { count } => Ok(Done::assigned_from(count)),
    }
}

fn take(statement: &Receive, waiting: Waiting, scope: &mut Scope<'_>, tx: &mut Tx<'_>) -> Op<Received> {
    check_shape(statement)?;
    let queue = tx.resolve_queue(&object_name(&statement.queue)?)?;
    let top = top(statement.top.as_ref(), scope, tx)?;
    let filter = filter(statement.filter.as_ref(), scope)?;
    let messages = tx.receive(&engine::Receive { queue, top, filter, waiting })?;
    hand_out(statement, messages.iter().map(queue_row).collect(), scope, tx)
}

fn take_group(
    statement: &GetConversationGroup,
    waiting: Waiting,
    scope: &mut Scope<'_>,
    tx: &mut Tx<'_>,
) -> Op<()> {
    let variable = statement.group.as_str();
    if declared_type(scope, variable)? != SqlType::UniqueIdentifier {
        return Err(errors::clause_type("GET CONVERSATION GROUP", "uniqueidentifier").into());
    }
    let queue = tx.resolve_queue(&object_name(&statement.queue)?)?;
    let group = tx.get_conversation_group(queue, waiting)?;
    Ok(assign(scope, variable, group.into())?)
}

/// Assignments go with neither columns (8447) nor INTO (8450).
fn check_shape(statement: &Receive) -> Result<(), SqlError> {
    let assigning = statement.items.iter().filter(|item| matches!(item, SelectItem::Assign { .. })).count();
    match assigning {
        0 => Ok(()),
        _ if assigning < statement.items.len() => Err(errors::receive_mixes()),
        _ if statement.into.is_some() => Err(errors::receive_assigns_into()),
        _ => Ok(()),
    }
}

/// Rows TOP allows; a NULL or negative number is refused.
fn top(written: Option<&Expr>, scope: &mut Scope<'_>, tx: &mut Tx<'_>) -> Op<Option<u64>> {
    let Some(written) = written else { return Ok(None) };
    let count = integer(written, scope, tx)?.and_then(|count| u64::try_from(count).ok());
    Ok(Some(count.ok_or_else(errors::top_needs_a_number)?))
}

fn filter(written: Option<&ReceiveFilter>, scope: &Scope<'_>) -> Result<Filter, SqlError> {
    Ok(match written {
        None => Filter::None,
        Some(ReceiveFilter::Conversation(handle)) => {
            Filter::Conversation(constant_uuid(handle, scope)?.ok_or_else(errors::handle_missing)?)
        }
        Some(ReceiveFilter::Group(group)) => {
            Filter::Group(constant_uuid(group, scope)?.ok_or_else(errors::group_missing)?)
        }
    })
}

/// Gives message rows to wherever the statement wants them.
fn hand_out(
    statement: &Receive,
    messages: Vec<Vec<Value>>,
    scope: &mut Scope<'_>,
    tx: &mut Tx<'_>,
) -> Op<Received> {
    let count = messages.len();
    if let Some(SelectItem::Assign { .. }) = statement.items.first() {
        assign_each(&statement.items, &messages, scope, tx)?;
        return Ok(Received::Kept { count });
    }
    let projection = Projection::bind(&statement.items, &queue_columns(), scope, tx)?;
    let mut rows = Vec::with_capacity(count);
    for message in &messages {
        rows.push(projection.row(message, scope, tx)?);
    }
    let columns = projection.columns();
    match &statement.into {
        None => Ok(Received::Rows { columns, rows }),
        Some(variable) => {
            store(variable.as_str(), columns.len(), rows, scope)?;
            Ok(Received::Kept { count })
        }
    }
}

/// `@v = expression` for every message in turn: the last one stays, and without any the variables keep their values.
fn assign_each(
    items: &[SelectItem],
    messages: &[Vec<Value>],
    scope: &mut Scope<'_>,
    tx: &mut Tx<'_>,
) -> Op<()> {
    let (variables, values): (Vec<_>, Vec<_>) = items.iter().filter_map(assignment).unzip();
    let projection = Projection::bind(&values, &queue_columns(), scope, tx)?;
    for message in messages {
        let row = projection.row(message, scope, tx)?;
        for (variable, value) in variables.iter().zip(row) {
            assign(scope, variable, value)?;
        }
    }
    Ok(())
}

/// The variable of an assignment and the expression it gets.
fn assignment(item: &SelectItem) -> Option<(&str, SelectItem)> {
    let SelectItem::Assign { variable, op, value } = item else { return None };
    let value = combined(variable, *op, value).unwrap_or_else(|| value.clone());
    Some((variable.as_str(), SelectItem::Value { value, alias: None }))
}

/// Appends rows to a table variable, column by column as INSERT converts them.
fn store(variable: &str, width: usize, rows: Vec<Vec<Value>>, scope: &mut Scope<'_>) -> Result<(), SqlError> {
    let table =
        scope.table_variable_mut(variable).ok_or_else(|| errors::table_variable_not_declared(variable))?;
    let types: Vec<SqlType> = table.columns.iter().map(|column| column.column.ty).collect();
    if types.len() != width {
        return Err(errors::column_count_differs());
    }
    for row in rows {
        let converted = row.into_iter().zip(&types).map(|(value, ty)| convert(value, *ty, None, false));
        table.insert(converted.collect::<Result<_, _>>()?)?;
    }
    Ok(())
}
