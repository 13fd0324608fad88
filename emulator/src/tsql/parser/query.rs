//! SELECT: query expressions, select lists, WITH before a statement.
//!
//! Must not know table sources beyond asking for them.

use super::names::is_ident;
use super::stream::{Cost, Parsed, Parser, fail};
use crate::tsql::ast::expr::Expr;
use crate::tsql::ast::query::{
    CommonTable, Offset, OrderItem, QueryBody, Select, SetOperator, Top, With, XmlNamespace,
};
use crate::tsql::ast::{Ident, ObjectName, Query, SelectItem, SelectStatement};
use crate::tsql::error::ParseError;
use crate::tsql::keywords::Keyword;
use crate::tsql::lexer::{Token, TokenKind};

impl Parser<'_> {
    /// SELECT as a statement, after its WITH.
    pub(super) fn select_statement(&mut self, with: With) -> Parsed<SelectStatement> {
        let query = self.query()?;
        let options = self.query_options()?;
        Ok(SelectStatement { with, query, options })
    }

    /// `WITH ..` before a statement; empty when there is none.
    pub(super) fn with_clause(&mut self) -> Parsed<With> {
        let mut with = With::default();
        if !self.take_keyword(Keyword::With) {
            return Ok(with);
        }
        if self.take_word("XMLNAMESPACES") {
            with.xml_namespaces = self.parenthesised(Self::xml_namespace)?;
            if !self.take(TokenKind::Comma) {
                return Ok(with);
            }
        }
        if self.at_word("CHANGE_TRACKING_CONTEXT") {
            return self.unsupported("WITH CHANGE_TRACKING_CONTEXT");
        }
        with.tables = self.comma_separated(Self::common_table)?;
        Ok(with)
    }

    fn xml_namespace(&mut self) -> Parsed<XmlNamespace> {
        if self.take_keyword(Keyword::Default) {
            return Ok(XmlNamespace { prefix: None, uri: self.string()? });
        }
        let uri = self.string()?;
        self.expect_keyword(Keyword::As)?;
        Ok(XmlNamespace { prefix: Some(self.ident()?), uri })
    }

    fn common_table(&mut self) -> Parsed<CommonTable> {
        let name = self.ident()?;
        let columns = self.optional_ident_list()?;
        self.expect_keyword(Keyword::As)?;
        let query = self.parenthesised_query()?;
        Ok(CommonTable { name, columns, query })
    }

    /// Whether a query in parentheses comes next, and not a value that begins with a subquery.
    pub(super) fn query_in_parentheses_follows(&self) -> bool {
        let mut depth = 0;
        while self.token_ahead(depth).kind == TokenKind::OpenParen {
            depth += 1;
        }
        if depth == 0 || !self.is_keyword_ahead(depth, Keyword::Select) {
            return false;
        }
        (1..depth).rev().all(|level| self.only_a_query_in_level(level))
    }

    /// Whether the parenthesis after `level - 1` others holds nothing but a query, given that the one within it does.
    fn only_a_query_in_level(&self, level: usize) -> bool {
        let after_inner = self.after_closing(level);
        matches!(
            self.token_ahead(after_inner).kind,
            TokenKind::CloseParen | TokenKind::Keyword(Keyword::Union | Keyword::Except | Keyword::Intersect)
        )
    }

    /// How far ahead the token after the parenthesis is that closes the one at `open`.
    fn after_closing(&self, open: usize) -> usize {
        let mut distance = open;
        let mut depth = 0;
        loop {
            match self.token_ahead(distance).kind {
                TokenKind::OpenParen => depth += 1,
                TokenKind::CloseParen => depth -= 1,
                TokenKind::End => return distance,
                _ => {}
            }
            distance += 1;
            if depth == 0 {
                return distance;
            }
        }
    }

    /// `(query)` where the order of rows means nothing by itself.
    pub(super) fn parenthesised_query(&mut self) -> Parsed<Query> {
        let line = self.token().line;
        self.expect(TokenKind::OpenParen)?;
        let query = self.nested(Cost::Query, Self::query)?;
        self.expect(TokenKind::CloseParen)?;
        if !query.order_by.is_empty() && !order_matters(&query) {
            return fail(ParseError::order_by_not_allowed(line));
        }
        Ok(query)
    }

    /// A query expression with ORDER BY and FOR.
    pub(super) fn query(&mut self) -> Parsed<Query> {
        let body = self.query_body()?;
        let order_by = if self.at_keyword(Keyword::Order) { self.order_by()? } else { Vec::new() };
        let offset = if order_by.is_empty() { None } else { self.offset()? };
        let for_clause = self.for_clause()?;
        Ok(Query { body, order_by, offset, for_clause })
    }

    fn query_body(&mut self) -> Parsed<QueryBody> {
        let mut left = self.query_term()?;
        let mut height = 0;
        while let Some(op) = self.union_or_except() {
            height += 1;
            if height >= self.levels_left() {
                return fail(ParseError::nested_too_deeply(self.token().line));
            }
            let right = self.query_term()?;
            left = QueryBody::SetOperation { op, left: Box::new(left), right: Box::new(right) };
        }
        Ok(left)
    }

    fn union_or_except(&mut self) -> Option<SetOperator> {
        if self.take_keyword(Keyword::Except) {
            return Some(SetOperator::Except);
        }
        if !self.take_keyword(Keyword::Union) {
            return None;
        }
        let all = self.take_keyword(Keyword::All);
        Some(if all { SetOperator::UnionAll } else { SetOperator::Union })
    }

    /// INTERSECT binds more strongly than UNION and EXCEPT.
    fn query_term(&mut self) -> Parsed<QueryBody> {
        let mut left = self.query_primary()?;
        while self.take_keyword(Keyword::Intersect) {
            let right = Box::new(self.query_primary()?);
            left = QueryBody::SetOperation { op: SetOperator::Intersect, left: Box::new(left), right };
        }
        Ok(left)
    }

    fn query_primary(&mut self) -> Parsed<QueryBody> {
        if !self.take(TokenKind::OpenParen) {
            let select = self.nested(Cost::One, Self::select)?;
            return Ok(QueryBody::Select(Box::new(select)));
        }
        let body = self.nested(Cost::One, Self::query_body)?;
        self.expect(TokenKind::CloseParen)?;
        Ok(body)
    }

    fn select(&mut self) -> Parsed<Select> {
        self.expect_keyword(Keyword::Select)?;
        let distinct = self.take_keyword(Keyword::Distinct);
        if !distinct {
            self.take_keyword(Keyword::All);
        }
        let top = self.optional_top()?;
        let items = self.comma_separated(Self::select_item)?;
        let into = if self.take_keyword(Keyword::Into) { Some(self.object_name()?) } else { None };
        let from = self.optional_from()?;
        let filter = if self.take_keyword(Keyword::Where) { Some(self.condition()?) } else { None };
        let group_by = self.group_by()?;
        let having = if self.take_keyword(Keyword::Having) { Some(self.condition()?) } else { None };
        Ok(Select { distinct, top, items, into, from, filter, group_by, having })
    }

    fn optional_top(&mut self) -> Parsed<Option<Top>> {
        if !self.take_keyword(Keyword::Top) {
            return Ok(None);
        }
        let count = if self.at(TokenKind::OpenParen) {
            self.parenthesised_count()?
        } else if matches!(self.token().kind, TokenKind::Integer | TokenKind::Decimal | TokenKind::Float) {
            Expr::Literal(self.constant()?)
        } else {
            return self.unexpected();
        };
        self.top_rest(count).map(Some)
    }

    /// `TOP (n) [PERCENT]` of INSERT, UPDATE, DELETE and MERGE, where the parentheses are needed.
    pub(super) fn optional_dml_top(&mut self) -> Parsed<Option<Top>> {
        if !self.take_keyword(Keyword::Top) {
            return Ok(None);
        }
        let count = self.parenthesised_count()?;
        let percent = self.take_keyword(Keyword::Percent);
        Ok(Some(Top { count, percent, with_ties: false }))
    }

    /// `(n)`, where n may be a query.
    pub(super) fn parenthesised_count(&mut self) -> Parsed<Expr> {
        if self.query_in_parentheses_follows() {
            return Ok(Expr::Subquery(Box::new(self.parenthesised_query()?)));
        }
        self.expect(TokenKind::OpenParen)?;
        let count = self.expression()?;
        self.expect(TokenKind::CloseParen)?;
        Ok(count)
    }

    fn top_rest(&mut self, count: Expr) -> Parsed<Top> {
        let percent = self.take_keyword(Keyword::Percent);
        let with_ties = self.at_keyword(Keyword::With) && self.is_word_ahead(1, "TIES");
        if with_ties {
            self.advance();
            self.advance();
        }
        Ok(Top { count, percent, with_ties })
    }

    /// One entry of a select list, an OUTPUT list or a RECEIVE list.
    pub(super) fn select_item(&mut self) -> Parsed<SelectItem> {
        if self.take(TokenKind::Star) {
            return Ok(SelectItem::Wildcard { qualifier: None });
        }
        let next = self.token_ahead(1).kind;
        if self.at(TokenKind::Variable) && super::expressions::assignment(next).is_some() {
            let variable = self.variable()?;
            let op = self.assign_op()?;
            return Ok(SelectItem::Assign { variable, op, value: self.expression()? });
        }
        if next == TokenKind::Equal && (self.at_ident() || self.at_string()) {
            let alias = Some(self.column_alias()?);
            self.advance();
            return Ok(SelectItem::Value { value: self.expression()?, alias });
        }
        if self.qualified_star_follows() {
            return self.qualified_star();
        }
        let value = self.expression()?;
        let alias = self.optional_column_alias()?;
        Ok(SelectItem::Value { value, alias })
    }

    fn qualified_star_follows(&self) -> bool {
        let mut distance = 0;
        while is_ident(self.token_ahead(distance)) && self.token_ahead(distance + 1).kind == TokenKind::Dot {
            distance += 2;
        }
        distance > 0 && self.token_ahead(distance).kind == TokenKind::Star
    }

    fn qualified_star(&mut self) -> Parsed<SelectItem> {
        let mut parts = Vec::new();
        while !self.take(TokenKind::Star) {
            parts.push(self.ident()?);
            self.expect(TokenKind::Dot)?;
        }
        Ok(SelectItem::Wildcard { qualifier: Some(ObjectName { parts }) })
    }

    fn optional_column_alias(&mut self) -> Parsed<Option<Ident>> {
        if self.take_keyword(Keyword::As) {
            return self.column_alias().map(Some);
        }
        if self.at_string() || self.at_alias() { self.column_alias().map(Some) } else { Ok(None) }
    }

    /// A column's name may also be written as a string.
    fn column_alias(&mut self) -> Parsed<Ident> {
        if self.at_string() {
            return Ok(Ident { text: self.string()?, delimited: true });
        }
        self.ident()
    }

    /// Whether an alias without AS comes next: an identifier that is no label, and not RECEIVE where a
    /// RECEIVE statement follows.
    pub(super) fn at_alias(&self) -> bool {
        self.at_ident() && self.token_ahead(1).kind != TokenKind::Colon && !self.at_receive_statement()
    }

    /// Whether RECEIVE comes next with the start of a column list after it.
    pub(super) fn at_receive_statement(&self) -> bool {
        self.at_word("RECEIVE") && starts_receive_list(self.token_ahead(1))
    }

    /// `ORDER BY ..`
    pub(super) fn order_by(&mut self) -> Parsed<Vec<OrderItem>> {
        self.expect_keyword(Keyword::Order)?;
        self.expect_keyword(Keyword::By)?;
        self.comma_separated(|parser| {
            let value = parser.expression()?;
            let descending = parser.take_keyword(Keyword::Desc);
            if !descending {
                parser.take_keyword(Keyword::Asc);
            }
            Ok(OrderItem { value, descending })
        })
    }

    fn offset(&mut self) -> Parsed<Option<Offset>> {
        if !self.take_word("OFFSET") {
            return Ok(None);
        }
        let skip = self.expression()?;
        self.row_or_rows()?;
        let fetch = if self.take_keyword(Keyword::Fetch) { Some(self.fetch_count()?) } else { None };
        Ok(Some(Offset { skip, fetch }))
    }

    fn fetch_count(&mut self) -> Parsed<Expr> {
        if !self.take_word("FIRST") {
            self.expect_word("NEXT")?;
        }
        let count = self.expression()?;
        self.row_or_rows()?;
        self.expect_word("ONLY")?;
        Ok(count)
    }

    fn row_or_rows(&mut self) -> Parsed<()> {
        if self.take_word("ROW") { Ok(()) } else { self.expect_word("ROWS") }
    }

    fn group_by(&mut self) -> Parsed<Vec<Expr>> {
        if !self.take_keyword(Keyword::Group) {
            return Ok(Vec::new());
        }
        self.expect_keyword(Keyword::By)?;
        if self.at_keyword(Keyword::All) {
            return self.unsupported("GROUP BY ALL");
        }
        if self.at_word("GROUPING") && self.is_word_ahead(1, "SETS") {
            return self.unsupported("GROUPING SETS");
        }
        let is_call = self.token_ahead(1).kind == TokenKind::OpenParen;
        if is_call && (self.at_word("ROLLUP") || self.at_word("CUBE")) {
            return self.unsupported("ROLLUP and CUBE");
        }
        let items = self.comma_separated(Self::expression)?;
        let with = self.at_keyword(Keyword::With);
        if with && (self.is_word_ahead(1, "ROLLUP") || self.is_word_ahead(1, "CUBE")) {
            return self.unsupported("ROLLUP and CUBE");
        }
        Ok(items)
    }
}

/// Whether a token can begin the column list of RECEIVE.
fn starts_receive_list(token: Token) -> bool {
    match token.kind {
        TokenKind::Keyword(keyword) => matches!(keyword, Keyword::Top | Keyword::Case | Keyword::Convert),
        TokenKind::Star | TokenKind::Variable => true,
        _ => is_ident(token),
    }
}

fn order_matters(query: &Query) -> bool {
    let has_top = matches!(&query.body, QueryBody::Select(select) if select.top.is_some());
    has_top || query.offset.is_some() || query.for_clause.is_some()
}
