//! INSERT: values, defaults, the rows of a query.

use std::sync::Arc;

use crate::engine::{Inserted, Op, Permission, Tx};
use crate::error::SqlError;
use crate::relational::convert::check_allowed;
use crate::relational::dml::DmlOutcome;
use crate::relational::dml::new_row::RowMaker;
use crate::relational::dml::output::Outputs;
use crate::relational::dml::shape::{Place, Shape};
use crate::relational::environment::{Context, Environment};
use crate::relational::errors;
use crate::relational::expression::{Binder, Bound, value, whole_number};
use crate::relational::query::{CommonTables, bind_query};
use crate::relational::scope::{Frame, Scope};
use crate::tsql::ast::dml::{Insert, InsertSource, ValueOrDefault};
use crate::tsql::ast::expr::{Expr, Literal};
use crate::tsql::ast::name::Ident;
use crate::tsql::ast::query::{Query, QueryBody, SelectItem, Top};
use crate::value::{Column, SqlType, Value};

/// Runs an INSERT.
///
/// # Errors
/// 109, 110, 120, 121, 213 for numbers of values that do not match, 544 for identity values, 515, 2628, 2627, and those
/// of expressions and queries.
pub(crate) fn insert(statement: &Insert, env: &mut dyn Environment, tx: &mut Tx<'_>) -> Op<DmlOutcome> {
    let mut ctx = Context { env, tx };
    let shape = Shape::of(&statement.target, Permission::Insert, &ctx)?;
    let columns = Columns::of(&shape, &statement.columns, &ctx)?;
    let ctes = CommonTables::of(&statement.with);
    let given = match &statement.source {
        InsertSource::DefaultValues => vec![vec![None; shape.columns.len()]],
        InsertSource::Values(rows) => values(rows, &shape, &columns, ctes, &mut ctx)?,
        InsertSource::Query(query) => {
            let plan = bind_query(query, None, ctes, &mut ctx)?;
            columns.check_query(query, &plan.columns, &shape)?;
            let rows = plan.run(None, None, &mut ctx)?;
            rows.into_iter().map(|row| columns.spread(&shape, row.into_iter().map(Some))).collect()
        }
        InsertSource::Execute(_) => return Err(SqlError::unsupported("INSERT .. EXEC here").into()),
    };
    complete(statement, &shape, given, &mut ctx)
}

/// Runs an INSERT of rows that a procedure or text has returned.
///
/// # Errors
/// 213 when they have another number of values, and those of INSERT.
pub(crate) fn insert_returned(
    statement: &Insert,
    rows: &[Vec<Value>],
    env: &mut dyn Environment,
    tx: &mut Tx<'_>,
) -> Op<DmlOutcome> {
    let mut ctx = Context { env, tx };
    let shape = Shape::of(&statement.target, Permission::Insert, &ctx)?;
    let columns = Columns::of(&shape, &statement.columns, &ctx)?;
    let mut given = Vec::with_capacity(rows.len());
    for row in rows {
        columns.check_width(row.len())?;
        given.push(columns.spread(&shape, row.iter().cloned().map(Some)));
    }
    complete(statement, &shape, given, &mut ctx)
}

/// The columns an INSERT gives values for, in the order of the values.
pub(super) struct Columns {
    places: Vec<usize>,
    listed: bool,
}

impl Columns {
    /// The columns named, or all that do not get their values from the engine.
    ///
    /// # Errors
    /// 207, 264, 271, 273, 544.
    pub(super) fn of(shape: &Shape, names: &[Ident], ctx: &Context<'_, '_>) -> Result<Columns, SqlError> {
        let identity_allowed = match &shape.place {
            Place::Table(key) => ctx.env.session().identity_insert == Some(*key),
            Place::Variable(_) => false,
        };
        if names.is_empty() {
            let places = (0..shape.columns.len()).filter(|index| !shape.is_generated(*index)).collect();
            return Ok(Columns { places, listed: false });
        }
        let mut places = Vec::with_capacity(names.len());
        for name in names {
            let place = shape.position(name.as_str())?;
            let column = &shape.columns[place];
            if places.contains(&place) {
                return Err(errors::column_set_twice(name.as_str()));
            }
            if column.identity.is_some() && !identity_allowed {
                return Err(errors::identity_value(&shape.name));
            }
            if column.computed.is_some() {
                return Err(errors::computed_column(name.as_str()));
            }
            if column.column.ty == SqlType::RowVersion {
                return Err(errors::rowversion_value());
            }
            places.push(place);
        }
        Ok(Columns { places, listed: true })
    }

