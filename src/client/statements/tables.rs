//! The scripts of the library's own tables, and the texts that verify them. The scripts are files of `sql/`, so that a
//! person can run them too.

pub(crate) const DEAD_LETTERS_SCRIPT: &str = include_str!("../../../sql/05-dead-letters.sql");
pub(crate) const SHARED_POOL_SCRIPT: &str = include_str!("../../../sql/06-shared-pool.sql");
pub(crate) const SENDING_SCRIPT: &str = include_str!("../../../sql/07-sending.sql");
pub(crate) const DELAYED_MESSAGES_SCRIPT: &str = include_str!("../../../sql/08-delayed-messages.sql");
pub(crate) const WAITERS_SCRIPT: &str = include_str!("../../../sql/09-waiters.sql");
pub(crate) const RETRIES_SCRIPT: &str = include_str!("../../../sql/10-retries.sql");
pub(crate) const WORK_ITEMS_SCRIPT: &str = include_str!("../../../sql/11-work-items.sql");
pub(crate) const HANDLED_MESSAGES_SCRIPT: &str = include_str!("../../../sql/12-handled-messages.sql");
pub(crate) const RUNS_SCRIPT: &str = include_str!("../../../sql/13-runs.sql");

/// The columns of all tables in the schema `ssbroker`, in order.
pub(crate) const COLUMNS: &str = "SELECT t.name AS table_name, c.name AS column_name, TYPE_NAME(c.user_type_id) AS \
     type_name, CAST(c.max_length AS int) AS max_length, CAST(c.scale AS int) AS scale, c.is_nullable FROM sys.columns AS c \
     JOIN sys.tables AS t ON t.object_id = c.object_id JOIN sys.schemas AS s ON s.schema_id = t.schema_id \
     WHERE s.name = N'ssbroker' ORDER BY t.name, c.column_id;";

/// A column's type as declared.
pub(crate) fn column_type(ty: &str, nullable: bool) -> String {
    format!("{ty} {}", if nullable { "NULL" } else { "NOT NULL" })
}

/// Adds a column. One that is NOT NULL needs an empty table or a default.
pub(crate) fn add_column(table: &str, column: &str, declared: &str) -> String {
    format!("ALTER TABLE [ssbroker].[{table}] ADD [{column}] {declared};")
}

/// Gives a column its declared type.
pub(crate) fn alter_column(table: &str, column: &str, declared: &str) -> String {
    format!("ALTER TABLE [ssbroker].[{table}] ALTER COLUMN [{column}] {declared};")
}

/// Says which script makes a table.
pub(crate) fn run_script(file: &str) -> String {
    format!("-- run sql/{file}")
}
