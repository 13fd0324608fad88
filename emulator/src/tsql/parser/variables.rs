//! DECLARE, and SET of a variable.
//!
//! Must not know which variables exist.

use super::stream::{Parsed, Parser};
use crate::tsql::ast::expr::AssignOp;
use crate::tsql::ast::statement::{Declaration, SetVariable, VariableChange};
use crate::tsql::ast::{StatementKind, VariableName};
use crate::tsql::keywords::Keyword;
use crate::tsql::lexer::TokenKind;

impl Parser<'_> {
    /// DECLARE of variables or of a cursor.
    pub(super) fn declare(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if self.at_ident() {
            return self.declare_cursor();
        }
        if self.at_table_variable() {
            return self.declare_table();
        }
        Ok(StatementKind::Declare(self.comma_separated(Self::declaration)?))
    }

    fn at_table_variable(&self) -> bool {
        let with_as = self.is_keyword_ahead(1, Keyword::As) && self.is_keyword_ahead(2, Keyword::Table);
        self.is_keyword_ahead(1, Keyword::Table) || with_as
    }

    /// `@t [AS] TABLE (..)`, which stands alone in its DECLARE.
    fn declare_table(&mut self) -> Parsed<StatementKind> {
        let name = self.variable()?;
        self.take_keyword(Keyword::As);
        self.expect_keyword(Keyword::Table)?;
        let elements = self.table_elements()?;
        Ok(StatementKind::Declare(vec![Declaration::Table { name, elements }]))
    }

    fn declaration(&mut self) -> Parsed<Declaration> {
        let name = self.variable()?;
        self.take_keyword(Keyword::As);
        if self.take_keyword(Keyword::Cursor) {
            return Ok(Declaration::Cursor(name));
        }
        let data_type = self.data_type()?;
        let value = if self.take(TokenKind::Equal) { Some(self.expression()?) } else { None };
        Ok(Declaration::Scalar { name, data_type, value })
    }

    /// SET of a variable or of session options.
    pub(super) fn set(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if !self.at(TokenKind::Variable) {
            return self.set_options();
        }
        let variable = self.variable()?;
        let change = self.variable_change(&variable)?;
        Ok(StatementKind::SetVariable(Box::new(SetVariable { variable, change })))
    }

    fn variable_change(&mut self, variable: &VariableName) -> Parsed<VariableChange> {
        if self.take(TokenKind::Dot) {
            let method = self.ident()?;
            if !self.at(TokenKind::OpenParen) {
                return self.unsupported("SET of a property of a CLR type");
            }
            return Ok(VariableChange::Method { method, arguments: self.call_arguments()? });
        }
        if variable.is_system() {
            // The server's own functions are not assignable, and nothing tells them from variables here.
            self.rewind(self.position() - 1);
            return self.unexpected();
        }
        let op = self.assign_op()?;
        if op == AssignOp::Set && self.take_keyword(Keyword::Cursor) {
            return Ok(VariableChange::Cursor(self.cursor_definition(false, false)?));
        }
        Ok(VariableChange::Assign { op, value: self.expression()? })
    }
}
