//! MERGE.
//!
//! Must not know how rows are matched.

use super::stream::{Parsed, Parser, fail};
use crate::tsql::ast::Ident;
use crate::tsql::ast::dml::{Merge, MergeAction, MergeClause, MergeWhen};
use crate::tsql::ast::query::With;
use crate::tsql::error::ParseError;
use crate::tsql::keywords::Keyword;
use crate::tsql::lexer::TokenKind;

impl Parser<'_> {
    /// MERGE, after its WITH; the one statement that has to end with a semicolon.
    pub(super) fn merge(&mut self, with: With) -> Parsed<Merge> {
        let line = self.token().line;
        self.expect_keyword(Keyword::Merge)?;
        let top = self.optional_dml_top()?;
        self.take_keyword(Keyword::Into);
        let target = self.dml_target()?;
        let alias = self.merge_alias()?;
        self.expect_word("USING")?;
        let source = self.table_source()?;
        self.expect_keyword(Keyword::On)?;
        let on = self.condition()?;
        let clauses = self.merge_clauses()?;
        let output = self.output_clauses()?;
        let options = self.query_options()?;
        if !self.at(TokenKind::Semicolon) {
            return fail(ParseError::merge_needs_semicolon(line));
        }
        Ok(Merge { with, top, target, alias, source, on, clauses, output, options })
    }

    fn merge_alias(&mut self) -> Parsed<Option<Ident>> {
        if self.at_word("USING") { Ok(None) } else { self.optional_table_alias() }
    }

    fn merge_clauses(&mut self) -> Parsed<Vec<MergeClause>> {
        let mut clauses = Vec::new();
        while self.take_keyword(Keyword::When) {
            let when = self.merge_when()?;
            let condition = if self.take_keyword(Keyword::And) { Some(self.condition()?) } else { None };
            self.expect_keyword(Keyword::Then)?;
            let action = self.merge_action()?;
            clauses.push(MergeClause { when, condition, action });
        }
        if clauses.is_empty() { self.unexpected() } else { Ok(clauses) }
    }

    fn merge_when(&mut self) -> Parsed<MergeWhen> {
        let not = self.take_keyword(Keyword::Not);
        self.expect_word("MATCHED")?;
        if !not {
            return Ok(MergeWhen::Matched);
        }
        if !self.take_keyword(Keyword::By) || self.take_word("TARGET") {
            return Ok(MergeWhen::NotMatchedByTarget);
        }
        self.expect_word("SOURCE")?;
        Ok(MergeWhen::NotMatchedBySource)
    }

    fn merge_action(&mut self) -> Parsed<MergeAction> {
        if self.take_keyword(Keyword::Delete) {
            return Ok(MergeAction::Delete);
        }
        if self.take_keyword(Keyword::Update) {
            self.expect_keyword(Keyword::Set)?;
            return Ok(MergeAction::Update(self.comma_separated(Self::update_assignment)?));
        }
        self.expect_keyword(Keyword::Insert)?;
        let columns = self.insert_columns()?;
        if self.take_keyword(Keyword::Default) {
            self.expect_keyword(Keyword::Values)?;
            return Ok(MergeAction::Insert { columns, values: Vec::new() });
        }
        self.expect_keyword(Keyword::Values)?;
        let values = self.parenthesised(Self::value_or_default)?;
        Ok(MergeAction::Insert { columns, values })
    }
}
