//! RETURNVALUE: the value of an OUTPUT parameter (MS-TDS 2.2.7.20).

use bytes::BufMut;

use super::col_metadata::put_type;
use super::put_b_varchar;
use crate::tds::buffer::OutputBuffer;
use crate::tds::types::{Misfit, write_value};
use crate::value::{Column, SqlType, Value};

/// The token's first byte.
pub(super) const TOKEN: u8 = 0xAC;
/// The parameter is an OUTPUT parameter, not the result of a function.
const OUTPUT_PARAMETER: u8 = 0x01;

/// The token.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ReturnValue<'a> {
    /// Position of the parameter in the call.
    pub(crate) ordinal: u16,
    /// Its name, possibly empty.
    pub(crate) name: &'a str,
    /// Its declared type.
    pub(crate) ty: SqlType,
    /// Its value.
    pub(crate) value: &'a Value,
}

impl ReturnValue<'_> {
    /// Writes the token, or nothing if the value is not of the type.
    pub(crate) fn write(&self, target: &mut OutputBuffer) -> Result<(), Misfit> {
        let start = target.len();
        let tail = target.tail();
        tail.put_u8(TOKEN);
        tail.put_u16_le(self.ordinal);
        put_b_varchar(tail, self.name);
        tail.put_u8(OUTPUT_PARAMETER);
        put_type(tail, &Column::new("", self.ty));
        write_value(target, self.ty, self.value).inspect_err(|_| target.truncate(start))
    }
}

/// Reads what follows the token's first byte: position, name, value.
#[cfg(test)]
pub(super) fn read(
    reader: &mut crate::tds::wire::WireReader,
) -> Result<(u16, String, Value), crate::tds::error::ProtocolError> {
    let (ordinal, name) = (reader.u16("ordinal")?, reader.b_varchar("name")?);
    reader.u8("status")?;
    let info = super::col_metadata::read_type(reader)?;
    Ok((ordinal, name, crate::tds::types::read_value(reader, &info)?))
}
