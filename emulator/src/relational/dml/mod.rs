//! INSERT, UPDATE, DELETE and MERGE, on tables and table variables.
//!
//! Every statement finds all its rows and values first and changes afterwards, so that it sees nothing of its own doing
//! and, where it has to wait, has done nothing yet that would not be undone.

mod delete;
mod insert;
mod matching;
mod merge;
mod new_row;
mod output;
mod shape;
mod update;

use std::sync::Arc;

use crate::engine::{Op, Permission, TableKey};
use crate::relational::environment::Context;
use crate::value::{Column, Value};
use new_row::RowMaker;
use shape::Shape;

pub(crate) use delete::delete;
pub(crate) use insert::{insert, insert_returned};
pub(crate) use merge::merge;
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

/// The rows of a table as its constraints want them.
pub(crate) struct TableRows {
    shape: Shape,
    maker: RowMaker,
}

impl TableRows {
    /// Those of that table.
    ///
    /// # Errors
    /// 229, and what is wrong with the constraints.
    pub(crate) fn of(table: TableKey, ctx: &mut Context<'_, '_>) -> Op<TableRows> {
        let shape = Shape::of_table(table, Permission::Alter, ctx)?;
        let maker = RowMaker::new(&shape, ctx)?;
        Ok(TableRows { shape, maker })
    }

    /// Checks a row that exists.
    ///
    /// # Errors
    /// 515, 547; `statement` is named in them.
    pub(crate) fn check(&self, row: Vec<Value>, statement: &str, ctx: &mut Context<'_, '_>) -> Op<()> {
        self.maker.finished(&self.shape, row, statement, ctx).map(drop)
    }
}
