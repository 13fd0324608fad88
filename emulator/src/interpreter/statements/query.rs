//! SELECT, INSERT, UPDATE, DELETE and MERGE: hands them to `relational` and the results to the client.
//!
//! This file must not know how queries are evaluated.

use super::tables::note_temporary;
use crate::interpreter::execution::{Done, Execution, Stop};
use crate::interpreter::frame::Frame;
use crate::output::Command;
use crate::relational::{self, DmlOutcome, QueryOutcome};
use crate::tsql::ast::dml::{Delete, Insert, Update};
use crate::tsql::ast::query::{QueryBody, SelectStatement};

/// `SELECT ..`
pub(super) async fn select(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    statement: &SelectStatement,
) -> Result<Done, Stop> {
    match execution.operate(frame, |tx, scope| relational::query(statement, scope, tx)).await? {
        QueryOutcome::Rows { columns, rows } => {
            let count = rows.len();
            execution.send_rows(columns, rows).await?;
            Ok(Done::rows(Command::Select, count))
        }
        QueryOutcome::Assigned { count } => Ok(Done::assigned_from(count)),
        QueryOutcome::Into { count } => {
            if let QueryBody::Select(select) = &statement.query.body
                && let Some(table) = &select.into
            {
                note_temporary(frame, table);
            }
            Ok(Done::rows(Command::Select, count))
        }
    }
}

/// `INSERT ..`
pub(super) async fn insert(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    statement: &Insert,
) -> Result<Done, Stop> {
    let outcome = execution.operate(frame, |tx, scope| relational::insert(statement, scope, tx)).await?;
    changed(execution, Command::Insert, outcome).await
}

/// `UPDATE ..`
pub(super) async fn update(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    statement: &Update,
) -> Result<Done, Stop> {
    let outcome = execution.operate(frame, |tx, scope| relational::update(statement, scope, tx)).await?;
    changed(execution, Command::Update, outcome).await
}

/// `DELETE ..`
pub(super) async fn delete(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    statement: &Delete,
) -> Result<Done, Stop> {
    let outcome = execution.operate(frame, |tx, scope| relational::delete(statement, scope, tx)).await?;
    changed(execution, Command::Delete, outcome).await
}

/// Sends what OUTPUT returned and counts the rows changed.
async fn changed(execution: &mut Execution<'_>, command: Command, outcome: DmlOutcome) -> Result<Done, Stop> {
    if let Some((columns, rows)) = outcome.output {
        execution.send_rows(columns, rows).await?;
    }
    Ok(Done::rows(command, outcome.count))
}
