//! Bound expressions: every name resolved, every operator with its types, ready to be evaluated over rows.
//!
//! `bind*` turn syntax into [`Bound`] and [`Predicate`]; `evaluate` runs them. A bound expression lives for one
//! execution of a statement. Must not know how rows are found.

mod bind;
mod call;
mod coerce;
mod columns;
mod condition;
mod evaluate;
mod literal;
mod special;
mod xml_method;

use std::sync::Arc;

use crate::error::SqlError;
use crate::relational::errors;
use crate::relational::functions::Function;
use crate::relational::like::Pattern;
use crate::relational::query::Subquery;
use crate::relational::xml::{Path, XmlMethod};
use crate::tsql::ast::expr::{BinaryOp, CompareOp};
use crate::value::{Collation, SqlType, Value};

pub(crate) use bind::{Binder, Grouping};
pub(crate) use call::has_aggregate;
pub(crate) use coerce::{coerce, coerce_for_assignment};
pub(crate) use columns::looks_only_at;
pub(crate) use evaluate::{holds, value, whole_number};
pub(crate) use xml_method::{constant as xml_constant, nodes_column};

/// A scalar expression with its static type.
#[derive(Debug, PartialEq)]
pub(crate) struct Bound {
    /// How its value is found.
    pub(crate) node: Node,
    /// Its type, known without any row.
    pub(crate) ty: SqlType,
    /// Its collation and how strongly it insists on it.
    pub(crate) collating: Collating,
    /// Whether it may be NULL.
    pub(crate) nullable: bool,
}

/// How a bound expression gets its value.
#[derive(Debug, PartialEq)]
pub(crate) enum Node {
    /// A value known beforehand. NULL here is the constant that takes any type.
    Constant(Value),
    /// A column of the row `level` frames up.
    Column {
        /// Frames to go up.
        level: usize,
        /// Place in the row.
        index: usize,
    },
    /// `@name`
    Variable(Arc<str>),
    /// `@@name`
    Global(Arc<str>),
    /// A conversion, written or implied.
    Convert(Box<Conversion>),
    /// An operator whose operands have its operand types.
    Binary {
        /// The operator.
        op: BinaryOp,
        /// Left operand.
        left: Box<Bound>,
        /// Right operand.
        right: Box<Bound>,
    },
    /// `-x`
    Negate(Box<Bound>),
    /// `~x`
    Complement(Box<Bound>),
    /// CASE in all its forms, IIF, NULLIF and CHOOSE.
    Case {
        /// Condition and result of each branch.
        branches: Vec<(Predicate, Bound)>,
        /// The ELSE.
        otherwise: Option<Box<Bound>>,
    },
    /// The first that is not NULL.
    Coalesce(Vec<Bound>),
    /// A built-in function.
    Call {
        /// Which.
        function: &'static Function,
        /// Arguments, converted to its parameters.
        arguments: Vec<Bound>,
    },
    /// A method of an xml value.
    Xml {
        /// The value.
        target: Box<Bound>,
        /// The method.
        method: XmlMethod,
        /// Its path.
        path: Path,
    },
    /// A subquery as a value.
    Subquery(Box<Subquery>),
}

/// A conversion inside an expression.
#[derive(Debug, PartialEq)]
pub(crate) struct Conversion {
    /// What is converted.
    pub(crate) operand: Bound,
    /// The style.
    pub(crate) style: Option<Bound>,
    /// CAST or CONVERT, as against a conversion nobody wrote.
    pub(crate) explicit: bool,
    /// NULL instead of an error.
    pub(crate) is_try: bool,
}

/// Something that is true, false or unknown.
#[derive(Debug, PartialEq)]
pub(crate) enum Predicate {
    /// All of them.
    And(Vec<Predicate>),
    /// Any of them.
    Or(Vec<Predicate>),
    /// The opposite; unknown stays unknown.
    Not(Box<Predicate>),
    /// Two values of one type.
    Compare {
        /// The operator.
        op: CompareOp,
        /// Left operand.
        left: Bound,
        /// Right operand.
        right: Bound,
        /// Collation of the comparison.
        collation: Collation,
    },
    /// IS NULL.
    IsNull(Bound),
    /// LIKE; the pattern is read beforehand when it is a constant.
    Like {
        /// The text.
        operand: Bound,
        /// The pattern.
        pattern: Bound,
        /// The escape character.
        escape: Option<Bound>,
        /// A constant pattern, ready; `None` inside when it can match nothing.
        ready: Option<Option<Pattern>>,
        /// Collation of the comparison.
        collation: Collation,
    },
    /// IN a list of values of one type.
    InList {
        /// The value.
        operand: Bound,
        /// The candidates.
        list: Vec<Bound>,
        /// Collation of the comparison.
        collation: Collation,
    },
    /// A comparison with the rows of a subquery: IN is `= ANY`.
    Quantified {
        /// The operator.
        op: CompareOp,
        /// ALL; ANY otherwise.
        all: bool,
        /// Left operand, of the common type.
        left: Bound,
        /// The rows.
        query: Box<Subquery>,
        /// What each row's value is converted to.
        ty: SqlType,
        /// Collation of the comparison.
        collation: Collation,
    },
    /// EXISTS.
    Exists(Box<Subquery>),
}

/// A collation and how strongly an expression insists on it ("collation precedence" in the language reference).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Collating {
    /// The collation.
    pub(crate) collation: Collation,
    /// Where it comes from.
    pub(crate) source: CollationSource,
}

/// Where a collation comes from, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CollationSource {
    /// A constant, a variable, a function.
    Coercible,
    /// A column.
    Implicit,
    /// COLLATE.
    Explicit,
}

impl Collating {
    /// The default collation, which yields to any other.
    pub(crate) const COERCIBLE: Collating =
        Collating { collation: Collation::DEFAULT, source: CollationSource::Coercible };

    /// The collation two operands share.
    ///
    /// # Errors
    /// 468 when two columns, or two COLLATE clauses, disagree.
    pub(crate) fn with(self, other: Collating) -> Result<Collating, SqlError> {
        if self.source != other.source {
            return Ok(if self.source > other.source { self } else { other });
        }
        if self.collation == other.collation || self.source == CollationSource::Coercible {
            return Ok(self);
        }
        Err(errors::collation_conflict(self.collation.name(), other.collation.name()))
    }
}

impl Bound {
    /// An expression of that type in the default collation.
    pub(crate) fn new(node: Node, ty: SqlType) -> Bound {
        Bound { node, ty, collating: Collating::COERCIBLE, nullable: true }
    }

    /// A constant.
    pub(crate) fn constant(value: Value, ty: SqlType) -> Bound {
        let nullable = value.is_null();
        Bound { nullable, ..Bound::new(Node::Constant(value), ty) }
    }

    /// A column of the row in hand.
    pub(crate) fn column(index: usize, column: &crate::value::Column) -> Bound {
        let collating = Collating { collation: column.collation, source: CollationSource::Implicit };
        Bound { node: Node::Column { level: 0, index }, ty: column.ty, collating, nullable: column.nullable }
    }

    /// Whether this is the constant NULL, which takes the type of whatever it meets.
    pub(crate) fn is_null_constant(&self) -> bool {
        matches!(self.node, Node::Constant(Value::Null))
    }
}
