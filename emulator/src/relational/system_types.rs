//! The system data types by name and `user_type_id`, and the lengths `sys.columns` shows.

use crate::value::{Length, SqlType};

/// Name and `user_type_id`, as `sys.types` has them.
const TYPES: &[(&str, i32)] = &[
    ("image", 34),
    ("text", 35),
    ("uniqueidentifier", 36),
    ("date", 40),
    ("time", 41),
    ("datetime2", 42),
    ("datetimeoffset", 43),
    ("tinyint", 48),
    ("smallint", 52),
    ("int", 56),
    ("smalldatetime", 58),
    ("real", 59),
    ("money", 60),
    ("datetime", 61),
    ("float", 62),
    ("sql_variant", 98),
    ("ntext", 99),
    ("bit", 104),
    ("decimal", 106),
    ("numeric", 108),
    ("smallmoney", 122),
    ("bigint", 127),
    ("varbinary", 165),
    ("varchar", 167),
    ("binary", 173),
    ("char", 175),
    ("timestamp", 189),
    ("nvarchar", 231),
    ("nchar", 239),
    ("xml", 241),
    ("sysname", 256),
];

/// The id of the type of that name.
pub(crate) fn by_name(name: &str) -> Option<i32> {
    TYPES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, id)| *id)
}

/// The name of the type of that id.
pub(crate) fn name_of(id: i32) -> Option<&'static str> {
    TYPES.iter().find(|(_, known)| *known == id).map(|(name, _)| *name)
}

/// Bytes a column of the type takes at most, -1 for `(max)` types: `max_length` of `sys.columns`.
pub(crate) fn byte_length(ty: SqlType) -> i16 {
    let limited = |length: Length, width: i16| match length {
        Length::Limited(length) => length as i16 * width,
        Length::Max => -1,
    };
    match ty {
        SqlType::Bit | SqlType::TinyInt => 1,
        SqlType::SmallInt => 2,
        SqlType::Int | SqlType::Real | SqlType::SmallMoney | SqlType::SmallDateTime => 4,
        SqlType::BigInt | SqlType::Money | SqlType::Float | SqlType::DateTime | SqlType::RowVersion => 8,
        SqlType::Decimal { precision, .. } => match precision {
            0..=9 => 5,
            10..=19 => 9,
            20..=28 => 13,
            _ => 17,
        },
        SqlType::Char(length) | SqlType::Binary(length) => length as i16,
        SqlType::NChar(length) => length as i16 * 2,
        SqlType::VarChar(length) | SqlType::VarBinary(length) => limited(length, 1),
        SqlType::NVarChar(length) => limited(length, 2),
        SqlType::Text | SqlType::NText | SqlType::Image | SqlType::UniqueIdentifier => 16,
        SqlType::Date => 3,
        SqlType::Time(scale) => time_length(scale),
        SqlType::DateTime2(scale) => 3 + time_length(scale),
        SqlType::DateTimeOffset(scale) => 5 + time_length(scale),
        SqlType::Xml => -1,
        SqlType::SqlVariant => 8016,
    }
}

fn time_length(scale: u8) -> i16 {
    match scale {
        0..=2 => 3,
        3..=4 => 4,
        _ => 5,
    }
}
