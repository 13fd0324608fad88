//! SET of session options.
//!
//! Must not know what an option does. Unknown names are error 195, as on a server.

use super::stream::{Parsed, Parser, fail};
use crate::tsql::ast::statement::{IsolationLevel, SetOption};
use crate::tsql::ast::{Expr, StatementKind};
use crate::tsql::error::ParseError;
use crate::tsql::keywords::Keyword;
use crate::tsql::lexer::{Token, TokenKind};

/// Options that are ON or OFF and may be listed together.
const SWITCHES: [&str; 23] = [
    "ANSI_DEFAULTS",
    "ANSI_NULLS",
    "ANSI_NULL_DFLT_OFF",
    "ANSI_NULL_DFLT_ON",
    "ANSI_PADDING",
    "ANSI_WARNINGS",
    "ARITHABORT",
    "ARITHIGNORE",
    "CONCAT_NULL_YIELDS_NULL",
    "CURSOR_CLOSE_ON_COMMIT",
    "DISABLE_DEF_CNST_CHK",
    "FMTONLY",
    "FORCEPLAN",
    "IMPLICIT_TRANSACTIONS",
    "NOCOUNT",
    "NOEXEC",
    "NO_BROWSETABLE",
    "NUMERIC_ROUNDABORT",
    "PARSEONLY",
    "QUOTED_IDENTIFIER",
    "REMOTE_PROC_TRANSACTIONS",
    "XACT_ABORT",
    "RESULT_SET_CACHING",
];

/// Switches that only ask for a report on plans.
const SHOWPLANS: [&str; 3] = ["SHOWPLAN_ALL", "SHOWPLAN_TEXT", "SHOWPLAN_XML"];

/// Options with a value.
const VALUES: [&str; 8] = [
    "CONTEXT_INFO",
    "DATEFIRST",
    "DATEFORMAT",
    "DEADLOCK_PRIORITY",
    "FIPS_FLAGGER",
    "LANGUAGE",
    "LOCK_TIMEOUT",
    "QUERY_GOVERNOR_COST_LIMIT",
];

impl Parser<'_> {
    /// SET of options, after SET.
    pub(super) fn set_options(&mut self) -> Parsed<StatementKind> {
        let options = match self.token().kind {
            TokenKind::Keyword(keyword) => self.keyword_option(keyword)?,
            TokenKind::Word => self.word_option()?,
            _ => return self.unexpected(),
        };
        Ok(StatementKind::SetOptions(options))
    }

    fn keyword_option(&mut self, keyword: Keyword) -> Parsed<Vec<SetOption>> {
        match keyword {
            Keyword::Transaction | Keyword::Tran => self.isolation_level(),
            Keyword::IdentityInsert => self.identity_insert(),
            Keyword::Statistics => self.statistics(),
            Keyword::Rowcount | Keyword::Textsize => {
                self.advance();
                let value = self.constant_or_variable()?;
                Ok(vec![SetOption::Value { name: keyword.text().to_owned(), value }])
            }
            Keyword::Offsets => self.unsupported("SET OFFSETS"),
            _ => self.unexpected(),
        }
    }

    fn word_option(&mut self) -> Parsed<Vec<SetOption>> {
        let token = self.token();
        let name = self.text_of(token).to_ascii_uppercase();
        if VALUES.contains(&name.as_str()) {
            self.advance();
            let value = self.option_value()?;
            return Ok(vec![SetOption::Value { name, value }]);
        }
        let names = self.comma_separated(Self::switch_name)?;
        let on = self.on_off()?;
        Ok(names.into_iter().map(|name| SetOption::Switch { name, on }).collect())
    }

    fn switch_name(&mut self) -> Parsed<String> {
        if !self.at(TokenKind::Word) {
            return self.unexpected();
        }
        let token = self.advance();
        let name = self.text_of(token).to_ascii_uppercase();
        if SWITCHES.contains(&name.as_str()) || SHOWPLANS.contains(&name.as_str()) {
            return Ok(name);
        }
        self.unknown_set_option(token)
    }

    fn unknown_set_option<T>(&self, token: Token) -> Parsed<T> {
        fail(ParseError::unknown_option(self.text_of(token), "SET option", token.line))
    }

    /// A constant, a variable, or a bare word that stands for a string.
    fn option_value(&mut self) -> Parsed<Expr> {
        if self.at_ident() {
            return Ok(Expr::string(self.ident()?.text));
        }
        if self.take_keyword(Keyword::Off) {
            return Ok(Expr::string("OFF"));
        }
        self.constant_or_variable()
    }

    fn isolation_level(&mut self) -> Parsed<Vec<SetOption>> {
        self.advance();
        self.expect_words(&["ISOLATION", "LEVEL"])?;
        let level = if self.take_keyword(Keyword::Read) {
            if self.take_word("UNCOMMITTED") {
                IsolationLevel::ReadUncommitted
            } else {
                self.expect_word("COMMITTED")?;
                IsolationLevel::ReadCommitted
            }
        } else if self.take_word("REPEATABLE") {
            self.expect_keyword(Keyword::Read)?;
            IsolationLevel::RepeatableRead
        } else if self.take_word("SERIALIZABLE") {
            IsolationLevel::Serializable
        } else {
            self.expect_word("SNAPSHOT")?;
            IsolationLevel::Snapshot
        };
        Ok(vec![SetOption::IsolationLevel(level)])
    }

    fn identity_insert(&mut self) -> Parsed<Vec<SetOption>> {
        self.advance();
        let table = self.object_name_of(3)?;
        let on = self.on_off()?;
        Ok(vec![SetOption::IdentityInsert { table, on }])
    }

    /// `STATISTICS IO, TIME, PROFILE, XML {ON | OFF}`
    fn statistics(&mut self) -> Parsed<Vec<SetOption>> {
        self.advance();
        let names = self.comma_separated(|parser| {
            let known = ["IO", "TIME", "PROFILE", "XML"].iter().find(|name| parser.at_word(name));
            let Some(name) = known else { return parser.unexpected() };
            parser.advance();
            Ok(format!("STATISTICS {name}"))
        })?;
        let on = self.on_off()?;
        Ok(names.into_iter().map(|name| SetOption::Switch { name, on }).collect())
    }
}
