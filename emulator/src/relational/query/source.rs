//! The rows of FROM.
//!
//! Sources are read whole before anything else happens, so a statement that has to wait does so before it has any
//! effect. Joins on equal columns look rows up in a hash table; all others compare every pair.

use std::collections::HashMap;

use crate::engine::{Access, Op, ReadOptions, RowId, RowRead, TableKey};
use crate::relational::compare::{in_collation, write_key};
use crate::relational::environment::Context;
use crate::relational::errors;
use crate::relational::expression::{Bound, Node, Predicate, holds, value};
use crate::relational::query::access::{KeyAccess, fixed_side};
use crate::relational::query::from::{Join, Source};
use crate::relational::query::queue_row;
use crate::relational::scope::Frame;
use crate::relational::xml;
use crate::tsql::ast::query::JoinKind;
use crate::value::{Collation, Value};

/// A row's id as a value, for the hidden column that carries it.
pub(crate) fn row_id(id: u64) -> Value {
    Value::BigInt(id as i64)
}

/// All rows of a source, in no promised order. `filter` is the condition a key to read by was found in.
pub(crate) fn rows_of(
    source: &Source,
    filter: Option<&Predicate>,
    outer: Option<&Frame<'_>>,
    ctx: &mut Context<'_, '_>,
) -> Op<Vec<Vec<Value>>> {
    match source {
        Source::Nothing => Ok(vec![Vec::new()]),
        Source::Table { key, options, access, with_ids } => {
            let access = access.as_ref().zip(filter);
            table_rows(*key, *options, access, *with_ids, outer, ctx)
        }
        Source::Queue { key, hint } => {
            let messages = ctx.tx.queue_rows(*key, *hint)?;
            Ok(messages.iter().map(queue_row).collect())
        }
        Source::View { view, database } => view.rows(ctx.tx, *database),
        Source::Variable { name, with_ids } => variable_rows(name, *with_ids, ctx),
        Source::Values(rows) => values_rows(rows, outer, ctx),
        Source::Nodes(target, path) => {
            let target = value(target, &Frame::new(&[], outer), ctx)?;
            Ok(xml::nodes(path, &target)?.into_iter().map(|node| vec![node]).collect())
        }
        Source::Derived(plan) => plan.run(outer, None, ctx),
        Source::Join(join) => join_rows(join, outer, ctx),
    }
}

/// The rows of a single table for which `filter` holds, no more than `limit`, each followed by its id. Rows are looked at
/// one by one and no longer than needed, and none of them stays locked: see [`keep_locked`]. `None` when the source is
/// anything but a single table.
pub(crate) fn scan(
    source: &Source,
    filter: Option<&Predicate>,
    limit: Option<usize>,
    outer: Option<&Frame<'_>>,
    ctx: &mut Context<'_, '_>,
) -> Op<Option<Vec<Vec<Value>>>> {
    let Source::Table { key, options, access, .. } = source else { return Ok(None) };
    let mut taken = Vec::new();
    for id in row_ids(*key, *options, access.as_ref().zip(filter), outer, ctx)? {
        if limit.is_some_and(|limit| taken.len() >= limit) {
            break;
        }
        let Some(row) = ctx.tx.read_row(*key, id, *options)? else { continue };
        let row = with_row_id(&row);
        let fits = match filter {
            None => true,
            Some(filter) => holds(filter, &Frame::new(&row, outer), ctx)? == Some(true),
        };
        if fits {
            taken.push(row);
        }
    }
    Ok(Some(taken))
}

/// Keeps the rows that a scan has found and its statement has taken locked, as the hints of the table ask for. The rows
/// end with their ids.
pub(crate) fn keep_locked(source: &Source, rows: &[Vec<Value>], ctx: &mut Context<'_, '_>) -> Op<()> {
    let Source::Table { key, options, .. } = source else { return Ok(()) };
    for row in rows {
        if let Some(Value::BigInt(id)) = row.last() {
            // What READPAST has to skip, the scan has skipped.
            ctx.tx.keep_locked(*key, RowId(*id as u64), *options)?;
        }
    }
    Ok(())
}

/// All rows of a table. They stay locked as the hints ask for, unless the statement changes them, which locks them itself.
fn table_rows(
    table: TableKey,
    options: ReadOptions,
    access: Option<(&KeyAccess, &Predicate)>,
    with_ids: bool,
    outer: Option<&Frame<'_>>,
    ctx: &mut Context<'_, '_>,
) -> Op<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for id in row_ids(table, options, access, outer, ctx)? {
        let Some(row) = ctx.tx.read_row(table, id, options)? else { continue };
        if with_ids {
            rows.push(with_row_id(&row));
        } else if ctx.tx.keep_locked(table, id, options)? {
            rows.push(row.values.to_vec());
        }
    }
    Ok(rows)
}

fn with_row_id(row: &RowRead) -> Vec<Value> {
    let mut values = Vec::with_capacity(row.values.len() + 1);
    values.extend_from_slice(&row.values);
    values.push(row_id(row.id.0));
    values
}

/// The rows to look at: those with the key that the condition fixes, or all.
fn row_ids(
    table: TableKey,
    options: ReadOptions,
    access: Option<(&KeyAccess, &Predicate)>,
    outer: Option<&Frame<'_>>,
    ctx: &mut Context<'_, '_>,
) -> Op<Vec<RowId>> {
    let mut wanted = Vec::new();
    if let Some((access, filter)) = access {
        let frame = Frame::new(&[], outer);
        for (place, collation) in &access.places {
            let Some(side) = fixed_side(filter, *place) else { continue };
            wanted.push(in_collation(value(side, &frame, ctx)?, *collation));
        }
    }
    let access = match access {
        // Nothing equals NULL.
        Some(_) if wanted.iter().any(Value::is_null) => return Ok(Vec::new()),
        Some((access, _)) if wanted.len() == access.places.len() => Access::Key(&access.key, &wanted),
        _ => Access::Scan,
    };
    ctx.tx.row_ids(table, access, options)
}

