//! The bytes of values of fixed size, checked against the declared type.

use super::info::decimal_len;
use super::read::{LAST_DAY, MAX_OFFSET, THIRDS_PER_DAY, THIRDS_PER_MINUTE, TICKS_PER_DAY, time_len};
use super::write::Misfit;
use crate::value::{Date, DateTime, DateTime2, Decimal, SqlType, Time, Value};

/// Up to 17 bytes, the longest being a decimal of 38 digits with its sign.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Scalar {
    bytes: [u8; 17],
    len: usize,
}

impl Scalar {
    fn of(bytes: &[u8]) -> Scalar {
        let mut scalar = Scalar::default();
        scalar.push(bytes);
        scalar
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }
}

impl AsRef<[u8]> for Scalar {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// The bytes of `value` as type `ty`, or why it does not fit.
pub(super) fn scalar(ty: SqlType, value: &Value) -> Result<Scalar, Misfit> {
    match (ty, value) {
        (SqlType::Bit, Value::Bit(bit)) => Ok(Scalar::of(&[u8::from(*bit)])),
        (SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt, value) => integer(ty, value),
        (SqlType::Decimal { precision, scale }, value) => decimal(precision, scale, value),
        (SqlType::Money | SqlType::SmallMoney, Value::Money(amount)) => money(ty, *amount, value),
        (SqlType::Real, Value::Real(number)) => Ok(Scalar::of(&number.to_le_bytes())),
        (SqlType::Float, Value::Float(number)) => Ok(Scalar::of(&number.to_le_bytes())),
        (SqlType::Float, Value::Real(number)) => Ok(Scalar::of(&f64::from(*number).to_le_bytes())),
        (SqlType::UniqueIdentifier, Value::Uuid(uuid)) => Ok(Scalar::of(&uuid.to_bytes_le())),
        _ => temporal(ty, value).unwrap_or_else(|| Err(Misfit::new(ty, value, "the types differ"))),
    }
}

fn integer(ty: SqlType, value: &Value) -> Result<Scalar, Misfit> {
    let number = whole_number(value).ok_or_else(|| Misfit::new(ty, value, "the types differ"))?;
    let bytes = match ty {
        SqlType::TinyInt => u8::try_from(number).map(|number| Scalar::of(&[number])),
        SqlType::SmallInt => i16::try_from(number).map(|number| Scalar::of(&number.to_le_bytes())),
        SqlType::Int => i32::try_from(number).map(|number| Scalar::of(&number.to_le_bytes())),
        _ => Ok(Scalar::of(&number.to_le_bytes())),
    };
    bytes.map_err(|_| Misfit::new(ty, value, "the number is too large"))
}

fn whole_number(value: &Value) -> Option<i64> {
    match value {
        Value::TinyInt(number) => Some(i64::from(*number)),
        Value::SmallInt(number) => Some(i64::from(*number)),
        Value::Int(number) => Some(i64::from(*number)),
        Value::BigInt(number) => Some(*number),
        _ => None,
    }
}

fn decimal(precision: u8, scale: u8, value: &Value) -> Result<Scalar, Misfit> {
    let ty = SqlType::Decimal { precision, scale };
    let number = match value {
        Value::Decimal(number) => *number,
        other => {
            let number = whole_number(other).ok_or_else(|| Misfit::new(ty, value, "the types differ"))?;
            Decimal::whole(i128::from(number))
        }
    };
    let unscaled =
        rescaled(number, scale).ok_or_else(|| Misfit::new(ty, value, "its digits do not fit the scale"))?;
    let magnitude = unscaled.unsigned_abs();
    if magnitude >= 10_u128.pow(u32::from(precision.min(38))) {
        return Err(Misfit::new(ty, value, "the number has too many digits"));
    }
    let mut bytes = Scalar::of(&[u8::from(unscaled >= 0)]);
    bytes.push(&magnitude.to_le_bytes()[..usize::from(decimal_len(precision)) - 1]);
    Ok(bytes)
}

/// The digits at another scale; `None` if that would lose some.
fn rescaled(number: Decimal, scale: u8) -> Option<i128> {
    if number.scale <= scale {
        return number.unscaled.checked_mul(10_i128.checked_pow(u32::from(scale - number.scale))?);
    }
    let divisor = 10_i128.checked_pow(u32::from(number.scale - scale))?;
    (number.unscaled % divisor == 0).then_some(number.unscaled / divisor)
}

fn money(ty: SqlType, amount: i64, value: &Value) -> Result<Scalar, Misfit> {
    if ty == SqlType::Money {
        let mut bytes = Scalar::of(&((amount >> 32) as i32).to_le_bytes());
        bytes.push(&(amount as u32).to_le_bytes());
        return Ok(bytes);
    }
    let amount = i32::try_from(amount).map_err(|_| Misfit::new(ty, value, "the amount is too large"))?;
    Ok(Scalar::of(&amount.to_le_bytes()))
}

/// Dates and times; `None` if `ty` and `value` are not such a pair.
fn temporal(ty: SqlType, value: &Value) -> Option<Result<Scalar, Misfit>> {
    let bytes = match (ty, value) {
        (SqlType::DateTime, Value::DateTime(moment)) => date_time(*moment),
        (SqlType::SmallDateTime, Value::DateTime(moment)) => small_date_time(*moment),
        (SqlType::Date, Value::Date(day)) => date(*day),
        (SqlType::Time(scale), Value::Time(moment)) => time(*moment, scale),
        (SqlType::DateTime2(scale), Value::DateTime2(moment)) => date_time2(*moment, scale),
        (SqlType::DateTimeOffset(scale), Value::DateTimeOffset(moment)) => {
            let offset = moment.offset_minutes;
            date_time2(moment.utc, scale).filter(|_| offset.abs() <= MAX_OFFSET).map(|mut bytes| {
                bytes.push(&offset.to_le_bytes());
                bytes
            })
        }
        _ => return None,
    };
    Some(bytes.ok_or_else(|| Misfit::new(ty, value, "it is out of range or finer than the scale")))
}

fn date_time(moment: DateTime) -> Option<Scalar> {
    let mut bytes = Scalar::of(&moment.days.to_le_bytes());
    bytes.push(&moment.thirds.to_le_bytes());
    (moment.thirds < THIRDS_PER_DAY).then_some(bytes)
}

fn small_date_time(moment: DateTime) -> Option<Scalar> {
    let days = u16::try_from(moment.days).ok()?;
    let whole = moment.thirds < THIRDS_PER_DAY && moment.thirds.is_multiple_of(THIRDS_PER_MINUTE);
    let minutes = u16::try_from(moment.thirds / THIRDS_PER_MINUTE).ok().filter(|_| whole)?;
    let mut bytes = Scalar::of(&days.to_le_bytes());
    bytes.push(&minutes.to_le_bytes());
    Some(bytes)
}

fn date(day: Date) -> Option<Scalar> {
    (0..=LAST_DAY).contains(&day.0).then(|| Scalar::of(&day.0.to_le_bytes()[..3]))
}

fn time(moment: Time, scale: u8) -> Option<Scalar> {
    let unit = 10_u64.pow(u32::from(7_u8.checked_sub(scale)?));
    let fits = moment.ticks < TICKS_PER_DAY && moment.ticks.is_multiple_of(unit);
    fits.then(|| Scalar::of(&(moment.ticks / unit).to_le_bytes()[..time_len(scale)]))
}

fn date_time2(moment: DateTime2, scale: u8) -> Option<Scalar> {
    let mut bytes = time(moment.time, scale)?;
    bytes.push(date(moment.date)?.as_ref());
    Some(bytes)
}
