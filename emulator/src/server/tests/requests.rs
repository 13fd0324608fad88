//! Requests, cancellation and the end of connections.

use std::sync::atomic::Ordering;

use tokio::io::AsyncReadExt;

use super::client::{BATCH, END, TestClient, TestServer};
use crate::output::Change;
use crate::request::{CallParameter, NextTransaction, ProcedureCall, ProcedureName, TransactionRequest};
use crate::server::Encryption;
use crate::tds::token::{Done, DoneKind, EnvChange, Token};
use crate::value::{Length, SqlType, Value};

const IGNORE: u8 = 0x02;
const RESET: u8 = 0x08;
const RESET_SKIP_TRANSACTION: u8 = 0x10;

async fn connected() -> (TestServer, TestClient<tokio::io::DuplexStream>) {
    let mut server = TestServer::start(Encryption::Unsupported);
    let client = server.logged_in().await;
    (server, client)
}

fn statuses(tokens: &[Token]) -> Vec<u16> {
    tokens
        .iter()
        .filter_map(|token| if let Token::Done(done) = token { Some(done.status) } else { None })
        .collect()
}

fn acknowledgement() -> [Token; 1] {
    [Token::Done(Done { status: Done::ATTENTION, ..Done::plain(DoneKind::Statement) })]
}

fn interrupted() -> [Token; 1] {
    [Token::Done(Done { status: Done::ERROR, ..Done::plain(DoneKind::Statement) })]
}

#[tokio::test]
async fn a_batch_is_answered_by_its_rows() {
    let (server, mut client) = connected().await;
    client.batch("rows 2").await;
    let tokens = client.reply().await.unwrap();
    assert_eq!(tokens[1..3], [Token::Row(vec![Value::Int(0)]), Token::Row(vec![Value::Int(1)])]);
    assert_eq!(statuses(&tokens), [Done::COUNT]);
    let counters = &server.options.counters;
    assert_eq!((counters.requests.load(Ordering::Relaxed), counters.batches.load(Ordering::Relaxed)), (1, 1));
}

#[tokio::test]
async fn replies_larger_than_the_pipe_are_streamed() {
    let (_server, mut client) = connected().await;
    client.batch("body 20000000").await;
    let tokens = client.reply().await.unwrap();
    assert!(
        matches!(&tokens[1], Token::Row(values) if matches!(&values[0], Value::Binary(b) if b.len() == 20_000_000))
    );
    client.batch("rows 100000").await;
    assert_eq!(client.reply().await.unwrap().len(), 100_002);
}

#[tokio::test]
async fn an_error_leaves_the_connection_usable() {
    let (_server, mut client) = connected().await;
    client.batch("error").await;
    let tokens = client.reply().await.unwrap();
    assert!(matches!(&tokens[0], Token::Error(error) if error.number == 51234));
    assert_eq!(statuses(&tokens), [Done::ERROR]);
    client.batch("rows 0").await;
    assert_eq!(client.reply().await.unwrap().len(), 2);
}

#[tokio::test]
async fn an_error_of_severity_20_ends_the_connection_after_the_reply() {
    let (server, mut client) = connected().await;
    client.batch("fatal").await;
    assert!(matches!(&client.reply().await.unwrap()[0], Token::Error(error) if error.severity == 20));
    assert!(client.reply().await.is_none());
    assert_eq!(server.seen.lines().last().unwrap(), "dropped");
}

#[tokio::test]
async fn a_notice_sent_with_nowait_leaves_before_the_reply_ends() {
    let (_server, mut client) = connected().await;
    client.batch("notice").await;
    let mut header = [0; 8];
    client.stream.read_exact(&mut header).await.unwrap();
    let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let mut body = vec![0; length - header.len()];
    client.stream.read_exact(&mut body).await.unwrap();
    assert_eq!(
        (header[1] & END, body[0]),
        (0, 0xAB),
        "an INFO token in a packet that does not end the reply"
    );
    client.attention().await;
    assert_eq!(client.reply().await.unwrap(), interrupted());
}

