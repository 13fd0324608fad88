//! One server error or notice as a client sees it: number, severity, state, text, place.
//!
//! Every part of the emulator answers with this type. The texts live beside the code that raises them
//! (`engine/errors.rs`, `relational/errors.rs`, ...), so this file must not know any number but its own.

use std::fmt;

/// An error of the server, as it goes into an ERROR token (MS-TDS 2.2.7.10).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlError {
    /// Message number, as in `sys.messages`; 50000 and above for user errors.
    pub number: i32,
    /// Severity ("class" on the wire), 11 to 25 for errors, 0 to 10 for notices.
    pub severity: u8,
    /// State, 1 where the server's is not known.
    pub state: u8,
    /// The whole text, one sentence or two.
    pub message: String,
    /// Line of the batch or procedure, 1-based; 0 until the interpreter has filled it in.
    pub line: u32,
    /// Procedure in which it happened; empty in a plain batch.
    pub procedure: String,
}

impl SqlError {
    /// An error of severity 16 and state 1, by far the most frequent kind.
    pub fn new(number: i32, message: impl Into<String>) -> SqlError {
        SqlError::with_severity(number, 16, message)
    }

    /// An error with a severity of its own.
    pub fn with_severity(number: i32, severity: u8, message: impl Into<String>) -> SqlError {
        SqlError { number, severity, state: 1, message: message.into(), line: 0, procedure: String::new() }
    }

    /// The one error for what the emulator does not support: 40510, naming the construct.
    pub fn unsupported(construct: impl fmt::Display) -> SqlError {
        SqlError::new(40510, format!("not supported by the emulator: {construct}"))
    }

    /// The same error with another state.
    pub fn state(mut self, state: u8) -> SqlError {
        self.state = state;
        self
    }

    /// The same error with its line, unless it has one already.
    pub fn at_line(mut self, line: u32) -> SqlError {
        if self.line == 0 {
            self.line = line;
        }
        self
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Msg {}, Level {}, State {}, Line {}: {}",
            self.number, self.severity, self.state, self.line, self.message
        )
    }
}

impl std::error::Error for SqlError {}
