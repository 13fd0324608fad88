//! Text functions that look: lengths, positions, codes, parts.
//!
//! Positions and lengths count UTF-16 code units, as SQL Server does.

use super::{Call, Function, Parameter, int, pure};
use crate::error::SqlError;
use crate::relational::errors;
use crate::relational::like::Pattern;
use crate::relational::types::{declared_length, type_name, varying_text};
use crate::value::{Collation, Length, SqlType, Text, Value};

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    pure("LEN", &[Parameter::TextOrBinary], length_type, len),
    pure("DATALENGTH", &[Parameter::Any], length_type, data_length),
    pure("ASCII", &[Parameter::Text], int, ascii),
    pure("UNICODE", &[Parameter::Unicode], int, unicode),
    pure("CHAR", &[Parameter::Int], |_| SqlType::Char(1), char_of),
    pure("NCHAR", &[Parameter::Int], |_| SqlType::NChar(1), nchar_of),
    pure("CHARINDEX", &[Parameter::Text, Parameter::Text, Parameter::Int], int, char_index).requiring(2),
    pure("PATINDEX", &[Parameter::Text, Parameter::Text], int, pattern_index),
    pure("SUBSTRING", &[Parameter::TextOrBinary, Parameter::Int, Parameter::Int], first, substring),
    pure("LEFT", &[Parameter::Text, Parameter::Int], first, left),
    pure("RIGHT", &[Parameter::Text, Parameter::Int], first, right),
];

/// The varying-length type of the first argument.
pub(super) fn first(types: &[SqlType]) -> SqlType {
    match types.first() {
        Some(ty) if ty.is_text() => varying_text(*ty, declared_length(*ty).unwrap_or(Length::Max)),
        Some(ty) if ty.is_binary() => SqlType::VarBinary(declared_length(*ty).unwrap_or(Length::Max)),
        _ => SqlType::varchar(8000),
    }
}

/// Text like `model` in kind and collation.
pub(super) fn like(model: &Text, units: Vec<u16>) -> Value {
    Value::Text(Text::from_units(units, model.is_unicode()).with_collation(model.collation()))
}

/// `bigint` for `(max)` types, else `int`.
fn length_type(types: &[SqlType]) -> SqlType {
    let long = types.first().copied().and_then(declared_length) == Some(Length::Max);
    if long { SqlType::BigInt } else { SqlType::Int }
}

fn number(call: &Call<'_>, number: usize) -> Result<Value, SqlError> {
    Ok(match call.ty {
        SqlType::BigInt => Value::BigInt(number as i64),
        _ => Value::Int(number as i32),
    })
}

/// Trailing blanks do not count.
fn len(call: &Call<'_>) -> Result<Value, SqlError> {
    let length = match &call.arguments[0] {
        Value::Binary(bytes) => bytes.len(),
        _ => {
            let text = call.text(0);
            text.units().iter().rposition(|unit| *unit != u16::from(b' ')).map_or(0, |last| last + 1)
        }
    };
    number(call, length)
}

fn data_length(call: &Call<'_>) -> Result<Value, SqlError> {
    let length = match &call.arguments[0] {
        Value::Text(text) => text.units().len() * if text.is_unicode() { 2 } else { 1 },
        Value::Xml(text) => text.units().len() * 2 + 2,
        Value::Binary(bytes) => bytes.len(),
        Value::Bit(_) | Value::TinyInt(_) => 1,
        Value::SmallInt(_) => 2,
        Value::Int(_) | Value::Real(_) => 4,
        Value::BigInt(_) | Value::Money(_) | Value::Float(_) | Value::DateTime(_) => 8,
        Value::Uuid(_) => 16,
        Value::Date(_) => 3,
        Value::Time(time) => time_bytes(time.scale),
        Value::DateTime2(value) => 3 + time_bytes(value.time.scale),
        Value::DateTimeOffset(value) => 5 + time_bytes(value.utc.time.scale),
        Value::Decimal(value) => match crate::relational::types::digit_count(value.unscaled) {
            0..=9 => 5,
            10..=19 => 9,
            20..=28 => 13,
            _ => 17,
        },
        Value::Null => 0,
    };
    number(call, length)
}

