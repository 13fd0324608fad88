//! Control flow, variables and cursors, run in a session.

use super::support::{Server, run};

#[tokio::test]
async fn if_while_break_continue_and_goto_run_in_order() {
    let text =
        "DECLARE @i int = 0; WHILE 1 = 1 BEGIN SET @i = @i + 1; IF @i = 2 CONTINUE; IF @i > 4 BREAK; END;
        again: SET @i = @i + 1; IF @i < 8 GOTO again; SELECT @i";
    assert_eq!(run(text).await, ["8"]);
}

#[tokio::test]
async fn a_variable_declared_in_a_branch_that_did_not_run_is_null() {
    assert_eq!(run("IF 1 = 2 BEGIN DECLARE @x int = 5 END SELECT @x").await, ["NULL"]);
}

#[tokio::test]
async fn a_declaration_in_a_loop_assigns_each_time_and_never_resets() {
    let text = "DECLARE @i int = 0, @seen varchar(20) = '';
        WHILE @i < 3 BEGIN
            DECLARE @a int = 0; DECLARE @b int;
            SET @a = @a + 1; SET @b = ISNULL(@b, 0) + 1; SET @i = @i + 1;
        END SELECT @a, @b";
    assert_eq!(run(text).await, ["1|3"]);
}

#[tokio::test]
async fn a_variable_is_unknown_before_its_declaration_and_in_other_batches() {
    let mut client = Server::start().client();
    assert_eq!(client.run("SET @x = 1; DECLARE @x int").await, ["ERR 137"]);
    assert_eq!(client.run("DECLARE @x int = 3").await, [""; 0]);
    assert_eq!(client.run("SELECT @x").await, ["ERR 137"]);
}

#[tokio::test]
async fn return_ends_the_batch_and_needs_a_procedure_for_a_value() {
    assert_eq!(run("PRINT 'a'; RETURN; PRINT 'b'").await, ["INFO 0 a"]);
    assert_eq!(run("RETURN 5").await, ["ERR 178"]);
}

#[tokio::test]
async fn a_syntax_error_keeps_the_whole_batch_from_running() {
    assert_eq!(run("PRINT 'a'; SELECT FROM WHERE").await.len(), 1);
}

#[tokio::test]
async fn rowcount_follows_the_last_statement() {
    let text = "DECLARE @t TABLE (a int); INSERT @t VALUES (1), (2); SELECT @@ROWCOUNT; SELECT @@ROWCOUNT;
        UPDATE @t SET a = 3; IF @@ROWCOUNT = 2 SELECT @@ROWCOUNT; DECLARE @x int; SET @x = 1; SELECT @@ROWCOUNT;
        UPDATE @t SET a = 4; PRINT 'x'; SELECT @@ROWCOUNT";
    assert_eq!(run(text).await, ["2", "1", "0", "1", "INFO 0 x", "0"]);
}
