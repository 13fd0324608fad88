//! Conversions to `real` and `float`.

use crate::error::SqlError;
use crate::relational::convert::number_text::{text_type, trimmed};
use crate::relational::convert::numeric::days_since_1900;
use crate::relational::errors;
use crate::relational::types::{type_name, type_of};
use crate::value::{SqlType, Text, Value};

/// The value as `real` or `float`; 8114 for bad text, 8115 when it is too large.
pub(super) fn to_float(value: &Value, to: SqlType) -> Result<Value, SqlError> {
    let number = approximate(value, to)?;
    let fitted = if to == SqlType::Real { f64::from(number as f32) } else { number };
    if !fitted.is_finite() {
        return Err(errors::overflow(type_name(to)));
    }
    Ok(if to == SqlType::Real { Value::Real(number as f32) } else { Value::Float(number) })
}

fn approximate(value: &Value, to: SqlType) -> Result<f64, SqlError> {
    Ok(match value {
        Value::Bit(value) => f64::from(u8::from(*value)),
        Value::TinyInt(value) => f64::from(*value),
        Value::SmallInt(value) => f64::from(*value),
        Value::Int(value) => f64::from(*value),
        Value::BigInt(value) => *value as f64,
        Value::Decimal(value) => value.to_string().parse().unwrap_or(f64::NAN),
        Value::Money(value) => *value as f64 / 10_000.0,
        Value::Real(value) => f64::from(*value),
        Value::Float(value) => *value,
        Value::Text(text) => of_text(text, to)?,
        Value::DateTime(_) => days_since_1900(value),
        other => {
            return Err(errors::explicit_not_allowed(
                type_of(other).map_or("NULL", type_name),
                type_name(to),
            ));
        }
    })
}

fn of_text(text: &Text, to: SqlType) -> Result<f64, SqlError> {
    let written = text.to_string();
    let number = trimmed(&written);
    let plain = number.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
    match number.parse::<f64>() {
        Ok(number) if plain => Ok(number),
        _ if number.is_empty() => Ok(0.0),
        _ => Err(errors::conversion_error(text_type(text), type_name(to))),
    }
}
