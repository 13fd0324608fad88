//! Evaluation of bound expressions and conditions over a row.
//!
//! Conditions have three values: `None` is unknown. Must not bind or know syntax.

use std::cmp::Ordering;

use crate::engine::{Interrupt, Op};
use crate::error::SqlError;
use crate::relational::arithmetic::{complement, compute, negate};
use crate::relational::compare::compare;
use crate::relational::convert::{convert, display};
use crate::relational::environment::Context;
use crate::relational::errors;
use crate::relational::expression::{Bound, Conversion, Node, Predicate};
use crate::relational::functions::{Body, Call, Nulls};
use crate::relational::like::Pattern;
use crate::relational::query::Subquery;
use crate::relational::scope::Frame;
use crate::relational::xml;
use crate::tsql::ast::expr::CompareOp;
use crate::value::{Collation, SqlType, Value};

/// The value of an expression over a row.
///
/// # Errors
/// Those of conversions, arithmetic and functions, and whatever subqueries meet.
pub(crate) fn value(bound: &Bound, frame: &Frame<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
    match &bound.node {
        Node::Constant(constant) => Ok(constant.clone()),
        Node::Column { level, index } => Ok(frame.value(*level, *index).clone()),
        Node::Variable(name) => {
            let (_, value) = ctx.env.variable(name).ok_or_else(|| errors::undeclared_variable(name))?;
            Ok(value.clone())
        }
        Node::Global(name) => {
            let (_, value) = ctx.env.global(name).ok_or_else(|| errors::undeclared_variable(name))?;
            Ok(value)
        }
        Node::Convert(conversion) => converted(conversion, bound.ty, frame, ctx),
        Node::Binary { op, left, right } => {
            let (left, right) = (value(left, frame, ctx)?, value(right, frame, ctx)?);
            if left.is_null() || right.is_null() {
                return Ok(Value::Null);
            }
            Ok(compute(*op, &left, &right, bound.ty)?)
        }
        Node::Negate(operand) => Ok(negate(&value(operand, frame, ctx)?)?),
        Node::Complement(operand) => Ok(complement(&value(operand, frame, ctx)?)),
        Node::Case { branches, otherwise } => {
            for (condition, result) in branches {
                if holds(condition, frame, ctx)? == Some(true) {
                    return value(result, frame, ctx);
                }
            }
            otherwise.as_ref().map_or(Ok(Value::Null), |otherwise| value(otherwise, frame, ctx))
        }
        Node::Coalesce(list) => first_value(list, frame, ctx),
        Node::Call { .. } => called(bound, frame, ctx),
        Node::Xml { target, method, path } => Ok(xml::apply(method, path, &value(target, frame, ctx)?)?),
        Node::Subquery(query) => query.scalar(frame, ctx),
    }
}

/// Whether a condition holds for a row; `None` when that is unknown.
///
/// # Errors
/// As [`value`].
pub(crate) fn holds(predicate: &Predicate, frame: &Frame<'_>, ctx: &mut Context<'_, '_>) -> Op<Option<bool>> {
    match predicate {
        Predicate::And(list) => all(list, false, frame, ctx),
        Predicate::Or(list) => all(list, true, frame, ctx),
        Predicate::Not(inner) => Ok(holds(inner, frame, ctx)?.map(|held| !held)),
        Predicate::Compare { op, left, right, collation } => {
            let (left, right) = (value(left, frame, ctx)?, value(right, frame, ctx)?);
            Ok(compared(*op, &left, &right, *collation))
        }
        Predicate::IsNull(operand) => Ok(Some(value(operand, frame, ctx)?.is_null())),
        Predicate::Like { operand, pattern, escape, ready, collation } => {
            let text = value(operand, frame, ctx)?;
            if text.is_null() {
                return Ok(None);
            }
            if let Some(ready) = ready {
                return Ok(Some(ready.as_ref().is_some_and(|ready| ready.matches(&display(&text)))));
            }
            let pattern = value(pattern, frame, ctx)?;
            let escape = escape.as_ref().map(|escape| value(escape, frame, ctx)).transpose()?;
            Ok(like(&text, &pattern, escape.as_ref(), *collation)?)
        }
        Predicate::InList { operand, list, collation } => in_list(operand, list, *collation, frame, ctx),
        Predicate::Quantified { op, all, left, query, ty, collation } => {
            let left = value(left, frame, ctx)?;
            quantified(*op, *all, &left, query, (*ty, *collation), frame, ctx)
        }
        Predicate::Exists(query) => Ok(Some(query.exists(frame, ctx)?)),
    }
}

/// The whole number a row-count expression (TOP, OFFSET, FETCH) comes to.
///
/// # Errors
/// 1060 for NULL and negative numbers.
pub(crate) fn whole_number(bound: &Bound, frame: &Frame<'_>, ctx: &mut Context<'_, '_>) -> Op<usize> {
    let number = convert(value(bound, frame, ctx)?, SqlType::BigInt, None, true)?;
    match number {
        Value::BigInt(number) => Ok(usize::try_from(number).map_err(|_| errors::bad_row_count())?),
        _ => Err(errors::bad_row_count().into()),
    }
}

