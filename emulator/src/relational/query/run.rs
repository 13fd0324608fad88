//! Running of plans: rows are found, filtered, grouped, projected, made distinct, sorted and cut, in this order.

use std::cmp::Ordering;
use std::collections::HashSet;

use crate::engine::Op;
use crate::error::SqlError;
use crate::relational::compare::write_key;
use crate::relational::convert::convert;
use crate::relational::environment::Context;
use crate::relational::expression::{holds, value, whole_number};
use crate::relational::query::from::Source;
use crate::relational::query::group::grouped;
use crate::relational::query::order::row_order;
use crate::relational::query::plan::{Body, Plan, SelectPlan, SetPlan, TopPlan};
use crate::relational::query::source::{keep_locked, rows_of, scan};
use crate::relational::scope::Frame;
use crate::tsql::ast::query::SetOperator;
use crate::value::{Collation, Value};

/// How many rows TOP lets through, of `total`.
pub(crate) fn row_limit(
    top: Option<&TopPlan>,
    total: usize,
    outer: Option<&Frame<'_>>,
    ctx: &mut Context<'_, '_>,
) -> Op<Option<usize>> {
    let Some(top) = top else { return Ok(None) };
    let frame = Frame::new(&[], outer);
    if !top.percent {
        return whole_number(&top.count, &frame, ctx).map(Some);
    }
    match value(&top.count, &frame, ctx)? {
        Value::Float(percent) if (0.0..=100.0).contains(&percent) => {
            Ok(Some((total as f64 * percent / 100.0).ceil() as usize))
        }
        _ => Err(SqlError::with_severity(1031, 15, "Percent values must be between 0 and 100.").into()),
    }
}

impl Plan {
    /// The rows of the query. `outer` are the rows of the queries around; no more than `limit` rows are needed.
    ///
    /// # Errors
    /// Those of expressions; blocks where the rows are locked.
    pub(crate) fn run(
        &self,
        outer: Option<&Frame<'_>>,
        limit: Option<usize>,
        ctx: &mut Context<'_, '_>,
    ) -> Op<Vec<Vec<Value>>> {
        let mut rows = self.run_whole(outer, limit, ctx)?;
        let width = self.columns.len() + self.carried;
        for row in &mut rows {
            row.truncate(width);
        }
        Ok(rows)
    }

    /// The same with the values that only sorting needed left at the ends of the rows.
    pub(super) fn run_whole(
        &self,
        outer: Option<&Frame<'_>>,
        limit: Option<usize>,
        ctx: &mut Context<'_, '_>,
    ) -> Op<Vec<Vec<Value>>> {
        let early = self.early_limit(outer, limit, ctx)?;
        let claims = self.claims();
        let mut rows = match &self.body {
            Body::Select(select) => select.rows(self.visible(), early, outer, ctx)?,
            Body::Set(set) => set.rows(outer, ctx)?,
        };
        if !self.order.is_empty() {
            rows.sort_by(|left, right| row_order(&self.order, left, right));
        }
        self.cut(&mut rows, outer, ctx)?;
        if let Some(limit) = limit {
            rows.truncate(limit);
        }
        if let Some(source) = claims {
            keep_locked(source, &rows, ctx)?;
        }
        Ok(rows)
    }

    /// The table whose rows stay locked when the query takes them, and only then; its rows carry their ids at the end.
    fn claims(&self) -> Option<&Source> {
        let Body::Select(select) = &self.body else { return None };
        select.claims().then_some(&select.source)
    }

    /// Whether the query has a row; its select list is not evaluated unless that matters.
    pub(super) fn exists(&self, outer: Option<&Frame<'_>>, ctx: &mut Context<'_, '_>) -> Op<bool> {
        let cut = self.top.is_some() || self.skip.is_some();
        match &self.body {
            Body::Select(select) if !cut => select.any(outer, ctx),
            _ => Ok(!self.run(outer, Some(1), ctx)?.is_empty()),
        }
    }

    fn visible(&self) -> usize {
        self.columns.len()
    }

    /// How many rows are enough when nothing sorts them afterwards.
    fn early_limit(
        &self,
        outer: Option<&Frame<'_>>,
        limit: Option<usize>,
        ctx: &mut Context<'_, '_>,
    ) -> Op<Option<usize>> {
        let sorted = !self.order.is_empty() || self.skip.is_some();
        if sorted || self.top.as_ref().is_some_and(|top| top.percent || top.with_ties) {
            return Ok(None);
        }
        let top = row_limit(self.top.as_ref(), 0, outer, ctx)?;
        Ok(top.into_iter().chain(limit).min())
    }

    /// TOP, OFFSET and FETCH.
    fn cut(
        &self,
        rows: &mut Vec<Vec<Value>>,
        outer: Option<&Frame<'_>>,
        ctx: &mut Context<'_, '_>,
    ) -> Op<()> {
        if let Some(mut limit) = row_limit(self.top.as_ref(), rows.len(), outer, ctx)? {
            let ties = self.top.as_ref().is_some_and(|top| top.with_ties);
            if ties && limit > 0 && limit < rows.len() {
                let last = &rows[limit - 1];
                let tied = |row: &&Vec<Value>| row_order(&self.order, last, row) == Ordering::Equal;
                limit += rows[limit..].iter().take_while(tied).count();
            }
            rows.truncate(limit);
        }
        let frame = Frame::new(&[], outer);
        if let Some(skip) = &self.skip {
            let skip = whole_number(skip, &frame, ctx)?.min(rows.len());
            rows.drain(..skip);
        }
        if let Some(fetch) = &self.fetch {
            rows.truncate(whole_number(fetch, &frame, ctx)?);
        }
        Ok(())
    }
}

