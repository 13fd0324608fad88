//! The lexer: a batch as tokens with their place in the text.
//!
//! Must not know any grammar.

mod scan;
mod token;

#[cfg(test)]
mod tests;

pub(crate) use scan::tokenize;
pub(crate) use token::{Token, TokenKind, Tokens};
