//! RETURNSTATUS: the status a procedure returned (MS-TDS 2.2.7.18).

use bytes::{BufMut, BytesMut};

/// The token's first byte.
pub(super) const TOKEN: u8 = 0x79;

/// Writes the token.
pub(crate) fn write_return_status(target: &mut BytesMut, status: i32) {
    target.put_u8(TOKEN);
    target.put_i32_le(status);
}
