//! PRINT, RAISERROR, THROW.
//!
//! Must not know how messages are sent.

use super::stream::{Parsed, Parser};
use crate::tsql::ast::statement::{RaiseError, Throw};
use crate::tsql::ast::{Expr, Literal, StatementKind};
use crate::tsql::keywords::Keyword;
use crate::tsql::lexer::TokenKind;

impl Parser<'_> {
    /// `PRINT value`
    pub(super) fn print(&mut self) -> Parsed<StatementKind> {
        self.advance();
        Ok(StatementKind::Print(self.expression()?))
    }

    /// `RAISERROR (message, severity, state [, arguments]) [WITH options]`
    pub(super) fn raise_error(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if self.at(TokenKind::Integer) {
            return self.unsupported("RAISERROR without parentheses");
        }
        self.expect(TokenKind::OpenParen)?;
        let message = self.constant_or_variable()?;
        self.expect(TokenKind::Comma)?;
        let severity = self.constant_or_variable()?;
        self.expect(TokenKind::Comma)?;
        let state = self.constant_or_variable()?;
        let mut arguments = Vec::new();
        while self.take(TokenKind::Comma) {
            arguments.push(self.constant_or_variable()?);
        }
        self.expect(TokenKind::CloseParen)?;
        let mut raise =
            RaiseError { message, severity, state, arguments, log: false, no_wait: false, set_error: false };
        if self.take_keyword(Keyword::With) {
            self.comma_separated(|parser| parser.raise_option(&mut raise))?;
        }
        Ok(StatementKind::RaiseError(Box::new(raise)))
    }

    fn raise_option(&mut self, raise: &mut RaiseError) -> Parsed<()> {
        if self.take_word("LOG") {
            raise.log = true;
        } else if self.take_word("NOWAIT") {
            raise.no_wait = true;
        } else {
            self.expect_word("SETERROR")?;
            raise.set_error = true;
        }
        Ok(())
    }

    /// `THROW [number, message, state]`
    pub(super) fn throw(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if !self.at(TokenKind::Variable) && !self.at(TokenKind::Integer) {
            return Ok(StatementKind::Throw(None));
        }
        let number = self.unsigned_or_variable()?;
        self.expect(TokenKind::Comma)?;
        let message = self.text_or_variable_value()?;
        self.expect(TokenKind::Comma)?;
        let state = self.unsigned_or_variable()?;
        Ok(StatementKind::Throw(Some(Box::new(Throw { number, message, state }))))
    }

    /// A whole number without a sign, or a variable.
    pub(super) fn unsigned_or_variable(&mut self) -> Parsed<Expr> {
        if self.at(TokenKind::Variable) {
            return self.constant_or_variable();
        }
        match self.constant()? {
            number @ (Literal::Int(_) | Literal::Decimal(_)) => Ok(Expr::Literal(number)),
            _ => self.unexpected_at(self.position() - 1),
        }
    }
}
