//! Conversions to the character types, and the text of any value.
//!
//! Bytes become text unread: two to a character of Unicode types, one otherwise. Must not know how dates and floats
//! look; `date_text` and `number_text` do.

use crate::error::SqlError;
use crate::relational::convert::date_text::{self, Shown};
use crate::relational::convert::number_text::{float_scientific, float_text, money_text};
use crate::relational::convert::{Target, moment_of};
use crate::relational::errors;
use crate::relational::types::{declared_length, is_number, is_unicode, type_name, type_of};
use crate::value::{Length, SqlType, Text, Value};

/// The value as a character type, cut or padded to its length. Errors: 281 for a style, 8115 and 8170 for numbers
/// and identifiers that do not fit.
pub(super) fn to_text(value: Value, target: &Target) -> Result<Value, SqlError> {
    let unicode = is_unicode(target.ty);
    let text = match &value {
        Value::Text(text) if text.is_unicode() == unicode => text.clone(),
        Value::Text(text) if unicode => {
            Text::from_units(text.units().to_vec(), true).with_collation(text.collation())
        }
        Value::Text(text) => Text::code_page(&text.to_string()).with_collation(text.collation()),
        Value::Binary(bytes) => bytes_text(bytes, unicode, target)?,
        Value::Xml(text) => Text::from_units(text.units().to_vec(), unicode),
        other => new_text(&styled(other, target)?, unicode),
    };
    sized(text, &value, target.ty).map(Value::Text)
}

/// A value as error messages and PRINT show it; text is as it is, bytes are hexadecimal, NULL is empty.
pub(crate) fn display(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Text(text) | Value::Xml(text) => text.to_string(),
        Value::Binary(bytes) => hexadecimal(bytes, true),
        other => styled(other, &Target { ty: SqlType::nvarchar(4000), style: 0, styled: false })
            .unwrap_or_default(),
    }
}

/// The value as implicit conversion to `nvarchar` makes it (PRINT, RAISERROR, CONCAT); NULL stays `None`.
pub(crate) fn printed(value: &Value) -> Option<Text> {
    let target = Target { ty: SqlType::NVarChar(Length::Max), style: 0, styled: false };
    match to_text(value.clone(), &target) {
        Ok(Value::Text(text)) if !value.is_null() => Some(text),
        _ => None,
    }
}

fn new_text(text: &str, unicode: bool) -> Text {
    if unicode { Text::unicode(text) } else { Text::code_page(text) }
}

fn bytes_text(bytes: &[u8], unicode: bool, target: &Target) -> Result<Text, SqlError> {
    match target.style {
        0 if unicode => Ok(Text::from_utf16_bytes(bytes)),
        0 => Ok(Text::from_code_page_bytes(bytes)),
        1 | 2 => Ok(new_text(&hexadecimal(bytes, target.style == 1), unicode)),
        _ => Err(target.bad_style("varbinary")),
    }
}

/// Bytes as upper-case hexadecimal digits.
fn hexadecimal(bytes: &[u8], prefix: bool) -> String {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut text = String::with_capacity(bytes.len() * 2 + 2);
    text.push_str(if prefix { "0x" } else { "" });
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

fn styled(value: &Value, target: &Target) -> Result<String, SqlError> {
    Ok(match value {
        Value::Bit(value) => u8::from(*value).to_string(),
        Value::TinyInt(value) => value.to_string(),
        Value::SmallInt(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::BigInt(value) => value.to_string(),
        Value::Decimal(value) => value.to_string(),
        Value::Money(value) => money_text(*value, target.style),
        Value::Real(value) => float(f64::from(*value), target.style),
        Value::Float(value) => float(*value, target.style),
        Value::Uuid(value) => value.as_hyphenated().to_string().to_uppercase(),
        other => return date(other, target),
    })
}

fn float(value: f64, style: i32) -> String {
    match style {
        1 => float_scientific(value, 8),
        2 => float_scientific(value, 16),
        3 => float_scientific(value, 17),
        _ => float_text(value, 6),
    }
}

fn date(value: &Value, target: &Target) -> Result<String, SqlError> {
    let from = type_of(value).map_or("NULL", type_name);
    let moment = moment_of(value).ok_or_else(|| errors::explicit_not_allowed(from, target.name()))?;
    let legacy = matches!(value, Value::DateTime(_));
    let style = if target.styled || legacy { target.style } else { 121 };
    if matches!(style, 130 | 131) {
        return Err(SqlError::unsupported(format!("CONVERT style {style} (Hijri calendar)")));
    }
    let digits = match value {
        Value::DateTime(_) => 3,
        Value::Time(time) => time.scale,
        Value::DateTime2(value) => value.time.scale,
        Value::DateTimeOffset(value) => value.utc.time.scale,
        _ => 0,
    };
    let shown = Shown {
        date: !matches!(value, Value::Time(_)),
        time: !matches!(value, Value::Date(_)),
        digits,
        legacy,
    };
    date_text::format(&moment, style, shown).ok_or_else(|| errors::bad_style(style, from, target.name()))
}

/// Cut to the declared length; fixed types are padded with blanks.
fn sized(text: Text, value: &Value, ty: SqlType) -> Result<Text, SqlError> {
    let Some(Length::Limited(limit)) = declared_length(ty) else { return Ok(text) };
    let (limit, collation) = (usize::from(limit), text.collation());
    let units = text.units();
    if units.len() > limit {
        if let Some(short) = too_short(value, ty)? {
            return Ok(short);
        }
        return Ok(Text::from_units(units[..limit].to_vec(), text.is_unicode()).with_collation(collation));
    }
    let fixed = matches!(ty, SqlType::Char(_) | SqlType::NChar(_));
    if !fixed || units.len() == limit {
        return Ok(text);
    }
    let mut padded = units.to_vec();
    padded.resize(limit, u16::from(b' '));
    Ok(Text::from_units(padded, text.is_unicode()).with_collation(collation))
}

/// What stands in for a value that must not be cut: `*` for whole numbers in code-page text, else an error.
fn too_short(value: &Value, ty: SqlType) -> Result<Option<Text>, SqlError> {
    let Some(from) = type_of(value) else { return Ok(None) };
    let whole = matches!(value, Value::TinyInt(_) | Value::SmallInt(_) | Value::Int(_));
    match from {
        SqlType::UniqueIdentifier => {
            let text = "Insufficient result space to convert uniqueidentifier value to char.";
            Err(SqlError::new(8170, text).state(2))
        }
        _ if whole && !is_unicode(ty) => Ok(Some(Text::code_page("*"))),
        from if is_number(from) => Err(errors::overflow(type_name(ty))),
        _ => Ok(None),
    }
}
