//! What is still on its way: endpoint states, the transmission queue, and the table of messages that were given up
//! (`sql/07-sending.sql`).
//!
//! Rows of `sys.transmission_queue` show to members of db_owner only (specification section 1.11). Everybody else sees an
//! empty view, so every text asks for the membership first; a procedure of `sql/07-sending.sql` lends the right to others.

use super::super::ids::ConversationHandle;
use super::super::message::OutgoingMessage;
use super::super::names::QueueName;
use super::super::values::SqlValue;
use super::{Argument, DialogSpec, Statement};

/// How many pending messages are read at once.
pub(crate) const PENDING_PAGE: usize = 100;

/// How many messages one RECEIVE looks at to learn why a dialog is over.
pub(crate) const CAUSE_MESSAGES: u32 = 10;

/// One row: `state` of the endpoint, NULL when there is none; `transmission_status`; `pending`: how many messages wait in
/// the transmission queue, NULL when this login cannot know.
pub(crate) fn delivery_status(handle: ConversationHandle) -> Statement<'static> {
    Statement::new(
        "DECLARE @pending bigint; IF IS_MEMBER(N'db_owner') = 1 SELECT @pending = COUNT_BIG(*) FROM \
         sys.transmission_queue WHERE conversation_handle = @handle; ELSE IF \
         HAS_PERMS_BY_NAME(N'ssbroker.count_pending', N'OBJECT', N'EXECUTE') = 1 EXEC [ssbroker].[count_pending] @handle, \
         @pending OUTPUT; SELECT (SELECT state FROM sys.conversation_endpoints WHERE conversation_handle = @handle) AS state, \
         GET_TRANSMISSION_STATUS(@handle) AS transmission_status, @pending AS pending;",
    )
    .bind_handle("@handle", handle)
}

/// Whether this login may know what is pending. One row: `readable`, `lent`; `unsent_table` is NULL when it is missing.
pub(crate) const PENDING_RIGHTS: &str = "SELECT IS_MEMBER(N'db_owner') AS readable, \
     HAS_PERMS_BY_NAME(N'ssbroker.pending_messages', N'OBJECT', N'EXECUTE') AS lent, \
     OBJECT_ID(N'ssbroker.unsent', N'U') AS unsent_table;";

/// The next page of what the application sent on a conversation and what was not acknowledged, for members of db_owner.
/// `@after`: the sequence number before the first. Rows: `message_sequence_number`, `message_type_name`, `message_body`.
pub(crate) fn pending_messages(handle: ConversationHandle, after: i64) -> Statement<'static> {
    let text = format!(
        "SELECT TOP ({PENDING_PAGE}) message_sequence_number, message_type_name, message_body FROM sys.transmission_queue \
         WHERE conversation_handle = @handle AND message_sequence_number > @after AND is_conversation_error = 0 AND \
         is_end_of_dialog = 0 ORDER BY message_sequence_number;"
    );
    Statement::new(text).bind_handle("@handle", handle).bind(
        "@after",
        "bigint",
        Argument::Value(SqlValue::I64(after)),
    )
}

/// The same through the procedure that lends the right.
pub(crate) fn pending_messages_lent(handle: ConversationHandle, after: i64) -> Statement<'static> {
    Statement::new("EXEC [ssbroker].[pending_messages] @handle, @after;").bind_handle("@handle", handle).bind(
        "@after",
        "bigint",
        Argument::Value(SqlValue::I64(after)),
    )
}

/// How many messages are pending on several conversations. One row: `pending`, NULL when this login cannot know.
pub(crate) fn count_pending(handles: &[ConversationHandle]) -> Statement<'static> {
    let names: Vec<String> = (0..handles.len()).map(|at| format!("@h{at}")).collect();
    let lent: String = names
        .iter()
        .map(|name| format!(" EXEC [ssbroker].[count_pending] {name}, @one OUTPUT; SET @pending += @one;"))
        .collect();
    let text = format!(
        "DECLARE @pending bigint, @one bigint; IF IS_MEMBER(N'db_owner') = 1 SELECT @pending = COUNT_BIG(*) FROM \
         sys.transmission_queue WHERE conversation_handle IN ({}); ELSE IF \
         HAS_PERMS_BY_NAME(N'ssbroker.count_pending', N'OBJECT', N'EXECUTE') = 1 BEGIN SET @pending = 0;{lent} END; \
         SELECT @pending AS pending;",
        names.join(", ")
    );
    names
        .into_iter()
        .zip(handles)
        .fold(Statement::new(text), |statement, (name, handle)| statement.bind_handle(name, *handle))
}

