//! Writes values as their declared type.

use std::fmt;

use bytes::{BufMut, Bytes};

use super::info::{fixed_byte, limited_bytes};
use super::read::CHUNKS_NULL;
use super::scalar::scalar;
use super::variant;
use crate::tds::buffer::OutputBuffer;
use crate::value::{SqlType, Text, Value};

/// Longest chunk of a value in chunks.
const CHUNK: usize = 1 << 16;

/// A value that is not of its declared type: an error of the emulator, never of the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Misfit {
    what: String,
}

impl Misfit {
    /// `value` cannot go out as `ty`.
    pub(super) fn new(ty: SqlType, value: &Value, why: &str) -> Misfit {
        Misfit { what: format!("a {} is not sent as {ty:?}: {why}", kind(value)) }
    }

    /// A string of `length` bytes is too long for `ty`.
    pub(super) fn too_long(ty: SqlType, length: usize) -> Misfit {
        Misfit { what: format!("{length} bytes are not sent as {ty:?}: they are too long") }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Misfit {}

/// Writes a value as type `ty`. Nothing is converted that could change; the accepted pairs are:
///
/// * NULL with every type;
/// * any integer with any integer type and `decimal`, if it fits;
/// * a `decimal` with any `decimal` type that keeps all its digits;
/// * `real` with `real` and `float`, `float` with `float`;
/// * a `money` value with `money`, and with `smallmoney` if it fits;
/// * a `datetime` value with `datetime`, and with `smalldatetime` if it is a whole minute in range;
/// * `time`, `datetime2`, `datetimeoffset` with their own type, if no digit is lost;
/// * any text with any character type that is long enough; Unicode text with a non-Unicode type only if code page
///   1252 has all its characters;
/// * any bytes with any binary type that is long enough;
/// * `bit`, `uniqueidentifier`, `date`, `xml` with their own type;
/// * everything but `xml` and strings over 8000 bytes with `sql_variant`.
///
/// On an error, part of the value may have been written: the caller truncates the buffer.
pub(crate) fn write_value(target: &mut OutputBuffer, ty: SqlType, value: &Value) -> Result<(), Misfit> {
    match ty {
        SqlType::SqlVariant => variant::write(target, value),
        SqlType::Xml => write_string(target, ty, value),
        ty if ty.is_text() || ty.is_binary() => write_string(target, ty, value),
        ty => write_scalar(target, ty, value),
    }
}

/// Writes the value of a column without NULLs, see
/// [`write_type_info_not_null`](super::write_type_info_not_null).
pub(crate) fn write_value_not_null(
    target: &mut OutputBuffer,
    ty: SqlType,
    value: &Value,
) -> Result<(), Misfit> {
    if value.is_null() {
        return Err(Misfit::new(ty, value, "the column has no NULLs"));
    }
    if fixed_byte(ty).is_none() {
        return write_value(target, ty, value);
    }
    target.tail().put_slice(scalar(ty, value)?.as_ref());
    Ok(())
}

/// The bytes of a text as a character type.
pub(super) fn text_bytes(ty: SqlType, text: &Text) -> Result<Bytes, Misfit> {
    if matches!(ty, SqlType::NChar(_) | SqlType::NVarChar(_) | SqlType::NText) {
        return Ok(utf16_bytes(text));
    }
    if !text.is_unicode() {
        return Ok(Bytes::from(text.bytes()));
    }
    let string = text.to_string();
    let (bytes, _, lossy) = encoding_rs::WINDOWS_1252.encode(&string);
    if lossy {
        let why = "code page 1252 lacks some of its characters";
        return Err(Misfit::new(ty, &Value::Text(text.clone()), why));
    }
    Ok(Bytes::from(bytes.into_owned()))
}

fn write_scalar(target: &mut OutputBuffer, ty: SqlType, value: &Value) -> Result<(), Misfit> {
    if value.is_null() {
        target.tail().put_u8(0);
        return Ok(());
    }
    let bytes = scalar(ty, value)?;
    let bytes = bytes.as_ref();
    target.tail().put_u8(bytes.len() as u8);
    target.tail().put_slice(bytes);
    Ok(())
}

fn write_string(target: &mut OutputBuffer, ty: SqlType, value: &Value) -> Result<(), Misfit> {
    let bytes = string_bytes(ty, value)?;
    let Some(limit) = limited_bytes(ty) else {
        write_chunks(target, bytes);
        return Ok(());
    };
    match bytes {
        None => target.tail().put_u16_le(u16::MAX),
        Some(bytes) if bytes.len() > usize::from(limit) => return Err(Misfit::too_long(ty, bytes.len())),
        Some(bytes) => {
            target.tail().put_u16_le(bytes.len() as u16);
            target.put_shared(bytes);
        }
    }
    Ok(())
}

fn write_chunks(target: &mut OutputBuffer, bytes: Option<Bytes>) {
    let Some(mut bytes) = bytes else {
        target.tail().put_u64_le(CHUNKS_NULL);
        return;
    };
    target.tail().put_u64_le(bytes.len() as u64);
    while !bytes.is_empty() {
        let chunk = bytes.split_to(bytes.len().min(CHUNK));
        target.tail().put_u32_le(chunk.len() as u32);
        target.put_shared(chunk);
    }
    target.tail().put_u32_le(0);
}

/// The bytes of a character, binary or xml value; `None` for NULL.
fn string_bytes(ty: SqlType, value: &Value) -> Result<Option<Bytes>, Misfit> {
    match value {
        Value::Null => Ok(None),
        Value::Text(text) if ty.is_text() => text_bytes(ty, text).map(Some),
        Value::Binary(bytes) if ty.is_binary() => Ok(Some(bytes.clone())),
        Value::Xml(text) if ty == SqlType::Xml => Ok(Some(utf16_bytes(text))),
        other => Err(Misfit::new(ty, other, "the types differ")),
    }
}

fn utf16_bytes(text: &Text) -> Bytes {
    let mut bytes = Vec::with_capacity(text.units().len() * 2);
    text.units().iter().for_each(|unit| bytes.extend_from_slice(&unit.to_le_bytes()));
    Bytes::from(bytes)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "NULL",
        Value::Bit(_) => "bit",
        Value::TinyInt(_) => "tinyint",
        Value::SmallInt(_) => "smallint",
        Value::Int(_) => "int",
        Value::BigInt(_) => "bigint",
        Value::Decimal(_) => "decimal",
        Value::Money(_) => "money",
        Value::Real(_) => "real",
        Value::Float(_) => "float",
        Value::Text(text) if text.is_unicode() => "Unicode text",
        Value::Text(_) => "code-page text",
        Value::Binary(_) => "binary",
        Value::Uuid(_) => "uniqueidentifier",
        Value::Date(_) => "date",
        Value::Time(_) => "time",
        Value::DateTime(_) => "datetime",
        Value::DateTime2(_) => "datetime2",
        Value::DateTimeOffset(_) => "datetimeoffset",
        Value::Xml(_) => "xml",
    }
}
