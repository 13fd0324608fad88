//! Sending inside a transaction of somebody else: a `tiberius` client of the caller's, or a receiving batch (C012, C035).

use std::time::Duration;

use ssbroker::client::{ErrorKind, OutgoingMessage, PoolOptions, QueueName, SendOnce, server_codes};
use tiberius::{AuthMethod, Client, Config, EncryptionLevel};
use tokio::net::TcpStream;
use tokio_util::compat::{Compat, TokioAsyncWriteCompatExt};
use uuid::Uuid;

use super::stage::Stage;

type Caller = Client<Compat<TcpStream>>;

/// A connection the caller made by itself.
async fn caller(stage: &Stage) -> Caller {
    let emulator = &stage.backend.embedded.emulator;
    let mut config = Config::new();
    config.host("127.0.0.1");
    config.port(emulator.address().port());
    config.authentication(AuthMethod::sql_server("sa", emulator.password()));
    config.database("ssb1");
    config.encryption(EncryptionLevel::NotSupported);
    let socket = TcpStream::connect(emulator.address()).await.unwrap();
    socket.set_nodelay(true).unwrap();
    Client::connect(config, socket.compat_write()).await.unwrap()
}

async fn run(client: &mut Caller, sql: &str) {
    client.simple_query(sql).await.unwrap().into_results().await.unwrap();
}

async fn stage_with_orders() -> Stage {
    let stage = Stage::start().await;
    stage.run("CREATE TABLE orders (id int NOT NULL PRIMARY KEY)").await;
    stage
}

const ORDERS: &str = "SELECT COUNT(*) FROM orders";

#[tokio::test]
async fn message_and_row_are_committed_together() {
    let stage = stage_with_orders().await;
    let pool = stage.pool(PoolOptions::default().width(1));
    let mut client = caller(&stage).await;
    run(&mut client, "BEGIN TRANSACTION; INSERT INTO orders VALUES (1)").await;
    let outbox = pool.outbox(&stage.objects.destination()).await.unwrap();
    let joined = outbox.send(&mut client, &stage.objects.messages(150)).await.unwrap();
    assert!(joined.outcomes().iter().all(|outcome| outcome.is_sent()));
    assert_eq!(stage.objects.waiting().await.len(), 0, "nothing leaves before the commit");
    run(&mut client, "COMMIT TRANSACTION").await;
    joined.committed();
    assert_eq!((stage.number(ORDERS).await, stage.objects.waiting().await.len()), (1, 150));
    let before = stage.objects.broker.requests_sent();
    pool.send(&stage.objects.destination(), &stage.objects.messages(1)).await.unwrap();
    assert_eq!(stage.objects.broker.requests_sent() - before, 1, "the dialog is trusted and used again");
    assert_eq!(pool.stats().begun, 1);
}

#[tokio::test]
async fn message_and_row_are_rolled_back_together_and_the_dialog_stays() {
    let stage = stage_with_orders().await;
    let pool = stage.pool(PoolOptions::default().width(1));
    let mut client = caller(&stage).await;
    run(&mut client, "BEGIN TRANSACTION; INSERT INTO orders VALUES (1)").await;
    let outbox = pool.outbox(&stage.objects.destination()).await.unwrap();
    let mut joined = outbox.send(&mut client, &stage.objects.messages(2)).await.unwrap();
    joined.send(&mut client, &stage.objects.messages(1)).await.unwrap();
    assert_eq!(joined.outcomes().len(), 1);
    run(&mut client, "ROLLBACK TRANSACTION").await;
    joined.rolled_back();
    assert_eq!((stage.number(ORDERS).await, stage.objects.waiting().await.len()), (0, 0));
    pool.send(&stage.objects.destination(), &stage.objects.messages(1)).await.unwrap();
    assert_eq!((pool.stats().begun, stage.objects.waiting().await.len()), (1, 1));
}

#[tokio::test]
async fn without_a_transaction_nothing_is_sent() {
    let stage = stage_with_orders().await;
    let pool = stage.pool(PoolOptions::default().width(1));
    let mut client = caller(&stage).await;
    let outbox = pool.outbox(&stage.objects.destination()).await.unwrap();
    let error = outbox.send(&mut client, &stage.objects.messages(1)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Statement);
    assert!(error.to_string().contains("no transaction open"), "{error}");
    assert_eq!(stage.objects.waiting().await.len(), 0);
}

