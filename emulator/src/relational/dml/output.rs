//! OUTPUT: rows built from the old and new values of a change, returned or stored.

use crate::engine::{Op, Permission};
use crate::relational::dml::DmlOutcome;
use crate::relational::dml::insert::{Columns, store};
use crate::relational::dml::new_row::RowMaker;
use crate::relational::dml::shape::Shape;
use crate::relational::environment::Context;
use crate::relational::query::{CommonTables, Projection};
use crate::relational::scope::{Frame, Scope, ScopeColumn};
use crate::tsql::ast::dml::OutputClause;
use crate::value::Value;

/// The OUTPUT clauses of a statement while it runs.
pub(super) struct Outputs<'s> {
    clauses: Vec<(&'s OutputClause, Projection, Vec<Vec<Value>>)>,
}

impl<'s> Outputs<'s> {
    /// Binds the clauses over the columns of `inserted`, `deleted` and the statement's sources, as far as it has them.
    ///
    /// # Errors
    /// Those of the lists.
    pub(super) fn bind(
        clauses: &'s [OutputClause],
        columns: &[ScopeColumn],
        ctx: &mut Context<'_, '_>,
    ) -> Op<Outputs<'s>> {
        let scope = Scope::new(columns, None);
        let mut bound = Vec::with_capacity(clauses.len());
        for clause in clauses {
            let projection = Projection::bind_in(&clause.items, &scope, CommonTables::NONE, ctx)?;
            bound.push((clause, projection, Vec::new()));
        }
        Ok(Outputs { clauses: bound })
    }

    /// Whether there is no clause, so that no rows need be put together.
    pub(super) fn is_empty(&self) -> bool {
        self.clauses.is_empty()
    }

    /// Takes the row of one changed row.
    ///
    /// # Errors
    /// Those of the lists.
    pub(super) fn add(&mut self, row: &[Value], ctx: &mut Context<'_, '_>) -> Op<()> {
        for (_, projection, rows) in &mut self.clauses {
            rows.push(projection.row_in(&Frame::new(row, None), ctx)?);
        }
        Ok(())
    }

    /// Stores what has an INTO and returns the rest.
    ///
    /// # Errors
    /// Those of inserting.
    pub(super) fn finish(self, count: usize, ctx: &mut Context<'_, '_>) -> Op<DmlOutcome> {
        let mut outcome = DmlOutcome { count, output: None };
        for (clause, projection, rows) in self.clauses {
            match &clause.into {
                None => outcome.output = Some((projection.columns(), rows)),
                Some(into) => {
                    let shape = Shape::of(&into.target, Permission::Insert, ctx)?;
                    let columns = Columns::of(&shape, &into.columns, ctx)?;
                    store_rows(&shape, &columns, rows, ctx)?;
                }
            }
        }
        Ok(outcome)
    }
}

fn store_rows(shape: &Shape, columns: &Columns, rows: Vec<Vec<Value>>, ctx: &mut Context<'_, '_>) -> Op<()> {
    let maker = RowMaker::new(shape, ctx)?;
    let mut complete = Vec::with_capacity(rows.len());
    for row in rows {
        columns.check_width(row.len())?;
        complete.push(maker.inserted(shape, columns.spread(shape, row.into_iter().map(Some)), ctx)?);
    }
    store(shape, complete, ctx)?;
    Ok(())
}
