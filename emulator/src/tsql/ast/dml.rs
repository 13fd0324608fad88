//! INSERT, UPDATE, DELETE and MERGE.
//!
//! Must not know how rows are stored.

use super::cursor::CursorName;
use super::expr::{AssignOp, Condition, Expr};
use super::name::{Ident, ObjectName, VariableName};
use super::query::{Query, QueryOption, SelectItem, TableHint, TableSource, Top, With};
use super::statement::Execute;

/// The table a statement changes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum DmlTarget {
    /// A table or view; in UPDATE and DELETE also an alias of the FROM clause or a common table expression.
    Table {
        /// Its name.
        name: ObjectName,
        /// Its hints.
        hints: Vec<TableHint>,
    },
    /// A table variable.
    Variable(VariableName),
}

/// An expression, or DEFAULT in its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ValueOrDefault {
    /// A value.
    Value(Expr),
    /// The column's default.
    Default,
}

/// INSERT.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Insert {
    /// WITH before the statement.
    pub(crate) with: With,
    /// TOP.
    pub(crate) top: Option<Top>,
    /// The table.
    pub(crate) target: DmlTarget,
    /// The columns; empty when none were written.
    pub(crate) columns: Vec<Ident>,
    /// OUTPUT, up to two: one with INTO and one without.
    pub(crate) output: Vec<OutputClause>,
    /// The rows.
    pub(crate) source: InsertSource,
    /// OPTION.
    pub(crate) options: Vec<QueryOption>,
}

/// The rows of INSERT.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum InsertSource {
    /// `VALUES (..), (..)`
    Values(Vec<Vec<ValueOrDefault>>),
    /// `DEFAULT VALUES`
    DefaultValues,
    /// A query.
    Query(Box<Query>),
    /// `EXEC ..`: every result set of it.
    Execute(Box<Execute>),
}

/// UPDATE.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Update {
    /// WITH before the statement.
    pub(crate) with: With,
    /// TOP.
    pub(crate) top: Option<Top>,
    /// The table.
    pub(crate) target: DmlTarget,
    /// SET.
    pub(crate) assignments: Vec<UpdateAssignment>,
    /// OUTPUT.
    pub(crate) output: Vec<OutputClause>,
    /// FROM.
    pub(crate) from: Vec<TableSource>,
    /// WHERE.
    pub(crate) filter: Option<DmlFilter>,
    /// OPTION.
    pub(crate) options: Vec<QueryOption>,
}

/// One entry of UPDATE's SET.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum UpdateAssignment {
    /// `column = v`, `@x = v`, `@x = column = v`, each also with `+=` and so on.
    Set {
        /// The variable that gets the value too.
        variable: Option<VariableName>,
        /// The column that gets it; at least one of the two is present.
        column: Option<ObjectName>,
        /// How it is stored.
        op: AssignOp,
        /// The value.
        value: ValueOrDefault,
    },
    /// `column.modify('..')`, `column.WRITE(..)`.
    Method {
        /// The column.
        column: ObjectName,
        /// The method.
        method: Ident,
        /// Its arguments.
        arguments: Vec<Expr>,
    },
}

/// WHERE of UPDATE and DELETE.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum DmlFilter {
    /// A condition.
    Condition(Condition),
    /// `CURRENT OF cursor`.
    CurrentOf(CursorName),
}

/// DELETE.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Delete {
    /// WITH before the statement.
    pub(crate) with: With,
    /// TOP.
    pub(crate) top: Option<Top>,
    /// The table.
    pub(crate) target: DmlTarget,
    /// OUTPUT.
    pub(crate) output: Vec<OutputClause>,
    /// The second FROM.
    pub(crate) from: Vec<TableSource>,
    /// WHERE.
    pub(crate) filter: Option<DmlFilter>,
    /// OPTION.
    pub(crate) options: Vec<QueryOption>,
}

/// `OUTPUT items [INTO target [(columns)]]`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OutputClause {
    /// The list.
    pub(crate) items: Vec<SelectItem>,
    /// INTO; a result set otherwise.
    pub(crate) into: Option<OutputInto>,
}

/// Where OUTPUT puts its rows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OutputInto {
    /// A table or table variable.
    pub(crate) target: DmlTarget,
    /// Its columns; empty when none were written.
    pub(crate) columns: Vec<Ident>,
}

/// MERGE.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Merge {
    /// WITH before the statement.
    pub(crate) with: With,
    /// TOP.
    pub(crate) top: Option<Top>,
    /// The table changed.
    pub(crate) target: DmlTarget,
    /// Its alias.
    pub(crate) alias: Option<Ident>,
    /// USING.
    pub(crate) source: TableSource,
    /// ON.
    pub(crate) on: Condition,
    /// The WHEN clauses in order.
    pub(crate) clauses: Vec<MergeClause>,
    /// OUTPUT.
    pub(crate) output: Vec<OutputClause>,
    /// OPTION.
    pub(crate) options: Vec<QueryOption>,
}

/// `WHEN .. [AND condition] THEN action`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MergeClause {
    /// Which rows.
    pub(crate) when: MergeWhen,
    /// The further condition.
    pub(crate) condition: Option<Condition>,
    /// What to do.
    pub(crate) action: MergeAction,
}

/// Which rows a WHEN clause of MERGE is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MergeWhen {
    /// `MATCHED`
    Matched,
    /// `NOT MATCHED [BY TARGET]`
    NotMatchedByTarget,
    /// `NOT MATCHED BY SOURCE`
    NotMatchedBySource,
}

/// What a WHEN clause of MERGE does.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum MergeAction {
    /// `UPDATE SET ..`
    Update(Vec<UpdateAssignment>),
    /// `DELETE`
    Delete,
    /// `INSERT [(columns)] VALUES (..)`; no values means DEFAULT VALUES.
    Insert {
        /// The columns; empty when none were written.
        columns: Vec<Ident>,
        /// The values.
        values: Vec<ValueOrDefault>,
    },
}
