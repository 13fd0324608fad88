//! ORDER BY: positions, output columns and expressions.

use std::cmp::Ordering;

use crate::engine::Op;
use crate::relational::compare::compare;
use crate::relational::errors;
use crate::relational::expression::{Binder, Bound};
use crate::tsql::ast::Expr;
use crate::tsql::ast::expr::Literal;
use crate::tsql::ast::name::eq_ignore_case;
use crate::tsql::ast::query::OrderItem;
use crate::value::{Collation, Column, Value};

/// Something to sort by, still to be evaluated.
#[derive(Debug, PartialEq)]
pub(crate) struct SortKey {
    /// The expression.
    pub(crate) value: Bound,
    /// DESC.
    pub(crate) descending: bool,
}

/// A column of finished rows to sort by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SortColumn {
    /// Place in the row.
    pub(super) index: usize,
    /// DESC.
    pub(super) descending: bool,
    /// Collation of text.
    pub(super) collation: Collation,
}

/// Binds sort expressions that cannot be positions: WITHIN GROUP.
pub(crate) fn bind_sort_keys(items: &[OrderItem], binder: &mut Binder<'_, '_, '_>) -> Op<Vec<SortKey>> {
    let key = |item: &OrderItem| {
        Ok(SortKey { value: binder.expression(&item.value)?, descending: item.descending })
    };
    items.iter().map(key).collect()
}

/// The order of two rows of evaluated sort keys.
pub(crate) fn order_of(keys: &[SortKey], left: &[Value], right: &[Value]) -> Ordering {
    let pairs = keys.iter().zip(left.iter().zip(right));
    let orders = pairs.map(|(key, (left, right))| {
        directed(compare(left, right, key.value.collating.collation), key.descending)
    });
    orders.fold(Ordering::Equal, Ordering::then)
}

/// The order of two finished rows.
pub(super) fn row_order(order: &[SortColumn], left: &[Value], right: &[Value]) -> Ordering {
    let orders = order.iter().map(|column| {
        directed(compare(&left[column.index], &right[column.index], column.collation), column.descending)
    });
    orders.fold(Ordering::Equal, Ordering::then)
}

/// Binds ORDER BY of a single SELECT; expressions that are not in the select list are added to `items`.
///
/// `names` are those of the output columns; `may_add` is off after DISTINCT.
///
/// # Errors
/// 108 for a position out of range, 145 for an expression that DISTINCT has dropped, 209 for an ambiguous name.
pub(super) fn bind_order(
    order_by: &[OrderItem],
    names: &[String],
    items: &mut Vec<Bound>,
    may_add: bool,
    binder: &mut Binder<'_, '_, '_>,
) -> Op<Vec<SortColumn>> {
    let mut order = Vec::with_capacity(order_by.len());
    for item in order_by {
        let index = match output_position(&item.value, names, items)? {
            Some(index) => index,
            None => expression_position(&item.value, items, may_add, binder)?,
        };
        let collation = items[index].collating.collation;
        order.push(SortColumn { index, descending: item.descending, collation });
    }
    Ok(order)
}

/// Binds ORDER BY of a UNION and the like, which may only name output columns.
///
/// # Errors
/// 104 and 108.
pub(super) fn bind_output_order(order_by: &[OrderItem], columns: &[Column]) -> Op<Vec<SortColumn>> {
    let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    let mut order = Vec::with_capacity(order_by.len());
    for item in order_by {
        let index = position(&item.value, &names)?.ok_or_else(errors::order_not_in_list)?;
        let collation = columns[index].collation;
        order.push(SortColumn { index, descending: item.descending, collation });
    }
    Ok(order)
}

fn output_position(expr: &Expr, names: &[String], items: &[Bound]) -> Op<Option<usize>> {
    let Some(first) = position(expr, names)? else { return Ok(None) };
    let same = |index: &usize| eq_ignore_case(&names[*index], &names[first]) && !names[first].is_empty();
    let is_name = matches!(expr, Expr::Column(_));
    if is_name && (first + 1..names.len()).filter(same).any(|index| items[index] != items[first]) {
        return Err(errors::ambiguous_column(&names[first]).into());
    }
    Ok(Some(first))
}

/// The output column that a position or a plain name means.
fn position(expr: &Expr, names: &[String]) -> Op<Option<usize>> {
    match expr {
        Expr::Literal(Literal::Int(number)) => {
            let index = usize::try_from(*number).ok().and_then(|number| number.checked_sub(1));
            let index = index.filter(|index| *index < names.len());
            Ok(Some(index.ok_or_else(|| errors::order_position(i64::from(*number)))?))
        }
        Expr::Column(name) if name.parts.len() == 1 => {
            let wanted = name.name().as_str();
            Ok(names.iter().position(|name| eq_ignore_case(name, wanted)))
        }
        _ => Ok(None),
    }
}

fn expression_position(
    expr: &Expr,
    items: &mut Vec<Bound>,
    may_add: bool,
    binder: &mut Binder<'_, '_, '_>,
) -> Op<usize> {
    let bound = binder.expression(expr)?;
    if let Some(index) = items.iter().position(|item| *item == bound) {
        return Ok(index);
    }
    if !may_add {
        return Err(errors::order_not_distinct().into());
    }
    items.push(bound);
    Ok(items.len() - 1)
}

fn directed(order: Ordering, descending: bool) -> Ordering {
    if descending { order.reverse() } else { order }
}
