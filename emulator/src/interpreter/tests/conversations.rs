//! Broker statements, run in a session.

use super::support::{Server, run};

/// Objects for a dialog from `initiator` to `target` in the current database.
pub(super) const OBJECTS: &str = "ALTER DATABASE msdb SET ENABLE_BROKER; USE msdb;
    CREATE MESSAGE TYPE m VALIDATION = NONE;
    CREATE CONTRACT c (m SENT BY ANY);
    CREATE QUEUE initiator_queue; CREATE QUEUE target_queue;
    CREATE SERVICE initiator ON QUEUE initiator_queue (c);
    CREATE SERVICE target ON QUEUE target_queue (c)";

/// Begins a dialog in `@h`.
pub(super) const BEGIN: &str = "DECLARE @h uniqueidentifier;
    BEGIN DIALOG @h FROM SERVICE initiator TO SERVICE 'target' ON CONTRACT c WITH ENCRYPTION = OFF";

async fn after_objects(batch: &str) -> Vec<String> {
    let mut client = Server::start().client();
    let answers = client.run(OBJECTS).await;
    assert!(answers.iter().all(|line| !line.starts_with("ERR")), "{answers:?}");
    client.run(batch).await
}

#[tokio::test]
async fn a_message_sent_is_received_with_its_type_and_body() {
    let text = format!(
        "{BEGIN}; SEND ON CONVERSATION @h MESSAGE TYPE m (N'hi');
        RECEIVE message_type_name, CAST(message_body AS nvarchar(max)) AS body, message_sequence_number FROM target_queue"
    );
    assert_eq!(after_objects(&text).await, ["m|hi|0"]);
}

#[tokio::test]
async fn assignments_take_the_last_row_and_stay_without_one() {
    let text = format!(
        "{BEGIN}; SEND ON CONVERSATION @h MESSAGE TYPE m (0x01); SEND ON CONVERSATION @h MESSAGE TYPE m (0x02);
        DECLARE @b varbinary(max), @n int; RECEIVE @b = message_body, @n = message_sequence_number FROM target_queue;
        SELECT @@ROWCOUNT, @b, @n; RECEIVE @b = message_body FROM target_queue; SELECT @@ROWCOUNT, @b"
    );
    assert_eq!(after_objects(&text).await, ["2|0x02|1", "0|0x02"]);
}

#[tokio::test]
async fn into_keeps_rows_in_a_table_variable() {
    let text = format!(
        "{BEGIN}; SEND ON CONVERSATION @h MESSAGE TYPE m (N'a'); DECLARE @t TABLE (name sysname, body nvarchar(10));
        RECEIVE message_type_name, message_body FROM target_queue INTO @t; SELECT @@ROWCOUNT; SELECT * FROM @t"
    );
    assert_eq!(after_objects(&text).await, ["1", "m|a"]);
}

#[tokio::test]
async fn mixed_receives_are_refused_and_take_nothing() {
    let text = format!(
        "{BEGIN}; SEND ON CONVERSATION @h MESSAGE TYPE m (0x01); DECLARE @b varbinary(max); DECLARE @t TABLE (b varbinary(max));
        RECEIVE @b = message_body, message_type_name FROM target_queue;
        RECEIVE @b = message_body FROM target_queue INTO @t;
        SELECT COUNT(*) FROM target_queue"
    );
    assert_eq!(after_objects(&text).await, ["ERR 8447", "ERR 8450", "1"]);
}

#[tokio::test]
async fn a_failing_column_expression_takes_nothing() {
    let text = format!(
        "{BEGIN}; SEND ON CONVERSATION @h MESSAGE TYPE m (N'x');
        BEGIN TRY RECEIVE CAST(CAST(message_body AS nvarchar(10)) AS int) FROM target_queue END TRY
        BEGIN CATCH SELECT ERROR_NUMBER() END CATCH; SELECT COUNT(*) FROM target_queue"
    );
    assert_eq!(after_objects(&text).await, ["245", "1"]);
}

#[tokio::test]
async fn handles_come_from_variables_and_literals_and_null_is_8418() {
    assert_eq!(
        after_objects("DECLARE @h uniqueidentifier; END CONVERSATION @h; PRINT 'on'").await,
        ["ERR 8418", "INFO 0 on"]
    );
    let unknown = "END CONVERSATION '10000000-0000-0000-0000-00000000abcd'";
    assert_eq!(after_objects(unknown).await, ["ERR 8426"]);
    assert_eq!(after_objects("END CONVERSATION 'no handle'").await, ["ERR 8169"]);
}

#[tokio::test]
async fn both_ends_end_the_conversation() {
    let text = format!(
        "{BEGIN}; SEND ON CONVERSATION @h MESSAGE TYPE m; DECLARE @t uniqueidentifier;
        RECEIVE @t = conversation_handle FROM target_queue; END CONVERSATION @t;
        RECEIVE message_type_name FROM initiator_queue; END CONVERSATION @h;
        SELECT COUNT(*) FROM sys.conversation_endpoints WHERE is_initiator = 1"
    );
    let answers = after_objects(&text).await;
    assert_eq!(answers, ["http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog", "0"]);
}

#[tokio::test]
async fn names_come_from_variables_too() {
    let text = "DECLARE @h uniqueidentifier, @from sysname = 'initiator', @to nvarchar(256) = N'target', @c sysname = 'c',
            @m sysname = 'm';
        BEGIN DIALOG CONVERSATION @h FROM SERVICE @from TO SERVICE @to ON CONTRACT @c WITH LIFETIME = 60, ENCRYPTION = OFF;
        SEND ON CONVERSATION (@h) MESSAGE TYPE @m (N'x'); SELECT COUNT(*) FROM target_queue";
    assert_eq!(after_objects(text).await, ["1"]);
}

#[tokio::test]
async fn groups_are_fetched_and_moved() {
    let text = format!(
        "{BEGIN}; SEND ON CONVERSATION @h MESSAGE TYPE m (0x01); BEGIN TRAN; DECLARE @g uniqueidentifier;
        GET CONVERSATION GROUP @g FROM target_queue; RECEIVE message_body FROM target_queue WHERE conversation_group_id = @g;
        COMMIT; GET CONVERSATION GROUP @g FROM target_queue; SELECT @g"
    );
    assert_eq!(after_objects(&text).await, ["BEGUN", "0x01", "COMMITTED", "NULL"]);
}

#[tokio::test]
async fn a_wrong_handle_type_is_8402() {
    let text = "DECLARE @h int; BEGIN DIALOG @h FROM SERVICE initiator TO SERVICE 'target'";
    assert_eq!(after_objects(text).await, ["ERR 8402"]);
}

#[tokio::test]
async fn a_missing_queue_is_208() {
    assert_eq!(run("RECEIVE * FROM nowhere").await, ["ERR 208"]);
}
