//! The tokens replies are made of (MS-TDS 2.2.7), one file each.
//!
//! Each file writes its token; the reading side, which only tests need, is beside it.

mod col_metadata;
mod done;
mod env_change;
mod error_info;
mod feature_ext_ack;
mod login_ack;
mod return_status;
mod return_value;
mod row;
#[cfg(test)]
mod testing;

use bytes::{BufMut, BytesMut};

pub(crate) use col_metadata::write_col_metadata;
pub(crate) use done::{Done, DoneKind};
pub(crate) use env_change::EnvChange;
pub(crate) use error_info::write_message;
pub(crate) use feature_ext_ack::write_feature_ext_ack;
pub(crate) use login_ack::LoginAck;
pub(crate) use return_status::write_return_status;
pub(crate) use return_value::ReturnValue;
pub(crate) use row::write_row;
#[cfg(test)]
pub(crate) use testing::{Token, read_tokens};

/// Writes text with its length in characters in one byte (B_VARCHAR); what is beyond 255 is cut.
pub(crate) fn put_b_varchar(target: &mut BytesMut, text: &str) {
    let units: Vec<u16> = text.encode_utf16().take(usize::from(u8::MAX)).collect();
    target.put_u8(units.len() as u8);
    units.iter().for_each(|unit| target.put_u16_le(*unit));
}

/// Writes text with its length in characters in two bytes (US_VARCHAR). Texts are cut at 8000 characters, the most
/// that PRINT can say; that is well below what the two-byte length of their token allows.
pub(crate) fn put_us_varchar(target: &mut BytesMut, text: &str) {
    let units: Vec<u16> = text.encode_utf16().take(8000).collect();
    target.put_u16_le(units.len() as u16);
    units.iter().for_each(|unit| target.put_u16_le(*unit));
}

/// Writes a token whose body is preceded by its length in two bytes.
fn put_with_length(target: &mut BytesMut, token: u8, body: impl FnOnce(&mut BytesMut)) {
    target.put_u8(token);
    let at = target.len();
    target.put_u16_le(0);
    body(target);
    let length = u16::try_from(target.len() - at - 2).expect("every part of such a token is cut to fit");
    target[at..at + 2].copy_from_slice(&length.to_le_bytes());
}
