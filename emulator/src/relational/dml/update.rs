//! UPDATE.

use crate::engine::{Op, Permission, RowId, Tx};
use crate::error::SqlError;
use crate::relational::convert::{check_allowed, convert};
use crate::relational::dml::DmlOutcome;
use crate::relational::dml::matching::{Found, Matching};
use crate::relational::dml::new_row::{RowMaker, stored};
use crate::relational::dml::output::Outputs;
use crate::relational::dml::shape::Place;
use crate::relational::environment::{Context, Environment};
use crate::relational::errors;
use crate::relational::expression::{Binder, Bound, value};
use crate::relational::query::CommonTables;
use crate::relational::scope::{Frame, Scope};
use crate::tsql::ast::Expr;
use crate::tsql::ast::dml::{Update, UpdateAssignment, ValueOrDefault};
use crate::tsql::ast::expr::AssignOp;
use crate::tsql::ast::name::{ObjectName, VariableName};
use crate::value::{SqlType, Value};

/// Runs an UPDATE.
///
/// # Errors
/// 207, 208, 264, 271, 515, 1087, 229, 2627, 2628, 4406, 8102, and those of expressions; blocks where rows are locked.
pub(crate) fn update(statement: &Update, env: &mut dyn Environment, tx: &mut Tx<'_>) -> Op<DmlOutcome> {
    let mut ctx = Context { env, tx };
    let matching = Matching {
        target: &statement.target,
        from: &statement.from,
        filter: statement.filter.as_ref(),
        top: statement.top.as_ref(),
        ctes: CommonTables::of(&statement.with),
        permission: Permission::Update,
    };
    let found = matching.bind(&mut ctx)?;
    let sets = bind_sets(&statement.assignments, &found, matching.ctes, &mut ctx)?;
    let mut columns = found.shape.pseudo_columns("inserted");
    columns.extend(found.shape.pseudo_columns("deleted"));
    columns.extend(found.columns.iter().cloned());
    let mut outputs = Outputs::bind(&statement.output, &columns, &mut ctx)?;
    let maker = RowMaker::new(&found.shape, &mut ctx)?;
    let (found, rows) = matching.rows(found, &mut ctx)?;
    let mut changes = Vec::with_capacity(rows.len());
    for row in &rows {
        let Some(id) = found.rows.id(row) else { continue };
        let new = changed(&sets, &found, &maker, row, &mut ctx)?;
        if !outputs.is_empty() {
            outputs.add(&[&new, found.rows.values(row), row].concat(), &mut ctx)?;
        }
        changes.push((id, new));
    }
    let count = changes.len();
    store(&found, changes, &mut ctx)?;
    outputs.finish(count, &mut ctx)
}

/// One entry of SET, bound.
pub(super) struct Set {
    column: Option<usize>,
    variable: Option<(String, SqlType)>,
    /// `None` is DEFAULT.
    value: Option<Bound>,
}

/// Binds the entries of SET over the columns of the statement's rows.
///
/// # Errors
/// 207, 264, 271, 8102, and those of expressions.
pub(super) fn bind_sets(
    assignments: &[UpdateAssignment],
    found: &Found,
    ctes: CommonTables<'_>,
    ctx: &mut Context<'_, '_>,
) -> Op<Vec<Set>> {
    let scope = Scope::new(&found.columns, None);
    let mut sets: Vec<Set> = Vec::with_capacity(assignments.len());
    for assignment in assignments {
        let UpdateAssignment::Set { variable, column, op, value } = assignment else {
            return Err(SqlError::unsupported("method in SET of UPDATE").into());
        };
        let column = column.as_ref().map(|column| settable(column, found)).transpose()?;
        if let Some(place) = column
            && sets.iter().any(|set| set.column == Some(place))
        {
            return Err(errors::column_set_twice(&found.shape.columns[place].column.name).into());
        }
        let value = match value {
            ValueOrDefault::Default => None,
            ValueOrDefault::Value(value) => {
                let mut binder = Binder::new(&scope, ctes, ctx);
                Some(bind_value(assignment, *op, value, &mut binder)?)
            }
        };
        let variable = variable.as_ref().map(|name| declared(name, ctx)).transpose()?;
        let to =
            column.map(|place| found.shape.columns[place].column.ty).or(variable.as_ref().map(|(_, ty)| *ty));
        if let (Some(value), Some(to)) = (&value, to)
            && !value.is_null_constant()
            && value.ty != to
        {
            check_allowed(value.ty, to, false)?;
        }
        sets.push(Set { column, variable, value });
    }
    Ok(sets)
}

