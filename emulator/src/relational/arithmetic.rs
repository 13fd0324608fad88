//! The operators `+ - * / % & | ^ ~ -x` on values, and the types of their results.
//!
//! [`result_type`] decides when an expression is bound; [`compute`] works on values already converted to the operand
//! type it names. Must not know NULL (the caller answers NULL) or expressions.

use crate::error::SqlError;
use crate::relational::convert::{Moment, moment_of};
use crate::relational::errors;
use crate::relational::types::{
    common_type, declared_length, exact_facets, is_date_or_time, is_integer, is_number, rank, type_name,
    varying_text,
};
use crate::relational::wide::{Rounding, mul_div};
use crate::tsql::ast::expr::BinaryOp;
use crate::value::{Decimal, Length, SqlType, Text, Value};

/// The types an operator works with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Operation {
    /// What the left operand is converted to first.
    pub(crate) left: SqlType,
    /// What the right operand is converted to first.
    pub(crate) right: SqlType,
    /// What comes out.
    pub(crate) result: SqlType,
}

/// Types of `left op right`. Errors: 402 and 8117 for types the operator does not take, 206 for pairs that clash.
pub(crate) fn operation(op: BinaryOp, left: SqlType, right: SqlType) -> Result<Operation, SqlError> {
    let dated = is_date_or_time(left) || is_date_or_time(right);
    match op {
        BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => bitwise(op, left, right),
        BinaryOp::Add | BinaryOp::Subtract if dated => dates(op, left, right),
        BinaryOp::Add if left.is_text() && right.is_text() => concatenation(left, right),
        BinaryOp::Add if left.is_binary() && right.is_binary() => binary_concatenation(left, right),
        _ => numbers(op, left, right),
    }
}

/// Computes with operands of the operation's types. Errors: 8115 overflow, 8134 division by zero, 517 for dates.
pub(crate) fn compute(op: BinaryOp, left: &Value, right: &Value, result: SqlType) -> Result<Value, SqlError> {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => int(op, *left, *right),
        (Value::Text(left), Value::Text(right)) => Ok(Value::Text(concatenate(left, right, result))),
        (Value::Binary(left), Value::Binary(right)) => {
            let mut joined = [&left[..], &right[..]].concat();
            joined.truncate(8000.max(left.len()));
            Ok(Value::Binary(joined.into()))
        }
        (Value::Money(left), Value::Money(right)) => money(op, *left, *right),
        (Value::Decimal(left), Value::Decimal(right)) => decimal(op, *left, *right, result),
        (Value::Float(left), Value::Float(right)) => float(op, *left, *right).map(Value::Float),
        (Value::Real(left), Value::Real(right)) => {
            float(op, f64::from(*left), f64::from(*right)).map(|value| Value::Real(value as f32))
        }
        (Value::DateTime(_), Value::DateTime(_)) => dates_value(op, left, right, result),
        _ => integers(op, left, right, result),
    }
}

/// `-x`; the smallest whole numbers overflow.
pub(crate) fn negate(value: &Value) -> Result<Value, SqlError> {
    let overflow = |ty| errors::overflow(type_name(ty));
    Ok(match value {
        Value::Int(value) => Value::Int(value.checked_neg().ok_or_else(|| overflow(SqlType::Int))?),
        Value::SmallInt(value) => {
            Value::SmallInt(value.checked_neg().ok_or_else(|| overflow(SqlType::SmallInt))?)
        }
        Value::TinyInt(value) => Value::SmallInt(-i16::from(*value)),
        Value::BigInt(value) => Value::BigInt(value.checked_neg().ok_or_else(|| overflow(SqlType::BigInt))?),
        Value::Decimal(value) => Value::Decimal(Decimal { unscaled: -value.unscaled, scale: value.scale }),
        Value::Money(value) => Value::Money(value.checked_neg().ok_or_else(|| overflow(SqlType::Money))?),
        Value::Real(value) => Value::Real(-value),
        Value::Float(value) => Value::Float(-value),
        other => other.clone(),
    })
}

/// `~x` of a whole number.
pub(crate) fn complement(value: &Value) -> Value {
    match value {
        Value::Bit(value) => Value::Bit(!value),
        Value::TinyInt(value) => Value::TinyInt(!value),
        Value::SmallInt(value) => Value::SmallInt(!value),
        Value::Int(value) => Value::Int(!value),
        Value::BigInt(value) => Value::BigInt(!value),
        other => other.clone(),
    }
}

