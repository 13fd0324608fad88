//! Messages sent under an identifier (`sql/07-sending.sql`), and messages to be sent later
//! (`sql/08-delayed-messages.sql`).

use std::fmt::Write;

use uuid::Uuid;

use super::super::ids::ConversationHandle;
use super::super::message::OutgoingMessage;
use super::super::values::{SqlDateTime, SqlValue};
use super::sending::push_guard;
use super::{Argument, DialogSpec, Opening, SEND_SIZES, Scope, Statement};

/// How many delayed messages one transaction of the pump takes.
const DUE_PAGE: usize = 100;

/// Sends up to 100 messages inside the open transaction, each unless its identifier was sent before. On a connection that is
/// not ours ([`Scope::Guest`]) it looks first whether anything may be sent, and an error dooms nothing, whatever the
/// connection's settings: an identifier that was sent before must not.
///
/// Parameters: `@handle`; `@count`; `@i0`, `@t0`, `@b0`, ...: identifier, type and body of each. Answers one row for each
/// message that was not sent now (`position`, `error_number`, `error_message`), number 0 when it was sent before, and one
/// row (`rolled_back`, `conversation_handle`) in the end.
pub(crate) fn send_once<'a>(
    scope: Scope,
    handle: ConversationHandle,
    messages: &[&'a (Uuid, OutgoingMessage)],
) -> Statement<'a> {
    let slots = SEND_SIZES.iter().copied().find(|size| *size >= messages.len()).unwrap_or(messages.len());
    let mut text = String::from(
        "SET NOCOUNT ON; DECLARE @position int, @noted bit, @number int, @words nvarchar(4000);",
    );
    if scope == Scope::Guest {
        text.push_str(" SET XACT_ABORT OFF;");
        push_guard(&mut text, Opening::Existing(handle));
    }
    (0..slots).for_each(|slot| push_identified(&mut text, slot));
    text.push_str("\nSELECT CASE WHEN XACT_STATE() = 1 THEN 0 ELSE 1 END AS rolled_back, @handle AS conversation_handle;");
    let statement = Statement::new(text)
        .bind_handle("@handle", handle)
        .bind_int("@count", i32::try_from(messages.len()).unwrap_or(i32::MAX));
    (0..slots)
        .fold(statement, |statement, slot| bind_identified(statement, slot, messages.get(slot).copied()))
}

/// The identifier is noted first: of two who send it at once, the second waits and then finds it. What a failed SEND noted
/// is taken back.
fn push_identified(text: &mut String, slot: usize) {
    let pushed = write!(
        text,
        "\nSET @position = {slot}; SET @noted = 0; IF @position < @count BEGIN TRY \
         INSERT INTO [ssbroker].[sent_messages] (message_id, conversation_handle, sent) VALUES (@i{slot}, @handle, \
         SYSUTCDATETIME()); SET @noted = 1; \
         IF @b{slot} IS NULL BEGIN SET @position = {slot}; SEND ON CONVERSATION @handle MESSAGE TYPE @t{slot}; END \
         ELSE BEGIN SET @position = {slot}; SEND ON CONVERSATION @handle MESSAGE TYPE @t{slot} (@b{slot}); END; \
         END TRY BEGIN CATCH SELECT @number = ERROR_NUMBER(), @words = ERROR_MESSAGE(); \
         IF @noted = 0 AND @number IN (2601, 2627) SELECT @position AS position, 0 AS error_number, NULL AS error_message; \
         ELSE SELECT @position AS position, @number AS error_number, @words AS error_message; \
         IF @noted = 1 AND XACT_STATE() = 1 DELETE FROM [ssbroker].[sent_messages] WHERE message_id = @i{slot}; END CATCH;"
    );
    debug_assert!(pushed.is_ok(), "writing to a string cannot fail");
}

fn bind_identified<'a>(
    statement: Statement<'a>,
    slot: usize,
    message: Option<&'a (Uuid, OutgoingMessage)>,
) -> Statement<'a> {
    let (id, name, body) = match message {
        Some((id, message)) if message.body.is_empty() => {
            (SqlValue::Uuid(*id), message.message_type.as_str(), Argument::NoBytes)
        }
        Some((id, message)) => {
            (SqlValue::Uuid(*id), message.message_type.as_str(), Argument::Bytes(message.body.as_bytes()))
        }
        None => (SqlValue::Null, "", Argument::NoBytes),
    };
    statement
        .bind(format!("@i{slot}"), "uniqueidentifier", Argument::Value(id))
        .bind(format!("@t{slot}"), "nvarchar(128)", Argument::Text(name))
        .bind(format!("@b{slot}"), "varbinary(max)", body)
}

