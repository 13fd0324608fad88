//! Binding of function calls: aggregates, functions with rules of their own, and the table of built-in functions.

use crate::engine::Op;
use crate::error::SqlError;
use crate::relational::aggregate::{AggregateKind, bind_aggregate};
use crate::relational::errors;
use crate::relational::expression::bind::Binder;
use crate::relational::expression::coerce::coerce;
use crate::relational::expression::{Bound, Collating, Node, special};
use crate::relational::functions::{DatePart, Function, Parameter, find, is_unbuilt};
use crate::relational::types::{is_date_or_time, is_number, text_length, type_name};
use crate::tsql::ast::expr::{FunctionArguments, FunctionCall};
use crate::tsql::ast::{Condition, Expr, SelectItem};
use crate::value::{Length, SqlType, Value};

impl Binder<'_, '_, '_> {
    /// Binds a call.
    ///
    /// # Errors
    /// 195 for unknown functions, 174 and 189 for their number of arguments, 147 for misplaced aggregates, 4121 for
    /// functions with a schema; 40510 for windows and functions that are not built.
    pub(super) fn call(&mut self, call: &FunctionCall) -> Op<Bound> {
        let name = call.name.name().as_str();
        if call.name.schema().is_some_and(|schema| !schema.is("sys")) {
            return Err(errors::unknown_user_function(&call.name.to_string()).into());
        }
        if call.over.is_some() {
            return Err(SqlError::unsupported(format!("{name}() OVER")).into());
        }
        if let Some(kind) = AggregateKind::by_name(name) {
            return self.aggregate(kind, call);
        }
        let arguments = match &call.arguments {
            FunctionArguments::Star => return Err(SqlError::unsupported(format!("{name}(*)")).into()),
            FunctionArguments::List(arguments) => arguments,
        };
        if let Some(bound) = special::bind(self, name, arguments)? {
            return Ok(bound);
        }
        match find(name) {
            Some(function) => self.built_in(function, arguments),
            None if is_unbuilt(name) => Err(SqlError::unsupported(format!("function {name}")).into()),
            None => Err(errors::unknown_function(name).into()),
        }
    }

    fn aggregate(&mut self, kind: AggregateKind, call: &FunctionCall) -> Op<Bound> {
        let Some(grouping) = self.grouping.as_mut() else {
            return Err(errors::misplaced_aggregate("this place").into());
        };
        let mut binder = Binder::new(grouping.source, self.ctes, self.ctx);
        let aggregate = bind_aggregate(kind, call, &mut binder)?;
        let (ty, collating) = (aggregate.ty, aggregate.collating);
        let place = match grouping.aggregates.iter().position(|known| *known == aggregate) {
            Some(place) => place,
            None => {
                grouping.aggregates.push(aggregate);
                grouping.aggregates.len() - 1
            }
        };
        let index = grouping.keys.len() + place;
        Ok(Bound { node: Node::Column { level: 0, index }, ty, collating, nullable: true })
    }

    fn built_in(&mut self, function: &'static Function, arguments: &[Expr]) -> Op<Bound> {
        check_count(function, arguments.len())?;
        let mut bound = Vec::with_capacity(arguments.len());
        for (index, argument) in arguments.iter().enumerate() {
            let parameter = function.parameter(index);
            bound.push(match parameter {
                Parameter::DatePart => date_part(argument, function.name)?,
                _ => fit(self.expression(argument)?, parameter, index, function.name)?,
            });
        }
        let types: Vec<SqlType> = bound.iter().map(|argument| argument.ty).collect();
        let ty = (function.result)(&types);
        let collating =
            bound.iter().find(|argument| argument.ty.is_text()).map(|argument| argument.collating);
        let collating = collating.filter(|_| ty.is_text()).unwrap_or(Collating::COERCIBLE);
        Ok(Bound { node: Node::Call { function, arguments: bound }, ty, collating, nullable: true })
    }
}

/// Whether a select list or condition calls an aggregate of its own query.
pub(crate) fn has_aggregate(items: &[SelectItem], having: Option<&Condition>) -> bool {
    let item = |item: &SelectItem| match item {
        SelectItem::Wildcard { .. } => false,
        SelectItem::Value { value, .. } | SelectItem::Assign { value, .. } => aggregates(value),
    };
    items.iter().any(item) || having.is_some_and(aggregates_in)
}

