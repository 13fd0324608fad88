//! Binding of one SELECT: FROM, WHERE, GROUP BY, HAVING, the select list, ORDER BY, TOP.

use crate::engine::{Op, Permission, TableKey};
use crate::error::SqlError;
use crate::relational::environment::Context;
use crate::relational::errors;
use crate::relational::expression::{Binder, Bound, Grouping, Node, Predicate, coerce, has_aggregate};
use crate::relational::query::CommonTables;
use crate::relational::query::access::key_access;
use crate::relational::query::from::{FromBinder, Source};
use crate::relational::query::order::bind_order;
use crate::relational::query::plan::{Body, GroupPlan, Plan, SelectPlan, TopPlan, bind_offset, check_for};
use crate::relational::query::target::{Target, TargetMatch, TargetRows};
use crate::relational::scope::{Scope, ScopeColumn};
use crate::tsql::ast::dml::DmlTarget;
use crate::tsql::ast::expr::AssignOp;
use crate::tsql::ast::name::ObjectName;
use crate::tsql::ast::query::{OrderItem, QueryBody, Select, TableSource, Top};
use crate::tsql::ast::{Expr, Query, SelectItem};
use crate::value::{Column, SqlType};

/// Binds SELECTs at one place of a statement.
pub(super) struct SelectBinder<'b, 'c, 't> {
    /// The query around.
    pub(super) parent: Option<&'b Scope<'b>>,
    /// The common table expressions in sight.
    pub(super) ctes: CommonTables<'b>,
    /// Session and operation.
    pub(super) ctx: &'b mut Context<'c, 't>,
    /// For the query of an updatable common table expression: how its one table is named.
    pub(super) updatable: Option<&'b DmlTarget>,
}

/// A bound SELECT.
pub(super) struct BoundSelect {
    /// Its plan. A SELECT that assigns has all columns before projection as its items.
    pub(super) plan: Plan,
    /// Variables and what they get, over the plan's rows.
    pub(super) assignments: Vec<(String, SqlType, Bound)>,
    /// The table of an updatable query.
    target: Option<TargetRows>,
}

/// Expands `*`, or passes an item on with its output name.
///
/// # Errors
/// 107 for a qualifier that is no source.
pub(crate) fn expand(
    item: &SelectItem,
    binder: &mut Binder<'_, '_, '_>,
    items: &mut Vec<Bound>,
    names: &mut Vec<String>,
) -> Op<()> {
    match item {
        SelectItem::Wildcard { qualifier } => {
            for column in wildcard(qualifier.as_ref(), binder.scope.columns())? {
                items.push(binder.expression(&Expr::Column(column.1))?);
                names.push(column.0);
            }
        }
        SelectItem::Value { value, alias } => {
            items.push(binder.expression(value)?);
            names.push(output_name(value, alias.as_ref().map(|alias| alias.as_str())));
        }
        SelectItem::Assign { .. } => return Err(errors::mixed_assignment().into()),
    }
    Ok(())
}