/// Forgets identifiers of messages sent longer ago, a bounded number at once. One row: `pruned`.
pub(crate) fn prune_sent(older_than_seconds: i32, most: i32) -> Statement<'static> {
    Statement::new(
        "SET NOCOUNT ON; DELETE TOP (@most) FROM [ssbroker].[sent_messages] WHERE sent < DATEADD(second, -@seconds, \
         SYSUTCDATETIME()); SELECT @@ROWCOUNT AS pruned;",
    )
    .bind_int("@most", most)
    .bind_int("@seconds", older_than_seconds)
}

/// When a message is to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Due {
    /// This long after the server's now.
    After { seconds: i32, milliseconds: i32 },
    /// At this moment, in UTC.
    At(SqlDateTime),
}

/// Keeps a message until its time.
pub(crate) fn delay<'a>(
    due: Due,
    spec: &'a DialogSpec,
    key: Option<&'a str>,
    message: &'a OutgoingMessage,
) -> Statement<'a> {
    let moment = match due {
        Due::After { .. } => {
            "DATEADD(second, @seconds, DATEADD(millisecond, @milliseconds, SYSUTCDATETIME()))"
        }
        Due::At(_) => "@due",
    };
    let text = format!(
        "INSERT INTO [ssbroker].[delayed_messages] (due, from_service_name, to_service_name, contract_name, \
         broker_instance, order_key, message_type_name, message_body) VALUES ({moment}, @from, @to, @contract, @instance, \
         @key, @type, @body);"
    );
    let statement = match due {
        Due::After { seconds, milliseconds } => {
            Statement::new(text).bind_int("@seconds", seconds).bind_int("@milliseconds", milliseconds)
        }
        Due::At(moment) => {
            Statement::new(text).bind("@due", "datetime2(3)", Argument::Value(SqlValue::DateTime(moment)))
        }
    };
    bind_delayed(statement, spec, key, message)
}

fn bind_delayed<'a>(
    statement: Statement<'a>,
    spec: &'a DialogSpec,
    key: Option<&'a str>,
    message: &'a OutgoingMessage,
) -> Statement<'a> {
    let text_or_null = |text: Option<&'a str>| text.map_or(Argument::Value(SqlValue::Null), Argument::Text);
    let body =
        if message.body.is_empty() { Argument::NoBytes } else { Argument::Bytes(message.body.as_bytes()) };
    statement
        .bind("@from", "nvarchar(256)", Argument::Text(spec.from.as_str()))
        .bind("@to", "nvarchar(256)", Argument::Text(spec.to.as_str()))
        .bind(
            "@contract",
            "nvarchar(256)",
            text_or_null(spec.contract.as_ref().map(|contract| contract.as_str())),
        )
        .bind("@instance", "nvarchar(128)", text_or_null(spec.broker_instance.as_deref()))
        .bind("@key", "nvarchar(400)", text_or_null(key))
        .bind("@type", "nvarchar(256)", Argument::Text(message.message_type.as_str()))
        .bind("@body", "varbinary(max)", body)
}

/// Takes the messages that are due, oldest first, in the open transaction. A second pump waits here for the first, so that
/// messages of one key stay in order.
pub(crate) fn due_messages() -> Statement<'static> {
    Statement::new(format!(
        "SELECT TOP ({DUE_PAGE}) id, from_service_name, to_service_name, contract_name, broker_instance, order_key, \
         message_type_name, message_body FROM [ssbroker].[delayed_messages] WITH (UPDLOCK, ROWLOCK) WHERE due <= \
         SYSUTCDATETIME() ORDER BY due, id;"
    ))
}

/// Deletes delayed messages that were sent. `@i0`, `@i1`, ...: their identifiers.
pub(crate) fn delete_delayed(ids: &[i64]) -> Statement<'static> {
    let names: Vec<String> = (0..ids.len()).map(|at| format!("@i{at}")).collect();
    let text = format!("DELETE FROM [ssbroker].[delayed_messages] WHERE id IN ({});", names.join(", "));
    names.into_iter().zip(ids).fold(Statement::new(text), |statement, (name, id)| {
        statement.bind(name, "bigint", Argument::Value(SqlValue::I64(*id)))
    })
}

/// One row: `wait`, the milliseconds until the next message is due, NULL when there is none.
pub(crate) const NEXT_DUE: &str = "SELECT DATEDIFF_BIG(millisecond, SYSUTCDATETIME(), MIN(due)) AS wait FROM \
     [ssbroker].[delayed_messages] WITH (READPAST);";
