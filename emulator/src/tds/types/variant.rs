//! sql_variant: a value that carries its own type (MS-TDS 2.2.5.5.4).

use bytes::{BufMut, Bytes};

use super::info::{Form, TypeInfo};
use super::read::value_of;
use super::scalar::{Scalar, scalar};
use super::write::{Misfit, text_bytes};
use crate::tds::buffer::OutputBuffer;
use crate::tds::error::ProtocolError;
use crate::tds::wire::WireReader;
use crate::value::{Length, SqlType, Text, Value};

/// Reads a sql_variant value.
pub(super) fn read(message: &mut WireReader) -> Result<Value, ProtocolError> {
    let total = message.u32("sql_variant length")? as usize;
    if total == 0 {
        return Ok(Value::Null);
    }
    let mut value = WireReader::new(message.take(total, "sql_variant")?);
    let byte = value.u8("sql_variant type")?;
    let described = usize::from(value.u8("sql_variant property length")?);
    let mut properties = WireReader::new(value.take(described, "sql_variant properties")?);
    let info = value_type(byte, &mut properties, value.remaining())?;
    let bytes = value.take(value.remaining(), "sql_variant data")?;
    value_of(&info, bytes, message)
}

/// Writes a sql_variant value, its length first.
pub(super) fn write(target: &mut OutputBuffer, value: &Value) -> Result<(), Misfit> {
    let tail = target.tail();
    match value {
        Value::Null => tail.put_u32_le(0),
        Value::Text(text) => return write_text(target, text),
        Value::Binary(bytes) => return write_binary(target, bytes),
        Value::Xml(_) => {
            return Err(Misfit::new(SqlType::SqlVariant, value, "xml has no place in a sql_variant"));
        }
        value => {
            let (byte, ty, properties) = scalar_type(value);
            let data = scalar(ty, value)?;
            write_scalar(target, byte, &properties, &data);
        }
    }
    Ok(())
}

fn write_scalar(target: &mut OutputBuffer, byte: u8, properties: &[u8], data: &Scalar) {
    let data = data.as_ref();
    let tail = target.tail();
    tail.put_u32_le((2 + properties.len() + data.len()) as u32);
    tail.put_u8(byte);
    tail.put_u8(properties.len() as u8);
    tail.put_slice(properties);
    tail.put_slice(data);
}

/// Type byte, SQL type and properties of a value that is neither string nor xml.
fn scalar_type(value: &Value) -> (u8, SqlType, Vec<u8>) {
    match value {
        Value::Bit(_) => (0x32, SqlType::Bit, vec![]),
        Value::TinyInt(_) => (0x30, SqlType::TinyInt, vec![]),
        Value::SmallInt(_) => (0x34, SqlType::SmallInt, vec![]),
        Value::Int(_) => (0x38, SqlType::Int, vec![]),
        Value::BigInt(_) => (0x7F, SqlType::BigInt, vec![]),
        Value::Decimal(d) => (0x6C, SqlType::Decimal { precision: 38, scale: d.scale }, vec![38, d.scale]),
        Value::Money(_) => (0x3C, SqlType::Money, vec![]),
        Value::Real(_) => (0x3B, SqlType::Real, vec![]),
        Value::Float(_) => (0x3E, SqlType::Float, vec![]),
        Value::Uuid(_) => (0x24, SqlType::UniqueIdentifier, vec![]),
        Value::Date(_) => (0x28, SqlType::Date, vec![]),
        Value::Time(t) => (0x29, SqlType::Time(t.scale), vec![t.scale]),
        Value::DateTime2(t) => (0x2A, SqlType::DateTime2(t.time.scale), vec![t.time.scale]),
        Value::DateTimeOffset(t) => (0x2B, SqlType::DateTimeOffset(t.utc.time.scale), vec![t.utc.time.scale]),
        Value::DateTime(_) => (0x3D, SqlType::DateTime, vec![]),
        Value::Null | Value::Text(_) | Value::Binary(_) | Value::Xml(_) => {
            unreachable!("strings, xml and NULL are written apart")
        }
    }
}

fn write_text(target: &mut OutputBuffer, text: &Text) -> Result<(), Misfit> {
    let (byte, ty) = match text.is_unicode() {
        true => (0xE7, SqlType::nvarchar(4000)),
        false => (0xA7, SqlType::varchar(8000)),
    };
    let bytes = text_bytes(ty, text)?;
    let mut properties = text.collation().wire_bytes().to_vec();
    write_string(target, byte, &mut properties, bytes)
}

fn write_binary(target: &mut OutputBuffer, bytes: &Bytes) -> Result<(), Misfit> {
    write_string(target, 0xA5, &mut Vec::new(), bytes.clone())
}

fn write_string(
    target: &mut OutputBuffer,
    byte: u8,
    properties: &mut Vec<u8>,
    bytes: Bytes,
) -> Result<(), Misfit> {
    if bytes.len() > 8000 {
        return Err(Misfit::too_long(SqlType::SqlVariant, bytes.len()));
    }
    properties.extend_from_slice(&8000_u16.to_le_bytes());
    let tail = target.tail();
    tail.put_u32_le((2 + properties.len() + bytes.len()) as u32);
    tail.put_u8(byte);
    tail.put_u8(properties.len() as u8);
    tail.put_slice(properties);
    target.put_shared(bytes);
    Ok(())
}

/// The type a sql_variant value names, from its byte and properties; `length` is that of its data.
fn value_type(byte: u8, properties: &mut WireReader, length: usize) -> Result<TypeInfo, ProtocolError> {
    let plain = |ty| Ok(TypeInfo::new(ty, Form::Fixed(length)));
    match byte {
        0x24 => plain(SqlType::UniqueIdentifier),
        0x28 => plain(SqlType::Date),
        0x29 => plain(SqlType::Time(scale(properties)?)),
        0x2A => plain(SqlType::DateTime2(scale(properties)?)),
        0x2B => plain(SqlType::DateTimeOffset(scale(properties)?)),
        0x6A | 0x6C => {
            let (precision, scale) = (properties.u8("precision")?, properties.u8("scale")?);
            plain(SqlType::Decimal { precision, scale: scale.min(38) })
        }
        0xA5 | 0xAD => plain(SqlType::VarBinary(Length::Limited(8000))),
        0xA7 | 0xAF => TypeInfo::new(SqlType::varchar(8000), Form::Fixed(length)).with_collation(properties),
        0xE7 | 0xEF => TypeInfo::new(SqlType::nvarchar(4000), Form::Fixed(length)).with_collation(properties),
        0x30 | 0x32 | 0x34 | 0x38 | 0x3A..=0x3E | 0x7A | 0x7F => {
            TypeInfo::read(&mut WireReader::new(Bytes::copy_from_slice(&[byte])))
        }
        unknown => Err(properties.malformed(format!("sql_variant of type 0x{unknown:02X}"))),
    }
}

fn scale(properties: &mut WireReader) -> Result<u8, ProtocolError> {
    match properties.u8("sql_variant scale")? {
        scale @ 0..=7 => Ok(scale),
        scale => Err(properties.malformed(format!("sql_variant scale {scale}"))),
    }
}