/// C012: the dead dialog is noticed before SEND, so that neither row nor message is lost, also under XACT_ABORT.
#[tokio::test]
async fn c012_a_dialog_that_is_over_is_replaced_without_dooming_the_callers_transaction() {
    let stage = stage_with_orders().await;
    let pool = stage.pool(PoolOptions::default().width(1));
    pool.send(&stage.objects.destination(), &stage.objects.messages(1)).await.unwrap();
    let mut client = caller(&stage).await;
    run(&mut client, "SET XACT_ABORT ON; BEGIN TRANSACTION; INSERT INTO orders VALUES (1)").await;
    let outbox = pool.outbox(&stage.objects.destination()).await.unwrap();
    stage.fail_all(8489).await;
    let joined = outbox.send(&mut client, &[stage.objects.message("new")]).await.unwrap();
    run(&mut client, "COMMIT TRANSACTION").await;
    joined.committed();
    assert_eq!(
        (stage.number(ORDERS).await, stage.objects.waiting().await),
        (1, vec!["0".into(), "new".into()])
    );
    assert_eq!(pool.stats().replaced, 1);
}

/// C012, the emulator's half: a handle baked into a trigger.
#[tokio::test]
async fn c012_a_raw_send_on_an_ended_dialog_fails_with_8426() {
    let stage = stage_with_orders().await;
    let builder = stage.objects.broker.dialog(&*stage.objects.initiator, &*stage.objects.target);
    let dialog = builder.contract(&*stage.objects.contract).begin().await.unwrap();
    let handle = dialog.handle();
    dialog.end().await.unwrap();
    let sql = format!("SEND ON CONVERSATION '{handle}' MESSAGE TYPE [{}] (0x01)", stage.objects.request);
    let error = stage.objects.broker.batch(&sql).await.unwrap_err();
    assert_eq!(error.server_number(), Some(server_codes::CONVERSATION_NOT_FOUND), "{error}");
}

#[tokio::test]
async fn a_refused_message_under_xact_abort_says_that_the_transaction_is_doomed() {
    let stage = stage_with_orders().await;
    let pool = stage.pool(PoolOptions::default().width(1));
    let mut client = caller(&stage).await;
    run(&mut client, "SET XACT_ABORT ON; BEGIN TRANSACTION; INSERT INTO orders VALUES (1)").await;
    let mut messages = stage.objects.messages(2);
    messages[1].message_type = ssbroker::client::MessageTypeName::new(&*stage.objects.reply).unwrap();
    let outbox = pool.outbox(&stage.objects.destination()).await.unwrap();
    let error = outbox.send(&mut client, &messages).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TransactionDoomed, "{error}");
    run(&mut client, "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION").await;
    assert_eq!((stage.number(ORDERS).await, stage.objects.waiting().await.len()), (0, 0));
}

/// C035 (b), (c): a guard that is dropped leaves it open whether the transaction was committed.
#[tokio::test]
async fn a_dropped_guard_has_the_dialog_verified_before_it_is_used_again() {
    let stage = stage_with_orders().await;
    let pool = stage.pool(PoolOptions::default().width(1));
    let mut client = caller(&stage).await;
    run(&mut client, "BEGIN TRANSACTION").await;
    let outbox = pool.outbox(&stage.objects.destination()).await.unwrap();
    drop(outbox.send(&mut client, &stage.objects.messages(1)).await.unwrap());
    drop(client);
    let before = stage.objects.broker.requests_sent();
    pool.send(&stage.objects.destination(), &stage.objects.messages(1)).await.unwrap();
    assert_eq!(stage.objects.broker.requests_sent() - before, 2, "one look and one send");
    assert_eq!((pool.stats().begun, pool.stats().replaced), (1, 0));
    let mut client = caller(&stage).await;
    run(&mut client, "BEGIN TRANSACTION").await;
    let outbox = pool.outbox(&stage.objects.destination()).await.unwrap();
    drop(outbox.send(&mut client, &stage.objects.messages(1)).await.unwrap());
    run(&mut client, "ROLLBACK TRANSACTION").await;
    stage.fail_all(8462).await;
    let outcomes = pool.send(&stage.objects.destination(), &stage.objects.messages(1)).await.unwrap();
    assert!(outcomes[0].is_sent());
    assert_eq!((pool.stats().begun, pool.stats().replaced), (2, 1));
}

