//! Procedures of the user, of the system, and prepared statements.

use super::support::{Client, Server, line, parameter, run};
use crate::output::Event;
use crate::request::ProcedureName;
use crate::value::Value;

#[tokio::test]
async fn sp_executesql_has_its_own_variables_and_gives_outputs_back() {
    let text = "DECLARE @n int; EXEC sp_executesql N'SELECT @x = @y + 1', N'@y int, @x int OUTPUT', @y = 4, @x = @n OUTPUT; SELECT @n";
    assert_eq!(run(text).await, ["5"]);
    assert_eq!(run("DECLARE @a int = 1; EXEC sp_executesql N'SELECT @a'").await, ["ERR 137", "STATUS 137"]);
}

#[tokio::test]
async fn dynamic_text_runs_in_a_scope_of_its_own() {
    let text =
        "DECLARE @s nvarchar(50) = N'SELECT '; EXEC(@s + N'1 + 1'); EXEC('DECLARE @z int = 4; SELECT @z')";
    assert_eq!(run(text).await, ["2", "4"]);
}

#[tokio::test]
async fn unknown_procedures_are_2812_and_catchable() {
    assert_eq!(run("EXEC sp_nothing; PRINT 'on'").await, ["ERR 2812", "INFO 0 on"]);
    assert_eq!(
        run("BEGIN TRY EXEC xp_nothing END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH").await,
        ["2812"]
    );
}

#[tokio::test]
async fn a_different_transaction_count_on_leaving_is_266() {
    assert_eq!(run("EXEC sp_executesql N'BEGIN TRAN'; SELECT @@TRANCOUNT").await, ["BEGUN", "ERR 266", "1"]);
}

#[tokio::test]
async fn a_remote_sp_executesql_answers_rows_status_and_outputs() {
    let mut client = Server::start().client();
    let events = execute_sql(&mut client, "SELECT @a; SET @b = @a + 1", "@a int, @b int OUTPUT").await;
    let lines: Vec<_> = events.iter().filter_map(line).collect();
    assert_eq!(lines, ["41", "OUTPUT @b=42"]);
    assert!(events.iter().all(|event| !matches!(event, Event::StatementDone { in_procedure: false, .. })));
    assert_eq!(events.last(), Some(&Event::ProcedureDone { failed: false }));
}

#[tokio::test]
async fn an_error_in_a_remote_call_does_not_end_the_session() {
    let mut client = Server::start().client();
    let events = client.call(ProcedureName::Name("dbo.nothing".to_owned()), vec![]).await;
    assert!(matches!(events.first(), Some(Event::Error(error)) if error.number == 2812), "{events:?}");
    assert_eq!(events.last(), Some(&Event::ProcedureDone { failed: true }));
    assert_eq!(client.run("SELECT 1").await, ["1"]);
}

#[tokio::test]
async fn prepared_statements_run_by_their_handle_until_unprepared() {
    let mut client = Server::start().client();
    let text = |text: &str| parameter("", Value::nvarchar(text), false);
    let prepare = vec![
        parameter("", Value::Null, true),
        text("@p int"),
        text("SELECT @p * 2"),
        parameter("@p", Value::Int(4), false),
    ];
    let events = client.call(ProcedureName::Number(13), prepare).await;
    assert_eq!(events.iter().filter_map(line).collect::<Vec<_>>(), ["8", "OUTPUT =1"]);
    let handle = || parameter("", Value::Int(1), false);
    let events =
        client.call(ProcedureName::Number(12), vec![handle(), parameter("", Value::Int(5), false)]).await;
    assert_eq!(events.iter().filter_map(line).collect::<Vec<_>>(), ["10"]);
    let unprepare = client.call(ProcedureName::Number(15), vec![handle()]).await;
    assert_eq!(unprepare.iter().filter_map(line).count(), 0);
    let gone = client.call(ProcedureName::Number(12), vec![handle()]).await;
    assert!(matches!(gone.first(), Some(Event::Error(error)) if error.number == 8179), "{gone:?}");
}

