//! Queries inside expressions: as values, after EXISTS, after IN, ANY and ALL.
//!
//! One whose rows do not depend on the row around is run once for the whole statement, and its values are put in a set when
//! they are looked through again.

use std::cell::{Cell, OnceCell};
use std::collections::HashSet;
use std::rc::Rc;

use crate::engine::Op;
use crate::error::SqlError;
use crate::relational::compare::write_key;
use crate::relational::convert::convert;
use crate::relational::environment::Context;
use crate::relational::errors;
use crate::relational::expression::{Bound, Collating, CollationSource, Node};
use crate::relational::query::CommonTables;
use crate::relational::query::plan::{Plan, bind_query};
use crate::relational::scope::{Frame, Scope};
use crate::tsql::ast::Query;
use crate::value::{Collation, Column, SqlType, Value};

/// A query inside an expression.
#[derive(Debug)]
pub(crate) struct Subquery {
    plan: Plan,
    rows: OnceCell<Rc<Vec<Vec<Value>>>>,
    exists: OnceCell<bool>,
    /// Whether its values were asked for before.
    was_asked: Cell<bool>,
    members: OnceCell<Option<Members>>,
}

/// The values of a query of one column, as what they are compared as.
#[derive(Debug)]
pub(crate) struct Members {
    /// Bytes that are equal for equal values.
    keys: HashSet<Vec<u8>>,
    has_null: bool,
    collation: Collation,
}

impl Members {
    /// # Errors
    /// What a value that cannot be converted answers.
    fn of(rows: &[Vec<Value>], ty: SqlType, collation: Collation) -> Result<Self, SqlError> {
        let mut members = Self { keys: HashSet::with_capacity(rows.len()), has_null: false, collation };
        for row in rows {
            match convert(row[0].clone(), ty, None, false)? {
                Value::Null => members.has_null = true,
                value => {
                    members.keys.insert(key(&value, collation));
                }
            }
        }
        Ok(members)
    }

    /// Whether a value is among them; `None` for unknown, which NULL on either side makes of "no".
    pub(crate) fn contain(&self, wanted: &Value) -> Option<bool> {
        if self.keys.is_empty() && !self.has_null {
            return Some(false);
        }
        if wanted.is_null() {
            return None;
        }
        match self.keys.contains(&key(wanted, self.collation)) {
            true => Some(true),
            false if self.has_null => None,
            false => Some(false),
        }
    }
}

fn key(value: &Value, collation: Collation) -> Vec<u8> {
    let mut key = Vec::new();
    write_key(value, collation, &mut key);
    key
}

/// Subqueries are never taken for one another.
impl PartialEq for Subquery {
    fn eq(&self, _: &Subquery) -> bool {
        false
    }
}

/// Binds a subquery that stands for one value.
///
/// # Errors
/// 116 for several columns, and those of the query.
pub(crate) fn bind_scalar_subquery(
    query: &Query,
    scope: &Scope<'_>,
    ctes: CommonTables<'_>,
    ctx: &mut Context<'_, '_>,
) -> Op<Bound> {
    let subquery = bind_subquery(query, scope, ctes, ctx)?;
    let [column] = subquery.columns() else { return Err(errors::subquery_columns().into()) };
    let (ty, collation) = (column.ty, column.collation);
    let collating = Collating { collation, source: CollationSource::Implicit };
    Ok(Bound { node: Node::Subquery(Box::new(subquery)), ty, collating, nullable: true })
}

/// Binds a subquery whose rows are compared with.
pub(crate) fn bind_subquery(
    query: &Query,
    scope: &Scope<'_>,
    ctes: CommonTables<'_>,
    ctx: &mut Context<'_, '_>,
) -> Op<Subquery> {
    let plan = bind_query(query, Some(scope), ctes, ctx)?;
    scope.note_reach(plan.reach.saturating_sub(1));
    Ok(Subquery {
        plan,
        rows: OnceCell::new(),
        exists: OnceCell::new(),
        was_asked: Cell::new(false),
        members: OnceCell::new(),
    })
}

/// Binds the query of EXISTS.
pub(crate) fn bind_exists(
    query: &Query,
    scope: &Scope<'_>,
    ctes: CommonTables<'_>,
    ctx: &mut Context<'_, '_>,
) -> Op<Subquery> {
    bind_subquery(query, scope, ctes, ctx)
}

impl Subquery {
    /// The columns of its rows.
    pub(crate) fn columns(&self) -> &[Column] {
        &self.plan.columns
    }

    /// Its rows, for the row in hand.
    pub(crate) fn rows(&self, frame: &Frame<'_>, ctx: &mut Context<'_, '_>) -> Op<Rc<Vec<Vec<Value>>>> {
        if let Some(rows) = self.rows.get() {
            return Ok(Rc::clone(rows));
        }
        let rows = Rc::new(self.plan.run(Some(frame), None, ctx)?);
        if self.is_constant() {
            return Ok(Rc::clone(self.rows.get_or_init(|| rows)));
        }
        Ok(rows)
    }

    /// Its values as a set, converted to `ty`; the same type and collation in every call. `None` where looking through its rows
    /// is better: they depend on the row in hand, or are asked for once only, or one of them cannot be converted, which is an
    /// error only for who gets as far as that.
    pub(crate) fn members(
        &self,
        (ty, collation): (SqlType, Collation),
        frame: &Frame<'_>,
        ctx: &mut Context<'_, '_>,
    ) -> Op<Option<&Members>> {
        // A variant compares by what it holds, each as it is.
        if !self.is_constant() || ty == SqlType::SqlVariant || !self.was_asked.replace(true) {
            return Ok(None);
        }
        if self.members.get().is_none() {
            let rows = self.rows(frame, ctx)?;
            self.members.get_or_init(|| Members::of(&rows, ty, collation).ok());
        }
        Ok(self.members.get().and_then(Option::as_ref))
    }

    /// The one value it stands for; NULL when it has no row.
    ///
    /// # Errors
    /// 512 when it has several.
    pub(crate) fn scalar(&self, frame: &Frame<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
        let rows = self.rows(frame, ctx)?;
        match rows.as_slice() {
            [] => Ok(Value::Null),
            [row] => Ok(row[0].clone()),
            _ => Err(errors::subquery_rows().into()),
        }
    }

    /// Whether it has a row.
    pub(crate) fn exists(&self, frame: &Frame<'_>, ctx: &mut Context<'_, '_>) -> Op<bool> {
        if let Some(exists) = self.exists.get() {
            return Ok(*exists);
        }
        let exists = self.plan.exists(Some(frame), ctx)?;
        if self.is_constant() {
            return Ok(*self.exists.get_or_init(|| exists));
        }
        Ok(exists)
    }

    /// Whether its rows are the same for every row of the statement.
    fn is_constant(&self) -> bool {
        self.plan.reach == 0
    }
}
