//! What an error ends: statement, batch, transaction; and how CATCH sees it.

use super::support::{Server, line, run};
use crate::output::Event;

#[tokio::test]
async fn a_statement_error_does_not_end_the_batch() {
    assert_eq!(run("SELECT 1 / 0; SELECT @@ERROR; SELECT @@ERROR").await, ["ERR 8134", "8134", "0"]);
}

#[tokio::test]
async fn a_conversion_error_ends_the_batch_and_the_transaction() {
    let mut client = Server::start().client();
    let answers = client.run("BEGIN TRAN; SELECT CAST('abc' AS int); SELECT 'not reached'").await;
    assert_eq!(answers, ["BEGUN", "ERR 245", "ROLLED BACK"]);
    assert_eq!(client.run("SELECT @@TRANCOUNT").await, ["0"]);
}

#[tokio::test]
async fn catch_sees_the_error_and_only_there() {
    let text = "BEGIN TRY
            SELECT 1 / 0
        END TRY BEGIN CATCH
            SELECT ERROR_NUMBER(), ERROR_SEVERITY(), ERROR_STATE(), ERROR_LINE(), @@ERROR
        END CATCH SELECT ERROR_NUMBER()";
    assert_eq!(run(text).await, ["8134|16|1|2|8134", "NULL"]);
}

#[tokio::test]
async fn nested_catch_blocks_see_their_own_error_and_then_the_outer_one() {
    let text = "BEGIN TRY THROW 50001, 'outer', 1; END TRY BEGIN CATCH
            BEGIN TRY THROW 50002, 'inner', 1; END TRY BEGIN CATCH SELECT ERROR_MESSAGE(); END CATCH
            SELECT ERROR_MESSAGE();
        END CATCH";
    assert_eq!(run(text).await, ["inner", "outer"]);
}

#[tokio::test]
async fn throw_without_arguments_raises_the_caught_error_again() {
    let text = "BEGIN TRY BEGIN TRY THROW 50005, 'in', 3; END TRY BEGIN CATCH THROW; END CATCH END TRY
        BEGIN CATCH SELECT ERROR_NUMBER(), ERROR_STATE(), ERROR_MESSAGE(); END CATCH";
    assert_eq!(run(text).await, ["50005|3|in"]);
    assert_eq!(run("THROW").await, ["ERR 10704"]);
}

#[tokio::test]
async fn an_uncaught_throw_ends_the_batch_and_keeps_the_transaction() {
    let mut client = Server::start().client();
    assert_eq!(client.run("BEGIN TRAN; THROW 50001, 'x', 1; PRINT 'no'").await, ["BEGUN", "ERR 50001"]);
    assert_eq!(client.run("SELECT @@TRANCOUNT").await, ["1"]);
}

#[tokio::test]
async fn raiserror_formats_and_goes_by_severity() {
    let text = "RAISERROR('%s has %d', 16, 2, 'a', 5); RAISERROR('note', 10, 1); SELECT @@ERROR";
    let events = Server::start().client().events(text).await;
    let Some(Event::Error(error)) = events.first() else { panic!("{events:?}") };
    assert_eq!((error.number, error.severity, error.state), (50000, 16, 2));
    assert_eq!(error.message, "a has 5");
    let lines: Vec<_> = events.iter().filter_map(line).collect();
    assert_eq!(lines, ["ERR 50000", "INFO 50000 note", "0"]);
}

#[tokio::test]
async fn raiserror_numbers_and_severities_have_their_limits() {
    assert_eq!(run("RAISERROR('x', 19, 1)").await, ["ERR 2754"]);
    assert_eq!(run("RAISERROR(50001, 16, 1)").await, ["ERR 18054"]);
    assert_eq!(run("RAISERROR(100, 16, 1)").await, ["ERR 2732"]);
    assert_eq!(run("RAISERROR('x', 0, 1) WITH SETERROR; SELECT @@ERROR").await, ["INFO 50000 x", "50000"]);
}

#[tokio::test]
async fn severity_20_ends_everything_with_a_second_error() {
    let text =
        "BEGIN TRY RAISERROR('fatal', 20, 1) WITH LOG END TRY BEGIN CATCH PRINT 'no' END CATCH PRINT 'no'";
    assert_eq!(run(text).await, ["ERR 50000", "ERR 2745"]);
}

#[tokio::test]
async fn xact_abort_rolls_back_for_any_error_and_dooms_inside_try() {
    let mut client = Server::start().client();
    let answers = client.run("SET XACT_ABORT ON; BEGIN TRAN; SELECT 1 / 0; PRINT 'no'").await;
    assert_eq!(answers, ["BEGUN", "ERR 8134", "ROLLED BACK"]);
    let text = "BEGIN TRY BEGIN TRAN; SELECT 1 / 0; END TRY
        BEGIN CATCH SELECT XACT_STATE(), @@TRANCOUNT; ROLLBACK; END CATCH";
    assert_eq!(client.run(text).await, ["BEGUN", "-1|1", "ROLLED BACK"]);
}

#[tokio::test]
async fn a_doomed_transaction_left_open_is_rolled_back_with_3998() {
    let text =
        "SET XACT_ABORT ON; BEGIN TRY BEGIN TRAN; SELECT 1 / 0; END TRY BEGIN CATCH PRINT 'x' END CATCH";
    let answers = run(text).await;
    assert_eq!(answers, ["BEGUN", "INFO 0 x", "ROLLED BACK", "ERR 3998"]);
}

#[tokio::test]
async fn a_missing_object_is_not_caught_in_its_own_scope_but_in_the_callers() {
    let inner = "BEGIN TRY SELECT * FROM missing END TRY BEGIN CATCH PRINT ''inner'' END CATCH";
    assert_eq!(run(&inner.replace("''", "'")).await, ["ERR 208"]);
    let outer = format!("BEGIN TRY EXEC('{inner}') END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH");
    assert_eq!(run(&outer).await, ["208"]);
    assert_eq!(
        run("EXEC('SELECT * FROM missing; PRINT ''no'''); PRINT 'on'").await,
        ["ERR 208", "INFO 0 on"]
    );
}

#[tokio::test]
async fn unsupported_constructs_are_named_when_they_run() {
    let events = Server::start().client().events("PRINT 'a'; CREATE CERTIFICATE c WITH SUBJECT = 'x'").await;
    let error = events.iter().find_map(|event| match event {
        Event::Error(error) => Some(error.clone()),
        _ => None,
    });
    let error = error.unwrap();
    assert_eq!(error.number, 40510);
    assert!(error.message.contains("CREATE CERTIFICATE"), "{}", error.message);
}

#[tokio::test]
async fn errors_name_their_line() {
    let events = Server::start().client().events("PRINT 'a'\n\nSELECT 1 / 0").await;
    let lines = events.iter().filter_map(|event| match event {
        Event::Error(error) => Some(error.line),
        _ => None,
    });
    assert_eq!(lines.collect::<Vec<_>>(), [3]);
}
