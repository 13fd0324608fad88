//! Reads the value of a parameter, given its type. Large values stay slices of the message.

use bytes::{Buf, Bytes, BytesMut};
use uuid::Uuid;

use super::info::{Form, TypeInfo};
use super::variant;
use crate::tds::error::ProtocolError;
use crate::tds::wire::WireReader;
use crate::value::{Date, DateTime, DateTime2, DateTimeOffset, Decimal, SqlType, Text, Time, Value};

/// Total length of a value in chunks that is NULL.
pub(super) const CHUNKS_NULL: u64 = u64::MAX;
/// Total length of a value in chunks when its sender did not know it.
const CHUNKS_UNKNOWN: u64 = u64::MAX - 1;
/// 100 ns units in one day.
pub(super) const TICKS_PER_DAY: u64 = 864_000_000_000;
/// 1/300 s in one day and in one minute.
pub(super) const THIRDS_PER_DAY: u32 = 25_920_000;
pub(super) const THIRDS_PER_MINUTE: u32 = 18_000;
/// Days from 0001-01-01 to 9999-12-31.
pub(super) const LAST_DAY: i32 = 3_652_058;
/// Largest offset from UTC, in minutes.
pub(super) const MAX_OFFSET: i16 = 840;

/// The value that follows in the message.
pub(crate) fn read_value(message: &mut WireReader, info: &TypeInfo) -> Result<Value, ProtocolError> {
    let bytes = match info.form {
        Form::Absent => None,
        Form::Fixed(length) => Some(message.take(length, "value")?),
        Form::ByteLength => match usize::from(message.u8("value length")?) {
            0 if !is_string(info.ty) => None,
            0xFF if is_string(info.ty) => None,
            length => Some(message.take(length, "value")?),
        },
        Form::ShortLength => match message.u16("value length")? {
            u16::MAX => None,
            length => Some(message.take(usize::from(length), "value")?),
        },
        Form::LongLength => match message.u32("value length")? {
            u32::MAX => None,
            length => Some(message.take(length as usize, "value")?),
        },
        Form::Chunks => chunks(message)?,
        Form::Variant => return variant::read(message),
    };
    bytes.map_or(Ok(Value::Null), |bytes| value_of(info, bytes, message))
}

/// The value of type `info` that `bytes` stand for; `at` tells errors where they are.
pub(super) fn value_of(info: &TypeInfo, bytes: Bytes, at: &WireReader) -> Result<Value, ProtocolError> {
    match info.ty {
        ty if ty.is_text() => {
            text(info, &bytes, at).map(|text| Value::Text(text.with_collation(info.collation)))
        }
        ty if ty.is_binary() => Ok(Value::Binary(detached(bytes, at))),
        SqlType::Xml => Ok(Value::Xml(xml(&bytes, at)?)),
        ty => scalar(ty, &bytes)
            .ok_or_else(|| at.malformed(format!("{} bytes as a value of {ty:?}", bytes.len()))),
    }
}

/// The bytes, copied if they are a small part of the message, which they would otherwise keep in memory.
fn detached(bytes: Bytes, message: &WireReader) -> Bytes {
    if bytes.len() < message.total() / 2 { Bytes::copy_from_slice(&bytes) } else { bytes }
}

fn is_string(ty: SqlType) -> bool {
    ty.is_text() || ty.is_binary()
}

/// Gathers a value in chunks. A single chunk is not copied.
fn chunks(message: &mut WireReader) -> Result<Option<Bytes>, ProtocolError> {
    let total = message.u64("length of a value in chunks")?;
    if total == CHUNKS_NULL {
        return Ok(None);
    }
    let mut parts = Vec::new();
    loop {
        match message.u32("chunk length")? as usize {
            0 => break,
            length => parts.push(message.take(length, "chunk")?),
        }
    }
    let length: usize = parts.iter().map(Bytes::len).sum();
    if total != CHUNKS_UNKNOWN && total != length as u64 {
        return Err(message.malformed(format!("chunks of {length} bytes where {total} were announced")));
    }
    Ok(Some(joined(parts, length)))
}

fn joined(mut parts: Vec<Bytes>, length: usize) -> Bytes {
    if parts.len() < 2 {
        return parts.pop().unwrap_or_default();
    }
    let mut whole = BytesMut::with_capacity(length);
    parts.iter().for_each(|part| whole.extend_from_slice(part));
    whole.freeze()
}

fn text(info: &TypeInfo, bytes: &[u8], at: &WireReader) -> Result<Text, ProtocolError> {
    match info.ty {
        SqlType::NChar(_) | SqlType::NVarChar(_) | SqlType::NText if !bytes.len().is_multiple_of(2) => {
            Err(at.malformed("Unicode text with an odd number of bytes"))
        }
        SqlType::NChar(_) | SqlType::NVarChar(_) | SqlType::NText => Ok(Text::from_utf16_bytes(bytes)),
        _ if info.utf8 => {
            let text = std::str::from_utf8(bytes).map_err(|_| at.malformed("text that is not UTF-8"))?;
            Ok(Text::code_page(text))
        }
        _ => Ok(Text::from_code_page_bytes(bytes)),
    }
}

