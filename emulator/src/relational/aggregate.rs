//! Aggregate functions: their types, and the running state of each over the rows of a group.
//!
//! NULL is skipped by all but COUNT(*). Must not know how groups are formed.

use std::cmp::Ordering;
use std::collections::HashSet;

use crate::engine::Op;
use crate::error::SqlError;
use crate::relational::arithmetic::compute;
use crate::relational::compare::{compare, write_key};
use crate::relational::convert::{convert, printed};
use crate::relational::environment::Context;
use crate::relational::errors;
use crate::relational::expression::{Binder, Bound, Collating, coerce, value};
use crate::relational::query::{SortKey, bind_sort_keys, order_of};
use crate::relational::scope::Frame;
use crate::relational::types::{declared_length, is_integer, is_number, type_name, varying_text};
use crate::tsql::ast::expr::{BinaryOp, FunctionArguments, FunctionCall};
use crate::value::{Length, SqlType, Text, Value};

/// Which aggregate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AggregateKind {
    /// `COUNT`
    Count,
    /// `COUNT_BIG`
    CountBig,
    /// `SUM`
    Sum,
    /// `AVG`
    Average,
    /// `MIN`
    Min,
    /// `MAX`
    Max,
    /// `STDEV`
    Deviation,
    /// `STDEVP`
    PopulationDeviation,
    /// `VAR`
    Variance,
    /// `VARP`
    PopulationVariance,
    /// `STRING_AGG`
    Join,
}

/// One aggregate of a query.
#[derive(Debug, PartialEq)]
pub(crate) struct Aggregate {
    kind: AggregateKind,
    /// What is aggregated; `None` for COUNT(*).
    argument: Option<Bound>,
    /// The separator of STRING_AGG.
    separator: Option<Bound>,
    /// WITHIN GROUP of STRING_AGG.
    order: Vec<SortKey>,
    distinct: bool,
    /// Type of the result.
    pub(crate) ty: SqlType,
    /// Collation of the result.
    pub(crate) collating: Collating,
}

impl AggregateKind {
    /// The aggregate of that name, compared without case.
    pub(crate) fn by_name(name: &str) -> Option<AggregateKind> {
        const NAMES: &[(&str, AggregateKind)] = &[
            ("COUNT", AggregateKind::Count),
            ("COUNT_BIG", AggregateKind::CountBig),
            ("SUM", AggregateKind::Sum),
            ("AVG", AggregateKind::Average),
            ("MIN", AggregateKind::Min),
            ("MAX", AggregateKind::Max),
            ("STDEV", AggregateKind::Deviation),
            ("STDEVP", AggregateKind::PopulationDeviation),
            ("VAR", AggregateKind::Variance),
            ("VARP", AggregateKind::PopulationVariance),
            ("STRING_AGG", AggregateKind::Join),
        ];
        NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, kind)| *kind)
    }
}

/// Binds a call of an aggregate over the rows before grouping.
///
/// # Errors
/// 174 for a wrong number of arguments, 8117 for a type the aggregate does not take, 147 for an aggregate inside.
pub(crate) fn bind_aggregate(
    kind: AggregateKind,
    call: &FunctionCall,
    binder: &mut Binder<'_, '_, '_>,
) -> Op<Aggregate> {
    let name = call.name.name().as_str();
    let arguments = match (&call.arguments, kind) {
        (FunctionArguments::Star, AggregateKind::Count | AggregateKind::CountBig) => &[][..],
        (FunctionArguments::Star, _) => return Err(errors::incorrect_syntax("*").into()),
        (FunctionArguments::List(list), _) => list,
    };
    let star = call.arguments == FunctionArguments::Star;
    let wanted = if kind == AggregateKind::Join { 2 } else { 1 };
    if !star && arguments.len() != wanted {
        return Err(errors::argument_count(name, wanted).into());
    }
    let mut bound = binder.expressions(arguments)?.into_iter();
    let (argument, separator) = (bound.next(), bound.next());
    let order = bind_sort_keys(&call.within_group, binder)?;
    let (argument, ty) = typed(kind, argument, name)?;
    let collating = argument.as_ref().map_or(Collating::COERCIBLE, |argument| argument.collating);
    Ok(Aggregate { kind, argument, separator, order, distinct: call.distinct, ty, collating })
}

