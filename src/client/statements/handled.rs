//! Messages that were handled (`sql/12-handled-messages.sql`): noted in the transaction that handles them, forgotten by age.

use std::time::Duration;

use uuid::Uuid;

use super::super::values::SqlValue;
use super::{Argument, Statement};

/// Notes a message as handled in the open transaction. One row: `noted`, 0 when it was noted before. Of two who note it at
/// once, the second waits for the first.
pub(crate) fn note_handled(queue: &str, id: Uuid) -> Statement<'_> {
    Statement::new(
        "SET XACT_ABORT OFF; DECLARE @noted int = 1; BEGIN TRY INSERT INTO [ssbroker].[handled_messages] (queue_name, \
         message_id, handled) VALUES (@queue, @id, SYSUTCDATETIME()); END TRY BEGIN CATCH \
         IF ERROR_NUMBER() NOT IN (2601, 2627) OR XACT_STATE() <> 1 THROW; SET @noted = 0; END CATCH; \
         SELECT @noted AS noted;",
    )
    .bind("@queue", "nvarchar(300)", Argument::Text(queue))
    .bind("@id", "uniqueidentifier", Argument::Value(SqlValue::Uuid(id)))
}

/// Forgets messages of a queue that were handled longer ago, a bounded number at once.
pub(crate) fn forget_handled(queue: &str, older_than: Duration, most: u32) -> Statement<'_> {
    Statement::new(
        "DELETE TOP (@most) FROM [ssbroker].[handled_messages] WHERE queue_name = @queue AND handled < DATEADD(second, \
         -@seconds, SYSUTCDATETIME());",
    )
    .bind("@queue", "nvarchar(300)", Argument::Text(queue))
    .bind_int("@seconds", i32::try_from(older_than.as_secs()).unwrap_or(i32::MAX))
    .bind_int("@most", i32::try_from(most).unwrap_or(i32::MAX))
}