fn time_bytes(scale: u8) -> usize {
    match scale {
        0..=2 => 3,
        3..=4 => 4,
        _ => 5,
    }
}

fn ascii(call: &Call<'_>) -> Result<Value, SqlError> {
    let bytes = Text::code_page(&call.string(0)).bytes();
    Ok(bytes.first().map_or(Value::Null, |byte| Value::Int(i32::from(*byte))))
}

fn unicode(call: &Call<'_>) -> Result<Value, SqlError> {
    Ok(call.text(0).units().first().map_or(Value::Null, |unit| Value::Int(i32::from(*unit))))
}

fn char_of(call: &Call<'_>) -> Result<Value, SqlError> {
    let byte = u8::try_from(call.int(0)).ok();
    Ok(byte.map_or(Value::Null, |byte| Value::Text(Text::from_code_page_bytes(&[byte]))))
}

fn nchar_of(call: &Call<'_>) -> Result<Value, SqlError> {
    let unit = u16::try_from(call.int(0)).ok();
    Ok(unit.map_or(Value::Null, |unit| Value::Text(Text::from_units(vec![unit], true))))
}

/// Positions start at 1; 0 means not found.
fn char_index(call: &Call<'_>) -> Result<Value, SqlError> {
    let (wanted, text) = (folded(&call.text(0), call.collation), folded(&call.text(1), call.collation));
    let start = (call.int(2).max(1) - 1) as usize;
    Ok(Value::Int(find(&text, &wanted, start).map_or(0, |place| place as i32 + 1)))
}

fn pattern_index(call: &Call<'_>) -> Result<Value, SqlError> {
    let found = Pattern::parse(&call.string(0), None, call.collation).and_then(|it| it.find(&call.string(1)));
    Ok(Value::Int(found.map_or(0, |place| place as i32 + 1)))
}

/// Code units to compare by: lower case when the collation ignores case, one unit for one unit.
pub(super) fn folded(text: &Text, collation: Collation) -> Vec<u16> {
    let fold = |unit: u16| {
        let lower = char::from_u32(u32::from(unit)).and_then(|c| c.to_lowercase().next());
        lower.and_then(|c| u16::try_from(u32::from(c)).ok()).unwrap_or(unit)
    };
    match collation {
        Collation::Binary => text.units().to_vec(),
        Collation::CaseInsensitive => text.units().iter().map(|unit| fold(*unit)).collect(),
    }
}

/// Where `wanted` first stands at or after `start`; an empty text is never found.
pub(super) fn find(text: &[u16], wanted: &[u16], start: usize) -> Option<usize> {
    if wanted.is_empty() || start >= text.len() {
        return None;
    }
    text[start..].windows(wanted.len()).position(|window| window == wanted).map(|place| place + start)
}

fn substring(call: &Call<'_>) -> Result<Value, SqlError> {
    let (start, length) = (i64::from(call.int(1)), i64::from(call.int(2)));
    if length < 0 {
        return Err(errors::negative_length("substring"));
    }
    let range = |size: usize| {
        let end = (start - 1 + length).clamp(0, size as i64) as usize;
        ((start - 1).clamp(0, size as i64) as usize).min(end)..end
    };
    Ok(match &call.arguments[0] {
        Value::Text(text) => like(text, text.units()[range(text.units().len())].to_vec()),
        Value::Binary(bytes) => Value::Binary(bytes.slice(range(bytes.len()))),
        _ => return Err(errors::invalid_argument_type(type_name(call.ty), 1, "substring")),
    })
}

fn left(call: &Call<'_>) -> Result<Value, SqlError> {
    let (text, length) = (call.text(0), call.int(1));
    let length = usize::try_from(length).map_err(|_| errors::negative_length("left"))?;
    Ok(like(&text, text.units()[..length.min(text.units().len())].to_vec()))
}

fn right(call: &Call<'_>) -> Result<Value, SqlError> {
    let (text, length) = (call.text(0), call.int(1));
    let length = usize::try_from(length).map_err(|_| errors::negative_length("right"))?;
    Ok(like(&text, text.units()[text.units().len().saturating_sub(length)..].to_vec()))
}
