//! The relational half of the emulator: expressions, functions, conversions, queries and data changes.
//!
//! Everything here is synchronous and runs inside one engine operation. A statement arrives as syntax, is bound (names
//! to columns and variables, operators to types), then evaluated over rows that the engine or the catalog gives. It must
//! not know batches, control flow, the wire or a clock; what is session-bound comes through [`Environment`].
//!
//! | module | holds |
//! |---|---|
//! | `types`, `resolve_type`, `system_types` | what is known of types without values |
//! | `convert` | conversions, by family of the target |
//! | `compare`, `arithmetic`, `like` | operators on values |
//! | `functions` | the built-in functions |
//! | `scope`, `expression` | binding and evaluation of expressions |
//! | `aggregate`, `query` | SELECT |
//! | `xml` | the methods of xml values |
//! | `table_definition`, `alter_table`, `table_variable`, `dml` | tables and their changes |

mod aggregate;
mod alter_table;
mod arithmetic;
mod calendar;
mod compare;
mod convert;
mod dml;
mod environment;
mod errors;
mod expression;
mod expression_text;
mod functions;
mod like;
mod names;
mod query;
mod resolve_type;
mod scope;
mod stored_expression;
mod system_types;
mod table_definition;
mod table_variable;
mod types;
mod wide;
mod xml;

#[cfg(test)]
mod tests;

use crate::engine::{Op, Tx};
use crate::tsql::ast::{Condition, Expr};
use crate::value::{SqlType, Value};
use environment::Context;
use expression::{Binder, holds, value};
use query::CommonTables;
use scope::{Frame, Scope};

pub(crate) use alter_table::{alter_table, create_index, drop_index};
pub(crate) use convert::convert;
pub(crate) use dml::{DmlOutcome, delete, insert, insert_returned, merge, update};
pub(crate) use environment::{Environment, SessionFacts};
pub(crate) use functions::ApplicationLock;
pub(crate) use names::split_name;
pub(crate) use query::{Projection, QueryOutcome, query, queue_columns, queue_row};
pub(crate) use resolve_type::resolve_type;
pub(crate) use table_definition::table_definition;
pub(crate) use table_variable::TableVariable;

/// Type and value of an expression outside of any row.
///
/// # Errors
/// Whatever is wrong with its names and types, and what its evaluation meets; blocks when a subquery has to wait.
pub(crate) fn evaluate(expr: &Expr, env: &mut dyn Environment, tx: &mut Tx<'_>) -> Op<(SqlType, Value)> {
    let mut ctx = Context { env, tx };
    let bound = Binder::new(&Scope::empty(), CommonTables::NONE, &mut ctx).expression(expr)?;
    let value = value(&bound, &Frame::EMPTY, &mut ctx)?;
    Ok((bound.ty, value))
}

/// Whether a condition outside of any row is true; unknown counts as false.
///
/// # Errors
/// As [`evaluate`].
pub(crate) fn condition(condition: &Condition, env: &mut dyn Environment, tx: &mut Tx<'_>) -> Op<bool> {
    let mut ctx = Context { env, tx };
    let bound = Binder::new(&Scope::empty(), CommonTables::NONE, &mut ctx).condition(condition)?;
    Ok(holds(&bound, &Frame::EMPTY, &mut ctx)? == Some(true))
}

/// The value of an expression that a table keeps as text.
fn stored_value(text: &str, ctx: &mut Context<'_, '_>) -> Op<Value> {
    let expr = stored_expression::parse_expression(text)?;
    let bound = Binder::new(&Scope::empty(), CommonTables::NONE, ctx).expression(&expr)?;
    value(&bound, &Frame::EMPTY, ctx)
}
