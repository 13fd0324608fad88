//! Binding of FROM: every source with its columns, joins with their conditions.
//!
//! A data change marks its target here, so that the rows carry what they are changed by. Must not read rows.

use crate::catalog::{self, View};
use crate::engine::{DatabaseId, ObjectKind, Op, QueueKey, ReadHint, ReadOptions, TableKey};
use crate::error::SqlError;
use crate::relational::environment::Context;
use crate::relational::errors;
use crate::relational::expression::{Binder, Bound, Predicate, coerce, nodes_column, xml_constant};
use crate::relational::names::engine_name;
use crate::relational::query::access::{KeyAccess, equi_pairs};
use crate::relational::query::hints::read_options;
use crate::relational::query::plan::{Plan, bind_query};
use crate::relational::query::target::{Target, TargetMatch, TargetRows};
use crate::relational::query::{CommonTables, queue_columns};
use crate::relational::scope::{Qualifier, Scope, ScopeColumn};
use crate::relational::types::common_type;
use crate::relational::xml::{Path, parse_path};
use crate::tsql::ast::dml::DmlTarget;
use crate::tsql::ast::name::{Ident, ObjectName, eq_ignore_case};
use crate::tsql::ast::query::{JoinKind, TableAlias, TableHint, TableSource};
use crate::tsql::ast::{Condition, Expr};
use crate::value::{Column, SqlType};

/// Where rows come from.
#[derive(Debug)]
pub(crate) enum Source {
    /// One row without columns: no FROM.
    Nothing,
    /// A table.
    Table {
        /// Which.
        key: TableKey,
        /// How it is read.
        options: ReadOptions,
        /// The unique key to read by, if the condition gives one.
        access: Option<KeyAccess>,
        /// Rows end with their id.
        with_ids: bool,
    },
    /// A queue.
    Queue {
        /// Which.
        key: QueueKey,
        /// What to do about rows that somebody is receiving.
        hint: ReadHint,
    },
    /// A catalog view.
    View {
        /// Which.
        view: &'static View,
        /// Of which database.
        database: DatabaseId,
    },
    /// A table variable.
    Variable {
        /// Its name.
        name: String,
        /// Rows end with their position.
        with_ids: bool,
    },
    /// VALUES as a table.
    Values(Vec<Vec<Bound>>),
    /// `xml.nodes(path)`
    Nodes(Box<Bound>, Path),
    /// A derived table or common table expression.
    Derived(Box<Plan>),
    /// A join.
    Join(Box<Join>),
}

/// Two sources joined.
#[derive(Debug)]
pub(crate) struct Join {
    /// How.
    pub(crate) kind: JoinKind,
    /// Left side.
    pub(crate) left: Source,
    /// Right side.
    pub(crate) right: Source,
    /// Columns of the left side.
    pub(crate) left_width: usize,
    /// Columns of the right side.
    pub(crate) right_width: usize,
    /// The condition over a row of both.
    pub(crate) on: Option<Predicate>,
    /// Pairs of expressions over left and right that the condition wants equal, if it has any.
    pub(crate) pairs: Vec<(Bound, Bound, crate::value::Collation)>,
}

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.schema, self.name)
    }
}

/// A bound source with the columns of its rows.
#[derive(Debug)]
pub(crate) struct BoundSource {
    /// The rows.
    pub(crate) source: Source,
    /// Their columns, hidden ones included.
    pub(crate) columns: Vec<ScopeColumn>,
}

/// Binds sources at one place of a statement.
pub(crate) struct FromBinder<'b, 'c, 't> {
    /// The query around, whose columns derived tables do not see but subqueries in ON do.
    pub(crate) parent: Option<&'b Scope<'b>>,
    /// The common table expressions in sight.
    pub(crate) ctes: CommonTables<'b>,
    /// Session and operation.
    pub(crate) ctx: &'b mut Context<'c, 't>,
    /// The target of a data change.
    pub(crate) target: Option<Target<'b>>,
    /// How many levels up anything in FROM has reached.
    pub(crate) reach: usize,
    /// What the sources so far are called.
    names: Vec<Qualifier>,
}

/// The column that carries a row's id.
pub(crate) fn hidden_id() -> ScopeColumn {
    let column = Column::not_null("", SqlType::BigInt);
    ScopeColumn { qualifier: Qualifier::default(), column, hidden: true }
}

