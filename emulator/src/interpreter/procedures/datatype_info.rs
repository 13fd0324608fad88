//! `sp_datatype_info` and `sp_datatype_info_100`: the types of the server as ODBC describes them.
//!
//! Drivers ask for four of them before they bind long values (`clients` measurements: 12, -9, -3, 93). Source of the
//! rows: the ODBC type catalogue (SQLGetTypeInfo) as documented for SQL Server. This file must not know sessions.

use std::sync::Arc;

use super::{Argument, Returned};
use crate::interpreter::execution::{Done, Execution, Stop};
use crate::interpreter::operands::to_integer;
use crate::output::Command;
use crate::value::{Column, SqlType, Value};

/// Asks for all types.
const ALL_TYPES: i64 = 0;

/// One type.
struct TypeInfo {
    name: &'static str,
    data_type: i16,
    precision: i32,
    /// What stands before and after a literal, and what is written in parentheses behind the type's name.
    prefix: Option<&'static str>,
    suffix: Option<&'static str>,
    parameters: Option<&'static str>,
    /// 0: no LIKE possible and no comparison; 2: comparison; 3: both.
    searchable: i16,
    unsigned: Option<i16>,
    money: i16,
    scales: Option<(i16, i16)>,
    radix: Option<i32>,
    user_type: i16,
}

const TEXT: TypeInfo = TypeInfo {
    name: "",
    data_type: 0,
    precision: 8000,
    prefix: Some("'"),
    suffix: Some("'"),
    parameters: Some("max length"),
    searchable: 3,
    unsigned: None,
    money: 0,
    scales: None,
    radix: None,
    user_type: 0,
};

const BYTES: TypeInfo = TypeInfo { prefix: Some("0x"), suffix: None, searchable: 2, ..TEXT };

const NUMBER: TypeInfo = TypeInfo {
    prefix: None,
    suffix: None,
    parameters: None,
    searchable: 2,
    unsigned: Some(0),
    scales: Some((0, 0)),
    radix: Some(10),
    ..TEXT
};

const MOMENT: TypeInfo = TypeInfo { parameters: None, searchable: 3, ..TEXT };

