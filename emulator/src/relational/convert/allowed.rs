//! Which pairs of types can be converted, and which only by CAST or CONVERT.
//!
//! The table of the language reference ("Data type conversion"), by families. Must not look at values.

use crate::error::SqlError;
use crate::relational::errors;
use crate::relational::types::{is_date_or_time, is_number, type_name};
use crate::value::SqlType;

/// Checks that `from` may become `to`. Errors: 206 and 257 for implicit conversions, 529 for explicit ones.
pub(crate) fn check_allowed(from: SqlType, to: SqlType, explicit: bool) -> Result<(), SqlError> {
    match (rule(from, to), explicit) {
        (Rule::Implicit, _) | (Rule::Explicit, true) => Ok(()),
        (Rule::Explicit, false) => Err(errors::implicit_not_allowed(type_name(from), type_name(to))),
        (Rule::Never, true) => Err(errors::explicit_not_allowed(type_name(from), type_name(to))),
        (Rule::Never, false) => Err(errors::type_clash(type_name(from), type_name(to))),
    }
}

enum Rule {
    Implicit,
    Explicit,
    Never,
}

#[derive(PartialEq, Eq, Clone, Copy)]
enum Family {
    Number,
    Text,
    LongText,
    Binary,
    Image,
    Uuid,
    LegacyDate,
    DateOrTime,
    Xml,
    Variant,
}

fn family(ty: SqlType) -> Family {
    match ty {
        SqlType::Text | SqlType::NText => Family::LongText,
        SqlType::Image => Family::Image,
        SqlType::UniqueIdentifier => Family::Uuid,
        SqlType::DateTime | SqlType::SmallDateTime => Family::LegacyDate,
        SqlType::Xml => Family::Xml,
        SqlType::SqlVariant => Family::Variant,
        ty if ty.is_text() => Family::Text,
        ty if ty.is_binary() => Family::Binary,
        ty if is_number(ty) => Family::Number,
        ty if is_date_or_time(ty) => Family::DateOrTime,
        _ => Family::Variant,
    }
}

fn rule(from: SqlType, to: SqlType) -> Rule {
    match (family(from), family(to)) {
        (left, right) if left == right => same_family(from, to),
        (Family::Variant, Family::LongText | Family::Image | Family::Xml) => Rule::Never,
        (Family::LongText | Family::Image | Family::Xml, Family::Variant) => Rule::Never,
        (_, Family::Variant) => Rule::Implicit,
        (Family::Variant, _) => Rule::Explicit,
        (Family::LongText, Family::Text | Family::Xml) | (Family::Text, _) => text_to(family(to)),
        (_, Family::Text) => to_text(family(from)),
        (Family::LongText, _) | (_, Family::LongText) => Rule::Never,
        (Family::Binary, Family::DateOrTime) | (Family::DateOrTime, Family::Binary) => Rule::Explicit,
        (Family::Binary, _) => Rule::Implicit,
        (Family::Number, Family::Binary) => number_to_binary(from),
        (Family::Uuid | Family::Image, Family::Binary) => Rule::Implicit,
        (Family::LegacyDate | Family::Xml, Family::Binary) => Rule::Explicit,
        (Family::Number, Family::LegacyDate) => Rule::Implicit,
        (Family::LegacyDate, Family::Number) => Rule::Explicit,
        (Family::LegacyDate, Family::DateOrTime) | (Family::DateOrTime, Family::LegacyDate) => Rule::Implicit,
        _ => Rule::Never,
    }
}

fn same_family(from: SqlType, to: SqlType) -> Rule {
    match (from, to) {
        (SqlType::Date, SqlType::Time(_)) | (SqlType::Time(_), SqlType::Date) => Rule::Never,
        _ => Rule::Implicit,
    }
}

fn text_to(to: Family) -> Rule {
    match to {
        Family::Binary | Family::Image => Rule::Explicit,
        _ => Rule::Implicit,
    }
}

fn to_text(from: Family) -> Rule {
    match from {
        Family::Xml => Rule::Explicit,
        Family::Image => Rule::Never,
        _ => Rule::Implicit,
    }
}

fn number_to_binary(from: SqlType) -> Rule {
    match from {
        SqlType::Real | SqlType::Float => Rule::Explicit,
        _ => Rule::Implicit,
    }
}