#[tokio::test]
async fn a_batch_may_begin_with_a_procedures_name() {
    let answers = run("sp_datatype_info_100 12, 3").await;
    assert_eq!(answers.len(), 1);
    assert!(answers[0].starts_with("varchar|12|8000"), "{answers:?}");
}

async fn execute_sql(client: &mut Client, text: &str, declarations: &str) -> Vec<Event> {
    let parameters = vec![
        parameter("stmt", Value::nvarchar(text), false),
        parameter("params", Value::nvarchar(declarations), false),
        parameter("@a", Value::Int(41), false),
        parameter("@b", Value::Null, true),
    ];
    client.call(ProcedureName::Number(10), parameters).await
}

#[tokio::test]
async fn procedures_take_defaults_outputs_and_return_a_status() {
    let mut client = Server::start().client();
    client.run("CREATE PROCEDURE p @a int = 3, @b int OUTPUT AS BEGIN SET @b = @a * 2; RETURN 5 END").await;
    let text = "DECLARE @o int, @r int; EXEC @r = p 4, @o OUTPUT; SELECT @o, @r; EXEC @r = p @b = @o OUT; SELECT @o, @r";
    assert_eq!(client.run(text).await, ["STATUS 5", "8|5", "STATUS 5", "6|5"]);
    assert_eq!(client.run("EXEC p 1").await, ["ERR 201"]);
}

#[tokio::test]
async fn names_in_procedures_are_looked_up_when_they_run() {
    let mut client = Server::start().client();
    assert_eq!(client.run("CREATE PROC p AS SELECT a FROM later").await, [""; 0]);
    assert_eq!(client.run("EXEC p; PRINT 'on'").await, ["ERR 208", "INFO 0 on"]);
    client.run("CREATE TABLE later (a int); INSERT INTO later VALUES (5)").await;
    assert_eq!(client.run("EXEC p").await, ["5"]);
}

#[tokio::test]
async fn errors_in_procedures_name_them_and_reach_the_callers_catch() {
    let mut client = Server::start().client();
    client.run("CREATE PROC p AS\n\nSELECT 1 / 0").await;
    let text = "BEGIN TRY EXEC p END TRY BEGIN CATCH SELECT ERROR_PROCEDURE(), ERROR_LINE(), ERROR_NUMBER() END CATCH";
    assert_eq!(client.run(text).await, ["p|3|8134"]);
}

#[tokio::test]
async fn altered_procedures_run_their_new_text_and_dropped_ones_are_gone() {
    let mut client = Server::start().client();
    client.run("CREATE PROC p AS SELECT 1").await;
    client.run("ALTER PROC p AS SELECT 2").await;
    assert_eq!(client.run("EXEC dbo.p").await, ["2"]);
    client.run("CREATE OR ALTER PROC p AS SELECT 3").await;
    assert_eq!(client.run("DECLARE @p sysname = 'p'; EXEC @p").await, ["3"]);
    assert_eq!(client.run("DROP PROCEDURE p; EXEC p").await, ["ERR 2812"]);
}

#[tokio::test]
async fn recursion_ends_at_level_32() {
    let mut client = Server::start().client();
    client.run("CREATE PROC p AS EXEC p").await;
    assert_eq!(client.run("EXEC p; PRINT 'no'").await, ["ERR 217"]);
}

#[tokio::test]
async fn cursors_visit_every_row_and_outlive_their_batch() {
    let mut client = Server::start().client();
    client.run("CREATE TABLE t (a int); INSERT t VALUES (1), (2), (3)").await;
    let text =
        "DECLARE c CURSOR FOR SELECT a FROM t; OPEN c; DECLARE @x int, @s int = 0; FETCH NEXT FROM c INTO @x;
        WHILE @@FETCH_STATUS = 0 BEGIN SET @s += @x; FETCH NEXT FROM c INTO @x END; CLOSE c; SELECT @s";
    assert_eq!(client.run(text).await, ["6"]);
    assert_eq!(client.run("DECLARE c CURSOR FOR SELECT 1").await, ["ERR 16915"]);
    assert_eq!(client.run("FETCH c; DEALLOCATE c; OPEN c").await, ["ERR 16917", "ERR 16916"]);
}