    /// Where the values go in a row, in their order.
    pub(super) fn places(&self) -> &[usize] {
        &self.places
    }

    /// Values in the order of the columns, put at their places in a row.
    pub(super) fn spread(
        &self,
        shape: &Shape,
        values: impl Iterator<Item = Option<Value>>,
    ) -> Vec<Option<Value>> {
        let mut row = vec![None; shape.columns.len()];
        for (place, value) in self.places.iter().zip(values) {
            row[*place] = value;
        }
        row
    }

    /// Whether a row of that many values fits.
    ///
    /// # Errors
    /// 213
    pub(super) fn check_width(&self, width: usize) -> Result<(), SqlError> {
        if width == self.places.len() { Ok(()) } else { Err(errors::insert_definition()) }
    }

    /// Whether that many written values fit.
    ///
    /// # Errors
    /// 109, 110, 213
    pub(super) fn check_values(&self, width: usize) -> Result<(), SqlError> {
        match width.cmp(&self.places.len()) {
            std::cmp::Ordering::Equal => Ok(()),
            _ if !self.listed => Err(errors::insert_definition()),
            order => Err(errors::insert_count(order.is_lt())),
        }
    }

    fn check_query(&self, query: &Query, columns: &[Column], shape: &Shape) -> Result<(), SqlError> {
        match columns.len().cmp(&self.places.len()) {
            std::cmp::Ordering::Equal => {}
            _ if !self.listed => return Err(errors::insert_definition()),
            order => return Err(errors::insert_select_count(order.is_lt())),
        }
        let nulls = written_nulls(query);
        let pairs = columns.iter().zip(&self.places).enumerate();
        pairs.into_iter().try_for_each(|(at, (from, place))| {
            let to = shape.columns[*place].column.ty;
            if from.ty == to || nulls.contains(&at) { Ok(()) } else { check_allowed(from.ty, to, false) }
        })
    }
}

/// The places of a select list where NULL is written: like the constant in VALUES it takes any column's type. A list with a
/// star, and the columns of a set operation, have their types by themselves.
fn written_nulls(query: &Query) -> Vec<usize> {
    let QueryBody::Select(select) = &query.body else { return Vec::new() };
    if select.items.iter().any(|item| matches!(item, SelectItem::Wildcard { .. })) {
        return Vec::new();
    }
    let is_null =
        |item: &SelectItem| matches!(item, SelectItem::Value { value: Expr::Literal(Literal::Null), .. });
    let items = select.items.iter().enumerate();
    items.filter(|(_, item)| is_null(item)).map(|(at, _)| at).collect()
}

/// Puts complete rows where they belong; the number of those stored and the rows themselves are returned.
///
/// # Errors
/// 2627, 2601, 515.
pub(super) fn store(
    shape: &Shape,
    rows: Vec<Vec<Value>>,
    ctx: &mut Context<'_, '_>,
) -> Op<Vec<Arc<[Value]>>> {
    match &shape.place {
        Place::Variable(name) => {
            let table =
                ctx.env.table_variable_mut(name).ok_or_else(|| errors::undeclared_table_variable(name))?;
            let stored = rows.iter().map(|row| row.clone().into()).collect();
            table.insert_all(rows)?;
            Ok(stored)
        }
        Place::Table(key) => {
            let mut stored = Vec::with_capacity(rows.len());
            for row in rows {
                let kept: Arc<[Value]> = row.clone().into();
                if let Inserted::Row(_) = ctx.tx.insert_row(*key, row)? {
                    stored.push(kept);
                }
            }
            Ok(stored)
        }
    }
}