#[tokio::test]
async fn several_calls_of_one_message_are_run_in_order() {
    let (server, mut client) = connected().await;
    let parameter = CallParameter {
        name: "@b".into(),
        output: true,
        default: false,
        ty: SqlType::VarBinary(Length::Max),
        value: Value::Binary(vec![1; 5000].into()),
    };
    let calls = [
        ProcedureCall { procedure: ProcedureName::Number(10), parameters: vec![parameter.clone()] },
        ProcedureCall { procedure: ProcedureName::Name("dbo.p".into()), parameters: vec![] },
    ];
    client.calls(&calls).await;
    let tokens = client.reply().await.unwrap();
    assert_eq!(tokens[0], Token::Output(0, "@b".into(), parameter.value));
    let procedure = |token: &Token| matches!(token, Token::Done(done) if done.kind == DoneKind::Procedure);
    assert!(tokens[1..].iter().all(procedure));
    assert_eq!(statuses(&tokens), [Done::MORE, 0]);
    assert_eq!(server.seen.lines()[1..], ["call Number(10)", "call Name(\"dbo.p\")"]);
    assert_eq!(server.options.counters.rpcs.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn a_transaction_request_answers_its_changes() {
    let (server, mut client) = connected().await;
    let next = Some(NextTransaction::default());
    client.transaction(&TransactionRequest::Commit { name: String::new(), next }).await;
    let tokens = client.reply().await.unwrap();
    let changes = [Change::TransactionCommitted(1), Change::TransactionBegun(2)]
        .map(|change| Token::EnvChange(EnvChange::Session(change)));
    assert_eq!(tokens[..2], changes);
    assert_eq!(statuses(&tokens), [0]);
    assert_eq!(server.options.counters.transaction_requests.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn an_attention_during_a_wait_is_answered_by_two_messages() {
    let (server, mut client) = connected().await;
    client.batch("wait").await;
    server.seen.wait_for("batch wait").await;
    client.attention().await;
    assert_eq!(client.reply().await.unwrap(), interrupted());
    assert_eq!(client.reply().await.unwrap(), acknowledgement());
    client.batch("rows 1").await;
    assert_eq!(client.reply().await.unwrap().len(), 3);
    assert_eq!(server.options.counters.attentions.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn an_attention_while_idle_is_answered_once() {
    let (_server, mut client) = connected().await;
    client.attention().await;
    assert_eq!(client.reply().await.unwrap(), acknowledgement());
    client.batch("rows 1").await;
    assert_eq!(client.reply().await.unwrap().len(), 3);
}

#[tokio::test]
async fn an_attention_that_races_with_the_end_is_acknowledged_once() {
    let (_server, mut client) = connected().await;
    for round in 0..50 {
        client.batch("rows 1").await;
        for _ in 0..round % 7 {
            tokio::task::yield_now().await;
        }
        client.attention().await;
        let first = client.reply().await.unwrap();
        assert!(first.len() == 3 || first.ends_with(&interrupted()), "{first:?}");
        assert_eq!(client.reply().await.unwrap(), acknowledgement(), "round {round}");
    }
}

#[tokio::test]
async fn an_attention_stops_a_reply_that_nobody_reads_yet() {
    let (_server, mut client) = connected().await;
    client.batch("rows 10000000").await;
    client.attention().await;
    let tokens = client.reply().await.unwrap();
    assert!(tokens.len() < 100_000, "{} tokens", tokens.len());
    assert_eq!(statuses(&tokens), [Done::ERROR]);
    assert_eq!(client.reply().await.unwrap(), acknowledgement());
}

#[tokio::test]
async fn an_attention_cancels_the_request_that_waits_behind_the_running_one() {
    let (server, mut client) = connected().await;
    client.batch("wait").await;
    client.batch("rows 1").await;
    client.attention().await;
    assert_eq!(client.reply().await.unwrap(), interrupted());
    assert_eq!(client.reply().await.unwrap(), interrupted());
    assert_eq!(client.reply().await.unwrap(), acknowledgement());
    assert_eq!(server.seen.lines()[1..], ["batch wait", "cancelled"]);
}

#[tokio::test]
async fn an_attention_inside_an_unfinished_message_drops_it() {
    let (server, mut client) = connected().await;
    client.send_packet(BATCH, 0, b"half").await;
    client.attention().await;
    assert_eq!(client.reply().await.unwrap(), acknowledgement());
    assert_eq!(server.seen.lines(), ["login sa db1"]);
}

#[tokio::test]
async fn an_ignored_message_is_answered_by_one_done_and_not_run() {
    let (server, mut client) = connected().await;
    client.send_packet(BATCH, 0, b"half").await;
    client.send_packet(BATCH, END | IGNORE, b"").await;
    assert_eq!(client.reply().await.unwrap(), [Token::Done(Done::plain(DoneKind::Statement))]);
    assert_eq!(server.seen.lines(), ["login sa db1"]);
}

#[tokio::test]
async fn a_reset_comes_before_the_request_and_first_in_the_reply() {
    for (status, keep) in [(RESET, false), (RESET_SKIP_TRANSACTION, true)] {
        let (server, mut client) = connected().await;
        client.batch_with(status, "rows 1").await;
        let tokens = client.reply().await.unwrap();
        assert_eq!(tokens[0], Token::EnvChange(EnvChange::Session(Change::Reset)));
        assert_eq!(tokens.len(), 4);
        assert_eq!(server.seen.lines()[1..], [format!("reset keep={keep}"), "batch rows 1".to_owned()]);
    }
}

#[tokio::test]
async fn a_request_that_is_not_understood_leaves_the_connection_in_step() {
    let (_server, mut client) = connected().await;
    client.send(BATCH, 0, b"\x03\0\0\0").await;
    let tokens = client.reply().await.unwrap();
    assert!(matches!(&tokens[0], Token::Error(error) if error.number == 4002));
    client.send(0x07, 0, b"rows").await;
    let tokens = client.reply().await.unwrap();
    assert!(matches!(&tokens[0], Token::Error(error) if error.number == 40510));
    client.batch("rows 1").await;
    assert_eq!(client.reply().await.unwrap().len(), 3);
}

#[tokio::test]
async fn packets_that_make_no_message_end_the_connection_with_an_error() {
    let (server, mut client) = connected().await;
    client.send_packet(0x55, END, b"").await;
    let tokens = client.reply().await.unwrap();
    assert!(matches!(&tokens[0], Token::Error(error) if error.message.contains("packet type 0x55")));
    assert!(client.reply().await.is_none());
    server.task.await.unwrap();
}

#[tokio::test]
async fn a_closed_socket_cancels_the_running_request_and_drops_the_session() {
    let (server, mut client) = connected().await;
    client.batch("wait").await;
    server.seen.wait_for("batch wait").await;
    drop(client);
    server.task.await.unwrap();
    assert_eq!(server.seen.lines()[2..], ["cancelled", "dropped"]);
    assert_eq!(server.options.counters.connections_open.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_closed_socket_ends_a_reply_that_nobody_reads() {
    let (server, mut client) = connected().await;
    client.batch("rows 10000000").await;
    server.seen.wait_for("batch rows 10000000").await;
    drop(client);
    server.task.await.unwrap();
    assert_eq!(server.seen.lines()[2..], ["gave up", "dropped"]);
}

#[tokio::test]
async fn a_shutdown_cancels_the_request_and_closes_the_connection() {
    let (server, mut client) = connected().await;
    client.batch("wait").await;
    server.seen.wait_for("batch wait").await;
    server.shutdown.cancel();
    server.task.await.unwrap();
    assert_eq!(server.seen.lines()[2..], ["cancelled", "dropped"]);
    assert!(client.reply().await.is_none());
}