fn aggregates(expr: &Expr) -> bool {
    let option = |expr: &Option<Box<Expr>>| expr.as_deref().is_some_and(aggregates);
    match expr {
        Expr::Function(call) => {
            let own = call.over.is_none() && AggregateKind::by_name(call.name.name().as_str()).is_some();
            own || call.arguments.as_slice().iter().any(aggregates)
        }
        Expr::Unary { operand, .. } | Expr::Collate { operand, .. } | Expr::Cast { operand, .. } => {
            aggregates(operand)
        }
        Expr::Binary { left, right, .. } => aggregates(left) || aggregates(right),
        Expr::Convert { operand, style, .. } => aggregates(operand) || option(style),
        Expr::SimpleCase { operand, branches, otherwise } => {
            let branch = |(value, result): &(Expr, Expr)| aggregates(value) || aggregates(result);
            aggregates(operand) || branches.iter().any(branch) || option(otherwise)
        }
        Expr::SearchedCase { branches, otherwise } => {
            let branch =
                |(condition, result): &(Condition, Expr)| aggregates_in(condition) || aggregates(result);
            branches.iter().any(branch) || option(otherwise)
        }
        Expr::Iif { condition, then, otherwise } => {
            aggregates_in(condition) || aggregates(then) || aggregates(otherwise)
        }
        Expr::Method { target, .. } => aggregates(target),
        _ => false,
    }
}

fn aggregates_in(condition: &Condition) -> bool {
    match condition {
        Condition::And(list) | Condition::Or(list) => list.iter().any(aggregates_in),
        Condition::Not(inner) => aggregates_in(inner),
        Condition::Compare { left, right, .. } => aggregates(left) || aggregates(right),
        Condition::Quantified { left, .. } => aggregates(left),
        Condition::IsNull { operand, .. } | Condition::InQuery { operand, .. } => aggregates(operand),
        Condition::Like { operand, pattern, .. } => aggregates(operand) || aggregates(pattern),
        Condition::Between { operand, low, high, .. } => {
            aggregates(operand) || aggregates(low) || aggregates(high)
        }
        Condition::InList { operand, list, .. } => aggregates(operand) || list.iter().any(aggregates),
        Condition::Exists(_) | Condition::ColumnUpdated(_) => false,
    }
}

fn check_count(function: &Function, given: usize) -> Result<(), SqlError> {
    let (least, most) = (function.required, if function.variadic { 254 } else { function.parameters.len() });
    match (least..=most).contains(&given) {
        true => Ok(()),
        false if least == most => Err(errors::argument_count(function.name, least)),
        false => Err(errors::argument_range(function.name, least, most)),
    }
}

/// The bare word that DATEADD and its relatives take first, as a constant number.
fn date_part(argument: &Expr, function: &str) -> Result<Bound, SqlError> {
    let word = match argument {
        Expr::Column(name) if name.parts.len() == 1 => name.name().as_str(),
        _ => return Err(errors::invalid_argument(1, &function.to_lowercase())),
    };
    let part =
        DatePart::by_name(word).ok_or_else(|| errors::unknown_date_part(word, &function.to_lowercase()))?;
    Ok(Bound::constant(Value::TinyInt(part as u8), SqlType::TinyInt))
}

/// An argument as the parameter wants it.
fn fit(bound: Bound, parameter: Parameter, index: usize, function: &str) -> Result<Bound, SqlError> {
    let ty = bound.ty;
    let wanted = match parameter {
        Parameter::Any | Parameter::DatePart => return Ok(bound),
        Parameter::Text if ty.is_text() => return Ok(bound),
        Parameter::TextOrBinary if ty.is_text() || ty.is_binary() => return Ok(bound),
        Parameter::Text | Parameter::TextOrBinary => match text_length(ty) {
            Length::Limited(length) => SqlType::varchar(length),
            Length::Max => SqlType::NVarChar(Length::Max),
        },
        Parameter::Unicode => SqlType::NVarChar(Length::Max),
        Parameter::Int => SqlType::Int,
        Parameter::BigInt => SqlType::BigInt,
        Parameter::Float => SqlType::Float,
        Parameter::Number if is_number(ty) => return Ok(bound),
        Parameter::Number => SqlType::Float,
        Parameter::Moment if is_date_or_time(ty) => return Ok(bound),
        Parameter::Moment => SqlType::DateTime,
        Parameter::Binary => SqlType::VarBinary(Length::Max),
        Parameter::Uuid => SqlType::UniqueIdentifier,
    };
    let refused = |_| errors::invalid_argument_type(type_name(ty), index + 1, function);
    coerce(bound, wanted).map_err(refused)
}
