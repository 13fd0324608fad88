//! What is known of types without any value: names, precedence, facets, and the type two operands share.
//!
//! Must not convert or compute values.

use crate::value::{Length, SqlType, Value};

/// The type's name without facets, as errors and the catalog print it.
pub(crate) const fn type_name(ty: SqlType) -> &'static str {
    match ty {
        SqlType::Bit => "bit",
        SqlType::TinyInt => "tinyint",
        SqlType::SmallInt => "smallint",
        SqlType::Int => "int",
        SqlType::BigInt => "bigint",
        SqlType::Decimal { .. } => "decimal",
        SqlType::Money => "money",
        SqlType::SmallMoney => "smallmoney",
        SqlType::Real => "real",
        SqlType::Float => "float",
        SqlType::Char(_) => "char",
        SqlType::VarChar(_) => "varchar",
        SqlType::NChar(_) => "nchar",
        SqlType::NVarChar(_) => "nvarchar",
        SqlType::Text => "text",
        SqlType::NText => "ntext",
        SqlType::Binary(_) => "binary",
        SqlType::VarBinary(_) => "varbinary",
        SqlType::Image => "image",
        SqlType::UniqueIdentifier => "uniqueidentifier",
        SqlType::Date => "date",
        SqlType::Time(_) => "time",
        SqlType::DateTime => "datetime",
        SqlType::SmallDateTime => "smalldatetime",
        SqlType::DateTime2(_) => "datetime2",
        SqlType::DateTimeOffset(_) => "datetimeoffset",
        SqlType::Xml => "xml",
        SqlType::RowVersion => "timestamp",
        SqlType::SqlVariant => "sql_variant",
    }
}

/// The narrowest declared type that holds the value; `None` for NULL.
pub(crate) fn type_of(value: &Value) -> Option<SqlType> {
    Some(match value {
        Value::Null => return None,
        Value::Bit(_) => SqlType::Bit,
        Value::TinyInt(_) => SqlType::TinyInt,
        Value::SmallInt(_) => SqlType::SmallInt,
        Value::Int(_) => SqlType::Int,
        Value::BigInt(_) => SqlType::BigInt,
        Value::Decimal(decimal) => {
            let digits = digit_count(decimal.unscaled).max(decimal.scale).max(1);
            SqlType::Decimal { precision: digits.min(38), scale: decimal.scale }
        }
        Value::Money(_) => SqlType::Money,
        Value::Real(_) => SqlType::Real,
        Value::Float(_) => SqlType::Float,
        Value::Text(text) if text.is_unicode() => SqlType::NVarChar(length(text.units().len(), 4000)),
        Value::Text(text) => SqlType::VarChar(length(text.units().len(), 8000)),
        Value::Binary(bytes) => SqlType::VarBinary(length(bytes.len(), 8000)),
        Value::Uuid(_) => SqlType::UniqueIdentifier,
        Value::Date(_) => SqlType::Date,
        Value::Time(time) => SqlType::Time(time.scale),
        Value::DateTime(_) => SqlType::DateTime,
        Value::DateTime2(moment) => SqlType::DateTime2(moment.time.scale),
        Value::DateTimeOffset(moment) => SqlType::DateTimeOffset(moment.utc.time.scale),
        Value::Xml(_) => SqlType::Xml,
    })
}

/// A declared length, `(max)` beyond `most`; never zero, as no type has that length.
pub(crate) fn length(length: usize, most: u16) -> Length {
    match u16::try_from(length.max(1)) {
        Ok(length) if length <= most => Length::Limited(length),
        _ => Length::Max,
    }
}

/// Decimal digits of a number, 0 for 0.
pub(crate) fn digit_count(number: i128) -> u8 {
    number.unsigned_abs().checked_ilog10().map_or(0, |log| log as u8 + 1)
}

/// Data type precedence: the operand of the lower rank is converted to the type of the higher one.
pub(crate) const fn rank(ty: SqlType) -> u8 {
    match ty {
        SqlType::SqlVariant => 30,
        SqlType::Xml => 29,
        SqlType::DateTimeOffset(_) => 28,
        SqlType::DateTime2(_) => 27,
        SqlType::DateTime => 26,
        SqlType::SmallDateTime => 25,
        SqlType::Date => 24,
        SqlType::Time(_) => 23,
        SqlType::Float => 22,
        SqlType::Real => 21,
        SqlType::Decimal { .. } => 20,
        SqlType::Money => 19,
        SqlType::SmallMoney => 18,
        SqlType::BigInt => 17,
        SqlType::Int => 16,
        SqlType::SmallInt => 15,
        SqlType::TinyInt => 14,
        SqlType::Bit => 13,
        SqlType::NText => 12,
        SqlType::Text => 11,
        SqlType::Image => 10,
        SqlType::RowVersion => 9,
        SqlType::UniqueIdentifier => 8,
        SqlType::NVarChar(_) => 7,
        SqlType::NChar(_) => 6,
        SqlType::VarChar(_) => 5,
        SqlType::Char(_) => 4,
        SqlType::VarBinary(_) => 3,
        SqlType::Binary(_) => 2,
    }
}

