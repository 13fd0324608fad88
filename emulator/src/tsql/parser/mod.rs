//! Tokens to tree: the grammar of T-SQL, one file per family of statements.
//!
//! Recursive descent with one token of lookahead nearly everywhere. Statement boundaries come from the
//! reserved words: a semicolon is optional, and no reserved word is ever taken as an alias.
//!
//! | module | parses |
//! |---|---|
//! | `entry` | whole batches, parameter declarations |
//! | `stream` | the token stream: looking ahead, taking, refusing |
//! | `names` | identifiers, object names, data types |
//! | `expressions`, `primaries`, `functions` | values and conditions |
//! | `query`, `tables`, `for_clause`, `hints` | SELECT |
//! | `dml`, `merge` | INSERT, UPDATE, DELETE, MERGE |
//! | `statements` | which statement starts here, and where it ends |
//! | `control_flow`, `messages`, `variables`, `set_options`, `execute`, `transactions`, `cursors` | statements around data |
//! | `broker`, `broker_ddl`, `queues` | Service Broker |
//! | `definitions` | which CREATE, ALTER or DROP it is |
//! | `table_definition`, `alter_table`, `indexes`, `procedure`, `database` | definitions |
//! | `security` | principals and permissions |
//! | `unsupported` | what is recognised by name only |

mod alter_table;
mod broker;
mod broker_ddl;
mod control_flow;
mod cursors;
mod database;
mod definitions;
mod dml;
mod entry;
mod execute;
mod expressions;
mod for_clause;
mod functions;
mod hints;
mod indexes;
mod merge;
mod messages;
mod names;
mod primaries;
mod procedure;
mod query;
mod queues;
mod security;
mod set_options;
mod statements;
mod stream;
mod table_definition;
mod tables;
mod transactions;
mod unsupported;
mod variables;

#[cfg(test)]
mod tests;

pub(crate) use entry::{ParseOptions, parse_batch, parse_parameter_declarations};
