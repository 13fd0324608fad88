//! Conversions to `binary`, `varbinary`, `image` and `rowversion`.
//!
//! Text and bytes keep their left end, numbers their right end, as in the server's storage format.

use bytes::Bytes;

use crate::error::SqlError;
use crate::relational::convert::Target;
use crate::relational::errors;
use crate::relational::types::{declared_length, type_name, type_of};
use crate::value::{Length, SqlType, Text, Value};

/// The value's bytes; styles 1 and 2 read text as hexadecimal digits with and without `0x`.
pub(super) fn to_binary(value: Value, target: &Target) -> Result<Value, SqlError> {
    let bytes = match value {
        Value::Binary(bytes) => from_left(bytes, target.ty),
        Value::Text(text) => from_left(text_bytes(&text, target)?, target.ty),
        Value::Uuid(uuid) => from_left(Bytes::copy_from_slice(&uuid.to_bytes_le()), target.ty),
        Value::Xml(text) => from_left(xml_bytes(&text), target.ty),
        other => from_right(&number_bytes(&other, target)?, target.ty),
    };
    Ok(Value::Binary(bytes))
}

/// The bytes of an xml value: UTF-16LE with a byte-order mark and no declaration (U-14).
pub(crate) fn xml_bytes(text: &Text) -> Bytes {
    let mut bytes = vec![0xFF, 0xFE];
    bytes.extend(text.units().iter().flat_map(|unit| unit.to_le_bytes()));
    bytes.into()
}

fn text_bytes(text: &Text, target: &Target) -> Result<Bytes, SqlError> {
    match target.style {
        0 => Ok(text.bytes().into()),
        1 | 2 => {
            let written = text.to_string();
            hex(&written, target.style).ok_or_else(|| errors::conversion_error("varchar", target.name()))
        }
        _ => Err(target.bad_style("varchar")),
    }
}

fn hex(text: &str, style: i32) -> Option<Bytes> {
    let digits = if style == 1 { text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))? } else { text };
    if digits.len() % 2 == 1 {
        return None;
    }
    let digit = |byte: u8| (byte as char).to_digit(16);
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| Some((digit(pair[0])? * 16 + digit(pair[1])?) as u8))
        .collect::<Option<Vec<u8>>>()
        .map(Bytes::from)
}

fn number_bytes(value: &Value, target: &Target) -> Result<Vec<u8>, SqlError> {
    Ok(match value {
        Value::Bit(value) => vec![u8::from(*value)],
        Value::TinyInt(value) => vec![*value],
        Value::SmallInt(value) => value.to_be_bytes().to_vec(),
        Value::Int(value) => value.to_be_bytes().to_vec(),
        Value::BigInt(value) | Value::Money(value) => value.to_be_bytes().to_vec(),
        Value::Real(value) => value.to_be_bytes().to_vec(),
        Value::Float(value) => value.to_be_bytes().to_vec(),
        Value::DateTime(moment) => [moment.days.to_be_bytes(), moment.thirds.to_be_bytes()].concat(),
        other => {
            let from = type_of(other).map_or("NULL", type_name);
            return Err(SqlError::unsupported(format!("conversion of {from} to {}", target.name())));
        }
    })
}

fn from_left(bytes: Bytes, to: SqlType) -> Bytes {
    let Some(Length::Limited(limit)) = declared_length(to) else { return bytes };
    let limit = usize::from(limit);
    if fixed(to) && bytes.len() < limit {
        let mut padded = bytes.to_vec();
        padded.resize(limit, 0);
        return padded.into();
    }
    bytes.slice(..bytes.len().min(limit))
}

fn from_right(bytes: &[u8], to: SqlType) -> Bytes {
    let Some(Length::Limited(limit)) = declared_length(to) else { return Bytes::copy_from_slice(bytes) };
    let limit = usize::from(limit);
    let kept = &bytes[bytes.len().saturating_sub(limit)..];
    let padding = if fixed(to) { limit - kept.len() } else { 0 };
    let mut padded = vec![0; padding];
    padded.extend_from_slice(kept);
    padded.into()
}

fn fixed(ty: SqlType) -> bool {
    matches!(ty, SqlType::Binary(_) | SqlType::RowVersion)
}
