//! WAITFOR, lock waits, cancelling, with a clock the test moves.

use std::time::Duration;

use super::conversations::{BEGIN, OBJECTS};
use super::support::Server;

#[tokio::test]
async fn waitfor_delay_ends_with_the_clock() {
    let server = Server::start();
    let mut client = server.client();
    let waiting = tokio::spawn(async move { client.run("WAITFOR DELAY '00:00:05'; SELECT 1").await });
    server.clock.wait_for_sleepers(1).await;
    server.clock.advance(Duration::from_millis(4_900));
    assert!(!waiting.is_finished());
    server.clock.advance(Duration::from_millis(100));
    assert_eq!(waiting.await.unwrap(), ["1"]);
}

#[tokio::test]
async fn a_waiting_receive_ends_empty_when_its_time_is_over() {
    let server = Server::start();
    let mut client = server.client();
    client.run(OBJECTS).await;
    let text = "DECLARE @h uniqueidentifier = '10000000-0000-0000-0000-00000000ffff';
        WAITFOR (RECEIVE TOP (1) @h = conversation_handle FROM target_queue), TIMEOUT 1000; SELECT @@ROWCOUNT, @h";
    let waiting = tokio::spawn(async move { client.run(text).await });
    server.clock.wait_for_sleepers(1).await;
    server.clock.advance(Duration::from_secs(1));
    assert_eq!(waiting.await.unwrap(), ["0|10000000-0000-0000-0000-00000000FFFF"]);
}

#[tokio::test]
async fn a_waiting_receive_ends_when_a_message_is_committed() {
    let server = Server::start();
    let mut sender = server.client();
    sender.run(OBJECTS).await;
    let mut receiver = server.client_in("msdb");
    let text = "WAITFOR (RECEIVE CAST(message_body AS nvarchar(max)) FROM target_queue), TIMEOUT 60000";
    let waiting = tokio::spawn(async move { receiver.run(text).await });
    server.clock.wait_for_sleepers(1).await;
    let text = format!("BEGIN TRAN; {BEGIN}; SEND ON CONVERSATION @h MESSAGE TYPE m (N'hello'); COMMIT");
    sender.run(&text).await;
    assert_eq!(waiting.await.unwrap(), ["hello"]);
}

#[tokio::test]
async fn a_cancelled_wait_stops_and_keeps_the_transaction_unless_xact_abort_is_on() {
    for (setting, left) in [("OFF", "1"), ("ON", "0")] {
        let server = Server::start();
        let mut client = server.client();
        client.run(OBJECTS).await;
        let cancel = client.cancel.clone();
        let text = format!(
            "SET XACT_ABORT {setting}; BEGIN TRAN; WAITFOR (RECEIVE * FROM target_queue), TIMEOUT 60000; PRINT 'no'"
        );
        let waiting = tokio::spawn(async move {
            let answers = client.run(&text).await;
            (client, answers)
        });
        server.clock.wait_for_sleepers(1).await;
        cancel.cancel();
        let (mut client, answers) = waiting.await.unwrap();
        assert_eq!(answers, ["BEGUN"]);
        client.cancel = tokio_util::sync::CancellationToken::new();
        assert_eq!(client.run("SELECT @@TRANCOUNT").await, [left], "XACT_ABORT {setting}");
    }
}

#[tokio::test]
async fn a_lock_is_waited_for_no_longer_than_lock_timeout() {
    let server = Server::start();
    let (mut holder, mut other) = (server.client(), server.client());
    holder.run("CREATE TABLE t (a int); INSERT t VALUES (1); BEGIN TRAN; UPDATE t SET a = 2").await;
    let text = "SET LOCK_TIMEOUT 500; SELECT a FROM t; SELECT @@ERROR";
    let waiting = tokio::spawn(async move { other.run(text).await });
    server.clock.wait_for_sleepers(1).await;
    server.clock.advance(Duration::from_millis(500));
    assert_eq!(waiting.await.unwrap(), ["ERR 1222", "1222"]);
}

#[tokio::test]
async fn a_loop_without_waits_can_be_cancelled() {
    let server = Server::start();
    let mut client = server.client();
    let cancel = client.cancel.clone();
    let running = tokio::spawn(async move { client.run("WHILE 1 = 1 DECLARE @x int = 1").await });
    tokio::task::yield_now().await;
    cancel.cancel();
    assert_eq!(running.await.unwrap(), [""; 0]);
}