impl<'b, 'c, 't> FromBinder<'b, 'c, 't> {
    /// A binder for one FROM.
    pub(crate) fn new(
        parent: Option<&'b Scope<'b>>,
        ctes: CommonTables<'b>,
        ctx: &'b mut Context<'c, 't>,
        target: Option<Target<'b>>,
    ) -> FromBinder<'b, 'c, 't> {
        FromBinder { parent, ctes, ctx, target, reach: 0, names: Vec::new() }
    }

    /// Binds the sources of FROM, joined by commas.
    ///
    /// # Errors
    /// 208 and 1087 for unknown sources, 1013 for names used twice, those of conditions; 40510 for what is not built.
    pub(crate) fn from(&mut self, sources: &[TableSource]) -> Op<BoundSource> {
        let mut whole: Option<BoundSource> = None;
        for source in sources {
            let offset = whole.as_ref().map_or(0, |whole| whole.columns.len());
            let bound = self.source(source, offset)?;
            whole = Some(match whole {
                None => bound,
                Some(left) => cross(left, bound),
            });
        }
        Ok(whole.unwrap_or(BoundSource { source: Source::Nothing, columns: Vec::new() }))
    }

    /// No two sources may be called the same.
    fn expose(&mut self, qualifier: &Qualifier) -> Result<(), SqlError> {
        if !qualifier.name.is_empty() && self.names.contains(qualifier) {
            return Err(errors::duplicate_alias(&qualifier.name));
        }
        self.names.push(qualifier.clone());
        Ok(())
    }

    fn source(&mut self, source: &TableSource, offset: usize) -> Op<BoundSource> {
        if let TableSource::Derived { alias, .. } | TableSource::Values { alias, .. } = source {
            self.expose(&Qualifier::alias(alias.name.as_ref().map_or("", Ident::as_str)))?;
        }
        match source {
            TableSource::Table { name, alias, hints } => self.table(name, alias.as_ref(), hints, offset),
            TableSource::Variable { name, alias } => self.variable(name.as_str(), alias.as_ref(), offset),
            TableSource::Derived { query, alias } => {
                let plan = bind_query(query, self.parent, self.ctes, self.ctx)?;
                self.reach = self.reach.max(plan.reach);
                derived(plan, alias)
            }
            TableSource::Values { rows, alias } => self.values(rows, alias),
            TableSource::Join { kind, left, right, on } => {
                self.join(*kind, left, right, on.as_deref(), offset)
            }
            TableSource::Function(function) => {
                Err(SqlError::unsupported(format!("table-valued function {}", function.name)).into())
            }
            TableSource::Nodes { target, path, alias } => self.nodes(target, path, alias),
        }
    }

    fn table(
        &mut self,
        name: &ObjectName,
        alias: Option<&Ident>,
        hints: &[TableHint],
        offset: usize,
    ) -> Op<BoundSource> {
        let qualifier = qualifier_of(name, alias);
        let is_target = self.is_target(name, &qualifier);
        self.expose(&qualifier)?;
        if let Some((table, inside)) = self.ctes.find(name)? {
            return self.common_table(table, inside, &qualifier, is_target.then_some(offset));
        }
        let engine_name = engine_name(name)?;
        if let Some(view) = catalog::find(engine_name.schema.as_deref(), &engine_name.name) {
            let database = self.database(engine_name.database.as_deref())?;
            let columns = qualified(&qualifier, view.columns());
            return Ok(BoundSource { source: Source::View { view, database }, columns });
        }
        let (key, object) = self.ctx.tx.resolve_object(&engine_name)?;
        let options = read_options(self.ctx.tx.read_options(), hints);
        match &object.kind {
            ObjectKind::Table(table) => {
                let columns: Vec<Column> = table.columns.iter().map(|column| column.column.clone()).collect();
                let width = columns.len();
                let columns = qualified(&qualifier, columns);
                if is_target {
                    self.found(TargetRows { table: Some(key), offset, width, mapping: None });
                }
                let source = Source::Table { key, options, access: None, with_ids: is_target };
                Ok(with_id(BoundSource { source, columns }, is_target))
            }
            ObjectKind::Queue(_) => {
                let columns = qualified(&qualifier, queue_columns());
                Ok(BoundSource { source: Source::Queue { key, hint: options.hint }, columns })
            }
            ObjectKind::Procedure(_) => Err(SqlError::unsupported(format!("view {name}")).into()),
        }
    }

    fn database(&self, name: Option<&str>) -> Result<DatabaseId, SqlError> {
        let Some(name) = name else { return Ok(self.ctx.tx.database()) };
        let database = self.ctx.tx.state().database_by_name(name);
        database.map(|database| database.def.id).ok_or_else(|| errors::unknown_database(name))
    }

    /// Whether this source is what the data change is about.
    fn is_target(&self, name: &ObjectName, qualifier: &Qualifier) -> bool {
        let Some(Target { name: DmlTarget::Table { name: wanted, .. }, by, found: None }) = &self.target
        else {
            return false;
        };
        let called = match by {
            TargetMatch::Alias => &qualifier.name,
            TargetMatch::Name => name.name().as_str(),
        };
        eq_ignore_case(wanted.name().as_str(), called)
    }

    fn found(&mut self, rows: TargetRows) {
        if let Some(target) = &mut self.target {
            target.found = Some(rows);
        }
    }

    /// A common table expression; as the target of a change, its one table's columns and id follow its own columns.
    fn common_table(
        &mut self,
        table: &crate::tsql::ast::query::CommonTable,
        inside: CommonTables<'_>,
        qualifier: &Qualifier,
        target: Option<usize>,
    ) -> Op<BoundSource> {
        let alias =
            TableAlias { name: Some(Ident::new(qualifier.name.clone())), columns: table.columns.clone() };
        let Some(offset) = target else {
            let plan = bind_query(&table.query, None, inside, self.ctx)?;
            return derived(plan, &alias);
        };
        let (plan, key, mapping) = super::select::bind_updatable(&table.query, inside, self.ctx)?;
        let own = plan.columns.len();
        let width = plan.carried - 1;
        let mut bound = derived(plan, &alias)?;
        let names = bound.columns.iter().map(|column| column.column.name.clone());
        let mapping = names.zip(mapping).collect();
        bound.columns.extend((0..=width).map(|_| hidden_id()));
        self.found(TargetRows { table: Some(key), offset: offset + own, width, mapping: Some(mapping) });
        Ok(bound)
    }

    fn variable(&mut self, name: &str, alias: Option<&Ident>, offset: usize) -> Op<BoundSource> {
        let table =
            self.ctx.env.table_variable(name).ok_or_else(|| errors::undeclared_table_variable(name))?;
        let qualifier = Qualifier::alias(alias.map_or(name, Ident::as_str));
        let columns: Vec<Column> = table.columns.iter().map(|column| column.column.clone()).collect();
        let width = columns.len();
        self.expose(&qualifier)?;
        let is_target = match &self.target {
            Some(Target { name: DmlTarget::Variable(wanted), found: None, .. }) => {
                eq_ignore_case(wanted.as_str(), name)
            }
            Some(Target { name: DmlTarget::Table { name: wanted, .. }, found: None, .. }) => {
                wanted.parts.len() == 1 && eq_ignore_case(wanted.name().as_str(), &qualifier.name)
            }
            _ => false,
        };
        if is_target {
            self.found(TargetRows { table: None, offset, width, mapping: None });
        }
        let source = Source::Variable { name: name.to_owned(), with_ids: is_target };
        Ok(with_id(BoundSource { source, columns: qualified(&qualifier, columns) }, is_target))
    }

    /// `.nodes()`: one row for each node.
    fn nodes(&mut self, target: &Expr, path: &Expr, alias: &TableAlias) -> Op<BoundSource> {
        let scope = Scope::new(&[], self.parent);
        let target = Binder::new(&scope, self.ctes, self.ctx).xml_target(target)?;
        self.reach = self.reach.max(scope.reach());
        let path = parse_path(xml_constant(Some(path), "nodes")?, &self.ctes.namespaces())?;
        let columns = qualified(&Qualifier::default(), vec![nodes_column("")]);
        renamed(BoundSource { source: Source::Nodes(Box::new(target), path), columns }, alias)
    }

    /// VALUES: each column has the type all its values share.
    fn values(&mut self, rows: &[Vec<Expr>], alias: &TableAlias) -> Op<BoundSource> {
        let scope = Scope::new(&[], self.parent);
        let mut bound = Vec::with_capacity(rows.len());
        for row in rows {
            bound.push(Binder::new(&scope, self.ctes, self.ctx).expressions(row)?);
        }
        self.reach = self.reach.max(scope.reach());
        let width = bound.first().map_or(0, Vec::len);
        if bound.iter().any(|row| row.len() != width) {
            let text = "All rows of a table value constructor must have the same number of columns.";
            return Err(SqlError::with_severity(10709, 16, text).into());
        }
        let columns: Vec<Column> = (0..width).map(|index| shared_column(&bound, index)).collect();
        let coerced = bound.into_iter().map(|row| {
            row.into_iter().zip(&columns).map(|(value, column)| coerce(value, column.ty)).collect()
        });
        let rows = coerced.collect::<Result<Vec<Vec<Bound>>, SqlError>>()?;
        renamed(
            BoundSource { source: Source::Values(rows), columns: qualified(&Qualifier::default(), columns) },
            alias,
        )
    }

    fn join(
        &mut self,
        kind: JoinKind,
        left: &TableSource,
        right: &TableSource,
        on: Option<&Condition>,
        offset: usize,
    ) -> Op<BoundSource> {
        let left = self.source(left, offset)?;
        let left_width = left.columns.len();
        let right = match kind {
            JoinKind::CrossApply | JoinKind::OuterApply => self.applied(&left, right)?,
            _ => self.source(right, offset + left_width)?,
        };
        let right_width = right.columns.len();
        let mut columns = left.columns;
        columns.extend(right.columns);
        let (on, pairs) = match on {
            None => (None, Vec::new()),
            Some(on) => {
                let scope = Scope::new(&columns, self.parent);
                let on = Binder::new(&scope, self.ctes, self.ctx).condition(on)?;
                self.reach = self.reach.max(scope.reach());
                let pairs = equi_pairs(&on, left_width);
                (Some(on), pairs)
            }
        };
        let padded = match kind {
            JoinKind::Left | JoinKind::OuterApply => left_width..columns.len(),
            JoinKind::Right => 0..left_width,
            JoinKind::Full => 0..columns.len(),
            _ => 0..0,
        };
        columns[padded].iter_mut().for_each(|padded| padded.column.nullable = true);
        let join = Join { kind, left: left.source, right: right.source, left_width, right_width, on, pairs };
        Ok(BoundSource { source: Source::Join(Box::new(join)), columns })
    }

    /// The right side of APPLY, which sees the columns of the left side.
    fn applied(&mut self, left: &BoundSource, right: &TableSource) -> Op<BoundSource> {
        let scope = Scope::new(&left.columns, self.parent);
        let mut inside = FromBinder::new(Some(&scope), self.ctes, self.ctx, None);
        let bound = inside.source(right, 0)?;
        self.reach = self.reach.max(scope.reach());
        Ok(bound)
    }
}

