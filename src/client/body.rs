//! The body of a message: bytes, and the encodings Service Broker programs agree on.
//!
//! The broker itself carries bytes and knows no encoding; `nvarchar` bodies are UTF-16LE, `varchar` bodies bytes of a code
//! page (mostly ASCII or UTF-8 in practice). Nothing here guesses: the reader names the encoding it expects.

use std::fmt;

use super::error::{Error, Result};

/// The body of a message, possibly empty. An empty body is stored as NULL and arrives as an empty one.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Body(Vec<u8>);

impl Body {
    /// No body.
    #[must_use]
    pub const fn empty() -> Self {
        Self(Vec::new())
    }

    /// Bytes as they are.
    #[must_use]
    pub fn bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// Text as T-SQL sends an `nvarchar`: UTF-16LE without a byte order mark. `CAST(message_body AS nvarchar(max))`
    /// reads it.
    #[must_use]
    pub fn utf16(text: &str) -> Self {
        Self(text.encode_utf16().flat_map(u16::to_le_bytes).collect())
    }

    /// Text as UTF-8.
    #[must_use]
    pub fn utf8(text: impl Into<String>) -> Self {
        Self(text.into().into_bytes())
    }

    /// Whether there is no body.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The bytes, by value.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// Reads the body as UTF-16LE text, skipping a byte order mark.
    ///
    /// # Errors
    /// [`ErrorKind::Value`](super::ErrorKind::Value) for an odd number of bytes or an unpaired surrogate.
    pub fn to_utf16(&self) -> Result<String> {
        let bytes = self.0.strip_prefix(b"\xff\xfe").unwrap_or(&self.0);
        if !bytes.len().is_multiple_of(2) {
            return Err(Error::value(format!("the body is not utf-16: it has {} bytes", bytes.len())));
        }
        let units: Vec<u16> =
            bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
        String::from_utf16(&units).map_err(|error| Error::value("the body is not utf-16").with_cause(error))
    }

    /// Reads the body as UTF-8 text, skipping a byte order mark.
    ///
    /// # Errors
    /// [`ErrorKind::Value`](super::ErrorKind::Value) when it is not UTF-8.
    pub fn to_utf8(&self) -> Result<&str> {
        let bytes = self.0.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&self.0);
        std::str::from_utf8(bytes).map_err(|error| Error::value("the body is not utf-8").with_cause(error))
    }

    /// Reads the body as XML text, in whichever of UTF-16 and UTF-8 its first bytes show it to be.
    ///
    /// The two cannot be confused: every XML document begins with an ASCII character, whose UTF-16LE form has a zero as
    /// its second byte.
    ///
    /// # Errors
    /// [`ErrorKind::Value`](super::ErrorKind::Value) when the bytes are not in the encoding they seem to be in.
    pub fn to_xml_text(&self) -> Result<String> {
        match self.0.as_slice() {
            [0xff, 0xfe, ..] | [_, 0, ..] => self.to_utf16(),
            _ => self.to_utf8().map(str::to_owned),
        }
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl From<&[u8]> for Body {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

impl AsRef<[u8]> for Body {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Bodies may be secret and are often large: only the size is shown.
impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Body({} bytes)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_back_in_the_encoding_it_was_written_in() {
        for text in ["", "a", "größe 💡"] {
            assert_eq!(Body::utf16(text).to_utf16().unwrap(), text);
            assert_eq!(Body::utf8(text).to_utf8().unwrap(), text);
        }
        assert_eq!(Body::utf16("ab").as_bytes(), b"a\0b\0");
    }

    #[test]
    fn what_is_not_the_named_encoding_is_refused() {
        assert!(Body::bytes(*b"abc").to_utf16().is_err());
        assert!(Body::bytes([0xff, 0xff]).to_utf8().is_err());
        assert!(Body::bytes([0x00, 0xd8]).to_utf16().is_err());
    }

    #[test]
    fn xml_is_recognised_with_and_without_a_byte_order_mark() {
        let xml = "<a>ö</a>";
        let with_mark = |mark: &[u8], body: Body| Body::bytes([mark, body.as_bytes()].concat());
        for body in [
            Body::utf8(xml),
            Body::utf16(xml),
            with_mark(b"\xff\xfe", Body::utf16(xml)),
            with_mark(b"\xef\xbb\xbf", Body::utf8(xml)),
        ] {
            assert_eq!(body.to_xml_text().unwrap(), xml);
        }
    }

    #[test]
    fn a_body_does_not_print_its_contents() {
        assert_eq!(format!("{:?}", Body::utf8("secret")), "Body(6 bytes)");
    }
}