/// The endpoint of a conversation and the route of its dialog: one row (`state`, `is_initiator`, `from_service`,
/// `to_service`, `broker_instance`, `contract`), or none. The broker instance is the one that was named, or that has
/// acknowledged a message; NULL before.
pub(crate) fn endpoint(handle: ConversationHandle) -> Statement<'static> {
    Statement::new(
        "SELECT e.state, e.is_initiator, s.name AS from_service, e.far_service AS to_service, \
         e.far_broker_instance AS broker_instance, c.name AS contract FROM \
         sys.conversation_endpoints AS e JOIN sys.services AS s ON s.service_id = e.service_id JOIN sys.service_contracts AS \
         c ON c.service_contract_id = e.service_contract_id WHERE e.conversation_handle = @handle;",
    )
    .bind_handle("@handle", handle)
}

/// Notes a message that will not be sent.
pub(crate) fn note_unsent<'a>(
    spec: &'a DialogSpec,
    origin: Option<(ConversationHandle, i64)>,
    message: &'a OutgoingMessage,
    code: Option<i32>,
    reason: &'a str,
) -> Statement<'a> {
    let contract = spec.contract.as_ref().map_or("DEFAULT", |contract| contract.as_str());
    let (handle, sequence) = match origin {
        Some((handle, sequence)) => (SqlValue::Uuid(handle.as_uuid()), SqlValue::I64(sequence)),
        None => (SqlValue::Null, SqlValue::Null),
    };
    let body =
        if message.body.is_empty() { Argument::NoBytes } else { Argument::Bytes(message.body.as_bytes()) };
    Statement::new(
        "INSERT INTO [ssbroker].[unsent] (noted, conversation_handle, message_sequence_number, from_service_name, \
         to_service_name, contract_name, message_type_name, error_code, reason, message_body) VALUES (SYSUTCDATETIME(), \
         @handle, @sequence, @from, @to, @contract, @type, @code, @reason, @body);",
    )
    .bind("@handle", "uniqueidentifier", Argument::Value(handle))
    .bind("@sequence", "bigint", Argument::Value(sequence))
    .bind("@from", "nvarchar(256)", Argument::Text(spec.from.as_str()))
    .bind("@to", "nvarchar(256)", Argument::Text(spec.to.as_str()))
    .bind("@contract", "nvarchar(256)", Argument::Text(contract))
    .bind("@type", "nvarchar(256)", Argument::Text(message.message_type.as_str()))
    .bind("@code", "int", Argument::Value(code.map_or(SqlValue::Null, SqlValue::I32)))
    .bind("@reason", "nvarchar(3000)", Argument::Text(reason))
    .bind("@body", "varbinary(max)", body)
}

/// Savepoint before a look at a dialog that is over. It may be set in the transaction of a batch, so it has a name of its own:
/// the server goes back to the latest of a name, and the batch has to find the one it was received behind.
pub(crate) const BEFORE_CAUSE: &str = "ssb_before_cause";

/// What lies on a dialog that is over: takes it out of the queue, in the open transaction. Without one that can go on nothing
/// is received: the server says why no savepoint can be set.
pub(crate) fn take_cause(queue: &QueueName, handle: ConversationHandle) -> String {
    format!(
        "IF XACT_STATE() <> 1 SAVE TRANSACTION {0} ELSE BEGIN SAVE TRANSACTION {0}; RECEIVE TOP ({CAUSE_MESSAGES}) {1} FROM \
         {2} WHERE conversation_handle = '{handle}'; END;",
        BEFORE_CAUSE,
        super::RECEIVE_COLUMNS,
        queue.quoted()
    )
}