fn variable_rows(name: &str, with_ids: bool, ctx: &Context<'_, '_>) -> Op<Vec<Vec<Value>>> {
    let table = ctx.env.table_variable(name).ok_or_else(|| errors::undeclared_table_variable(name))?;
    let mut rows = Vec::with_capacity(table.rows().len());
    for (id, row) in (0..).zip(table.rows()) {
        let mut row = row.clone();
        if with_ids {
            row.push(row_id(id));
        }
        rows.push(row);
    }
    Ok(rows)
}

fn values_rows(
    rows: &[Vec<Bound>],
    outer: Option<&Frame<'_>>,
    ctx: &mut Context<'_, '_>,
) -> Op<Vec<Vec<Value>>> {
    let frame = Frame::new(&[], outer);
    let mut result = Vec::with_capacity(rows.len());
    for row in rows {
        let values: Op<Vec<Value>> = row.iter().map(|item| value(item, &frame, ctx)).collect();
        result.push(values?);
    }
    Ok(result)
}

fn join_rows(join: &Join, outer: Option<&Frame<'_>>, ctx: &mut Context<'_, '_>) -> Op<Vec<Vec<Value>>> {
    let left = rows_of(&join.left, None, outer, ctx)?;
    match join.kind {
        JoinKind::CrossApply | JoinKind::OuterApply => applied(join, left, outer, ctx),
        _ => {
            let right = rows_of(&join.right, None, outer, ctx)?;
            joined(join, &left, &right, outer, ctx)
        }
    }
}

/// The right side is found anew for every left row.
fn applied(
    join: &Join,
    left: Vec<Vec<Value>>,
    outer: Option<&Frame<'_>>,
    ctx: &mut Context<'_, '_>,
) -> Op<Vec<Vec<Value>>> {
    let mut result = Vec::new();
    for row in left {
        let right = rows_of(&join.right, None, Some(&Frame::new(&row, outer)), ctx)?;
        if right.is_empty() && join.kind == JoinKind::OuterApply {
            result.push(both(&row, &vec![Value::Null; join.right_width]));
        }
        result.extend(right.iter().map(|right| both(&row, right)));
    }
    Ok(result)
}

fn joined(
    join: &Join,
    left: &[Vec<Value>],
    right: &[Vec<Value>],
    outer: Option<&Frame<'_>>,
    ctx: &mut Context<'_, '_>,
) -> Op<Vec<Vec<Value>>> {
    let index = Index::of(join, right);
    let mut matched = vec![false; right.len()];
    let mut result = Vec::new();
    for row in left {
        let mut found = false;
        for place in index.candidates(join, row) {
            let pair = both(row, &right[place]);
            let fits = match &join.on {
                None => true,
                Some(on) => holds(on, &Frame::new(&pair, outer), ctx)? == Some(true),
            };
            if fits {
                found = true;
                matched[place] = true;
                result.push(pair);
            }
        }
        if !found && matches!(join.kind, JoinKind::Left | JoinKind::Full) {
            result.push(both(row, &vec![Value::Null; join.right_width]));
        }
    }
    if matches!(join.kind, JoinKind::Right | JoinKind::Full) {
        let nothing = vec![Value::Null; join.left_width];
        let lonely = right.iter().zip(&matched).filter(|(_, matched)| !**matched);
        result.extend(lonely.map(|(row, _)| both(&nothing, row)));
    }
    Ok(result)
}

/// The right rows by the columns that must be equal; without such columns every row is a candidate.
struct Index {
    by_key: Option<HashMap<Vec<u8>, Vec<usize>>>,
    count: usize,
}

impl Index {
    fn of(join: &Join, right: &[Vec<Value>]) -> Index {
        if join.pairs.is_empty() {
            return Index { by_key: None, count: right.len() };
        }
        let mut by_key: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
        for (place, row) in right.iter().enumerate() {
            let columns = join.pairs.iter().map(|(_, right, collation)| (right, *collation));
            if let Some(key) = join_key(columns, row, join.left_width) {
                by_key.entry(key).or_default().push(place);
            }
        }
        Index { by_key: Some(by_key), count: right.len() }
    }

    fn candidates(&self, join: &Join, left: &[Value]) -> Vec<usize> {
        let Some(by_key) = &self.by_key else { return (0..self.count).collect() };
        let columns = join.pairs.iter().map(|(left, _, collation)| (left, *collation));
        let key = join_key(columns, left, 0);
        key.and_then(|key| by_key.get(&key)).cloned().unwrap_or_default()
    }
}

/// The key of a row whose first column is number `offset` of the joined row; `None` when a part is NULL.
fn join_key<'p>(
    columns: impl Iterator<Item = (&'p Bound, Collation)>,
    row: &[Value],
    offset: usize,
) -> Option<Vec<u8>> {
    let mut key = Vec::new();
    for (column, collation) in columns {
        let Node::Column { index, .. } = column.node else { return None };
        let value = &row[index - offset];
        if value.is_null() {
            return None;
        }
        write_key(value, collation, &mut key);
    }
    Some(key)
}

fn both(left: &[Value], right: &[Value]) -> Vec<Value> {
    let mut row = Vec::with_capacity(left.len() + right.len());
    row.extend_from_slice(left);
    row.extend_from_slice(right);
    row
}
