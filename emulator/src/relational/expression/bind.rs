//! Binding of scalar expressions: names to columns and variables, operators to types.
//!
//! Conditions are bound in `condition`, calls in `call`. Must not evaluate anything but constants.

use std::sync::Arc;

use crate::engine::Op;
use crate::error::SqlError;
use crate::relational::aggregate::Aggregate;
use crate::relational::arithmetic::operation;
use crate::relational::environment::Context;
use crate::relational::errors;
use crate::relational::expression::coerce::coerce;
use crate::relational::expression::literal::{bind_literal, negated};
use crate::relational::expression::xml_method::is_nodes_column;
use crate::relational::expression::{Bound, Collating, CollationSource, Conversion, Node};
use crate::relational::query::{CommonTables, bind_scalar_subquery};
use crate::relational::resolve_type::resolve_cast_type;
use crate::relational::scope::Scope;
use crate::relational::types::{common_type, digit_count, is_integer, is_number, type_name};
use crate::tsql::ast::expr::{BinaryOp, UnaryOp};
use crate::tsql::ast::name::{DataTypeName, ObjectName};
use crate::tsql::ast::{Condition, Expr};
use crate::value::{Collation, SqlType, Value};

/// Binds expressions at one place of a statement.
pub(crate) struct Binder<'b, 'c, 't> {
    /// The columns in sight.
    pub(crate) scope: &'b Scope<'b>,
    /// Session and operation.
    pub(crate) ctx: &'b mut Context<'c, 't>,
    /// The common table expressions in sight.
    pub(crate) ctes: CommonTables<'b>,
    /// What is known of the grouping when this place comes after it.
    pub(crate) grouping: Option<Grouping<'b>>,
}

/// A grouped query while its select list, HAVING and ORDER BY are bound.
pub(crate) struct Grouping<'g> {
    /// The columns before grouping.
    pub(crate) source: &'g Scope<'g>,
    /// The grouping keys, bound over those columns; a grouped row begins with their values.
    pub(crate) keys: &'g [Bound],
    /// The aggregates found so far; their values follow the keys.
    pub(crate) aggregates: Vec<Aggregate>,
}

