//! Text bodies: UTF-8 and UTF-16, with and without a byte order mark.

use std::str;

use super::Body;
use crate::client::error::{Error, Result};

const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";
const UTF16_MARK: &[u8] = b"\xff\xfe";

/// How text is written into a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextEncoding {
    /// UTF-16LE without a mark, as T-SQL sends an `nvarchar`.
    Utf16,
    /// UTF-16LE behind a byte order mark, as `CAST(... AS xml)` wants it.
    MarkedUtf16,
    /// UTF-8 without a mark.
    Utf8,
    /// UTF-8 behind a byte order mark, as some programs on Windows write it.
    MarkedUtf8,
}

impl Body {
    /// Text in this encoding.
    #[must_use]
    pub fn text(text: &str, encoding: TextEncoding) -> Self {
        match encoding {
            TextEncoding::Utf16 => Self(utf16_bytes(text)),
            TextEncoding::MarkedUtf16 => Self([UTF16_MARK, &utf16_bytes(text)].concat()),
            TextEncoding::Utf8 => Self(text.as_bytes().to_vec()),
            TextEncoding::MarkedUtf8 => Self([UTF8_MARK, text.as_bytes()].concat()),
        }
    }

    /// Text as T-SQL sends an `nvarchar`: UTF-16LE without a byte order mark. `CAST(message_body AS nvarchar(max))`
    /// reads it.
    #[must_use]
    pub fn utf16(text: &str) -> Self {
        Self::text(text, TextEncoding::Utf16)
    }

    /// Text as UTF-8.
    #[must_use]
    pub fn utf8(text: impl Into<String>) -> Self {
        Self(text.into().into_bytes())
    }

    /// Reads the body as UTF-16LE text, skipping a byte order mark.
    ///
    /// # Errors
    /// [`ErrorKind::BodyUnreadable`](crate::client::ErrorKind::BodyUnreadable) for an odd number of bytes or an unpaired surrogate.
    pub fn to_utf16(&self) -> Result<String> {
        let bytes = self.0.strip_prefix(UTF16_MARK).unwrap_or(&self.0);
        decode_utf16(bytes, u16::from_le_bytes)
    }

    /// Reads the body as UTF-8 text, skipping a byte order mark.
    ///
    /// # Errors
    /// [`ErrorKind::BodyUnreadable`](crate::client::ErrorKind::BodyUnreadable) when it is not UTF-8; the text says where it stops to be.
    pub fn to_utf8(&self) -> Result<&str> {
        let bytes = self.0.strip_prefix(UTF8_MARK).unwrap_or(&self.0);
        str::from_utf8(bytes).map_err(|error| {
            let at = error.valid_up_to();
            Error::unreadable(format!("the body is not utf-8: byte {at} cannot stand there"))
                .with_cause(error)
        })
    }
}

/// Decodes UTF-16 in either byte order, without a mark.
pub(super) fn decode_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String> {
    if !bytes.len().is_multiple_of(2) {
        return Err(Error::unreadable(format!("the body is not utf-16: it has {} bytes", bytes.len())));
    }
    let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
    String::from_utf16(&units).map_err(|error| {
        Error::unreadable("the body is not utf-16: a surrogate stands without its partner").with_cause(error)
    })
}

fn utf16_bytes(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_back_in_the_encoding_it_was_written_in_with_and_without_a_mark() {
        for text in ["", "a", "größe 💡"] {
            for encoding in [TextEncoding::Utf16, TextEncoding::MarkedUtf16] {
                assert_eq!(Body::text(text, encoding).to_utf16().unwrap(), text);
            }
            for encoding in [TextEncoding::Utf8, TextEncoding::MarkedUtf8] {
                assert_eq!(Body::text(text, encoding).to_utf8().unwrap(), text);
            }
        }
        assert_eq!(Body::utf16("ab").as_bytes(), b"a\0b\0");
        assert_eq!(Body::text("a", TextEncoding::MarkedUtf16).as_bytes(), b"\xff\xfea\0");
        assert_eq!(Body::text("a", TextEncoding::MarkedUtf8).as_bytes(), b"\xef\xbb\xbfa");
    }

    #[test]
    fn what_is_not_the_named_encoding_is_refused_with_the_reason() {
        let text = |error: Error| error.to_string();
        assert!(text(Body::bytes(*b"abc").to_utf16().unwrap_err()).contains("3 bytes"));
        assert!(text(Body::bytes([0x00, 0xd8]).to_utf16().unwrap_err()).contains("surrogate"));
        assert!(text(Body::bytes([b'a', 0xff]).to_utf8().unwrap_err()).contains("byte 1"));
    }
}
