//! The texts for deciding the messages of a batch one by one: some stay received, the rest goes back to the queue.

use super::super::ids::{ConversationGroup, ConversationHandle};
use super::{BEFORE_HANDLING, BEFORE_RECEIVE, RECEIVE_COLUMNS, Statement};

/// Gives all messages back and takes the first `count` of the same group again, in the same transaction, which is not
/// counted as a roll back of the queue (U-34, U-35). `queue` is quoted. One result set, the messages; none for a count of 0.
pub(crate) fn keep_first(queue: &str, group: ConversationGroup, count: u32) -> String {
    let receive = match count {
        0 => String::new(),
        _ => format!(
            "RECEIVE TOP ({count}) {RECEIVE_COLUMNS} FROM {queue} WHERE conversation_group_id = '{group}'; "
        ),
    };
    format!("ROLLBACK TRANSACTION {BEFORE_RECEIVE}; {receive}SAVE TRANSACTION {BEFORE_HANDLING};")
}

/// How often each message of a conversation failed: one row for each that did (`sql/05-dead-letters.sql`).
pub(crate) fn attempts_on(conversation: ConversationHandle) -> Statement<'static> {
    Statement::new(
        "SELECT message_sequence_number, attempts FROM [ssbroker].[attempts] WHERE conversation_handle = @handle;",
    )
    .bind_handle("@handle", conversation)
}
