//! Binding of conditions.
//!
//! Both sides of a comparison get one type and one collation here, so that evaluation only compares.

use crate::engine::Op;
use crate::error::SqlError;
use crate::relational::errors;
use crate::relational::expression::bind::{Binder, shared_type};
use crate::relational::expression::coerce::coerce;
use crate::relational::expression::{Bound, Collating, Node, Predicate};
use crate::relational::like::Pattern;
use crate::relational::query::{bind_exists, bind_subquery};
use crate::relational::types::{common_type, type_name};
use crate::tsql::ast::expr::CompareOp;
use crate::tsql::ast::{Condition, Expr, Query};
use crate::value::{Collation, Length, SqlType, Value};

impl Binder<'_, '_, '_> {
    /// Binds a condition.
    ///
    /// # Errors
    /// As for expressions; 402 for types that do not compare.
    pub(crate) fn condition(&mut self, condition: &Condition) -> Op<Predicate> {
        match condition {
            Condition::And(list) => Ok(Predicate::And(self.conditions(list)?)),
            Condition::Or(list) => Ok(Predicate::Or(self.conditions(list)?)),
            Condition::Not(inner) => Ok(Predicate::Not(Box::new(self.condition(inner)?))),
            Condition::Compare { op, left, right } => self.compare(*op, left, right),
            Condition::Quantified { op, all, left, query } => self.quantified(*op, *all, left, query),
            Condition::IsNull { operand, negated } => {
                let operand = self.expression(operand)?;
                Ok(negate_if(*negated, Predicate::IsNull(operand)))
            }
            Condition::Like { operand, pattern, escape, negated } => {
                Ok(negate_if(*negated, self.like(operand, pattern, escape.as_ref())?))
            }
            Condition::Between { operand, low, high, negated } => {
                let low = self.compare(CompareOp::GreaterOrEqual, operand, low)?;
                let high = self.compare(CompareOp::LessOrEqual, operand, high)?;
                Ok(negate_if(*negated, Predicate::And(vec![low, high])))
            }
            Condition::InList { operand, list, negated } => {
                Ok(negate_if(*negated, self.in_list(operand, list)?))
            }
            Condition::InQuery { operand, query, negated } => {
                Ok(negate_if(*negated, self.quantified(CompareOp::Equal, false, operand, query)?))
            }
            Condition::Exists(query) => {
                Ok(Predicate::Exists(Box::new(bind_exists(query, self.scope, self.ctes, self.ctx)?)))
            }
            Condition::ColumnUpdated(_) => {
                Err(SqlError::unsupported("UPDATE(column) outside of triggers").into())
            }
        }
    }

    /// `left = right` for the branches of a simple CASE and NULLIF.
    pub(super) fn equality(&mut self, left: &Expr, right: &Expr) -> Op<Predicate> {
        self.compare(CompareOp::Equal, left, right)
    }

    fn conditions(&mut self, list: &[Condition]) -> Op<Vec<Predicate>> {
        list.iter().map(|condition| self.condition(condition)).collect()
    }

    fn compare(&mut self, op: CompareOp, left: &Expr, right: &Expr) -> Op<Predicate> {
        let (left, right) = (self.expression(left)?, self.expression(right)?);
        Ok(comparison(op, left, right)?)
    }

    fn quantified(&mut self, op: CompareOp, all: bool, left: &Expr, query: &Query) -> Op<Predicate> {
        let left = self.expression(left)?;
        let query = bind_subquery(query, self.scope, self.ctes, self.ctx)?;
        let [column] = query.columns() else { return Err(errors::subquery_columns().into()) };
        let ty = comparable(op, left.ty, column.ty)?;
        let right = Bound::column(0, column);
        let collation = collation_of(ty, left.collating, right.collating)?;
        let left = coerce(left, ty)?;
        Ok(Predicate::Quantified { op, all, left, query: Box::new(query), ty, collation })
    }

    fn in_list(&mut self, operand: &Expr, list: &[Expr]) -> Op<Predicate> {
        let operand = self.expression(operand)?;
        let list = self.expressions(list)?;
        let all = std::iter::once(&operand).chain(&list);
        let (ty, collating) = shared_type(all)?.unwrap_or((SqlType::Int, Collating::COERCIBLE));
        comparable(CompareOp::Equal, operand.ty, ty)?;
        let operand = coerce(operand, ty)?;
        let list = list.into_iter().map(|item| coerce(item, ty)).collect::<Result<Vec<_>, SqlError>>()?;
        Ok(Predicate::InList { operand, list, collation: collating.collation })
    }

    fn like(&mut self, operand: &Expr, pattern: &Expr, escape: Option<&Expr>) -> Op<Predicate> {
        let operand = as_text(self.expression(operand)?)?;
        let pattern = as_text(self.expression(pattern)?)?;
        let escape = escape.map(|escape| self.expression(escape)).transpose()?.map(as_text).transpose()?;
        let collation = operand.collating.with(pattern.collating)?.collation;
        let ready = match (&pattern.node, &escape) {
            (Node::Constant(Value::Text(text)), None) => {
                Some(Pattern::parse(&text.to_string(), None, collation))
            }
            _ => None,
        };
        Ok(Predicate::Like { operand, pattern, escape, ready, collation })
    }
}