/// Compares two values as an operator does; `None` when one of them is NULL.
pub(crate) fn compared(op: CompareOp, left: &Value, right: &Value, collation: Collation) -> Option<bool> {
    if left.is_null() || right.is_null() {
        return None;
    }
    let order = compare(left, right, collation);
    Some(match op {
        CompareOp::Equal => order == Ordering::Equal,
        CompareOp::NotEqual => order != Ordering::Equal,
        CompareOp::Less => order == Ordering::Less,
        CompareOp::LessOrEqual => order != Ordering::Greater,
        CompareOp::Greater => order == Ordering::Greater,
        CompareOp::GreaterOrEqual => order != Ordering::Less,
    })
}

fn converted(
    conversion: &Conversion,
    ty: SqlType,
    frame: &Frame<'_>,
    ctx: &mut Context<'_, '_>,
) -> Op<Value> {
    let style = match &conversion.style {
        None => None,
        Some(style) => match value(style, frame, ctx)? {
            Value::Int(style) => Some(style),
            _ => return Ok(Value::Null),
        },
    };
    let operand = value(&conversion.operand, frame, ctx);
    if !conversion.is_try {
        return Ok(convert(operand?, ty, style, conversion.explicit)?);
    }
    match operand {
        Ok(operand) => Ok(convert(operand, ty, style, conversion.explicit).unwrap_or_default()),
        Err(Interrupt::Error(_)) => Ok(Value::Null),
        Err(blocked) => Err(blocked),
    }
}

fn first_value(list: &[Bound], frame: &Frame<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
    for item in list {
        let value = value(item, frame, ctx)?;
        if !value.is_null() {
            return Ok(value);
        }
    }
    Ok(Value::Null)
}

fn called(bound: &Bound, frame: &Frame<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
    let Node::Call { function, arguments } = &bound.node else { return Ok(Value::Null) };
    let mut values = Vec::with_capacity(arguments.len());
    for argument in arguments {
        values.push(value(argument, frame, ctx)?);
    }
    if function.nulls == Nulls::AnyIsNull && values.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    let collation =
        arguments.iter().map(|argument| argument.collating).max_by_key(|collating| collating.source);
    let collation = collation.map_or(Collation::DEFAULT, |collating| collating.collation);
    let call = Call { arguments: &values, ty: bound.ty, collation };
    match function.body {
        Body::Pure(body) => Ok(body(&call)?),
        Body::Session(body) => body(&call, ctx),
    }
}

/// AND when `decisive` is false, OR when it is true: the first decisive member decides, else any unknown one.
fn all(list: &[Predicate], decisive: bool, frame: &Frame<'_>, ctx: &mut Context<'_, '_>) -> Op<Option<bool>> {
    let mut result = Some(!decisive);
    for member in list {
        match holds(member, frame, ctx)? {
            Some(held) if held == decisive => return Ok(Some(decisive)),
            Some(_) => {}
            None => result = None,
        }
    }
    Ok(result)
}

fn like(
    text: &Value,
    pattern: &Value,
    escape: Option<&Value>,
    collation: Collation,
) -> Result<Option<bool>, SqlError> {
    if pattern.is_null() || escape.is_some_and(Value::is_null) {
        return Ok(None);
    }
    let escape = escape.map(display);
    let mut letters = escape.as_deref().unwrap_or("").chars();
    let (letter, rest) = (letters.next(), letters.next());
    if rest.is_some() || (escape.is_some() && letter.is_none()) {
        return Err(errors::bad_escape(escape.as_deref().unwrap_or("")));
    }
    let pattern = Pattern::parse(&display(pattern), letter, collation);
    Ok(Some(pattern.is_some_and(|pattern| pattern.matches(&display(text)))))
}

fn in_list(
    operand: &Bound,
    list: &[Bound],
    collation: Collation,
    frame: &Frame<'_>,
    ctx: &mut Context<'_, '_>,
) -> Op<Option<bool>> {
    let wanted = value(operand, frame, ctx)?;
    let mut result = Some(false);
    for item in list {
        let candidate = value(item, frame, ctx)?;
        match compared(CompareOp::Equal, &wanted, &candidate, collation) {
            Some(true) => return Ok(Some(true)),
            Some(false) => {}
            None => result = None,
        }
    }
    Ok(result)
}

/// ANY is decided by the first row that compares true, ALL by the first that compares false.
fn quantified(
    op: CompareOp,
    all: bool,
    left: &Value,
    query: &Subquery,
    (ty, collation): (SqlType, Collation),
    frame: &Frame<'_>,
    ctx: &mut Context<'_, '_>,
) -> Op<Option<bool>> {
    if matches!((op, all), (CompareOp::Equal, false) | (CompareOp::NotEqual, true))
        && let Some(members) = query.members((ty, collation), frame, ctx)?
    {
        return Ok(members.contain(left).map(|found| found != all));
    }
    let rows = query.rows(frame, ctx)?;
    let mut result = Some(all);
    for row in rows.iter() {
        let right = convert(row[0].clone(), ty, None, false)?;
        match compared(op, left, &right, collation) {
            Some(held) if held != all => return Ok(Some(!all)),
            Some(_) => {}
            None => result = None,
        }
    }
    Ok(result)
}
