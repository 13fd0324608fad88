//! Order and equality of values, and the bytes that stand for a value when rows are grouped.
//!
//! Both sides have been converted to one type before, except inside `sql_variant`. NULL is the caller's business in
//! conditions; in sorting and grouping it comes first and equals itself.

use std::cmp::Ordering;

use uuid::Uuid;

use crate::relational::convert::moment_of;
use crate::relational::types::{rank, type_of};
use crate::value::{Collation, Decimal, Text, Value};

/// The order of two values of one type; text compares in `collation`.
pub(crate) fn compare(left: &Value, right: &Value, collation: Collation) -> Ordering {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => left.cmp(right),
        (Value::BigInt(left), Value::BigInt(right)) => left.cmp(right),
        (Value::Money(left), Value::Money(right)) => left.cmp(right),
        (Value::Bit(left), Value::Bit(right)) => left.cmp(right),
        (Value::Text(left), Value::Text(right)) => compare_text(left, right, collation),
        (Value::Xml(left), Value::Xml(right)) => compare_text(left, right, Collation::Binary),
        (Value::Binary(left), Value::Binary(right)) => compare_bytes(left, right),
        (Value::Uuid(left), Value::Uuid(right)) => uuid_order(left).cmp(&uuid_order(right)),
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Less,
        (_, Value::Null) => Ordering::Greater,
        _ => compare_numbers_or_dates(left, right),
    }
}

/// Text order in a collation, trailing blanks ignored.
pub(crate) fn compare_text(left: &Text, right: &Text, collation: Collation) -> Ordering {
    if left.collation() == collation {
        return left.compare(right);
    }
    left.clone().with_collation(collation).compare(right)
}

/// The value with its text, if it is text, in a collation: what a column stores compares as the column does.
pub(crate) fn in_collation(value: Value, collation: Collation) -> Value {
    match value {
        Value::Text(text) if text.collation() != collation => Value::Text(text.with_collation(collation)),
        other => other,
    }
}

