//! INSERT, UPDATE and DELETE, on tables and table variables.
//!
//! Every statement finds all its rows and values first and changes afterwards, so that it sees nothing of its own doing
//! and, where it has to wait, has done nothing yet that would not be undone.

mod delete;
mod insert;
mod matching;
mod new_row;
mod output;
mod shape;
mod update;

use std::sync::Arc;

use crate::value::{Column, Value};

pub(crate) use delete::delete;
pub(crate) use insert::insert;
pub(crate) use update::update;

/// Columns and rows of a result.
pub(crate) type ResultSet = (Arc<[Column]>, Vec<Vec<Value>>);

/// What a data change did.
#[derive(Debug, Default)]
pub(crate) struct DmlOutcome {
    /// Rows inserted, updated or deleted.
    pub(crate) count: usize,
    /// What OUTPUT without INTO returned.
    pub(crate) output: Option<ResultSet>,
}
