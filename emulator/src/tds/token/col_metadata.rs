//! COLMETADATA: the columns of a result set (MS-TDS 2.2.7.4).

use bytes::{BufMut, BytesMut};

use super::put_b_varchar;
use crate::tds::types::{write_type_info, write_type_info_not_null};
use crate::value::{Column, SqlType};

const TOKEN: u8 = 0x81;
/// User type of `timestamp`, by which clients tell it from `binary(8)`.
const TIMESTAMP: u32 = 0x50;
const NULLABLE: u16 = 0x0001;
/// Whether the column can be updated is not known, as for most queries of a real server.
const UPDATABLE_UNKNOWN: u16 = 0x0008;

/// Writes the token.
pub(crate) fn write_col_metadata(target: &mut BytesMut, columns: &[Column]) {
    target.put_u8(TOKEN);
    target.put_u16_le(u16::try_from(columns.len()).expect("a result set has at most 4096 columns"));
    for column in columns {
        put_type(target, column);
        put_b_varchar(target, &column.name);
    }
}

/// Writes user type, flags and type, as COLMETADATA and RETURNVALUE have them.
pub(super) fn put_type(target: &mut BytesMut, column: &Column) {
    target.put_u32_le(if column.ty == SqlType::RowVersion { TIMESTAMP } else { 0 });
    target.put_u16_le(UPDATABLE_UNKNOWN | if column.nullable { NULLABLE } else { 0 });
    match column.nullable {
        true => write_type_info(target, column.ty, column.collation),
        false => write_type_info_not_null(target, column.ty, column.collation),
    }
}

/// Reads what follows the token's first byte: names and types.
#[cfg(test)]
pub(super) fn read(
    reader: &mut crate::tds::wire::WireReader,
) -> Result<Vec<(String, crate::tds::types::TypeInfo)>, crate::tds::error::ProtocolError> {
    let count = reader.u16("column count")?;
    (0..count)
        .map(|_| {
            let info = read_type(reader)?;
            Ok((reader.b_varchar("column name")?, info))
        })
        .collect()
}

/// Reads user type, flags and type.
#[cfg(test)]
pub(super) fn read_type(
    reader: &mut crate::tds::wire::WireReader,
) -> Result<crate::tds::types::TypeInfo, crate::tds::error::ProtocolError> {
    reader.u32("user type")?;
    reader.u16("flags")?;
    crate::tds::types::TypeInfo::read(reader)
}
