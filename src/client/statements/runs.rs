//! Runs of handlers (`sql/13-runs.sql`): kept once each, forgotten by age.

use std::time::Duration;

use super::super::runs::HandlerRun;
use super::super::values::SqlValue;
use super::{Argument, Statement};

/// Keeps one run, unless it is kept already.
pub(crate) fn keep_run(run: &HandlerRun) -> Statement<'_> {
    let or_null = |value: Option<SqlValue>| Argument::Value(value.unwrap_or(SqlValue::Null));
    Statement::new(
        "INSERT INTO [ssbroker].[runs] (launch_id, app, host, pid, ended, seconds, exit_code, signal, stderr_tail) \
         SELECT @launch, @app, @host, @pid, @ended, @seconds, @exit_code, @signal, @stderr_tail WHERE NOT EXISTS \
         (SELECT 1 FROM [ssbroker].[runs] WHERE launch_id = @launch);",
    )
    .bind("@launch", "uniqueidentifier", Argument::Value(SqlValue::Uuid(run.launch_id)))
    .bind("@app", "nvarchar(256)", Argument::Text(&run.app))
    .bind("@host", "nvarchar(256)", Argument::Text(&run.host))
    .bind("@pid", "int", or_null(run.pid.map(SqlValue::I32)))
    .bind("@ended", "datetime2(3)", Argument::Value(SqlValue::DateTime(run.ended)))
    .bind("@seconds", "float", or_null(run.seconds.map(SqlValue::F64)))
    .bind("@exit_code", "int", or_null(run.exit_code.map(SqlValue::I32)))
    .bind("@signal", "int", or_null(run.signal.map(SqlValue::I32)))
    .bind("@stderr_tail", "nvarchar(max)", Argument::Text(&run.stderr_tail))
}

/// Forgets runs that ended longer ago, a bounded number at once.
pub(crate) fn forget_runs(older_than: Duration, most: u32) -> Statement<'static> {
    Statement::new(
        "DELETE TOP (@most) FROM [ssbroker].[runs] WHERE ended < DATEADD(second, -@seconds, SYSUTCDATETIME());",
    )
    .bind_int("@seconds", i32::try_from(older_than.as_secs()).unwrap_or(i32::MAX))
    .bind_int("@most", i32::try_from(most).unwrap_or(i32::MAX))
}
