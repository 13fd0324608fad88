//! The body of a message: bytes, and the encodings Service Broker programs agree on.
//!
//! The broker itself carries bytes and knows no encoding; `nvarchar` bodies are UTF-16LE, `varchar` bodies bytes of a code
//! page (mostly ASCII or UTF-8 in practice). Nothing here guesses: the reader names the encoding it expects. `text.rs` has
//! the encodings of text, `xml.rs` those an XML document declares, `xml_characters.rs` what such a document may
//! hold, `json.rs` values by serde.

#[cfg(feature = "json")]
mod json;
mod text;
mod xml;
mod xml_characters;

use std::fmt;

pub use text::TextEncoding;

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
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl<const N: usize> From<&[u8; N]> for Body {
    fn from(bytes: &[u8; N]) -> Self {
        Self(bytes.to_vec())
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
    fn a_body_does_not_print_its_contents() {
        assert_eq!(format!("{:?}", Body::utf8("secret")), "Body(6 bytes)");
    }
}
