//! T-SQL that is recognised by its name only: what it is called, and where it ends.
//!
//! A statement of this kind is no error of syntax; it says what it is when it runs. Its end is found without
//! its grammar: at a semicolon or before a word that begins a statement, outside parentheses.
//!
//! Must not know any grammar.

use super::stream::{Failure, Parsed, Parser, fail};
use crate::tsql::ast::StatementKind;
use crate::tsql::error::ParseError;
use crate::tsql::keywords::Keyword;
use crate::tsql::lexer::TokenKind;

/// Kinds of objects that CREATE, ALTER and DROP know by name, in the words that follow those.
const KNOWN_OBJECTS: [&str; 44] = [
    "AGGREGATE",
    "APPLICATION ROLE",
    "ASSEMBLY",
    "ASYMMETRIC KEY",
    "AVAILABILITY GROUP",
    "CERTIFICATE",
    "CLUSTERED COLUMNSTORE INDEX",
    "CLUSTERED INDEX",
    "COLUMN ENCRYPTION KEY",
    "COLUMN MASTER KEY",
    "COLUMNSTORE INDEX",
    "CREDENTIAL",
    "CRYPTOGRAPHIC PROVIDER",
    "DATABASE",
    "DEFAULT",
    "ENDPOINT",
    "EVENT SESSION",
    "EXTERNAL",
    "FULLTEXT",
    "INDEX",
    "MASTER KEY",
    "NONCLUSTERED COLUMNSTORE INDEX",
    "NONCLUSTERED INDEX",
    "PARTITION FUNCTION",
    "PARTITION SCHEME",
    "PRIMARY XML INDEX",
    "RESOURCE POOL",
    "RULE",
    "SEARCH PROPERTY LIST",
    "SECURITY POLICY",
    "SEQUENCE",
    "SERVER",
    "SIGNATURE",
    "SPATIAL INDEX",
    "STATISTICS",
    "SYMMETRIC KEY",
    "SYNONYM",
    "TYPE",
    "UNIQUE CLUSTERED INDEX",
    "UNIQUE INDEX",
    "UNIQUE NONCLUSTERED INDEX",
    "WORKLOAD GROUP",
    "XML INDEX",
    "XML SCHEMA COLLECTION",
];

/// Statements known by their first words.
const KNOWN_STATEMENTS: [(&[Keyword], &str); 13] = [
    (&[Keyword::Backup], "BACKUP"),
    (&[Keyword::Restore], "RESTORE"),
    (&[Keyword::Dbcc], "DBCC"),
    (&[Keyword::Bulk, Keyword::Insert], "BULK INSERT"),
    (&[Keyword::Checkpoint], "CHECKPOINT"),
    (&[Keyword::Reconfigure], "RECONFIGURE"),
    (&[Keyword::Shutdown], "SHUTDOWN"),
    (&[Keyword::Setuser], "SETUSER"),
    (&[Keyword::Readtext], "READTEXT"),
    (&[Keyword::Writetext], "WRITETEXT"),
    (&[Keyword::Updatetext], "UPDATETEXT"),
    (&[Keyword::Add], "ADD SIGNATURE"),
    (&[Keyword::Lineno], "LINENO"),
];

