//! Conversions to `uniqueidentifier`.

use uuid::Uuid;

use crate::error::SqlError;
use crate::relational::errors;
use crate::relational::types::{type_name, type_of};
use crate::value::Value;

/// The value as `uniqueidentifier`: from text with or without braces (what follows is ignored), from bytes in SQL
/// Server's order (the first three fields little-endian). Error 8169 for text that is none.
pub(super) fn to_uuid(value: &Value) -> Result<Value, SqlError> {
    match value {
        Value::Uuid(_) => Ok(value.clone()),
        Value::Text(text) => from_text(&text.to_string()).map(Value::Uuid).ok_or_else(errors::bad_uuid_text),
        Value::Binary(bytes) => {
            let mut padded = [0; 16];
            let taken = bytes.len().min(16);
            padded[..taken].copy_from_slice(&bytes[..taken]);
            Ok(Value::Uuid(Uuid::from_bytes_le(padded)))
        }
        other => {
            Err(errors::explicit_not_allowed(type_of(other).map_or("NULL", type_name), "uniqueidentifier"))
        }
    }
}

fn from_text(text: &str) -> Option<Uuid> {
    let (start, end) = if text.starts_with('{') { (1, 37) } else { (0, 36) };
    let digits = text.get(start..end)?;
    if start == 1 && !text[end..].starts_with('}') {
        return None;
    }
    let dashes = [8, 13, 18, 23].iter().all(|place| digits.as_bytes()[*place] == b'-');
    if dashes { Uuid::try_parse(digits).ok() } else { None }
}
