//! The syntax tree of T-SQL: what a batch says, before anything is looked up.
//!
//! Nodes hold names and literals as written. They know no catalog, no values of the emulator and no
//! session; whether a table, variable or service exists is decided when a statement runs.
//!
//! | module | holds |
//! |---|---|
//! | [`name`] | identifiers, object names, variables, data types as syntax |
//! | [`expr`] | scalar expressions and conditions |
//! | [`query`] | SELECT and everything a FROM clause may hold |
//! | [`dml`] | INSERT, UPDATE, DELETE, MERGE |
//! | [`statement`] | batches, control flow, variables, session settings, EXECUTE |
//! | [`cursor`] | cursor statements |
//! | [`ddl`] | tables, procedures, schemas, databases |
//! | [`broker`] | conversation statements and the definition of broker objects |
//! | [`security`] | logins, users, roles, permissions |

pub(crate) mod broker;
pub(crate) mod cursor;
pub(crate) mod ddl;
pub(crate) mod dml;
pub(crate) mod expr;
pub(crate) mod name;
pub(crate) mod query;
pub(crate) mod security;
pub(crate) mod statement;

pub(crate) use expr::{Condition, Expr, Literal};
pub(crate) use name::{DataTypeName, Ident, ObjectName, Span, TypeArguments, VariableName};
pub(crate) use query::{Query, SelectItem, SelectStatement};
pub(crate) use statement::{Batch, Statement, StatementKind};