impl SelectBinder<'_, '_, '_> {
    /// Binds a SELECT with the ORDER BY that belongs to it.
    pub(super) fn bind(&mut self, select: &Select, order_by: &[OrderItem]) -> Op<BoundSelect> {
        let target = self.updatable.map(|name| Target { name, by: TargetMatch::Alias, found: None });
        let mut from = FromBinder::new(self.parent, self.ctes, self.ctx, target);
        let bound = from.from(&select.from)?;
        let (reach, target) = (from.reach, from.target.and_then(|target| target.found));
        let scope = Scope::new(&bound.columns, self.parent);
        scope.note_reach(reach);
        let filter = match &select.filter {
            None => None,
            Some(filter) => Some(Binder::new(&scope, self.ctes, self.ctx).condition(filter)?),
        };
        let source = self.narrowed(bound.source, filter.as_ref())?;
        let keys = Binder::new(&scope, self.ctes, self.ctx).expressions(&select.group_by)?;
        let grouped = !keys.is_empty() || select.having.is_some() || has_aggregate(&select.items, None);
        let mut listed = match grouped {
            true => self.list_grouped(select, order_by, &scope, &keys)?,
            false => self.list(select, order_by, &scope, target.as_ref())?,
        };
        let aggregates = std::mem::take(&mut listed.aggregates);
        let group = grouped.then(|| GroupPlan { keys, aggregates, having: listed.having.take() });
        let body = SelectPlan { source, filter, group, items: listed.items, distinct: select.distinct };
        let top = select.top.as_ref().map(|top| self.top(top)).transpose()?;
        let plan = Plan {
            columns: listed.columns,
            carried: listed.carried,
            body: Body::Select(Box::new(body)),
            order: listed.order,
            top,
            skip: None,
            fetch: None,
            reach: listed.reach.max(scope.reach()),
        };
        Ok(BoundSelect { plan, assignments: listed.assignments, target })
    }

    /// Reads one table by a unique key if the condition fixes one; checks the right to read tables.
    fn narrowed(&mut self, source: Source, filter: Option<&Predicate>) -> Op<Source> {
        check_rights(&source, self.ctx)?;
        Ok(narrow(source, filter, self.ctx))
    }

    /// The select list over plain rows.
    fn list(
        &mut self,
        select: &Select,
        order_by: &[OrderItem],
        scope: &Scope<'_>,
        target: Option<&TargetRows>,
    ) -> Op<Listed> {
        let mut binder = Binder::new(scope, self.ctes, self.ctx);
        let mut listed = Listed::bind(select, &mut binder, || identity(scope.columns()))?;
        if let Some(target) = target {
            listed.carry(target, scope.columns());
        }
        listed.sort(order_by, select.distinct, &mut binder)?;
        listed.reach = scope.reach();
        Ok(listed)
    }

    /// The select list over groups.
    fn list_grouped(
        &mut self,
        select: &Select,
        order_by: &[OrderItem],
        scope: &Scope<'_>,
        keys: &[Bound],
    ) -> Op<Listed> {
        let place =
            |column: usize| keys.iter().position(|key| key.node == Node::Column { level: 0, index: column });
        let grouped = scope.grouped((0..scope.columns().len()).map(place).collect());
        let mut binder = Binder::new(&grouped, self.ctes, self.ctx);
        binder.grouping = Some(Grouping { source: scope, keys, aggregates: Vec::new() });
        let mut listed = Listed::bind(select, &mut binder, Vec::new)?;
        listed.having = select.having.as_ref().map(|having| binder.condition(having)).transpose()?;
        listed.sort(order_by, select.distinct, &mut binder)?;
        listed.aggregates = binder.grouping.take().map(|grouping| grouping.aggregates).unwrap_or_default();
        listed.reach = grouped.reach();
        listed.keep_groups(keys);
        Ok(listed)
    }

    fn top(&mut self, top: &Top) -> Op<TopPlan> {
        let count = Binder::new(&Scope::empty(), self.ctes, self.ctx).expression(&top.count)?;
        let wanted = if top.percent { SqlType::Float } else { SqlType::BigInt };
        Ok(TopPlan { count: coerce(count, wanted)?, percent: top.percent, with_ties: top.with_ties })
    }
}

/// A source that is one table, read by a unique key if the condition fixes one.
pub(crate) fn narrow(source: Source, filter: Option<&Predicate>, ctx: &Context<'_, '_>) -> Source {
    let Source::Table { key, options, with_ids, .. } = source else { return source };
    let table = ctx.tx.table_def(key);
    let access = filter.zip(table).and_then(|(filter, table)| key_access(filter, table));
    Source::Table { key, options, access, with_ids }
}