/// A comparison with both sides of one type.
///
/// # Errors
/// 206, 257, 402 and 468.
pub(super) fn comparison(op: CompareOp, left: Bound, right: Bound) -> Result<Predicate, SqlError> {
    let ty = match (left.is_null_constant(), right.is_null_constant()) {
        (true, _) => right.ty,
        (_, true) => left.ty,
        _ => comparable(op, left.ty, right.ty)?,
    };
    let collation = collation_of(ty, left.collating, right.collating)?;
    Ok(Predicate::Compare { op, left: coerce(left, ty)?, right: coerce(right, ty)?, collation })
}

/// The type in which two types are compared.
///
/// # Errors
/// 402 for types that cannot be compared at all: xml, text, ntext, image.
fn comparable(op: CompareOp, left: SqlType, right: SqlType) -> Result<SqlType, SqlError> {
    let never = |ty| matches!(ty, SqlType::Xml | SqlType::Text | SqlType::NText | SqlType::Image);
    if never(left) || never(right) {
        return Err(errors::incompatible_operands(type_name(left), type_name(right), operator(op)));
    }
    let common = common_type(left, right);
    // Lengths do not matter to a comparison, and a conversion that widens only would cost time.
    Ok(match common {
        SqlType::Char(_) | SqlType::VarChar(_) => SqlType::VarChar(Length::Max),
        SqlType::NChar(_) | SqlType::NVarChar(_) => SqlType::NVarChar(Length::Max),
        SqlType::Binary(_) | SqlType::VarBinary(_) => SqlType::VarBinary(Length::Max),
        other => other,
    })
}

fn collation_of(ty: SqlType, left: Collating, right: Collating) -> Result<Collation, SqlError> {
    if ty.is_text() { Ok(left.with(right)?.collation) } else { Ok(Collation::DEFAULT) }
}

fn as_text(bound: Bound) -> Result<Bound, SqlError> {
    match bound.ty {
        ty if ty.is_text() => Ok(bound),
        SqlType::Xml | SqlType::Image => Err(errors::invalid_argument_type(type_name(bound.ty), 1, "like")),
        _ => coerce(bound, SqlType::NVarChar(Length::Max)),
    }
}

fn negate_if(negated: bool, predicate: Predicate) -> Predicate {
    if negated { Predicate::Not(Box::new(predicate)) } else { predicate }
}

fn operator(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Equal => "equal to",
        CompareOp::NotEqual => "not equal to",
        CompareOp::Less => "less than",
        CompareOp::LessOrEqual => "less than or equal to",
        CompareOp::Greater => "greater than",
        CompareOp::GreaterOrEqual => "greater than or equal to",
    }
}
