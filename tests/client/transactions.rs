//! Receiving transactions that end badly (C035, C037, C038, C039): nothing stays open, nothing is lost, the first error is
//! told, and failures do not add up to roll backs.

use std::time::Duration;

use ssbroker::client::{Batch, Broker, ErrorKind, PoolOptions, QueueName, Receiver, handler_fn};

use super::stage::Stage;
use super::work::drain;

async fn stage_with_message() -> (Stage, Receiver) {
    let stage = Stage::start().await;
    let objects = &stage.objects;
    let dialog = objects.broker.dialog(&*objects.initiator, &*objects.target).contract(&*objects.contract);
    dialog.begin_with(&[objects.message("m")]).await.unwrap();
    stage.run("CREATE TABLE done (id int NOT NULL)").await;
    let queue = QueueName::in_schema("dbo", &*objects.target_queue).unwrap();
    let reader = objects.broker.receive(queue).open().await.unwrap();
    (stage, reader)
}

async fn receive(reader: &mut Receiver) -> Batch {
    let batch = tokio::time::timeout(Duration::from_secs(5), reader.next()).await.unwrap().unwrap();
    assert_eq!(batch.messages()[0].body.to_utf8().unwrap(), "m");
    batch
}

/// No session but the one that asks has a transaction open.
async fn assert_nothing_is_open(stage: &Stage) {
    let open =
        "SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE open_transaction_count > 0 AND session_id <> @@SPID";
    tokio::time::timeout(Duration::from_secs(1), async {
        while stage.number(open).await > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await
    .expect("a transaction stays open");
    assert_eq!(stage.number("SELECT @@TRANCOUNT").await, 0);
}

#[tokio::test]
async fn c035_a_batch_that_is_left_by_return_panic_or_abort_leaves_no_transaction_open() {
    let (stage, mut reader) = stage_with_message().await;
    drop(receive(&mut reader).await);
    assert_nothing_is_open(&stage).await;
    let batch = receive(&mut reader).await;
    let panicking = tokio::spawn(async move {
        let _held = batch;
        panic!("a handler panics");
    });
    assert!(panicking.await.unwrap_err().is_panic());
    assert_nothing_is_open(&stage).await;
    let mut batch = receive(&mut reader).await;
    let aborted = tokio::spawn(async move { batch.execute("WAITFOR DELAY '00:00:00.100'", &[]).await });
    tokio::task::yield_now().await;
    aborted.abort();
    // Aborted, or done just before.
    drop(aborted.await);
    assert_nothing_is_open(&stage).await;
    receive(&mut reader).await.commit().await.unwrap();
}

/// (d): the queue is switched off while a batch is out.
#[tokio::test]
async fn c035_an_error_in_the_middle_of_a_batch_leaves_no_transaction_open() {
    let (stage, mut reader) = stage_with_message().await;
    let mut batch = receive(&mut reader).await;
    let error = batch.execute("RAISERROR('failed', 16, 1)", &[]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Statement, "{error}");
    drop(batch);
    assert_nothing_is_open(&stage).await;
    stage.target_takes_messages(false).await;
    let error = tokio::time::timeout(Duration::from_secs(5), reader.next()).await.unwrap().unwrap_err();
    assert!(error.queue_is_disabled(), "{error}");
    assert_nothing_is_open(&stage).await;
    stage.target_takes_messages(true).await;
    receive(&mut reader).await.commit().await.unwrap();
    assert_nothing_is_open(&stage).await;
}

#[tokio::test]
async fn c037_a_session_killed_during_the_handler_is_told_as_a_lost_connection_and_the_reader_goes_on() {
    let (stage, mut reader) = stage_with_message().await;
    let mut batch = receive(&mut reader).await;
    let master = Broker::connect(&stage.backend.embedded.emulator.connection_string("master")).await.unwrap();
    for change in ["DISABLE_BROKER", "ENABLE_BROKER"] {
        master.batch(&format!("ALTER DATABASE ssb1 SET {change} WITH ROLLBACK IMMEDIATE")).await.unwrap();
    }
    let error = batch.execute("INSERT INTO done VALUES (1)", &[]).await.unwrap_err();
    assert!(error.is_connection_lost(), "{error}");
    let error = batch.commit().await.unwrap_err();
    assert!(error.is_connection_lost(), "no error of a roll back hides it: {error}");
    let again = receive(&mut reader).await;
    again.commit().await.unwrap();
}

/// First variant: the error was swallowed by the handler's own TRY, and the handler says that all is well.
#[tokio::test]
async fn c038_a_doomed_transaction_is_never_reported_as_committed() {
    let (stage, mut reader) = stage_with_message().await;
    let mut batch = receive(&mut reader).await;
    let swallowed = "SET XACT_ABORT ON; BEGIN TRY INSERT INTO done VALUES (1); DECLARE @i int = CAST('x' AS int); END TRY \
                     BEGIN CATCH SELECT 1 AS swallowed; END CATCH";
    // The server may say so at the end of the batch (3998), or leave it to the commit.
    if let Err(error) = batch.execute(swallowed, &[]).await {
        assert_eq!(error.kind(), ErrorKind::TransactionDoomed, "{error}");
    }
    let error = batch.commit().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TransactionDoomed, "{error}");
    assert_nothing_is_open(&stage).await;
    assert_eq!(stage.number("SELECT COUNT(*) FROM done").await, 0);
    receive(&mut reader).await.commit().await.unwrap();
}

/// Second variant: what failed is undone to a savepoint, the rest and the end of the conversation are committed.
#[tokio::test]
async fn c038_a_savepoint_saves_the_transaction_from_an_error_that_does_not_doom_it() {
    let (stage, mut reader) = stage_with_message().await;
    let mut batch = receive(&mut reader).await;
    let conversation = batch.messages()[0].conversation;
    batch
        .execute(
            "SET XACT_ABORT OFF; SAVE TRANSACTION mine; BEGIN TRY INSERT INTO done VALUES (1); INSERT INTO done VALUES (NULL); \
             END TRY BEGIN CATCH IF XACT_STATE() = 1 ROLLBACK TRANSACTION mine; END CATCH; INSERT INTO done VALUES (7)",
            &[],
        )
        .await
        .unwrap();
    batch.end_with_error(conversation, 1, "put aside").await.unwrap();
    batch.commit().await.unwrap();
    assert_eq!(stage.number("SELECT SUM(id) FROM done").await, 7);
    assert!(stage.objects.take(&stage.objects.initiator_queue).await[0].ends_conversation());
}

/// Case C039. That the fifth roll back makes senders wait behind a long reader is a matter of the server's; here is what
/// the client does about it: its failing handlers leave no roll back behind, whatever the queue's detection says. The
/// warning of a batch that is out for 30 s is tested where it is made.
#[tokio::test]
async fn c039_failing_messages_cause_no_roll_back_and_a_send_passes_a_reader_that_holds_its_messages() {
    let (stage, mut reader) = stage_with_message().await;
    let objects = &stage.objects;
    objects.create_tables().await;
    let queue = &objects.target_queue;
    stage.run(&format!("ALTER QUEUE [{queue}] WITH POISON_MESSAGE_HANDLING (STATUS = OFF)")).await;
    let held = receive(&mut reader).await;
    let pool = stage.pool(PoolOptions::default().width(6));
    for _ in 0..6 {
        pool.send(&objects.destination(), &[objects.message("fails")]).await.unwrap();
    }
    let before = stage.backend.embedded.emulator.broker_counters().rollbacks;
    let handler = handler_fn(|_delivery| Box::pin(async { Err("no use for it".into()) }));
    drain(objects.broker.worker(objects.queue(), handler)).await;
    assert_eq!(objects.rows("dead_letters").await, 6);
    assert_eq!(stage.backend.embedded.emulator.broker_counters().rollbacks - before, 0);
    let (destination, message) = (objects.destination(), [objects.message("passes")]);
    let sending = pool.send(&destination, &message);
    tokio::time::timeout(Duration::from_secs(30), sending).await.expect("a send waits").unwrap();
    held.commit().await.unwrap();
    assert_eq!(objects.waiting().await, ["passes"]);
}