/// XML text in UTF-16 (with or without a byte order mark) or UTF-8, without its declaration.
fn xml(bytes: &[u8], at: &WireReader) -> Result<Text, ProtocolError> {
    let text = match bytes {
        [0xFF, 0xFE, rest @ ..] => crate::tds::wire::utf16_text(rest),
        [_, 0, ..] => crate::tds::wire::utf16_text(bytes),
        [0xEF, 0xBB, 0xBF, rest @ ..] => utf8_xml(rest, at)?,
        _ => utf8_xml(bytes, at)?,
    };
    let body = match text.strip_prefix("<?xml ").and_then(|rest| rest.split_once("?>")) {
        Some((_declaration, body)) => body,
        None => &text,
    };
    Ok(Text::unicode(body))
}

fn utf8_xml(bytes: &[u8], at: &WireReader) -> Result<String, ProtocolError> {
    String::from_utf8(bytes.to_vec()).map_err(|_| at.malformed("xml that is neither UTF-16 nor UTF-8"))
}

/// A value of fixed size; `None` if the bytes are not one.
fn scalar(ty: SqlType, mut bytes: &[u8]) -> Option<Value> {
    Some(match (ty, bytes.len()) {
        (SqlType::Bit, 1) => Value::Bit(bytes[0] != 0),
        (SqlType::TinyInt, 1) => Value::TinyInt(bytes[0]),
        (SqlType::SmallInt, 2) => Value::SmallInt(bytes.get_i16_le()),
        (SqlType::Int, 4) => Value::Int(bytes.get_i32_le()),
        (SqlType::BigInt, 8) => Value::BigInt(bytes.get_i64_le()),
        (SqlType::Real, 4) => Value::Real(bytes.get_f32_le()),
        (SqlType::Float, 8) => Value::Float(bytes.get_f64_le()),
        (SqlType::Money, 8) => {
            Value::Money((i64::from(bytes.get_i32_le()) << 32) | i64::from(bytes.get_u32_le()))
        }
        (SqlType::SmallMoney, 4) => Value::Money(i64::from(bytes.get_i32_le())),
        (SqlType::UniqueIdentifier, 16) => Value::Uuid(Uuid::from_bytes_le(bytes.try_into().ok()?)),
        (SqlType::Decimal { scale, .. }, 5 | 9 | 13 | 17) => Value::Decimal(decimal(bytes, scale)?),
        _ => return temporal(ty, bytes),
    })
}

fn decimal(bytes: &[u8], scale: u8) -> Option<Decimal> {
    let (sign, magnitude) = bytes.split_first()?;
    let mut wide = [0; 16];
    wide[..magnitude.len()].copy_from_slice(magnitude);
    let unscaled = i128::try_from(u128::from_le_bytes(wide)).ok()?;
    Some(Decimal { unscaled: if *sign == 0 { -unscaled } else { unscaled }, scale })
}

fn temporal(ty: SqlType, mut bytes: &[u8]) -> Option<Value> {
    Some(match (ty, bytes.len()) {
        (SqlType::DateTime, 8) => Value::DateTime(date_time(bytes.get_i32_le(), bytes.get_u32_le())?),
        (SqlType::SmallDateTime, 4) => {
            let days = i32::from(bytes.get_u16_le());
            Value::DateTime(date_time(days, u32::from(bytes.get_u16_le()) * THIRDS_PER_MINUTE)?)
        }
        (SqlType::Date, 3) => Value::Date(date(bytes)?),
        (SqlType::Time(scale), length) if length == time_len(scale) => Value::Time(time(bytes, scale)?),
        (SqlType::DateTime2(scale), length) if length == time_len(scale) + 3 => {
            Value::DateTime2(date_time2(bytes, scale)?)
        }
        (SqlType::DateTimeOffset(scale), length) if length == time_len(scale) + 5 => {
            let (utc, mut offset) = bytes.split_at(length - 2);
            let offset_minutes = offset.get_i16_le();
            let utc = date_time2(utc, scale)?;
            (offset_minutes.abs() <= MAX_OFFSET)
                .then_some(Value::DateTimeOffset(DateTimeOffset { utc, offset_minutes }))?
        }
        _ => return None,
    })
}

/// Bytes of a time of that scale.
pub(super) fn time_len(scale: u8) -> usize {
    match scale {
        0..=2 => 3,
        3..=4 => 4,
        _ => 5,
    }
}

fn date_time(days: i32, thirds: u32) -> Option<DateTime> {
    (thirds < THIRDS_PER_DAY).then_some(DateTime { days, thirds })
}

fn date(bytes: &[u8]) -> Option<Date> {
    let days = i32::from(bytes[0]) | (i32::from(bytes[1]) << 8) | (i32::from(bytes[2]) << 16);
    (days <= LAST_DAY).then_some(Date(days))
}

fn time(bytes: &[u8], scale: u8) -> Option<Time> {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    let ticks = u64::from_le_bytes(wide).checked_mul(10_u64.pow(u32::from(7 - scale)))?;
    (ticks < TICKS_PER_DAY).then_some(Time { ticks, scale })
}

fn date_time2(bytes: &[u8], scale: u8) -> Option<DateTime2> {
    let (time_part, date_part) = bytes.split_at(time_len(scale));
    Some(DateTime2 { date: date(date_part)?, time: time(time_part, scale)? })
}
