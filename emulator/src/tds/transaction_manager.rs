//! Transaction-manager requests: begin, commit, roll back, save (MS-TDS 2.2.6.9).

use bytes::Bytes;

use super::error::ProtocolError;
use super::headers;
use super::wire::{WireReader, utf16_text};
use crate::request::{IsolationLevel, NextTransaction, TransactionRequest};

const GET_DTC_ADDRESS: u16 = 0;
const PROPAGATE: u16 = 1;
const BEGIN: u16 = 5;
const PROMOTE: u16 = 6;
const COMMIT: u16 = 7;
const ROLLBACK: u16 = 8;
const SAVE: u16 = 9;
const BEGIN_NEXT: u8 = 0x01;

/// What a length of a name counts: bytes as MS-TDS says and SqlClient sends, or characters as tedious sends.
#[derive(Debug, Clone, Copy)]
enum NameUnit {
    Byte,
    Character,
}

/// Decodes a request; those for distributed transactions are refused by name.
pub(crate) fn decode(payload: Bytes) -> Result<TransactionRequest, ProtocolError> {
    let mut message = WireReader::new(payload);
    headers::skip_headers(&mut message)?;
    let kind = message.u16("transaction-manager request type")?;
    if matches!(kind, GET_DTC_ADDRESS | PROPAGATE | PROMOTE) {
        return Err(ProtocolError::unsupported("distributed transactions"));
    }
    body(kind, message.clone(), NameUnit::Byte)
        .or_else(|error| body(kind, message, NameUnit::Character).map_err(|_| error))
}

fn body(kind: u16, mut message: WireReader, unit: NameUnit) -> Result<TransactionRequest, ProtocolError> {
    let request = match kind {
        BEGIN => {
            TransactionRequest::Begin { isolation: isolation(&mut message)?, name: name(&mut message, unit)? }
        }
        COMMIT => {
            TransactionRequest::Commit { name: name(&mut message, unit)?, next: next(&mut message, unit)? }
        }
        ROLLBACK => {
            TransactionRequest::Rollback { name: name(&mut message, unit)?, next: next(&mut message, unit)? }
        }
        SAVE => TransactionRequest::Save { name: name(&mut message, unit)? },
        unknown => return Err(message.malformed(format!("transaction-manager request type {unknown}"))),
    };
    if !message.is_empty() {
        return Err(message.malformed("bytes after the transaction-manager request"));
    }
    Ok(request)
}

fn next(message: &mut WireReader, unit: NameUnit) -> Result<Option<NextTransaction>, ProtocolError> {
    if message.u8("transaction flags")? & BEGIN_NEXT == 0 {
        return Ok(None);
    }
    Ok(Some(NextTransaction { isolation: isolation(message)?, name: name(message, unit)? }))
}

fn isolation(message: &mut WireReader) -> Result<Option<IsolationLevel>, ProtocolError> {
    match message.u8("isolation level")? {
        0 => Ok(None),
        1 => Ok(Some(IsolationLevel::ReadUncommitted)),
        2 => Ok(Some(IsolationLevel::ReadCommitted)),
        3 => Ok(Some(IsolationLevel::RepeatableRead)),
        4 => Ok(Some(IsolationLevel::Serializable)),
        5 => Ok(Some(IsolationLevel::Snapshot)),
        unknown => Err(message.malformed(format!("isolation level {unknown}"))),
    }
}

fn name(message: &mut WireReader, unit: NameUnit) -> Result<String, ProtocolError> {
    match unit {
        NameUnit::Byte => {
            let bytes = message.b_varbyte("transaction name")?;
            let odd = !bytes.len().is_multiple_of(2);
            if odd {
                Err(message.malformed("transaction name with an odd length"))
            } else {
                Ok(utf16_text(&bytes))
            }
        }
        NameUnit::Character => message.b_varchar("transaction name"),
    }
}

/// Encodes a request as SqlClient does.
#[cfg(test)]
pub(crate) fn encode(request: &TransactionRequest, target: &mut bytes::BytesMut) {
    use bytes::BufMut;
    fn put_name(target: &mut bytes::BytesMut, name: &str) {
        let bytes: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        target.put_u8(bytes.len() as u8);
        target.put_slice(&bytes);
    }
    fn put_next(target: &mut bytes::BytesMut, next: &Option<NextTransaction>) {
        target.put_u8(u8::from(next.is_some()));
        if let Some(next) = next {
            target.put_u8(next.isolation.map_or(0, |level| level as u8 + 1));
            put_name(target, &next.name);
        }
    }
    headers::put_headers(target);
    match request {
        TransactionRequest::Begin { isolation, name } => {
            target.put_u16_le(BEGIN);
            target.put_u8(isolation.map_or(0, |level| level as u8 + 1));
            put_name(target, name);
        }
        TransactionRequest::Commit { name, next } => {
            target.put_u16_le(COMMIT);
            put_name(target, name);
            put_next(target, next);
        }
        TransactionRequest::Rollback { name, next } => {
            target.put_u16_le(ROLLBACK);
            put_name(target, name);
            put_next(target, next);
        }
        TransactionRequest::Save { name } => {
            target.put_u16_le(SAVE);
            put_name(target, name);
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::{BufMut, BytesMut};

    use super::*;

    fn decoded(kind: u16, payload: &[u8]) -> Result<TransactionRequest, ProtocolError> {
        let mut bytes = BytesMut::new();
        headers::put_headers(&mut bytes);
        bytes.put_u16_le(kind);
        bytes.put_slice(payload);
        decode(bytes.freeze())
    }

    #[test]
    fn every_request_survives_a_round_trip() {
        let next = Some(NextTransaction { isolation: Some(IsolationLevel::Snapshot), name: "n".into() });
        for request in [
            TransactionRequest::Begin { isolation: Some(IsolationLevel::ReadCommitted), name: "tx".into() },
            TransactionRequest::Commit { name: String::new(), next: next.clone() },
            TransactionRequest::Rollback { name: "s".into(), next: None },
            TransactionRequest::Rollback { name: String::new(), next },
            TransactionRequest::Save { name: "s1".into() },
        ] {
            let mut bytes = BytesMut::new();
            encode(&request, &mut bytes);
            assert_eq!(decode(bytes.freeze()).unwrap(), request);
        }
    }

    #[test]
    fn the_recorded_payloads_of_clients_are_understood() {
        let empty = String::new;
        let next = Some(NextTransaction::default());
        assert_eq!(
            decoded(5, &[2, 0]).unwrap(),
            TransactionRequest::Begin { isolation: Some(IsolationLevel::ReadCommitted), name: empty() }
        );
        assert_eq!(decoded(7, &[0, 1, 0, 0]).unwrap(), TransactionRequest::Commit { name: empty(), next });
        assert_eq!(decoded(8, &[0, 0]).unwrap(), TransactionRequest::Rollback { name: empty(), next: None });
    }

    #[test]
    fn a_name_may_be_counted_in_characters() {
        let request = TransactionRequest::Save { name: "sp".into() };
        assert_eq!(decoded(9, &[2, b's', 0, b'p', 0]).unwrap(), request);
        assert_eq!(decoded(9, &[4, b's', 0, b'p', 0]).unwrap(), request);
    }

    #[test]
    fn distributed_transactions_and_unknown_requests_are_refused() {
        assert!(decoded(6, &[]).unwrap_err().to_string().contains("distributed transactions"));
        assert!(decoded(4, &[]).unwrap_err().to_string().contains("request type 4"));
        assert!(decoded(5, &[9, 0]).unwrap_err().to_string().contains("isolation level 9"));
        assert!(decoded(5, &[0]).is_err());
    }
}
