//! LOGINACK: the login is accepted (MS-TDS 2.2.7.14).

use bytes::{BufMut, BytesMut};

use super::{put_b_varchar, put_with_length};

const TOKEN: u8 = 0xAD;
/// The server accepts T-SQL.
const INTERFACE_TSQL: u8 = 1;

/// The token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoginAck {
    /// Version of the protocol from here on.
    pub(crate) tds_version: u32,
    /// Name of the server program.
    pub(crate) program: String,
    /// Its version: major, minor, build (big-endian).
    pub(crate) version: [u8; 4],
}

impl LoginAck {
    /// Writes the token. The version of the protocol is big-endian here, unlike in LOGIN7.
    pub(crate) fn write(&self, target: &mut BytesMut) {
        put_with_length(target, TOKEN, |body| {
            body.put_u8(INTERFACE_TSQL);
            body.put_u32(self.tds_version);
            put_b_varchar(body, &self.program);
            body.put_slice(&self.version);
        });
    }
}

#[cfg(test)]
impl LoginAck {
    /// Reads what follows the token's first byte.
    pub(super) fn read(
        reader: &mut crate::tds::wire::WireReader,
    ) -> Result<LoginAck, crate::tds::error::ProtocolError> {
        reader.u16("length")?;
        reader.u8("interface")?;
        let tds_version = reader.u32("version")?.swap_bytes();
        let program = reader.b_varchar("program")?;
        Ok(LoginAck { tds_version, program, version: reader.take(4, "version")?[..].try_into().unwrap() })
    }
}
