//! SELECT: query expressions, table sources, hints, FOR XML and FOR JSON.
//!
//! Must not know how a query is run.

use super::expr::{AssignOp, Condition, Expr};
use super::name::{DataTypeName, Ident, ObjectName, VariableName};

/// SELECT as a statement.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SelectStatement {
    /// What stood in WITH before it.
    pub(crate) with: With,
    /// The query.
    pub(crate) query: Query,
    /// `OPTION (..)`.
    pub(crate) options: Vec<QueryOption>,
}

/// `WITH cte AS (..), ..` and `WITH XMLNAMESPACES (..)` before a statement; empty when there was none.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct With {
    /// Namespaces for the xml methods and FOR XML of the statement.
    pub(crate) xml_namespaces: Vec<XmlNamespace>,
    /// Common table expressions in order; a later one may use an earlier one and itself.
    pub(crate) tables: Vec<CommonTable>,
}

/// `'uri' AS prefix`, or `DEFAULT 'uri'`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct XmlNamespace {
    /// The prefix; `None` for DEFAULT.
    pub(crate) prefix: Option<Ident>,
    /// The namespace.
    pub(crate) uri: String,
}

/// One common table expression.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CommonTable {
    /// Its name.
    pub(crate) name: Ident,
    /// Its column names, when written.
    pub(crate) columns: Vec<Ident>,
    /// Its rows.
    pub(crate) query: Query,
}

/// A query expression with what applies to its whole result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Query {
    /// The rows.
    pub(crate) body: QueryBody,
    /// ORDER BY.
    pub(crate) order_by: Vec<OrderItem>,
    /// OFFSET and FETCH.
    pub(crate) offset: Option<Offset>,
    /// FOR XML, FOR JSON or FOR BROWSE.
    pub(crate) for_clause: Option<ForClause>,
}

/// Where a query's rows come from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum QueryBody {
    /// One SELECT.
    Select(Box<Select>),
    /// Two queries combined.
    SetOperation {
        /// How.
        op: SetOperator,
        /// Left query.
        left: Box<QueryBody>,
        /// Right query.
        right: Box<QueryBody>,
    },
}

/// How two queries are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SetOperator {
    /// `UNION`
    Union,
    /// `UNION ALL`
    UnionAll,
    /// `EXCEPT`
    Except,
    /// `INTERSECT`
    Intersect,
}

/// SELECT .. FROM .. WHERE .. GROUP BY .. HAVING.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Select {
    /// DISTINCT.
    pub(crate) distinct: bool,
    /// TOP.
    pub(crate) top: Option<Top>,
    /// The select list; one or more.
    pub(crate) items: Vec<SelectItem>,
    /// INTO: the table to create.
    pub(crate) into: Option<ObjectName>,
    /// FROM: sources separated by commas.
    pub(crate) from: Vec<TableSource>,
    /// WHERE.
    pub(crate) filter: Option<Condition>,
    /// GROUP BY.
    pub(crate) group_by: Vec<Expr>,
    /// HAVING.
    pub(crate) having: Option<Condition>,
}

/// `TOP n`, `TOP (n) [PERCENT] [WITH TIES]`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Top {
    /// How many.
    pub(crate) count: Expr,
    /// Of a hundred.
    pub(crate) percent: bool,
    /// WITH TIES.
    pub(crate) with_ties: bool,
}

/// One entry of a select list, an OUTPUT list or a RECEIVE list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SelectItem {
    /// `*` or `t.*`.
    Wildcard {
        /// What stood before the star.
        qualifier: Option<ObjectName>,
    },
    /// An expression with or without a column name.
    Value {
        /// The expression.
        value: Expr,
        /// `[AS] alias` or `alias = value`.
        alias: Option<Ident>,
    },
    /// `@v = value`, `@v += value`.
    Assign {
        /// The variable.
        variable: VariableName,
        /// How the value is stored.
        op: AssignOp,
        /// The expression.
        value: Expr,
    },
}

/// One entry of ORDER BY.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OrderItem {
    /// What to sort by; a whole number means a position in the select list.
    pub(crate) value: Expr,
    /// DESC.
    pub(crate) descending: bool,
}

/// `OFFSET n ROWS [FETCH NEXT m ROWS ONLY]`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Offset {
    /// Rows to leave out.
    pub(crate) skip: Expr,
    /// Rows to take.
    pub(crate) fetch: Option<Expr>,
}