/// The argument as it is computed with, and the type of the result.
fn typed(
    kind: AggregateKind,
    argument: Option<Bound>,
    name: &str,
) -> Result<(Option<Bound>, SqlType), SqlError> {
    let Some(argument) = argument else {
        return Ok((None, if kind == AggregateKind::CountBig { SqlType::BigInt } else { SqlType::Int }));
    };
    let from = argument.ty;
    let ty = match kind {
        AggregateKind::Count => return Ok((Some(argument), SqlType::Int)),
        AggregateKind::CountBig => return Ok((Some(argument), SqlType::BigInt)),
        AggregateKind::Min | AggregateKind::Max => match from {
            SqlType::Xml | SqlType::Text | SqlType::NText | SqlType::Image | SqlType::Bit => None,
            _ => return Ok((Some(argument), from)),
        },
        AggregateKind::Join => {
            let long = declared_length(from) == Some(Length::Max);
            let text = if from.is_text() { from } else { SqlType::nvarchar(1) };
            return Ok((
                Some(argument),
                varying_text(text, if long { Length::Max } else { Length::Limited(8000) }),
            ));
        }
        AggregateKind::Sum => sum_type(from),
        AggregateKind::Average => average_type(from),
        _ => is_number(from).then_some(SqlType::Float),
    };
    let ty = ty.ok_or_else(|| errors::invalid_operand(type_name(from), &name.to_lowercase()))?;
    Ok((Some(coerce(argument, computed_in(kind, ty))?), ty))
}

fn sum_type(from: SqlType) -> Option<SqlType> {
    match from {
        SqlType::Decimal { scale, .. } => Some(SqlType::Decimal { precision: 38, scale }),
        SqlType::BigInt => Some(SqlType::BigInt),
        SqlType::Money | SqlType::SmallMoney => Some(SqlType::Money),
        SqlType::Float | SqlType::Real => Some(SqlType::Float),
        SqlType::Bit => None,
        from => is_integer(from).then_some(SqlType::Int),
    }
}

fn average_type(from: SqlType) -> Option<SqlType> {
    match from {
        SqlType::Decimal { scale, .. } => Some(SqlType::Decimal { precision: 38, scale: scale.max(6) }),
        other => sum_type(other),
    }
}

/// The type in which the sum is kept.
fn computed_in(kind: AggregateKind, ty: SqlType) -> SqlType {
    match (kind, ty) {
        (AggregateKind::Average, SqlType::Int) => SqlType::BigInt,
        (_, ty) => ty,
    }
}

/// An aggregate over the rows seen so far.
pub(crate) struct Running<'a> {
    aggregate: &'a Aggregate,
    seen: HashSet<Vec<u8>>,
    count: i64,
    best: Value,
    sum: Value,
    floats: Floats,
    texts: Vec<(Vec<Value>, Text)>,
    separator: Option<Text>,
}

/// Welford's running mean and sum of squared distances.
#[derive(Default)]
struct Floats {
    mean: f64,
    squares: f64,
}

