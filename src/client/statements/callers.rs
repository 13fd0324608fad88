//! Whether a caller's batch may leave something behind on its connection: settings, another database, an identity, a
//! temporary table, a cursor, a lock of the session.
//!
//! A look at words, not a parser: a word that may do it counts wherever it stands, also in a comment or in UPDATE. A false
//! alarm costs a connection; a miss would reach the next borrower (case C120).

/// Words of statements that change a session, or run code that may.
const ALTERING: &[&str] =
    &["SET", "USE", "EXEC", "EXECUTE", "REVERT", "DBCC", "CURSOR", "OPEN", "SETUSER", "KILL", "RECONFIGURE"];

/// Words that leave something on the connection even from within `sp_executesql`, at whose end the server restores settings,
/// database and identity: locks and values of the session, keys and global cursors, trace flags.
const OUTLIVING: &[&str] = &["SP_GETAPPLOCK", "SP_SET_SESSION_CONTEXT", "CONTEXT_INFO", "OPEN", "DBCC"];

/// Words that a batch may begin with; any other first word is the name of a procedure.
const BEGINNINGS: &[&str] = &[
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "MERGE",
    "TRUNCATE",
    "WITH",
    "CREATE",
    "ALTER",
    "DROP",
    "GRANT",
    "REVOKE",
    "DENY",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "SAVE",
    "SEND",
    "RECEIVE",
    "GET",
    "END",
    "MOVE",
    "WAITFOR",
    "IF",
    "WHILE",
    "DECLARE",
    "PRINT",
    "RAISERROR",
    "THROW",
];

/// Whether the batch may leave something behind.
pub(crate) fn may_alter_session(batch: &str) -> bool {
    // Temporary tables live as long as their session.
    if batch.contains('#') {
        return true;
    }
    let mut words = batch
        .split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '@' | '$')))
        .filter(|word| !word.is_empty());
    let is_one_of = |word: &str, list: &[&str]| list.iter().any(|known| word.eq_ignore_ascii_case(known));
    let Some(first) = words.next() else { return false };
    !is_one_of(first, BEGINNINGS) || words.any(|word| is_one_of(word, ALTERING))
}

/// Whether a statement with parameters may leave something behind. What a procedure does that it calls is not seen.
pub(crate) fn may_outlive_statement(sql: &str) -> bool {
    let mut words = sql.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.any(|word| OUTLIVING.iter().any(|known| word.eq_ignore_ascii_case(known)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c120_what_may_change_the_session_is_found_in_any_place_and_case() {
        for batch in [
            "SET XACT_ABORT ON",
            "SET LANGUAGE German",
            "SELECT 1; set lock_timeout 5",
            "/* SET */ SELECT 1",
            "USE master",
            "EXEC sp_configure",
            "sp_who",
            "SELECT 1;\nExecute AS USER = 'u'",
            "CREATE TABLE #t (id int)",
            "DECLARE c CURSOR FOR SELECT 1",
            "OPEN SYMMETRIC KEY k DECRYPTION BY CERTIFICATE c",
        ] {
            assert!(may_alter_session(batch), "{batch}");
        }
    }

    #[test]
    fn c120_what_a_statement_leaves_behind_is_found_and_settings_are_let_pass() {
        assert!(may_outlive_statement("EXEC [sys].[sp_getapplock] @P1, N'Exclusive', N'Session'"));
        assert!(may_outlive_statement("exec sp_set_session_context N'k', @P1"));
        assert!(may_outlive_statement("OPEN SYMMETRIC KEY k DECRYPTION BY PASSWORD = 'p'"));
        assert!(!may_outlive_statement("SET LANGUAGE German; EXEC p; SELECT opened FROM t"));
    }

    #[test]
    fn what_stays_within_its_batch_is_let_pass() {
        for batch in [
            "",
            "SELECT offset FROM t",
            "CREATE QUEUE [q]; CREATE SERVICE [s] ON QUEUE [q]",
            "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE [a] TO SERVICE 'b'; SEND ON CONVERSATION @h ('x')",
            "  WAITFOR (RECEIVE TOP (1) message_body FROM q), TIMEOUT 10",
        ] {
            assert!(!may_alter_session(batch), "{batch}");
        }
    }
}
