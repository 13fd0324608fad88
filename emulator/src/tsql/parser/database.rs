//! CREATE DATABASE and ALTER DATABASE.
//!
//! Must not know which databases exist. Files, sizes and filegroups are read and dropped.

use super::definitions::ddl;
use super::stream::{Parsed, Parser};
use crate::tsql::ast::ddl::{
    AlterDatabase, AlterDatabaseAction, CreateDatabase, DatabaseOption, DdlStatement, Termination,
};
use crate::tsql::ast::{Ident, StatementKind};
use crate::tsql::keywords::Keyword;
use crate::tsql::lexer::TokenKind;

/// Options of ALTER DATABASE SET that have no effect of their own here, by name.
const OTHER_OPTIONS: [&str; 53] = [
    "ACCELERATED_DATABASE_RECOVERY",
    "ALLOW_SNAPSHOT_ISOLATION",
    "ANSI_NULLS",
    "ANSI_NULL_DEFAULT",
    "ANSI_PADDING",
    "ANSI_WARNINGS",
    "ARITHABORT",
    "AUTOMATIC_TUNING",
    "AUTO_CLOSE",
    "AUTO_CREATE_STATISTICS",
    "AUTO_SHRINK",
    "AUTO_UPDATE_STATISTICS",
    "AUTO_UPDATE_STATISTICS_ASYNC",
    "CHANGE_TRACKING",
    "COMPATIBILITY_LEVEL",
    "CONCAT_NULL_YIELDS_NULL",
    "CONTAINMENT",
    "CURSOR_CLOSE_ON_COMMIT",
    "CURSOR_DEFAULT",
    "DATE_CORRELATION_OPTIMIZATION",
    "DB_CHAINING",
    "DEFAULT_FULLTEXT_LANGUAGE",
    "DEFAULT_LANGUAGE",
    "DELAYED_DURABILITY",
    "EMERGENCY",
    "ENCRYPTION",
    "FILESTREAM",
    "HADR",
    "MEMORY_OPTIMIZED_ELEVATE_TO_SNAPSHOT",
    "MIXED_PAGE_ALLOCATION",
    "NESTED_TRIGGERS",
    "NUMERIC_ROUNDABORT",
    "OFFLINE",
    "ONLINE",
    "PAGE_VERIFY",
    "PARAMETERIZATION",
    "PARTNER",
    "QUERY_STORE",
    "QUOTED_IDENTIFIER",
    "READ_COMMITTED_SNAPSHOT",
    "READ_ONLY",
    "READ_WRITE",
    "RECOVERY",
    "RECURSIVE_TRIGGERS",
    "SUPPLEMENTAL_LOGGING",
    "TARGET_RECOVERY_TIME",
    "TEMPORAL_HISTORY_RETENTION",
    "TORN_PAGE_DETECTION",
    "TRANSFORM_NOISE_WORDS",
    "TWO_DIGIT_YEAR_CUTOFF",
    "VARDECIMAL_STORAGE_FORMAT",
    "WITNESS",
    "DATA_RETENTION",
];

