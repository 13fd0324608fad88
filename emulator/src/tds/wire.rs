//! Reads the fields of one message: every read is checked against what is left, before anything is allocated.
//!
//! Byte strings come out as slices that share the message's memory. This file must not know any message.

use bytes::{Buf, Bytes};

use super::error::ProtocolError;

/// A position in the bytes of one message.
#[derive(Debug, Clone)]
pub(crate) struct WireReader {
    rest: Bytes,
    total: usize,
}

impl WireReader {
    /// A reader at the start of `message`.
    pub(crate) fn new(message: Bytes) -> WireReader {
        WireReader { total: message.len(), rest: message }
    }

    /// Bytes read so far.
    pub(crate) fn offset(&self) -> usize {
        self.total - self.rest.len()
    }

    /// Bytes of the whole message.
    pub(crate) fn total(&self) -> usize {
        self.total
    }

    /// Bytes left.
    pub(crate) fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// Whether everything was read.
    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next byte, which stays.
    pub(crate) fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// A "malformed" error at this place.
    pub(crate) fn malformed(&self, what: impl Into<String>) -> ProtocolError {
        ProtocolError::malformed(what, self.offset())
    }

    /// The next `count` bytes, without copying them.
    pub(crate) fn take(&mut self, count: usize, what: &str) -> Result<Bytes, ProtocolError> {
        self.need(count, what)?;
        Ok(self.rest.split_to(count))
    }

    /// One byte.
    pub(crate) fn u8(&mut self, what: &str) -> Result<u8, ProtocolError> {
        self.need(1, what)?;
        Ok(self.rest.get_u8())
    }

    /// Two bytes, little-endian.
    pub(crate) fn u16(&mut self, what: &str) -> Result<u16, ProtocolError> {
        self.need(2, what)?;
        Ok(self.rest.get_u16_le())
    }

    /// Two bytes, big-endian, as only PRELOGIN has them.
    pub(crate) fn u16_be(&mut self, what: &str) -> Result<u16, ProtocolError> {
        self.need(2, what)?;
        Ok(self.rest.get_u16())
    }

    /// Four bytes, little-endian.
    pub(crate) fn u32(&mut self, what: &str) -> Result<u32, ProtocolError> {
        self.need(4, what)?;
        Ok(self.rest.get_u32_le())
    }

    /// Eight bytes, little-endian.
    pub(crate) fn u64(&mut self, what: &str) -> Result<u64, ProtocolError> {
        self.need(8, what)?;
        Ok(self.rest.get_u64_le())
    }

    /// `units` UTF-16 code units.
    pub(crate) fn utf16(&mut self, units: usize, what: &str) -> Result<String, ProtocolError> {
        Ok(utf16_text(&self.take(units.saturating_mul(2), what)?))
    }

    /// Text with its length in characters in one byte (B_VARCHAR).
    pub(crate) fn b_varchar(&mut self, what: &str) -> Result<String, ProtocolError> {
        let units = self.u8(what)?;
        self.utf16(usize::from(units), what)
    }

    /// Bytes with their number in one byte (B_VARBYTE).
    pub(crate) fn b_varbyte(&mut self, what: &str) -> Result<Bytes, ProtocolError> {
        let count = self.u8(what)?;
        self.take(usize::from(count), what)
    }

    /// Text with its length in characters in two bytes (US_VARCHAR).
    pub(crate) fn us_varchar(&mut self, what: &str) -> Result<String, ProtocolError> {
        let units = self.u16(what)?;
        self.utf16(usize::from(units), what)
    }

    fn need(&self, count: usize, what: &str) -> Result<(), ProtocolError> {
        if count <= self.rest.len() {
            return Ok(());
        }
        Err(self.malformed(format!("{what} needs {count} bytes, {} are left", self.rest.len())))
    }
}

/// The text of UTF-16LE bytes; an unpaired surrogate becomes U+FFFD, an odd last byte is dropped.
pub(crate) fn utf16_text(bytes: &[u8]) -> String {
    let units = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}
