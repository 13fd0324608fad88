//! Every T-SQL text the client sends, each with its parameters.
//!
//! Texts come in a few fixed shapes, so that the server keeps few plans: values and message type names travel as
//! parameters, service and contract names as quoted identifiers (quoted in `names.rs`). Every text passes Microsoft's
//! T-SQL parser (a test runs it). This file holds the statement type and what concerns the connection; `sending` holds
//! BEGIN DIALOG, SEND and END CONVERSATION, `receiving` RECEIVE, `attempts`, `dead_letters`, `handled` and `work_items` the
//! tables of the receiving half, `pending` what is still on its way, `shared_pool`, `ledger` and `unsent` the tables of the sending half,
//! `requests` requests and the table of those who wait for replies, `objects` and `tables` the set-up, `inspection` what
//! looks at a server, `callers` a look at texts of the caller's own. Nothing here sends anything.

mod attempts;
mod callers;
mod dead_letters;
mod handled;
pub(crate) mod inspection;
mod ledger;
pub(crate) mod objects;
mod partial;
mod pending;
mod receiving;
mod requests;
mod runs;
mod sending;
mod shared_pool;
pub(crate) mod tables;
mod unsent;
mod work_items;

use std::borrow::Cow;

pub(crate) use attempts::{
    Failed, LEDGER_SIZES, MESSAGE_TABLES, count_attempt, exhausted_attempts, forget_attempts,
    forget_attempts_between, next_retry, note_reason, open_ledger, park, prune_attempts, put_off_retry,
    read_attempts, schedule_retry, uncount_attempt,
};
pub(crate) use callers::{may_alter_session, may_outlive_statement};
pub(crate) use dead_letters::{
    delete_dead_letter, get_dead_letter, hand_back_dead_letter, list_dead_letters, purge_dead_letters,
};
pub(crate) use handled::{forget_handled, note_handled};
pub(crate) use ledger::{Due, NEXT_DUE, delay, delete_delayed, due_messages, prune_sent, send_once};
pub(crate) use objects::enable_queue;
pub(crate) use partial::attempts_on;
pub(crate) use pending::{
    BEFORE_CAUSE, CAUSE_MESSAGES, PENDING_RIGHTS, count_pending, delivery_status, endpoint, note_unsent,
    pending_messages, pending_messages_lent, take_cause,
};
pub(crate) use receiving::{
    BEFORE_HANDLING, Bodies, COMMIT, GIVE_BACK, GIVE_BACK_AND_GO_ON, ROLL_BACK, ReceiveSpec, Selection,
    TRANSACTION_STATE, UNDO_HANDLING, commit_and_receive, receive, receive_fewer,
};
pub(crate) use requests::{
    Remembered, WAITERS_TABLES, conclude_request, conversation_exists, forget_old_requests, forget_request,
    give_up_waiting, read_request, request, still_queued, store_reply, unfinished_requests,
};
pub(crate) use runs::{forget_runs, keep_run};
pub(crate) use sending::{
    DIALOG_OVER, DialogSpec, Opening, Relation, SEND_SIZES, Scope, begin_dialog, conversation_timer,
    end_conversation, end_with_error, send, send_batch, send_on,
};
pub(crate) use shared_pool::{
    PlaceKey, claim_free_place, claim_place, claim_place_of, fill_place, make_places,
};
pub(crate) use unsent::{delete_unsent, get_unsent, list_unsent, purge_unsent};
pub(crate) use work_items::{
    claim_work_item, extend_lease, next_work_item, park_work_item, release_work_item, return_work_item,
};

use super::ids::ConversationHandle;
use super::names::ServiceName;
use super::values::SqlValue;

/// A text for `sp_executesql` with its typed parameters.
#[derive(Debug)]
pub(crate) struct Statement<'a> {
    text: Cow<'a, str>,
    parameters: Vec<Parameter<'a>>,
}

/// One parameter: its name with the `@`, its declared type, its value.
#[derive(Debug)]
pub(crate) struct Parameter<'a> {
    pub(crate) name: Cow<'static, str>,
    pub(crate) declaration: Cow<'static, str>,
    pub(crate) value: Argument<'a>,
}