/// The table column that a name in SET means.
fn settable(name: &ObjectName, found: &Found) -> Result<usize, SqlError> {
    let own = name.name().as_str();
    let place = match found.rows.mapped(own) {
        None => found.shape.position(own)?,
        Some(mapped) => mapped.ok_or_else(|| errors::not_updatable(own))?,
    };
    let column = &found.shape.columns[place];
    match () {
        () if column.identity.is_some() => Err(errors::identity_update(own)),
        () if column.computed.is_some() => Err(errors::computed_column(own)),
        () => Ok(place),
    }
}

/// The value, with what a compound assignment combines it with.
fn bind_value(
    assignment: &UpdateAssignment,
    op: AssignOp,
    value: &Expr,
    binder: &mut Binder<'_, '_, '_>,
) -> Op<Bound> {
    let (AssignOp::Combine(op), UpdateAssignment::Set { variable, column, .. }) = (op, assignment) else {
        return binder.expression(value);
    };
    let left = match (column, variable) {
        (Some(column), _) => Expr::Column(column.clone()),
        (None, Some(variable)) => Expr::Variable(variable.clone()),
        (None, None) => return binder.expression(value),
    };
    binder.expression(&Expr::Binary { op, left: Box::new(left), right: Box::new(value.clone()) })
}

fn declared(name: &VariableName, ctx: &Context<'_, '_>) -> Result<(String, SqlType), SqlError> {
    let (ty, _) =
        ctx.env.variable(name.as_str()).ok_or_else(|| errors::undeclared_variable(name.as_str()))?;
    Ok((name.as_str().to_owned(), *ty))
}

/// A row's new values; variables are assigned on the way.
///
/// # Errors
/// 515, 547, 2628, and those of expressions.
pub(super) fn changed(
    sets: &[Set],
    found: &Found,
    maker: &RowMaker,
    row: &[Value],
    ctx: &mut Context<'_, '_>,
) -> Op<Vec<Value>> {
    let frame = Frame::new(row, None);
    let mut new = found.rows.values(row).to_vec();
    for set in sets {
        let mut given = match (&set.value, set.column) {
            (Some(bound), _) => value(bound, &frame, ctx)?,
            (None, Some(place)) => maker.default_of(place, ctx)?,
            (None, None) => Value::Null,
        };
        if let Some(place) = set.column {
            given = stored(given, &found.shape, place)?;
            new[place] = given.clone();
        }
        if let Some((variable, ty)) = &set.variable {
            ctx.env.set_variable(variable, convert(given, *ty, None, false)?);
        }
    }
    maker.updated(&found.shape, new, ctx)
}

/// Gives rows of the target their new values.
///
/// # Errors
/// 2627, 2601.
pub(super) fn store(found: &Found, changes: Vec<(u64, Vec<Value>)>, ctx: &mut Context<'_, '_>) -> Op<()> {
    match &found.shape.place {
        Place::Table(key) => {
            let changes = changes.into_iter().map(|(id, row)| (RowId(id), row)).collect();
            ctx.tx.update_rows(*key, changes)?;
        }
        Place::Variable(name) => {
            let changes = changes.into_iter().map(|(id, row)| (id as usize, row)).collect();
            let table =
                ctx.env.table_variable_mut(name).ok_or_else(|| errors::undeclared_table_variable(name))?;
            table.update(changes)?;
        }
    }
    Ok(())
}
