//! Where one statement ends and the next begins.

use super::{batch, error_number, only, outline, statements};
use crate::tsql::ast::StatementKind;

fn check(text: &str, expected: &str) {
    assert_eq!(outline(&statements(text)), expected, "{text}");
}

#[test]
fn reserved_words_end_a_statement_without_a_semicolon() {
    check("SELECT a FROM t COMMIT", "Select Commit");
    check("SELECT a FROM t\nCOMMIT TRAN", "Select Commit");
    check("SELECT a FROM t CLOSE c", "Select Close");
    check("SELECT a FROM t SAVE TRAN x", "Select Save");
    check("SELECT a FROM t REVERT", "Select Revert");
    check("SELECT a FROM t USE db", "Select Use");
    check("SELECT a FROM t WAITFOR DELAY '0:0:1'", "Select WaitFor");
    check("SELECT @h BEGIN DIALOG @h FROM SERVICE a TO SERVICE 'b'", "Select BeginDialog");
    check("SELECT @h END CONVERSATION @h", "Select EndConversation");
    check("EXEC dbo.p\nSELECT 1", "Execute Select");
    check("EXEC p @a, 1 SELECT 1", "Execute Select");
    check("ROLLBACK TRAN IF 1 = 1 SELECT 1", "Rollback if(Select)");
    check("SET ANSI_NULLS ON SET QUOTED_IDENTIFIER ON", "SetOptions SetOptions");
    check("ALTER DATABASE x SET RECOVERY SIMPLE DROP DATABASE x", "AlterDatabase Drop");
}

#[test]
fn broker_verbs_follow_a_complete_statement() {
    check("SET @a = 1 SEND ON CONVERSATION @h", "SetVariable Send");
    check("COMMIT RECEIVE * FROM q", "Commit Receive");
    check("BEGIN TRAN RECEIVE * FROM q", "Begin Receive");
    check("BEGIN TRAN SEND ON CONVERSATION @h", "Begin Send");
    check("EXEC p SEND ON CONVERSATION @h", "Execute Send");
    check("EXEC p RECEIVE * FROM q", "Execute Receive");
    check("SELECT * FROM t RECEIVE * FROM q", "Select Receive");
    check("END CONVERSATION @h WITH CLEANUP MOVE CONVERSATION @h TO @g", "EndConversation MoveConversation");
    check("RETURN RECEIVE * FROM q", "Return Receive");
    check("GET CONVERSATION GROUP @g FROM q RECEIVE * FROM q", "GetConversationGroup Receive");
}

#[test]
fn begin_and_end_look_at_the_next_word_across_lines_and_comments() {
    check("BEGIN -- x\n DIALOG @h FROM SERVICE a TO SERVICE 'b'", "BeginDialog");
    check("BEGIN /* a */ CONVERSATION\nTIMER (@h) TIMEOUT = 5", "BeginConversationTimer");
    check("BEGIN\nTRY SELECT 1 END\n/**/TRY BEGIN CATCH END CATCH", "try(Select) catch()");
    check("BEGIN END\n--\nCONVERSATION @h END", "block(EndConversation)");
    check("BEGIN BEGIN TRAN END", "block(Begin)");
    check("BEGIN TRY; SELECT 1; END TRY BEGIN CATCH; END CATCH;", "try(Select) catch()");
}

#[test]
fn lone_semicolons_are_nothing() {
    check(";;SELECT 1;;;SELECT 2;", "Select Select");
    check("", "");
    check("-- nothing", "");
    check("IF 1 = 1 SELECT 1;; ELSE SELECT 2; SELECT 3", "if(Select else Select) Select");
}

#[test]
fn only_the_first_statement_may_be_a_procedures_name() {
    check("sp_who 1", "Execute");
    check("[my proc]", "Execute");
    check(";p; SELECT 1", "Execute Select");
    assert_eq!(error_number("SELECT 1; p 1"), 102);
    assert_eq!(error_number("BEGIN p END"), 102);
}

