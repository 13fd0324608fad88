//! SELECT as a statement: a result set, assignments to variables, or a new table.

use std::sync::Arc;

use crate::engine::{Op, TableColumn, TableDef, Tx};
use crate::relational::compare::in_collation;
use crate::relational::convert::convert;
use crate::relational::environment::{Context, Environment};
use crate::relational::errors;
use crate::relational::expression::value;
use crate::relational::names::engine_name;
use crate::relational::query::CommonTables;
use crate::relational::query::plan::{Plan, bind_offset, bind_query, check_for};
use crate::relational::query::select::{BoundSelect, SelectBinder};
use crate::relational::scope::Frame;
use crate::tsql::ast::query::{QueryBody, Select};
use crate::tsql::ast::{ObjectName, SelectItem, SelectStatement};
use crate::value::{Column, Value};

/// What a SELECT did.
#[derive(Debug)]
pub(crate) enum QueryOutcome {
    /// It returned rows.
    Rows {
        /// Their columns.
        columns: Arc<[Column]>,
        /// The rows.
        rows: Vec<Vec<Value>>,
    },
    /// It assigned to variables, from so many rows.
    Assigned {
        /// The rows.
        count: usize,
    },
    /// It made a table of so many rows.
    Into {
        /// The rows.
        count: usize,
    },
}

/// Runs a SELECT.
///
/// # Errors
/// Everything that is wrong with names and types, what evaluation meets, and 40510 for what is not built. Blocks where
/// rows are locked; nothing has been assigned or inserted then.
pub(crate) fn query(
    statement: &SelectStatement,
    env: &mut dyn Environment,
    tx: &mut Tx<'_>,
) -> Op<QueryOutcome> {
    let mut ctx = Context { env, tx };
    let ctes = CommonTables::of(&statement.with);
    if let QueryBody::Select(select) = &statement.query.body {
        let assigns = select.items.iter().any(|item| matches!(item, SelectItem::Assign { .. }));
        if assigns {
            return assign(statement, select, ctes, &mut ctx);
        }
    }
    let plan = bind_query(&statement.query, None, ctes, &mut ctx)?;
    if let Some(table) = into_of(&statement.query.body) {
        return into(&plan, table, &mut ctx);
    }
    let rows = plan.run(None, None, &mut ctx)?;
    Ok(QueryOutcome::Rows { columns: plan.columns.into(), rows })
}

/// The rows are found before the first assignment; then every row assigns in turn.
fn assign(
    statement: &SelectStatement,
    select: &Select,
    ctes: CommonTables<'_>,
    ctx: &mut Context<'_, '_>,
) -> Op<QueryOutcome> {
    check_for(statement.query.for_clause.as_ref())?;
    let mut binder = SelectBinder { parent: None, ctes, ctx, updatable: None };
    let BoundSelect { mut plan, assignments, .. } = binder.bind(select, &statement.query.order_by)?;
    bind_offset(&mut plan, statement.query.offset.as_ref(), ctes, ctx)?;
    let rows = plan.run_whole(None, None, ctx)?;
    for row in &rows {
        let frame = Frame::new(row, None);
        for (variable, ty, bound) in &assignments {
            let value = value(bound, &frame, ctx)?;
            let value = convert(value, *ty, None, false)?;
            ctx.env.set_variable(variable, value);
        }
    }
    Ok(QueryOutcome::Assigned { count: rows.len() })
}

fn into_of(body: &QueryBody) -> Option<&ObjectName> {
    match body {
        QueryBody::Select(select) => select.into.as_ref(),
        QueryBody::SetOperation { left, .. } => into_of(left),
    }
}

/// SELECT INTO: a table with the columns of the result.
fn into(plan: &Plan, table: &ObjectName, ctx: &mut Context<'_, '_>) -> Op<QueryOutcome> {
    for (index, column) in plan.columns.iter().enumerate() {
        if column.name.is_empty() {
            return Err(errors::unnamed_column(index + 1, table.name().as_str()).into());
        }
    }
    let rows = plan.run(None, None, ctx)?;
    let columns = plan.columns.iter().cloned().map(TableColumn::new).collect();
    let key = ctx.tx.create_table(&engine_name(table)?, TableDef { columns, ..TableDef::default() })?;
    let count = rows.len();
    for row in rows {
        let stored =
            row.into_iter().zip(&plan.columns).map(|(value, column)| in_collation(value, column.collation));
        ctx.tx.insert_row(key, stored.collect())?;
    }
    Ok(QueryOutcome::Into { count })
}
