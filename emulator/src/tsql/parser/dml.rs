//! INSERT, UPDATE, DELETE and their OUTPUT.
//!
//! Must not know what a target is.

use super::names::is_ident;
use super::stream::{Parsed, Parser};
use super::variables::VariableRole;
use crate::tsql::ast::dml::{
    Delete, DmlFilter, DmlTarget, Insert, InsertSource, OutputClause, OutputInto, Update, UpdateAssignment,
    ValueOrDefault,
};
use crate::tsql::ast::query::With;
use crate::tsql::ast::{Ident, ObjectName, VariableName};
use crate::tsql::keywords::Keyword;
use crate::tsql::lexer::TokenKind;

impl Parser<'_> {
    /// INSERT, after its WITH.
    pub(super) fn insert(&mut self, with: With) -> Parsed<Insert> {
        self.expect_keyword(Keyword::Insert)?;
        let top = self.optional_dml_top()?;
        self.take_keyword(Keyword::Into);
        let target = self.dml_target()?;
        let columns = if self.query_in_parentheses_follows() { Vec::new() } else { self.insert_columns()? };
        let output = self.output_clauses()?;
        let source = self.insert_source()?;
        let options = self.query_options()?;
        Ok(Insert { with, top, target, columns, output, source, options })
    }

    /// `(a, b)`; a column may be written with its table.
    pub(super) fn insert_columns(&mut self) -> Parsed<Vec<Ident>> {
        if !self.at(TokenKind::OpenParen) {
            return Ok(Vec::new());
        }
        self.parenthesised(|parser| {
            let mut name = parser.object_name()?;
            Ok(name.parts.pop().expect("an object name has at least one part"))
        })
    }

    fn insert_source(&mut self) -> Parsed<InsertSource> {
        if self.take_keyword(Keyword::Values) {
            let rows = self.comma_separated(|parser| parser.parenthesised(Self::value_or_default))?;
            return Ok(InsertSource::Values(rows));
        }
        if self.take_keyword(Keyword::Default) {
            self.expect_keyword(Keyword::Values)?;
            return Ok(InsertSource::DefaultValues);
        }
        if self.at_keyword(Keyword::Exec) || self.at_keyword(Keyword::Execute) {
            self.advance();
            return Ok(InsertSource::Execute(Box::new(self.execute()?)));
        }
        if !self.at_keyword(Keyword::Select) && !self.query_in_parentheses_follows() {
            return self.unexpected();
        }
        Ok(InsertSource::Query(Box::new(self.query()?)))
    }

    /// UPDATE, after its WITH.
    pub(super) fn update(&mut self, with: With) -> Parsed<Update> {
        self.expect_keyword(Keyword::Update)?;
        let top = self.optional_dml_top()?;
        let target = self.dml_target()?;
        self.expect_keyword(Keyword::Set)?;
        let assignments = self.comma_separated(Self::update_assignment)?;
        let output = self.output_clauses()?;
        let from = self.optional_from()?;
        let filter = self.dml_filter()?;
        let options = self.query_options()?;
        Ok(Update { with, top, target, assignments, output, from, filter, options })
    }

    /// One entry of SET.
    pub(super) fn update_assignment(&mut self) -> Parsed<UpdateAssignment> {
        if self.at(TokenKind::Variable) {
            let variable = self.variable()?;
            return self.variable_assignment(variable);
        }
        let mut column = self.object_name()?;
        if self.at(TokenKind::OpenParen) && column.parts.len() > 1 {
            let method = column.parts.pop().expect("a method follows a column");
            let arguments = self.call_arguments()?;
            return Ok(UpdateAssignment::Method { column, method, arguments });
        }
        self.assignment_rest(None, Some(column))
    }

    /// `@v = value` or `@v = column = value`, after the variable.
    fn variable_assignment(&mut self, variable: VariableName) -> Parsed<UpdateAssignment> {
        if !self.at(TokenKind::Equal) || !self.column_assignment_follows() {
            return self.assignment_rest(Some(variable), None);
        }
        self.advance();
        let column = self.object_name()?;
        self.assignment_rest(Some(variable), Some(column))
    }

    fn column_assignment_follows(&self) -> bool {
        let mut distance = 1;
        while is_ident(self.token_ahead(distance)) && self.token_ahead(distance + 1).kind == TokenKind::Dot {
            distance += 2;
        }
        let operator = self.token_ahead(distance + 1).kind;
        is_ident(self.token_ahead(distance)) && super::expressions::assignment(operator).is_some()
    }

    fn assignment_rest(
        &mut self,
        variable: Option<VariableName>,
        column: Option<ObjectName>,
    ) -> Parsed<UpdateAssignment> {
        let op = self.assign_op()?;
        let value = self.value_or_default()?;
        Ok(UpdateAssignment::Set { variable, column, op, value })
    }

    /// A value, or DEFAULT in its place.
    pub(super) fn value_or_default(&mut self) -> Parsed<ValueOrDefault> {
        if self.take_keyword(Keyword::Default) {
            return Ok(ValueOrDefault::Default);
        }
        Ok(ValueOrDefault::Value(self.expression()?))
    }

    /// DELETE, after its WITH.
    pub(super) fn delete(&mut self, with: With) -> Parsed<Delete> {
        self.expect_keyword(Keyword::Delete)?;
        let top = self.optional_dml_top()?;
        self.take_keyword(Keyword::From);
        let target = self.dml_target()?;
        let output = self.output_clauses()?;
        let from = self.optional_from()?;
        let filter = self.dml_filter()?;
        let options = self.query_options()?;
        Ok(Delete { with, top, target, output, from, filter, options })
    }

    /// A table with hints, or a table variable.
    pub(super) fn dml_target(&mut self) -> Parsed<DmlTarget> {
        if self.at(TokenKind::Variable) {
            return Ok(DmlTarget::Variable(self.variable_as(VariableRole::Table)?));
        }
        for (keyword, construct) in [(Keyword::Openquery, "OPENQUERY"), (Keyword::Openrowset, "OPENROWSET")] {
            if self.at_keyword(keyword) {
                return self.unsupported(construct);
            }
        }
        let name = self.object_name()?;
        let hints = if self.at_keyword(Keyword::With) { self.optional_table_hints()? } else { Vec::new() };
        Ok(DmlTarget::Table { name, hints })
    }

    fn dml_filter(&mut self) -> Parsed<Option<DmlFilter>> {
        if !self.take_keyword(Keyword::Where) {
            return Ok(None);
        }
        if self.take_keyword(Keyword::Current) {
            self.expect_keyword(Keyword::Of)?;
            return Ok(Some(DmlFilter::CurrentOf(self.cursor_name()?)));
        }
        Ok(Some(DmlFilter::Condition(self.condition()?)))
    }

    /// OUTPUT, at most one with INTO before one without.
    pub(super) fn output_clauses(&mut self) -> Parsed<Vec<OutputClause>> {
        let mut clauses = Vec::new();
        while clauses.len() < 2 && self.take_word("OUTPUT") {
            let items = self.comma_separated(Self::select_item)?;
            let into = if self.take_keyword(Keyword::Into) { Some(self.output_into()?) } else { None };
            let last = into.is_none();
            clauses.push(OutputClause { items, into });
            if last {
                break;
            }
        }
        Ok(clauses)
    }

    fn output_into(&mut self) -> Parsed<OutputInto> {
        let target = self.dml_target()?;
        let columns = if self.query_in_parentheses_follows() { Vec::new() } else { self.insert_columns()? };
        Ok(OutputInto { target, columns })
    }
}
