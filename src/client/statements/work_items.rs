//! The texts of leases on stored messages (`sql/11-work-items.sql`).
//!
//! A lease is a random identifier with an end. Whatever its holder does names it, so that a holder whose lease has run out
//! and was taken over changes nothing any more.

use std::time::Duration;

use uuid::Uuid;

use super::super::values::SqlValue;
use super::{Argument, RECEIVE_COLUMNS, Statement};

impl<'a> Statement<'a> {
    /// A span in milliseconds; more than 24 days are cut.
    pub(super) fn bind_millis(self, name: &'static str, span: Duration) -> Self {
        self.bind_int(name, i32::try_from(span.as_millis()).unwrap_or(i32::MAX))
    }

    fn bind_lease(self, id: i64, lease: Uuid) -> Self {
        self.bind("@id", "bigint", Argument::Value(SqlValue::I64(id))).bind(
            "@lease",
            "uniqueidentifier",
            Argument::Value(SqlValue::Uuid(lease)),
        )
    }
}

/// Leases the oldest item that is due, free and the first of its conversation group, and counts an attempt: one row, or
/// none. An item whose lease has run out is free.
pub(crate) fn claim_work_item(queue: &str, lease: Uuid, span: Duration) -> Statement<'_> {
    let columns: Vec<String> =
        RECEIVE_COLUMNS.split(", ").map(|column| format!("inserted.{column}")).collect();
    Statement::new(format!(
        "WITH next AS (SELECT TOP (1) * FROM [ssbroker].[work_items] AS w WITH (UPDLOCK, READPAST, ROWLOCK) WHERE \
         w.queue_name = @queue AND w.due <= SYSUTCDATETIME() AND (w.lease IS NULL OR w.leased_until < SYSUTCDATETIME()) AND \
         NOT EXISTS (SELECT 1 FROM [ssbroker].[work_items] AS e WHERE e.queue_name = w.queue_name AND \
         e.conversation_group_id = w.conversation_group_id AND e.id < w.id) ORDER BY w.id) \
         UPDATE next SET lease = @lease, leased_until = DATEADD(millisecond, @span, SYSUTCDATETIME()), attempts = attempts \
         + 1 OUTPUT inserted.id, inserted.attempts, inserted.last_reason, {};",
        columns.join(", ")
    ))
    .bind("@queue", "nvarchar(300)", Argument::Text(queue))
    .bind("@lease", "uniqueidentifier", Argument::Value(SqlValue::Uuid(lease)))
    .bind_millis("@span", span)
}

/// Extends a lease: one row changed, or none when it was taken over.
pub(crate) fn extend_lease(id: i64, lease: Uuid, span: Duration) -> Statement<'static> {
    Statement::new(
        "UPDATE [ssbroker].[work_items] SET leased_until = DATEADD(millisecond, @span, SYSUTCDATETIME()) WHERE id = @id AND \
         lease = @lease;",
    )
    .bind_lease(id, lease)
    .bind_millis("@span", span)
}

/// Gives an item free after a failure, to be claimed again after `delay`.
pub(crate) fn release_work_item(id: i64, lease: Uuid, delay: Duration, reason: &str) -> Statement<'_> {
    Statement::new(
        "UPDATE [ssbroker].[work_items] SET lease = NULL, leased_until = NULL, due = DATEADD(millisecond, @delay, \
         SYSUTCDATETIME()), last_reason = @reason WHERE id = @id AND lease = @lease;",
    )
    .bind_lease(id, lease)
    .bind_millis("@delay", delay)
    .bind("@reason", "nvarchar(2000)", Argument::Text(reason))
}

/// Gives an item free that was not worked on to its end through no fault of its own; the attempt does not count.
pub(crate) fn return_work_item(id: i64, lease: Uuid) -> Statement<'static> {
    Statement::new(
        "UPDATE [ssbroker].[work_items] SET lease = NULL, leased_until = NULL, attempts = attempts - 1 WHERE id = @id AND \
         lease = @lease;",
    )
    .bind_lease(id, lease)
}

/// Moves an item to the dead letters.
pub(crate) fn park_work_item<'a>(
    id: i64,
    lease: Uuid,
    cause: &'static str,
    reason: &'a str,
) -> Statement<'a> {
    Statement::new(
        "DELETE FROM [ssbroker].[work_items] OUTPUT SYSUTCDATETIME(), deleted.queue_name, deleted.service_name, \
         deleted.service_contract_name, deleted.message_type_name, deleted.conversation_handle, \
         deleted.conversation_group_id, deleted.message_sequence_number, deleted.attempts, @cause, @reason, \
         deleted.message_body INTO [ssbroker].[dead_letters] (parked, queue_name, service_name, service_contract_name, \
         message_type_name, conversation_handle, conversation_group_id, message_sequence_number, attempts, cause, reason, \
         message_body) WHERE id = @id AND lease = @lease;",
    )
    .bind_lease(id, lease)
    .bind("@cause", "nvarchar(32)", Argument::Text(cause))
    .bind("@reason", "nvarchar(2000)", Argument::Text(reason))
}

/// In how many milliseconds the next item of a queue that is the first of its group may be free; NULL when the queue has none.
/// One that is being completed is not waited for.
pub(crate) fn next_work_item(queue: &str) -> Statement<'_> {
    Statement::new(
        "SELECT DATEDIFF_BIG(millisecond, SYSUTCDATETIME(), MIN(CASE WHEN w.lease IS NOT NULL AND w.leased_until > w.due THEN \
         w.leased_until ELSE w.due END)) AS wait FROM [ssbroker].[work_items] AS w WITH (READPAST) WHERE w.queue_name = @queue \
         AND NOT EXISTS (SELECT 1 FROM [ssbroker].[work_items] AS e WITH (READPAST) WHERE e.queue_name = w.queue_name AND \
         e.conversation_group_id = w.conversation_group_id AND e.id < w.id);",
    )
    .bind("@queue", "nvarchar(300)", Argument::Text(queue))
}
