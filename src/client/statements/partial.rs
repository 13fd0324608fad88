//! What is asked about the attempts of a conversation by those who decide the messages of a batch one by one.

use super::super::ids::ConversationHandle;
use super::Statement;

/// How often each message of a conversation failed: one row for each that did (`sql/05-dead-letters.sql`).
pub(crate) fn attempts_on(conversation: ConversationHandle) -> Statement<'static> {
    Statement::new(
        "SELECT message_sequence_number, attempts FROM [ssbroker].[attempts] WHERE conversation_handle = @handle;",
    )
    .bind_handle("@handle", conversation)
}