impl Parser<'_> {
    /// A rule's answer to T-SQL that the emulator does not offer.
    pub(super) fn unsupported<T>(&self, construct: &'static str) -> Parsed<T> {
        Err(Failure::Unsupported(construct))
    }

    /// The statement that starts here as one that is not offered.
    pub(super) fn unsupported_statement(&mut self, construct: &str) -> StatementKind {
        self.advance();
        self.skip_to_next_statement();
        StatementKind::Unsupported { construct: construct.to_owned() }
    }

    /// A statement whose first word is reserved and which no rule parses.
    pub(super) fn known_by_name(&mut self, keyword: Keyword) -> Parsed<StatementKind> {
        let known = KNOWN_STATEMENTS.iter().find(|(words, _)| words[0] == keyword);
        let Some((words, name)) = known else { return self.unexpected() };
        let complete =
            words.iter().enumerate().all(|(distance, word)| self.is_keyword_ahead(distance, *word));
        if !complete {
            return self.unexpected();
        }
        // Words of the statement's own name may look like the start of the next one.
        for _ in 1..words.len() {
            self.advance();
        }
        let construct = self.backup_name(name);
        Ok(self.unsupported_statement(&construct))
    }

    /// `BACKUP CERTIFICATE`, `RESTORE DATABASE`: the kind belongs to the name.
    fn backup_name(&self, name: &str) -> String {
        let next = self.token_ahead(1);
        let kind = matches!(next.kind, TokenKind::Word | TokenKind::Keyword(_));
        match name {
            "BACKUP" | "RESTORE" if kind => format!("{name} {}", self.text_of(next).to_ascii_uppercase()),
            _ => name.to_owned(),
        }
    }

    /// CREATE, ALTER or DROP of a kind that is known by name, with the parser at the kind's first word.
    pub(super) fn known_definition(&mut self, start: usize, verb: &str) -> Parsed<StatementKind> {
        let known = KNOWN_OBJECTS.iter().find(|object| self.words_follow(object));
        let Some(object) = known else { return self.unexpected() };
        let construct = format!("{verb} {object}");
        if *object == "DEFAULT" || *object == "RULE" {
            self.refuse_unless_first(start, &construct)?;
        }
        for _ in 1..object.split(' ').count() {
            self.advance();
        }
        if self.is_keyword_ahead(1, Keyword::If) {
            self.advance();
        }
        Ok(self.unsupported_statement(&construct))
    }

    fn words_follow(&self, words: &str) -> bool {
        words.split(' ').enumerate().all(|(distance, word)| {
            let token = self.token_ahead(distance);
            let is_word = matches!(token.kind, TokenKind::Word | TokenKind::Keyword(_));
            is_word && self.text_of(token).eq_ignore_ascii_case(word)
        })
    }

    /// CREATE or ALTER of a view, function or trigger: its text runs to the end of the batch.
    pub(super) fn module(&mut self, start: usize, verb: &str, keyword: Keyword) -> Parsed<StatementKind> {
        let construct = format!("{verb} {}", keyword.text());
        self.refuse_unless_first(start, &construct)?;
        self.advance();
        self.object_name_of(3)?;
        while !self.at(TokenKind::End) {
            if self.at(TokenKind::Invalid) {
                return self.unexpected();
            }
            self.advance();
        }
        Ok(StatementKind::Unsupported { construct })
    }

    /// Definitions that have to be the first statement of their batch: 111, or 156 within a block.
    pub(super) fn refuse_unless_first(&self, start: usize, statement: &str) -> Parsed<()> {
        if start == self.first_statement_position() {
            return Ok(());
        }
        if self.is_within_block() {
            return self.unexpected();
        }
        fail(ParseError::must_be_first(statement, self.token().line))
    }

    /// Skips to what ends or follows the statement.
    pub(super) fn skip_to_next_statement(&mut self) {
        let mut depth = 0_usize;
        let mut cases = 0_usize;
        loop {
            match self.token().kind {
                TokenKind::End | TokenKind::Invalid => return,
                TokenKind::OpenParen => depth += 1,
                TokenKind::CloseParen if depth == 0 => return,
                TokenKind::CloseParen => depth -= 1,
                TokenKind::Keyword(Keyword::Case) => cases += 1,
                TokenKind::Keyword(Keyword::End) if cases > 0 => cases -= 1,
                _ if depth == 0 && self.at_statement_start() => return,
                _ => {}
            }
            self.advance();
        }
    }

    fn at_statement_start(&self) -> bool {
        match self.token().kind {
            TokenKind::Semicolon => true,
            TokenKind::Keyword(Keyword::Set) => self.token_ahead(1).kind != TokenKind::OpenParen,
            TokenKind::Keyword(keyword) => starts_statement(keyword),
            _ => self.at_conversation_verb(),
        }
    }
}

fn starts_statement(keyword: Keyword) -> bool {
    matches!(
        keyword,
        Keyword::Select
            | Keyword::Insert
            | Keyword::Update
            | Keyword::Delete
            | Keyword::Exec
            | Keyword::Execute
            | Keyword::If
            | Keyword::Else
            | Keyword::While
            | Keyword::Begin
            | Keyword::End
            | Keyword::Declare
            | Keyword::Print
            | Keyword::Return
            | Keyword::Create
            | Keyword::Alter
            | Keyword::Drop
            | Keyword::Use
            | Keyword::Grant
            | Keyword::Deny
            | Keyword::Revoke
            | Keyword::Raiserror
            | Keyword::Truncate
            | Keyword::Waitfor
            | Keyword::Commit
            | Keyword::Rollback
            | Keyword::Save
            | Keyword::Open
            | Keyword::Close
            | Keyword::Fetch
            | Keyword::Deallocate
            | Keyword::Goto
            | Keyword::Break
            | Keyword::Continue
            | Keyword::Kill
            | Keyword::Backup
            | Keyword::Restore
            | Keyword::Dbcc
            | Keyword::Revert
    )
}