/// One source of a FROM clause.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TableSource {
    /// A table, view, queue, common table expression or pseudo-table.
    Table {
        /// Its name.
        name: ObjectName,
        /// Its alias.
        alias: Option<Ident>,
        /// Its hints.
        hints: Vec<TableHint>,
    },
    /// `@t`.
    Variable {
        /// The table variable.
        name: VariableName,
        /// Its alias.
        alias: Option<Ident>,
    },
    /// `(SELECT ..) AS a (columns)`.
    Derived {
        /// The rows.
        query: Box<Query>,
        /// Name and columns.
        alias: TableAlias,
    },
    /// `(VALUES (..), (..)) AS a (columns)`.
    Values {
        /// The rows.
        rows: Vec<Vec<Expr>>,
        /// Name and columns.
        alias: TableAlias,
    },
    /// A table-valued function: `dbo.f(1)`, `STRING_SPLIT(..)`, `OPENJSON(..) WITH (..)`.
    Function(Box<TableFunction>),
    /// `@x.nodes('/a') AS t(c)`.
    Nodes {
        /// The xml value or column.
        target: Box<Expr>,
        /// The path.
        path: Box<Expr>,
        /// Name and column.
        alias: TableAlias,
    },
    /// A join or an APPLY.
    Join {
        /// Which.
        kind: JoinKind,
        /// Left side.
        left: Box<TableSource>,
        /// Right side.
        right: Box<TableSource>,
        /// ON; absent for CROSS JOIN and APPLY.
        on: Option<Box<Condition>>,
    },
}

/// The name of a derived table and of its columns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct TableAlias {
    /// The name.
    pub(crate) name: Option<Ident>,
    /// The columns, when written.
    pub(crate) columns: Vec<Ident>,
}

/// A call of a table-valued function.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TableFunction {
    /// The function.
    pub(crate) name: ObjectName,
    /// The arguments; `None` is DEFAULT.
    pub(crate) arguments: Vec<Option<Expr>>,
    /// `WITH (..)` of OPENJSON and OPENXML.
    pub(crate) schema: Vec<RowsetColumn>,
    /// Name and columns.
    pub(crate) alias: TableAlias,
}

/// One column that OPENJSON or OPENXML is asked to produce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RowsetColumn {
    /// Its name.
    pub(crate) name: Ident,
    /// Its type.
    pub(crate) data_type: DataTypeName,
    /// Where its value stands.
    pub(crate) path: Option<String>,
    /// AS JSON.
    pub(crate) as_json: bool,
}

/// How two table sources are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JoinKind {
    /// `[INNER] JOIN`
    Inner,
    /// `LEFT [OUTER] JOIN`
    Left,
    /// `RIGHT [OUTER] JOIN`
    Right,
    /// `FULL [OUTER] JOIN`
    Full,
    /// `CROSS JOIN`
    Cross,
    /// `CROSS APPLY`
    CrossApply,
    /// `OUTER APPLY`
    OuterApply,
}

/// A table hint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TableHint {
    /// NOLOCK or READUNCOMMITTED.
    NoLock,
    /// READCOMMITTED or READCOMMITTEDLOCK.
    ReadCommitted,
    /// REPEATABLEREAD.
    RepeatableRead,
    /// HOLDLOCK or SERIALIZABLE.
    HoldLock,
    /// SNAPSHOT.
    Snapshot,
    /// READPAST.
    ReadPast,
    /// UPDLOCK.
    UpdLock,
    /// XLOCK.
    XLock,
    /// ROWLOCK.
    RowLock,
    /// PAGLOCK.
    PagLock,
    /// TABLOCK.
    TabLock,
    /// TABLOCKX.
    TabLockX,
    /// NOWAIT.
    NoWait,
    /// A hint about plans or loading, without effect on results: INDEX(..), FORCESEEK, KEEPIDENTITY, ..
    Other(String),
}

/// One entry of `OPTION (..)`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum QueryOption {
    /// `MAXRECURSION n`, the one option that changes results.
    MaxRecursion(u32),
    /// Any other option, by its words in upper case; about plans only.
    Other(String),
}

/// FOR XML, FOR JSON, FOR BROWSE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ForClause {
    /// FOR XML.
    Xml(ForXml),
    /// FOR JSON.
    Json(ForJson),
    /// FOR BROWSE.
    Browse,
}

/// The directives of FOR XML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ForXml {
    /// The mode.
    pub(crate) mode: XmlMode,
    /// ELEMENTS.
    pub(crate) elements: Option<XmlElements>,
    /// `ROOT [('name')]`: the name, `root` when none was written.
    pub(crate) root: Option<String>,
    /// TYPE.
    pub(crate) as_type: bool,
    /// BINARY BASE64.
    pub(crate) binary_base64: bool,
    /// XMLSCHEMA.
    pub(crate) xml_schema: bool,
}

/// The mode of FOR XML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum XmlMode {
    /// `RAW [('element')]`
    Raw(Option<String>),
    /// `AUTO`
    Auto,
    /// `PATH [('element')]`; an empty element name means no element around a row.
    Path(Option<String>),
    /// `EXPLICIT`
    Explicit,
}

/// How ELEMENTS shows NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum XmlElements {
    /// `ELEMENTS [ABSENT]`: left out.
    Absent,
    /// `ELEMENTS XSINIL`: an element with `xsi:nil`.
    XsiNil,
}

/// The directives of FOR JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ForJson {
    /// PATH; AUTO otherwise.
    pub(crate) path: bool,
    /// `ROOT [('name')]`: the name, `root` when none was written.
    pub(crate) root: Option<String>,
    /// INCLUDE_NULL_VALUES.
    pub(crate) include_null_values: bool,
    /// WITHOUT_ARRAY_WRAPPER.
    pub(crate) without_array_wrapper: bool,
}
