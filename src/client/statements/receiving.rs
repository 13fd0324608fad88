//! The texts of the receiving half: RECEIVE with and without waiting, what takes its place for messages that lie in one of
//! the library's tables, and the end of a receiving transaction.
//!
//! They go as plain batches, since their transaction outlives the request (inside `sp_executesql` error 266 would be
//! raised). Hence numbers and identifiers stand in the text; all are made here, and there are few shapes.

use std::time::Duration;

use uuid::Uuid;

use super::super::ids::{ConversationGroup, ConversationHandle};
use super::super::names::QueueName;
use super::{RECEIVE_COLUMNS, quoted_text};

/// Savepoint before RECEIVE: rolling back to it gives the messages back without counting as a roll back (U-34, U-35).
pub(crate) const BEFORE_RECEIVE: &str = "ssb_before_receive";

/// Savepoint after RECEIVE: rolling back to it undoes a handler's work and keeps the messages received. It is set anew
/// when something done since must stay; the server goes back to the latest of that name.
pub(crate) const BEFORE_HANDLING: &str = "ssb_before_handling";

/// Which messages are taken (specification section 2.3.2), or which rows of the library's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Selection {
    /// Those of the next unlocked conversation group.
    NextGroup,
    /// Those of one conversation.
    Conversation(ConversationHandle),
    /// Those of one group.
    Group(ConversationGroup),
    /// Those in `ssbroker.retries` that are due.
    DueRetries,
    /// One of `ssbroker.work_items`, as long as this lease on it holds.
    WorkItem { id: i64, lease: Uuid },
}

/// What one RECEIVE asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReceiveSpec {
    pub(crate) queue: QueueName,
    pub(crate) max_messages: u32,
    pub(crate) selection: Selection,
    pub(crate) bodies: Bodies,
}

/// What becomes of the bodies of messages taken from a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bodies {
    All,
    /// Those of at most so many bytes; in the place of a longer one comes its length.
    UpTo(u32),
    /// The messages move into `ssbroker.work_items`, and arrive here without their bodies.
    Stored,
}

/// The columns of RECEIVE but for the body.
const HEADER_COLUMNS: &str = "conversation_group_id, conversation_handle, message_sequence_number, service_name, \
     service_contract_name, message_type_name, validation, message_enqueue_time, priority";

impl ReceiveSpec {
    /// Up to 100 messages of the next group.
    pub(crate) fn new(queue: QueueName) -> Self {
        Self { queue, max_messages: 100, selection: Selection::NextGroup, bodies: Bodies::All }
    }

    /// The statement that takes messages, and what else has to follow it to make them the last result set.
    fn take(&self, wait: Option<Duration>) -> String {
        match self.selection {
            Selection::DueRetries => self.take_retries(),
            Selection::WorkItem { id, lease } => take_work_item(id, lease),
            _ => match self.bodies {
                Bodies::All => waiting(&self.receive(RECEIVE_COLUMNS, ""), wait),
                Bodies::UpTo(most) => self.receive_bodies_up_to(most, wait),
                Bodies::Stored => self.receive_into_work_items(wait),
            },
        }
    }

    fn receive(&self, columns: &str, destination: &str) -> String {
        let filter = match self.selection {
            Selection::Conversation(handle) => format!(" WHERE conversation_handle = '{handle}'"),
            Selection::Group(group) => format!(" WHERE conversation_group_id = '{group}'"),
            _ => String::new(),
        };
        let queue = self.queue.quoted();
        format!("RECEIVE TOP ({}) {columns} FROM {queue}{destination}{filter}", self.max_messages)
    }

    /// Deletes rows as RECEIVE does with messages: they are gone at the commit, and back after a roll back.
    fn take_retries(&self) -> String {
        format!(
            "WITH due AS (SELECT TOP ({}) * FROM [ssbroker].[retries] WITH (UPDLOCK, READPAST, ROWLOCK) WHERE queue_name = \
             {} AND due <= SYSUTCDATETIME() ORDER BY due, id) DELETE FROM due OUTPUT {}, deleted.attempts, \
             deleted.retries",
            self.max_messages,
            quoted_text(&self.queue.quoted()),
            deleted_columns()
        )
    }

    /// The bodies do not leave the server. The order of the queue becomes the order of the identity column.
    fn receive_into_work_items(&self, wait: Option<Duration>) -> String {
        format!(
            "{}; INSERT INTO [ssbroker].[work_items] (queue_name, stored, due, attempts, {HEADER_COLUMNS}, message_body) \
             SELECT {}, SYSUTCDATETIME(), SYSUTCDATETIME(), 0, {HEADER_COLUMNS}, message_body FROM @received ORDER BY \
             queuing_order; SELECT {HEADER_COLUMNS}, CAST(NULL AS varbinary(max)) AS message_body FROM @received ORDER BY \
             queuing_order",
            self.receive_into_variable(wait),
            quoted_text(&self.queue.quoted())
        )
    }

    fn receive_bodies_up_to(&self, most: u32, wait: Option<Duration>) -> String {
        format!(
            "{}; SELECT {HEADER_COLUMNS}, CASE WHEN DATALENGTH(message_body) <= {most} THEN message_body END AS \
             message_body, CASE WHEN DATALENGTH(message_body) > {most} THEN CAST(DATALENGTH(message_body) AS bigint) END \
             AS withheld_bytes FROM @received ORDER BY queuing_order",
            self.receive_into_variable(wait)
        )
    }

    fn receive_into_variable(&self, wait: Option<Duration>) -> String {
        let columns = format!("{HEADER_COLUMNS}, message_body, queuing_order");
        waiting(&self.receive(&columns, " INTO @received"), wait)
    }

