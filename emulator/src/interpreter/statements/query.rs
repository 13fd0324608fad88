//! SELECT, INSERT, UPDATE, DELETE and MERGE: hands them to `relational` and the results to the client.
//!
//! This file must not know how queries are evaluated.

use std::future::Future;
use std::io;
use std::pin::Pin;

use super::execute;
use super::tables::note_temporary;
use crate::engine::Tx;
use crate::interpreter::errors;
use crate::interpreter::execution::{Done, Execution, Stop};
use crate::interpreter::frame::Frame;
use crate::interpreter::scope::Scope;
use crate::output::{Command, Event, ResultSink};
use crate::relational::{self, DmlOutcome, QueryOutcome};
use crate::tsql::ast::dml::{Delete, Insert, InsertSource, Merge, Update};
use crate::tsql::ast::query::{QueryBody, SelectStatement};
use crate::tsql::ast::statement::Execute;
use crate::value::Value;

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
    let outcome = match &statement.source {
        InsertSource::Execute(call) => insert_from_call(execution, frame, statement, call).await?,
        _ => execution.operate(frame, |tx, scope| relational::insert(statement, scope, tx)).await?,
    };
    changed(execution, Command::Insert, outcome).await
}

/// `MERGE ..`
pub(super) async fn merge(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    statement: &Merge,
) -> Result<Done, Stop> {
    let outcome = execution.operate(frame, |tx, scope| relational::merge(statement, scope, tx)).await?;
    changed(execution, Command::Merge, outcome).await
}

/// `INSERT .. EXEC ..`: the call and the insertion are one transaction, of which the client hears nothing.
async fn insert_from_call(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    statement: &Insert,
    call: &Execute,
) -> Result<DmlOutcome, Stop> {
    let alone = execution.trancount() == 0;
    if alone {
        execution.engine(|core, who| core.begin(who).map(drop))?;
    }
    let outcome = match returned_by(execution, frame, call).await {
        Ok(rows) => {
            let insert = |tx: &mut Tx<'_>, scope: &mut Scope<'_>| {
                relational::insert_returned(statement, &rows, scope, tx)
            };
            execution.operate(frame, insert).await
        }
        Err(stop) => Err(stop),
    };
    if alone && execution.trancount() > 0 {
        let commits = outcome.is_ok();
        execution.engine(
            |core, who| {
                if commits { core.commit(who).map(drop) } else { core.rollback(who).map(drop) }
            },
        )?;
    }
    outcome
}

/// The rows of all result sets that a procedure or text returns; its notices and errors go to the client.
async fn returned_by(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    call: &Execute,
) -> Result<Vec<Vec<Value>>, Stop> {
    if execution.returns_rows_to_insert {
        return Err(errors::nested_insert_exec().into());
    }
    let mut captured = Captured { client: &mut *execution.sink, rows: Vec::new() };
    let mut inner = Execution {
        state: &mut *execution.state,
        sink: &mut captured,
        cancel: execution.cancel,
        guarded: execution.guarded,
        in_procedure: true,
        returns_rows_to_insert: true,
        steps: 0,
    };
    execute::run(&mut inner, frame, call).await?;
    Ok(captured.rows)
}

/// Keeps rows and passes on what is no part of a result set.
struct Captured<'c, 's> {
    client: &'c mut (dyn ResultSink + 's),
    rows: Vec<Vec<Value>>,
}

impl ResultSink for Captured<'_, '_> {
    fn emit(&mut self, event: Event) {
        match event {
            Event::Row(row) => self.rows.push(row),
            Event::Info(_) | Event::Error(_) | Event::Change(_) => self.client.emit(event),
            _ => {}
        }
    }

    fn is_full(&self) -> bool {
        self.client.is_full()
    }

    fn cut(&mut self) {
        self.client.cut();
    }

    fn flush(&mut self) -> Pin<Box<dyn Future<Output = io::Result<()>> + Send + '_>> {
        self.client.flush()
    }

    fn flush_all(&mut self) -> Pin<Box<dyn Future<Output = io::Result<()>> + Send + '_>> {
        self.client.flush_all()
    }
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
