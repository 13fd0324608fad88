//! DECLARE, and SET of a variable.
//!
//! Knows which variables the text declares, not what they hold.

use std::collections::BTreeMap;

use super::stream::{Parsed, Parser};
use crate::tsql::ast::expr::AssignOp;
use crate::tsql::ast::statement::{Declaration, SetVariable, UndeclaredVariable, VariableChange};
use crate::tsql::ast::{StatementKind, VariableName};
use crate::tsql::keywords::Keyword;
use crate::tsql::lexer::TokenKind;

/// What variables of the text are there for, where it is not their value; by the index of their token.
#[derive(Debug, Default)]
pub(super) struct VariableTokens(BTreeMap<usize, VariableRole>);

/// What a variable is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VariableRole {
    /// It is declared here.
    Declared,
    /// It names a parameter of a procedure that is called.
    Parameter,
    /// It stands for a table.
    Table,
}

impl Parser<'_> {
    /// A variable in a role other than that of its value.
    pub(super) fn variable_as(&mut self, role: VariableRole) -> Parsed<VariableName> {
        let position = self.position();
        let name = self.variable()?;
        self.variables.0.insert(position, role);
        Ok(name)
    }

    /// Uses of variables that no declaration comes before. Only the order of the text counts, not the flow of control.
    pub(super) fn undeclared_variables(&self) -> Vec<UndeclaredVariable> {
        let mut declared: Vec<VariableName> = Vec::new();
        let mut undeclared = Vec::new();
        let variables = self.tokens().iter().enumerate().filter(|(_, it)| it.kind == TokenKind::Variable);
        for (position, token) in variables {
            let name = VariableName::new(self.text_of(*token));
            let role = self.variables.0.get(&position);
            match role {
                Some(VariableRole::Declared) => declared.push(name),
                Some(VariableRole::Parameter) => {}
                _ if name.is_system() || declared.contains(&name) => {}
                _ => {
                    let is_table = role == Some(&VariableRole::Table);
                    undeclared.push(UndeclaredVariable { name, line: token.line, is_table });
                }
            }
        }
        undeclared
    }

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
        let name = self.variable_as(VariableRole::Declared)?;
        self.take_keyword(Keyword::As);
        self.expect_keyword(Keyword::Table)?;
        let elements = self.table_elements()?;
        Ok(StatementKind::Declare(vec![Declaration::Table { name, elements }]))
    }

    fn declaration(&mut self) -> Parsed<Declaration> {
        let name = self.variable_as(VariableRole::Declared)?;
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
