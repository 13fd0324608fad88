//! ALL_HEADERS: what precedes the body of each request of TDS 7.2 and later (MS-TDS 2.2.5.3).

use super::error::ProtocolError;
use super::wire::WireReader;

const QUERY_NOTIFICATION: u16 = 1;
const TRANSACTION_DESCRIPTOR: u16 = 2;
const TRACE_ACTIVITY: u16 = 3;

/// Reads the headers up to the body. The transaction descriptor is checked for its form only: a connection has one
/// transaction at most, and the session knows it. A subscription to query notifications is refused, as ignoring it
/// would leave the client waiting for notices that never come.
pub(crate) fn skip_headers(message: &mut WireReader) -> Result<(), ProtocolError> {
    let total = message.u32("ALL_HEADERS length")? as usize;
    if total < 4 {
        return Err(message.malformed(format!("ALL_HEADERS length {total}")));
    }
    let mut headers = WireReader::new(message.take(total - 4, "ALL_HEADERS")?);
    while !headers.is_empty() {
        let length = headers.u32("header length")? as usize;
        let kind = headers.u16("header type")?;
        if length < 6 {
            return Err(headers.malformed(format!("header length {length}")));
        }
        let data = headers.take(length - 6, "header data")?;
        check_header(kind, data.len(), &headers)?;
    }
    Ok(())
}

fn check_header(kind: u16, length: usize, at: &WireReader) -> Result<(), ProtocolError> {
    match kind {
        QUERY_NOTIFICATION => Err(ProtocolError::unsupported("query notifications")),
        TRANSACTION_DESCRIPTOR if length != 12 => Err(at.malformed("transaction descriptor header")),
        TRANSACTION_DESCRIPTOR | TRACE_ACTIVITY => Ok(()),
        unknown => Err(at.malformed(format!("header type {unknown}"))),
    }
}

/// Encodes the headers of a client outside a transaction.
#[cfg(test)]
pub(crate) fn put_headers(target: &mut bytes::BytesMut) {
    use bytes::BufMut;
    target.put_u32_le(22);
    target.put_u32_le(18);
    target.put_u16_le(TRANSACTION_DESCRIPTOR);
    target.put_u64_le(0);
    target.put_u32_le(1);
}

#[cfg(test)]
mod tests {
    use bytes::{Bytes, BytesMut};

    use super::*;

    #[test]
    fn the_body_follows_the_headers() {
        let mut bytes = BytesMut::new();
        put_headers(&mut bytes);
        bytes.extend_from_slice(b"body");
        let mut reader = WireReader::new(bytes.freeze());
        skip_headers(&mut reader).unwrap();
        assert_eq!(reader.remaining(), 4);
    }

    #[test]
    fn wrong_lengths_and_query_notifications_are_refused() {
        let error = |bytes: &'static [u8]| {
            skip_headers(&mut WireReader::new(Bytes::from_static(bytes))).unwrap_err().to_string()
        };
        assert!(error(&[3, 0, 0, 0]).contains("length 3"));
        assert!(error(&[255, 255, 255, 255]).contains("needs"));
        assert!(error(&[10, 0, 0, 0, 5, 0, 0, 0, 2, 0]).contains("header length 5"));
        assert!(error(&[10, 0, 0, 0, 6, 0, 0, 0, 1, 0]).contains("query notifications"));
        assert!(error(&[10, 0, 0, 0, 6, 0, 0, 0, 2, 0]).contains("transaction descriptor"));
    }
}
