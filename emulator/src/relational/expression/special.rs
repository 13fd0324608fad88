//! Functions that do not evaluate all their arguments or take their type from some of them: ISNULL, COALESCE, NULLIF,
//! CHOOSE.

use crate::engine::Op;
use crate::relational::errors;
use crate::relational::expression::bind::{Binder, case, shared_type};
use crate::relational::expression::coerce::coerce;
use crate::relational::expression::condition::comparison;
use crate::relational::expression::{Bound, Node};
use crate::tsql::ast::Expr;
use crate::tsql::ast::expr::CompareOp;
use crate::value::{SqlType, Value};

/// Binds a call of one of these functions; `None` for any other.
pub(super) fn bind(binder: &mut Binder<'_, '_, '_>, name: &str, arguments: &[Expr]) -> Op<Option<Bound>> {
    let special: fn(&mut Binder<'_, '_, '_>, &[Expr]) -> Op<Bound> = match name.to_ascii_uppercase().as_str()
    {
        "ISNULL" => is_null,
        "COALESCE" => coalesce,
        "NULLIF" => null_if,
        "CHOOSE" => choose,
        _ => return Ok(None),
    };
    special(binder, arguments).map(Some)
}

/// The type is that of the first argument, unless that is the constant NULL.
fn is_null(binder: &mut Binder<'_, '_, '_>, arguments: &[Expr]) -> Op<Bound> {
    let [first, second] = arguments else { return Err(errors::argument_count("ISNULL", 2).into()) };
    let (first, second) = (binder.expression(first)?, binder.expression(second)?);
    let ty = if first.is_null_constant() { second.ty } else { first.ty };
    let collating = first.collating;
    let nullable = first.nullable && second.nullable;
    let list = vec![coerce(first, ty)?, coerce(second, ty)?];
    Ok(Bound { node: Node::Coalesce(list), ty, collating, nullable })
}

fn coalesce(binder: &mut Binder<'_, '_, '_>, arguments: &[Expr]) -> Op<Bound> {
    if arguments.is_empty() {
        return Err(errors::argument_range("COALESCE", 1, 254).into());
    }
    let list = binder.expressions(arguments)?;
    let (ty, collating) = shared_type(&list)?.ok_or_else(errors::untyped_case)?;
    let nullable = list.iter().all(|item| item.nullable);
    let list = list.into_iter().map(|item| Ok(coerce(item, ty)?)).collect::<Op<Vec<_>>>()?;
    Ok(Bound { node: Node::Coalesce(list), ty, collating, nullable })
}

fn null_if(binder: &mut Binder<'_, '_, '_>, arguments: &[Expr]) -> Op<Bound> {
    let [first, second] = arguments else { return Err(errors::argument_count("NULLIF", 2).into()) };
    let equal = binder.equality(first, second)?;
    let first = binder.expression(first)?;
    let null = Bound::constant(Value::Null, first.ty);
    Ok(case(vec![(equal, null)], Some(first))?)
}

fn choose(binder: &mut Binder<'_, '_, '_>, arguments: &[Expr]) -> Op<Bound> {
    let [index, list @ ..] = arguments else { return Err(errors::argument_range("CHOOSE", 2, 254).into()) };
    let mut branches = Vec::with_capacity(list.len());
    for (place, item) in (1..).zip(list) {
        let index = coerce(binder.expression(index)?, SqlType::Int)?;
        let place = Bound::constant(Value::Int(place), SqlType::Int);
        branches.push((comparison(CompareOp::Equal, index, place)?, binder.expression(item)?));
    }
    Ok(case(branches, None)?)
}