impl SelectPlan {
    /// Projected rows, before sorting; no more than `limit`.
    fn rows(
        &self,
        visible: usize,
        limit: Option<usize>,
        outer: Option<&Frame<'_>>,
        ctx: &mut Context<'_, '_>,
    ) -> Op<Vec<Vec<Value>>> {
        let unlimited = self.distinct || self.group.is_some();
        let before = self.unprojected(limit.filter(|_| !unlimited), outer, ctx)?;
        let mut rows = Vec::with_capacity(before.len());
        let mut seen = HashSet::new();
        for row in before {
            if limit.is_some_and(|limit| rows.len() >= limit) {
                break;
            }
            let frame = Frame::new(&row, outer);
            let projected: Op<Vec<Value>> = self.items.iter().map(|item| value(item, &frame, ctx)).collect();
            let mut projected = projected?;
            if self.claims() {
                projected.extend(row.last().cloned());
            }
            let collation = |index: usize| self.items[index].collating.collation;
            if !self.distinct || seen.insert(row_key(&projected[..visible], collation)) {
                rows.push(projected);
            }
        }
        Ok(rows)
    }

    fn any(&self, outer: Option<&Frame<'_>>, ctx: &mut Context<'_, '_>) -> Op<bool> {
        Ok(!self.unprojected(Some(1).filter(|_| self.group.is_none()), outer, ctx)?.is_empty())
    }

    /// Whether it reads one table, row by row; grouped and distinct rows stay locked whether they are taken or not.
    fn is_scan(&self) -> bool {
        self.group.is_none() && !self.distinct
    }

    /// Whether the rows it takes stay locked.
    fn claims(&self) -> bool {
        let locks = matches!(&self.source, Source::Table { options, .. } if options.lock.is_some());
        locks && self.is_scan()
    }

    fn filtered(
        &self,
        limit: Option<usize>,
        outer: Option<&Frame<'_>>,
        ctx: &mut Context<'_, '_>,
    ) -> Op<Vec<Vec<Value>>> {
        let rows = rows_of(&self.source, self.filter.as_ref(), outer, ctx)?;
        let Some(filter) = &self.filter else { return Ok(rows) };
        let mut kept = Vec::new();
        for row in rows {
            if limit.is_some_and(|limit| kept.len() >= limit) {
                break;
            }
            if holds(filter, &Frame::new(&row, outer), ctx)? == Some(true) {
                kept.push(row);
            }
        }
        Ok(kept)
    }

    /// Filtered and grouped rows.
    fn unprojected(
        &self,
        limit: Option<usize>,
        outer: Option<&Frame<'_>>,
        ctx: &mut Context<'_, '_>,
    ) -> Op<Vec<Vec<Value>>> {
        let rows = match self.is_scan() {
            true => scan(&self.source, self.filter.as_ref(), limit, outer, ctx)?,
            false => None,
        };
        let rows = match rows {
            Some(rows) => rows,
            None => self.filtered(limit, outer, ctx)?,
        };
        match &self.group {
            None => Ok(rows),
            Some(group) => grouped(group, &rows, outer, ctx),
        }
    }
}

impl SetPlan {
    fn rows(&self, outer: Option<&Frame<'_>>, ctx: &mut Context<'_, '_>) -> Op<Vec<Vec<Value>>> {
        let left = self.converted(&self.left, outer, ctx)?;
        let right = self.converted(&self.right, outer, ctx)?;
        let key = |row: &Vec<Value>| row_key(row, |index| self.types[index].1);
        let distinct = |rows: Vec<Vec<Value>>| {
            let mut seen = HashSet::new();
            rows.into_iter().filter(|row| seen.insert(key(row))).collect::<Vec<_>>()
        };
        let all = |left: Vec<Vec<Value>>, right| {
            left.into_iter().chain::<Vec<Vec<Value>>>(right).collect::<Vec<_>>()
        };
        Ok(match self.op {
            SetOperator::UnionAll => all(left, right),
            SetOperator::Union => distinct(all(left, right)),
            SetOperator::Except | SetOperator::Intersect => {
                let others: HashSet<Vec<u8>> = right.iter().map(key).collect();
                let wanted = self.op == SetOperator::Intersect;
                let kept = left.into_iter().filter(|row| others.contains(&key(row)) == wanted);
                distinct(kept.collect())
            }
        })
    }

    /// The rows of one side in the types both share.
    fn converted(
        &self,
        plan: &Plan,
        outer: Option<&Frame<'_>>,
        ctx: &mut Context<'_, '_>,
    ) -> Op<Vec<Vec<Value>>> {
        let mut rows = plan.run(outer, None, ctx)?;
        for (index, (column, (ty, _))) in plan.columns.iter().zip(&self.types).enumerate() {
            if column.ty == *ty {
                continue;
            }
            for row in &mut rows {
                row[index] = convert(std::mem::take(&mut row[index]), *ty, None, false)?;
            }
        }
        Ok(rows)
    }
}

fn row_key(row: &[Value], collation: impl Fn(usize) -> Collation) -> Vec<u8> {
    let mut key = Vec::new();
    for (index, value) in row.iter().enumerate() {
        write_key(value, collation(index), &mut key);
    }
    key
}
