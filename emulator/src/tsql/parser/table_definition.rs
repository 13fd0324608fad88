//! CREATE TABLE and every list of columns and constraints.
//!
//! Must not know how tables are stored. Storage clauses (filegroups, compression, fill factors) are read and
//! dropped.

use super::definitions::ddl;
use super::stream::{Parsed, Parser};
use crate::tsql::ast::ddl::{
    ColumnContent, ColumnDefinition, ConstraintKind, CreateTable, DdlStatement, Identity, IndexColumn,
    IndexDefinition, ReferentialAction, TableConstraint, TableElement,
};
use crate::tsql::ast::{DataTypeName, Ident, ObjectName, StatementKind, TypeArguments};
use crate::tsql::keywords::Keyword;
use crate::tsql::lexer::TokenKind;

impl Parser<'_> {
    /// CREATE TABLE, at TABLE.
    pub(super) fn create_table(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let name = self.object_name_of(3)?;
        if self.at_keyword(Keyword::As) {
            return self.unsupported("CREATE TABLE AS");
        }
        let elements = self.table_elements()?;
        self.storage_clauses()?;
        Ok(ddl(DdlStatement::CreateTable(CreateTable { name, elements })))
    }

    /// `(column, constraint, ..)`; a comma may follow the last one.
    pub(super) fn table_elements(&mut self) -> Parsed<Vec<TableElement>> {
        self.expect(TokenKind::OpenParen)?;
        let mut elements = vec![self.table_element()?];
        loop {
            let comma = self.take(TokenKind::Comma);
            if self.take(TokenKind::CloseParen) {
                return Ok(elements);
            }
            // The comma before a table constraint may be left out.
            if !comma && !self.at_table_constraint() {
                return self.unexpected();
            }
            elements.push(self.table_element()?);
        }
    }

    /// One column, constraint or index.
    pub(super) fn table_element(&mut self) -> Parsed<TableElement> {
        if self.at_keyword(Keyword::Index) {
            self.advance();
            return Ok(TableElement::Index(Box::new(self.index_definition()?)));
        }
        if self.at_word("PERIOD") && self.is_keyword_ahead(1, Keyword::For) {
            return self.unsupported("PERIOD FOR SYSTEM_TIME");
        }
        if self.at_table_constraint() {
            return Ok(TableElement::Constraint(Box::new(self.table_constraint()?)));
        }
        Ok(TableElement::Column(Box::new(self.column_definition()?)))
    }

    fn at_table_constraint(&self) -> bool {
        let TokenKind::Keyword(keyword) = self.token().kind else { return false };
        matches!(
            keyword,
            Keyword::Constraint
                | Keyword::Primary
                | Keyword::Unique
                | Keyword::Foreign
                | Keyword::Check
                | Keyword::Default
        )
    }

    /// `name type ..` or `name AS expression`
    pub(super) fn column_definition(&mut self) -> Parsed<ColumnDefinition> {
        let name = self.ident()?;
        let content = self.column_content(&name)?;
        let mut column = ColumnDefinition {
            name,
            content,
            collation: None,
            nullable: None,
            identity: None,
            row_guid: false,
            constraints: Vec::new(),
        };
        while self.column_property(&mut column)? {}
        Ok(column)
    }

    /// A column named `timestamp` needs no type.
    fn column_content(&mut self, name: &Ident) -> Parsed<ColumnContent> {
        if self.take_keyword(Keyword::As) {
            let value = self.expression()?;
            let persisted = self.take_word("PERSISTED");
            return Ok(ColumnContent::Computed { value, persisted });
        }
        if name.is("timestamp") && !self.at_ident() {
            let (name, arguments) = (ObjectName::single(name.clone()), TypeArguments::None);
            return Ok(ColumnContent::Type(DataTypeName { name, arguments }));
        }
        Ok(ColumnContent::Type(self.data_type()?))
    }

    /// Takes one property of a column; false when none comes next.
    fn column_property(&mut self, column: &mut ColumnDefinition) -> Parsed<bool> {
        let TokenKind::Keyword(keyword) = self.token().kind else { return self.column_word_property() };
        match keyword {
            Keyword::Null => {
                self.advance();
                column.nullable = Some(true);
            }
            Keyword::Not => {
                self.advance();
                if self.at(TokenKind::Keyword(Keyword::For)) {
                    self.advance();
                    self.expect_keyword(Keyword::Replication)?;
                } else {
                    self.expect_keyword(Keyword::Null)?;
                    column.nullable = Some(false);
                }
            }
            Keyword::Collate => {
                self.advance();
                column.collation = Some(self.ident()?);
            }
            Keyword::Identity => column.identity = Some(self.identity()?),
            Keyword::Rowguidcol => {
                self.advance();
                column.row_guid = true;
            }
            Keyword::Constraint if self.at_named_nullability() => {
                self.advance();
                self.ident()?;
            }
            Keyword::Constraint
            | Keyword::Primary
            | Keyword::Unique
            | Keyword::Foreign
            | Keyword::References
            | Keyword::Check
            | Keyword::Default => column.constraints.push(self.column_constraint()?),
            Keyword::Index => {
                self.advance();
                self.index_definition()?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// `CONSTRAINT name NULL`, whose name the server forgets too.
    fn at_named_nullability(&self) -> bool {
        let null = self.is_keyword_ahead(2, Keyword::Null);
        let not_null = self.is_keyword_ahead(2, Keyword::Not) && self.is_keyword_ahead(3, Keyword::Null);
        null || not_null
    }

    /// SPARSE and the like; what changes how values are stored or seen is refused.
    fn column_word_property(&mut self) -> Parsed<bool> {
        if self.take_word("SPARSE") {
            return Ok(true);
        }
        for (word, construct) in [
            ("MASKED", "dynamic data masking"),
            ("FILESTREAM", "FILESTREAM columns"),
            ("ENCRYPTED", "encrypted columns"),
            ("GENERATED", "GENERATED ALWAYS columns"),
            ("HIDDEN", "HIDDEN columns"),
        ] {
            if self.at_word(word) {
                return self.unsupported(construct);
            }
        }
        Ok(false)
    }

    fn identity(&mut self) -> Parsed<Identity> {
        self.advance();
        if !self.take(TokenKind::OpenParen) {
            return Ok(Identity { seed: "1".to_owned(), increment: "1".to_owned() });
        }
        let seed = self.signed_number_text()?;
        self.expect(TokenKind::Comma)?;
        let increment = self.signed_number_text()?;
        self.expect(TokenKind::CloseParen)?;
        Ok(Identity { seed, increment })
    }

    fn signed_number_text(&mut self) -> Parsed<String> {
        let sign = if self.take(TokenKind::Minus) { "-" } else { "" };
        if sign.is_empty() {
            self.take(TokenKind::Plus);
        }
        if !matches!(self.token().kind, TokenKind::Integer | TokenKind::Decimal) {
            return self.unexpected();
        }
        let token = self.advance();
        Ok(format!("{sign}{}", self.text_of(token)))
    }

    fn constraint_name(&mut self) -> Parsed<Option<Ident>> {
        if self.take_keyword(Keyword::Constraint) { self.ident().map(Some) } else { Ok(None) }
    }

    /// A constraint that names its columns itself.
    pub(super) fn table_constraint(&mut self) -> Parsed<TableConstraint> {
        let name = self.constraint_name()?;
        let kind = self.constraint_kind(true)?;
        Ok(TableConstraint { name, kind })
    }

    fn column_constraint(&mut self) -> Parsed<TableConstraint> {
        let name = self.constraint_name()?;
        let kind = self.constraint_kind(false)?;
        Ok(TableConstraint { name, kind })
    }

    fn constraint_kind(&mut self, of_table: bool) -> Parsed<ConstraintKind> {
        let TokenKind::Keyword(keyword) = self.token().kind else { return self.unexpected() };
        match keyword {
            Keyword::Primary | Keyword::Unique => self.key_constraint(keyword == Keyword::Primary, of_table),
            Keyword::Check => self.check_constraint(),
            Keyword::Default => self.default_constraint(of_table),
            Keyword::Foreign | Keyword::References => self.foreign_key(of_table),
            _ => self.unexpected(),
        }
    }

    fn key_constraint(&mut self, primary: bool, of_table: bool) -> Parsed<ConstraintKind> {
        self.advance();
        if primary {
            self.expect_keyword(Keyword::Key)?;
        }
        let clustered = self.clustered();
        let columns =
            if of_table || self.at(TokenKind::OpenParen) { self.index_columns()? } else { Vec::new() };
        self.storage_clauses()?;
        Ok(ConstraintKind::Key { primary, clustered, columns })
    }

    fn clustered(&mut self) -> Option<bool> {
        let clustered = if self.take_keyword(Keyword::Clustered) {
            Some(true)
        } else if self.take_keyword(Keyword::Nonclustered) {
            Some(false)
        } else {
            None
        };
        self.take_word("HASH");
        clustered
    }

    /// `(a [ASC | DESC], ..)`
    pub(super) fn index_columns(&mut self) -> Parsed<Vec<IndexColumn>> {
        self.parenthesised(|parser| {
            let name = parser.ident()?;
            let descending = parser.take_keyword(Keyword::Desc);
            if !descending {
                parser.take_keyword(Keyword::Asc);
            }
            Ok(IndexColumn { name, descending })
        })
    }

    fn check_constraint(&mut self) -> Parsed<ConstraintKind> {
        self.advance();
        if self.take_keyword(Keyword::Not) {
            self.expect_keyword(Keyword::For)?;
            self.expect_keyword(Keyword::Replication)?;
        }
        self.expect(TokenKind::OpenParen)?;
        let start = self.token();
        let condition = self.condition()?;
        let span = self.span_from(start);
        self.expect(TokenKind::CloseParen)?;
        Ok(ConstraintKind::Check { condition, text: self.text[span.start..span.end].to_owned() })
    }

    fn default_constraint(&mut self, of_table: bool) -> Parsed<ConstraintKind> {
        self.advance();
        let value = self.expression()?;
        let column = if of_table && self.take_keyword(Keyword::For) { Some(self.ident()?) } else { None };
        let with_values = self.at_keyword(Keyword::With) && self.is_keyword_ahead(1, Keyword::Values);
        if with_values {
            self.advance();
            self.advance();
        }
        Ok(ConstraintKind::Default { value, column, with_values })
    }

    fn foreign_key(&mut self, of_table: bool) -> Parsed<ConstraintKind> {
        let mut columns = Vec::new();
        if self.take_keyword(Keyword::Foreign) {
            self.expect_keyword(Keyword::Key)?;
            columns = if of_table { self.ident_list()? } else { self.optional_ident_list()? };
        }
        self.expect_keyword(Keyword::References)?;
        let table = self.object_name_of(3)?;
        let referenced = self.optional_ident_list()?;
        let (on_delete, on_update) = self.referential_actions()?;
        Ok(ConstraintKind::ForeignKey { columns, table, referenced, on_delete, on_update })
    }

    fn referential_actions(&mut self) -> Parsed<(ReferentialAction, ReferentialAction)> {
        let mut actions = (ReferentialAction::NoAction, ReferentialAction::NoAction);
        loop {
            let on_delete = self.is_keyword_ahead(1, Keyword::Delete);
            if self.at_keyword(Keyword::On) && (on_delete || self.is_keyword_ahead(1, Keyword::Update)) {
                self.advance();
                self.advance();
                let action = self.referential_action()?;
                *(if on_delete { &mut actions.0 } else { &mut actions.1 }) = action;
            } else if self.at_keyword(Keyword::Not) && self.is_keyword_ahead(1, Keyword::For) {
                self.advance();
                self.advance();
                self.expect_keyword(Keyword::Replication)?;
            } else {
                return Ok(actions);
            }
        }
    }

    fn referential_action(&mut self) -> Parsed<ReferentialAction> {
        if self.take_keyword(Keyword::Cascade) {
            return Ok(ReferentialAction::Cascade);
        }
        if self.take_words(&["NO", "ACTION"]) {
            return Ok(ReferentialAction::NoAction);
        }
        self.expect_keyword(Keyword::Set)?;
        if self.take_keyword(Keyword::Null) {
            return Ok(ReferentialAction::SetNull);
        }
        self.expect_keyword(Keyword::Default)?;
        Ok(ReferentialAction::SetDefault)
    }

    /// `name [UNIQUE] [CLUSTERED] [(columns)] [WHERE ..]`, after INDEX.
    fn index_definition(&mut self) -> Parsed<IndexDefinition> {
        let name = self.ident()?;
        let unique = self.take_keyword(Keyword::Unique);
        self.clustered();
        let columns = if self.at(TokenKind::OpenParen) { self.index_columns()? } else { Vec::new() };
        if self.take_word("INCLUDE") {
            self.ident_list()?;
        }
        let filter = if self.take_keyword(Keyword::Where) { Some(self.condition()?) } else { None };
        self.storage_clauses()?;
        Ok(IndexDefinition { name, unique, columns, filter })
    }

    /// `WITH (..)`, `WITH FILLFACTOR = n`, `ON filegroup`, `TEXTIMAGE_ON filegroup`, `FILESTREAM_ON filegroup`
    pub(super) fn storage_clauses(&mut self) -> Parsed<()> {
        loop {
            let on_filegroup = self.at_keyword(Keyword::On)
                && !self.is_keyword_ahead(1, Keyword::Delete)
                && !self.is_keyword_ahead(1, Keyword::Update);
            if self.at_keyword(Keyword::With) && self.token_ahead(1).kind == TokenKind::OpenParen {
                self.advance();
                self.index_options()?;
            } else if self.at_keyword(Keyword::With) && self.is_keyword_ahead(1, Keyword::Fillfactor) {
                self.advance();
                self.advance();
                self.expect(TokenKind::Equal)?;
                self.unsigned()?;
            } else if on_filegroup || self.at_word("TEXTIMAGE_ON") || self.at_word("FILESTREAM_ON") {
                self.advance();
                self.filegroup()?;
            } else {
                return Ok(());
            }
        }
    }

    fn index_options(&mut self) -> Parsed<()> {
        let versioned =
            self.is_word_ahead(1, "SYSTEM_VERSIONING") || self.is_word_ahead(1, "MEMORY_OPTIMIZED");
        if versioned {
            return self.unsupported("SYSTEM_VERSIONING and MEMORY_OPTIMIZED tables");
        }
        self.skip_parentheses()
    }

    /// A filegroup, or a partition scheme with its column.
    fn filegroup(&mut self) -> Parsed<()> {
        if self.at_string() {
            self.string()?;
            return Ok(());
        }
        self.ident()?;
        if self.at(TokenKind::OpenParen) {
            return self.unsupported("partitioned tables");
        }
        Ok(())
    }
}
