//! SQLBatch: a batch of SQL text (MS-TDS 2.2.6.7).

use bytes::Bytes;

use super::error::ProtocolError;
use super::headers;
use super::wire::WireReader;

/// The text of a batch.
pub(crate) fn decode(payload: Bytes) -> Result<String, ProtocolError> {
    let mut message = WireReader::new(payload);
    headers::skip_headers(&mut message)?;
    if !message.remaining().is_multiple_of(2) {
        return Err(message.malformed("SQL text with an odd number of bytes"));
    }
    message.utf16(message.remaining() / 2, "SQL text")
}

/// Encodes a batch as a client does.
#[cfg(test)]
pub(crate) fn encode(text: &str, target: &mut bytes::BytesMut) {
    headers::put_headers(target);
    text.encode_utf16().for_each(|unit| target.extend_from_slice(&unit.to_le_bytes()));
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;

    use super::*;

    #[test]
    fn a_batch_survives_a_round_trip() {
        let mut bytes = BytesMut::new();
        encode("SELECT N'ü😀'", &mut bytes);
        assert_eq!(decode(bytes.clone().freeze()).unwrap(), "SELECT N'ü😀'");
        bytes.truncate(bytes.len() - 1);
        assert!(decode(bytes.freeze()).unwrap_err().to_string().contains("odd number"));
    }
}