/// Evaluates VALUES; DEFAULT stays open.
fn values(
    rows: &[Vec<ValueOrDefault>],
    shape: &Shape,
    columns: &Columns,
    ctes: CommonTables<'_>,
    ctx: &mut Context<'_, '_>,
) -> Op<Vec<Vec<Option<Value>>>> {
    let mut given = Vec::with_capacity(rows.len());
    for row in rows {
        columns.check_values(row.len())?;
        let mut evaluated = Vec::with_capacity(row.len());
        for (item, place) in row.iter().zip(&columns.places) {
            evaluated.push(match item {
                ValueOrDefault::Default => None,
                ValueOrDefault::Value(expr) => {
                    let bound = Binder::new(&Scope::empty(), ctes, ctx).expression(expr)?;
                    check_assignable(&bound, shape.columns[*place].column.ty)?;
                    Some(value(&bound, &Frame::EMPTY, ctx)?)
                }
            });
        }
        given.push(columns.spread(shape, evaluated.into_iter()));
    }
    Ok(given)
}

/// Whether a value can go into a column of that type.
///
/// # Errors
/// 206, 257
pub(super) fn check_assignable(bound: &Bound, to: SqlType) -> Result<(), SqlError> {
    if bound.is_null_constant() || bound.ty == to { Ok(()) } else { check_allowed(bound.ty, to, false) }
}

/// Completes the given rows, stores them and answers OUTPUT.
fn complete(
    statement: &Insert,
    shape: &Shape,
    mut given: Vec<Vec<Option<Value>>>,
    ctx: &mut Context<'_, '_>,
) -> Op<DmlOutcome> {
    let mut outputs = Outputs::bind(&statement.output, &shape.pseudo_columns("inserted"), ctx)?;
    if let Some(limit) = limit(statement.top.as_ref(), given.len(), ctx)? {
        given.truncate(limit);
    }
    let maker = RowMaker::new(shape, ctx)?;
    let identity = shape.columns.iter().position(|column| column.identity.is_some());
    let mut rows = Vec::with_capacity(given.len());
    for row in given {
        let written = identity.is_some_and(|index| row[index].is_some());
        let row = maker.inserted(shape, row, ctx)?;
        if let (true, Some(index)) = (written, identity) {
            note_identity(shape, &row[index], ctx);
        }
        rows.push(row);
    }
    let stored = store(shape, rows, ctx)?;
    if !outputs.is_empty() {
        for row in &stored {
            outputs.add(row, ctx)?;
        }
    }
    outputs.finish(stored.len(), ctx)
}

/// How many rows TOP of a data change lets through.
///
/// # Errors
/// 1060; 40510 for PERCENT.
pub(super) fn limit(top: Option<&Top>, total: usize, ctx: &mut Context<'_, '_>) -> Op<Option<usize>> {
    let Some(top) = top else { return Ok(None) };
    let bound = Binder::new(&Scope::empty(), CommonTables::NONE, ctx).expression(&top.count)?;
    if !top.percent {
        return whole_number(&bound, &Frame::EMPTY, ctx).map(Some);
    }
    let percent = whole_number(&bound, &Frame::EMPTY, ctx)?.min(100);
    Ok(Some((total * percent).div_ceil(100)))
}

/// A value written under IDENTITY_INSERT moves the counter and is the last identity value of the session.
fn note_identity(shape: &Shape, written: &Value, ctx: &mut Context<'_, '_>) {
    let number =
        crate::relational::compare::exact(written).and_then(|number| i64::try_from(number.unscaled).ok());
    if let (Place::Table(key), Some(number)) = (&shape.place, number) {
        ctx.tx.note_identity(*key, number);
        ctx.env.identity_inserted(number);
    }
}
