//! ENVCHANGE: a change of the session's environment (MS-TDS 2.2.7.9).

use bytes::{BufMut, BytesMut};

use super::{put_b_varchar, put_with_length};
use crate::output::Change;

const TOKEN: u8 = 0xE3;

/// The changes this server tells of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EnvChange {
    /// What a session changed (types 1, 8, 9, 10 and 18).
    Session(Change),
    /// Language at login (type 2).
    Language(String),
    /// Packet size, old and new (type 4).
    PacketSize(usize, usize),
    /// Collation at login (type 7).
    Collation([u8; 5]),
}

impl EnvChange {
    /// Writes the token.
    pub(crate) fn write(&self, target: &mut BytesMut) {
        put_with_length(target, TOKEN, |body| match self {
            EnvChange::Session(change) => put_session_change(body, change),
            EnvChange::Language(name) => put_texts(body, 2, name, ""),
            EnvChange::PacketSize(old, new) => put_texts(body, 4, &new.to_string(), &old.to_string()),
            EnvChange::Collation(bytes) => put_bytes(body, 7, bytes, &[]),
        });
    }
}

fn put_session_change(body: &mut BytesMut, change: &Change) {
    match change {
        Change::Database { old, new } => put_texts(body, 1, new, old),
        Change::TransactionBegun(descriptor) => put_bytes(body, 8, &descriptor.to_le_bytes(), &[]),
        Change::TransactionCommitted(descriptor) => put_bytes(body, 9, &[], &descriptor.to_le_bytes()),
        Change::TransactionRolledBack(descriptor) => put_bytes(body, 10, &[], &descriptor.to_le_bytes()),
        Change::Reset => put_bytes(body, 18, &[], &[]),
    }
}

fn put_texts(body: &mut BytesMut, kind: u8, new: &str, old: &str) {
    body.put_u8(kind);
    put_b_varchar(body, new);
    put_b_varchar(body, old);
}

fn put_bytes(body: &mut BytesMut, kind: u8, new: &[u8], old: &[u8]) {
    body.put_u8(kind);
    for bytes in [new, old] {
        body.put_u8(bytes.len() as u8);
        body.put_slice(bytes);
    }
}

#[cfg(test)]
impl EnvChange {
    /// Reads what follows the token's first byte.
    pub(super) fn read(
        reader: &mut crate::tds::wire::WireReader,
    ) -> Result<EnvChange, crate::tds::error::ProtocolError> {
        reader.u16("length")?;
        let kind = reader.u8("type")?;
        if matches!(kind, 1 | 2 | 4) {
            let (new, old) = (reader.b_varchar("new")?, reader.b_varchar("old")?);
            return Ok(match kind {
                1 => EnvChange::Session(Change::Database { old, new }),
                2 => EnvChange::Language(new),
                _ => EnvChange::PacketSize(old.parse().unwrap(), new.parse().unwrap()),
            });
        }
        let (new, old) = (reader.b_varbyte("new")?, reader.b_varbyte("old")?);
        let descriptor = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
        Ok(match kind {
            7 => EnvChange::Collation(new[..].try_into().unwrap()),
            8 => EnvChange::Session(Change::TransactionBegun(descriptor(&new))),
            9 => EnvChange::Session(Change::TransactionCommitted(descriptor(&old))),
            10 => EnvChange::Session(Change::TransactionRolledBack(descriptor(&old))),
            18 => EnvChange::Session(Change::Reset),
            other => return Err(reader.malformed(format!("ENVCHANGE type {other}"))),
        })
    }
}
