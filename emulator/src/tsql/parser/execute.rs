//! EXECUTE of procedures and of text; EXECUTE AS is handed to the security rules.
//!
//! Must not know which procedures exist.

use super::stream::{Parsed, Parser, fail};
use super::variables::VariableRole;
use crate::tsql::ast::expr::BinaryOp;
use crate::tsql::ast::statement::{Execute, ExecuteArgument, ExecutePrincipal, ExecuteTarget};
use crate::tsql::ast::{Expr, StatementKind, VariableName};
use crate::tsql::error::ParseError;
use crate::tsql::keywords::Keyword;
use crate::tsql::lexer::TokenKind;

impl Parser<'_> {
    /// Whether the batch begins with a procedure's name or variable instead of a statement's first word.
    pub(super) fn at_implicit_execute(&self) -> bool {
        if self.at(TokenKind::Variable) || self.at(TokenKind::Delimited) {
            return true;
        }
        let verb = ["RECEIVE", "THROW", "ENABLE", "DISABLE"].iter().any(|verb| self.at_word(verb));
        let label = self.token_ahead(1).kind == TokenKind::Colon;
        self.at(TokenKind::Word) && !verb && !label && !self.at_conversation_verb()
    }

    /// A procedure's name and arguments without EXEC.
    pub(super) fn implicit_execute(&mut self) -> Parsed<StatementKind> {
        Ok(StatementKind::Execute(Box::new(self.execute()?)))
    }

    /// `EXEC ..`
    pub(super) fn execute_statement(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if self.at_keyword(Keyword::As) {
            return self.execute_as_statement();
        }
        Ok(StatementKind::Execute(Box::new(self.execute()?)))
    }

    /// What follows EXEC.
    pub(super) fn execute(&mut self) -> Parsed<Execute> {
        if self.at(TokenKind::OpenParen) {
            return self.execute_text();
        }
        let return_variable = self.return_variable()?;
        let target = self.procedure_target()?;
        let arguments = if self.argument_follows() { self.execute_arguments()? } else { Vec::new() };
        self.execute_options()?;
        Ok(Execute { return_variable, target, arguments })
    }

    /// `@parameter =`
    fn parameter_name(&mut self) -> Parsed<Option<VariableName>> {
        if !self.at(TokenKind::Variable) || self.token_ahead(1).kind != TokenKind::Equal {
            return Ok(None);
        }
        let name = self.variable_as(VariableRole::Parameter)?;
        self.advance();
        Ok(Some(name))
    }

    fn return_variable(&mut self) -> Parsed<Option<VariableName>> {
        if !self.at(TokenKind::Variable) || self.token_ahead(1).kind != TokenKind::Equal {
            return Ok(None);
        }
        let variable = self.variable()?;
        self.advance();
        Ok(Some(variable))
    }

    fn procedure_target(&mut self) -> Parsed<ExecuteTarget> {
        let target = if self.at(TokenKind::Variable) {
            ExecuteTarget::ProcedureVariable(self.variable()?)
        } else {
            ExecuteTarget::Procedure(self.object_name()?)
        };
        // `procedure;1`: the number of a procedure in its group.
        if self.at(TokenKind::Semicolon) && self.token_ahead(1).kind == TokenKind::Integer {
            self.advance();
            self.advance();
        }
        Ok(target)
    }

    fn argument_follows(&self) -> bool {
        match self.token().kind {
            TokenKind::Keyword(keyword) => matches!(keyword, Keyword::Null | Keyword::Default),
            TokenKind::Word => self.at_alias() && !self.at_conversation_verb(),
            TokenKind::Variable | TokenKind::Delimited | TokenKind::Minus | TokenKind::Plus => true,
            _ => self.at_constant(),
        }
    }

    fn at_constant(&self) -> bool {
        matches!(
            self.token().kind,
            TokenKind::Integer
                | TokenKind::Decimal
                | TokenKind::Float
                | TokenKind::Money
                | TokenKind::Binary
                | TokenKind::String
                | TokenKind::NationalString
        )
    }

    fn execute_arguments(&mut self) -> Parsed<Vec<ExecuteArgument>> {
        let mut position = 0;
        let mut named = false;
        self.comma_separated(|parser| {
            position += 1;
            let line = parser.token().line;
            let argument = parser.execute_argument()?;
            if named && argument.name.is_none() {
                return fail(ParseError::positional_after_named(position, line));
            }
            named |= argument.name.is_some();
            Ok(argument)
        })
    }

    fn execute_argument(&mut self) -> Parsed<ExecuteArgument> {
        let name = self.parameter_name()?;
        let line = self.token().line;
        let is_variable = self.at(TokenKind::Variable);
        let value = self.argument_value()?;
        let output = self.take_word("OUTPUT") || self.take_word("OUT");
        if output && !is_variable {
            return fail(ParseError::output_needs_variable(line));
        }
        Ok(ExecuteArgument { name, value, output })
    }

    fn argument_value(&mut self) -> Parsed<Option<Expr>> {
        if self.take_keyword(Keyword::Default) {
            return Ok(None);
        }
        if self.at_ident() {
            return Ok(Some(Expr::string(self.ident()?.text)));
        }
        self.constant_or_variable().map(Some)
    }

    /// `WITH RECOMPILE`, `WITH RESULT SETS ..`
    fn execute_options(&mut self) -> Parsed<()> {
        if !self.at_keyword(Keyword::With) {
            return Ok(());
        }
        if self.is_word_ahead(1, "RECOMPILE") {
            self.advance();
            self.advance();
        } else if self.is_word_ahead(1, "RESULT") {
            return self.unsupported("EXECUTE .. WITH RESULT SETS");
        }
        Ok(())
    }

    /// `('text' + @more) [AS {LOGIN | USER} = 'name']`
    fn execute_text(&mut self) -> Parsed<Execute> {
        self.advance();
        let text = self.concatenation()?;
        if self.at(TokenKind::Comma) {
            return self.unsupported("EXECUTE of text on a linked server");
        }
        self.expect(TokenKind::CloseParen)?;
        let principal = if self.take_keyword(Keyword::As) { Some(self.execute_principal()?) } else { None };
        if self.at_word("AT") {
            return self.unsupported("EXECUTE of text on a linked server");
        }
        self.execute_options()?;
        Ok(Execute {
            return_variable: None,
            target: ExecuteTarget::Text { text, principal },
            arguments: Vec::new(),
        })
    }

    /// Strings and variables joined by `+`; nothing else is allowed there.
    fn concatenation(&mut self) -> Parsed<Expr> {
        let mut text = self.text_or_variable_value()?;
        while self.take(TokenKind::Plus) {
            let right = Box::new(self.text_or_variable_value()?);
            text = Expr::Binary { op: BinaryOp::Add, left: Box::new(text), right };
        }
        Ok(text)
    }

    fn execute_principal(&mut self) -> Parsed<ExecutePrincipal> {
        let login = self.take_word("LOGIN");
        if !login {
            self.expect_keyword(Keyword::User)?;
        }
        self.expect(TokenKind::Equal)?;
        Ok(ExecutePrincipal { login, name: self.string()? })
    }
}