/// The operator as errors name it.
pub(crate) fn operator_name(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "add",
        BinaryOp::Subtract => "subtract",
        BinaryOp::Multiply => "multiply",
        BinaryOp::Divide => "divide",
        BinaryOp::Modulo => "modulo",
        BinaryOp::BitAnd => "'&'",
        BinaryOp::BitOr => "'|'",
        BinaryOp::BitXor => "'^'",
    }
}

fn same(ty: SqlType) -> Operation {
    Operation { left: ty, right: ty, result: ty }
}

fn bitwise(op: BinaryOp, left: SqlType, right: SqlType) -> Result<Operation, SqlError> {
    let whole = |ty: SqlType| is_integer(ty) || ty.is_binary();
    let both = is_integer(left) || is_integer(right);
    if !(whole(left) && whole(right) && both) {
        return Err(errors::incompatible_operands(type_name(left), type_name(right), operator_name(op)));
    }
    Ok(same(common_type(left, right)))
}

/// `datetime` and `smalldatetime` add and subtract as days; the newer types do not.
fn dates(op: BinaryOp, left: SqlType, right: SqlType) -> Result<Operation, SqlError> {
    let newer =
        |ty: SqlType| is_date_or_time(ty) && !matches!(ty, SqlType::DateTime | SqlType::SmallDateTime);
    for (ty, other) in [(left, right), (right, left)] {
        if newer(ty) {
            return Err(match is_number(other) {
                true => errors::type_clash(type_name(ty), type_name(other)),
                false => errors::invalid_operand(type_name(ty), operator_name(op)),
            });
        }
    }
    let result = common_type(left, right);
    Ok(Operation { left: SqlType::DateTime, right: SqlType::DateTime, result })
}

fn concatenation(left: SqlType, right: SqlType) -> Result<Operation, SqlError> {
    let common = common_type(left, right);
    let joined = varying_text(common, sum_of_lengths(left, right));
    let operand = varying_text(common, Length::Max);
    Ok(Operation { left: operand, right: operand, result: joined })
}

fn binary_concatenation(left: SqlType, right: SqlType) -> Result<Operation, SqlError> {
    let operand = SqlType::VarBinary(Length::Max);
    let result = match sum_of_lengths(left, right) {
        Length::Limited(n) => SqlType::VarBinary(Length::Limited(n.min(8000))),
        Length::Max => operand,
    };
    Ok(Operation { left: operand, right: operand, result })
}

fn sum_of_lengths(left: SqlType, right: SqlType) -> Length {
    match (declared_length(left), declared_length(right)) {
        (Some(Length::Limited(left)), Some(Length::Limited(right))) => {
            Length::Limited(left.saturating_add(right))
        }
        _ => Length::Max,
    }
}

fn numbers(op: BinaryOp, left: SqlType, right: SqlType) -> Result<Operation, SqlError> {
    let common = common_type(left, right);
    if !is_number(common) {
        return Err(match rank(left) == rank(right) {
            true => errors::invalid_operand(type_name(left), operator_name(op)),
            false => errors::incompatible_operands(type_name(left), type_name(right), operator_name(op)),
        });
    }
    match common {
        SqlType::Bit => Err(errors::incompatible_operands("bit", "bit", operator_name(op))),
        SqlType::Float | SqlType::Real if op == BinaryOp::Modulo => {
            Err(errors::incompatible_operands(type_name(left), type_name(right), operator_name(op)))
        }
        SqlType::Decimal { .. } => decimal_operation(op, left, right, common),
        other => Ok(same(other)),
    }
}

fn decimal_operation(
    op: BinaryOp,
    left: SqlType,
    right: SqlType,
    common: SqlType,
) -> Result<Operation, SqlError> {
    let facets = |ty: SqlType| exact_facets(ty).or_else(|| exact_facets(common)).unwrap_or((38, 0));
    let ((p1, s1), (p2, s2)) = (facets(left), facets(right));
    let decimal = |(precision, scale)| SqlType::Decimal { precision, scale };
    let (wide1, wide2, scale) = (p1 - s1, p2 - s2, s1.max(s2));
    let (precision, scale) = match op {
        BinaryOp::Multiply => (p1 + p2 + 1, s1 + s2),
        BinaryOp::Divide => {
            let scale = (s1 + p2 + 1).max(6);
            (wide1 + s2 + scale, scale)
        }
        BinaryOp::Modulo => (wide1.min(wide2) + scale, scale),
        _ => (wide1.max(wide2) + scale + 1, scale),
    };
    let result = capped(precision, scale, matches!(op, BinaryOp::Multiply | BinaryOp::Divide));
    Ok(Operation { left: decimal((p1, s1)), right: decimal((p2, s2)), result })
}

