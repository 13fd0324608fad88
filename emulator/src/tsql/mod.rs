//! T-SQL as text: lexer, syntax tree and parser.
//!
//! Pure text in, tree or error out. Knows no engine, no catalog, no value of the emulator, no session and
//! no clock; whether what a statement names exists is decided when it runs.
//!
//! A batch is parsed as a whole before any of it runs, so a mistake anywhere stops all of it, as on a
//! server. [`parse_batch`] is the way in; [`parse_parameter_declarations`] reads the second argument of
//! `sp_executesql`.

pub(crate) mod ast;

mod error;
mod keywords;
mod lexer;
mod parser;

pub(crate) use error::ParseError;
pub(crate) use parser::{ParseOptions, parse_batch, parse_parameter_declarations};
