//! The texts of the receiving half: RECEIVE with and without waiting, the end of a receiving transaction, and the
//! tables of the poison handling.
//!
//! RECEIVE goes as a plain batch, since its transaction outlives the request (inside `sp_executesql` error 266 would be
//! raised). Hence numbers and identifiers stand in the text; both are made here, and there are few shapes.

use std::time::Duration;

use super::super::ids::{ConversationGroup, ConversationHandle};
use super::super::message::Message;
use super::super::names::QueueName;
use super::super::values::SqlValue;
use super::{Argument, RECEIVE_COLUMNS, Statement};

/// Savepoint before RECEIVE: rolling back to it gives the messages back without counting as a roll back (U-34, U-35).
pub(crate) const BEFORE_RECEIVE: &str = "ssb_before_receive";

/// Savepoint after RECEIVE: rolling back to it undoes a handler's work and keeps the messages received.
pub(crate) const BEFORE_HANDLING: &str = "ssb_before_handling";

/// Which messages RECEIVE takes (specification section 2.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Selection {
    /// Those of the next unlocked conversation group.
    NextGroup,
    /// Those of one conversation.
    Conversation(ConversationHandle),
    /// Those of one group.
    Group(ConversationGroup),
}

/// What one RECEIVE asks for.
#[derive(Clone, Debug)]
pub(crate) struct ReceiveSpec {
    pub(crate) queue: QueueName,
    pub(crate) max_messages: u32,
    pub(crate) selection: Selection,
}

impl ReceiveSpec {
    fn receive(&self) -> String {
        let filter = match self.selection {
            Selection::NextGroup => String::new(),
            Selection::Conversation(handle) => format!(" WHERE conversation_handle = '{handle}'"),
            Selection::Group(group) => format!(" WHERE conversation_group_id = '{group}'"),
        };
        format!("RECEIVE TOP ({}) {RECEIVE_COLUMNS} FROM {}{filter}", self.max_messages, self.queue.quoted())
    }
}

/// Opens a transaction unless one is open, then waits for messages. One result set: the messages, none after the wait.
pub(crate) fn wait_and_receive(spec: &ReceiveSpec, wait: Duration) -> String {
    format!(
        "IF @@TRANCOUNT = 0 BEGIN TRANSACTION; SAVE TRANSACTION {BEFORE_RECEIVE}; WAITFOR ({}), TIMEOUT {}; \
         SAVE TRANSACTION {BEFORE_HANDLING};",
        spec.receive(),
        wait.as_millis().min(i32::MAX as u128)
    )
}

/// Commits, then takes what is ready in a new transaction, without waiting. The first result set is that of
/// [`COMMIT`], so it arrives whatever becomes of the second, the messages.
pub(crate) fn commit_and_receive(spec: &ReceiveSpec) -> String {
    format!(
        "IF XACT_STATE() = 1 BEGIN COMMIT TRANSACTION; SELECT @@TRANCOUNT AS open_transactions; BEGIN TRANSACTION; \
         SAVE TRANSACTION {BEFORE_RECEIVE}; {}; SAVE TRANSACTION {BEFORE_HANDLING}; END \
         ELSE SELECT -1 AS open_transactions;",
        spec.receive()
    )
}

/// Commits. One row: how many transactions are still open, 0 if the commit was the outermost, -1 if there was nothing
/// that could be committed.
pub(crate) const COMMIT: &str = "IF XACT_STATE() = 1 BEGIN COMMIT TRANSACTION; SELECT @@TRANCOUNT AS \
     open_transactions; END ELSE SELECT -1 AS open_transactions;";

/// Gives all messages back and ends the transaction.
pub(crate) const GIVE_BACK: &str = "ROLLBACK TRANSACTION ssb_before_receive; COMMIT TRANSACTION;";

/// Undoes what a handler did; the messages stay received.
pub(crate) const UNDO_HANDLING: &str = "ROLLBACK TRANSACTION ssb_before_handling;";

