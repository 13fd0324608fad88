//! Query expressions: one SELECT or several combined, and the shape of their plans.

use crate::engine::Op;
use crate::error::SqlError;
use crate::relational::aggregate::Aggregate;
use crate::relational::environment::Context;
use crate::relational::errors;
use crate::relational::expression::{Binder, Bound, Predicate, coerce};
use crate::relational::query::CommonTables;
use crate::relational::query::from::Source;
use crate::relational::query::order::{SortColumn, bind_output_order};
use crate::relational::query::select;
use crate::relational::scope::Scope;
use crate::relational::types::common_type;
use crate::tsql::ast::Query;
use crate::tsql::ast::query::{ForClause, Offset, QueryBody, SetOperator};
use crate::value::{Collation, Column, SqlType};

/// A query ready to run.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The columns of its rows.
    pub(crate) columns: Vec<Column>,
    /// How many hidden columns follow them: the table columns and id of an updatable common table expression.
    pub(crate) carried: usize,
    /// The rows before sorting.
    pub(crate) body: Body,
    /// ORDER BY.
    pub(crate) order: Vec<SortColumn>,
    /// TOP.
    pub(crate) top: Option<TopPlan>,
    /// OFFSET.
    pub(crate) skip: Option<Bound>,
    /// FETCH.
    pub(crate) fetch: Option<Bound>,
    /// How many levels of queries around it are looked at; 0 means that its rows are the same wherever it stands.
    pub(crate) reach: usize,
}

/// Where a plan's rows come from.
#[derive(Debug)]
pub(crate) enum Body {
    /// One SELECT.
    Select(Box<SelectPlan>),
    /// Two queries combined.
    Set(Box<SetPlan>),
}

/// One SELECT.
#[derive(Debug)]
pub(crate) struct SelectPlan {
    /// FROM.
    pub(crate) source: Source,
    /// WHERE.
    pub(crate) filter: Option<Predicate>,
    /// GROUP BY, HAVING and aggregates.
    pub(crate) group: Option<GroupPlan>,
    /// The select list, followed by what is carried and what only ORDER BY needs.
    pub(crate) items: Vec<Bound>,
    /// DISTINCT.
    pub(crate) distinct: bool,
}

/// Grouping.
#[derive(Debug)]
pub(crate) struct GroupPlan {
    /// The keys; none means one group of all rows.
    pub(crate) keys: Vec<Bound>,
    /// The aggregates.
    pub(crate) aggregates: Vec<Aggregate>,
    /// HAVING, over keys and aggregates.
    pub(crate) having: Option<Predicate>,
}

/// Two queries combined.
#[derive(Debug)]
pub(crate) struct SetPlan {
    /// How.
    pub(crate) op: SetOperator,
    /// Left rows.
    pub(crate) left: Plan,
    /// Right rows.
    pub(crate) right: Plan,
    /// What the columns of both are converted to.
    pub(crate) types: Vec<(SqlType, Collation)>,
}

/// TOP.
#[derive(Debug)]
pub(crate) struct TopPlan {
    /// How many.
    pub(crate) count: Bound,
    /// Of a hundred.
    pub(crate) percent: bool,
    /// WITH TIES.
    pub(crate) with_ties: bool,
}

/// Binds a query below the columns of `parent`.
///
/// # Errors
/// Everything that is wrong with names and types; 40510 for what is not built.
pub(crate) fn bind_query(
    query: &Query,
    parent: Option<&Scope<'_>>,
    ctes: CommonTables<'_>,
    ctx: &mut Context<'_, '_>,
) -> Op<Plan> {
    check_for(query.for_clause.as_ref())?;
    let mut plan = match &query.body {
        QueryBody::Select(body) => {
            let mut binder = select::SelectBinder { parent, ctes, ctx, updatable: None };
            binder.bind(body, &query.order_by)?.plan
        }
        combined => {
            let mut plan = bind_body(combined, parent, ctes, ctx)?;
            plan.order = bind_output_order(&query.order_by, &plan.columns)?;
            plan
        }
    };
    bind_offset(&mut plan, query.offset.as_ref(), ctes, ctx)?;
    Ok(plan)
}

/// Binds OFFSET and FETCH into a plan.
pub(super) fn bind_offset(
    plan: &mut Plan,
    offset: Option<&Offset>,
    ctes: CommonTables<'_>,
    ctx: &mut Context<'_, '_>,
) -> Op<()> {
    let Some(offset) = offset else { return Ok(()) };
    if plan.top.is_some() {
        let text = "A TOP can not be used in the same query or sub-query as a OFFSET.";
        return Err(SqlError::with_severity(10741, 15, text).into());
    }
    let mut number = |expr| -> Op<Bound> {
        let bound = Binder::new(&Scope::empty(), ctes, ctx).expression(expr)?;
        Ok(coerce(bound, SqlType::BigInt)?)
    };
    plan.skip = Some(number(&offset.skip)?);
    plan.fetch = offset.fetch.as_ref().map(&mut number).transpose()?;
    Ok(())
}

/// FOR XML and FOR JSON are not built; FOR BROWSE changes nothing here.
pub(super) fn check_for(clause: Option<&ForClause>) -> Result<(), SqlError> {
    match clause {
        Some(ForClause::Xml(_)) => Err(SqlError::unsupported("FOR XML")),
        Some(ForClause::Json(_)) => Err(SqlError::unsupported("FOR JSON")),
        Some(ForClause::Browse) | None => Ok(()),
    }
}

fn bind_body(
    body: &QueryBody,
    parent: Option<&Scope<'_>>,
    ctes: CommonTables<'_>,
    ctx: &mut Context<'_, '_>,
) -> Op<Plan> {
    match body {
        QueryBody::Select(select) => {
            let mut binder = select::SelectBinder { parent, ctes, ctx, updatable: None };
            Ok(binder.bind(select, &[])?.plan)
        }
        QueryBody::SetOperation { op, left, right } => {
            let left = bind_body(left, parent, ctes, ctx)?;
            let right = bind_body(right, parent, ctes, ctx)?;
            Ok(combine(*op, left, right)?)
        }
    }
}

fn combine(op: SetOperator, left: Plan, right: Plan) -> Result<Plan, SqlError> {
    if left.columns.len() != right.columns.len() {
        return Err(errors::set_operation_width());
    }
    let mut columns = Vec::with_capacity(left.columns.len());
    for (first, second) in left.columns.iter().zip(&right.columns) {
        let ty = common_type(first.ty, second.ty);
        for from in [first.ty, second.ty] {
            crate::relational::convert::check_allowed(from, ty, false)?;
        }
        let nullable = first.nullable || second.nullable;
        columns.push(Column { name: first.name.clone(), ty, nullable, collation: first.collation });
    }
    let types = columns.iter().map(|column| (column.ty, column.collation)).collect();
    let reach = left.reach.max(right.reach);
    let body = Body::Set(Box::new(SetPlan { op, left, right, types }));
    Ok(Plan { columns, carried: 0, body, order: Vec::new(), top: None, skip: None, fetch: None, reach })
}
