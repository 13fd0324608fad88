//! Conversions between types: one file per family of target types.
//!
//! [`convert`] is the only way in. Whether a pair of types may be converted at all is asked of [`allowed`] when an
//! expression is bound, with declared types; here a value meets a target. Must not know expressions, columns or
//! sessions.

mod allowed;
mod binary;
mod date_text;
mod float;
mod integer;
mod moment;
mod number_text;
mod numeric;
mod text;
mod uuid;
mod xml;

#[cfg(test)]
mod tests;

use crate::error::SqlError;
use crate::relational::errors;
use crate::relational::types::{declared_length, type_name, type_of};
use crate::value::{Length, SqlType, Text, Value};

pub(crate) use allowed::check_allowed;
pub(crate) use date_text::month_name;
pub(crate) use moment::{Moment, moment_of};
pub(crate) use numeric::rescale;
pub(crate) use text::{display, printed};

/// Converts a value to a type as CAST, CONVERT and assignment to a variable do: text and bytes that are too long are
/// cut without a word.
///
/// `style` is CONVERT's third argument. `explicit` tells CAST and CONVERT from conversions nobody wrote: some pairs
/// (numbers to `varchar` of a short length, text to bytes) exist only when written. Errors: 206, 220, 241, 242, 245,
/// 248, 257, 281, 529, 8114, 8115, 8169, 9400.
pub(crate) fn convert(
    value: Value,
    to: SqlType,
    style: Option<i32>,
    explicit: bool,
) -> Result<Value, SqlError> {
    let Some(from) = type_of(&value) else { return Ok(Value::Null) };
    check_allowed(from, to, explicit)?;
    let target = Target { ty: to, style: style.unwrap_or(0), styled: style.is_some() };
    match to {
        SqlType::Bit | SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt => {
            integer::to_integer(&value, to)
        }
        SqlType::Decimal { precision, scale } => numeric::to_decimal(&value, precision, scale),
        SqlType::Money | SqlType::SmallMoney => numeric::to_money(&value, to),
        SqlType::Real | SqlType::Float => float::to_float(&value, to),
        SqlType::Binary(_) | SqlType::VarBinary(_) | SqlType::Image | SqlType::RowVersion => {
            binary::to_binary(value, &target)
        }
        SqlType::UniqueIdentifier => uuid::to_uuid(&value),
        SqlType::Xml => xml::to_xml(value),
        SqlType::SqlVariant => Ok(value),
        to if to.is_text() => text::to_text(value, &target),
        _ => moment::to_moment(&value, &target),
    }
}

/// Converts a value for a column of a table: like [`convert`], but what would be cut off is error 2628, unless only
/// blanks (of text) or zero bytes (of binary data) were lost.
pub(crate) fn assign(value: Value, to: SqlType, table: &str, column: &str) -> Result<Value, SqlError> {
    if let Some(Length::Limited(limit)) = declared_length(to) {
        let unlimited = match type_of(&value) {
            Some(from) if from.is_text() && to.is_text() => Some(value.clone()),
            Some(from) if from.is_binary() && to.is_binary() && to != SqlType::RowVersion => {
                Some(value.clone())
            }
            _ => None,
        };
        if let Some(lost) = unlimited.and_then(|value| lost_part(&value, to, usize::from(limit))) {
            return Err(errors::truncated(table, column, &lost));
        }
    }
    convert(value, to, None, false)
}

/// What a conversion aims at.
struct Target {
    ty: SqlType,
    style: i32,
    styled: bool,
}

impl Target {
    fn name(&self) -> &'static str {
        type_name(self.ty)
    }

    fn bad_style(&self, from: &str) -> SqlError {
        errors::bad_style(self.style, from, self.name())
    }
}

/// The value as it would be stored, when something other than padding would be lost.
fn lost_part(value: &Value, to: SqlType, limit: usize) -> Option<String> {
    match value {
        Value::Text(text) => {
            let rest = text.units().get(limit..)?;
            let lost = rest.iter().any(|unit| *unit != u16::from(b' '));
            lost.then(|| Text::from_units(text.units()[..limit].to_vec(), true).to_string())
        }
        Value::Binary(bytes) => {
            let rest = bytes.get(limit..)?;
            let lost =
                matches!(to, SqlType::VarBinary(_)) && !rest.is_empty() || rest.iter().any(|byte| *byte != 0);
            lost.then(String::new)
        }
        _ => None,
    }
}
