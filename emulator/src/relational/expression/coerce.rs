//! Conversions nobody wrote: making a bound expression have the type its place wants.

use crate::error::SqlError;
use crate::relational::convert::check_allowed;
use crate::relational::expression::{Bound, Conversion, Node};
use crate::relational::types::{declared_length, is_unicode};
use crate::value::{Length, SqlType};

/// The expression as a value of type `to`.
///
/// # Errors
/// 206 and 257 for types that do not convert by themselves.
pub(crate) fn coerce(bound: Bound, to: SqlType) -> Result<Bound, SqlError> {
    if bound.ty == to || widens(bound.ty, to) || bound.is_null_constant() {
        return Ok(Bound { ty: to, ..bound });
    }
    check_allowed(bound.ty, to, false)?;
    let (collating, nullable) = (bound.collating, bound.nullable);
    let conversion = Conversion { operand: bound, style: None, explicit: false, is_try: false };
    Ok(Bound { node: Node::Convert(Box::new(conversion)), ty: to, collating, nullable })
}

/// Checks that the expression's value may be stored as `to` without converting it yet; storing converts.
///
/// # Errors
/// 206 and 257.
pub(crate) fn coerce_for_assignment(bound: Bound, to: SqlType) -> Result<Bound, SqlError> {
    if !bound.is_null_constant() && bound.ty != to {
        check_allowed(bound.ty, to, false)?;
    }
    Ok(bound)
}

/// Whether every value of `from` already is a value of `to`.
fn widens(from: SqlType, to: SqlType) -> bool {
    let varying = matches!(to, SqlType::VarChar(_) | SqlType::NVarChar(_) | SqlType::Text | SqlType::NText);
    let text = from.is_text() && varying && is_unicode(from) == is_unicode(to);
    let binary = from.is_binary() && matches!(to, SqlType::VarBinary(_) | SqlType::Image);
    let fits = match (declared_length(from), declared_length(to)) {
        (_, Some(Length::Max)) => true,
        (Some(Length::Limited(from)), Some(Length::Limited(to))) => from <= to,
        _ => false,
    };
    (text || binary) && fits
}
