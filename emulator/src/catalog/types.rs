//! `sys.types`: the data types of the system.

use super::{View, ViewColumn, bit, name, optional, required};
use crate::engine::{DatabaseId, Op, Tx};
use crate::value::{Collation, SqlType, Value};

pub(super) const VIEWS: &[View] = &[View { schema: "sys", name: "types", columns: TYPES, rows: types }];

const TYPES: &[ViewColumn] = &[
    required("name", SqlType::SYSNAME),
    required("system_type_id", SqlType::TinyInt),
    required("user_type_id", SqlType::Int),
    required("schema_id", SqlType::Int),
    optional("principal_id", SqlType::Int),
    required("max_length", SqlType::SmallInt),
    required("precision", SqlType::TinyInt),
    required("scale", SqlType::TinyInt),
    optional("collation_name", SqlType::SYSNAME),
    optional("is_nullable", SqlType::Bit),
    required("is_user_defined", SqlType::Bit),
    required("is_assembly_type", SqlType::Bit),
    required("default_object_id", SqlType::Int),
    required("rule_object_id", SqlType::Int),
    required("is_table_type", SqlType::Bit),
];

/// Id of the schema `sys`, to which all of them belong.
const SYS: i32 = 4;

/// Name, `system_type_id`, `user_type_id`, `max_length`, `precision`, `scale`, and whether it holds text.
type Facets = (&'static str, u8, i32, i16, u8, u8, bool);

const SYSTEM_TYPES: &[Facets] = &[
    ("image", 34, 34, 16, 0, 0, false),
    ("text", 35, 35, 16, 0, 0, true),
    ("uniqueidentifier", 36, 36, 16, 0, 0, false),
    ("date", 40, 40, 3, 10, 0, false),
    ("time", 41, 41, 5, 16, 7, false),
    ("datetime2", 42, 42, 8, 27, 7, false),
    ("datetimeoffset", 43, 43, 10, 34, 7, false),
    ("tinyint", 48, 48, 1, 3, 0, false),
    ("smallint", 52, 52, 2, 5, 0, false),
    ("int", 56, 56, 4, 10, 0, false),
    ("smalldatetime", 58, 58, 4, 16, 0, false),
    ("real", 59, 59, 4, 24, 0, false),
    ("money", 60, 60, 8, 19, 4, false),
    ("datetime", 61, 61, 8, 23, 3, false),
    ("float", 62, 62, 8, 53, 0, false),
    ("sql_variant", 98, 98, 8016, 0, 0, false),
    ("ntext", 99, 99, 16, 0, 0, true),
    ("bit", 104, 104, 1, 1, 0, false),
    ("decimal", 106, 106, 17, 38, 38, false),
    ("numeric", 108, 108, 17, 38, 38, false),
    ("smallmoney", 122, 122, 4, 10, 4, false),
    ("bigint", 127, 127, 8, 19, 0, false),
    ("varbinary", 165, 165, 8000, 0, 0, false),
    ("varchar", 167, 167, 8000, 0, 0, true),
    ("binary", 173, 173, 8000, 0, 0, false),
    ("char", 175, 175, 8000, 0, 0, true),
    ("timestamp", 189, 189, 8, 0, 0, false),
    ("nvarchar", 231, 231, 8000, 0, 0, true),
    ("sysname", 231, 256, 256, 0, 0, true),
    ("nchar", 239, 239, 8000, 0, 0, true),
    ("xml", 241, 241, -1, 0, 0, false),
];

fn types(_tx: &Tx<'_>, _database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    Ok(SYSTEM_TYPES.iter().map(row).collect())
}

fn row(&(type_name, system_id, id, max_length, precision, scale, is_text): &Facets) -> Vec<Value> {
    let nullable = !matches!(type_name, "timestamp" | "sysname");
    vec![
        name(type_name),
        Value::TinyInt(system_id),
        id.into(),
        SYS.into(),
        Value::Null,
        Value::SmallInt(max_length),
        Value::TinyInt(precision),
        Value::TinyInt(scale),
        if is_text { name(Collation::DEFAULT.name()) } else { Value::Null },
        bit(nullable),
        bit(false),
        bit(false),
        0.into(),
        0.into(),
        bit(false),
    ]
}
