//! MERGE: rows of a source matched with rows of the target, and what the first clause that fits does to each.
//!
//! Every row and value is found before anything changes. Deletions come first, then updates, then insertions, so that a
//! key freed by one is free for another.

use crate::engine::{Op, Permission, RowId, Tx};
use crate::error::SqlError;
use crate::relational::dml::DmlOutcome;
use crate::relational::dml::insert::{Columns, check_assignable, limit, store as insert_rows};
use crate::relational::dml::matching::{Found, Matching, lock_for_change};
use crate::relational::dml::new_row::RowMaker;
use crate::relational::dml::output::Outputs;
use crate::relational::dml::shape::Place;
use crate::relational::dml::update::{Set, bind_sets, changed, store as update_rows};
use crate::relational::environment::{Context, Environment};
use crate::relational::errors;
use crate::relational::expression::{Binder, Bound, Predicate, holds, value};
use crate::relational::query::{CommonTables, Source, rows_of, scan};
use crate::relational::scope::{Frame, Qualifier, Scope, ScopeColumn};
use crate::tsql::ast::ObjectName;
use crate::tsql::ast::dml::{DmlTarget, Merge, MergeAction, MergeClause, MergeWhen, ValueOrDefault};
use crate::tsql::ast::query::TableSource;
use crate::value::{Column, SqlType, Value};

/// Runs a MERGE.
///
/// # Errors
/// 8672 when two rows of the source match one that is changed; those of INSERT, UPDATE and DELETE.
pub(crate) fn merge(statement: &Merge, env: &mut dyn Environment, tx: &mut Tx<'_>) -> Op<DmlOutcome> {
    let mut ctx = Context { env, tx };
    let target = match &statement.alias {
        Some(alias) => DmlTarget::Table { name: ObjectName::single(alias.clone()), hints: Vec::new() },
        None => statement.target.clone(),
    };
    let sources = [target_source(statement), statement.source.clone()];
    let ctes = CommonTables::of(&statement.with);
    let matching = Matching {
        target: &target,
        from: &sources,
        filter: None,
        top: None,
        ctes,
        permission: permission_of(statement),
    };
    let found = matching.bind(&mut ctx)?;
    let bound = BoundMerge::bind(statement, &found, ctes, &mut ctx)?;
    let mut columns = found.shape.pseudo_columns("inserted");
    columns.extend(found.shape.pseudo_columns("deleted"));
    columns.extend(found.columns[found.rows.width + 1..].iter().cloned());
    columns.push(action_column());
    let mut outputs = Outputs::bind(&statement.output, &columns, &mut ctx)?;
    let (found, mut pairs) = matched(found, &bound, &mut ctx)?;
    pairs.retain(|pair| pair.clause.is_some());
    if let Some(limit) = limit(statement.top.as_ref(), pairs.len(), &mut ctx)? {
        pairs.truncate(limit);
    }
    let changes = Changes::of(&pairs, &bound, &found, &mut ctx)?;
    let count = pairs.len();
    for (pair, row) in pairs.iter().zip(&changes.shown) {
        if !outputs.is_empty() {
            let source = &pair.row[found.rows.width + 1..];
            let action = Value::nvarchar(bound.clauses[pair.clause.unwrap_or_default()].name());
            outputs.add(&[&row.inserted[..], &row.deleted[..], source, &[action]].concat(), &mut ctx)?;
        }
    }
    changes.apply(&found, &mut ctx)?;
    outputs.finish(count, &mut ctx)
}

fn target_source(statement: &Merge) -> TableSource {
    let alias = statement.alias.clone();
    match &statement.target {
        DmlTarget::Table { name, hints } => {
            TableSource::Table { name: name.clone(), alias, hints: hints.clone() }
        }
        DmlTarget::Variable(name) => TableSource::Variable { name: name.clone(), alias },
    }
}

/// The right that is asked for first; the others are asked for where they are needed.
fn permission_of(statement: &Merge) -> Permission {
    statement.clauses.first().map_or(Permission::Update, |clause| right_for(&clause.action))
}

fn right_for(action: &MergeAction) -> Permission {
    match action {
        MergeAction::Update(_) => Permission::Update,
        MergeAction::Delete => Permission::Delete,
        MergeAction::Insert { .. } => Permission::Insert,
    }
}

fn action_column() -> ScopeColumn {
    ScopeColumn {
        qualifier: Qualifier::default(),
        column: Column::new("$action", SqlType::nvarchar(10)),
        hidden: false,
    }
}

