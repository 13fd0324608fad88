//! Character strings as UTF-16 code units, which is what SQL Server stores and compares.
//!
//! Code-page text (`char`, `varchar`) is kept as UTF-16 too; its bytes are made on demand (code page 1252).

use std::cmp::Ordering;
use std::sync::Arc;

use super::collation::Collation;

/// A character string. Unpaired surrogates survive: a body cast to `nvarchar` and back keeps its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Text {
    units: Arc<[u16]>,
    unicode: bool,
    collation: Collation,
}

impl Text {
    /// Unicode text in the default collation.
    pub fn unicode(text: &str) -> Text {
        Text::from_units(text.encode_utf16().collect(), true)
    }

    /// Code-page text in the default collation; what code page 1252 lacks becomes `?`.
    pub fn code_page(text: &str) -> Text {
        let (bytes, _, lossy) = encoding_rs::WINDOWS_1252.encode(text);
        if lossy {
            let replaced: String = text.chars().map(|c| if in_code_page(c) { c } else { '?' }).collect();
            return Text::from_units(replaced.encode_utf16().collect(), false);
        }
        Text::from_code_page_bytes(&bytes)
    }

    /// Text from code units.
    pub fn from_units(units: Vec<u16>, unicode: bool) -> Text {
        Text { units: units.into(), unicode, collation: Collation::DEFAULT }
    }

    /// Unicode text from UTF-16LE bytes; an odd last byte is taken as the low half of a unit, as the server does.
    pub fn from_utf16_bytes(bytes: &[u8]) -> Text {
        let units =
            bytes.chunks(2).map(|pair| u16::from(pair[0]) | (u16::from(*pair.get(1).unwrap_or(&0)) << 8));
        Text::from_units(units.collect(), true)
    }

    /// Code-page text from bytes of code page 1252.
    pub fn from_code_page_bytes(bytes: &[u8]) -> Text {
        let (text, _) = encoding_rs::WINDOWS_1252.decode_without_bom_handling(bytes);
        Text::from_units(text.encode_utf16().collect(), false)
    }

    /// The same text in another collation.
    pub fn with_collation(mut self, collation: Collation) -> Text {
        self.collation = collation;
        self
    }

    /// The code units.
    pub fn units(&self) -> &[u16] {
        &self.units
    }

    /// Whether this is `nchar`, `nvarchar` or `ntext`.
    pub fn is_unicode(&self) -> bool {
        self.unicode
    }

    /// The collation comparisons use.
    pub fn collation(&self) -> Collation {
        self.collation
    }

    /// The bytes as stored and sent: UTF-16LE for Unicode text, code page 1252 otherwise.
    pub fn bytes(&self) -> Vec<u8> {
        if self.unicode {
            return self.units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        }
        encoding_rs::WINDOWS_1252.encode(&self.to_string()).0.into_owned()
    }

    /// Compares as the collation of `self` says, ignoring trailing blanks as SQL comparison does.
    pub fn compare(&self, other: &Text) -> Ordering {
        let (left, right) = (trimmed(&self.units), trimmed(&other.units));
        match self.collation {
            Collation::Binary => left.cmp(right),
            Collation::CaseInsensitive => folded(left).cmp(folded(right)),
        }
    }
}

impl std::fmt::Display for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        char::decode_utf16(self.units.iter().copied())
            .try_for_each(|c| write!(f, "{}", c.unwrap_or(char::REPLACEMENT_CHARACTER)))
    }
}

fn in_code_page(c: char) -> bool {
    !encoding_rs::WINDOWS_1252.encode(c.encode_utf8(&mut [0; 4])).2
}

fn trimmed(units: &[u16]) -> &[u16] {
    let end = units.iter().rposition(|unit| *unit != u16::from(b' ')).map_or(0, |last| last + 1);
    &units[..end]
}

fn folded(units: &[u16]) -> impl Iterator<Item = char> + '_ {
    char::decode_utf16(units.iter().copied())
        .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
        .flat_map(char::to_lowercase)
}
