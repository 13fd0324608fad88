//! The texts of looking at messages that were not sent and of sending them again (`sql/07-sending.sql`).

use std::time::Duration;

use super::super::values::SqlValue;
use super::{Argument, Statement};

/// A page of unsent messages without their bodies, in the order in which they were noted.
pub(crate) fn list_unsent(after: i64, limit: u32) -> Statement<'static> {
    Statement::new(
        "SELECT TOP (@limit) id, noted, conversation_handle, message_sequence_number, from_service_name, to_service_name, \
         contract_name, message_type_name, error_code, reason, DATALENGTH(message_body) AS body_length FROM \
         [ssbroker].[unsent] WHERE id > @after ORDER BY id;",
    )
    .bind_int("@limit", i32::try_from(limit).unwrap_or(i32::MAX))
    .bind("@after", "bigint", Argument::Value(SqlValue::I64(after)))
}

/// One unsent message with its body: one row, or none. Inside a transaction it stays locked to its end.
pub(crate) fn get_unsent(id: i64) -> Statement<'static> {
    Statement::new(
        "SELECT id, noted, conversation_handle, message_sequence_number, from_service_name, to_service_name, contract_name, \
         message_type_name, error_code, reason, DATALENGTH(message_body) AS body_length, message_body FROM \
         [ssbroker].[unsent] WITH (UPDLOCK, ROWLOCK) WHERE id = @id;",
    )
    .bind("@id", "bigint", Argument::Value(SqlValue::I64(id)))
}

/// Deletes one unsent message.
pub(crate) fn delete_unsent(id: i64) -> Statement<'static> {
    let id = Argument::Value(SqlValue::I64(id));
    Statement::new("DELETE FROM [ssbroker].[unsent] WHERE id = @id;").bind("@id", "bigint", id)
}

/// Deletes a bounded number of unsent messages that were noted longer ago than `older_than`.
pub(crate) fn purge_unsent(older_than: Duration, limit: u32) -> Statement<'static> {
    Statement::new(
        "DELETE TOP (@limit) FROM [ssbroker].[unsent] WHERE noted <= DATEADD(second, -@age, SYSUTCDATETIME());",
    )
    .bind_int("@limit", i32::try_from(limit).unwrap_or(i32::MAX))
    .bind_int("@age", i32::try_from(older_than.as_secs()).unwrap_or(i32::MAX))
}