/// Holds a decimal result within 38 digits: the fraction gives way, of products and quotients down to six digits.
fn capped(precision: u8, scale: u8, product: bool) -> SqlType {
    if precision <= 38 {
        return SqlType::Decimal { precision: precision.max(1), scale };
    }
    let whole = precision - scale;
    let room = 38_u8.saturating_sub(whole);
    let scale = if product { scale.min(room.max(6)) } else { scale.min(room) };
    SqlType::Decimal { precision: 38, scale }
}

fn int(op: BinaryOp, left: i32, right: i32) -> Result<Value, SqlError> {
    let result = match op {
        BinaryOp::Add => left.checked_add(right),
        BinaryOp::Subtract => left.checked_sub(right),
        BinaryOp::Multiply => left.checked_mul(right),
        BinaryOp::Divide | BinaryOp::Modulo if right == 0 => return Err(errors::division_by_zero()),
        BinaryOp::Divide => left.checked_div(right),
        BinaryOp::Modulo => Some(left.wrapping_rem(right)),
        BinaryOp::BitAnd => Some(left & right),
        BinaryOp::BitOr => Some(left | right),
        BinaryOp::BitXor => Some(left ^ right),
    };
    result.map(Value::Int).ok_or_else(|| errors::overflow("int"))
}

fn integers(op: BinaryOp, left: &Value, right: &Value, result: SqlType) -> Result<Value, SqlError> {
    let (Some(left), Some(right)) = (whole(left), whole(right)) else {
        return Err(SqlError::unsupported(format!(
            "{} operator on {}",
            operator_name(op),
            type_name(result)
        )));
    };
    let overflow = || errors::overflow(type_name(result));
    let number = match op {
        BinaryOp::Add => left.checked_add(right),
        BinaryOp::Subtract => left.checked_sub(right),
        BinaryOp::Multiply => left.checked_mul(right),
        BinaryOp::Divide | BinaryOp::Modulo if right == 0 => return Err(errors::division_by_zero()),
        BinaryOp::Divide => left.checked_div(right),
        BinaryOp::Modulo => Some(left.wrapping_rem(right)),
        BinaryOp::BitAnd => Some(left & right),
        BinaryOp::BitOr => Some(left | right),
        BinaryOp::BitXor => Some(left ^ right),
    };
    let number = number.ok_or_else(overflow)?;
    match result {
        SqlType::Bit => Ok(Value::Bit(number & 1 != 0)),
        SqlType::TinyInt => u8::try_from(number).map(Value::TinyInt).map_err(|_| overflow()),
        SqlType::SmallInt => i16::try_from(number).map(Value::SmallInt).map_err(|_| overflow()),
        _ => Ok(Value::BigInt(number)),
    }
}

fn whole(value: &Value) -> Option<i64> {
    Some(match value {
        Value::Bit(value) => i64::from(*value),
        Value::TinyInt(value) => i64::from(*value),
        Value::SmallInt(value) => i64::from(*value),
        Value::Int(value) => i64::from(*value),
        Value::BigInt(value) => *value,
        _ => return None,
    })
}

fn concatenate(left: &Text, right: &Text, result: SqlType) -> Text {
    let mut units = Vec::with_capacity(left.units().len() + right.units().len());
    units.extend_from_slice(left.units());
    units.extend_from_slice(right.units());
    if let Some(Length::Limited(limit)) = declared_length(result) {
        units.truncate(usize::from(limit));
    }
    Text::from_units(units, left.is_unicode()).with_collation(left.collation())
}

fn money(op: BinaryOp, left: i64, right: i64) -> Result<Value, SqlError> {
    let (wide, other) = (i128::from(left), i128::from(right));
    let result = match op {
        BinaryOp::Add => wide + other,
        BinaryOp::Subtract => wide - other,
        BinaryOp::Multiply => {
            let product = wide * other;
            (product + 5000 * product.signum()) / 10_000
        }
        _ if right == 0 => return Err(errors::division_by_zero()),
        BinaryOp::Divide => wide * 10_000 / other,
        BinaryOp::Modulo => wide % other,
        _ => return Err(errors::invalid_operand("money", operator_name(op))),
    };
    i64::try_from(result).map(Value::Money).map_err(|_| errors::overflow("money"))
}

