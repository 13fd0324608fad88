//! What a statement knows of its session: variables, `@@` functions, facts.
//!
//! The interpreter implements [`Environment`]; nothing behind it takes locks or waits. Must not know how variables are
//! kept.

use crate::engine::{DatabaseId, TableKey, Tx};
use crate::error::SqlError;
use crate::relational::table_variable::TableVariable;
use crate::value::{SqlType, Timestamp, Value};

/// Everything session-bound that expressions and statements read and write.
pub(crate) trait Environment {
    /// Type and value of the variable `@name` (given with its sign, compared without case); `None` raises 137.
    fn variable(&self, name: &str) -> Option<(&SqlType, &Value)>;

    /// Stores a value that is already of the variable's type.
    fn set_variable(&mut self, name: &str, value: Value);

    /// The table variable `@name`; `None` raises 1087.
    fn table_variable(&self, name: &str) -> Option<&TableVariable>;

    /// The table variable `@name`, to change.
    fn table_variable_mut(&mut self, name: &str) -> Option<&mut TableVariable>;

    /// Type and value of `@@name` (given with both signs); `None` for one that does not exist (137).
    fn global(&self, name: &str) -> Option<(SqlType, Value)>;

    /// Facts about the session.
    fn session(&self) -> &SessionFacts;

    /// An INSERT gave a row this identity value: `SCOPE_IDENTITY()` and `@@IDENTITY`.
    fn identity_inserted(&mut self, value: i64);
}

/// Facts about the session that built-in functions answer with.
#[derive(Debug, Clone)]
pub(crate) struct SessionFacts {
    /// Login the session acts as (`SUSER_SNAME()`).
    pub(crate) login: String,
    /// Login that opened the session (`ORIGINAL_LOGIN()`).
    pub(crate) original_login: String,
    /// Database user it acts as (`USER_NAME()`).
    pub(crate) user: String,
    /// Current database.
    pub(crate) database: DatabaseId,
    /// Its name.
    pub(crate) database_name: String,
    /// Session number (`@@SPID`).
    pub(crate) spid: i32,
    /// Host name the client gave.
    pub(crate) host: String,
    /// Program name the client gave.
    pub(crate) application: String,
    /// Name of the server.
    pub(crate) server_name: String,
    /// Time of the statement, UTC; the emulator's time zone is UTC.
    pub(crate) now: Timestamp,
    /// The error whose CATCH block is running.
    pub(crate) error: Option<SqlError>,
    /// `XACT_STATE()`: 1, 0 or -1.
    pub(crate) xact_state: i8,
    /// `SCOPE_IDENTITY()`
    pub(crate) scope_identity: Option<i64>,
    /// Table that `SET IDENTITY_INSERT .. ON` named.
    pub(crate) identity_insert: Option<TableKey>,
    /// First day of the week, 1 for Monday to 7 for Sunday (`SET DATEFIRST`).
    pub(crate) date_first: u8,
}

/// What evaluation needs besides rows: the session and the running operation.
pub(crate) struct Context<'c, 't> {
    /// The session.
    pub(crate) env: &'c mut dyn Environment,
    /// The running operation.
    pub(crate) tx: &'c mut Tx<'t>,
}
