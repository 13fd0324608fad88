//! Table hints and `OPTION (..)`.
//!
//! Must not know what a hint does.

use super::stream::{Parsed, Parser, fail};
use crate::tsql::ast::query::{QueryOption, TableHint};
use crate::tsql::error::ParseError;
use crate::tsql::keywords::Keyword;
use crate::tsql::lexer::TokenKind;

/// Hints that change nothing but plans or loading.
const OTHER_HINTS: [&str; 9] = [
    "FORCESEEK",
    "FORCESCAN",
    "NOEXPAND",
    "KEEPIDENTITY",
    "KEEPDEFAULTS",
    "IGNORE_CONSTRAINTS",
    "IGNORE_TRIGGERS",
    "FASTFIRSTROW",
    "SPATIAL_WINDOW_MAX_CELLS",
];

impl Parser<'_> {
    /// `WITH (hint, ..)`, `(hint)`, or HOLDLOCK alone; empty when none comes next.
    pub(super) fn optional_table_hints(&mut self) -> Parsed<Vec<TableHint>> {
        if self.at_keyword(Keyword::With) && self.token_ahead(1).kind == TokenKind::OpenParen {
            self.advance();
            return self.hint_list();
        }
        self.optional_legacy_hints()
    }

    /// Hints without WITH, which may also stand before the alias.
    pub(super) fn optional_legacy_hints(&mut self) -> Parsed<Vec<TableHint>> {
        if self.hint_in_parentheses_follows() {
            return self.hint_list();
        }
        if self.take_keyword(Keyword::Holdlock) { Ok(vec![TableHint::HoldLock]) } else { Ok(Vec::new()) }
    }

    /// Whether `(` is followed by the name of a hint, which makes it a hint list and no argument list.
    pub(super) fn hint_in_parentheses_follows(&self) -> bool {
        if !self.at(TokenKind::OpenParen) {
            return false;
        }
        let token = self.token_ahead(1);
        match token.kind {
            TokenKind::Keyword(keyword) => matches!(keyword, Keyword::Holdlock | Keyword::Index),
            TokenKind::Word => table_hint(self.text_of(token)).is_some(),
            _ => false,
        }
    }

    /// `(hint, hint ..)`; the commas may be left out.
    fn hint_list(&mut self) -> Parsed<Vec<TableHint>> {
        self.expect(TokenKind::OpenParen)?;
        let mut hints = vec![self.table_hint()?];
        while !self.take(TokenKind::CloseParen) {
            self.take(TokenKind::Comma);
            hints.push(self.table_hint()?);
        }
        Ok(hints)
    }

    fn table_hint(&mut self) -> Parsed<TableHint> {
        if self.take_keyword(Keyword::Holdlock) {
            return Ok(TableHint::HoldLock);
        }
        if self.take_keyword(Keyword::Index) {
            self.index_hint()?;
            return Ok(TableHint::Other("INDEX".to_owned()));
        }
        if !self.at(TokenKind::Word) {
            return self.unexpected();
        }
        let token = self.advance();
        let Some(hint) = table_hint(self.text_of(token)) else {
            return fail(ParseError::unknown_hint(self.text_of(token), token.line));
        };
        if self.take(TokenKind::Equal) {
            self.unsigned()?;
        } else if self.at(TokenKind::OpenParen) {
            self.skip_parentheses()?;
        }
        Ok(hint)
    }

    /// `INDEX (a, 1)`, `INDEX = a`, `INDEX = (a)`
    fn index_hint(&mut self) -> Parsed<()> {
        let equal = self.take(TokenKind::Equal);
        if self.at(TokenKind::OpenParen) {
            return self.skip_parentheses();
        }
        if !equal {
            return self.unexpected();
        }
        if self.at(TokenKind::Integer) { self.unsigned().map(drop) } else { self.ident().map(drop) }
    }

    /// `OPTION (..)`; empty when there is none.
    pub(super) fn query_options(&mut self) -> Parsed<Vec<QueryOption>> {
        if !self.take_keyword(Keyword::Option) {
            return Ok(Vec::new());
        }
        self.parenthesised(Self::query_option)
    }

    fn query_option(&mut self) -> Parsed<QueryOption> {
        if self.take_word("MAXRECURSION") {
            return Ok(QueryOption::MaxRecursion(self.unsigned()?));
        }
        let words = self.option_words()?;
        Ok(QueryOption::Other(words))
    }

    /// Everything up to the next comma or closing parenthesis, in upper case, without what is in parentheses.
    pub(super) fn option_words(&mut self) -> Parsed<String> {
        let mut words = String::new();
        while !self.at(TokenKind::Comma) && !self.at(TokenKind::CloseParen) {
            if self.at(TokenKind::OpenParen) {
                self.skip_parentheses()?;
                continue;
            }
            if self.at(TokenKind::End) || self.at(TokenKind::Invalid) {
                return self.unexpected();
            }
            let token = self.advance();
            if !words.is_empty() {
                words.push(' ');
            }
            words.push_str(&self.text_of(token).to_ascii_uppercase());
        }
        if words.is_empty() { self.unexpected() } else { Ok(words) }
    }
}

fn table_hint(word: &str) -> Option<TableHint> {
    let word = word.to_ascii_uppercase();
    Some(match word.as_str() {
        "NOLOCK" | "READUNCOMMITTED" => TableHint::NoLock,
        "READCOMMITTED" | "READCOMMITTEDLOCK" => TableHint::ReadCommitted,
        "REPEATABLEREAD" => TableHint::RepeatableRead,
        "SERIALIZABLE" => TableHint::HoldLock,
        "SNAPSHOT" => TableHint::Snapshot,
        "READPAST" => TableHint::ReadPast,
        "UPDLOCK" => TableHint::UpdLock,
        "XLOCK" => TableHint::XLock,
        "ROWLOCK" => TableHint::RowLock,
        "PAGLOCK" => TableHint::PagLock,
        "TABLOCK" => TableHint::TabLock,
        "TABLOCKX" => TableHint::TabLockX,
        "NOWAIT" => TableHint::NoWait,
        _ if OTHER_HINTS.contains(&word.as_str()) => TableHint::Other(word),
        _ => return None,
    })
}
