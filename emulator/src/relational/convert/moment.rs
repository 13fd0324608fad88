//! Conversions to the date and time types, over one common form: a day and a time of that day.
//!
//! Must not know texts; reading and writing them is `date_text`'s.

use crate::error::SqlError;
use crate::relational::calendar::LAST_DAY;
use crate::relational::convert::{Target, date_text};
use crate::relational::errors;
use crate::relational::types::{type_name, type_of};
use crate::value::{Date, DateTime, DateTime2, DateTimeOffset, SqlType, Time, Value};

/// Days from 0001-01-01 to 1900-01-01.
const BASE_DAY: i32 = 693_595;
/// Days from 0001-01-01 to 1753-01-01, the first of `datetime`.
const FIRST_DATETIME_DAY: i32 = 639_905;
/// Days from 0001-01-01 to 2079-06-06, the last of `smalldatetime`.
const LAST_SMALL_DAY: i32 = 759_130;
const THIRDS_PER_DAY: u64 = 86_400 * 300;

/// A day, a time of day and, for `datetimeoffset`, the distance of both from UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Days since 0001-01-01.
    pub(crate) days: i32,
    /// 100 ns units since midnight.
    pub(crate) ticks: u64,
    /// Minutes east of UTC; the day and time above are local then.
    pub(crate) offset: Option<i16>,
}

impl Moment {
    /// 100 ns units in a day.
    pub(crate) const TICKS_PER_DAY: u64 = 864_000_000_000;
    /// Midnight of 1900-01-01, which stands in where a value has no date.
    pub(crate) const BASE: Moment = Moment { days: BASE_DAY, ticks: 0, offset: None };

    /// The moment that many 100 ns units after this one, if it lies in the calendar.
    pub(crate) fn plus_ticks(self, ticks: i128) -> Option<Moment> {
        let total =
            i128::from(self.days) * i128::from(Moment::TICKS_PER_DAY) + i128::from(self.ticks) + ticks;
        let days = total.div_euclid(i128::from(Moment::TICKS_PER_DAY));
        let days = i32::try_from(days).ok().filter(|days| (0..=LAST_DAY).contains(days))?;
        let ticks = total.rem_euclid(i128::from(Moment::TICKS_PER_DAY)) as u64;
        Some(Moment { days, ticks, ..self })
    }

    /// 100 ns units since 0001-01-01.
    pub(crate) fn total_ticks(self) -> i128 {
        i128::from(self.days) * i128::from(Moment::TICKS_PER_DAY) + i128::from(self.ticks)
    }

    /// The value of a date or time type at this moment; `None` when the type cannot hold it.
    pub(crate) fn to_value(self, ty: SqlType) -> Option<Value> {
        match ty {
            SqlType::Date => Some(Value::Date(Date(self.days))),
            SqlType::Time(scale) => {
                let ticks = round(self.ticks, scale) % Moment::TICKS_PER_DAY;
                Some(Value::Time(Time { ticks, scale }))
            }
            SqlType::DateTime => self.to_datetime(),
            SqlType::SmallDateTime => self.to_small_datetime(),
            SqlType::DateTime2(scale) => self.to_datetime2(scale).map(Value::DateTime2),
            SqlType::DateTimeOffset(scale) => self.to_datetimeoffset(scale),
            _ => None,
        }
    }

    fn to_datetime(self) -> Option<Value> {
        let thirds = (self.ticks * 3 + 50_000) / 100_000;
        let days = self.days + i32::from(thirds >= THIRDS_PER_DAY);
        let fits = (FIRST_DATETIME_DAY..=LAST_DAY).contains(&days);
        let value = DateTime { days: days - BASE_DAY, thirds: (thirds % THIRDS_PER_DAY) as u32 };
        fits.then_some(Value::DateTime(value))
    }

    fn to_small_datetime(self) -> Option<Value> {
        let minutes = (self.ticks / 10_000 + 30_001) / 60_000;
        let days = self.days + i32::from(minutes >= 1440);
        let fits = (BASE_DAY..=LAST_SMALL_DAY).contains(&days);
        let value = DateTime { days: days - BASE_DAY, thirds: (minutes % 1440) as u32 * 18_000 };
        fits.then_some(Value::DateTime(value))
    }

    fn to_datetime2(self, scale: u8) -> Option<DateTime2> {
        let ticks = round(self.ticks, scale);
        let days = self.days + i32::from(ticks >= Moment::TICKS_PER_DAY);
        let time = Time { ticks: ticks % Moment::TICKS_PER_DAY, scale };
        (days <= LAST_DAY).then_some(DateTime2 { date: Date(days), time })
    }

