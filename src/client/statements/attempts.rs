//! The texts of the poison handling: counting attempts, moving messages to the dead letters or to the retries
//! (`sql/05-dead-letters.sql`, `sql/10-retries.sql`).

use std::fmt::Write;
use std::time::Duration;

use super::super::message::Message;
use super::super::values::SqlValue;
use super::{Argument, Statement};

/// The object ids of the library's tables of messages, NULL for a missing one.
pub(crate) const MESSAGE_TABLES: &str = "SELECT OBJECT_ID(N'ssbroker.attempts', N'U') AS attempts, \
     OBJECT_ID(N'ssbroker.dead_letters', N'U') AS dead_letters, OBJECT_ID(N'ssbroker.retries', N'U') AS retries, \
     OBJECT_ID(N'ssbroker.work_items', N'U') AS work_items, OBJECT_ID(N'ssbroker.handled_messages', N'U') AS \
     handled_messages;";

/// How many messages one text of [`open_ledger`] takes: the smallest that holds them is used.
pub(crate) const LEDGER_SIZES: [usize; 4] = [1, 8, 40, 200];

/// A message that goes to a table of the library, with what is to be kept about its failures.
#[derive(Clone, Debug)]
pub(crate) struct Failed {
    pub(crate) message: Message,
    /// The queue, quoted.
    pub(crate) queue: String,
    pub(crate) attempts: u32,
    pub(crate) retries: u32,
    pub(crate) reason: String,
}

impl<'a> Statement<'a> {
    /// The parameters `@handle` and `@sequence`, which name a message.
    fn bind_message(self, message: &Message) -> Self {
        self.bind_handle("@handle", message.conversation).bind(
            "@sequence",
            "bigint",
            Argument::Value(SqlValue::I64(message.sequence_number)),
        )
    }

    fn bind_count(self, name: &'static str, count: u32) -> Self {
        self.bind_int(name, i32::try_from(count).unwrap_or(i32::MAX))
    }

    /// The parameters of a row that holds a whole message.
    fn bind_failed(self, failed: &'a Failed) -> Self {
        let message = &failed.message;
        let body = if message.body.is_empty() {
            Argument::NoBytes
        } else {
            Argument::Bytes(message.body.as_bytes())
        };
        self.bind_message(message)
            .bind("@queue", "nvarchar(300)", Argument::Text(&failed.queue))
            .bind("@service", "nvarchar(512)", Argument::Text(&message.service))
            .bind("@contract", "nvarchar(256)", Argument::Text(&message.contract))
            .bind("@type", "nvarchar(256)", Argument::Text(&message.message_type))
            .bind("@group", "uniqueidentifier", Argument::Value(SqlValue::Uuid(message.group.as_uuid())))
            .bind_count("@attempts", failed.attempts)
            .bind("@reason", "nvarchar(2000)", Argument::Text(&failed.reason))
            .bind("@body", "varbinary(max)", body)
    }
}

/// How often a message failed before: one row, or none.
pub(crate) fn read_attempts(message: &Message) -> Statement<'static> {
    Statement::new(
        "SELECT attempts FROM [ssbroker].[attempts] WHERE conversation_handle = @handle AND \
         message_sequence_number = @sequence;",
    )
    .bind_message(message)
}

/// The messages that had at least so many attempts and were not put aside, the last ones first.
pub(crate) fn exhausted_attempts(most: u32) -> Statement<'static> {
    Statement::new(
        "SELECT TOP (10000) conversation_handle, message_sequence_number, attempts FROM [ssbroker].[attempts] \
         WHERE attempts >= @most ORDER BY last_attempt DESC;",
    )
    .bind_int("@most", i32::try_from(most).unwrap_or(i32::MAX))
}

