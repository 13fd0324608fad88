//! Statements about variables: DECLARE and SET.
//!
//! This file must not know how expressions are evaluated.

use crate::error::SqlError;
use crate::interpreter::execution::{Done, Execution, Stop};
use crate::interpreter::frame::Frame;
use crate::interpreter::operands::assign;
use crate::relational::evaluate;
use crate::tsql::ast::Expr;
use crate::tsql::ast::expr::AssignOp;
use crate::tsql::ast::name::VariableName;
use crate::tsql::ast::statement::{Declaration, SetVariable, VariableChange};

/// `DECLARE ..`: the variables exist since the batch began; only initial values are assigned, each time again.
pub(super) async fn declare(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    declarations: &[Declaration],
) -> Result<Done, Stop> {
    let mut done = Done::SILENT;
    for declaration in declarations {
        match declaration {
            Declaration::Scalar { name, value: Some(value), .. } => {
                set(execution, frame, name, AssignOp::Set, value).await?;
                done = Done { told: false, ..Done::ASSIGNED };
            }
            Declaration::Scalar { .. } | Declaration::Table { .. } => {}
            Declaration::Cursor(_) => return Err(SqlError::unsupported("cursor variables").into()),
        }
    }
    Ok(done)
}

/// `SET @v = value` and the compound assignments.
pub(super) async fn set_variable(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    statement: &SetVariable,
) -> Result<Done, Stop> {
    match &statement.change {
        VariableChange::Assign { op, value } => {
            set(execution, frame, &statement.variable, *op, value).await?
        }
        VariableChange::Cursor(_) => return Err(SqlError::unsupported("cursor variables").into()),
        VariableChange::Method { method, .. } => {
            return Err(SqlError::unsupported(format_args!("SET @variable.{method}()")).into());
        }
    }
    Ok(Done::ASSIGNED)
}

async fn set(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    variable: &VariableName,
    op: AssignOp,
    value: &Expr,
) -> Result<(), Stop> {
    let combined = combined(variable, op, value);
    let value = combined.as_ref().unwrap_or(value);
    execution
        .operate(frame, |tx, scope| {
            let (_, value) = evaluate(value, scope, tx)?;
            Ok(assign(scope, variable.as_str(), value)?)
        })
        .await
}

/// `@v op= value` as `@v op value`; `None` for a plain assignment.
pub(super) fn combined(variable: &VariableName, op: AssignOp, value: &Expr) -> Option<Expr> {
    let AssignOp::Combine(op) = op else { return None };
    let left = Box::new(Expr::Variable(variable.clone()));
    Some(Expr::Binary { op, left, right: Box::new(value.clone()) })
}
