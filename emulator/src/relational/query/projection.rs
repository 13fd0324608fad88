//! A select list over rows found elsewhere: RECEIVE and OUTPUT.

use std::sync::Arc;

use crate::engine::{Op, Tx};
use crate::relational::environment::{Context, Environment};
use crate::relational::expression::{Binder, Bound, value};
use crate::relational::query::CommonTables;
use crate::relational::query::select::expand;
use crate::relational::scope::{Frame, Qualifier, Scope, ScopeColumn};
use crate::tsql::ast::SelectItem;
use crate::value::{Column, Value};

/// A bound select list.
#[derive(Debug)]
pub(crate) struct Projection {
    items: Vec<Bound>,
    columns: Arc<[Column]>,
}

impl Projection {
    /// Binds a list over rows with the given columns.
    ///
    /// # Errors
    /// 207 for unknown columns and whatever else is wrong with names and types; 141 for assignments.
    pub(crate) fn bind(
        items: &[SelectItem],
        columns: &[Column],
        env: &mut dyn Environment,
        tx: &mut Tx<'_>,
    ) -> Op<Projection> {
        let scoped = |column: &Column| ScopeColumn {
            qualifier: Qualifier::default(),
            column: column.clone(),
            hidden: false,
        };
        let columns: Vec<ScopeColumn> = columns.iter().map(scoped).collect();
        Projection::bind_in(items, &Scope::new(&columns, None), CommonTables::NONE, &mut Context { env, tx })
    }

    /// Binds a list over the columns of a scope.
    ///
    /// # Errors
    /// As [`Projection::bind`].
    pub(crate) fn bind_in(
        items: &[SelectItem],
        scope: &Scope<'_>,
        ctes: CommonTables<'_>,
        ctx: &mut Context<'_, '_>,
    ) -> Op<Projection> {
        let mut binder = Binder::new(scope, ctes, ctx);
        let (mut bound, mut names) = (Vec::new(), Vec::new());
        for item in items {
            expand(item, &mut binder, &mut bound, &mut names)?;
        }
        let column = |(item, name): (&Bound, String)| Column {
            name,
            ty: item.ty,
            nullable: item.nullable,
            collation: item.collating.collation,
        };
        let columns = bound.iter().zip(names).map(column).collect();
        Ok(Projection { items: bound, columns })
    }

    /// The columns of its result.
    pub(crate) fn columns(&self) -> Arc<[Column]> {
        Arc::clone(&self.columns)
    }

    /// The result for one row.
    ///
    /// # Errors
    /// Those of expressions.
    pub(crate) fn row(&self, row: &[Value], env: &mut dyn Environment, tx: &mut Tx<'_>) -> Op<Vec<Value>> {
        self.row_in(&Frame::new(row, None), &mut Context { env, tx })
    }

    /// The result for the row of a frame.
    ///
    /// # Errors
    /// Those of expressions.
    pub(crate) fn row_in(&self, frame: &Frame<'_>, ctx: &mut Context<'_, '_>) -> Op<Vec<Value>> {
        self.items.iter().map(|item| value(item, frame, ctx)).collect()
    }
}