/// The statement, bound over the columns of target and source.
struct BoundMerge {
    on: Predicate,
    clauses: Vec<BoundClause>,
    maker: RowMaker,
}

struct BoundClause {
    when: MergeWhen,
    condition: Option<Predicate>,
    action: BoundAction,
}

enum BoundAction {
    Update(Vec<Set>),
    Delete,
    /// Columns and their values; `None` is DEFAULT.
    Insert(Columns, Vec<Option<Bound>>),
}

impl BoundClause {
    fn name(&self) -> &'static str {
        match self.action {
            BoundAction::Update(_) => "UPDATE",
            BoundAction::Delete => "DELETE",
            BoundAction::Insert(..) => "INSERT",
        }
    }
}

impl BoundMerge {
    fn bind(
        statement: &Merge,
        found: &Found,
        ctes: CommonTables<'_>,
        ctx: &mut Context<'_, '_>,
    ) -> Op<BoundMerge> {
        let scope = Scope::new(&found.columns, None);
        let on = Binder::new(&scope, ctes, ctx).condition(&statement.on)?;
        let mut clauses = Vec::with_capacity(statement.clauses.len());
        for clause in &statement.clauses {
            if let Place::Table(key) = found.shape.place {
                ctx.tx.require_on_table(right_for(&clause.action), key)?;
            }
            clauses.push(bind_clause(clause, found, ctes, ctx)?);
        }
        let maker = RowMaker::new(&found.shape, ctx)?;
        Ok(BoundMerge { on, clauses, maker })
    }