/// Binds the query of an updatable common table expression.
///
/// # Errors
/// 4406 when its rows are not rows of one table.
pub(super) fn bind_updatable(
    query: &Query,
    ctes: CommonTables<'_>,
    ctx: &mut Context<'_, '_>,
) -> Op<(Plan, TableKey, Vec<Option<usize>>)> {
    check_for(query.for_clause.as_ref())?;
    let refused = || errors::not_updatable("common table expression");
    let QueryBody::Select(select) = &query.body else { return Err(refused().into()) };
    let [TableSource::Table { name, alias, .. }] = select.from.as_slice() else {
        return Err(refused().into());
    };
    if select.distinct || !select.group_by.is_empty() || has_aggregate(&select.items, select.having.as_ref())
    {
        return Err(refused().into());
    }
    let named = alias.clone().map_or_else(|| name.clone(), ObjectName::single);
    let target = DmlTarget::Table { name: named, hints: Vec::new() };
    let mut binder = SelectBinder { parent: None, ctes, ctx, updatable: Some(&target) };
    let BoundSelect { mut plan, target: found, .. } = binder.bind(select, &query.order_by)?;
    bind_offset(&mut plan, query.offset.as_ref(), ctes, ctx)?;
    let table = found.and_then(|found| found.table).ok_or_else(refused)?;
    let Body::Select(body) = &plan.body else { return Err(refused().into()) };
    let mapping = body.items[..plan.columns.len()].iter().map(|item| match item.node {
        Node::Column { level: 0, index } => Some(index),
        _ => None,
    });
    let mapping = mapping.collect();
    Ok((plan, table, mapping))
}

/// A select list being bound.
struct Listed {
    columns: Vec<Column>,
    names: Vec<String>,
    items: Vec<Bound>,
    carried: usize,
    assignments: Vec<(String, SqlType, Bound)>,
    order: Vec<super::order::SortColumn>,
    having: Option<Predicate>,
    aggregates: Vec<crate::relational::aggregate::Aggregate>,
    reach: usize,
}

impl Listed {
    /// Binds the items; a list of assignments has the whole row, given by `identity`, as its items.
    fn bind(
        select: &Select,
        binder: &mut Binder<'_, '_, '_>,
        identity: impl FnOnce() -> Vec<Bound>,
    ) -> Op<Listed> {
        let assigning = select.items.iter().filter(|item| matches!(item, SelectItem::Assign { .. })).count();
        if assigning > 0 && assigning < select.items.len() {
            return Err(errors::mixed_assignment().into());
        }
        let (mut items, mut names, mut assignments) = (Vec::new(), Vec::new(), Vec::new());
        for item in &select.items {
            match item {
                SelectItem::Assign { variable, op, value } => {
                    assignments.push(assignment(variable.as_str(), *op, value, binder)?);
                }
                other => expand(other, binder, &mut items, &mut names)?,
            }
        }
        if assigning > 0 {
            items = identity();
        }
        let columns = items.iter().zip(&names).map(|(item, name)| output_column(item, name)).collect();
        Ok(Listed {
            columns,
            names,
            items,
            carried: 0,
            assignments,
            order: Vec::new(),
            having: None,
            aggregates: Vec::new(),
            reach: 0,
        })
    }

    /// Lets the columns and the id of an updatable query's table follow its own columns.
    fn carry(&mut self, target: &TargetRows, columns: &[ScopeColumn]) {
        let places = target.offset..=target.offset + target.width;
        self.items.extend(places.map(|index| Bound::column(index, &columns[index].column)));
        self.carried = target.width + 1;
    }

    fn sort(&mut self, order_by: &[OrderItem], distinct: bool, binder: &mut Binder<'_, '_, '_>) -> Op<()> {
        self.order = bind_order(order_by, &self.names, &mut self.items, !distinct, binder)?;
        Ok(())
    }