/// Appends bytes that are equal for two values exactly when the values are equal.
pub(crate) fn write_key(value: &Value, collation: Collation, key: &mut Vec<u8>) {
    let start = key.len();
    key.extend([0; 5]);
    let kind = write_content(value, collation, key);
    let length = (key.len() - start - 5) as u32;
    key[start] = kind;
    key[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
}

fn compare_numbers_or_dates(left: &Value, right: &Value) -> Ordering {
    if let (Some(left), Some(right)) = (exact(left), exact(right)) {
        return compare_decimals(left, right);
    }
    if let (Some(left), Some(right)) = (approximate(left), approximate(right)) {
        return left.total_cmp(&right);
    }
    if let (Some(left), Some(right)) = (utc_ticks(left), utc_ticks(right)) {
        return left.cmp(&right);
    }
    let family = |value: &Value| type_of(value).map_or(0, rank);
    family(left).cmp(&family(right))
}

/// Bytes compare with zeros added to the shorter side.
fn compare_bytes(left: &[u8], right: &[u8]) -> Ordering {
    let trimmed = |bytes: &[u8]| bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    left[..trimmed(left)].cmp(&right[..trimmed(right)])
}

/// The sixteen bytes in the order in which SQL Server compares them: the last six first, then the groups before them.
fn uuid_order(value: &Uuid) -> [u8; 16] {
    const ORDER: [usize; 16] = [10, 11, 12, 13, 14, 15, 8, 9, 6, 7, 4, 5, 0, 1, 2, 3];
    let stored = value.to_bytes_le();
    ORDER.map(|place| stored[place])
}

/// Exact numbers as decimals.
pub(crate) fn exact(value: &Value) -> Option<Decimal> {
    Some(match value {
        Value::Bit(value) => Decimal::whole(i128::from(*value)),
        Value::TinyInt(value) => Decimal::whole(i128::from(*value)),
        Value::SmallInt(value) => Decimal::whole(i128::from(*value)),
        Value::Int(value) => Decimal::whole(i128::from(*value)),
        Value::BigInt(value) => Decimal::whole(i128::from(*value)),
        Value::Decimal(value) => *value,
        Value::Money(value) => Decimal { unscaled: i128::from(*value), scale: 4 },
        _ => return None,
    })
}

/// Any number as a float; minus zero is zero.
fn approximate(value: &Value) -> Option<f64> {
    match value {
        Value::Real(value) => Some(f64::from(*value) + 0.0),
        Value::Float(value) => Some(value + 0.0),
        other => exact(other).map(|value| value.unscaled as f64 / 10_f64.powi(i32::from(value.scale))),
    }
}

fn compare_decimals(left: Decimal, right: Decimal) -> Ordering {
    let scale = left.scale.max(right.scale);
    let widen = |value: Decimal| value.unscaled.checked_mul(10_i128.pow(u32::from(scale - value.scale)));
    match (widen(left), widen(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        // The side that overflows is farther from zero than anything that does not.
        (None, None) => left.unscaled.signum().cmp(&right.unscaled.signum()),
        (None, Some(_)) => left.unscaled.cmp(&0),
        (Some(_), None) => 0.cmp(&right.unscaled),
    }
}

fn utc_ticks(value: &Value) -> Option<i128> {
    let moment = moment_of(value)?;
    Some(moment.total_ticks() - i128::from(moment.offset.unwrap_or(0)) * 600_000_000)
}

/// Writes the canonical bytes and answers the kind they belong to.
fn write_content(value: &Value, collation: Collation, key: &mut Vec<u8>) -> u8 {
    match value {
        Value::Null => 0,
        Value::Text(text) | Value::Xml(text) => {
            write_text(text, collation, key);
            1
        }
        Value::Binary(bytes) => {
            let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            key.extend_from_slice(&bytes[..end]);
            2
        }
        Value::Uuid(uuid) => {
            key.extend_from_slice(uuid.as_bytes());
            3
        }
        other => write_number_or_date(other, key),
    }
}

fn write_text(text: &Text, collation: Collation, key: &mut Vec<u8>) {
    let units = text.units();
    let end = units.iter().rposition(|unit| *unit != u16::from(b' ')).map_or(0, |last| last + 1);
    if collation == Collation::Binary {
        key.extend(units[..end].iter().flat_map(|unit| unit.to_be_bytes()));
        return;
    }
    let mut buffer = [0; 4];
    for c in char::decode_utf16(units[..end].iter().copied()) {
        for folded in c.unwrap_or(char::REPLACEMENT_CHARACTER).to_lowercase() {
            key.extend_from_slice(folded.encode_utf8(&mut buffer).as_bytes());
        }
    }
}

fn write_number_or_date(value: &Value, key: &mut Vec<u8>) -> u8 {
    if let Some(mut number) = exact(value) {
        while number.scale > 0 && number.unscaled % 10 == 0 {
            number = Decimal { unscaled: number.unscaled / 10, scale: number.scale - 1 };
        }
        key.push(number.scale);
        key.extend_from_slice(&number.unscaled.to_be_bytes());
        return 4;
    }
    if let Some(number) = approximate(value) {
        key.extend_from_slice(&number.to_be_bytes());
        return 5;
    }
    key.extend_from_slice(&utc_ticks(value).unwrap_or(0).to_be_bytes());
    6
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::{compare, write_key};
    use crate::value::{Collation, Decimal, Value};

    fn order(left: &Value, right: &Value) -> Ordering {
        compare(left, right, Collation::DEFAULT)
    }

    fn key(value: &Value) -> Vec<u8> {
        let mut key = Vec::new();
        write_key(value, Collation::DEFAULT, &mut key);
        key
    }

    fn uuid(text: &str) -> Value {
        Value::Uuid(text.parse().unwrap())
    }

    #[test]
    fn identifiers_compare_their_last_six_bytes_first() {
        let rising = [
            uuid("01000000-0000-0000-0000-000000000000"),
            uuid("00000000-0000-0000-0100-000000000000"),
            uuid("00000000-0000-0000-0000-000000000001"),
            uuid("00000000-0000-0000-0000-010000000000"),
        ];
        for pair in rising.windows(2) {
            assert_eq!(order(&pair[0], &pair[1]), Ordering::Less, "{pair:?}");
        }
    }

    #[test]
    fn text_ignores_case_and_trailing_blanks_unless_binary() {
        let (small, large) = (Value::varchar("a"), Value::nvarchar("A  "));
        assert_eq!(order(&small, &large), Ordering::Equal);
        assert_eq!(compare(&small, &large, Collation::Binary), Ordering::Greater);
        assert_eq!(key(&small), key(&large));
    }

    #[test]
    fn numbers_of_different_scale_compare_by_value() {
        let decimal = |unscaled, scale| Value::Decimal(Decimal { unscaled, scale });
        assert_eq!(order(&decimal(10, 1), &decimal(100, 2)), Ordering::Equal);
        assert_eq!(key(&decimal(10, 1)), key(&decimal(100, 2)));
        assert_eq!(
            order(&decimal(i128::from(i64::MAX) * 1_000_000_000, 0), &decimal(1, 38)),
            Ordering::Greater
        );
        assert_eq!(order(&Value::Float(-0.0), &Value::Float(0.0)), Ordering::Equal);
    }

    #[test]
    fn null_comes_first_and_equals_itself() {
        assert_eq!(order(&Value::Null, &Value::Int(i32::MIN)), Ordering::Less);
        assert_eq!(key(&Value::Null), key(&Value::Null));
        assert_ne!(key(&Value::Null), key(&Value::Int(0)));
    }
}