    fn to_datetimeoffset(self, scale: u8) -> Option<Value> {
        let offset_minutes = self.offset.unwrap_or(0);
        let utc = self.plus_ticks(-i128::from(offset_minutes) * 600_000_000)?.to_datetime2(scale)?;
        Some(Value::DateTimeOffset(DateTimeOffset { utc, offset_minutes }))
    }
}

/// The moment behind a date or time value; `None` for values of other types.
pub(crate) fn moment_of(value: &Value) -> Option<Moment> {
    let moment = |days, ticks| Moment { days, ticks, offset: None };
    Some(match value {
        Value::Date(date) => moment(date.0, 0),
        Value::Time(time) => moment(BASE_DAY, time.ticks),
        Value::DateTime(value) => moment(value.days + BASE_DAY, (u64::from(value.thirds) * 100_000 + 1) / 3),
        Value::DateTime2(value) => moment(value.date.0, value.time.ticks),
        Value::DateTimeOffset(value) => {
            let utc = moment(value.utc.date.0, value.utc.time.ticks);
            let local = utc.plus_ticks(i128::from(value.offset_minutes) * 600_000_000).unwrap_or(utc);
            Moment { offset: Some(value.offset_minutes), ..local }
        }
        _ => return None,
    })
}

/// The value as a date or time type. Errors: 241 for bad text, 242 out of range.
pub(super) fn to_moment(value: &Value, target: &Target) -> Result<Value, SqlError> {
    let moment = match value {
        Value::Text(text) => {
            date_text::parse(&text.to_string(), target.style).ok_or_else(errors::bad_date_text)?
        }
        Value::Binary(bytes) => of_bytes(bytes, target)?,
        other => match moment_of(other) {
            Some(moment) => moment,
            None => of_number(other, target)?,
        },
    };
    let from = type_of(value).map_or("NULL", type_name);
    moment.to_value(target.ty).ok_or_else(|| errors::date_out_of_range(from, target.name()))
}

/// Numbers count days since 1900-01-01.
fn of_number(value: &Value, target: &Target) -> Result<Moment, SqlError> {
    let days = match value {
        Value::Bit(value) => f64::from(u8::from(*value)),
        Value::TinyInt(value) => f64::from(*value),
        Value::SmallInt(value) => f64::from(*value),
        Value::Int(value) => f64::from(*value),
        Value::BigInt(value) => *value as f64,
        Value::Decimal(value) => value.to_string().parse().unwrap_or(f64::NAN),
        Value::Money(value) => *value as f64 / 10_000.0,
        Value::Real(value) => f64::from(*value),
        Value::Float(value) => *value,
        other => {
            return Err(errors::explicit_not_allowed(
                type_of(other).map_or("NULL", type_name),
                target.name(),
            ));
        }
    };
    let whole = days.floor();
    let ticks = ((days - whole) * Moment::TICKS_PER_DAY as f64).round() as i128;
    let in_range = whole.abs() < 4e6;
    let from_midnight = whole as i128 * i128::from(Moment::TICKS_PER_DAY) + ticks;
    let moment = if in_range { Moment::BASE.plus_ticks(from_midnight) } else { None };
    moment.ok_or_else(|| errors::overflow(target.name()))
}

/// The storage format of `datetime`: four bytes of days, four of 1/300 s.
fn of_bytes(bytes: &[u8], target: &Target) -> Result<Moment, SqlError> {
    if !matches!(target.ty, SqlType::DateTime | SqlType::SmallDateTime) {
        return Err(SqlError::unsupported(format!("conversion of varbinary to {}", target.name())));
    }
    let bits = bytes[bytes.len().saturating_sub(8)..]
        .iter()
        .fold(0_u64, |bits, byte| (bits << 8) | u64::from(*byte));
    let value = DateTime { days: (bits >> 32) as i32, thirds: bits as u32 };
    let fits = (FIRST_DATETIME_DAY - BASE_DAY..=LAST_DAY - BASE_DAY).contains(&value.days)
        && u64::from(value.thirds) < THIRDS_PER_DAY;
    let moment = if fits { moment_of(&Value::DateTime(value)) } else { None };
    moment.ok_or_else(|| errors::overflow(target.name()))
}

fn round(ticks: u64, scale: u8) -> u64 {
    let unit = 10_u64.pow(7 - u32::from(scale.min(7)));
    (ticks + unit / 2) / unit * unit
}