/// Whether the type is one of the exact or approximate numbers, `bit` included.
pub(crate) const fn is_number(ty: SqlType) -> bool {
    matches!(rank(ty), 13..=22)
}

/// Whether the type is a whole number.
pub(crate) const fn is_integer(ty: SqlType) -> bool {
    matches!(rank(ty), 13..=17)
}

/// Whether the type holds a date, a time or both.
pub(crate) const fn is_date_or_time(ty: SqlType) -> bool {
    matches!(rank(ty), 23..=28)
}

/// Whether the type is Unicode text.
pub(crate) const fn is_unicode(ty: SqlType) -> bool {
    matches!(ty, SqlType::NChar(_) | SqlType::NVarChar(_) | SqlType::NText)
}

/// Precision and scale of an exact number seen as a `decimal`; `None` for other types.
pub(crate) const fn exact_facets(ty: SqlType) -> Option<(u8, u8)> {
    Some(match ty {
        SqlType::Decimal { precision, scale } => (precision, scale),
        SqlType::Bit => (1, 0),
        SqlType::TinyInt => (3, 0),
        SqlType::SmallInt => (5, 0),
        SqlType::Int => (10, 0),
        SqlType::BigInt => (19, 0),
        SqlType::Money => (19, 4),
        SqlType::SmallMoney => (10, 4),
        _ => return None,
    })
}

/// Declared length of a text or binary type.
pub(crate) const fn declared_length(ty: SqlType) -> Option<Length> {
    Some(match ty {
        SqlType::Char(n) | SqlType::NChar(n) | SqlType::Binary(n) => Length::Limited(n),
        SqlType::VarChar(length) | SqlType::NVarChar(length) | SqlType::VarBinary(length) => length,
        SqlType::Text | SqlType::NText | SqlType::Image => Length::Max,
        SqlType::RowVersion => Length::Limited(8),
        _ => return None,
    })
}

/// The length a value of the type has at most when it becomes text (bytes for binary types).
pub(crate) fn text_length(ty: SqlType) -> Length {
    let limited = match ty {
        SqlType::Bit => 1,
        SqlType::TinyInt => 3,
        SqlType::SmallInt => 6,
        SqlType::Int => 11,
        SqlType::BigInt => 20,
        SqlType::Decimal { .. } => 41,
        SqlType::Money | SqlType::SmallMoney => 30,
        SqlType::Real | SqlType::Float => 53,
        SqlType::UniqueIdentifier => 36,
        SqlType::Date => 10,
        SqlType::Time(_) => 16,
        SqlType::DateTime | SqlType::SmallDateTime => 23,
        SqlType::DateTime2(_) => 27,
        SqlType::DateTimeOffset(_) => 34,
        SqlType::Xml | SqlType::SqlVariant => return Length::Max,
        other => return declared_length(other).unwrap_or(Length::Max),
    };
    Length::Limited(limited)
}

/// The type that values of both types convert to without loss: the higher rank, with facets wide enough for both.
pub(crate) fn common_type(left: SqlType, right: SqlType) -> SqlType {
    let (high, low) = if rank(left) >= rank(right) { (left, right) } else { (right, left) };
    match high {
        SqlType::Decimal { .. } => common_decimal(high, low),
        SqlType::Time(scale) => SqlType::Time(scale.max(time_scale(low))),
        SqlType::DateTime2(scale) => SqlType::DateTime2(scale.max(time_scale(low))),
        SqlType::DateTimeOffset(scale) => SqlType::DateTimeOffset(scale.max(time_scale(low))),
        SqlType::Char(_) | SqlType::VarChar(_) | SqlType::NChar(_) | SqlType::NVarChar(_) => {
            with_length(high, longer(text_length(high), text_length(low)))
        }
        SqlType::Binary(_) | SqlType::VarBinary(_) => {
            with_length(high, longer(text_length(high), text_length(low)))
        }
        other => other,
    }
}

