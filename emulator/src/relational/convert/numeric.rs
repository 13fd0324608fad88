//! Conversions to `decimal`, `numeric`, `money` and `smallmoney`.
//!
//! Rounding is half away from zero. Must not know arithmetic between decimals, which has rules of its own.

use crate::error::SqlError;
use crate::relational::convert::moment::{Moment, moment_of};
use crate::relational::convert::number_text::{parse_decimal, text_type, trimmed};
use crate::relational::errors;
use crate::relational::types::{type_name, type_of};
use crate::value::{Decimal, SqlType, Text, Value};

/// The value as `decimal(precision, scale)`; 8114 for bad text, 8115 when the digits do not suffice.
pub(super) fn to_decimal(value: &Value, precision: u8, scale: u8) -> Result<Value, SqlError> {
    let exact = exact(value, scale, "numeric")?;
    let unscaled =
        rescale(exact, scale).filter(|unscaled| unscaled.unsigned_abs() < 10_u128.pow(u32::from(precision)));
    unscaled
        .map(|unscaled| Value::Decimal(Decimal { unscaled, scale }))
        .ok_or_else(|| errors::overflow("numeric"))
}

/// The value as money; 235-like texts are 8114 here, 8115 when out of range.
pub(super) fn to_money(value: &Value, to: SqlType) -> Result<Value, SqlError> {
    let name = type_name(to);
    let exact = match value {
        Value::Text(text) => money_of_text(text, name)?,
        Value::Binary(bytes) => Decimal { unscaled: i128::from(right_bytes(bytes)), scale: 4 },
        other => exact(other, 4, name)?,
    };
    let most = if to == SqlType::SmallMoney { i64::from(i32::MAX) } else { i64::MAX };
    let units = rescale(exact, 4).and_then(|units| i64::try_from(units).ok());
    units
        .filter(|units| (-most - 1..=most).contains(units))
        .map(Value::Money)
        .ok_or_else(|| errors::overflow(name))
}

/// The same number with another scale, rounded half away from zero; `None` beyond 38 digits.
pub(crate) fn rescale(number: Decimal, scale: u8) -> Option<i128> {
    if scale >= number.scale {
        return number.unscaled.checked_mul(10_i128.checked_pow(u32::from(scale - number.scale))?);
    }
    let divisor = 10_i128.pow(u32::from(number.scale - scale));
    let (quotient, rest) = (number.unscaled / divisor, number.unscaled % divisor);
    let away = rest.unsigned_abs() >= divisor.unsigned_abs() - divisor.unsigned_abs() / 2;
    Some(if away { quotient + number.unscaled.signum() } else { quotient })
}

fn exact(value: &Value, scale: u8, to: &str) -> Result<Decimal, SqlError> {
    Ok(match value {
        Value::Bit(value) => Decimal::whole(i128::from(*value)),
        Value::TinyInt(value) => Decimal::whole(i128::from(*value)),
        Value::SmallInt(value) => Decimal::whole(i128::from(*value)),
        Value::Int(value) => Decimal::whole(i128::from(*value)),
        Value::BigInt(value) => Decimal::whole(i128::from(*value)),
        Value::Decimal(value) => *value,
        Value::Money(value) => Decimal { unscaled: i128::from(*value), scale: 4 },
        Value::Real(value) => of_float(f64::from(*value), scale, to)?,
        Value::Float(value) => of_float(*value, scale, to)?,
        Value::Text(text) => of_text(text, to)?,
        Value::DateTime(_) => of_float(days_since_1900(value), scale, to)?,
        other => {
            let from = type_of(other).map_or("NULL", type_name);
            return Err(SqlError::unsupported(format!("conversion of {from} to {to}")));
        }
    })
}

fn of_float(value: f64, scale: u8, to: &str) -> Result<Decimal, SqlError> {
    let overflow = || errors::overflow(to);
    if !value.is_finite() || value.abs() >= 1e38 {
        return Err(overflow());
    }
    parse_decimal(&format!("{value:.*}", usize::from(scale))).ok_or_else(overflow)
}

fn of_text(text: &Text, to: &str) -> Result<Decimal, SqlError> {
    let written = text.to_string();
    parse_decimal(trimmed(&written)).ok_or_else(|| errors::conversion_error(text_type(text), to))
}

fn money_of_text(text: &Text, to: &str) -> Result<Decimal, SqlError> {
    let written = text.to_string();
    let plain: String =
        trimmed(&written).chars().filter(|c| !matches!(c, ',' | '$' | '£' | '€' | '¥')).collect();
    if plain.is_empty() {
        return Ok(Decimal::whole(0));
    }
    parse_decimal(&plain).ok_or_else(|| errors::conversion_error(text_type(text), to))
}

fn right_bytes(bytes: &[u8]) -> i64 {
    let tail = &bytes[bytes.len().saturating_sub(8)..];
    tail.iter().fold(0_u64, |bits, byte| (bits << 8) | u64::from(*byte)) as i64
}

/// Days and their fraction since 1900-01-01, the number behind a `datetime`.
pub(super) fn days_since_1900(value: &Value) -> f64 {
    let moment = moment_of(value).unwrap_or(Moment::BASE);
    f64::from(moment.days - Moment::BASE.days) + moment.ticks as f64 / Moment::TICKS_PER_DAY as f64
}