fn decimal(op: BinaryOp, left: Decimal, right: Decimal, result: SqlType) -> Result<Value, SqlError> {
    let SqlType::Decimal { precision, scale } = result else {
        return Err(errors::invalid_operand("decimal", operator_name(op)));
    };
    let overflow = || errors::overflow("numeric");
    if right.unscaled == 0 && matches!(op, BinaryOp::Divide | BinaryOp::Modulo) {
        return Err(errors::division_by_zero());
    }
    let unscaled = match op {
        BinaryOp::Multiply => product(left, right, scale),
        BinaryOp::Divide => quotient(left, right, scale),
        _ => linear(op, left, right, scale),
    };
    let fits = |unscaled: &i128| unscaled.unsigned_abs() < 10_u128.pow(u32::from(precision));
    unscaled.filter(fits).map(|unscaled| Value::Decimal(Decimal { unscaled, scale })).ok_or_else(overflow)
}

fn linear(op: BinaryOp, left: Decimal, right: Decimal, scale: u8) -> Option<i128> {
    let common = left.scale.max(right.scale);
    let widen =
        |value: Decimal| value.unscaled.checked_mul(10_i128.checked_pow(u32::from(common - value.scale))?);
    let (wide, other) = (widen(left)?, widen(right)?);
    let unscaled = match op {
        BinaryOp::Add => wide.checked_add(other)?,
        BinaryOp::Subtract => wide.checked_sub(other)?,
        _ => wide % other,
    };
    crate::relational::convert::rescale(Decimal { unscaled, scale: common }, scale)
}

fn product(left: Decimal, right: Decimal, scale: u8) -> Option<i128> {
    let dropped = (left.scale + right.scale).saturating_sub(scale);
    let divisor = 10_u128.checked_pow(u32::from(dropped))?;
    let magnitude =
        mul_div(left.unscaled.unsigned_abs(), right.unscaled.unsigned_abs(), divisor, Rounding::HalfUp)?;
    signed(magnitude, (left.unscaled < 0) != (right.unscaled < 0))
}

/// Quotients are cut, not rounded, as the server's are.
fn quotient(left: Decimal, right: Decimal, scale: u8) -> Option<i128> {
    let shift = i32::from(scale) + i32::from(right.scale) - i32::from(left.scale);
    let factor = 10_u128.checked_pow(u32::try_from(shift).ok()?)?;
    let magnitude =
        mul_div(left.unscaled.unsigned_abs(), factor, right.unscaled.unsigned_abs(), Rounding::Truncate)?;
    signed(magnitude, (left.unscaled < 0) != (right.unscaled < 0))
}

fn signed(magnitude: u128, negative: bool) -> Option<i128> {
    let magnitude = i128::try_from(magnitude).ok()?;
    Some(if negative { -magnitude } else { magnitude })
}

fn float(op: BinaryOp, left: f64, right: f64) -> Result<f64, SqlError> {
    let result = match op {
        BinaryOp::Add => left + right,
        BinaryOp::Subtract => left - right,
        BinaryOp::Multiply => left * right,
        BinaryOp::Divide if right == 0.0 => return Err(errors::division_by_zero()),
        BinaryOp::Divide => left / right,
        _ => return Err(errors::invalid_operand("float", operator_name(op))),
    };
    if result.is_finite() { Ok(result) } else { Err(errors::overflow("float")) }
}

/// Both sides count days since 1900-01-01; so does the sum or difference.
fn dates_value(op: BinaryOp, left: &Value, right: &Value, result: SqlType) -> Result<Value, SqlError> {
    let since_base = |value| moment_of(value).map_or(0, Moment::total_ticks) - Moment::BASE.total_ticks();
    let distance = if op == BinaryOp::Subtract { -since_base(right) } else { since_base(right) };
    let moment = moment_of(left).unwrap_or(Moment::BASE).plus_ticks(distance);
    let name = type_name(result);
    moment.and_then(|moment| moment.to_value(result)).ok_or_else(|| errors::date_overflow(name))
}

#[cfg(test)]
mod tests {
    use super::{compute, negate, operation};
    use crate::error::SqlError;
    use crate::relational::convert::{convert, display};
    use crate::relational::types::type_of;
    use crate::tsql::ast::expr::BinaryOp;
    use crate::value::{Decimal, SqlType, Value};

    fn run(op: BinaryOp, left: Value, right: Value) -> Result<Value, SqlError> {
        let types = operation(op, type_of(&left).unwrap(), type_of(&right).unwrap())?;
        let left = convert(left, types.left, None, false)?;
        let right = convert(right, types.right, None, false)?;
        compute(op, &left, &right, types.result)
    }

