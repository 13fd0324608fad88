//! Runs T-SQL: control of flow, variables, errors, settings, procedures, and the statements that change the engine.
//!
//! A request becomes a flat [`Program`] (`program`), which `run` goes through step by step. Each statement is one
//! function in `statements`, found by one table. What a statement does to the engine it does in one operation
//! (`operation`), which waits and runs again when the engine says so. Expressions and queries are evaluated by
//! `relational` in the environment of `scope`. This module must not know the wire, and holds no lock across a wait.
//!
//! | module | holds |
//! |---|---|
//! | `program`, `text_cache` | batches laid out flat, kept by their text |
//! | `requests`, `reset` | the requests of a session from beginning to end |
//! | `run`, `effects`, `faults` | the loop over the steps; what errors do; what a fault plan does |
//! | `execution`, `state`, `options`, `frame`, `cursor` | what runs: request, session, settings, variables, cursors |
//! | `operation`, `scope`, `globals`, `operands`, `names` | engine calls and what they see |
//! | `statements` | the statements |
//! | `procedures` | calls of procedures |
//! | `message_format`, `errors` | RAISERROR's templates, and the interpreter's own errors |

mod cursor;
mod effects;
mod errors;
mod execution;
mod faults;
mod frame;
mod globals;
mod message_format;
mod names;
mod operands;
mod operation;
mod options;
mod procedures;
mod program;
mod requests;
mod reset;
mod run;
mod scope;
mod state;
mod statements;
mod text_cache;

pub(crate) use execution::Execution;
pub(crate) use procedures::Procedure;
pub(crate) use program::Program;
pub(crate) use state::SessionState;
pub(crate) use statements::{database_context, database_name};
pub(crate) use text_cache::TextCache;

#[cfg(test)]
mod tests;
