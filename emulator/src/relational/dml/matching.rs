//! The rows an UPDATE or DELETE is about: its sources with the target among them, filtered and counted.

use std::collections::HashSet;

use crate::engine::{LockMode, Op, Permission, ReadHint};
use crate::error::SqlError;
use crate::relational::dml::insert::limit;
use crate::relational::dml::shape::Shape;
use crate::relational::environment::Context;
use crate::relational::errors;
use crate::relational::expression::{Binder, Predicate, holds};
use crate::relational::query::{
    BoundSource, CommonTables, FromBinder, Source, Target, TargetMatch, TargetRows, narrow, rows_of, scan,
};
use crate::relational::scope::{Frame, Scope, ScopeColumn};
use crate::tsql::ast::dml::{DmlFilter, DmlTarget};
use crate::tsql::ast::query::{TableSource, Top};
use crate::value::Value;

/// What both statements say about their rows.
pub(super) struct Matching<'s> {
    /// The target as written.
    pub(super) target: &'s DmlTarget,
    /// FROM.
    pub(super) from: &'s [TableSource],
    /// WHERE.
    pub(super) filter: Option<&'s DmlFilter>,
    /// TOP.
    pub(super) top: Option<&'s Top>,
    /// The common table expressions in sight.
    pub(super) ctes: CommonTables<'s>,
    /// The right the statement needs on its target.
    pub(super) permission: Permission,
}

/// The target with the columns of the statement's rows.
pub(super) struct Found {
    /// The target.
    pub(super) shape: Shape,
    /// Where it stands in the rows.
    pub(super) rows: TargetRows,
    /// The columns of the rows.
    pub(super) columns: Vec<ScopeColumn>,
    source: BoundSource,
}

impl Found {
    /// The sources of a statement that has exactly two, the target first.
    ///
    /// # Errors
    /// 4406 when the target is a common table expression or stands elsewhere.
    pub(super) fn into_sides(self) -> Result<(Found, Source, Source), SqlError> {
        let Source::Join(join) = self.source.source else {
            return Err(errors::not_updatable("target of MERGE"));
        };
        if self.rows.offset != 0 || self.rows.mapping.is_some() {
            return Err(errors::not_updatable("target of MERGE"));
        }
        let source = BoundSource { source: Source::Nothing, columns: Vec::new() };
        Ok((Found { source, ..self }, join.left, join.right))
    }
}

