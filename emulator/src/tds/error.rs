//! Why a message of a client could not be understood.
//!
//! This file must not know the messages themselves; each decoder names what it was reading.

use std::fmt;

use crate::error::SqlError;

/// A message that breaks the protocol, or asks for a part of it the emulator lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProtocolError {
    /// The bytes are not what MS-TDS prescribes.
    Malformed {
        /// What was being read.
        what: String,
        /// Where, in bytes from the start of the message.
        offset: usize,
    },
    /// The bytes are understood, but the emulator does not do what they ask.
    Unsupported(String),
}

impl ProtocolError {
    /// A message that is wrong at `offset`.
    pub(crate) fn malformed(what: impl Into<String>, offset: usize) -> ProtocolError {
        ProtocolError::Malformed { what: what.into(), offset }
    }

    /// A feature of the protocol the emulator lacks.
    pub(crate) fn unsupported(what: impl Into<String>) -> ProtocolError {
        ProtocolError::Unsupported(what.into())
    }

    /// The error as its sender is told: 4002 for a broken stream, 40510 for what is not supported.
    pub(crate) fn to_sql_error(&self) -> SqlError {
        match self {
            ProtocolError::Malformed { .. } => {
                SqlError::new(4002, format!("The incoming TDS protocol stream is incorrect: {self}."))
            }
            ProtocolError::Unsupported(what) => SqlError::unsupported(what),
        }
    }
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProtocolError::Malformed { what, offset } => write!(f, "{what} at byte {offset}"),
            ProtocolError::Unsupported(what) => write!(f, "not supported by the emulator: {what}"),
        }
    }
}

impl std::error::Error for ProtocolError {}
