//! Conversions to `xml`: well-formedness, encodings, the declaration.
//!
//! A value may be a fragment (several roots, bare text, nothing). The declaration is checked and dropped. Must not
//! know schemas or paths.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use crate::error::SqlError;
use crate::relational::errors;
use crate::relational::types::{type_name, type_of};
use crate::value::{Text, Value};

/// The value as `xml`; 9400 with line and character when it is not well formed.
pub(super) fn to_xml(value: Value) -> Result<Value, SqlError> {
    match value {
        Value::Xml(_) => Ok(value),
        Value::Text(text) => Ok(Value::Xml(xml_from_text(&text.to_string())?)),
        Value::Binary(bytes) => Ok(Value::Xml(xml_from_bytes(&bytes)?)),
        other => Err(errors::explicit_not_allowed(type_of(&other).map_or("NULL", type_name), "xml")),
    }
}

/// Checks text and drops its declaration.
pub(crate) fn xml_from_text(text: &str) -> Result<Text, SqlError> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let body = &text[declaration(text).map_or(0, str::len)..];
    check(body, text)?;
    Ok(Text::unicode(body))
}

/// Checks bytes: UTF-16 needs a byte-order mark; else the encoding is the declared one, or UTF-8.
pub(crate) fn xml_from_bytes(bytes: &[u8]) -> Result<Text, SqlError> {
    let encoding = encoding_of(bytes)?;
    let (text, _, malformed) = encoding.decode(bytes);
    if malformed {
        return Err(errors::bad_xml(1, 1, "illegal xml character"));
    }
    xml_from_text(&text)
}

fn encoding_of(bytes: &[u8]) -> Result<&'static Encoding, SqlError> {
    match bytes {
        [0xFF, 0xFE, ..] => Ok(UTF_16LE),
        [0xFE, 0xFF, ..] => Ok(UTF_16BE),
        _ => declared_encoding(bytes),
    }
}

fn declared_encoding(bytes: &[u8]) -> Result<&'static Encoding, SqlError> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]);
    let Some(name) = declaration(&head).and_then(|declaration| pseudo_attribute(declaration, "encoding"))
    else {
        return Ok(UTF_8);
    };
    match Encoding::for_label(name.as_bytes()) {
        Some(encoding) if encoding == UTF_16LE || encoding == UTF_16BE => {
            Err(errors::bad_xml(1, 1, "unable to switch the encoding"))
        }
        Some(encoding) => Ok(encoding),
        None => Err(errors::bad_xml(1, 1, "unsupported xml encoding")),
    }
}

/// The `<?xml ...?>` at the very start.
fn declaration(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("<?xml")?;
    if !rest.starts_with([' ', '\t', '\r', '\n']) {
        return None;
    }
    rest.find("?>").map(|end| &text[.."<?xml".len() + end + 2])
}

fn pseudo_attribute<'t>(declaration: &'t str, name: &str) -> Option<&'t str> {
    let after = &declaration[declaration.find(name)? + name.len()..];
    let after = after.trim_start().strip_prefix('=')?.trim_start();
    let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    after[1..].split(quote).next()
}

/// Parses the body inside an element of our own, so that fragments pass; places are told in the original text.
fn check(body: &str, whole: &str) -> Result<(), SqlError> {
    let Err(error) = roxmltree::Document::parse(&format!("<_>{body}</_>")) else { return Ok(()) };
    let place = error.pos();
    let skipped = &whole[..whole.len() - body.len()];
    let line = place.row + skipped.matches('\n').count() as u32;
    let on_first_line = place.row == 1;
    let before =
        if on_first_line { skipped.chars().rev().take_while(|c| *c != '\n').count() as u32 } else { 0 };
    let character = if on_first_line { (place.col + before).saturating_sub(3).max(1) } else { place.col };
    Err(errors::bad_xml(line, character, &reason(&error)))
}

/// The parser's reason without its own statement of the place.
fn reason(error: &roxmltree::Error) -> String {
    let text = error.to_string();
    let place = format!(" at {}", error.pos());
    text.replace(&place, "")
}