impl<'b, 'c, 't> Binder<'b, 'c, 't> {
    /// A binder for a place without grouping.
    pub(crate) fn new(
        scope: &'b Scope<'b>,
        ctes: CommonTables<'b>,
        ctx: &'b mut Context<'c, 't>,
    ) -> Binder<'b, 'c, 't> {
        Binder { scope, ctx, ctes, grouping: None }
    }

    /// Binds a scalar expression.
    ///
    /// # Errors
    /// Everything that is wrong with names and types; 40510 for what is not built.
    pub(crate) fn expression(&mut self, expr: &Expr) -> Op<Bound> {
        if let Some(key) = self.grouping_key(expr) {
            return Ok(key);
        }
        match expr {
            Expr::Literal(literal) => Ok(bind_literal(literal)?),
            Expr::Variable(name) => self.variable(name.as_str()),
            Expr::SystemVariable(name) => self.system_variable(name.as_str()),
            Expr::Column(name) => self.column(name),
            Expr::Unary { op, operand } => self.unary(*op, operand),
            Expr::Binary { op, left, right } => {
                let (left, right) = (self.expression(left)?, self.expression(right)?);
                Ok(binary(*op, left, right)?)
            }
            Expr::SimpleCase { operand, branches, otherwise } => {
                self.simple_case(operand, branches, otherwise.as_deref())
            }
            Expr::SearchedCase { branches, otherwise } => self.searched_case(branches, otherwise.as_deref()),
            Expr::Iif { condition, then, otherwise } => self.iif(condition, then, otherwise),
            Expr::Cast { operand, data_type, is_try } => self.conversion(operand, data_type, None, *is_try),
            Expr::Convert { data_type, operand, style, is_try } => {
                self.conversion(operand, data_type, style.as_deref(), *is_try)
            }
            Expr::Function(call) => self.call(call),
            Expr::Subquery(query) => bind_scalar_subquery(query, self.scope, self.ctes, self.ctx),
            Expr::Collate { operand, collation } => self.collate(operand, collation.as_str()),
            Expr::Method { target, method, arguments } => self.xml_method(target, method.as_str(), arguments),
            Expr::Parse { .. } => Err(SqlError::unsupported("PARSE and TRY_PARSE").into()),
            Expr::AtTimeZone { .. } => Err(SqlError::unsupported("AT TIME ZONE").into()),
            Expr::NextValueFor(_) => Err(SqlError::unsupported("NEXT VALUE FOR").into()),
        }
    }

    /// Binds a list of expressions.
    pub(crate) fn expressions<'e>(&mut self, list: impl IntoIterator<Item = &'e Expr>) -> Op<Vec<Bound>> {
        list.into_iter().map(|expr| self.expression(expr)).collect()
    }

    /// Inside a grouped query, an expression that is one of the grouping keys stands for the key's value.
    fn grouping_key(&mut self, expr: &Expr) -> Option<Bound> {
        let grouping = self.grouping.as_ref()?;
        let computed = !matches!(expr, Expr::Literal(_) | Expr::Variable(_) | Expr::SystemVariable(_));
        if grouping.keys.is_empty() || !computed {
            return None;
        }
        let (source, keys) = (grouping.source, grouping.keys);
        let bound = Binder::new(source, self.ctes, self.ctx).expression(expr).ok()?;
        let index = keys.iter().position(|key| *key == bound)?;
        Some(Bound { node: Node::Column { level: 0, index }, ..bound })
    }

    fn variable(&mut self, name: &str) -> Op<Bound> {
        let (ty, _) = self.ctx.env.variable(name).ok_or_else(|| errors::undeclared_variable(name))?;
        Ok(Bound::new(Node::Variable(name.into()), *ty))
    }

    fn system_variable(&mut self, name: &str) -> Op<Bound> {
        if let Some((ty, _)) = self.ctx.env.variable(name) {
            return Ok(Bound::new(Node::Variable(name.into()), *ty));
        }
        let (ty, _) = self.ctx.env.global(name).ok_or_else(|| errors::undeclared_variable(name))?;
        Ok(Bound::new(Node::Global(Arc::from(name)), ty))
    }

    fn column(&mut self, name: &ObjectName) -> Op<Bound> {
        let found = self.scope.find(name)?;
        if is_nodes_column(&found.column) {
            return Err(errors::nodes_column(&found.column.name).into());
        }
        let bound = Bound::column(found.index, &found.column);
        Ok(Bound { node: Node::Column { level: found.level, index: found.index }, ..bound })
    }

    fn unary(&mut self, op: UnaryOp, operand: &Expr) -> Op<Bound> {
        let bound = self.expression(operand)?;
        let invalid = |operator| Err(errors::invalid_operand(type_name(bound.ty), operator).into());
        match op {
            UnaryOp::Plus => Ok(bound),
            UnaryOp::Minus if bound.ty == SqlType::Bit || !is_number(bound.ty) => invalid("minus"),
            UnaryOp::Minus => Ok(match negated(&bound) {
                Some(constant) => constant,
                None => {
                    let ty = if bound.ty == SqlType::TinyInt { SqlType::SmallInt } else { bound.ty };
                    Bound::new(Node::Negate(Box::new(bound)), ty)
                }
            }),
            UnaryOp::BitNot if !is_integer(bound.ty) => invalid("'~'"),
            UnaryOp::BitNot => {
                let ty = bound.ty;
                Ok(Bound::new(Node::Complement(Box::new(bound)), ty))
            }
        }
    }

    fn simple_case(
        &mut self,
        operand: &Expr,
        branches: &[(Expr, Expr)],
        otherwise: Option<&Expr>,
    ) -> Op<Bound> {
        let mut bound = Vec::with_capacity(branches.len());
        for (value, result) in branches {
            let condition = self.equality(operand, value)?;
            bound.push((condition, self.expression(result)?));
        }
        let otherwise = otherwise.map(|otherwise| self.expression(otherwise)).transpose()?;
        Ok(case(bound, otherwise)?)
    }

    fn searched_case(&mut self, branches: &[(Condition, Expr)], otherwise: Option<&Expr>) -> Op<Bound> {
        let mut bound = Vec::with_capacity(branches.len());
        for (condition, result) in branches {
            let condition = self.condition(condition)?;
            bound.push((condition, self.expression(result)?));
        }
        let otherwise = otherwise.map(|otherwise| self.expression(otherwise)).transpose()?;
        Ok(case(bound, otherwise)?)
    }

    fn iif(&mut self, condition: &Condition, then: &Expr, otherwise: &Expr) -> Op<Bound> {
        let condition = self.condition(condition)?;
        let (then, otherwise) = (self.expression(then)?, self.expression(otherwise)?);
        Ok(case(vec![(condition, then)], Some(otherwise))?)
    }

    fn conversion(
        &mut self,
        operand: &Expr,
        data_type: &DataTypeName,
        style: Option<&Expr>,
        is_try: bool,
    ) -> Op<Bound> {
        let ty = resolve_cast_type(data_type)?;
        let operand = self.expression(operand)?;
        if !operand.is_null_constant() {
            crate::relational::convert::check_allowed(operand.ty, ty, true)?;
        }
        let style = style.map(|style| self.expression(style)).transpose()?;
        let style = style.map(|style| coerce(style, SqlType::Int)).transpose()?;
        let (collating, nullable) = (operand.collating, operand.nullable || is_try);
        let conversion = Conversion { operand, style, explicit: true, is_try };
        Ok(Bound { node: Node::Convert(Box::new(conversion)), ty, collating, nullable })
    }

    fn collate(&mut self, operand: &Expr, name: &str) -> Op<Bound> {
        let collation = match name {
            name if name.eq_ignore_ascii_case("database_default") => Some(Collation::DEFAULT),
            name => Collation::by_name(name),
        };
        let collation = collation.ok_or_else(|| errors::unknown_collation(name))?;
        let bound = self.expression(operand)?;
        let collating = Collating { collation, source: CollationSource::Explicit };
        Ok(Bound { collating, ..bound })
    }
}

