//! Scalar expressions and conditions.
//!
//! T-SQL keeps the two apart: a comparison is no value, and a value is no condition. The tree does too,
//! so an evaluator has one function per kind. Must not know any value type of the emulator.

use super::name::{DataTypeName, Ident, ObjectName, VariableName};
use super::query::{OrderItem, Query};

/// A scalar expression.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expr {
    /// A constant, `NULL` included.
    Literal(Literal),
    /// `@name`.
    Variable(VariableName),
    /// `@@NAME`: a function of the server (or, rarely, a variable somebody declared with two signs).
    SystemVariable(VariableName),
    /// A column with up to three qualifiers; also `$action`, `$identity`, `$rowguid`, and the bare date
    /// part that `DATEADD(minute, ..)` and its relatives take as their first argument.
    Column(ObjectName),
    /// `-x`, `+x`, `~x`.
    Unary {
        /// The operator.
        op: UnaryOp,
        /// What it is applied to.
        operand: Box<Expr>,
    },
    /// An arithmetic, string or bit operator with two operands.
    Binary {
        /// The operator.
        op: BinaryOp,
        /// Left operand.
        left: Box<Expr>,
        /// Right operand.
        right: Box<Expr>,
    },
    /// `CASE operand WHEN value THEN result .. [ELSE otherwise] END`.
    SimpleCase {
        /// What each WHEN is compared with.
        operand: Box<Expr>,
        /// Value and result of each WHEN.
        branches: Vec<(Expr, Expr)>,
        /// The ELSE.
        otherwise: Option<Box<Expr>>,
    },
    /// `CASE WHEN condition THEN result .. [ELSE otherwise] END`.
    SearchedCase {
        /// Condition and result of each WHEN.
        branches: Vec<(Condition, Expr)>,
        /// The ELSE.
        otherwise: Option<Box<Expr>>,
    },
    /// `IIF(condition, then, otherwise)`.
    Iif {
        /// What decides.
        condition: Box<Condition>,
        /// Result when true.
        then: Box<Expr>,
        /// Result when false or unknown.
        otherwise: Box<Expr>,
    },
    /// `CAST(x AS type)` and `TRY_CAST`.
    Cast {
        /// The value.
        operand: Box<Expr>,
        /// The type asked for.
        data_type: Box<DataTypeName>,
        /// TRY_CAST: NULL instead of an error.
        is_try: bool,
    },
    /// `CONVERT(type, x [, style])` and `TRY_CONVERT`.
    Convert {
        /// The type asked for.
        data_type: Box<DataTypeName>,
        /// The value.
        operand: Box<Expr>,
        /// The style number.
        style: Option<Box<Expr>>,
        /// TRY_CONVERT: NULL instead of an error.
        is_try: bool,
    },
    /// `PARSE(x AS type [USING culture])` and `TRY_PARSE`.
    Parse {
        /// The string.
        operand: Box<Expr>,
        /// The type asked for.
        data_type: Box<DataTypeName>,
        /// The culture.
        culture: Option<Box<Expr>>,
        /// TRY_PARSE: NULL instead of an error.
        is_try: bool,
    },
    /// A function call, windowed or not, aggregates included.
    Function(Box<FunctionCall>),
    /// A method of an xml value: `@x.value('(/a)[1]', 'int')`, `t.c.exist('/a')`.
    Method {
        /// The value or column.
        target: Box<Expr>,
        /// The method's name; xml methods are lower case only.
        method: Ident,
        /// The arguments.
        arguments: Vec<Expr>,
    },
    /// `(SELECT ..)` as a value.
    Subquery(Box<Query>),
    /// `x COLLATE name`.
    Collate {
        /// The value.
        operand: Box<Expr>,
        /// The collation.
        collation: Ident,
    },
    /// `x AT TIME ZONE zone`.
    AtTimeZone {
        /// The value.
        operand: Box<Expr>,
        /// The zone's name.
        zone: Box<Expr>,
    },
    /// `NEXT VALUE FOR sequence`.
    NextValueFor(ObjectName),
}

impl Expr {
    /// A national string constant.
    pub(crate) fn string(text: impl Into<String>) -> Expr {
        Expr::Literal(Literal::String { text: text.into(), national: true })
    }
}

/// A constant.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Literal {
    /// `NULL`.
    Null,
    /// A whole number that fits an `int`. The sign is a unary operator.
    Int(i32),
    /// A number with a decimal point, or a whole number beyond `int`: digits and at most one point.
    Decimal(String),
    /// A number with an exponent.
    Float(f64),
    /// `$12.50` without its currency sign: an optional sign, digits and at most one point; may be empty (`$`).
    Money(String),
    /// `'..'` or `N'..'` with doubled quotes undone.
    String {
        /// The text.
        text: String,
        /// Written with `N`.
        national: bool,
    },
    /// `0x..`; an odd number of digits has a zero put before it.
    Binary(Vec<u8>),
}

