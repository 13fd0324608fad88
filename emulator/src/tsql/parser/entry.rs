//! The two ways into the parser.
//!
//! Must not know any single statement.

use super::stream::{Failure, Parsed, Parser};
use crate::tsql::ast::Batch;
use crate::tsql::ast::ddl::Parameter;
use crate::tsql::error::ParseError;
use crate::tsql::lexer::TokenKind;

/// Settings of the session that change how text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ParseOptions {
    /// SET QUOTED_IDENTIFIER: `"x"` is a name when on, a string when off.
    pub(crate) quoted_identifier: bool,
}

impl Default for ParseOptions {
    fn default() -> ParseOptions {
        ParseOptions { quoted_identifier: true }
    }
}

/// Parses a whole batch.
///
/// # Errors
///
/// The first thing that is no T-SQL, with the number, line and text a server answers with; nothing of the
/// batch may run then. T-SQL that the emulator does not offer is no error here but a statement that says so.
pub(crate) fn parse_batch(text: &str, options: ParseOptions) -> Result<Batch, ParseError> {
    let mut parser = Parser::new(text, options);
    let statements = parser.batch_statements();
    let statements = parser.finish(statements)?;
    let undeclared = parser.undeclared_variables();
    let labels = parser.labels.resolve()?;
    Ok(Batch { statements, labels, undeclared })
}

/// Parses the parameter list of `sp_executesql`: `@a int, @b nvarchar(max) OUTPUT`.
///
/// # Errors
///
/// As [`parse_batch`].
pub(crate) fn parse_parameter_declarations(text: &str) -> Result<Vec<Parameter>, ParseError> {
    let mut parser = Parser::new(text, ParseOptions::default());
    let parameters = parser.only_parameters();
    parser.finish(parameters)
}

impl Parser<'_> {
    fn only_parameters(&mut self) -> Parsed<Vec<Parameter>> {
        if self.at(TokenKind::End) {
            return Ok(Vec::new());
        }
        let parameters = self.parameters()?;
        self.expect_end()?;
        Ok(parameters)
    }

    fn finish<T>(&self, result: Parsed<T>) -> Result<T, ParseError> {
        result.map_err(|failure| match failure {
            Failure::Syntax(error) => *error,
            Failure::Unsupported(_) => self.unexpected_error(),
        })
    }
}