    /// Declarations come first, since they hold for the whole batch.
    fn declarations(&self) -> &'static str {
        if self.bodies == Bodies::All {
            return "";
        }
        "DECLARE @received TABLE (conversation_group_id uniqueidentifier, conversation_handle uniqueidentifier, \
         message_sequence_number bigint, service_name nvarchar(512), service_contract_name nvarchar(256), \
         message_type_name nvarchar(256), validation nchar(2), message_enqueue_time datetime, priority int, \
         message_body varbinary(max), queuing_order bigint); "
    }
}

fn waiting(receive: &str, wait: Option<Duration>) -> String {
    match wait {
        Some(wait) => format!("WAITFOR ({receive}), TIMEOUT {}", wait.as_millis().min(i32::MAX as u128)),
        None => receive.to_owned(),
    }
}

fn take_work_item(id: i64, lease: Uuid) -> String {
    format!(
        "DELETE FROM [ssbroker].[work_items] OUTPUT {}, deleted.attempts WHERE id = {id} AND lease = '{lease}'",
        deleted_columns()
    )
}

fn deleted_columns() -> String {
    RECEIVE_COLUMNS.split(", ").map(|column| format!("deleted.{column}")).collect::<Vec<_>>().join(", ")
}

/// Opens a transaction unless one is open, then takes messages, or waits for some. One result set: the messages. When there
/// are none the transaction ends at once, so that a receiver with nothing to do holds none open.
pub(crate) fn receive(spec: &ReceiveSpec, wait: Option<Duration>) -> String {
    format!(
        "{}IF @@TRANCOUNT = 0 BEGIN TRANSACTION; SAVE TRANSACTION {BEFORE_RECEIVE}; {}; IF @@ROWCOUNT = 0 COMMIT \
         TRANSACTION ELSE SAVE TRANSACTION {BEFORE_HANDLING};",
        spec.declarations(),
        spec.take(wait)
    )
}

/// Commits, then takes what is ready in a new transaction, without waiting. The first result set is that of
/// [`COMMIT`], so it arrives whatever becomes of the second, the messages. Nothing is received while a transaction is still
/// open: its savepoints would not be found behind those of the new one.
pub(crate) fn commit_and_receive(spec: &ReceiveSpec) -> String {
    format!(
        "{}IF XACT_STATE() = 1 BEGIN COMMIT TRANSACTION; SELECT @@TRANCOUNT AS open_transactions; IF @@TRANCOUNT = 0 BEGIN \
         BEGIN TRANSACTION; SAVE TRANSACTION {BEFORE_RECEIVE}; {}; SAVE TRANSACTION {BEFORE_HANDLING}; END; END \
         ELSE SELECT -1 AS open_transactions;",
        spec.declarations(),
        spec.take(None)
    )
}

/// Gives the messages of a group back and takes the first `count` of them again, in the same transaction. Without one that
/// can go on nothing is received: the server says why the roll back to the savepoint is not possible.
pub(crate) fn receive_fewer(spec: &ReceiveSpec, group: ConversationGroup, count: u32) -> String {
    let selection = match spec.selection {
        Selection::NextGroup => Selection::Group(group),
        other => other,
    };
    let fewer = ReceiveSpec { selection, max_messages: count, ..spec.clone() };
    format!(
        "{}{CLOSE_NESTED} IF XACT_STATE() <> 1 ROLLBACK TRANSACTION {BEFORE_RECEIVE} ELSE BEGIN ROLLBACK TRANSACTION \
         {BEFORE_RECEIVE}; SAVE TRANSACTION {BEFORE_RECEIVE}; {}; SAVE TRANSACTION {BEFORE_HANDLING}; END;",
        fewer.declarations(),
        fewer.take(None)
    )
}

/// Commits. One row: how many transactions are still open, 0 if the commit was the outermost, -1 if there was nothing
/// that could be committed.
pub(crate) const COMMIT: &str = "IF XACT_STATE() = 1 BEGIN COMMIT TRANSACTION; SELECT @@TRANCOUNT AS \
     open_transactions; END ELSE SELECT -1 AS open_transactions;";

/// Closes the transactions that a handler has begun inside ours and left open, so that ours is the one that ends.
const CLOSE_NESTED: &str = "WHILE XACT_STATE() = 1 AND @@TRANCOUNT > 1 COMMIT TRANSACTION;";

/// Gives all messages back and ends the transaction.
pub(crate) const GIVE_BACK: &str = "WHILE XACT_STATE() = 1 AND @@TRANCOUNT > 1 COMMIT TRANSACTION; ROLLBACK TRANSACTION \
     ssb_before_receive; COMMIT TRANSACTION;";

/// Gives all messages back within the transaction, which is not counted as a roll back of the queue (U-34, U-35).
pub(crate) const GIVE_BACK_AND_GO_ON: &str = "WHILE XACT_STATE() = 1 AND @@TRANCOUNT > 1 COMMIT TRANSACTION; ROLLBACK \
     TRANSACTION ssb_before_receive; SAVE TRANSACTION ssb_before_handling;";

/// Undoes what a handler did; the messages stay received. The savepoint is set again, so that nothing hangs on whether it
/// outlives the roll back.
pub(crate) const UNDO_HANDLING: &str = "WHILE XACT_STATE() = 1 AND @@TRANCOUNT > 1 COMMIT TRANSACTION; ROLLBACK \
     TRANSACTION ssb_before_handling; SAVE TRANSACTION ssb_before_handling;";

/// Whether a transaction is open that can go on. One row: `state`, 1 if so, 0 without one, -1 if it can only be rolled back.
pub(crate) const TRANSACTION_STATE: &str = "SELECT CAST(XACT_STATE() AS int) AS state;";

/// Rolls everything back, whatever is open.
pub(crate) const ROLL_BACK: &str = "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;";
