//! The server's functions without parentheses: `@@ROWCOUNT`, `@@TRANCOUNT`, `@@VERSION` and so on.
//!
//! Pure. This file must not know when their values change.

use super::state::SessionState;
use crate::relational::SessionFacts;
use crate::value::{Length, SqlType, Value};

/// What `@@VERSION` says. Clients look for the product's name in front, people for what it really is.
const VERSION: &str = concat!(
    "Microsoft SQL Server 2019 (compatible; ssbroker emulator ",
    env!("CARGO_PKG_VERSION"),
    ") - 15.0.4000.0"
);

/// Type and value of `@@name`, compared without case; `None` for a name the server does not know.
pub(super) fn value(
    name: &str,
    state: &SessionState,
    facts: &SessionFacts,
    trancount: i32,
) -> Option<(SqlType, Value)> {
    let options = &state.options;
    Some(match name.to_ascii_uppercase().as_str() {
        "@@ROWCOUNT" => int(clamped(state.row_count)),
        "@@ERROR" => int(state.last_error),
        "@@TRANCOUNT" => int(trancount),
        "@@SPID" => (SqlType::SmallInt, Value::SmallInt(i16::try_from(facts.spid).unwrap_or(i16::MAX))),
        "@@NESTLEVEL" => int(i32::try_from(state.nest_level).unwrap_or(i32::MAX)),
        "@@OPTIONS" => int(options.bits()),
        "@@LOCK_TIMEOUT" => {
            int(options.lock_timeout.map_or(-1, |timeout| clamped(timeout.as_millis() as i64)))
        }
        "@@TEXTSIZE" => int(options.text_size),
        "@@DATEFIRST" => (SqlType::TinyInt, Value::TinyInt(options.date_first)),
        "@@IDENTITY" => (SqlType::Decimal { precision: 38, scale: 0 }, identity(state.last_identity)),
        "@@SERVERNAME" => (SqlType::SYSNAME, Value::nvarchar(&facts.server_name)),
        "@@SERVICENAME" => (SqlType::SYSNAME, Value::nvarchar("MSSQLSERVER")),
        "@@LANGUAGE" => (SqlType::SYSNAME, Value::nvarchar("us_english")),
        "@@LANGID" => (SqlType::SmallInt, Value::SmallInt(0)),
        "@@VERSION" => (SqlType::NVarChar(Length::Limited(300)), Value::nvarchar(VERSION)),
        "@@MICROSOFTVERSION" => int(0x0F00_0FA0),
        "@@MAX_CONNECTIONS" => int(32767),
        "@@MAX_PRECISION" => (SqlType::TinyInt, Value::TinyInt(38)),
        "@@PROCID" => int(0),
        "@@FETCH_STATUS" => int(state.fetch_status),
        "@@CURSOR_ROWS" => int(state.cursor_rows),
        _ => return None,
    })
}

fn int(value: i32) -> (SqlType, Value) {
    (SqlType::Int, Value::Int(value))
}

fn clamped(value: i64) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}

fn identity(value: Option<i64>) -> Value {
    value.map_or(Value::Null, |value| Value::Decimal(crate::value::Decimal::whole(i128::from(value))))
}