    /// The first clause for a row of that kind whose condition holds.
    fn clause_for(&self, when: MergeWhen, row: &[Value], ctx: &mut Context<'_, '_>) -> Op<Option<usize>> {
        for (place, clause) in self.clauses.iter().enumerate().filter(|(_, clause)| clause.when == when) {
            let fits = match &clause.condition {
                None => true,
                Some(condition) => holds(condition, &Frame::new(row, None), ctx)? == Some(true),
            };
            if fits {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }
}

fn bind_clause(
    clause: &MergeClause,
    found: &Found,
    ctes: CommonTables<'_>,
    ctx: &mut Context<'_, '_>,
) -> Op<BoundClause> {
    let scope = Scope::new(&found.columns, None);
    let condition = match &clause.condition {
        None => None,
        Some(condition) => Some(Binder::new(&scope, ctes, ctx).condition(condition)?),
    };
    let action = match &clause.action {
        MergeAction::Delete => BoundAction::Delete,
        MergeAction::Update(assignments) => BoundAction::Update(bind_sets(assignments, found, ctes, ctx)?),
        MergeAction::Insert { columns, values } => {
            let columns = Columns::of(&found.shape, columns, ctx)?;
            if !values.is_empty() {
                columns.check_values(values.len())?;
            }
            let mut bound = Vec::with_capacity(values.len());
            for (place, item) in columns.places().iter().zip(values) {
                bound.push(match item {
                    ValueOrDefault::Default => None,
                    ValueOrDefault::Value(expr) => {
                        let item = Binder::new(&scope, ctes, ctx).expression(expr)?;
                        check_assignable(&item, found.shape.columns[*place].column.ty)?;
                        Some(item)
                    }
                });
            }
            BoundAction::Insert(columns, bound)
        }
    };
    Ok(BoundClause { when: clause.when, condition, action })
}

/// A row of the target, of the source or of both, and the clause that deals with it.
struct Pair {
    row: Vec<Value>,
    clause: Option<usize>,
}

/// Every row of both sides with its clause.
fn matched(found: Found, bound: &BoundMerge, ctx: &mut Context<'_, '_>) -> Op<(Found, Vec<Pair>)> {
    let (found, left, right) = found.into_sides()?;
    let no_target = vec![Value::Null; found.rows.width + 1];
    let no_source = vec![Value::Null; found.columns.len() - no_target.len()];
    let targets = target_rows(left, ctx)?;
    let mut met = vec![false; targets.len()];
    let mut changed = vec![false; targets.len()];
    let mut pairs = Vec::new();
    for source in rows_of(&right, None, None, ctx)? {
        let mut alone = true;
        for (place, target) in targets.iter().enumerate() {
            let row = [target.as_slice(), source.as_slice()].concat();
            if holds(&bound.on, &Frame::new(&row, None), ctx)? != Some(true) {
                continue;
            }
            alone = false;
            met[place] = true;
            let clause = bound.clause_for(MergeWhen::Matched, &row, ctx)?;
            if clause.is_some() && std::mem::replace(&mut changed[place], true) {
                return Err(errors::merge_matches_twice().into());
            }
            pairs.push(Pair { row, clause });
        }
        if alone {
            let row = [no_target.as_slice(), source.as_slice()].concat();
            let clause = bound.clause_for(MergeWhen::NotMatchedByTarget, &row, ctx)?;
            pairs.push(Pair { row, clause });
        }
    }
    for (target, _) in targets.iter().zip(&met).filter(|(_, met)| !**met) {
        let row = [target.as_slice(), no_source.as_slice()].concat();
        let clause = bound.clause_for(MergeWhen::NotMatchedBySource, &row, ctx)?;
        pairs.push(Pair { row, clause });
    }
    Ok((found, pairs))
}

fn target_rows(mut source: Source, ctx: &mut Context<'_, '_>) -> Op<Vec<Vec<Value>>> {
    lock_for_change(&mut source);
    match scan(&source, None, None, None, ctx)? {
        Some(rows) => Ok(rows),
        None => rows_of(&source, None, None, ctx),
    }
}

/// What a changed row looks like in OUTPUT; NULLs where there is no such row.
struct Shown {
    inserted: Vec<Value>,
    deleted: Vec<Value>,
}

/// Everything that changes.
#[derive(Default)]
struct Changes {
    shown: Vec<Shown>,
    updated: Vec<(u64, Vec<Value>)>,
    deleted: Vec<u64>,
    inserted: Vec<Vec<Value>>,
}

impl Changes {
    fn of(pairs: &[Pair], bound: &BoundMerge, found: &Found, ctx: &mut Context<'_, '_>) -> Op<Changes> {
        let nothing = || vec![Value::Null; found.rows.width];
        let mut changes = Changes::default();
        for pair in pairs {
            let Some(clause) = pair.clause else { continue };
            let old = found.rows.values(&pair.row).to_vec();
            let id = found.rows.id(&pair.row);
            let shown = match (&bound.clauses[clause].action, id) {
                (BoundAction::Update(sets), Some(id)) => {
                    let new = changed(sets, found, &bound.maker, &pair.row, ctx)?;
                    changes.updated.push((id, new.clone()));
                    Shown { inserted: new, deleted: old }
                }
                (BoundAction::Delete, Some(id)) => {
                    changes.deleted.push(id);
                    Shown { inserted: nothing(), deleted: old }
                }
                (BoundAction::Insert(columns, values), _) => {
                    let new = new_row(columns, values, &pair.row, bound, found, ctx)?;
                    changes.inserted.push(new.clone());
                    Shown { inserted: new, deleted: nothing() }
                }
                (BoundAction::Update(_) | BoundAction::Delete, None) => {
                    return Err(SqlError::unsupported("MERGE that changes rows which are not there").into());
                }
            };
            changes.shown.push(shown);
        }
        Ok(changes)
    }

    fn apply(self, found: &Found, ctx: &mut Context<'_, '_>) -> Op<()> {
        match &found.shape.place {
            Place::Table(key) => {
                for id in &self.deleted {
                    ctx.tx.delete_row(*key, RowId(*id))?;
                }
            }
            // Positions of a table variable's rows move when rows before them go: those go last.
            Place::Variable(_) => {}
        }
        update_rows(found, self.updated, ctx)?;
        insert_rows(&found.shape, self.inserted, ctx)?;
        if let Place::Variable(name) = &found.shape.place
            && let Some(table) = ctx.env.table_variable_mut(name)
        {
            table.delete(&self.deleted.iter().map(|id| *id as usize).collect());
        }
        Ok(())
    }
}

fn new_row(
    columns: &Columns,
    values: &[Option<Bound>],
    row: &[Value],
    bound: &BoundMerge,
    found: &Found,
    ctx: &mut Context<'_, '_>,
) -> Op<Vec<Value>> {
    let frame = Frame::new(row, None);
    let mut given = Vec::with_capacity(values.len());
    for item in values {
        given.push(match item {
            Some(item) => Some(value(item, &frame, ctx)?),
            None => None,
        });
    }
    bound.maker.inserted(&found.shape, columns.spread(&found.shape, given.into_iter()), ctx)
}
