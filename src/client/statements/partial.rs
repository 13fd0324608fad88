//! The texts for deciding the messages of a batch one by one: some stay received, the rest goes back to the queue.

use super::super::ids::ConversationHandle;
use super::Statement;

/// Gives all messages back within the transaction, which is not counted as a roll back of the queue (U-34, U-35).
pub(crate) const GIVE_BACK_AND_GO_ON: &str =
    "ROLLBACK TRANSACTION ssb_before_receive; SAVE TRANSACTION ssb_before_handling;";

/// How often each message of a conversation failed: one row for each that did (`sql/05-dead-letters.sql`).
pub(crate) fn attempts_on(conversation: ConversationHandle) -> Statement<'static> {
    Statement::new(
        "SELECT message_sequence_number, attempts FROM [ssbroker].[attempts] WHERE conversation_handle = @handle;",
    )
    .bind_handle("@handle", conversation)
}
