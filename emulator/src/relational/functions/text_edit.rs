//! Text functions that make new text: case, trimming, replacement, joining, quoting.

use super::text::{find, first, folded, like};
use super::{Call, Function, Parameter, pure};
use crate::error::SqlError;
use crate::relational::convert::printed;
use crate::relational::types::{common_type, declared_length, text_length, varying_text};
use crate::value::{Length, SqlType, Text, Value};

/// Blanks, as trimming means them.
const BLANK: u16 = b' ' as u16;

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    pure("UPPER", &[Parameter::Text], first, upper),
    pure("LOWER", &[Parameter::Text], first, lower),
    pure("LTRIM", &[Parameter::Text], first, |call| Ok(trimmed(&call.text(0), true, false))),
    pure("RTRIM", &[Parameter::Text], first, |call| Ok(trimmed(&call.text(0), false, true))),
    pure("TRIM", &[Parameter::Text], first, |call| Ok(trimmed(&call.text(0), true, true))),
    pure("REVERSE", &[Parameter::Text], first, reverse),
    pure("REPLACE", &[Parameter::Text, Parameter::Text, Parameter::Text], replaced_type, replace),
    pure("REPLICATE", &[Parameter::Text, Parameter::Int], replicated_type, replicate),
    pure("SPACE", &[Parameter::Int], |_| SqlType::varchar(8000), space),
    pure("STUFF", &[Parameter::Text, Parameter::Int, Parameter::Int, Parameter::Text], stuffed_type, stuff)
        .seeing_nulls(),
    pure("STR", &[Parameter::Float, Parameter::Int, Parameter::Int], |_| SqlType::varchar(8000), str)
        .requiring(1),
    pure("QUOTENAME", &[Parameter::Unicode, Parameter::Unicode], |_| SqlType::nvarchar(258), quote_name)
        .requiring(1),
    pure("TRANSLATE", &[Parameter::Text, Parameter::Text, Parameter::Text], first, translate),
    pure("CONCAT", &[Parameter::Any], concat_type, concat).variadic(2),
    pure("CONCAT_WS", &[Parameter::Any], concat_type, concat_with_separator).variadic(3),
];

/// The type of texts joined: Unicode if one of them is.
fn concat_type(types: &[SqlType]) -> SqlType {
    let unicode = types.iter().any(|ty| crate::relational::types::is_unicode(*ty));
    let mut total: Option<u32> = Some(0);
    for ty in types {
        total = match (total, text_length(*ty)) {
            (Some(total), Length::Limited(length)) => Some(total + u32::from(length)),
            _ => None,
        };
    }
    let length = total.map_or(Length::Max, |total| Length::Limited(total.min(8000) as u16));
    varying_text(if unicode { SqlType::nvarchar(1) } else { SqlType::varchar(1) }, length)
}

fn replaced_type(types: &[SqlType]) -> SqlType {
    let common = types.iter().copied().reduce(common_type).unwrap_or(SqlType::varchar(1));
    let long = types.first().copied().and_then(declared_length) == Some(Length::Max);
    varying_text(common, if long { Length::Max } else { Length::Limited(8000) })
}

fn replicated_type(types: &[SqlType]) -> SqlType {
    let ty = types.first().copied().unwrap_or(SqlType::varchar(1));
    let long = declared_length(ty) == Some(Length::Max);
    varying_text(ty, if long { Length::Max } else { Length::Limited(8000) })
}

fn stuffed_type(types: &[SqlType]) -> SqlType {
    let text = [types.first(), types.get(3)].into_iter().flatten().copied();
    let common = text.reduce(common_type).unwrap_or(SqlType::varchar(1));
    let long = declared_length(common) == Some(Length::Max);
    varying_text(common, if long { Length::Max } else { Length::Limited(8000) })
}

fn upper(call: &Call<'_>) -> Result<Value, SqlError> {
    Ok(cased(&call.text(0), |c| c.to_uppercase().collect()))
}

fn lower(call: &Call<'_>) -> Result<Value, SqlError> {
    Ok(cased(&call.text(0), |c| c.to_lowercase().collect()))
}

/// Changes case letter by letter; a letter whose other form is longer stays, as on the server.
fn cased(text: &Text, change: fn(char) -> String) -> Value {
    let changed = |unit: u16| {
        let letter = char::from_u32(u32::from(unit)).map(change);
        let mut units = letter.as_deref().unwrap_or("").encode_utf16();
        match (units.next(), units.next()) {
            (Some(changed), None) => changed,
            _ => unit,
        }
    };
    like(text, text.units().iter().map(|unit| changed(*unit)).collect())
}

fn trimmed(text: &Text, left: bool, right: bool) -> Value {
    let units = text.units();
    let start = if left { units.iter().position(|unit| *unit != BLANK).unwrap_or(units.len()) } else { 0 };
    let end = if right {
        units.iter().rposition(|unit| *unit != BLANK).map_or(0, |last| last + 1)
    } else {
        units.len()
    };
    like(text, units[start.min(end)..end].to_vec())
}

fn reverse(call: &Call<'_>) -> Result<Value, SqlError> {
    let text = call.text(0);
    Ok(like(&text, text.units().iter().rev().copied().collect()))
}

