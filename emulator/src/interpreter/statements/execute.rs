//! EXECUTE of procedures and of texts.
//!
//! This file must not know what a procedure does.

use crate::error::SqlError;
use crate::interpreter::errors;
use crate::interpreter::execution::{Done, Execution, Stop};
use crate::interpreter::frame::{Frame, FrameKind};
use crate::interpreter::operands::{assign, text, variable_text};
use crate::interpreter::procedures::{self, Argument, Output, Returned};
use crate::output::Event;
use crate::relational::evaluate;
use crate::tsql::ast::statement::{Execute, ExecuteArgument, ExecuteTarget};
use crate::tsql::ast::{Expr, ObjectName};
use crate::value::Value;

/// `EXEC ..`
pub(super) async fn run(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    statement: &Execute,
) -> Result<Done, Stop> {
    let name = match &statement.target {
        ExecuteTarget::Procedure(name) => quoted(name),
        ExecuteTarget::ProcedureVariable(variable) => variable_text(frame, variable)?.unwrap_or_default(),
        ExecuteTarget::Text { principal: Some(_), .. } => {
            return Err(SqlError::unsupported("EXECUTE ('..') AS LOGIN or USER").into());
        }
        ExecuteTarget::Text { text, principal: None } => {
            return dynamic(execution, frame, text, statement).await;
        }
    };
    let arguments = evaluated(execution, frame, &statement.arguments).await?;
    let returned = procedures::call_by_name(execution, &name, arguments).await?;
    give_back(execution, frame, statement, returned).await
}

/// `EXEC ('text')`: a batch of its own that sees no variables of the caller.
async fn dynamic(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    batch: &Expr,
    statement: &Execute,
) -> Result<Done, Stop> {
    if !statement.arguments.is_empty() {
        return Err(SqlError::unsupported("EXECUTE ('..') with arguments").into());
    }
    let batch = execution.operate(frame, |tx, scope| text(batch, scope, tx)).await?.unwrap_or_default();
    let quoted = execution.state.options.quoted_identifier;
    let program = execution.state.instance.program(&batch, quoted).map_err(Stop::from_callee)?;
    let caught = execution.state.caught.len();
    let mut dynamic =
        Frame::new(program, FrameKind::Dynamic, Vec::new(), caught).map_err(Stop::from_callee)?;
    match execution.run_nested(&mut dynamic).await? {
        Some(mismatch) => Err(mismatch.into()),
        None => Ok(passed_through(execution)),
    }
}

/// A written name as text, each part in brackets.
fn quoted(name: &ObjectName) -> String {
    let parts = name.parts.iter().map(|part| format!("[{}]", part.as_str().replace(']', "]]")));
    parts.collect::<Vec<_>>().join(".")
}

/// The arguments' values. All are evaluated before the call begins.
async fn evaluated(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    written: &[ExecuteArgument],
) -> Result<Vec<Argument>, Stop> {
    execution
        .operate(frame, |tx, scope| {
            let mut arguments = Vec::with_capacity(written.len());
            for argument in written {
                let value = match &argument.value {
                    Some(value) => Some(evaluate(value, scope, tx)?.1),
                    None => None,
                };
                let name = argument.name.as_ref().map(|name| name.as_str().to_owned());
                arguments.push(Argument { name, value, output: argument.output });
            }
            Ok(arguments)
        })
        .await
}

/// Stores return status and outputs, tells the client, and raises 266 last.
async fn give_back(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    statement: &Execute,
    returned: Returned,
) -> Result<Done, Stop> {
    let Returned { status, outputs, mismatch } = returned;
    execution
        .operate(frame, |_, scope| {
            if let Some(variable) = &statement.return_variable {
                assign(scope, variable.as_str(), Value::Int(status))?;
            }
            for output in &outputs {
                let variable = output_variable(statement, output)?;
                assign(scope, variable, output.value.clone())?;
            }
            Ok(())
        })
        .await?;
    if let Some(mismatch) = mismatch {
        return Err(mismatch.into());
    }
    if execution.in_procedure {
        return Ok(Done { told: true, ..passed_through(execution) });
    }
    execution.emit(Event::ReturnStatus(status));
    execution.emit(Event::ProcedureDone { failed: false });
    Ok(passed_through(execution))
}

/// `@@ROWCOUNT` and `@@ERROR` stay as the callee left them.
fn passed_through(execution: &Execution<'_>) -> Done {
    Done { error_number: execution.state.last_error, ..Done::SILENT }
}

fn output_variable<'s>(statement: &'s Execute, output: &Output) -> Result<&'s str, SqlError> {
    match statement.arguments.get(output.argument).and_then(|argument| argument.value.as_ref()) {
        Some(Expr::Variable(variable)) => Ok(variable.as_str()),
        _ => Err(errors::not_an_output_parameter(&format!("argument {}", output.argument + 1))),
    }
}
