//! FROM: tables, joins, derived tables, table-valued functions.
//!
//! Must not know what a name refers to.

use super::stream::{Cost, Parsed, Parser};
use super::variables::VariableRole;
use crate::tsql::ast::query::{JoinKind, RowsetColumn, TableAlias, TableFunction, TableSource};
use crate::tsql::ast::{Expr, Ident, ObjectName};
use crate::tsql::keywords::Keyword;
use crate::tsql::lexer::TokenKind;

impl Parser<'_> {
    /// `FROM a, b JOIN c ..`; empty when there is none.
    pub(super) fn optional_from(&mut self) -> Parsed<Vec<TableSource>> {
        if !self.take_keyword(Keyword::From) {
            return Ok(Vec::new());
        }
        self.comma_separated(Self::table_source)
    }

    /// One source with all that is joined to it.
    pub(super) fn table_source(&mut self) -> Parsed<TableSource> {
        self.nested(Cost::One, |parser| {
            let mut left = parser.table_primary()?;
            let mut height = 0;
            while let Some(kind) = parser.join_kind()? {
                height += 1;
                if height >= parser.levels_left() {
                    return parser.unexpected();
                }
                left = parser.join(kind, left)?;
            }
            Ok(left)
        })
    }

    fn join(&mut self, kind: JoinKind, left: TableSource) -> Parsed<TableSource> {
        let right = self.join_operand(kind)?;
        let on = if needs_condition(kind) {
            self.expect_keyword(Keyword::On)?;
            Some(Box::new(self.condition()?))
        } else {
            None
        };
        Ok(TableSource::Join { kind, left: Box::new(left), right: Box::new(right), on })
    }

    /// The right side of a join. In `a JOIN b JOIN c ON .. ON ..` the inner join is the right side of the outer.
    fn join_operand(&mut self, kind: JoinKind) -> Parsed<TableSource> {
        let mut right = self.table_primary()?;
        if !needs_condition(kind) {
            return Ok(right);
        }
        while let Some(inner) = self.join_kind()? {
            right = self.nested(Cost::One, |parser| parser.join(inner, right))?;
        }
        Ok(right)
    }

    /// Takes a join operator with its hint, if one comes next.
    fn join_kind(&mut self) -> Parsed<Option<JoinKind>> {
        let TokenKind::Keyword(keyword) = self.token().kind else { return self.hinted_join() };
        let kind = match keyword {
            Keyword::Join => JoinKind::Inner,
            Keyword::Cross | Keyword::Outer => return self.cross_or_apply(keyword).map(Some),
            Keyword::Inner => JoinKind::Inner,
            Keyword::Left => JoinKind::Left,
            Keyword::Right => JoinKind::Right,
            Keyword::Full => JoinKind::Full,
            _ => return Ok(None),
        };
        if keyword != Keyword::Join {
            self.advance();
            if kind != JoinKind::Inner {
                self.take_keyword(Keyword::Outer);
            }
            self.join_hint();
        }
        self.expect_keyword(Keyword::Join)?;
        Ok(Some(kind))
    }

    /// `LOOP JOIN` and the like without INNER.
    fn hinted_join(&mut self) -> Parsed<Option<JoinKind>> {
        if !self.is_keyword_ahead(1, Keyword::Join) || !self.join_hint() {
            return Ok(None);
        }
        self.advance();
        Ok(Some(JoinKind::Inner))
    }

    /// LOOP, HASH, MERGE, REMOTE: about plans only.
    fn join_hint(&mut self) -> bool {
        self.take_word("LOOP")
            || self.take_word("HASH")
            || self.take_word("REMOTE")
            || self.take_keyword(Keyword::Merge)
    }

    fn cross_or_apply(&mut self, keyword: Keyword) -> Parsed<JoinKind> {
        self.advance();
        if self.take_word("APPLY") {
            return Ok(if keyword == Keyword::Cross { JoinKind::CrossApply } else { JoinKind::OuterApply });
        }
        if keyword == Keyword::Outer {
            return self.unexpected();
        }
        self.expect_keyword(Keyword::Join)?;
        Ok(JoinKind::Cross)
    }

    fn table_primary(&mut self) -> Parsed<TableSource> {
        match self.token().kind {
            TokenKind::OpenParen => self.table_in_parentheses(),
            TokenKind::Variable => self.variable_source(),
            TokenKind::Keyword(keyword) => self.keyword_source(keyword),
            _ => self.named_source(),
        }
    }

    fn table_in_parentheses(&mut self) -> Parsed<TableSource> {
        if self.query_in_parentheses_follows() {
            let query = Box::new(self.parenthesised_query()?);
            let alias = self.required_table_alias()?;
            return Ok(TableSource::Derived { query, alias });
        }
        self.expect(TokenKind::OpenParen)?;
        if self.take_keyword(Keyword::Values) {
            let rows = self.comma_separated(|parser| parser.parenthesised(Self::expression))?;
            self.expect(TokenKind::CloseParen)?;
            let alias = self.required_table_alias()?;
            return Ok(TableSource::Values { rows, alias });
        }
        if self.at_keyword(Keyword::Merge) || self.at_keyword(Keyword::Insert) {
            return self.unsupported("a data change statement as a table source");
        }
        let inner = self.table_source()?;
        self.expect(TokenKind::CloseParen)?;
        Ok(inner)
    }

    fn variable_source(&mut self) -> Parsed<TableSource> {
        let is_table = self.token_ahead(1).kind != TokenKind::Dot;
        let name = if is_table { self.variable_as(VariableRole::Table)? } else { self.variable()? };
        if !self.take(TokenKind::Dot) {
            return Ok(TableSource::Variable { name, alias: self.optional_table_alias()? });
        }
        self.nodes(Expr::Variable(name))
    }

    /// `nodes('path') AS t(c)` after the dot.
    fn nodes(&mut self, target: Expr) -> Parsed<TableSource> {
        self.expect_word("nodes")?;
        self.expect(TokenKind::OpenParen)?;
        let path = Box::new(self.expression()?);
        self.expect(TokenKind::CloseParen)?;
        let alias = self.required_table_alias()?;
        Ok(TableSource::Nodes { target: Box::new(target), path, alias })
    }

    fn keyword_source(&mut self, keyword: Keyword) -> Parsed<TableSource> {
        match keyword {
            Keyword::Openxml => {
                let token = self.advance();
                let name = ObjectName::single(Ident::new(self.text_of(token)));
                self.table_function(name)
            }
            Keyword::Openrowset => self.unsupported("OPENROWSET"),
            Keyword::Openquery => self.unsupported("OPENQUERY"),
            Keyword::Opendatasource => self.unsupported("OPENDATASOURCE"),
            Keyword::Containstable | Keyword::Freetexttable => self.unsupported("full-text tables"),
            _ => self.unexpected(),
        }
    }

    fn named_source(&mut self) -> Parsed<TableSource> {
        let mut name = self.object_name()?;
        if name.parts.len() > 1 && name.name().as_str() == "nodes" && self.at(TokenKind::OpenParen) {
            name.parts.pop();
            self.rewind(self.position() - 1);
            return self.nodes(Expr::Column(name));
        }
        if self.at(TokenKind::OpenParen) && !self.hint_in_parentheses_follows() {
            return self.table_function(name);
        }
        if self.at_keyword(Keyword::For) && self.is_word_ahead(1, "SYSTEM_TIME") {
            return self.unsupported("FOR SYSTEM_TIME");
        }
        let mut hints = self.optional_legacy_hints()?;
        let alias = self.optional_table_alias()?;
        self.refuse_row_transformations()?;
        hints.extend(self.optional_table_hints()?);
        Ok(TableSource::Table { name, alias, hints })
    }

    fn refuse_row_transformations(&self) -> Parsed<()> {
        for (keyword, construct) in
            [(Keyword::Tablesample, "TABLESAMPLE"), (Keyword::Pivot, "PIVOT"), (Keyword::Unpivot, "UNPIVOT")]
        {
            if self.at_keyword(keyword) {
                return self.unsupported(construct);
            }
        }
        Ok(())
    }

    fn table_function(&mut self, name: ObjectName) -> Parsed<TableSource> {
        self.expect(TokenKind::OpenParen)?;
        let arguments = if self.at(TokenKind::CloseParen) {
            Vec::new()
        } else {
            self.comma_separated(Self::table_argument)?
        };
        self.expect(TokenKind::CloseParen)?;
        let schema = self.rowset_schema(&name)?;
        let alias = self.optional_full_alias()?;
        Ok(TableSource::Function(Box::new(TableFunction { name, arguments, schema, alias })))
    }

    fn table_argument(&mut self) -> Parsed<Option<Expr>> {
        if self.take_keyword(Keyword::Default) { Ok(None) } else { self.expression().map(Some) }
    }

    /// `WITH (name type ['path'] [AS JSON], ..)` of OPENJSON and OPENXML.
    fn rowset_schema(&mut self, name: &ObjectName) -> Parsed<Vec<RowsetColumn>> {
        let function = name.name();
        let takes_schema = name.parts.len() == 1 && (function.is("OPENJSON") || function.is("OPENXML"));
        if !takes_schema || !self.take_keyword(Keyword::With) {
            return Ok(Vec::new());
        }
        if self.token_ahead(2).kind == TokenKind::CloseParen {
            return self.unsupported("OPENXML WITH a table's name");
        }
        self.parenthesised(Self::rowset_column)
    }

    fn rowset_column(&mut self) -> Parsed<RowsetColumn> {
        let name = self.ident()?;
        let data_type = self.data_type()?;
        let path = if self.at_string() { Some(self.string()?) } else { None };
        let as_json = self.take_keyword(Keyword::As);
        if as_json {
            self.expect_word("JSON")?;
        }
        Ok(RowsetColumn { name, data_type, path, as_json })
    }

    /// `[AS] alias`
    pub(super) fn optional_table_alias(&mut self) -> Parsed<Option<Ident>> {
        if self.take_keyword(Keyword::As) {
            return self.ident().map(Some);
        }
        if self.at_alias() && !self.at_join_hint() { self.ident().map(Some) } else { Ok(None) }
    }

    /// `LOOP JOIN` after a table is a join, not an alias.
    fn at_join_hint(&self) -> bool {
        let hint = self.at_word("LOOP") || self.at_word("HASH") || self.at_word("REMOTE");
        hint && self.is_keyword_ahead(1, Keyword::Join)
    }

    fn optional_full_alias(&mut self) -> Parsed<TableAlias> {
        let name = self.optional_table_alias()?;
        let columns = if name.is_some() { self.optional_ident_list()? } else { Vec::new() };
        Ok(TableAlias { name, columns })
    }

    fn required_table_alias(&mut self) -> Parsed<TableAlias> {
        let alias = self.optional_full_alias()?;
        if alias.name.is_none() { self.unexpected() } else { Ok(alias) }
    }
}

fn needs_condition(kind: JoinKind) -> bool {
    matches!(kind, JoinKind::Inner | JoinKind::Left | JoinKind::Right | JoinKind::Full)
}