#[test]
fn with_needs_a_semicolon_before_it_unless_it_begins_a_list() {
    check(";WITH c AS (SELECT 1 a) SELECT * FROM c", "Select");
    check("BEGIN WITH c AS (SELECT 1 a) SELECT * FROM c END", "block(Select)");
    check("IF 1 = 1 WITH c AS (SELECT 1 a) SELECT * FROM c", "if(Select)");
    check("x: WITH c AS (SELECT 1 a) DELETE c", "Label Delete");
    assert_eq!(error_number("SET @a = 1 WITH c AS (SELECT 1 a) SELECT * FROM c"), 319);
    assert_eq!(error_number("SELECT 1 FROM t WITH c AS (SELECT 1 a) SELECT * FROM c"), 319);
}

#[test]
fn a_label_is_no_alias() {
    check("SELECT 1 again: SELECT 2", "Select Label Select");
}

#[test]
fn statements_know_their_line_and_text() {
    let text = "-- a\nSELECT 1;\n\n  EXEC p\n  'x'\nSELECT\n2";
    let statements = statements(text);
    let lines: Vec<_> = statements.iter().map(|statement| statement.line).collect();
    let texts: Vec<_> =
        statements.iter().map(|statement| &text[statement.span.start..statement.span.end]).collect();
    assert_eq!(lines, [2, 4, 6]);
    assert_eq!(texts, ["SELECT 1", "EXEC p\n  'x'", "SELECT\n2"]);
}

#[test]
fn what_is_not_offered_ends_where_the_next_statement_begins() {
    check("CREATE CERTIFICATE c WITH SUBJECT = 'x' SELECT 1", "unsupported[CREATE CERTIFICATE] Select");
    check("DBCC CHECKIDENT ('t', RESEED, 0); PRINT 'x'", "unsupported[DBCC] Print");
    check("BULK INSERT t FROM 'x' WITH (FIRSTROW = 2)", "unsupported[BULK INSERT]");
    check("BEGIN BACKUP DATABASE d TO DISK = 'x' END", "block(unsupported[BACKUP DATABASE])");
    check("SELECT * FROM t PIVOT (SUM(a) FOR b IN ([1])) p SELECT 1", "unsupported[PIVOT] Select");
    check("DROP INDEX IF EXISTS i ON t SELECT 1", "DropIndex Select");
    check("CREATE VIEW v AS SELECT 1 a; SELECT 2", "unsupported[CREATE VIEW]");
}

#[test]
fn a_condition_that_is_not_offered_takes_its_branches_with_it() {
    let text = "IF CONTAINS(a, 'x') SELECT 1 ELSE SELECT 2 SELECT 3";
    check(text, "unsupported[full-text predicates] Select");
    check("WHILE CONTAINS(a, 'x') BEGIN SELECT 1 END PRINT 'a'", "unsupported[full-text predicates] Print");
}

#[test]
fn a_whole_request_of_the_client_is_four_statements() {
    let text = "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE [a] TO SERVICE N'b' ON CONTRACT [c] \
                WITH ENCRYPTION = OFF; SEND ON CONVERSATION @h MESSAGE TYPE [m] (N'x'); SELECT @h";
    check(text, "Declare BeginDialog Send Select");
}

#[test]
fn an_activation_procedure_keeps_its_shape() {
    let text = "CREATE PROCEDURE p AS WHILE (1=1) BEGIN BEGIN TRAN; WAITFOR (RECEIVE TOP(1) @h = conversation_handle \
                FROM q), TIMEOUT 1000; IF @@ROWCOUNT = 0 BEGIN ROLLBACK; BREAK END; IF @t = N'x' SEND ON \
                CONVERSATION @h (@b); ELSE IF @t = N'y' END CONVERSATION @h; COMMIT END";
    let StatementKind::Ddl(ddl) = only(text) else { panic!("a definition") };
    let crate::tsql::ast::ddl::DdlStatement::Procedure(procedure) = *ddl else { panic!("a procedure") };
    let expected =
        "while(block(Begin WaitFor if(block(Rollback Break)) if(Send else if(EndConversation)) Commit))";
    assert_eq!(outline(&procedure.body), expected);
    assert_eq!(batch("x: GOTO x").labels.len(), 1);
}