/// A transaction whose commit may have happened is done again under the same identifier.
#[tokio::test]
async fn a_repeated_transaction_sends_once_and_is_told_so_without_being_doomed() {
    let stage = stage_with_orders().await;
    let pool = stage.pool(PoolOptions::default().width(1));
    let mut client = caller(&stage).await;
    let messages: Vec<(Uuid, OutgoingMessage)> =
        (1..=2).map(|id| (Uuid::from_u128(id), stage.objects.message(&id.to_string()))).collect();
    run(&mut client, "SET XACT_ABORT ON").await;
    for (commit, repeated) in [(false, false), (true, false), (true, true)] {
        run(&mut client, "BEGIN TRANSACTION").await;
        let outbox = pool.outbox(&stage.objects.destination()).await.unwrap();
        let (joined, outcomes) = outbox.send_once(&mut client, &messages).await.unwrap();
        let as_expected = |outcome: &SendOnce| match outcome {
            SendOnce::Sent => !repeated,
            SendOnce::AlreadySent => repeated,
            _ => false,
        };
        assert!(outcomes.len() == 2 && outcomes.iter().all(as_expected), "{outcomes:?}");
        run(&mut client, "INSERT INTO orders SELECT COUNT(*) FROM orders").await;
        if commit {
            run(&mut client, "COMMIT TRANSACTION").await;
            joined.committed();
        } else {
            run(&mut client, "ROLLBACK TRANSACTION").await;
            joined.rolled_back();
        }
    }
    assert_eq!(stage.number(ORDERS).await, 2, "the transaction of a repeated message can be committed");
    assert_eq!(stage.objects.waiting().await, ["1", "2"]);
    assert_eq!((pool.stats().begun, pool.stats().replaced), (1, 0));
    run(&mut client, "IF @@OPTIONS & 16384 = 0 RAISERROR('XACT_ABORT was changed', 16, 1)").await;
}

#[tokio::test]
async fn a_send_under_an_identifier_looks_first_too_and_a_refusal_leaves_the_identifier_free() {
    let stage = stage_with_orders().await;
    let pool = stage.pool(PoolOptions::default().width(1));
    let mut client = caller(&stage).await;
    pool.send(&stage.objects.destination(), &stage.objects.messages(1)).await.unwrap();
    let message = |text: &str| [(Uuid::from_u128(1), stage.objects.message(text))];
    let outbox = pool.outbox(&stage.objects.destination()).await.unwrap();
    let error = outbox.send_once(&mut client, &message("a")).await.unwrap_err();
    assert!(error.to_string().contains("no transaction open"), "{error}");
    run(&mut client, "SET XACT_ABORT ON; BEGIN TRANSACTION").await;
    let outbox = pool.outbox(&stage.objects.destination()).await.unwrap();
    stage.fail_all(8489).await;
    let mut refused = message("a");
    refused[0].1.message_type = ssbroker::client::MessageTypeName::new(&*stage.objects.reply).unwrap();
    let (mut joined, outcomes) = outbox.send_once(&mut client, &refused).await.unwrap();
    let SendOnce::Failed(error) = &outcomes[0] else { panic!("{outcomes:?}") };
    assert_eq!(error.kind(), ErrorKind::MessageRefused, "{error}");
    let outcomes = joined.send_once(&mut client, &message("b")).await.unwrap();
    assert!(matches!(outcomes[0], SendOnce::Sent), "{outcomes:?}");
    run(&mut client, "COMMIT TRANSACTION").await;
    joined.committed();
    assert_eq!(stage.objects.waiting().await, ["0", "b"]);
    assert_eq!(pool.stats().replaced, 1);
}

#[tokio::test]
async fn an_outbox_that_sends_nothing_gives_its_place_back() {
    let stage = stage_with_orders().await;
    let pool = stage.pool(PoolOptions::default().width(1));
    drop(pool.outbox(&stage.objects.destination()).await.unwrap());
    let (destination, messages) = (stage.objects.destination(), stage.objects.messages(1));
    let sent = pool.send(&destination, &messages);
    assert!(tokio::time::timeout(Duration::from_secs(5), sent).await.unwrap().unwrap()[0].is_sent());
}