impl<'a> Running<'a> {
    /// No rows yet.
    pub(crate) fn new(aggregate: &'a Aggregate) -> Running<'a> {
        Running {
            aggregate,
            seen: HashSet::new(),
            count: 0,
            best: Value::Null,
            sum: Value::Null,
            floats: Floats::default(),
            texts: Vec::new(),
            separator: None,
        }
    }

    /// Takes one more row.
    ///
    /// # Errors
    /// Those of the argument; 8115 when the sum overflows.
    pub(crate) fn add(&mut self, frame: &Frame<'_>, ctx: &mut Context<'_, '_>) -> Op<()> {
        let Some(argument) = &self.aggregate.argument else {
            self.count += 1;
            return Ok(());
        };
        let value = value(argument, frame, ctx)?;
        if value.is_null() || !self.is_new(&value) {
            return Ok(());
        }
        self.count += 1;
        match self.aggregate.kind {
            AggregateKind::Count | AggregateKind::CountBig => {}
            AggregateKind::Min => self.keep(value, Ordering::Less),
            AggregateKind::Max => self.keep(value, Ordering::Greater),
            AggregateKind::Sum | AggregateKind::Average => self.sum = self.added(value)?,
            AggregateKind::Join => self.join(&value, frame, ctx)?,
            _ => self.measure(&value),
        }
        Ok(())
    }

    /// The result.
    ///
    /// # Errors
    /// 8115 for an average that does not fit.
    pub(crate) fn finish(mut self) -> Result<Value, SqlError> {
        let count = self.count;
        match self.aggregate.kind {
            AggregateKind::Count => i32::try_from(count).map(Value::Int).map_err(|_| errors::overflow("int")),
            AggregateKind::CountBig => Ok(Value::BigInt(count)),
            AggregateKind::Min | AggregateKind::Max => Ok(self.best),
            AggregateKind::Sum => Ok(self.sum),
            AggregateKind::Average => self.average(),
            AggregateKind::Join => Ok(self.joined()),
            AggregateKind::Variance => Ok(self.spread(count - 1, false)),
            AggregateKind::PopulationVariance => Ok(self.spread(count, false)),
            AggregateKind::Deviation => Ok(self.spread(count - 1, true)),
            AggregateKind::PopulationDeviation => Ok(self.spread(count, true)),
        }
    }

    fn is_new(&mut self, value: &Value) -> bool {
        if !self.aggregate.distinct {
            return true;
        }
        let mut key = Vec::new();
        write_key(value, self.aggregate.collating.collation, &mut key);
        self.seen.insert(key)
    }

    fn keep(&mut self, value: Value, better: Ordering) {
        let collation = self.aggregate.collating.collation;
        if self.best.is_null() || compare(&value, &self.best, collation) == better {
            self.best = value;
        }
    }

    fn added(&self, value: Value) -> Result<Value, SqlError> {
        if self.sum.is_null() {
            return Ok(value);
        }
        compute(BinaryOp::Add, &self.sum, &value, computed_in(self.aggregate.kind, self.aggregate.ty))
    }

    fn average(self) -> Result<Value, SqlError> {
        let ty = computed_in(self.aggregate.kind, self.aggregate.ty);
        if self.sum.is_null() {
            return Ok(Value::Null);
        }
        let count = match ty {
            SqlType::Decimal { .. } => Value::Decimal(crate::value::Decimal::whole(i128::from(self.count))),
            _ => convert(Value::BigInt(self.count), ty, None, true)?,
        };
        let average = compute(BinaryOp::Divide, &self.sum, &count, ty)?;
        convert(average, self.aggregate.ty, None, true)
    }

    fn measure(&mut self, value: &Value) {
        let Value::Float(number) = value else { return };
        let distance = number - self.floats.mean;
        self.floats.mean += distance / self.count as f64;
        self.floats.squares += distance * (number - self.floats.mean);
    }

    fn spread(&self, degrees: i64, root: bool) -> Value {
        if degrees <= 0 {
            return Value::Null;
        }
        let variance = self.floats.squares / degrees as f64;
        Value::Float(if root { variance.sqrt() } else { variance })
    }

    fn join(&mut self, new: &Value, frame: &Frame<'_>, ctx: &mut Context<'_, '_>) -> Op<()> {
        if self.separator.is_none()
            && let Some(separator) = &self.aggregate.separator
        {
            self.separator = printed(&value(separator, frame, ctx)?);
        }
        let mut keys = Vec::with_capacity(self.aggregate.order.len());
        for key in &self.aggregate.order {
            keys.push(value(&key.value, frame, ctx)?);
        }
        self.texts.extend(printed(new).map(|text| (keys, text)));
        Ok(())
    }

    fn joined(&mut self) -> Value {
        if self.texts.is_empty() {
            return Value::Null;
        }
        let order = &self.aggregate.order;
        self.texts.sort_by(|(left, _), (right, _)| order_of(order, left, right));
        let mut units = Vec::new();
        for (index, (_, text)) in self.texts.iter().enumerate() {
            if let (true, Some(separator)) = (index > 0, &self.separator) {
                units.extend_from_slice(separator.units());
            }
            units.extend_from_slice(text.units());
        }
        Value::Text(Text::from_units(units, crate::relational::types::is_unicode(self.aggregate.ty)))
    }
}