/// The type with another declared length, held within the type's limits; `(max)` turns fixed types into varying ones.
pub(crate) fn with_length(ty: SqlType, length: Length) -> SqlType {
    match (ty, length) {
        (SqlType::Char(_), Length::Limited(n)) => SqlType::Char(n),
        (SqlType::NChar(_), Length::Limited(n)) => SqlType::NChar(n.min(4000)),
        (SqlType::Binary(_), Length::Limited(n)) => SqlType::Binary(n),
        (SqlType::Char(_) | SqlType::VarChar(_), length) => SqlType::VarChar(length),
        (SqlType::NVarChar(_), Length::Limited(n)) => SqlType::nvarchar(n.min(4000)),
        (SqlType::NChar(_) | SqlType::NVarChar(_), Length::Max) => SqlType::NVarChar(Length::Max),
        (SqlType::Binary(_) | SqlType::VarBinary(_), length) => SqlType::VarBinary(length),
        (other, _) => other,
    }
}

/// The longer of two declared lengths.
pub(crate) fn longer(left: Length, right: Length) -> Length {
    match (left, right) {
        (Length::Limited(left), Length::Limited(right)) => Length::Limited(left.max(right)),
        _ => Length::Max,
    }
}

/// The varying-length text type of what operators and functions make of `ty`: Unicode stays Unicode.
pub(crate) fn varying_text(ty: SqlType, length: Length) -> SqlType {
    match (is_unicode(ty), length) {
        (true, Length::Limited(n)) => SqlType::nvarchar(n.clamp(1, 4000)),
        (true, Length::Max) => SqlType::NVarChar(Length::Max),
        (false, Length::Limited(n)) => SqlType::varchar(n.clamp(1, 8000)),
        (false, Length::Max) => SqlType::VarChar(Length::Max),
    }
}

fn common_decimal(high: SqlType, low: SqlType) -> SqlType {
    let (Some((p1, s1)), Some((p2, s2))) = (exact_facets(high), exact_facets(low)) else {
        return high;
    };
    let scale = s1.max(s2);
    let whole = (p1 - s1).max(p2 - s2);
    SqlType::Decimal { precision: (whole + scale).min(38), scale: scale.min(38 - whole.min(38)) }
}

fn time_scale(ty: SqlType) -> u8 {
    match ty {
        SqlType::Time(scale) | SqlType::DateTime2(scale) | SqlType::DateTimeOffset(scale) => scale,
        SqlType::DateTime => 3,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::{common_type, type_of, with_length};
    use crate::value::{Decimal, Length, SqlType, Value};

    fn decimal(precision: u8, scale: u8) -> SqlType {
        SqlType::Decimal { precision, scale }
    }

    #[test]
    fn the_higher_rank_wins_and_facets_widen() {
        let cases = [
            (SqlType::Int, SqlType::BigInt, SqlType::BigInt),
            (SqlType::Int, SqlType::varchar(5), SqlType::Int),
            (SqlType::varchar(5), SqlType::varchar(9), SqlType::varchar(9)),
            (SqlType::varchar(5000), SqlType::nvarchar(2), SqlType::nvarchar(4000)),
            (SqlType::Char(3), SqlType::VarChar(Length::Max), SqlType::VarChar(Length::Max)),
            (decimal(5, 2), decimal(6, 4), decimal(7, 4)),
            (decimal(5, 2), SqlType::Int, decimal(12, 2)),
            (SqlType::UniqueIdentifier, SqlType::nvarchar(50), SqlType::UniqueIdentifier),
            (SqlType::DateTime, SqlType::DateTime2(0), SqlType::DateTime2(3)),
        ];
        for (left, right, expected) in cases {
            assert_eq!(common_type(left, right), expected, "{left:?} {right:?}");
            assert_eq!(common_type(right, left), expected, "{right:?} {left:?}");
        }
    }

    #[test]
    fn max_turns_fixed_types_into_varying_ones() {
        assert_eq!(with_length(SqlType::NChar(3), Length::Max), SqlType::NVarChar(Length::Max));
    }

    #[test]
    fn a_values_type_is_the_narrowest() {
        let value = Value::Decimal(Decimal { unscaled: 5, scale: 3 });
        assert_eq!(type_of(&value), Some(decimal(3, 3)));
        assert_eq!(type_of(&Value::nvarchar("")), Some(SqlType::nvarchar(1)));
        assert_eq!(type_of(&Value::Null), None);
    }
}