fn cross(left: BoundSource, right: BoundSource) -> BoundSource {
    let (left_width, right_width) = (left.columns.len(), right.columns.len());
    let mut columns = left.columns;
    columns.extend(right.columns);
    let join = Join {
        kind: JoinKind::Cross,
        left: left.source,
        right: right.source,
        left_width,
        right_width,
        on: None,
        pairs: Vec::new(),
    };
    BoundSource { source: Source::Join(Box::new(join)), columns }
}

/// A derived table with its columns named as its alias says.
fn derived(plan: Plan, alias: &TableAlias) -> Op<BoundSource> {
    let table = alias.name.as_ref().map_or("", Ident::as_str);
    if alias.columns.is_empty() {
        check_column_names(&plan.columns, table)?;
    }
    let columns = qualified(&Qualifier::default(), plan.columns.clone());
    renamed(BoundSource { source: Source::Derived(Box::new(plan)), columns }, alias)
}

fn check_column_names(columns: &[Column], table: &str) -> Result<(), SqlError> {
    for (index, column) in columns.iter().enumerate() {
        if column.name.is_empty() {
            return Err(errors::unnamed_column(index + 1, table));
        }
        if columns[..index].iter().any(|earlier| eq_ignore_case(&earlier.name, &column.name)) {
            return Err(errors::duplicate_column(&column.name, table));
        }
    }
    Ok(())
}

