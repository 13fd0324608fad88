//! The texts of request and reply: a request in one round trip, and the tables of those who wait for replies and of what
//! is kept for them (`sql/09-waiters.sql`).
//!
//! The row of a request is the arbiter between its waiter and the recovery handler: storing a reply and giving up waiting
//! are each one statement on it, and whichever comes first wins.

use super::super::body::Body;
use super::super::ids::ConversationHandle;
use super::super::message::OutgoingMessage;
use super::super::names::QueueName;
use super::super::values::SqlValue;
use super::sending::{bind_dialog, bind_message};
use super::{Argument, DialogSpec, Statement};

/// What is written down of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remembered<'a> {
    /// Whose request it is.
    pub(crate) requester: &'a str,
    /// The caller's own note.
    pub(crate) note: Option<&'a str>,
    /// How long its reply is waited for.
    pub(crate) timeout_seconds: i32,
}

/// Begins a dialog, sends its only message and writes the request down, all or nothing. One row: `conversation_handle`.
///
/// Parameters: those of BEGIN DIALOG and SEND; `@requester`, `@note`, `@seconds` when it is remembered.
pub(crate) fn request<'a>(
    spec: &'a DialogSpec,
    message: &'a OutgoingMessage,
    remembered: Option<Remembered<'a>>,
) -> Statement<'a> {
    let body = if message.body.is_empty() { "" } else { " (@body)" };
    let remember = if remembered.is_some() {
        " INSERT INTO [ssbroker].[waiters] (conversation_handle, requester, note, created, deadline, is_ended) VALUES \
         (@handle, @requester, @note, SYSUTCDATETIME(), DATEADD(second, @seconds, SYSUTCDATETIME()), 0);"
    } else {
        ""
    };
    let text = format!(
        "SET NOCOUNT ON; DECLARE @handle uniqueidentifier; BEGIN TRY BEGIN TRANSACTION; {} \
         SEND ON CONVERSATION @handle MESSAGE TYPE @type{body};{remember} COMMIT TRANSACTION; END TRY \
         BEGIN CATCH IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION; THROW; END CATCH; SELECT @handle AS conversation_handle;",
        spec.begin_text()
    );
    let statement = bind_message(bind_dialog(Statement::new(text), spec), message);
    let Some(Remembered { requester, note, timeout_seconds }) = remembered else { return statement };
    let note = note.map_or(Argument::Value(SqlValue::Null), Argument::Text);
    statement
        .bind("@requester", "nvarchar(128)", Argument::Text(requester))
        .bind("@note", "nvarchar(400)", note)
        .bind_int("@seconds", timeout_seconds)
}

/// Whether the tables exist: their object ids, or NULL.
pub(crate) const WAITERS_TABLES: &str = "SELECT OBJECT_ID(N'ssbroker.waiters', N'U') AS waiters, \
     OBJECT_ID(N'ssbroker.waiter_messages', N'U') AS waiter_messages;";

/// Keeps a message with its request, behind those kept before; `ended` says that our side of the conversation ends with
/// it. Runs in the receiving transaction. One row: `stored`, 0 when the request is not remembered.
pub(crate) fn store_reply(
    handle: ConversationHandle,
    sequence: i64,
    message_type: &str,
    body: &Body,
    ended: bool,
) -> Statement<'static> {
    let body =
        if body.is_empty() { Argument::NoBytes } else { Argument::Value(SqlValue::from(body.as_bytes())) };
    Statement::new(
        "SET NOCOUNT ON; DECLARE @stored int; UPDATE [ssbroker].[waiters] SET message_sequence_number = @sequence, is_ended \
         = @ended WHERE conversation_handle = @handle; SET @stored = @@ROWCOUNT; IF @stored > 0 INSERT INTO \
         [ssbroker].[waiter_messages] (conversation_handle, message_sequence_number, message_type_name, message_body) VALUES \
         (@handle, @sequence, @type, @body); SELECT @stored AS stored;",
    )
    .bind_handle("@handle", handle)
    .bind("@sequence", "bigint", Argument::Value(SqlValue::I64(sequence)))
    .bind("@type", "nvarchar(256)", Argument::Value(SqlValue::from(message_type)))
    .bind("@body", "varbinary(max)", body)
    .bind("@ended", "bit", Argument::Value(SqlValue::Bool(ended)))
}

/// Notes that the conversation of a request has ended, with the error it ended with, code 0 for none. One row: `stored`,
/// 0 when the request is not remembered. A reply stored before stays.
pub(crate) fn conclude_request(handle: ConversationHandle, code: i32, text: &str) -> Statement<'static> {
    Statement::new(
        "SET NOCOUNT ON; UPDATE [ssbroker].[waiters] SET is_ended = 1, error_code = @code, error_text = @text WHERE \
         conversation_handle = @handle; SELECT @@ROWCOUNT AS stored;",
    )
    .bind_handle("@handle", handle)
    .bind_int("@code", code)
    .bind("@text", "nvarchar(3000)", Argument::Value(SqlValue::from(text)))
}