fn replace(call: &Call<'_>) -> Result<Value, SqlError> {
    let (text, wanted, with) = (call.text(0), call.text(1), call.text(2));
    let (searched, folded_wanted) = (folded(&text, call.collation), folded(&wanted, call.collation));
    let (mut units, mut place) = (Vec::with_capacity(text.units().len()), 0);
    while let Some(found) = find(&searched, &folded_wanted, place) {
        units.extend_from_slice(&text.units()[place..found]);
        units.extend_from_slice(with.units());
        place = found + folded_wanted.len();
    }
    units.extend_from_slice(&text.units()[place..]);
    Ok(typed(call, units))
}

/// Text of the kind and within the length the call was bound with.
fn typed(call: &Call<'_>, mut units: Vec<u16>) -> Value {
    if let Some(Length::Limited(limit)) = declared_length(call.ty) {
        units.truncate(usize::from(limit));
    }
    let unicode = crate::relational::types::is_unicode(call.ty);
    Value::Text(Text::from_units(units, unicode).with_collation(call.collation))
}

/// Longest text REPLICATE and SPACE make, in code units: what a `(max)` value can hold.
const LONGEST: usize = 1 << 30;

fn replicate(call: &Call<'_>) -> Result<Value, SqlError> {
    let text = call.text(0);
    let Ok(times) = usize::try_from(call.int(1)) else { return Ok(Value::Null) };
    let limit = match declared_length(call.ty) {
        Some(Length::Limited(limit)) => usize::from(limit),
        _ => LONGEST,
    };
    let most = if text.units().is_empty() { 0 } else { limit / text.units().len() + 1 };
    Ok(typed(call, text.units().repeat(times.min(most))))
}

fn space(call: &Call<'_>) -> Result<Value, SqlError> {
    let Ok(times) = usize::try_from(call.int(0)) else { return Ok(Value::Null) };
    Ok(Value::Text(Text::from_units(vec![BLANK; times.min(8000)], false)))
}

/// Out-of-range positions give NULL; NULL as the new text only deletes.
fn stuff(call: &Call<'_>) -> Result<Value, SqlError> {
    if !(call.has(0) && call.has(1) && call.has(2)) {
        return Ok(Value::Null);
    }
    let (text, with) = (call.text(0), call.text(3));
    let (start, length) = (call.int(1), call.int(2));
    let size = text.units().len();
    let valid = start >= 1 && length >= 0 && start as usize <= size;
    if !valid {
        return Ok(Value::Null);
    }
    let start = start as usize - 1;
    let end = (start + length as usize).min(size);
    let units = [&text.units()[..start], with.units(), &text.units()[end..]].concat();
    Ok(typed(call, units))
}

/// Right-aligned in ten places without decimals, unless told otherwise; stars when it does not fit.
fn str(call: &Call<'_>) -> Result<Value, SqlError> {
    let width = if call.arguments.len() > 1 { call.int(1) } else { 10 };
    let decimals = call.int(2).clamp(0, 16) as usize;
    let Ok(width) = usize::try_from(width) else { return Ok(Value::Null) };
    let width = width.min(8000);
    let whole = format!("{:.0}", call.float(0).trunc());
    if whole.len() > width {
        return Ok(Value::varchar(&"*".repeat(width)));
    }
    let room = width.saturating_sub(whole.len() + 1).min(decimals);
    Ok(Value::varchar(&format!("{:>width$.room$}", call.float(0))))
}

fn quote_name(call: &Call<'_>) -> Result<Value, SqlError> {
    let name = call.string(0);
    let quote = if call.arguments.len() > 1 { call.string(1) } else { "[".to_owned() };
    let (open, close) = match quote.chars().next() {
        Some('[' | ']') => ('[', ']'),
        Some('(' | ')') => ('(', ')'),
        Some('<' | '>') => ('<', '>'),
        Some('{' | '}') => ('{', '}'),
        Some(same @ ('\'' | '"' | '`')) => (same, same),
        _ => return Ok(Value::Null),
    };
    if name.encode_utf16().count() > 128 {
        return Ok(Value::Null);
    }
    let doubled = name.replace(close, &format!("{close}{close}"));
    Ok(Value::nvarchar(&format!("{open}{doubled}{close}")))
}

fn translate(call: &Call<'_>) -> Result<Value, SqlError> {
    let (text, from, to) = (call.text(0), call.text(1), call.text(2));
    if from.units().len() != to.units().len() {
        return Err(SqlError::new(
            9828,
            "The second and third arguments of TRANSLATE must have the same number of characters.",
        ));
    }
    let (searched, from) = (folded(&text, call.collation), folded(&from, call.collation));
    let changed = text.units().iter().zip(&searched).map(|(unit, folded)| {
        from.iter().position(|wanted| wanted == folded).map_or(*unit, |place| to.units()[place])
    });
    Ok(like(&text, changed.collect()))
}

/// NULL counts as an empty text.
fn concat(call: &Call<'_>) -> Result<Value, SqlError> {
    let mut units = Vec::new();
    for argument in call.arguments {
        if let Some(text) = printed(argument) {
            units.extend_from_slice(text.units());
        }
    }
    Ok(typed(call, units))
}

/// NULL is left out together with its separator.
fn concat_with_separator(call: &Call<'_>) -> Result<Value, SqlError> {
    let separator = printed(&call.arguments[0]);
    let mut units: Vec<u16> = Vec::new();
    for (index, text) in call.arguments[1..].iter().filter_map(printed).enumerate() {
        if let (true, Some(separator)) = (index > 0, &separator) {
            units.extend_from_slice(separator.units());
        }
        units.extend_from_slice(text.units());
    }
    Ok(typed(call, units))
}
