//! The texts of looking at dead letters and of bringing them back (`sql/05-dead-letters.sql`).

use std::time::Duration;

use super::super::values::SqlValue;
use super::{Argument, Statement};

/// A page of dead letters without their bodies, in the order in which they were parked. `@queue` NULL means every queue.
pub(crate) fn list_dead_letters(queue: Option<&str>, after: i64, limit: u32) -> Statement<'_> {
    Statement::new(
        "SELECT TOP (@limit) id, parked, queue_name, service_name, service_contract_name, message_type_name, \
         conversation_handle, conversation_group_id, message_sequence_number, attempts, cause, reason, \
         DATALENGTH(message_body) AS body_length FROM [ssbroker].[dead_letters] WHERE id > @after AND (@queue IS NULL OR \
         queue_name = @queue) ORDER BY id;",
    )
    .bind_int("@limit", i32::try_from(limit).unwrap_or(i32::MAX))
    .bind("@after", "bigint", Argument::Value(SqlValue::I64(after)))
    .bind("@queue", "nvarchar(300)", queue.map_or(Argument::Value(SqlValue::Null), Argument::Text))
}

/// One dead letter with its body: one row, or none. Inside a transaction it stays locked to its end.
pub(crate) fn get_dead_letter(id: i64) -> Statement<'static> {
    Statement::new(
        "SELECT id, parked, queue_name, service_name, service_contract_name, message_type_name, conversation_handle, \
         conversation_group_id, message_sequence_number, attempts, cause, reason, DATALENGTH(message_body) AS body_length, \
         message_body FROM [ssbroker].[dead_letters] WITH (UPDLOCK, ROWLOCK) WHERE id = @id;",
    )
    .bind("@id", "bigint", Argument::Value(SqlValue::I64(id)))
}

/// Deletes one dead letter.
pub(crate) fn delete_dead_letter(id: i64) -> Statement<'static> {
    Statement::new("DELETE FROM [ssbroker].[dead_letters] WHERE id = @id;").bind(
        "@id",
        "bigint",
        Argument::Value(SqlValue::I64(id)),
    )
}

/// Moves one dead letter to the retries, due at once and with its attempts forgotten.
pub(crate) fn hand_back_dead_letter(id: i64) -> Statement<'static> {
    Statement::new(
        "DELETE FROM [ssbroker].[dead_letters] OUTPUT deleted.queue_name, SYSUTCDATETIME(), 0, 0, deleted.reason, \
         deleted.conversation_group_id, deleted.conversation_handle, deleted.message_sequence_number, \
         deleted.service_name, deleted.service_contract_name, deleted.message_type_name, N'N', 5, deleted.message_body INTO \
         [ssbroker].[retries] (queue_name, due, attempts, retries, last_reason, conversation_group_id, conversation_handle, \
         message_sequence_number, service_name, service_contract_name, message_type_name, validation, priority, \
         message_body) WHERE id = @id;",
    )
    .bind("@id", "bigint", Argument::Value(SqlValue::I64(id)))
}

/// Deletes a bounded number of dead letters that were parked longer ago than `older_than`.
pub(crate) fn purge_dead_letters(queue: Option<&str>, older_than: Duration, limit: u32) -> Statement<'_> {
    Statement::new(
        "DELETE TOP (@limit) FROM [ssbroker].[dead_letters] WHERE parked <= DATEADD(second, -@age, SYSUTCDATETIME()) AND \
         (@queue IS NULL OR queue_name = @queue);",
    )
    .bind_int("@limit", i32::try_from(limit).unwrap_or(i32::MAX))
    .bind_int("@age", i32::try_from(older_than.as_secs()).unwrap_or(i32::MAX))
    .bind("@queue", "nvarchar(300)", queue.map_or(Argument::Value(SqlValue::Null), Argument::Text))
}