#[tokio::test]
async fn a_shared_pool_lends_nothing_to_a_transaction_of_the_callers() {
    let stage = stage_with_orders().await;
    let pool = stage.pool(PoolOptions::default().shared("p"));
    let error = pool.outbox(&stage.objects.destination()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
}

/// The first send keeps the place until the batch is decided, so waiting for it in the same batch would never end.
#[tokio::test]
async fn a_batch_that_waits_for_a_place_it_keeps_gets_an_error() {
    let stage = stage_with_orders().await;
    let pool = stage.pool(PoolOptions::default().width(1).place_timeout(Duration::from_millis(200)));
    pool.send(&stage.objects.destination(), &[stage.objects.message("in")]).await.unwrap();
    let queue = QueueName::in_schema("dbo", &*stage.objects.target_queue).unwrap();
    let mut reader = stage.objects.broker.receive(queue).open().await.unwrap();
    let mut batch = reader.next().await.unwrap();
    let outbox = pool.outbox(&stage.objects.destination()).await.unwrap();
    outbox.send_in(&mut batch, &[stage.objects.message("a")]).await.unwrap();
    let error = pool.outbox(&stage.objects.destination()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PoolExhausted, "{error}");
    let sent = pool.send(&stage.objects.destination(), &[stage.objects.message("b")]).await;
    assert_eq!(sent.unwrap_err().kind(), ErrorKind::PoolExhausted);
    batch.commit().await.unwrap();
    pool.send(&stage.objects.destination(), &[stage.objects.message("c")]).await.unwrap();
    assert_eq!(stage.objects.waiting().await, ["a", "c"]);
}

/// A reader of the target's queue that forwards what it gets through the pool, in the receiving transaction.
#[tokio::test]
async fn a_pooled_send_in_a_batch_leaves_with_its_commit_or_not_at_all() {
    let stage = stage_with_orders().await;
    let pool = stage.pool(PoolOptions::default().width(1));
    pool.send(&stage.objects.destination(), &[stage.objects.message("in")]).await.unwrap();
    let queue = QueueName::in_schema("dbo", &*stage.objects.target_queue).unwrap();
    let mut reader = stage.objects.broker.receive(queue).open().await.unwrap();
    for commit in [false, true] {
        let mut batch = reader.next().await.unwrap();
        assert_eq!(batch.messages()[0].body.to_utf8().unwrap(), "in");
        let outbox = pool.outbox(&stage.objects.destination()).await.unwrap();
        let outcomes = outbox.send_in(&mut batch, &[stage.objects.message("out")]).await.unwrap();
        assert!(outcomes[0].is_sent());
        batch.execute("INSERT INTO orders VALUES (1)", &[]).await.unwrap();
        if commit {
            batch.commit().await.unwrap()
        } else {
            batch.give_back().await.unwrap()
        }
        assert_eq!(stage.number(ORDERS).await, i32::from(commit));
    }
    assert_eq!(stage.objects.waiting().await, ["out"]);
    pool.send(&stage.objects.destination(), &[stage.objects.message("later")]).await.unwrap();
    assert_eq!(pool.stats().begun, 1);
}

#[tokio::test]
async fn a_dialog_begun_in_a_batch_exists_once_it_is_committed() {
    let stage = stage_with_orders().await;
    let pool = stage.pool(PoolOptions::default().width(1));
    pool.send(&stage.objects.destination(), &[stage.objects.message("in")]).await.unwrap();
    let objects = &stage.objects;
    let queue = QueueName::in_schema("dbo", &*objects.target_queue).unwrap();
    let mut reader = objects.broker.receive(queue).open().await.unwrap();
    let request = ssbroker::client::MessageTypeName::new(&*objects.request).unwrap();
    for commit in [false, true] {
        let mut batch = reader.next().await.unwrap();
        let builder =
            objects.broker.dialog(&*objects.initiator, &*objects.target).contract(&*objects.contract);
        let dialog = builder.begin_in(&mut batch).await.unwrap();
        batch.send(dialog, &request, b"begun".as_slice()).await.unwrap();
        if commit {
            batch.commit().await.unwrap()
        } else {
            batch.give_back().await.unwrap()
        }
        let known = objects.broker.delivery_status(dialog).await.unwrap();
        assert_eq!(known.state.is_some(), commit);
    }
    assert_eq!(objects.waiting().await, ["begun"]);
}