    fn decimal(unscaled: i128, scale: u8, precision: u8) -> (Value, SqlType) {
        (Value::Decimal(Decimal { unscaled, scale }), SqlType::Decimal { precision, scale })
    }

    #[test]
    fn whole_numbers_divide_without_fraction() {
        assert_eq!(run(BinaryOp::Divide, Value::Int(-7), Value::Int(2)), Ok(Value::Int(-3)));
        assert_eq!(run(BinaryOp::Modulo, Value::Int(-7), Value::Int(3)), Ok(Value::Int(-1)));
        assert_eq!(run(BinaryOp::Modulo, Value::Int(i32::MIN), Value::Int(-1)), Ok(Value::Int(0)));
        assert_eq!(run(BinaryOp::Divide, Value::Int(1), Value::Int(0)).unwrap_err().number, 8134);
        assert_eq!(run(BinaryOp::Add, Value::Int(i32::MAX), Value::Int(1)).unwrap_err().number, 8115);
        assert_eq!(run(BinaryOp::Add, Value::BigInt(1), Value::Int(1)), Ok(Value::BigInt(2)));
    }

    #[test]
    fn decimal_results_have_the_documented_facets() {
        let cases = [
            (BinaryOp::Divide, decimal(100, 2, 10), decimal(3, 0, 1), "0.333333"),
            (BinaryOp::Divide, decimal(100, 2, 10), decimal(3, 0, 10), "0.3333333333333"),
            (BinaryOp::Divide, decimal(200, 2, 10), decimal(3, 0, 1), "0.666666"),
            (BinaryOp::Multiply, decimal(150, 2, 5), decimal(200, 2, 5), "3.0000"),
            (BinaryOp::Add, decimal(150, 2, 5), decimal(1, 0, 1), "2.50"),
            (BinaryOp::Modulo, decimal(75, 1, 3), decimal(2, 0, 1), "1.5"),
        ];
        for (op, (left, left_type), (right, right_type), expected) in cases {
            let types = operation(op, left_type, right_type).unwrap();
            assert_eq!(display(&compute(op, &left, &right, types.result).unwrap()), expected, "{op:?}");
        }
    }

    #[test]
    fn large_decimals_keep_what_fits() {
        let ten = |digits: u32| Value::Decimal(Decimal { unscaled: 10_i128.pow(digits), scale: 10 });
        let wide = SqlType::Decimal { precision: 38, scale: 10 };
        let types = operation(BinaryOp::Multiply, wide, wide).unwrap();
        assert_eq!(types.result, SqlType::Decimal { precision: 38, scale: 6 });
        let product = compute(BinaryOp::Multiply, &ten(25), &ten(24), types.result).unwrap();
        assert_eq!(display(&product), format!("1{}.000000", "0".repeat(29)));
        assert_eq!(compute(BinaryOp::Multiply, &ten(37), &ten(37), types.result).unwrap_err().number, 8115);
    }

    #[test]
    fn datetimes_move_by_days() {
        let day = convert(Value::varchar("2020-02-28"), SqlType::DateTime, None, false).unwrap();
        let next = run(BinaryOp::Add, day.clone(), Value::Int(2)).unwrap();
        assert_eq!(display(&next), "Mar  1 2020 12:00AM");
        let date = convert(day, SqlType::Date, None, false).unwrap();
        assert_eq!(run(BinaryOp::Add, date, Value::Int(1)).unwrap_err().number, 206);
    }

    #[test]
    fn operators_refuse_types_they_do_not_take() {
        assert_eq!(
            run(BinaryOp::Subtract, Value::varchar("a"), Value::varchar("b")).unwrap_err().number,
            8117
        );
        assert_eq!(run(BinaryOp::BitAnd, Value::Float(1.0), Value::Int(1)).unwrap_err().number, 402);
        assert_eq!(run(BinaryOp::Add, Value::varchar("a"), Value::Int(1)).unwrap_err().number, 245);
        assert_eq!(negate(&Value::Int(i32::MIN)).unwrap_err().number, 8115);
    }

    #[test]
    fn text_and_bytes_are_joined() {
        assert_eq!(run(BinaryOp::Add, Value::varchar("a"), Value::nvarchar("b")), Ok(Value::nvarchar("ab")));
        let bytes = |value: &[u8]| Value::Binary(value.to_vec().into());
        assert_eq!(run(BinaryOp::Add, bytes(&[1]), bytes(&[2])), Ok(bytes(&[1, 2])));
    }
}
