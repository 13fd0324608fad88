//! ROW: the values of one row (MS-TDS 2.2.7.19).

use bytes::BufMut;

use crate::tds::buffer::OutputBuffer;
use crate::tds::types::{Misfit, write_value, write_value_not_null};
use crate::value::{Column, Value};

const TOKEN: u8 = 0xD1;

/// Writes a row of a result set with these columns. If a value is not of its column's type, nothing is written, and the
/// error says which.
pub(crate) fn write_row(
    target: &mut OutputBuffer,
    columns: &[Column],
    values: &[Value],
) -> Result<(), String> {
    if columns.len() != values.len() {
        return Err(format!("a row of {} values for {} columns", values.len(), columns.len()));
    }
    let start = target.len();
    target.tail().put_u8(TOKEN);
    for (column, value) in columns.iter().zip(values) {
        if let Err(why) = write_column(target, column, value) {
            target.truncate(start);
            return Err(format!("column '{}': {why}", column.name));
        }
    }
    Ok(())
}

fn write_column(target: &mut OutputBuffer, column: &Column, value: &Value) -> Result<(), Misfit> {
    match column.nullable {
        true => write_value(target, column.ty, value),
        false => write_value_not_null(target, column.ty, value),
    }
}