/// The types in the order the server lists them: by ODBC number.
const TYPES: [TypeInfo; 32] = [
    TypeInfo {
        name: "datetimeoffset",
        data_type: -155,
        precision: 34,
        parameters: Some("scale"),
        scales: Some((0, 7)),
        ..MOMENT
    },
    TypeInfo {
        name: "time",
        data_type: -154,
        precision: 16,
        parameters: Some("scale"),
        scales: Some((0, 7)),
        ..MOMENT
    },
    TypeInfo {
        name: "xml",
        data_type: -152,
        precision: 0,
        prefix: Some("N'"),
        parameters: None,
        searchable: 0,
        ..TEXT
    },
    TypeInfo {
        name: "sql_variant",
        data_type: -150,
        precision: 8000,
        prefix: None,
        suffix: None,
        parameters: None,
        searchable: 2,
        scales: Some((0, 0)),
        radix: Some(10),
        ..TEXT
    },
    TypeInfo {
        name: "uniqueidentifier",
        data_type: -11,
        precision: 36,
        parameters: None,
        searchable: 2,
        ..TEXT
    },
    TypeInfo {
        name: "ntext",
        data_type: -10,
        precision: 1_073_741_823,
        prefix: Some("N'"),
        parameters: None,
        searchable: 1,
        ..TEXT
    },
    TypeInfo { name: "nvarchar", data_type: -9, precision: 4000, prefix: Some("N'"), ..TEXT },
    TypeInfo {
        name: "sysname",
        data_type: -9,
        precision: 128,
        prefix: Some("N'"),
        parameters: None,
        user_type: 18,
        ..TEXT
    },
    TypeInfo { name: "nchar", data_type: -8, precision: 4000, prefix: Some("N'"), ..TEXT },
    TypeInfo {
        name: "bit",
        data_type: -7,
        precision: 1,
        unsigned: None,
        radix: None,
        user_type: 16,
        ..NUMBER
    },
    TypeInfo { name: "tinyint", data_type: -6, precision: 3, unsigned: Some(1), user_type: 5, ..NUMBER },
    TypeInfo { name: "bigint", data_type: -5, precision: 19, ..NUMBER },
    TypeInfo {
        name: "image",
        data_type: -4,
        precision: 2_147_483_647,
        parameters: None,
        searchable: 0,
        user_type: 20,
        ..BYTES
    },
    TypeInfo { name: "varbinary", data_type: -3, user_type: 4, ..BYTES },
    TypeInfo { name: "binary", data_type: -2, user_type: 3, ..BYTES },
    TypeInfo { name: "timestamp", data_type: -2, precision: 8, parameters: None, user_type: 80, ..BYTES },
    TypeInfo {
        name: "text",
        data_type: -1,
        precision: 2_147_483_647,
        parameters: None,
        searchable: 1,
        user_type: 19,
        ..TEXT
    },
    TypeInfo { name: "char", data_type: 1, user_type: 1, ..TEXT },
    TypeInfo {
        name: "numeric",
        data_type: 2,
        precision: 38,
        parameters: Some("precision,scale"),
        scales: Some((0, 38)),
        user_type: 10,
        ..NUMBER
    },
    TypeInfo {
        name: "decimal",
        data_type: 3,
        precision: 38,
        parameters: Some("precision,scale"),
        scales: Some((0, 38)),
        user_type: 24,
        ..NUMBER
    },
    TypeInfo {
        name: "money",
        data_type: 3,
        precision: 19,
        prefix: Some("$"),
        money: 1,
        scales: Some((4, 4)),
        user_type: 11,
        ..NUMBER
    },
    TypeInfo {
        name: "smallmoney",
        data_type: 3,
        precision: 10,
        prefix: Some("$"),
        money: 1,
        scales: Some((4, 4)),
        user_type: 21,
        ..NUMBER
    },
    TypeInfo { name: "int", data_type: 4, precision: 10, user_type: 7, ..NUMBER },
    TypeInfo { name: "smallint", data_type: 5, precision: 5, user_type: 6, ..NUMBER },
    TypeInfo {
        name: "float",
        data_type: 6,
        precision: 53,
        scales: None,
        radix: Some(2),
        user_type: 8,
        ..NUMBER
    },
    TypeInfo {
        name: "real",
        data_type: 7,
        precision: 24,
        scales: None,
        radix: Some(2),
        user_type: 23,
        ..NUMBER
    },
    TypeInfo { name: "varchar", data_type: 12, user_type: 2, ..TEXT },
    TypeInfo { name: "date", data_type: 91, precision: 10, scales: Some((0, 0)), ..MOMENT },
    TypeInfo {
        name: "datetime2",
        data_type: 93,
        precision: 27,
        parameters: Some("scale"),
        scales: Some((0, 7)),
        ..MOMENT
    },
    TypeInfo {
        name: "datetime",
        data_type: 93,
        precision: 23,
        scales: Some((3, 3)),
        user_type: 12,
        ..MOMENT
    },
    TypeInfo {
        name: "smalldatetime",
        data_type: 93,
        precision: 16,
        scales: Some((0, 0)),
        user_type: 22,
        ..MOMENT
    },
    TypeInfo {
        name: "datetime",
        data_type: 11,
        precision: 23,
        scales: Some((3, 3)),
        user_type: 12,
        ..MOMENT
    },
];

/// `sp_datatype_info [@data_type [, @ODBCVer]]`
pub(super) async fn run(execution: &mut Execution<'_>, arguments: &[Argument]) -> Result<Returned, Stop> {
    let asked = arguments.iter().find(|argument| is_data_type(argument)).or(positional(arguments));
    let asked = asked.and_then(|argument| argument.value.clone());
    let asked = asked.map(to_integer).transpose()?.flatten().unwrap_or(ALL_TYPES);
    let rows: Vec<_> = types(asked).map(row).collect();
    let count = rows.len();
    let in_procedure = std::mem::replace(&mut execution.in_procedure, true);
    execution.send_rows(columns(), rows).await?;
    execution.finish(Done::rows(Command::Select, count)).await?;
    execution.in_procedure = in_procedure;
    Ok(Returned::default())
}

