//! ERROR and INFO: what the server has to say (MS-TDS 2.2.7.10, 2.2.7.13).

use bytes::{BufMut, BytesMut};

use super::{put_b_varchar, put_us_varchar, put_with_length};
use crate::error::SqlError;

const ERROR: u8 = 0xAA;
const INFO: u8 = 0xAB;
/// Lowest severity of an error.
const LOWEST_ERROR: u8 = 11;

/// Writes an ERROR, or an INFO if the severity is below 11. `server` is the name of the server.
pub(crate) fn write_message(target: &mut BytesMut, message: &SqlError, server: &str) {
    let token = if message.severity < LOWEST_ERROR { INFO } else { ERROR };
    put_with_length(target, token, |body| {
        body.put_i32_le(message.number);
        body.put_u8(message.state);
        body.put_u8(message.severity);
        put_us_varchar(body, &message.message);
        put_b_varchar(body, server);
        put_b_varchar(body, &message.procedure);
        body.put_u32_le(message.line);
    });
}

/// Reads what follows the token's first byte.
#[cfg(test)]
pub(super) fn read(
    reader: &mut crate::tds::wire::WireReader,
) -> Result<SqlError, crate::tds::error::ProtocolError> {
    reader.u16("length")?;
    let number = reader.u32("number")? as i32;
    let (state, severity) = (reader.u8("state")?, reader.u8("class")?);
    let message = reader.us_varchar("text")?;
    reader.b_varchar("server")?;
    let procedure = reader.b_varchar("procedure")?;
    Ok(SqlError { number, severity, state, message, procedure, line: reader.u32("line")? })
}