impl Matching<'_> {
    /// Binds the sources and finds the target among them, or before them when they do not name it.
    ///
    /// # Errors
    /// 208, 1087, 229, 4406 and those of the sources.
    pub(super) fn bind(&self, ctx: &mut Context<'_, '_>) -> Op<Found> {
        let own = [self.own_source()];
        let sources = if self.from.is_empty() { &own[..] } else { self.from };
        let mut bound = self.bind_sources(sources, TargetMatch::Alias, ctx)?;
        if bound.1.is_none() {
            bound = self.bind_sources(sources, TargetMatch::Name, ctx)?;
        }
        if bound.1.is_none() {
            // A catalog view or a queue is found here as well, but never becomes a target.
            Shape::of(self.target, self.permission, ctx)?;
            let all: Vec<TableSource> = own.iter().chain(self.from).cloned().collect();
            bound = self.bind_sources(&all, TargetMatch::Alias, ctx)?;
        }
        let (source, rows) = bound;
        let rows = rows.ok_or_else(|| errors::not_updatable(&self.name()))?;
        let shape = match rows.table {
            Some(key) => Shape::of_table(key, self.permission, ctx)?,
            None => Shape::of_variable(&self.variable(), ctx)?,
        };
        Ok(Found { shape, rows, columns: source.columns.clone(), source })
    }

    /// The rows that match, each target row once.
    ///
    /// # Errors
    /// Those of the condition; blocks where rows are locked.
    pub(super) fn rows(&self, found: Found, ctx: &mut Context<'_, '_>) -> Op<(Found, Vec<Vec<Value>>)> {
        let Found { shape, rows: target, columns, source } = found;
        let scope = Scope::new(&columns, None);
        let filter = match self.filter {
            None => None,
            Some(DmlFilter::Condition(condition)) => {
                Some(Binder::new(&scope, self.ctes, ctx).condition(condition)?)
            }
            Some(DmlFilter::CurrentOf(_)) => return Err(SqlError::unsupported("WHERE CURRENT OF").into()),
        };
        let mut source =
            BoundSource { source: narrow(source.source, filter.as_ref(), ctx), columns: Vec::new() };
        lock_for_change(&mut source.source);
        let early = match self.top {
            Some(top) if !top.percent => limit(Some(top), 0, ctx)?,
            _ => None,
        };
        let matching = match scan(&source.source, filter.as_ref(), early, None, ctx)? {
            Some(rows) => rows,
            None => joined(&source.source, filter.as_ref(), ctx)?,
        };
        let mut seen = HashSet::new();
        // The target side of an outer join may be missing, and it may meet several rows of the other.
        let mut kept: Vec<Vec<Value>> =
            matching.into_iter().filter(|row| target.id(row).is_some_and(|id| seen.insert(id))).collect();
        if let Some(limit) = limit(self.top, kept.len(), ctx)? {
            kept.truncate(limit);
        }
        Ok((Found { shape, rows: target, columns, source }, kept))
    }

    fn bind_sources(
        &self,
        sources: &[TableSource],
        by: TargetMatch,
        ctx: &mut Context<'_, '_>,
    ) -> Op<(BoundSource, Option<TargetRows>)> {
        let target = Some(Target { name: self.target, by, found: None });
        let mut binder = FromBinder::new(None, self.ctes, ctx, target);
        let bound = binder.from(sources)?;
        Ok((bound, binder.target.and_then(|target| target.found)))
    }

    fn own_source(&self) -> TableSource {
        match self.target {
            DmlTarget::Table { name, hints } => {
                TableSource::Table { name: name.clone(), alias: None, hints: hints.clone() }
            }
            DmlTarget::Variable(name) => TableSource::Variable { name: name.clone(), alias: None },
        }
    }

    /// The table variable that the target, or the alias it names, stands for.
    fn variable(&self) -> String {
        match self.target {
            DmlTarget::Variable(name) => name.as_str().to_owned(),
            DmlTarget::Table { name, .. } => {
                variable_with_alias(self.from, name.name().as_str()).unwrap_or_else(|| name.to_string())
            }
        }
    }

    fn name(&self) -> String {
        match self.target {
            DmlTarget::Variable(name) => name.to_string(),
            DmlTarget::Table { name, .. } => name.to_string(),
        }
    }
}

/// Rows of several sources for which the condition holds.
fn joined(source: &Source, filter: Option<&Predicate>, ctx: &mut Context<'_, '_>) -> Op<Vec<Vec<Value>>> {
    let rows = rows_of(source, filter, None, ctx)?;
    let Some(filter) = filter else { return Ok(rows) };
    let mut kept = Vec::new();
    for row in rows {
        if holds(filter, &Frame::new(&row, None), ctx)? == Some(true) {
            kept.push(row);
        }
    }
    Ok(kept)
}

/// Rows of the target are read as such that will be changed: READPAST skips those that somebody means to change, too.
pub(super) fn lock_for_change(source: &mut Source) {
    match source {
        Source::Table { options, with_ids: true, .. } => {
            options.lock = Some(options.lock.map_or(LockMode::U, |lock| lock.join(LockMode::U)));
            if options.hint == ReadHint::NoLock {
                options.hint = ReadHint::Wait;
            }
        }
        Source::Join(join) => {
            lock_for_change(&mut join.left);
            lock_for_change(&mut join.right);
        }
        _ => {}
    }
}

fn variable_with_alias(sources: &[TableSource], wanted: &str) -> Option<String> {
    sources.iter().find_map(|source| match source {
        TableSource::Variable { name, alias: Some(alias) } if alias.is(wanted) => {
            Some(name.as_str().to_owned())
        }
        TableSource::Join { left, right, .. } => variable_with_alias(std::slice::from_ref(left), wanted)
            .or_else(|| variable_with_alias(std::slice::from_ref(right), wanted)),
        _ => None,
    })
}