fn is_data_type(argument: &Argument) -> bool {
    argument
        .name
        .as_deref()
        .is_some_and(|name| name.trim_start_matches('@').eq_ignore_ascii_case("data_type"))
}

fn positional(arguments: &[Argument]) -> Option<&Argument> {
    arguments.first().filter(|argument| argument.name.is_none())
}

/// The types of an ODBC number. 11 is what ODBC 2 calls 93, and is left out of the list of all types.
fn types(asked: i64) -> impl Iterator<Item = &'static TypeInfo> {
    TYPES.iter().filter(move |info| match asked {
        ALL_TYPES => info.data_type != 11,
        asked => i64::from(info.data_type) == asked,
    })
}

fn columns() -> Arc<[Column]> {
    let name = |name: &str| Column::not_null(name, SqlType::SYSNAME);
    let small = |name: &str| Column::new(name, SqlType::SmallInt);
    let number = |name: &str| Column::new(name, SqlType::Int);
    let short = |name: &str| Column::new(name, SqlType::varchar(32));
    [
        name("TYPE_NAME"),
        small("DATA_TYPE"),
        number("PRECISION"),
        short("LITERAL_PREFIX"),
        short("LITERAL_SUFFIX"),
        short("CREATE_PARAMS"),
        small("NULLABLE"),
        small("CASE_SENSITIVE"),
        small("SEARCHABLE"),
        small("UNSIGNED_ATTRIBUTE"),
        small("MONEY"),
        small("AUTO_INCREMENT"),
        name("LOCAL_TYPE_NAME"),
        small("MINIMUM_SCALE"),
        small("MAXIMUM_SCALE"),
        small("SQL_DATA_TYPE"),
        small("SQL_DATETIME_SUB"),
        number("NUM_PREC_RADIX"),
        small("INTERVAL_PRECISION"),
        small("USERTYPE"),
    ]
    .into()
}

fn row(info: &TypeInfo) -> Vec<Value> {
    let small = |number: Option<i16>| number.map_or(Value::Null, Value::SmallInt);
    let short = |text: Option<&str>| text.map_or(Value::Null, Value::varchar);
    let is_moment = info.data_type > 90;
    vec![
        Value::nvarchar(info.name),
        Value::SmallInt(info.data_type),
        Value::Int(info.precision),
        short(info.prefix),
        short(info.suffix),
        short(info.parameters),
        Value::SmallInt(1),
        Value::SmallInt(0),
        Value::SmallInt(info.searchable),
        small(info.unsigned),
        Value::SmallInt(info.money),
        small(info.unsigned.map(|_| 0)),
        Value::nvarchar(info.name),
        small(info.scales.map(|(least, _)| least)),
        small(info.scales.map(|(_, most)| most)),
        Value::SmallInt(if is_moment { 9 } else { info.data_type }),
        small(is_moment.then_some(info.data_type - 90)),
        info.radix.into(),
        Value::Null,
        Value::SmallInt(info.user_type),
    ]
}

#[cfg(test)]
mod tests {
    use super::{columns, row, types};

    #[test]
    fn drivers_find_the_types_they_ask_for() {
        let names = |asked| types(asked).map(|info| info.name).collect::<Vec<_>>();
        assert_eq!(names(12), ["varchar"]);
        assert_eq!(names(-9), ["nvarchar", "sysname"]);
        assert_eq!(names(-3), ["varbinary"]);
        assert_eq!(names(93), ["datetime2", "datetime", "smalldatetime"]);
        assert_eq!(names(0).len(), 31);
    }

    #[test]
    fn every_row_has_a_value_for_every_column() {
        assert!(types(0).all(|info| row(info).len() == columns().len()));
    }
}