/// The value of a parameter; large ones are borrowed.
#[derive(Debug)]
pub(crate) enum Argument<'a> {
    /// Any value.
    Value(SqlValue),
    /// Binary data.
    Bytes(&'a [u8]),
    /// A NULL of a binary type.
    NoBytes,
    /// Character data.
    Text(&'a str),
}

impl<'a> Statement<'a> {
    /// A text without parameters yet.
    pub(crate) fn new(text: impl Into<Cow<'a, str>>) -> Self {
        Self { text: text.into(), parameters: Vec::new() }
    }

    /// A text of the caller's with the values `@P1`, `@P2`, ...
    pub(crate) fn with_values(text: &'a str, values: &[SqlValue]) -> Self {
        let numbered = values.iter().enumerate().map(|(at, value)| Parameter {
            name: Cow::Owned(format!("@P{}", at + 1)),
            declaration: value.declaration(),
            value: Argument::Value(value.clone()),
        });
        Self { text: Cow::Borrowed(text), parameters: numbered.collect() }
    }

    /// Adds a parameter; `name` has the `@`.
    pub(crate) fn bind(
        mut self,
        name: impl Into<Cow<'static, str>>,
        declaration: &'static str,
        value: Argument<'a>,
    ) -> Self {
        self.parameters.push(Parameter { name: name.into(), declaration: Cow::Borrowed(declaration), value });
        self
    }

    /// Adds a conversation handle.
    pub(crate) fn bind_handle(self, name: impl Into<Cow<'static, str>>, handle: ConversationHandle) -> Self {
        self.bind(name, "uniqueidentifier", Argument::Value(SqlValue::Uuid(handle.as_uuid())))
    }

    /// Adds a whole number.
    pub(crate) fn bind_int(self, name: &'static str, value: i32) -> Self {
        self.bind(name, "int", Argument::Value(SqlValue::I32(value)))
    }

    /// The text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The parameters, in the order of their declarations.
    pub(crate) fn parameters(&self) -> &[Parameter<'a>] {
        &self.parameters
    }

    /// The declaration list for `sp_executesql`.
    pub(crate) fn declarations(&self) -> String {
        let each =
            self.parameters.iter().map(|parameter| format!("{} {}", parameter.name, parameter.declaration));
        each.collect::<Vec<_>>().join(", ")
    }
}

/// Sent once on every new connection, whatever the server's defaults: an error of one statement must not end the batch, and
/// the rows a statement has changed must be counted.
pub(crate) const SESSION_SETTINGS: &str = "SET XACT_ABORT, NOCOUNT OFF;";

/// Checks a pooled connection that was idle, and rolls back what a careless user left open.
pub(crate) const SESSION_CHECK: &str = "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;";

/// Which broker answers: database name, broker instance id, whether the broker is enabled.
pub(crate) const BROKER_INSTANCE: &str = "SELECT name AS database_name, service_broker_guid AS broker_instance, \
     is_broker_enabled AS is_enabled FROM sys.databases WHERE database_id = DB_ID();";

/// The queue of a service. `@service`: its name, which compares byte by byte. One row, or none.
pub(crate) fn queue_of(service: &ServiceName) -> Statement<'_> {
    Statement::new(
        "SELECT s.name AS schema_name, q.name AS queue_name FROM sys.services AS v JOIN sys.service_queues AS q ON \
         q.object_id = v.service_queue_id JOIN sys.schemas AS s ON s.schema_id = q.schema_id WHERE v.name = @service;",
    )
    .bind("@service", "nvarchar(256)", Argument::Text(service.as_str()))
}

/// A queue as the catalog spells it; `queue` is quoted. One row, or none.
pub(crate) fn queue_in_catalog(queue: &str) -> Statement<'_> {
    Statement::new(
        "SELECT s.name AS schema_name, q.name AS queue_name FROM sys.service_queues AS q JOIN sys.schemas AS s ON \
         s.schema_id = q.schema_id WHERE q.object_id = OBJECT_ID(@queue);",
    )
    .bind("@queue", "nvarchar(300)", Argument::Text(queue))
}

/// The columns of RECEIVE that [`Message`](super::Message) is made from (specification section 2.3.1).
pub(crate) const RECEIVE_COLUMNS: &str = "conversation_group_id, conversation_handle, message_sequence_number, \
     service_name, service_contract_name, message_type_name, validation, message_enqueue_time, priority, message_body";

/// Sets a savepoint; `name` is one of the library's own identifiers.
pub(crate) fn save_transaction(name: &str) -> String {
    format!("SAVE TRANSACTION {name};")
}

/// A text literal; doubled quotes keep it one.
fn quoted_text(text: &str) -> String {
    format!("N'{}'", text.replace('\'', "''"))
}

/// Rolls back to a savepoint; `name` is one of the library's own identifiers.
pub(crate) fn rollback_to(name: &str) -> String {
    format!("ROLLBACK TRANSACTION {name};")
}

#[cfg(test)]
mod tests;
