//! What is wrong with a text that is no T-SQL, in the server's numbers and words.
//!
//! Must not know which token stream or grammar rule found it.

use std::error::Error;
use std::fmt;

/// A text that cannot be parsed. Nothing of its batch may run.
///
/// Numbers, states and texts are those a server answers with, all at severity 15.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParseError {
    /// The server's message number, e.g. 102.
    pub(crate) number: i32,
    /// The state.
    pub(crate) state: u8,
    /// Line within the batch, 1-based.
    pub(crate) line: u32,
    /// The text.
    pub(crate) message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error {} at line {}: {}", self.number, self.line, self.message)
    }
}

impl Error for ParseError {}

impl ParseError {
    /// 102: a token that cannot stand where it does.
    pub(crate) fn near(token: &str, line: u32) -> ParseError {
        ParseError::new(102, 1, line, format!("Incorrect syntax near '{token}'."))
    }

    /// 156: a reserved word that cannot stand where it does.
    pub(crate) fn near_keyword(keyword: &str, line: u32) -> ParseError {
        ParseError::new(156, 1, line, format!("Incorrect syntax near the keyword '{keyword}'."))
    }

    /// 105: a string or delimited name without an end.
    pub(crate) fn unclosed_quotation(content: &str, line: u32) -> ParseError {
        let message = format!("Unclosed quotation mark after the character string '{content}'.");
        ParseError::new(105, 1, line, message)
    }

    /// 113: a comment without an end.
    pub(crate) fn unclosed_comment(line: u32) -> ParseError {
        ParseError::new(113, 1, line, "Missing end comment mark '*/'.".to_owned())
    }

    /// 103: a name longer than 128 characters.
    pub(crate) fn name_too_long(name: &str, line: u32) -> ParseError {
        let start: String = name.chars().take(128).collect();
        let message =
            format!("The identifier that starts with '{start}' is too long. Maximum length is 128.");
        ParseError::new(103, 4, line, message)
    }

    /// 111: a definition that has to be first in its batch and is not.
    pub(crate) fn must_be_first(statement: &str, line: u32) -> ParseError {
        let message = format!("'{statement}' must be the first statement in a query batch.");
        ParseError::new(111, 1, line, message)
    }

    /// 117: a name with more parts than its kind of object takes.
    pub(crate) fn too_many_prefixes(name: &str, maximum: usize, line: u32) -> ParseError {
        let message = format!(
            "The object name '{name}' contains more than the maximum number of prefixes. The maximum is {maximum}."
        );
        ParseError::new(117, 1, line, message)
    }

    /// 119: a positional argument after a named one.
    pub(crate) fn positional_after_named(position: usize, line: u32) -> ParseError {
        let message = format!(
            "Must pass parameter number {position} and subsequent parameters as '@name = value'. After the form \
             '@name = value' has been used, all subsequent parameters must be passed in the form '@name = value'."
        );
        ParseError::new(119, 1, line, message)
    }

    /// 132: one label twice.
    pub(crate) fn duplicate_label(label: &str, line: u32) -> ParseError {
        let message = format!(
            "The label '{label}' has already been declared. Label names must be unique within a query batch or \
             stored procedure."
        );
        ParseError::new(132, 1, line, message)
    }

    /// 133: GOTO to a label that is nowhere.
    pub(crate) fn unknown_label(label: &str, line: u32) -> ParseError {
        let message =
            format!("A GOTO statement references the label '{label}' but the label has not been declared.");
        ParseError::new(133, 1, line, message)
    }

    /// 135 and 136: BREAK or CONTINUE outside a loop.
    pub(crate) fn outside_loop(number: i32, keyword: &str, line: u32) -> ParseError {
        let message = format!("Cannot use a {keyword} statement outside the scope of a WHILE statement.");
        ParseError::new(number, 1, line, message)
    }

    /// 179: OUTPUT on an argument that is no variable.
    pub(crate) fn output_needs_variable(line: u32) -> ParseError {
        let message =
            "Cannot use the OUTPUT option when passing a constant to a stored procedure.".to_owned();
        ParseError::new(179, 1, line, message)
    }

    /// 191: deeper than the parser follows.
    pub(crate) fn nested_too_deeply(line: u32) -> ParseError {
        let message = "Some part of your SQL statement is nested too deeply. Rewrite the query or break it up \
                       into smaller queries.";
        ParseError::new(191, 1, line, message.to_owned())
    }

    /// 195: a set option nobody knows.
    pub(crate) fn unknown_option(name: &str, kind: &str, line: u32) -> ParseError {
        ParseError::new(195, 5, line, format!("'{name}' is not a recognized {kind}."))
    }

    /// 319: WITH after a statement without a semicolon.
    pub(crate) fn with_needs_semicolon(line: u32) -> ParseError {
        let message = "Incorrect syntax near the keyword 'with'. If this statement is a common table expression, \
                       an xmlnamespaces clause or a change tracking context clause, the previous statement must \
                       be terminated with a semicolon.";
        ParseError::new(319, 1, line, message.to_owned())
    }

    /// 321: a table hint nobody knows.
    pub(crate) fn unknown_hint(name: &str, line: u32) -> ParseError {
        let message = format!(
            "\"{name}\" is not a recognized table hints option. If it is intended as a parameter to a \
             table-valued function or to the CHANGETABLE function, ensure that your database compatibility mode \
             is set to 90."
        );
        ParseError::new(321, 1, line, message)
    }

    /// 1033: ORDER BY in a query whose order means nothing.
    pub(crate) fn order_by_not_allowed(line: u32) -> ParseError {
        let message = "The ORDER BY clause is invalid in views, inline functions, derived tables, subqueries, and \
                       common table expressions, unless TOP, OFFSET or FOR XML is also specified.";
        ParseError::new(1033, 1, line, message.to_owned())
    }

    /// 4145: a value where a condition is needed.
    pub(crate) fn condition_expected(token: &str, line: u32) -> ParseError {
        let message = format!(
            "An expression of non-boolean type specified in a context where a condition is expected, near '{token}'."
        );
        ParseError::new(4145, 1, line, message)
    }

    /// 10713: MERGE without its semicolon.
    pub(crate) fn merge_needs_semicolon(line: u32) -> ParseError {
        let message = "A MERGE statement must be terminated by a semi-colon (;).".to_owned();
        ParseError::new(10713, 1, line, message)
    }

    fn new(number: i32, state: u8, line: u32, message: String) -> ParseError {
        ParseError { number, state, line, message }
    }
}
