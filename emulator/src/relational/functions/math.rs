//! Mathematical functions.

use super::{Call, Function, Parameter, float, int, of_session, pure};
use crate::engine::Op;
use crate::error::SqlError;
use crate::relational::convert::{convert, rescale};
use crate::relational::environment::Context;
use crate::relational::errors;
use crate::relational::types::{exact_facets, type_name};
use crate::value::{Decimal, SqlType, Value};

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    pure("ABS", &[Parameter::Number], number, abs),
    pure("SIGN", &[Parameter::Number], number, sign),
    pure("FLOOR", &[Parameter::Number], whole, |call| stepped(call, f64::floor, i128::div_euclid)),
    pure("CEILING", &[Parameter::Number], whole, |call| {
        stepped(call, f64::ceil, |number, unit| -(-number).div_euclid(unit))
    }),
    pure("ROUND", &[Parameter::Number, Parameter::Int, Parameter::Int], number, round).requiring(2),
    pure("POWER", &[Parameter::Number, Parameter::Float], number, power),
    pure("SQRT", &[Parameter::Float], float, |call| finite(call.float(0).sqrt())),
    pure("SQUARE", &[Parameter::Float], float, |call| finite(call.float(0) * call.float(0))),
    pure("EXP", &[Parameter::Float], float, |call| finite(call.float(0).exp())),
    pure("LOG", &[Parameter::Float, Parameter::Float], float, log).requiring(1),
    pure("LOG10", &[Parameter::Float], float, |call| finite(call.float(0).log10())),
    pure("PI", &[], float, |_| Ok(Value::Float(std::f64::consts::PI))),
    pure("SIN", &[Parameter::Float], float, |call| finite(call.float(0).sin())),
    pure("COS", &[Parameter::Float], float, |call| finite(call.float(0).cos())),
    pure("TAN", &[Parameter::Float], float, |call| finite(call.float(0).tan())),
    pure("COT", &[Parameter::Float], float, |call| finite(1.0 / call.float(0).tan())),
    pure("ASIN", &[Parameter::Float], float, |call| finite(call.float(0).asin())),
    pure("ACOS", &[Parameter::Float], float, |call| finite(call.float(0).acos())),
    pure("ATAN", &[Parameter::Float], float, |call| finite(call.float(0).atan())),
    pure("ATN2", &[Parameter::Float, Parameter::Float], float, |call| {
        finite(call.float(0).atan2(call.float(1)))
    }),
    pure("DEGREES", &[Parameter::Float], float, |call| finite(call.float(0).to_degrees())),
    pure("RADIANS", &[Parameter::Float], float, |call| finite(call.float(0).to_radians())),
    pure("ISNUMERIC", &[Parameter::Any], int, is_numeric).seeing_nulls(),
    of_session("RAND", &[Parameter::Int], float, rand),
];

/// Smaller whole numbers count as `int`, `real` as `float`.
fn number(types: &[SqlType]) -> SqlType {
    match types.first() {
        Some(SqlType::TinyInt | SqlType::SmallInt | SqlType::Bit) => SqlType::Int,
        Some(SqlType::SmallMoney) => SqlType::Money,
        Some(SqlType::Real) | None => SqlType::Float,
        Some(ty) => *ty,
    }
}

fn whole(types: &[SqlType]) -> SqlType {
    match number(types) {
        SqlType::Decimal { precision, scale } if scale > 0 => {
            SqlType::Decimal { precision: (precision - scale + 1).min(38), scale: 0 }
        }
        other => other,
    }
}

fn finite(value: f64) -> Result<Value, SqlError> {
    if value.is_finite() {
        return Ok(Value::Float(value));
    }
    Err(SqlError::new(3623, "An invalid floating point operation occurred."))
}

/// The argument in the type of the result.
fn typed(call: &Call<'_>) -> Result<Value, SqlError> {
    convert(call.arguments[0].clone(), call.ty, None, true)
}

fn abs(call: &Call<'_>) -> Result<Value, SqlError> {
    let overflow = || errors::overflow(type_name(call.ty));
    Ok(match typed(call)? {
        Value::Int(value) => Value::Int(value.checked_abs().ok_or_else(overflow)?),
        Value::BigInt(value) => Value::BigInt(value.checked_abs().ok_or_else(overflow)?),
        Value::Money(value) => Value::Money(value.checked_abs().ok_or_else(overflow)?),
        Value::Decimal(value) => {
            Value::Decimal(Decimal { unscaled: value.unscaled.abs(), scale: value.scale })
        }
        Value::Float(value) => Value::Float(value.abs()),
        other => other,
    })
}

fn sign(call: &Call<'_>) -> Result<Value, SqlError> {
    Ok(match typed(call)? {
        Value::Int(value) => Value::Int(value.signum()),
        Value::BigInt(value) => Value::BigInt(value.signum()),
        Value::Money(value) => Value::Money(value.signum() * 10_000),
        Value::Decimal(value) => {
            let unit = 10_i128.pow(u32::from(value.scale));
            Value::Decimal(Decimal { unscaled: value.unscaled.signum() * unit, scale: value.scale })
        }
        Value::Float(0.0) => Value::Float(0.0),
        Value::Float(value) => Value::Float(value.signum()),
        other => other,
    })
}