/// An operator with one operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnaryOp {
    /// `-`
    Minus,
    /// `+`
    Plus,
    /// `~`
    BitNot,
}

/// A scalar operator with two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BinaryOp {
    /// `+`, also of strings
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Modulo,
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
}

/// `=` or a compound assignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AssignOp {
    /// `=`
    Set,
    /// `+=` and so on: the old value combined with the new one.
    Combine(BinaryOp),
}

/// A call of a built-in or user function.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FunctionCall {
    /// The function; one part for built-in ones. Niladic functions written without parentheses
    /// (`CURRENT_TIMESTAMP`, `SYSTEM_USER`, ..) are calls without arguments as well.
    pub(crate) name: ObjectName,
    /// The arguments.
    pub(crate) arguments: FunctionArguments,
    /// `DISTINCT` before the argument of an aggregate.
    pub(crate) distinct: bool,
    /// `WITHIN GROUP (ORDER BY ..)`.
    pub(crate) within_group: Vec<OrderItem>,
    /// `OVER (..)`.
    pub(crate) over: Option<Window>,
}

/// What stands between a call's parentheses.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FunctionArguments {
    /// `COUNT(*)`, `CHECKSUM(*)`.
    Star,
    /// Expressions, possibly none.
    List(Vec<Expr>),
}

impl FunctionArguments {
    /// The expressions; empty for `*`.
    pub(crate) fn as_slice(&self) -> &[Expr] {
        match self {
            FunctionArguments::Star => &[],
            FunctionArguments::List(list) => list,
        }
    }
}

/// `OVER (PARTITION BY .. ORDER BY .. ROWS ..)`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Window {
    /// PARTITION BY.
    pub(crate) partition_by: Vec<Expr>,
    /// ORDER BY.
    pub(crate) order_by: Vec<OrderItem>,
    /// ROWS or RANGE.
    pub(crate) frame: Option<WindowFrame>,
}

/// The frame of a window.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WindowFrame {
    /// ROWS; RANGE otherwise.
    pub(crate) rows: bool,
    /// Where it starts.
    pub(crate) start: FrameBound,
    /// Where it ends, when BETWEEN was written.
    pub(crate) end: Option<FrameBound>,
}

/// One end of a window frame.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FrameBound {
    /// `UNBOUNDED PRECEDING`
    UnboundedPreceding,
    /// `n PRECEDING`
    Preceding(Expr),
    /// `CURRENT ROW`
    CurrentRow,
    /// `n FOLLOWING`
    Following(Expr),
    /// `UNBOUNDED FOLLOWING`
    UnboundedFollowing,
}

/// Something that is true, false or unknown.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Condition {
    /// All of them; two or more.
    And(Vec<Condition>),
    /// Any of them; two or more.
    Or(Vec<Condition>),
    /// `NOT c`
    Not(Box<Condition>),
    /// `left op right`
    Compare {
        /// The operator.
        op: CompareOp,
        /// Left operand.
        left: Expr,
        /// Right operand.
        right: Expr,
    },
    /// `left op {ANY | SOME | ALL} (SELECT ..)`
    Quantified {
        /// The operator.
        op: CompareOp,
        /// ALL; ANY or SOME otherwise.
        all: bool,
        /// Left operand.
        left: Expr,
        /// The rows compared with.
        query: Box<Query>,
    },
    /// `x IS [NOT] NULL`
    IsNull {
        /// The value.
        operand: Expr,
        /// IS NOT NULL.
        negated: bool,
    },
    /// `x [NOT] LIKE pattern [ESCAPE e]`
    Like {
        /// The value.
        operand: Expr,
        /// The pattern.
        pattern: Expr,
        /// The escape character.
        escape: Option<Expr>,
        /// NOT LIKE.
        negated: bool,
    },
    /// `x [NOT] BETWEEN low AND high`
    Between {
        /// The value.
        operand: Expr,
        /// Lower end, included.
        low: Expr,
        /// Upper end, included.
        high: Expr,
        /// NOT BETWEEN.
        negated: bool,
    },
    /// `x [NOT] IN (a, b, ..)`
    InList {
        /// The value.
        operand: Expr,
        /// The candidates; one or more.
        list: Vec<Expr>,
        /// NOT IN.
        negated: bool,
    },
    /// `x [NOT] IN (SELECT ..)`
    InQuery {
        /// The value.
        operand: Expr,
        /// The candidates.
        query: Box<Query>,
        /// NOT IN.
        negated: bool,
    },
    /// `EXISTS (SELECT ..)`
    Exists(Box<Query>),
    /// `UPDATE(column)`, in triggers only.
    ColumnUpdated(Ident),
}

/// A comparison operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CompareOp {
    /// `=`
    Equal,
    /// `<>`, `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`, `!>`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`, `!<`
    GreaterOrEqual,
}
