//! Turns the bytes of a configuration file or a message body into text, and byte offsets into line numbers.
//!
//! Knows nothing of XML, TOML or what the text means, and reads no file.

use std::fmt;

/// Text that came from bytes, and how it was encoded there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decoded {
    /// The text, without its byte-order mark.
    pub(crate) text: String,
    /// The encoding the bytes were in.
    pub(crate) encoding: Encoding,
}

/// The encodings that are recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// UTF-8, with or without a byte-order mark.
    Utf8,
    /// UTF-16 in either byte order.
    Utf16,
}

/// The bytes are no text in any encoding that is recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotText(String);

impl fmt::Display for NotText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotText {}

/// Decodes UTF-8 and UTF-16, by byte-order mark or, for XML without one, by its first `<`.
///
/// SQL Server sends the body of an event notification as UTF-16; old configuration files are found in all of these forms.
pub(crate) fn decode(bytes: &[u8]) -> Result<Decoded, NotText> {
    match bytes {
        [0xFF, 0xFE, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => utf16(rest, u16::from_be_bytes),
        [b'<', 0, ..] => utf16(bytes, u16::from_le_bytes),
        [0, b'<', ..] => utf16(bytes, u16::from_be_bytes),
        [0xEF, 0xBB, 0xBF, rest @ ..] => utf8(rest),
        _ => utf8(bytes),
    }
}

/// Where the lines of a text begin.
#[derive(Debug, Clone)]
pub(crate) struct LineIndex {
    starts: Vec<usize>,
}

impl LineIndex {
    /// Indexes `text`.
    pub(crate) fn new(text: &str) -> Self {
        let after_breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        Self { starts: std::iter::once(0).chain(after_breaks).collect() }
    }

    /// The line, counted from 1, that holds the byte at `offset`.
    pub(crate) fn line(&self, offset: usize) -> u32 {
        let line = self.starts.partition_point(|start| *start <= offset);
        u32::try_from(line).unwrap_or(u32::MAX)
    }
}

fn utf8(bytes: &[u8]) -> Result<Decoded, NotText> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| NotText(format!("byte {} is not UTF-8 text", error.valid_up_to() + 1)))?;
    without_nul(text.to_owned(), Encoding::Utf8)
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<Decoded, NotText> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(NotText("an odd number of bytes is not UTF-16 text".to_owned()));
    }
    let units = pairs.iter().map(|pair| unit(*pair));
    let text = char::decode_utf16(units)
        .collect::<Result<String, _>>()
        .map_err(|error| NotText(format!("unit {:#06x} is not UTF-16 text", error.unpaired_surrogate())))?;
    without_nul(text, Encoding::Utf16)
}

/// A NUL character is the mark of a binary file or of a wrongly guessed encoding.
fn without_nul(text: String, encoding: Encoding) -> Result<Decoded, NotText> {
    match text.find('\0') {
        Some(at) => Err(NotText(format!("a NUL character at byte {} does not belong in text", at + 1))),
        None => Ok(Decoded { text, encoding }),
    }
}

#[cfg(test)]
mod tests {
    use super::{Encoding, LineIndex, decode};

    fn wide(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(bytes).collect()
    }

    #[test]
    fn every_accepted_encoding_gives_the_same_text() {
        let text = "<a>Zoë 😀</a>";
        let marked = format!("\u{feff}{text}");
        for bytes in [
            text.as_bytes().to_vec(),
            marked.as_bytes().to_vec(),
            wide(&marked, u16::to_le_bytes),
            wide(&marked, u16::to_be_bytes),
            wide(text, u16::to_le_bytes),
            wide(text, u16::to_be_bytes),
        ] {
            assert_eq!(decode(&bytes).unwrap().text, text);
        }
        assert_eq!(decode(text.as_bytes()).unwrap().encoding, Encoding::Utf8);
    }

    #[test]
    fn bytes_that_are_no_text_are_refused_with_the_reason() {
        assert_eq!(decode(b"ab\xff").unwrap_err().to_string(), "byte 3 is not UTF-8 text");
        assert!(decode(b"\x7fELF\0").unwrap_err().to_string().contains("NUL"));
        assert!(decode(b"\xff\xfe<\0x").unwrap_err().to_string().contains("odd number"));
        assert!(decode(b"\xff\xfe\x00\xd8").unwrap_err().to_string().contains("0xd800"));
    }

    #[test]
    fn lines_are_counted_from_one() {
        let lines = LineIndex::new("a\nbc\n\nd");
        assert_eq!([0, 1, 2, 4, 5, 6].map(|at| lines.line(at)), [1, 1, 2, 2, 3, 4]);
    }
}