/// What is known of a request: a row for each message kept, in order, one row with NULL for the message when there is
/// none, no row when the request is not remembered.
pub(crate) fn read_request(handle: ConversationHandle) -> Statement<'static> {
    Statement::new(
        "SELECT m.message_sequence_number, m.message_type_name, m.message_body, w.is_ended, w.error_code, w.error_text FROM \
         [ssbroker].[waiters] AS w LEFT JOIN [ssbroker].[waiter_messages] AS m ON m.conversation_handle = \
         w.conversation_handle WHERE w.conversation_handle = @handle ORDER BY m.message_sequence_number;",
    )
    .bind_handle("@handle", handle)
}

/// Forgets a request unless something came after the message with the number `seen`, -1 for none. One row: `forgotten`.
pub(crate) fn give_up_waiting(handle: ConversationHandle, seen: i64) -> Statement<'static> {
    forget(
        handle,
        " AND is_ended = 0 AND (message_sequence_number IS NULL OR message_sequence_number <= @seen)",
    )
    .bind("@seen", "bigint", Argument::Value(SqlValue::I64(seen)))
}

/// Forgets a request. One row: `forgotten`, 0 when it was forgotten before.
pub(crate) fn forget_request(handle: ConversationHandle) -> Statement<'static> {
    forget(handle, "")
}

/// Forgets a request on a further condition, with what was kept for it, both or neither. An error ends an open transaction.
fn forget(handle: ConversationHandle, further: &str) -> Statement<'static> {
    Statement::new(format!(
        "SET NOCOUNT ON; DECLARE @forgotten int; BEGIN TRY BEGIN TRANSACTION; DELETE FROM [ssbroker].[waiters] WHERE \
         conversation_handle = @handle{further}; SET @forgotten = @@ROWCOUNT; IF @forgotten > 0 DELETE FROM \
         [ssbroker].[waiter_messages] WHERE conversation_handle = @handle; COMMIT TRANSACTION; END TRY BEGIN CATCH IF \
         @@TRANCOUNT > 0 ROLLBACK TRANSACTION; THROW; END CATCH; SELECT @forgotten AS forgotten;"
    ))
    .bind_handle("@handle", handle)
}

/// Forgets requests whose time ran out longer ago, a bounded number at once, with what was kept for them. One row:
/// `forgotten`.
pub(crate) fn forget_old_requests(older_than_seconds: i32, most: i32) -> Statement<'static> {
    Statement::new(
        "SET NOCOUNT ON; DECLARE @old TABLE (handle uniqueidentifier); BEGIN TRY BEGIN TRANSACTION; DELETE TOP (@most) FROM \
         [ssbroker].[waiters] OUTPUT deleted.conversation_handle INTO @old WHERE deadline < DATEADD(second, -@seconds, \
         SYSUTCDATETIME()); DELETE FROM [ssbroker].[waiter_messages] WHERE conversation_handle IN (SELECT handle FROM @old); \
         COMMIT TRANSACTION; END TRY BEGIN CATCH IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION; THROW; END CATCH; SELECT COUNT(*) \
         AS forgotten FROM @old;",
    )
    .bind_int("@most", most)
    .bind_int("@seconds", older_than_seconds)
}

/// The requests of a requester that are not settled, the oldest first.
pub(crate) fn unfinished_requests(requester: &str) -> Statement<'_> {
    Statement::new(
        "SELECT conversation_handle, note, created, deadline, CASE WHEN message_sequence_number IS NULL AND is_ended = 0 \
         THEN 0 ELSE 1 END AS is_answered FROM [ssbroker].[waiters] WHERE requester = @requester ORDER BY created;",
    )
    .bind("@requester", "nvarchar(128)", Argument::Text(requester))
}

/// Whether a message still lies in the queue: one row, `messages`. It waits for a transaction that is receiving it.
pub(crate) fn still_queued(
    queue: &QueueName,
    handle: ConversationHandle,
    sequence: i64,
) -> Statement<'static> {
    Statement::new(format!(
        "SELECT COUNT(*) AS messages FROM {} WHERE conversation_handle = @handle AND \
         message_sequence_number = @sequence;",
        queue.quoted()
    ))
    .bind_handle("@handle", handle)
    .bind("@sequence", "bigint", Argument::Value(SqlValue::I64(sequence)))
}

/// Whether our side of a conversation is open: one row, `conversations`. A login sees the conversations it may see the
/// service of.
pub(crate) fn conversation_exists(handle: ConversationHandle) -> Statement<'static> {
    Statement::new(
        "SELECT COUNT(*) AS conversations FROM sys.conversation_endpoints WHERE conversation_handle = @handle AND \
         state <> 'CD';",
    )
    .bind_handle("@handle", handle)
}
