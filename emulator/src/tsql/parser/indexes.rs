//! CREATE INDEX and DROP INDEX. Indexes of other kinds than rows by keys are known by name only.
//!
//! Must not know how an index is kept.

use super::definitions::ddl;
use super::stream::{Parsed, Parser};
use crate::tsql::ast::ddl::{CreateIndex, DdlStatement, IndexDefinition};
use crate::tsql::ast::{Ident, ObjectName, StatementKind};
use crate::tsql::keywords::Keyword;
use crate::tsql::lexer::TokenKind;

impl Parser<'_> {
    /// `CREATE [UNIQUE] [CLUSTERED | NONCLUSTERED] INDEX ..`, if that comes next.
    pub(super) fn optional_index(&mut self) -> Parsed<Option<StatementKind>> {
        let start = self.position();
        let unique = self.take_keyword(Keyword::Unique);
        if !self.take_keyword(Keyword::Clustered) {
            self.take_keyword(Keyword::Nonclustered);
        }
        if !self.take_keyword(Keyword::Index) {
            self.rewind(start);
            return Ok(None);
        }
        let name = self.ident()?;
        self.expect_keyword(Keyword::On)?;
        let table = self.object_name_of(3)?;
        let columns = self.index_columns()?;
        if self.take_word("INCLUDE") {
            self.ident_list()?;
        }
        let filter = if self.take_keyword(Keyword::Where) { Some(self.condition()?) } else { None };
        let index = IndexDefinition { name, unique, columns, filter };
        let mut create = CreateIndex { table, index, ignore_duplicates: false, drop_existing: false };
        self.index_clauses(&mut create)?;
        Ok(Some(ddl(DdlStatement::CreateIndex(Box::new(create)))))
    }

    /// `DROP INDEX [IF EXISTS] name ON table, ..`, also `table.name`, if that comes next.
    pub(super) fn optional_drop_index(&mut self) -> Parsed<Option<StatementKind>> {
        if !self.take_keyword(Keyword::Index) {
            return Ok(None);
        }
        let if_exists = self.take_keyword(Keyword::If);
        if if_exists {
            self.expect_keyword(Keyword::Exists)?;
        }
        let indexes = self.comma_separated(Self::dropped_index)?;
        Ok(Some(ddl(DdlStatement::DropIndex { if_exists, indexes })))
    }

    fn dropped_index(&mut self) -> Parsed<(Ident, ObjectName)> {
        let mut name = self.object_name()?;
        let index = name.parts.pop().expect("a name has at least one part");
        if !name.parts.is_empty() {
            return Ok((index, name));
        }
        self.expect_keyword(Keyword::On)?;
        Ok((index, self.object_name_of(3)?))
    }

    /// `WITH (options)` and `ON filegroup`. Of the options two change results.
    fn index_clauses(&mut self, create: &mut CreateIndex) -> Parsed<()> {
        if self.at_keyword(Keyword::With) && self.token_ahead(1).kind == TokenKind::OpenParen {
            self.advance();
            self.parenthesised(|parser| parser.index_option(create))?;
        }
        self.storage_clauses()
    }

    fn index_option(&mut self, create: &mut CreateIndex) -> Parsed<()> {
        let option = self.advance();
        let option = self.text_of(option).to_ascii_uppercase();
        self.expect(TokenKind::Equal)?;
        let value = self.advance();
        let on = self.text_of(value).eq_ignore_ascii_case("ON");
        match option.as_str() {
            "IGNORE_DUP_KEY" => create.ignore_duplicates = on,
            "DROP_EXISTING" => create.drop_existing = on,
            _ => {}
        }
        // MAX_DURATION = 5 MINUTES, ONLINE = ON (..)
        self.take_word("MINUTES");
        if self.at(TokenKind::OpenParen) { self.skip_parentheses() } else { Ok(()) }
    }
}