/// `left op right` with both operands converted to the operator's types.
///
/// # Errors
/// 206, 402, 468 and 8117.
pub(super) fn binary(op: BinaryOp, left: Bound, right: Bound) -> Result<Bound, SqlError> {
    let (left_type, right_type) = operand_types(&left, &right);
    let types = operation(op, left_type, right_type)?;
    let collating = match types.result.is_text() {
        true => left.collating.with(right.collating)?,
        false => Collating::COERCIBLE,
    };
    let nullable = left.nullable || right.nullable;
    let left = Box::new(coerce(left, types.left)?);
    let right = Box::new(coerce(right, types.right)?);
    Ok(Bound { node: Node::Binary { op, left, right }, ty: types.result, collating, nullable })
}

/// CASE with the type all results share.
///
/// # Errors
/// 8133 when all results are the constant NULL, 206 when they do not go together.
pub(super) fn case(
    branches: Vec<(super::Predicate, Bound)>,
    otherwise: Option<Bound>,
) -> Result<Bound, SqlError> {
    let results = branches.iter().map(|(_, result)| result).chain(otherwise.as_ref());
    let (ty, collating) = shared_type(results)?.ok_or_else(errors::untyped_case)?;
    let branches = branches.into_iter().map(|(condition, result)| Ok((condition, coerce(result, ty)?)));
    let branches = branches.collect::<Result<Vec<_>, SqlError>>()?;
    let otherwise = otherwise.map(|otherwise| coerce(otherwise, ty)).transpose()?.map(Box::new);
    Ok(Bound { node: Node::Case { branches, otherwise }, ty, collating, nullable: true })
}

/// The type and collation of several expressions that end in one place; `None` when all are the constant NULL.
pub(super) fn shared_type<'e>(
    expressions: impl IntoIterator<Item = &'e Bound>,
) -> Result<Option<(SqlType, Collating)>, SqlError> {
    let mut shared: Option<(SqlType, Collating)> = None;
    for bound in expressions.into_iter().filter(|bound| !bound.is_null_constant()) {
        shared = Some(match shared {
            None => (bound.ty, bound.collating),
            Some((ty, collating)) => {
                let both_text = ty.is_text() && bound.ty.is_text();
                let collating = if both_text { collating.with(bound.collating)? } else { collating };
                (common_type(ty, bound.ty), collating)
            }
        });
    }
    Ok(shared)
}

/// The operand types an operator sees: a whole-number constant beside a decimal counts its own digits, the constant
/// NULL takes the other side's type.
fn operand_types(left: &Bound, right: &Bound) -> (SqlType, SqlType) {
    let seen = |bound: &Bound, other: &Bound| match (&bound.node, other.ty) {
        (Node::Constant(Value::Int(value)), SqlType::Decimal { .. }) => {
            SqlType::Decimal { precision: digit_count(i128::from(*value)).max(1), scale: 0 }
        }
        (Node::Constant(Value::Null), other) => other,
        _ => bound.ty,
    };
    (seen(left, right), seen(right, left))
}