impl Parser<'_> {
    /// CREATE DATABASE, at DATABASE.
    pub(super) fn create_database(&mut self) -> Parsed<StatementKind> {
        for (word, construct) in [
            ("AUDIT", "CREATE DATABASE AUDIT SPECIFICATION"),
            ("SCOPED", "CREATE DATABASE SCOPED CREDENTIAL"),
            ("ENCRYPTION", "CREATE DATABASE ENCRYPTION KEY"),
        ] {
            let third = self.token_ahead(2).kind;
            if self.is_word_ahead(1, word)
                && matches!(third, TokenKind::Word | TokenKind::Keyword(Keyword::Key))
            {
                return self.unsupported(construct);
            }
        }
        self.advance();
        let name = self.ident()?;
        if self.take_word("CONTAINMENT") {
            self.expect(TokenKind::Equal)?;
            self.ident()?;
        }
        self.database_files()?;
        if self.at_keyword(Keyword::As) {
            return self.unsupported("database snapshots and copies");
        }
        let collation = if self.take_keyword(Keyword::Collate) { Some(self.ident()?) } else { None };
        let options = self.create_database_options()?;
        Ok(ddl(DdlStatement::CreateDatabase(CreateDatabase { name, collation, options })))
    }

    /// `ON [PRIMARY] (..), FILEGROUP g (..) LOG ON (..)`
    fn database_files(&mut self) -> Parsed<()> {
        if self.take_keyword(Keyword::On) {
            self.comma_separated(Self::file_specification)?;
        }
        if self.take_word("LOG") {
            self.expect_keyword(Keyword::On)?;
            self.comma_separated(Self::skip_parentheses)?;
        }
        Ok(())
    }

    fn file_specification(&mut self) -> Parsed<()> {
        if self.take_keyword(Keyword::Primary) {
        } else if self.take_word("FILEGROUP") {
            self.ident()?;
            if self.take_word("CONTAINS") || self.take_keyword(Keyword::Contains) {
                self.ident()?;
            }
            self.take_keyword(Keyword::Default);
        }
        self.skip_parentheses()
    }

    /// `WITH a, b` and `FOR ATTACH ..`, by their words.
    fn create_database_options(&mut self) -> Parsed<Vec<String>> {
        let mut options = Vec::new();
        if self.at_keyword(Keyword::For) {
            return self.unsupported("CREATE DATABASE FOR ATTACH");
        }
        if self.take_keyword(Keyword::With) {
            options = self.comma_separated(Self::create_database_option)?;
        }
        Ok(options)
    }

    fn create_database_option(&mut self) -> Parsed<String> {
        let name = self.ident()?.text.to_ascii_uppercase();
        self.take(TokenKind::Equal);
        if self.at(TokenKind::OpenParen) {
            self.skip_parentheses()?;
            return Ok(name);
        }
        let value = self.option_value_word()?;
        Ok(if value.is_empty() { name } else { format!("{name} {value}") })
    }

    /// ALTER DATABASE, at DATABASE.
    pub(super) fn alter_database(&mut self, start: usize) -> Parsed<StatementKind> {
        let longer = ["AUDIT", "SCOPED", "ENCRYPTION"].iter().any(|word| self.is_word_ahead(1, word));
        let third = self.token_ahead(2).kind;
        if longer && matches!(third, TokenKind::Word | TokenKind::Keyword(Keyword::Key)) {
            return self.known_definition(start, "ALTER");
        }
        self.advance();
        let name = if self.take_keyword(Keyword::Current) { None } else { Some(self.ident()?) };
        let action = self.alter_database_action()?;
        Ok(ddl(DdlStatement::AlterDatabase(AlterDatabase { name, action })))
    }

    fn alter_database_action(&mut self) -> Parsed<AlterDatabaseAction> {
        if self.take_keyword(Keyword::Collate) {
            return Ok(AlterDatabaseAction::Collate(self.ident()?));
        }
        if self.take_words(&["MODIFY", "NAME"]) {
            self.expect(TokenKind::Equal)?;
            return Ok(AlterDatabaseAction::Rename(self.ident()?));
        }
        if self.at_keyword(Keyword::Add) || self.at_word("REMOVE") || self.at_word("MODIFY") {
            return self.unsupported("ALTER DATABASE of files and filegroups");
        }
        self.expect_keyword(Keyword::Set)?;
        let options = self.comma_separated(Self::database_option)?;
        let termination = if self.at_termination() { Some(self.termination()?) } else { None };
        Ok(AlterDatabaseAction::Set { options, termination })
    }

    fn database_option(&mut self) -> Parsed<DatabaseOption> {
        let position = self.position();
        if !self.at(TokenKind::Word) {
            return self.unexpected();
        }
        let token = self.advance();
        let name = self.text_of(token).to_ascii_uppercase();
        Ok(match name.as_str() {
            "ENABLE_BROKER" => DatabaseOption::EnableBroker,
            "DISABLE_BROKER" => DatabaseOption::DisableBroker,
            "NEW_BROKER" => DatabaseOption::NewBroker,
            "ERROR_BROKER_CONVERSATIONS" => DatabaseOption::ErrorBrokerConversations,
            "HONOR_BROKER_PRIORITY" => DatabaseOption::HonorBrokerPriority(self.on_off()?),
            "TRUSTWORTHY" => DatabaseOption::Trustworthy(self.on_off()?),
            "SINGLE_USER" => DatabaseOption::SingleUser,
            "RESTRICTED_USER" => DatabaseOption::RestrictedUser,
            "MULTI_USER" => DatabaseOption::MultiUser,
            _ if OTHER_OPTIONS.contains(&name.as_str()) => {
                let value = self.database_option_value()?;
                DatabaseOption::Other { name, value }
            }
            _ => return self.unexpected_at(position),
        })
    }

    /// `[=] value [unit] [(..)]`, or nothing.
    fn database_option_value(&mut self) -> Parsed<String> {
        self.take(TokenKind::Equal);
        let mut value = String::new();
        loop {
            if self.at(TokenKind::OpenParen) {
                self.skip_parentheses()?;
                continue;
            }
            let word = self.option_value_word()?;
            if word.is_empty() {
                return Ok(value);
            }
            if !value.is_empty() {
                value.push(' ');
            }
            value.push_str(&word);
        }
    }

    /// One word, number or string of an option's value in upper case; empty when none comes next.
    fn option_value_word(&mut self) -> Parsed<String> {
        let token = self.token();
        let is_value = match token.kind {
            TokenKind::Keyword(keyword) => {
                matches!(keyword, Keyword::On | Keyword::Off | Keyword::Full | Keyword::All)
            }
            TokenKind::Word => !self.at_conversation_verb() && !self.at_receive_statement(),
            TokenKind::Integer | TokenKind::String | TokenKind::NationalString => true,
            _ => false,
        };
        if !is_value {
            return Ok(String::new());
        }
        self.advance();
        Ok(self.bare_text(token).to_ascii_uppercase())
    }

    fn at_termination(&self) -> bool {
        self.at_keyword(Keyword::With)
            && (self.is_keyword_ahead(1, Keyword::Rollback) || self.is_word_ahead(1, "NO_WAIT"))
    }

    fn termination(&mut self) -> Parsed<Termination> {
        self.advance();
        if self.take_word("NO_WAIT") {
            return Ok(Termination::NoWait);
        }
        self.expect_keyword(Keyword::Rollback)?;
        if self.take_word("IMMEDIATE") {
            return Ok(Termination::RollbackImmediate);
        }
        self.expect_word("AFTER")?;
        let seconds = self.unsigned()?;
        let _ = self.take_word("SECONDS") || self.take_word("SECOND");
        Ok(Termination::RollbackAfter(seconds))
    }

    /// A principal, a database or another single name after `=`.
    pub(super) fn equals_ident(&mut self) -> Parsed<Ident> {
        self.expect(TokenKind::Equal)?;
        self.ident()
    }
}