fn renamed(mut bound: BoundSource, alias: &TableAlias) -> Op<BoundSource> {
    let table = alias.name.as_ref().map_or("", Ident::as_str);
    if !alias.columns.is_empty() {
        if alias.columns.len() != bound.columns.len() {
            return Err(errors::alias_count(table, alias.columns.len() > bound.columns.len()).into());
        }
        for (column, name) in bound.columns.iter_mut().zip(&alias.columns) {
            column.column.name = name.as_str().to_owned();
        }
    }
    for column in &mut bound.columns {
        column.qualifier = Qualifier::alias(table);
    }
    Ok(bound)
}

fn qualified(qualifier: &Qualifier, columns: Vec<Column>) -> Vec<ScopeColumn> {
    let scoped = |column| ScopeColumn { qualifier: qualifier.clone(), column, hidden: false };
    columns.into_iter().map(scoped).collect()
}

fn qualifier_of(name: &ObjectName, alias: Option<&Ident>) -> Qualifier {
    match alias {
        Some(alias) => Qualifier::alias(alias.as_str()),
        None => Qualifier {
            name: name.name().as_str().to_owned(),
            schema: name.schema().map(|schema| schema.as_str().to_owned()),
        },
    }
}

fn with_id(mut bound: BoundSource, is_target: bool) -> BoundSource {
    if is_target {
        bound.columns.push(hidden_id());
    }
    bound
}

/// The type all values of one column of VALUES share.
fn shared_column(rows: &[Vec<Bound>], index: usize) -> Column {
    let values = rows.iter().map(|row| &row[index]);
    let typed = values.clone().filter(|value| !value.is_null_constant());
    let ty = typed.clone().map(|value| value.ty).reduce(common_type).unwrap_or(SqlType::Int);
    let collation = typed.map(|value| value.collating).max_by_key(|collating| collating.source);
    let nullable = values.clone().any(|value| value.nullable);
    let collation = collation.map_or_else(Default::default, |collating| collating.collation);
    Column { name: String::new(), ty, nullable, collation }
}