/// Counts one more attempt. One row: how many there are now.
pub(crate) fn count_attempt(message: &Message, reason: &str) -> Statement<'static> {
    Statement::new(
        "UPDATE [ssbroker].[attempts] SET attempts = attempts + 1, last_reason = @reason, last_attempt = \
         SYSUTCDATETIME() WHERE conversation_handle = @handle AND message_sequence_number = @sequence; \
         IF @@ROWCOUNT = 0 INSERT INTO [ssbroker].[attempts] (conversation_handle, message_sequence_number, attempts, \
         last_reason, last_attempt) VALUES (@handle, @sequence, 1, @reason, SYSUTCDATETIME()); \
         SELECT attempts FROM [ssbroker].[attempts] WHERE conversation_handle = @handle AND \
         message_sequence_number = @sequence;",
    )
    .bind_message(message)
    .bind("@reason", "nvarchar(2000)", Argument::Value(reason.into()))
}

/// Notes why the attempt that was counted before has failed.
pub(crate) fn note_reason(message: &Message, reason: &str) -> Statement<'static> {
    Statement::new(
        "UPDATE [ssbroker].[attempts] SET last_reason = @reason WHERE conversation_handle = @handle AND \
         message_sequence_number = @sequence;",
    )
    .bind_message(message)
    .bind("@reason", "nvarchar(2000)", Argument::Value(reason.into()))
}

/// Counts the first attempt of each message before it is made, unless one of them was tried before: then the rows of those
/// are answered (handle, sequence, attempts, last_reason) and nothing is counted. At most the last of [`LEDGER_SIZES`]
/// messages.
pub(crate) fn open_ledger(messages: &[Message]) -> Statement<'static> {
    let size = LEDGER_SIZES.into_iter().find(|size| *size >= messages.len()).unwrap_or(LEDGER_SIZES[3]);
    let mut text = String::from(
        "DECLARE @taken TABLE (handle uniqueidentifier, sequence bigint); \
         INSERT INTO @taken (handle, sequence) SELECT DISTINCT v.handle, v.sequence FROM (VALUES ",
    );
    for at in 0..size {
        let separator = if at == 0 { "" } else { ", " };
        let _ = write!(text, "{separator}(@h{at}, @s{at})");
    }
    text.push_str(
        ") AS v (handle, sequence); \
         IF EXISTS (SELECT 1 FROM [ssbroker].[attempts] AS a JOIN @taken AS t ON a.conversation_handle = t.handle AND \
         a.message_sequence_number = t.sequence) \
         SELECT a.conversation_handle, a.message_sequence_number, a.attempts, a.last_reason FROM [ssbroker].[attempts] AS a \
         JOIN @taken AS t ON a.conversation_handle = t.handle AND a.message_sequence_number = t.sequence \
         ELSE INSERT INTO [ssbroker].[attempts] (conversation_handle, message_sequence_number, attempts, last_attempt) \
         SELECT handle, sequence, 1, SYSUTCDATETIME() FROM @taken;",
    );
    let last = messages.len() - 1;
    (0..size).fold(Statement::new(text), |statement, at| {
        let message = &messages[at.min(last)];
        statement.bind_handle(format!("@h{at}"), message.conversation).bind(
            format!("@s{at}"),
            "bigint",
            Argument::Value(SqlValue::I64(message.sequence_number)),
        )
    })
}

/// Takes back one attempt that was counted before it was made.
pub(crate) fn uncount_attempt(message: &Message) -> Statement<'static> {
    Statement::new(
        "UPDATE [ssbroker].[attempts] SET attempts = attempts - 1 WHERE conversation_handle = @handle AND \
         message_sequence_number = @sequence; \
         DELETE FROM [ssbroker].[attempts] WHERE conversation_handle = @handle AND message_sequence_number = @sequence AND \
         attempts <= 0;",
    )
    .bind_message(message)
}

/// Forgets the attempts of a message that is done with.
pub(crate) fn forget_attempts(message: &Message) -> Statement<'static> {
    Statement::new(
        "DELETE FROM [ssbroker].[attempts] WHERE conversation_handle = @handle AND message_sequence_number = @sequence;",
    )
    .bind_message(message)
}

