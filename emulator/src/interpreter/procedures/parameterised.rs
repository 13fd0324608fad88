//! Texts with parameters: `sp_executesql`, `sp_prepare`, `sp_execute`, `sp_prepexec`, `sp_unprepare`.
//!
//! Their own first parameters count by position, whatever clients call them. A prepared statement is its text and
//! declarations; it belongs to its session. This file must not know how calls arrive.

use std::sync::Arc;

use super::binding::{Bound, Callee, Parameter, bind, outputs};
use super::{Argument, Output, Returned};
use crate::error::SqlError;
use crate::interpreter::errors;
use crate::interpreter::execution::{Execution, Stop};
use crate::interpreter::frame::{Frame, FrameKind};
use crate::interpreter::operands::{to_integer, to_text};
use crate::relational::resolve_type;
use crate::tsql::parse_parameter_declarations;
use crate::value::{SqlType, Value};

/// A prepared statement.
#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    text: Arc<str>,
    declarations: Arc<str>,
}

/// `sp_executesql @statement [, @declarations [, arguments..]]`
pub(super) async fn execute_sql(
    execution: &mut Execution<'_>,
    arguments: Vec<Argument>,
) -> Result<Returned, Stop> {
    let text = text_argument(&arguments, 0)?
        .ok_or_else(|| errors::procedure_expects("@statement", "ntext/nchar/nvarchar"))?;
    let declarations = text_argument(&arguments, 1)?.unwrap_or_default();
    run_text(execution, &Prepared { text, declarations }, &arguments, 2).await
}

/// `sp_prepare @handle OUTPUT, @declarations, @statement [, @options]`
pub(super) fn prepare(execution: &mut Execution<'_>, arguments: Vec<Argument>) -> Result<Returned, Stop> {
    let prepared = prepared_of(&arguments)?;
    check(execution, &prepared)?;
    Ok(Returned { outputs: vec![handle_output(execution, prepared)], ..Returned::default() })
}

/// `sp_prepexec @handle OUTPUT, @declarations, @statement [, arguments..]`
pub(super) async fn prepare_and_execute(
    execution: &mut Execution<'_>,
    arguments: Vec<Argument>,
) -> Result<Returned, Stop> {
    let prepared = prepared_of(&arguments)?;
    check(execution, &prepared)?;
    let handle = handle_output(execution, prepared.clone());
    let mut returned = run_text(execution, &prepared, &arguments, 3).await?;
    returned.outputs.insert(0, handle);
    Ok(returned)
}

/// `sp_execute @handle [, arguments..]`
pub(super) async fn execute(
    execution: &mut Execution<'_>,
    arguments: Vec<Argument>,
) -> Result<Returned, Stop> {
    let handle = handle_argument(&arguments)?;
    let known = i32::try_from(handle).ok().and_then(|handle| execution.state.prepared.get(&handle));
    let prepared = known.cloned().ok_or_else(|| errors::no_prepared_statement(handle))?;
    run_text(execution, &prepared, &arguments, 1).await
}

/// `sp_unprepare @handle`
pub(super) fn unprepare(execution: &mut Execution<'_>, arguments: &[Argument]) -> Result<Returned, Stop> {
    let handle = handle_argument(arguments)?;
    let known = i32::try_from(handle).ok().and_then(|handle| execution.state.prepared.remove(&handle));
    known.map(|_| Returned::default()).ok_or_else(|| errors::no_prepared_statement(handle).into())
}

/// Runs a text in a frame of its own; its arguments begin at `first`.
async fn run_text(
    execution: &mut Execution<'_>,
    prepared: &Prepared,
    arguments: &[Argument],
    first: usize,
) -> Result<Returned, Stop> {
    let quoted = execution.state.options.quoted_identifier;
    let program = match execution.state.instance.program(&prepared.text, quoted) {
        Ok(program) => program,
        Err(error) => return refused(execution, error),
    };
    let parameters = declared(&prepared.declarations)?;
    let given = arguments.get(first..).unwrap_or_default();
    let bound = bind(parameters, given, Callee::Query(&prepared.declarations))?;
    let values = bound.iter().map(Bound::to_value).collect();
    let caught = execution.state.caught.len();
    let mut frame = match Frame::new(program, FrameKind::Parameterised, values, caught) {
        Ok(frame) => frame,
        Err(error) => return refused(execution, error),
    };
    let mismatch = execution.run_nested(&mut frame).await?;
    Ok(Returned { status: execution.state.last_error, outputs: outputs(&frame, &bound, first), mismatch })
}

/// What is wrong with a text as a whole: told here, and the error's number is what the call returns, as for any other
/// error inside. A TRY block or XACT_ABORT around the call gets the error instead.
fn refused(execution: &mut Execution<'_>, error: SqlError) -> Result<Returned, Stop> {
    if execution.guarded || execution.state.options.xact_abort {
        return Err(Stop::from_callee(error));
    }
    let status = error.number;
    execution.state.last_error = status;
    execution.state.row_count = 0;
    execution.tell(error.at_line(1));
    Ok(Returned { status, ..Returned::default() })
}

/// The parameters that a declaration text declares.
fn declared(declarations: &str) -> Result<Vec<Parameter>, Stop> {
    if declarations.trim().is_empty() {
        return Ok(Vec::new());
    }
    let written = parse_parameter_declarations(declarations);
    let written = written.map_err(|error| Stop::from_callee(errors::syntax(error)))?;
    let mut parameters = Vec::with_capacity(written.len());
    for parameter in written {
        if parameter.default.is_some() || parameter.read_only {
            return Err(
                SqlError::unsupported("defaults and READONLY in the declarations of sp_executesql").into()
            );
        }
        let ty = resolve_type(&parameter.data_type).map_err(Stop::from_callee)?;
        parameters.push(Parameter {
            name: parameter.name.as_str().to_owned(),
            ty,
            output: parameter.output,
            default: None,
        });
    }
    Ok(parameters)
}

/// Finds mistakes of a text when it is prepared, not when it first runs.
fn check(execution: &mut Execution<'_>, prepared: &Prepared) -> Result<(), Stop> {
    let quoted = execution.state.options.quoted_identifier;
    execution.state.instance.program(&prepared.text, quoted).map_err(Stop::from_callee)?;
    declared(&prepared.declarations).map(drop)
}

/// Declarations and text of `sp_prepare` and `sp_prepexec`.
fn prepared_of(arguments: &[Argument]) -> Result<Prepared, Stop> {
    let declarations = text_argument(arguments, 1)?.unwrap_or_default();
    let text = text_argument(arguments, 2)?
        .ok_or_else(|| errors::procedure_expects("@stmt", "ntext/nchar/nvarchar"))?;
    Ok(Prepared { text, declarations })
}

/// Keeps a prepared statement; its handle as the value of the first argument.
fn handle_output(execution: &mut Execution<'_>, prepared: Prepared) -> Output {
    execution.state.last_handle += 1;
    let handle = execution.state.last_handle;
    execution.state.prepared.insert(handle, prepared);
    Output { argument: 0, ty: SqlType::Int, value: Value::Int(handle) }
}

fn handle_argument(arguments: &[Argument]) -> Result<i64, Stop> {
    let value = arguments.first().and_then(|argument| argument.value.clone()).unwrap_or_default();
    Ok(to_integer(value)?.unwrap_or(0))
}

fn text_argument(arguments: &[Argument], position: usize) -> Result<Option<Arc<str>>, SqlError> {
    let Some(value) = arguments.get(position).and_then(|argument| argument.value.clone()) else {
        return Ok(None);
    };
    Ok(to_text(value)?.map(Arc::from))
}
