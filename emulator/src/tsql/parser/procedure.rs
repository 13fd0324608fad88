//! CREATE, ALTER, CREATE OR ALTER PROCEDURE, and parameter lists.
//!
//! Must not know how a procedure is kept or run.

use super::definitions::ddl;
use super::stream::{Parsed, Parser, fail};
use super::variables::VariableRole;
use crate::tsql::ast::ddl::{DdlStatement, ModuleAction, ModuleOptions, Parameter, ProcedureDefinition};
use crate::tsql::ast::security::ExecuteAs;
use crate::tsql::ast::{Expr, Span, StatementKind};
use crate::tsql::keywords::Keyword;
use crate::tsql::lexer::TokenKind;

impl Parser<'_> {
    /// A procedure, at PROC or PROCEDURE; everything to the end of the batch is its body.
    pub(super) fn procedure(&mut self, start: usize, action: ModuleAction) -> Parsed<StatementKind> {
        self.refuse_unless_first(start, "CREATE/ALTER PROCEDURE")?;
        self.advance();
        let name = self.object_name_of(3)?;
        if self.at(TokenKind::Semicolon) && self.token_ahead(1).kind == TokenKind::Integer {
            return self.unsupported("numbered procedures");
        }
        let parameters = self.optional_parameters()?;
        let options = self.module_options()?;
        if self.take_keyword(Keyword::For) {
            self.expect_keyword(Keyword::Replication)?;
        }
        self.expect_keyword(Keyword::As)?;
        if self.at_keyword(Keyword::External) {
            return self.unsupported("procedures in assemblies");
        }
        let body = self.statement_list()?;
        self.expect_end()?;
        let labels = std::mem::take(&mut self.labels).resolve().or_else(fail)?;
        let text = Span { start: 0, end: self.text.len() };
        let definition = ProcedureDefinition { action, name, parameters, options, body, labels, text };
        Ok(ddl(DdlStatement::Procedure(Box::new(definition))))
    }

    fn optional_parameters(&mut self) -> Parsed<Vec<Parameter>> {
        if self.take(TokenKind::OpenParen) {
            let parameters = self.parameters()?;
            self.expect(TokenKind::CloseParen)?;
            return Ok(parameters);
        }
        if self.at(TokenKind::Variable) { self.parameters() } else { Ok(Vec::new()) }
    }

    /// `@a type [= default] [OUTPUT], ..`
    pub(super) fn parameters(&mut self) -> Parsed<Vec<Parameter>> {
        self.comma_separated(Self::parameter)
    }

    fn parameter(&mut self) -> Parsed<Parameter> {
        let name = self.variable_as(VariableRole::Declared)?;
        self.take_keyword(Keyword::As);
        let data_type = self.data_type()?;
        self.take_keyword(Keyword::Varying);
        let not_null = self.take_keyword(Keyword::Not);
        if not_null {
            self.expect_keyword(Keyword::Null)?;
        } else {
            self.take_keyword(Keyword::Null);
        }
        let default = if self.take(TokenKind::Equal) { Some(self.parameter_default()?) } else { None };
        let output = self.take_word("OUTPUT") || self.take_word("OUT");
        let read_only = self.take_word("READONLY");
        Ok(Parameter { name, data_type, default, output, read_only })
    }

    /// A constant, or a bare word that stands for a string.
    fn parameter_default(&mut self) -> Parsed<Expr> {
        if self.at_ident() {
            return Ok(Expr::string(self.ident()?.text));
        }
        if self.at(TokenKind::Variable) {
            return self.constant_or_variable();
        }
        self.signed_constant()
    }

    fn module_options(&mut self) -> Parsed<ModuleOptions> {
        let mut options = ModuleOptions::default();
        if self.take_keyword(Keyword::With) {
            self.comma_separated(|parser| parser.module_option(&mut options))?;
        }
        Ok(options)
    }

    fn module_option(&mut self, options: &mut ModuleOptions) -> Parsed<()> {
        if self.take_word("ENCRYPTION") {
            options.encryption = true;
        } else if self.take_word("RECOMPILE") {
            options.recompile = true;
        } else if self.take_word("SCHEMABINDING") {
            options.schema_binding = true;
        } else if self.at_word("NATIVE_COMPILATION") {
            return self.unsupported("natively compiled procedures");
        } else {
            options.execute_as = Some(self.module_execute_as()?);
        }
        Ok(())
    }

    fn module_execute_as(&mut self) -> Parsed<ExecuteAs> {
        if !self.take_keyword(Keyword::Execute) {
            self.expect_keyword(Keyword::Exec)?;
        }
        self.expect_keyword(Keyword::As)?;
        if self.take_word("CALLER") {
            return Ok(ExecuteAs::Caller);
        }
        if self.take_word("SELF") {
            return Ok(ExecuteAs::SelfUser);
        }
        if self.take_word("OWNER") {
            return Ok(ExecuteAs::Owner);
        }
        Ok(ExecuteAs::User(self.string()?))
    }
}
