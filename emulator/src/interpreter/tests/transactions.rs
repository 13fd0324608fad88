//! Transactions by statement and by request, savepoints, doomed ones.

use super::support::{Server, line, run};
use crate::request::{NextTransaction, TransactionRequest};

#[tokio::test]
async fn nested_transactions_count_and_only_the_outermost_commits() {
    let text = "BEGIN TRAN; BEGIN TRAN; SELECT @@TRANCOUNT; COMMIT; SELECT @@TRANCOUNT; ROLLBACK; SELECT @@TRANCOUNT";
    assert_eq!(run(text).await, ["BEGUN", "2", "1", "ROLLED BACK", "0"]);
}

#[tokio::test]
async fn commit_and_roll_back_without_a_transaction_are_errors_that_do_not_end_the_batch() {
    assert_eq!(run("COMMIT; ROLLBACK; SELECT 1").await, ["ERR 3902", "ERR 3903", "1"]);
}

#[tokio::test]
async fn savepoints_are_rolled_back_to_by_name_or_variable() {
    let text = "CREATE TABLE t (a int); BEGIN TRAN; INSERT t VALUES (1); SAVE TRAN s; INSERT t VALUES (2);
        DECLARE @s sysname = 's'; ROLLBACK TRAN @s; SELECT @@TRANCOUNT; COMMIT; SELECT a FROM t";
    assert_eq!(run(text).await, ["BEGUN", "1", "COMMITTED", "1"]);
    assert_eq!(run("BEGIN TRAN; ROLLBACK TRAN nowhere").await, ["BEGUN", "ERR 6401"]);
}

#[tokio::test]
async fn the_outermost_name_rolls_back_everything() {
    assert_eq!(
        run("BEGIN TRAN a; BEGIN TRAN b; ROLLBACK TRAN a; SELECT @@TRANCOUNT").await,
        ["BEGUN", "ROLLED BACK", "0"]
    );
}

#[tokio::test]
async fn requests_of_a_transaction_manager_can_begin_the_next_one() {
    let mut client = Server::start().client();
    let begin = TransactionRequest::Begin { isolation: None, name: String::new() };
    let lines = |events: Vec<_>| events.iter().filter_map(line).collect::<Vec<_>>();
    assert_eq!(lines(client.transaction(begin).await), ["BEGUN"]);
    let next = Some(NextTransaction::default());
    let commit = TransactionRequest::Commit { name: String::new(), next };
    assert_eq!(lines(client.transaction(commit).await), ["COMMITTED", "BEGUN"]);
    let save = TransactionRequest::Save { name: "p".to_owned() };
    assert_eq!(lines(client.transaction(save).await), [""; 0]);
    let back = TransactionRequest::Rollback { name: "p".to_owned(), next: None };
    assert_eq!(lines(client.transaction(back).await), [""; 0]);
    let all = TransactionRequest::Rollback { name: String::new(), next: None };
    assert_eq!(lines(client.transaction(all.clone()).await), ["ROLLED BACK"]);
    assert_eq!(lines(client.transaction(all).await), ["ERR 3903"]);
}

#[tokio::test]
async fn a_dropped_session_rolls_back() {
    let server = Server::start();
    let mut first = server.client();
    first.run("CREATE TABLE t (a int); BEGIN TRAN; INSERT t VALUES (1)").await;
    drop(first);
    assert_eq!(server.client().run("SELECT COUNT(*) FROM t").await, ["0"]);
}

#[tokio::test]
async fn implicit_transactions_begin_with_data_statements() {
    let text = "SET IMPLICIT_TRANSACTIONS ON; SELECT @@TRANCOUNT; ROLLBACK; SET IMPLICIT_TRANSACTIONS OFF; SELECT @@TRANCOUNT";
    assert_eq!(run(text).await, ["BEGUN", "1", "ROLLED BACK", "0"]);
}
