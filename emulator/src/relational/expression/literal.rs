//! Constants: the value and type of each form of literal.

use crate::error::SqlError;
use crate::relational::errors;
use crate::relational::expression::Bound;
use crate::relational::types::{digit_count, length};
use crate::tsql::ast::Literal;
use crate::value::{Decimal, SqlType, Text, Value};

/// The constant a literal stands for.
pub(super) fn bind_literal(literal: &Literal) -> Result<Bound, SqlError> {
    Ok(match literal {
        Literal::Null => Bound::constant(Value::Null, SqlType::Int),
        Literal::Int(value) => Bound::constant(Value::Int(*value), SqlType::Int),
        Literal::Decimal(digits) => decimal(digits)?,
        Literal::Float(value) => Bound::constant(Value::Float(*value), SqlType::Float),
        Literal::Money(digits) => money(digits)?,
        Literal::String { text, national } => string(text, *national),
        Literal::Binary(bytes) => {
            let ty = SqlType::VarBinary(length(bytes.len(), 8000));
            Bound::constant(Value::Binary(bytes.clone().into()), ty)
        }
    })
}

/// `-literal` as one constant, so that its digits count as those of a number.
pub(super) fn negated(bound: &Bound) -> Option<Bound> {
    let crate::relational::expression::Node::Constant(value) = &bound.node else { return None };
    let negated = crate::relational::arithmetic::negate(value).ok()?;
    (!value.is_null()).then(|| Bound::constant(negated, bound.ty))
}

fn string(text: &str, national: bool) -> Bound {
    let text = if national { Text::unicode(text) } else { Text::code_page(text) };
    let units = text.units().len();
    let ty = match national {
        true => SqlType::NVarChar(length(units, 4000)),
        false => SqlType::VarChar(length(units, 8000)),
    };
    Bound::constant(Value::Text(text), ty)
}

fn decimal(digits: &str) -> Result<Bound, SqlError> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{}{fraction}", whole.trim_start_matches('0'));
    let unscaled = if all.is_empty() { Ok(0) } else { all.parse::<i128>() };
    let scale = u8::try_from(fraction.len()).ok().filter(|scale| *scale <= 38);
    match (unscaled, scale) {
        (Ok(unscaled), Some(scale)) if digit_count(unscaled) <= 38 => {
            let precision = digit_count(unscaled).max(scale).max(1);
            Ok(Bound::constant(
                Value::Decimal(Decimal { unscaled, scale }),
                SqlType::Decimal { precision, scale },
            ))
        }
        _ => Err(SqlError::with_severity(
            1007,
            15,
            format!(
                "The number '{digits}' is out of the range for numeric representation (maximum precision 38)."
            ),
        )),
    }
}

fn money(digits: &str) -> Result<Bound, SqlError> {
    let text = if digits.is_empty() { "0" } else { digits };
    let value = crate::relational::convert::convert(Value::varchar(text), SqlType::Money, None, true);
    value.map(|value| Bound::constant(value, SqlType::Money)).map_err(|_| errors::incorrect_syntax(digits))
}