/// FLOOR and CEILING: floats by one function, scaled whole numbers by another.
fn stepped(call: &Call<'_>, float: fn(f64) -> f64, exact: fn(i128, i128) -> i128) -> Result<Value, SqlError> {
    Ok(match &call.arguments[0] {
        Value::Decimal(value) => {
            let unit = 10_i128.pow(u32::from(value.scale));
            Value::Decimal(Decimal::whole(exact(value.unscaled, unit)))
        }
        Value::Money(value) => Value::Money((exact(i128::from(*value), 10_000) * 10_000) as i64),
        Value::Float(value) => Value::Float(float(*value)),
        Value::Real(value) => Value::Float(float(f64::from(*value))),
        _ => typed(call)?,
    })
}

/// A third argument other than 0 cuts instead of rounding. The result keeps the argument's scale.
fn round(call: &Call<'_>) -> Result<Value, SqlError> {
    let (places, cut) = (call.int(1), call.int(2) != 0);
    match typed(call)? {
        Value::Float(value) => {
            let unit = 10_f64.powi(places.clamp(-300, 300));
            let scaled = value * unit;
            finite(if cut { scaled.trunc() / unit } else { scaled.round() / unit })
        }
        Value::Decimal(value) => {
            let unscaled = round_unscaled(value, places, cut);
            let fits = |unscaled: &i128| match exact_facets(call.ty) {
                Some((precision, _)) => unscaled.unsigned_abs() < 10_u128.pow(u32::from(precision)),
                None => true,
            };
            let unscaled = unscaled.filter(fits).ok_or_else(|| errors::overflow("numeric"))?;
            Ok(Value::Decimal(Decimal { unscaled, scale: value.scale }))
        }
        Value::Money(value) => {
            let unscaled = round_unscaled(Decimal { unscaled: i128::from(value), scale: 4 }, places, cut);
            let money = unscaled.and_then(|unscaled| i64::try_from(unscaled).ok());
            money.map(Value::Money).ok_or_else(|| errors::overflow("money"))
        }
        whole => {
            let number = crate::relational::compare::exact(&whole).unwrap_or(Decimal::whole(0));
            let unscaled =
                round_unscaled(number, places, cut).ok_or_else(|| errors::overflow(type_name(call.ty)))?;
            convert(Value::Decimal(Decimal::whole(unscaled)), call.ty, None, true)
        }
    }
}

fn round_unscaled(value: Decimal, places: i32, cut: bool) -> Option<i128> {
    let dropped = i32::from(value.scale) - places;
    if dropped <= 0 {
        return Some(value.unscaled);
    }
    if dropped > 38 {
        return Some(0);
    }
    let unit = 10_i128.checked_pow(dropped as u32)?;
    match cut {
        true => Some(value.unscaled / unit * unit),
        false => rescale(Decimal { unscaled: value.unscaled, scale: dropped as u8 }, 0)?.checked_mul(unit),
    }
}

fn power(call: &Call<'_>) -> Result<Value, SqlError> {
    let Value::Float(base) = convert(call.arguments[0].clone(), SqlType::Float, None, true)? else {
        return Ok(Value::Null);
    };
    let result = base.powf(call.float(1));
    if !result.is_finite() {
        return Err(SqlError::new(3623, "An invalid floating point operation occurred."));
    }
    convert(Value::Float(result), call.ty, None, true)
}

fn log(call: &Call<'_>) -> Result<Value, SqlError> {
    match call.arguments.len() {
        1 => finite(call.float(0).ln()),
        _ => finite(call.float(0).log(call.float(1))),
    }
}

fn is_numeric(call: &Call<'_>) -> Result<Value, SqlError> {
    let numeric = match &call.arguments[0] {
        text @ Value::Text(_) => {
            let becomes = |ty| convert(text.clone(), ty, None, true).is_ok();
            let empty = call.string(0).trim().is_empty();
            !empty && (becomes(SqlType::Float) || becomes(SqlType::Money))
        }
        value => crate::relational::types::type_of(value).is_some_and(crate::relational::types::is_number),
    };
    Ok(Value::Int(i32::from(numeric)))
}

/// With a seed the number depends on it alone; the sequence is the emulator's own.
fn rand(call: &Call<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
    let bits = match call.arguments.first() {
        Some(Value::Int(seed)) => mixed(i64::from(*seed) as u64),
        _ => mixed(ctx.tx.new_uuid().as_u64_pair().1 ^ ctx.tx.new_uuid().as_u64_pair().0),
    };
    Ok(Value::Float((bits >> 11) as f64 / (1_u64 << 53) as f64))
}

/// The finaliser of SplitMix64.
fn mixed(seed: u64) -> u64 {
    let mut bits = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}
