//! Statements about cursors: DECLARE, OPEN, FETCH, CLOSE, DEALLOCATE.
//!
//! Cursors are GLOBAL unless declared LOCAL. This file must not know how rows are kept.

use std::sync::Arc;

use crate::error::SqlError;
use crate::interpreter::cursor::{Cursor, CursorRows, Move};
use crate::interpreter::errors;
use crate::interpreter::execution::{Done, Execution, Stop};
use crate::interpreter::frame::Frame;
use crate::interpreter::operands::{assign, integer};
use crate::output::Command;
use crate::relational::{self, QueryOutcome};
use crate::tsql::ast::cursor::{
    CursorDefinition, CursorModel, CursorName, CursorPurpose, CursorScope, CursorStatement, Fetch,
    FetchDirection,
};

/// Runs a cursor statement.
pub(super) async fn run(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    statement: &CursorStatement,
) -> Result<Done, Stop> {
    match statement {
        CursorStatement::Declare { name, definition } => declare(execution, frame, name.as_str(), definition),
        CursorStatement::Open(name) => open(execution, frame, name).await,
        CursorStatement::Fetch(it) => fetch(execution, frame, it).await,
        CursorStatement::Close(name) => {
            let (name, global) = written(name)?;
            let cursor = find(execution, frame, name, global)?;
            cursor.rows.take().map(|_| Done::PLAIN).ok_or_else(|| errors::cursor_not_open().into())
        }
        CursorStatement::Deallocate(name) => {
            let (name, global) = written(name)?;
            let removed = (!global && frame.cursors.remove(name)) || execution.state.cursors.remove(name);
            if removed { Ok(Done::PLAIN) } else { Err(errors::no_cursor(name).into()) }
        }
    }
}

fn declare(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    name: &str,
    definition: &CursorDefinition,
) -> Result<Done, Stop> {
    if matches!(definition.purpose, CursorPurpose::Update(_)) {
        return Err(SqlError::unsupported("cursors FOR UPDATE").into());
    }
    let any_order =
        matches!(definition.model, Some(CursorModel::Static | CursorModel::Keyset | CursorModel::Dynamic));
    let cursor = Cursor {
        query: Arc::new((*definition.query).clone()),
        scrolls: definition.scroll || (any_order && !definition.forward_only),
        rows: None,
    };
    match definition.scope {
        Some(CursorScope::Local) => frame.cursors.declare(name, cursor)?,
        _ => execution.state.cursors.declare(name, cursor)?,
    }
    Ok(Done { row_count: None, ..Done::PLAIN })
}

async fn open(execution: &mut Execution<'_>, frame: &mut Frame, name: &CursorName) -> Result<Done, Stop> {
    let (name, global) = written(name)?;
    let cursor = find(execution, frame, name, global)?;
    if cursor.rows.is_some() {
        return Err(errors::cursor_already_open().into());
    }
    let query = Arc::clone(&cursor.query);
    let outcome = execution.operate(frame, |tx, scope| relational::query(&query, scope, tx)).await?;
    let QueryOutcome::Rows { columns, rows } = outcome else {
        return Err(SqlError::unsupported("cursors over a SELECT that assigns or stores").into());
    };
    let rows = CursorRows::new(columns, rows);
    execution.state.cursor_rows = i32::try_from(rows.count()).unwrap_or(i32::MAX);
    find(execution, frame, name, global)?.rows = Some(rows);
    Ok(Done { row_count: None, ..Done::PLAIN })
}

/// `FETCH ..`; `@@FETCH_STATUS` is -1 beyond the rows, and then nothing is assigned.
async fn fetch(execution: &mut Execution<'_>, frame: &mut Frame, statement: &Fetch) -> Result<Done, Stop> {
    let (name, global) = written(&statement.cursor)?;
    let to = direction(execution, frame, &statement.direction).await?;
    let cursor = find(execution, frame, name, global)?;
    if to != Move::Next && !cursor.scrolls {
        return Err(errors::cursor_forward_only().into());
    }
    let rows = cursor.rows.as_mut().ok_or_else(errors::cursor_not_open)?;
    let columns = Arc::clone(&rows.columns);
    let row = rows.fetch(to).map(<[_]>::to_vec);
    execution.state.fetch_status = if row.is_some() { 0 } else { -1 };
    let count = usize::from(row.is_some());
    if statement.into.is_empty() {
        execution.send_rows(columns, row.into_iter().collect()).await?;
        return Ok(Done::rows(Command::Select, count));
    }
    if statement.into.len() != columns.len() {
        return Err(errors::fetch_into_count().into());
    }
    execution
        .operate(frame, |_, scope| {
            for (variable, value) in statement.into.iter().zip(row.iter().flatten()) {
                assign(scope, variable.as_str(), value.clone())?;
            }
            Ok(())
        })
        .await?;
    Ok(Done { told: false, ..Done::assigned_from(count) })
}

async fn direction(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    written: &FetchDirection,
) -> Result<Move, Stop> {
    let (place, make): (_, fn(i64) -> Move) = match written {
        FetchDirection::Next => return Ok(Move::Next),
        FetchDirection::Prior => return Ok(Move::Prior),
        FetchDirection::First => return Ok(Move::First),
        FetchDirection::Last => return Ok(Move::Last),
        FetchDirection::Absolute(place) => (place, Move::Absolute),
        FetchDirection::Relative(distance) => (distance, Move::Relative),
    };
    let place = execution.operate(frame, |tx, scope| integer(place, scope, tx)).await?;
    Ok(make(place.unwrap_or(0)))
}

/// The cursor of that name: a local one first, unless GLOBAL was written (16916).
fn find<'f>(
    execution: &'f mut Execution<'_>,
    frame: &'f mut Frame,
    name: &str,
    global: bool,
) -> Result<&'f mut Cursor, SqlError> {
    let local = if global { None } else { frame.cursors.find(name) };
    local.or_else(|| execution.state.cursors.find(name)).ok_or_else(|| errors::no_cursor(name))
}

fn written(name: &CursorName) -> Result<(&str, bool), SqlError> {
    match name {
        CursorName::Name { name, global } => Ok((name.as_str(), *global)),
        CursorName::Variable(_) => Err(SqlError::unsupported("cursor variables")),
    }
}