/// Forgets the attempts of all messages of a conversation between two sequence numbers, both included.
pub(crate) fn forget_attempts_between(first: &Message, last: &Message) -> Statement<'static> {
    Statement::new(
        "DELETE FROM [ssbroker].[attempts] WHERE conversation_handle = @handle AND message_sequence_number BETWEEN \
         @sequence AND @last;",
    )
    .bind_message(first)
    .bind("@last", "bigint", Argument::Value(SqlValue::I64(last.sequence_number)))
}

/// Removes a bounded number of old rows: their messages were handled where nobody knew of earlier attempts.
pub(crate) fn prune_attempts(limit: u32, older_than: Duration) -> Statement<'static> {
    Statement::new(
        "DELETE TOP (@limit) FROM [ssbroker].[attempts] WHERE last_attempt < DATEADD(second, -@age, SYSUTCDATETIME());",
    )
    .bind_count("@limit", limit)
    .bind_count("@age", u32::try_from(older_than.as_secs()).unwrap_or(u32::MAX))
}

/// Moves a received message to the dead letters and forgets its attempts.
pub(crate) fn park<'a>(failed: &'a Failed, cause: &'static str) -> Statement<'a> {
    Statement::new(
        "INSERT INTO [ssbroker].[dead_letters] (parked, queue_name, service_name, service_contract_name, message_type_name, \
         conversation_handle, conversation_group_id, message_sequence_number, attempts, cause, reason, message_body) VALUES \
         (SYSUTCDATETIME(), @queue, @service, @contract, @type, @handle, @group, @sequence, @attempts, @cause, @reason, \
         @body); \
         DELETE FROM [ssbroker].[attempts] WHERE conversation_handle = @handle AND message_sequence_number = @sequence;",
    )
    .bind_failed(failed)
    .bind("@cause", "nvarchar(32)", Argument::Text(cause))
}

/// Moves a received message to the retries, to come back after `delay`, and forgets its attempts: they go with it.
pub(crate) fn schedule_retry(failed: &Failed, delay: Duration) -> Statement<'_> {
    Statement::new(
        "INSERT INTO [ssbroker].[retries] (queue_name, due, attempts, retries, last_reason, conversation_group_id, \
         conversation_handle, message_sequence_number, service_name, service_contract_name, message_type_name, \
         validation, message_enqueue_time, priority, message_body) VALUES (@queue, DATEADD(millisecond, @delay, \
         SYSUTCDATETIME()), @attempts, @retries, @reason, @group, @handle, @sequence, @service, @contract, @type, N'N', \
         @enqueued, @priority, @body); \
         DELETE FROM [ssbroker].[attempts] WHERE conversation_handle = @handle AND message_sequence_number = @sequence;",
    )
    .bind_failed(failed)
    .bind_count("@retries", failed.retries)
    .bind_millis("@delay", delay)
    .bind("@enqueued", "datetime2(3)", Argument::Value(failed.message.enqueued_at.into()))
    .bind_int("@priority", failed.message.priority)
}

/// Puts off a retry whose transaction had to be rolled back.
pub(crate) fn put_off_retry(failed: &Failed, delay: Duration) -> Statement<'_> {
    Statement::new(
        "UPDATE [ssbroker].[retries] SET due = DATEADD(millisecond, @delay, SYSUTCDATETIME()), attempts = @attempts, \
         retries = @retries, last_reason = @reason WHERE conversation_handle = @handle AND message_sequence_number = \
         @sequence;",
    )
    .bind_message(&failed.message)
    .bind_count("@attempts", failed.attempts)
    .bind_count("@retries", failed.retries)
    .bind("@reason", "nvarchar(2000)", Argument::Text(&failed.reason))
    .bind_millis("@delay", delay)
}

/// In how many milliseconds the next retry of a queue is due; NULL when there is none. One that is in somebody's hands is not
/// waited for.
pub(crate) fn next_retry(queue: &str) -> Statement<'_> {
    Statement::new(
        "SELECT DATEDIFF_BIG(millisecond, SYSUTCDATETIME(), MIN(due)) AS wait FROM [ssbroker].[retries] WITH (READPAST) \
         WHERE queue_name = @queue;",
    )
    .bind("@queue", "nvarchar(300)", Argument::Text(queue))
}