    /// In a grouped list of assignments, lets the whole grouped row precede what ORDER BY has added.
    fn keep_groups(&mut self, keys: &[Bound]) {
        if self.assignments.is_empty() {
            return;
        }
        let width = keys.len() + self.aggregates.len();
        let types = keys.iter().map(|key| key.ty).chain(self.aggregates.iter().map(|aggregate| aggregate.ty));
        let identity: Vec<Bound> =
            types.enumerate().map(|(index, ty)| Bound::new(Node::Column { level: 0, index }, ty)).collect();
        self.items.splice(0..0, identity);
        for column in &mut self.order {
            column.index += width;
        }
    }
}

/// The whole row before projection.
fn identity(columns: &[ScopeColumn]) -> Vec<Bound> {
    columns.iter().enumerate().map(|(index, column)| Bound::column(index, &column.column)).collect()
}

fn assignment(
    variable: &str,
    op: AssignOp,
    value: &Expr,
    binder: &mut Binder<'_, '_, '_>,
) -> Op<(String, SqlType, Bound)> {
    let declared = binder.ctx.env.variable(variable).map(|(ty, _)| *ty);
    let ty = declared.ok_or_else(|| errors::undeclared_variable(variable))?;
    let bound = match op {
        AssignOp::Set => binder.expression(value)?,
        AssignOp::Combine(op) => binder.expression(&Expr::Binary {
            op,
            left: Box::new(Expr::Variable(crate::tsql::ast::VariableName::new(variable))),
            right: Box::new(value.clone()),
        })?,
    };
    let bound = crate::relational::expression::coerce_for_assignment(bound, ty)?;
    Ok((variable.to_owned(), ty, bound))
}

fn output_column(item: &Bound, name: &str) -> Column {
    Column {
        name: name.to_owned(),
        ty: item.ty,
        nullable: item.nullable,
        collation: item.collating.collation,
    }
}

/// The name of an output column: its alias, or the column's name as written.
fn output_name(value: &Expr, alias: Option<&str>) -> String {
    match (alias, value) {
        (Some(alias), _) => alias.to_owned(),
        (None, Expr::Column(name)) => name.name().as_str().to_owned(),
        _ => String::new(),
    }
}

/// Names of the columns `*` stands for, alone and as references.
fn wildcard(
    qualifier: Option<&ObjectName>,
    columns: &[ScopeColumn],
) -> Result<Vec<(String, ObjectName)>, SqlError> {
    let schema = qualifier.and_then(ObjectName::schema).map(|schema| schema.as_str());
    let wanted = |column: &&ScopeColumn| {
        let named = qualifier.is_none_or(|qualifier| column.qualifier.is(qualifier.name().as_str(), schema));
        named && !column.hidden
    };
    let found: Vec<_> =
        columns.iter().filter(wanted).map(|column| (column.column.name.clone(), reference(column))).collect();
    match (found.is_empty(), qualifier) {
        (true, Some(qualifier)) => Err(errors::unknown_prefix(&qualifier.to_string())),
        (true, None) => Err(SqlError::with_severity(263, 16, "Must specify table to select from.")),
        _ => Ok(found),
    }
}

/// A reference that can only mean this column.
fn reference(column: &ScopeColumn) -> ObjectName {
    let part = |text: &str| crate::tsql::ast::Ident { text: text.to_owned(), delimited: true };
    let mut parts = Vec::new();
    parts.extend(column.qualifier.schema.as_deref().map(part));
    if !column.qualifier.name.is_empty() {
        parts.push(part(&column.qualifier.name));
    }
    parts.push(part(&column.column.name));
    ObjectName { parts }
}

/// Reading a table needs SELECT on it.
fn check_rights(source: &Source, ctx: &Context<'_, '_>) -> Result<(), SqlError> {
    match source {
        Source::Table { key, .. } => ctx.tx.require_on_table(Permission::Select, *key),
        Source::Join(join) => {
            check_rights(&join.left, ctx)?;
            check_rights(&join.right, ctx)
        }
        _ => Ok(()),
    }
}
