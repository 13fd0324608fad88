//! Conversions to `bit`, `tinyint`, `smallint`, `int` and `bigint`.
//!
//! Decimal and float numbers lose their fraction, money rounds, bytes are taken from the right, text must be a whole
//! number. Must not know styles: none applies.

use crate::error::SqlError;
use crate::relational::convert::moment::{Moment, moment_of};
use crate::relational::convert::number_text::{text_type, trimmed};
use crate::relational::errors;
use crate::relational::types::{type_name, type_of};
use crate::value::{SqlType, Text, Value};

/// The value as a whole number of type `to`.
pub(super) fn to_integer(value: &Value, to: SqlType) -> Result<Value, SqlError> {
    if to == SqlType::Bit {
        return to_bit(value);
    }
    let number = whole(value, to)?;
    fit(number, to)
}

/// A whole number as a value of type `to`; 220 or 8115 when it does not fit.
pub(super) fn fit(number: i128, to: SqlType) -> Result<Value, SqlError> {
    let fitted = match to {
        SqlType::TinyInt => u8::try_from(number).map(Value::TinyInt),
        SqlType::SmallInt => i16::try_from(number).map(Value::SmallInt),
        SqlType::Int => i32::try_from(number).map(Value::Int),
        _ => i64::try_from(number).map(Value::BigInt),
    };
    fitted.map_err(|_| match (to, i64::try_from(number)) {
        (SqlType::TinyInt | SqlType::SmallInt, Ok(number)) => errors::integer_overflow(type_name(to), number),
        _ => errors::overflow(type_name(to)),
    })
}

fn whole(value: &Value, to: SqlType) -> Result<i128, SqlError> {
    Ok(match value {
        Value::Bit(value) => i128::from(*value),
        Value::TinyInt(value) => i128::from(*value),
        Value::SmallInt(value) => i128::from(*value),
        Value::Int(value) => i128::from(*value),
        Value::BigInt(value) => i128::from(*value),
        Value::Decimal(value) => value.unscaled / 10_i128.pow(u32::from(value.scale)),
        Value::Money(value) => i128::from((value + 5000 * value.signum()) / 10_000),
        Value::Real(value) => whole_float(f64::from(*value), to)?,
        Value::Float(value) => whole_float(*value, to)?,
        Value::Text(text) => parse_whole(text, to)?,
        Value::Binary(bytes) => i128::from(from_bytes(bytes, to)),
        Value::DateTime(_) => days_rounded(value),
        other => return Err(clash(other, to)),
    })
}

fn whole_float(value: f64, to: SqlType) -> Result<i128, SqlError> {
    let whole = value.trunc();
    if whole.is_finite() && whole.abs() < 1e30 {
        Ok(whole as i128)
    } else {
        Err(errors::overflow(type_name(to)))
    }
}

fn parse_whole(text: &Text, to: SqlType) -> Result<i128, SqlError> {
    let written = text.to_string();
    let digits = trimmed(&written);
    let unsigned = digits.strip_prefix(['+', '-']).unwrap_or(digits).trim_start();
    if !unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(bad_text(text, &written, to));
    }
    if unsigned.is_empty() {
        return if digits.is_empty() || to != SqlType::BigInt {
            Ok(0)
        } else {
            Err(bad_text(text, &written, to))
        };
    }
    let magnitude = unsigned.parse::<i128>().unwrap_or(i128::MAX);
    let number = if digits.starts_with('-') { -magnitude } else { magnitude };
    let fits = fit(number, to).is_ok();
    if fits { Ok(number) } else { Err(too_large(text, &written, to)) }
}

fn bad_text(text: &Text, written: &str, to: SqlType) -> SqlError {
    match to {
        SqlType::BigInt => errors::conversion_error(text_type(text), type_name(to)),
        _ => errors::conversion_failed(text_type(text), written, type_name(to)),
    }
}

fn too_large(text: &Text, written: &str, to: SqlType) -> SqlError {
    match to {
        SqlType::BigInt => errors::overflow(type_name(to)),
        _ => errors::integer_text_overflow(text_type(text), written, type_name(to)),
    }
}

/// The rightmost bytes, big-endian; narrower ones are not sign-extended.
fn from_bytes(bytes: &[u8], to: SqlType) -> i64 {
    let width = match to {
        SqlType::TinyInt => 1,
        SqlType::SmallInt => 2,
        SqlType::Int => 4,
        _ => 8,
    };
    let tail = &bytes[bytes.len().saturating_sub(width)..];
    let bits = tail.iter().fold(0_u64, |bits, byte| (bits << 8) | u64::from(*byte));
    match to {
        SqlType::SmallInt => i64::from(bits as u16 as i16),
        SqlType::Int => i64::from(bits as u32 as i32),
        _ => bits as i64,
    }
}

/// Days since 1900-01-01, rounded at noon.
fn days_rounded(value: &Value) -> i128 {
    let moment = moment_of(value).unwrap_or(Moment::BASE);
    i128::from(moment.days - Moment::BASE.days) + i128::from(moment.ticks >= Moment::TICKS_PER_DAY / 2)
}

fn to_bit(value: &Value) -> Result<Value, SqlError> {
    let bit = match value {
        Value::Decimal(value) => value.unscaled != 0,
        Value::Money(value) => *value != 0,
        Value::Real(value) => *value != 0.0,
        Value::Float(value) => *value != 0.0,
        Value::Binary(bytes) => bytes.iter().any(|byte| *byte != 0),
        Value::Text(text) => bit_text(text)?,
        other => whole(other, SqlType::BigInt)? != 0,
    };
    Ok(Value::Bit(bit))
}

fn bit_text(text: &Text) -> Result<bool, SqlError> {
    let written = text.to_string();
    match trimmed(&written) {
        word if word.eq_ignore_ascii_case("true") => Ok(true),
        word if word.eq_ignore_ascii_case("false") => Ok(false),
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            Ok(digits.bytes().any(|byte| byte != b'0'))
        }
        _ => Err(errors::conversion_failed(text_type(text), &written, "bit")),
    }
}

fn clash(value: &Value, to: SqlType) -> SqlError {
    errors::explicit_not_allowed(type_of(value).map_or("NULL", type_name), type_name(to))
}