/// Rolls everything back, whatever is open.
pub(crate) const ROLL_BACK: &str = "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;";

/// Whether the tables of the poison handling exist (`sql/05-dead-letters.sql`): two object ids, NULL for a missing one.
pub(crate) const POISON_TABLES: &str = "SELECT OBJECT_ID(N'ssbroker.attempts', N'U') AS attempts, \
     OBJECT_ID(N'ssbroker.dead_letters', N'U') AS dead_letters;";

/// How often a message failed before: one row, or none.
pub(crate) fn read_attempts(message: &Message) -> Statement<'static> {
    Statement::new(
        "SELECT attempts FROM [ssbroker].[attempts] WHERE conversation_handle = @handle AND \
         message_sequence_number = @sequence;",
    )
    .bind_handle("@handle", message.conversation)
    .bind("@sequence", "bigint", Argument::Value(SqlValue::I64(message.sequence_number)))
}

/// Counts a failed attempt.
pub(crate) fn count_attempt<'a>(message: &Message, reason: &'a str) -> Statement<'a> {
    Statement::new(
        "UPDATE [ssbroker].[attempts] SET attempts = attempts + 1, last_reason = @reason, last_attempt = \
         SYSUTCDATETIME() WHERE conversation_handle = @handle AND message_sequence_number = @sequence; \
         IF @@ROWCOUNT = 0 INSERT INTO [ssbroker].[attempts] (conversation_handle, message_sequence_number, attempts, \
         last_reason, last_attempt) VALUES (@handle, @sequence, 1, @reason, SYSUTCDATETIME());",
    )
    .bind_handle("@handle", message.conversation)
    .bind("@sequence", "bigint", Argument::Value(SqlValue::I64(message.sequence_number)))
    .bind("@reason", "nvarchar(2000)", Argument::Text(reason))
}

/// Moves a received message to the dead letters and forgets its attempts.
pub(crate) fn park<'a>(
    message: &'a Message,
    queue: &'a str,
    attempts: i32,
    reason: &'a str,
) -> Statement<'a> {
    let body =
        if message.body.is_empty() { Argument::NoBytes } else { Argument::Bytes(message.body.as_bytes()) };
    Statement::new(
        "INSERT INTO [ssbroker].[dead_letters] (parked, queue_name, service_name, contract_name, message_type_name, \
         conversation_handle, conversation_group_id, message_sequence_number, attempts, reason, message_body) VALUES \
         (SYSUTCDATETIME(), @queue, @service, @contract, @type, @handle, @group, @sequence, @attempts, @reason, @body); \
         DELETE FROM [ssbroker].[attempts] WHERE conversation_handle = @handle AND message_sequence_number = @sequence;",
    )
    .bind("@queue", "nvarchar(300)", Argument::Text(queue))
    .bind("@service", "nvarchar(512)", Argument::Text(&message.service))
    .bind("@contract", "nvarchar(256)", Argument::Text(&message.contract))
    .bind("@type", "nvarchar(256)", Argument::Text(&message.message_type))
    .bind_handle("@handle", message.conversation)
    .bind("@group", "uniqueidentifier", Argument::Value(SqlValue::Uuid(message.group.as_uuid())))
    .bind("@sequence", "bigint", Argument::Value(SqlValue::I64(message.sequence_number)))
    .bind_int("@attempts", attempts)
    .bind("@reason", "nvarchar(2000)", Argument::Text(reason))
    .bind("@body", "varbinary(max)", body)
}

/// Forgets the attempts of a message that was handled after all.
pub(crate) fn forget_attempts(message: &Message) -> Statement<'static> {
    Statement::new(
        "DELETE FROM [ssbroker].[attempts] WHERE conversation_handle = @handle AND message_sequence_number = @sequence;",
    )
    .bind_handle("@handle", message.conversation)
    .bind("@sequence", "bigint", Argument::Value(SqlValue::I64(message.sequence_number)))
}
