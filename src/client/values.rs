//! The library's own value type for parameters and columns, and how it converts to and from Rust types.
//!
//! Nothing here knows how a value travels: the driver's types are translated in `session`, so that no driver type
//! appears in the public interface.

use std::borrow::Cow;
use std::fmt;
use std::time::{Duration, SystemTime};

use uuid::Uuid;

use super::error::{Error, Result};

/// One SQL value: a parameter on its way to the server, or a column on its way back.
///
/// Integers of all widths arrive as [`I32`](SqlValue::I32) or [`I64`](SqlValue::I64), `money` and both float types as
/// [`F64`](SqlValue::F64), `xml` as [`Text`](SqlValue::Text).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SqlValue {
    /// SQL NULL. As a parameter it is declared `nvarchar(4000)`: where the server refuses the implicit conversion,
    /// write `CAST(@P1 AS varbinary(max))` or whatever type is meant.
    Null,
    /// `bit`.
    Bool(bool),
    /// `tinyint`, `smallint` or `int`.
    I32(i32),
    /// `bigint`.
    I64(i64),
    /// `real`, `float`, `money` or `smallmoney`.
    F64(f64),
    /// `decimal` or `numeric`: `value` divided by ten to the power of `scale`.
    Decimal {
        /// All digits as one whole number.
        value: i128,
        /// How many of them stand behind the decimal point (0 to 37).
        scale: u8,
    },
    /// Character data of any type.
    Text(String),
    /// Binary data of any type.
    Bytes(Vec<u8>),
    /// `uniqueidentifier`.
    Uuid(Uuid),
    /// `datetime`, `datetime2`, `smalldatetime`, `datetimeoffset` or `date`.
    DateTime(SqlDateTime),
    /// `time`: the time since midnight.
    Time(Duration),
}

impl SqlValue {
    /// Whether this is SQL NULL.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The type a parameter with this value is declared with.
    ///
    /// Only a few distinct declarations exist, whatever the length of a value: the server keeps one plan for each text
    /// and declaration list, and a length in the type would multiply them.
    #[must_use]
    pub fn declaration(&self) -> Cow<'static, str> {
        let fixed = match self {
            Self::Null => "nvarchar(4000)",
            Self::Bool(_) => "bit",
            Self::I32(_) => "int",
            Self::I64(_) => "bigint",
            Self::F64(_) => "float(53)",
            Self::Decimal { scale, .. } => return Cow::Owned(format!("decimal(38,{scale})")),
            Self::Text(text) if text.len() <= 4000 => "nvarchar(4000)",
            Self::Text(_) => "nvarchar(max)",
            Self::Bytes(_) => "varbinary(max)",
            Self::Uuid(_) => "uniqueidentifier",
            Self::DateTime(moment) if moment.offset_minutes.is_some() => "datetimeoffset(7)",
            Self::DateTime(_) => "datetime2(7)",
            Self::Time(_) => "time(7)",
        };
        Cow::Borrowed(fixed)
    }

    fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "NULL",
            Self::Bool(_) => "a bit",
            Self::I32(_) => "an int",
            Self::I64(_) => "a bigint",
            Self::F64(_) => "a float",
            Self::Decimal { .. } => "a decimal",
            Self::Text(_) => "character data",
            Self::Bytes(_) => "binary data",
            Self::Uuid(_) => "a uniqueidentifier",
            Self::DateTime(_) => "a date",
            Self::Time(_) => "a time",
        }
    }
}

/// A moment as the server keeps it: a day count and the time of that day, without a time zone unless the column has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SqlDateTime {
    /// Days since 1 January of the year 1.
    pub days: i32,
    /// Nanoseconds since midnight.
    pub nanoseconds: u64,
    /// Minutes east of UTC for `datetimeoffset`, otherwise `None`. The day and time are then in UTC, and the offset
    /// only says which clock they were read from.
    pub offset_minutes: Option<i16>,
}

/// Days from 1 January of the year 1 to 1 January 1970.
const UNIX_EPOCH_DAY: i64 = 719_162;
const NANOSECONDS_PER_DAY: i128 = 86_400_000_000_000;

impl SqlDateTime {
    /// The same moment on the system clock, taking a value without an offset as UTC, as Service Broker's own columns are.
    /// `None` when the system clock cannot represent it.
    #[must_use]
    pub fn to_system_time(self) -> Option<SystemTime> {
        let since_epoch = i64::from(self.days) - UNIX_EPOCH_DAY;
        let days = Duration::from_secs(since_epoch.unsigned_abs().checked_mul(86_400)?);
        let midnight = if since_epoch < 0 {
            SystemTime::UNIX_EPOCH.checked_sub(days)
        } else {
            SystemTime::UNIX_EPOCH.checked_add(days)
        };
        midnight?.checked_add(Duration::from_nanos(self.nanoseconds))
    }

    /// Year, month (1 to 12) and day (1 to 31) in the Gregorian calendar.
    #[must_use]
    pub fn date(self) -> (i32, u32, u32) {
        civil_from_days(self.days)
    }
}

impl From<SystemTime> for SqlDateTime {
    /// The moment in UTC, without an offset.
    fn from(time: SystemTime) -> Self {
        let nanoseconds = match time.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(after) => after.as_nanos() as i128,
            Err(before) => -(before.duration().as_nanos() as i128),
        };
        let days = nanoseconds.div_euclid(NANOSECONDS_PER_DAY) as i64 + UNIX_EPOCH_DAY;
        Self {
            days: i32::try_from(days).unwrap_or(i32::MAX),
            nanoseconds: nanoseconds.rem_euclid(NANOSECONDS_PER_DAY) as u64,
            offset_minutes: None,
        }
    }
}

impl fmt::Display for SqlDateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.date();
        let (seconds, fraction) = (self.nanoseconds / 1_000_000_000, self.nanoseconds % 1_000_000_000);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:07}", fraction / 100)?;
        if self.offset_minutes.is_some() { f.write_str("Z") } else { Ok(()) }
    }
}

/// Converts a day count into a date, by counting in eras of 400 years that begin on 1 March.
fn civil_from_days(days: i32) -> (i32, u32, u32) {
    let shifted = i64::from(days) + 306;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * month_from_march + 2) / 5 + 1) as u32;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 } as u32;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year as i32, month, day)
}

macro_rules! into_sql_value {
    ($($source:ty => $variant:ident $(. $convert:ident)?;)*) => {$(
        impl From<$source> for SqlValue {
            fn from(value: $source) -> Self {
                Self::$variant(value$(.$convert())?)
            }
        }
    )*};
}

into_sql_value! {
    bool => Bool;
    u8 => I32.into;
    i16 => I32.into;
    i32 => I32;
    u32 => I64.into;
    i64 => I64;
    f32 => F64.into;
    f64 => F64;
    &str => Text.to_owned;
    String => Text;
    &[u8] => Bytes.to_vec;
    Vec<u8> => Bytes;
    Uuid => Uuid;
    SqlDateTime => DateTime;
    SystemTime => DateTime.into;
}

impl<T: Into<SqlValue>> From<Option<T>> for SqlValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A Rust type that a column can be read as.
pub trait FromSqlValue: Sized {
    /// Converts the value.
    ///
    /// # Errors
    /// [`ErrorKind::Value`](super::ErrorKind::Value) when the value has another type or does not fit. NULL is an error
    /// unless the target is an `Option`.
    fn from_sql_value(value: &SqlValue) -> Result<Self>;
}

fn mismatch(value: &SqlValue, wanted: &str) -> Error {
    Error::value(format!("the column holds {}, not {wanted}", value.type_name()))
}

macro_rules! from_sql_value {
    ($($target:ty, $wanted:literal, $($pattern:pat => $result:expr),+;)*) => {$(
        impl FromSqlValue for $target {
            fn from_sql_value(value: &SqlValue) -> Result<Self> {
                match value {
                    $($pattern => Ok($result),)+
                    other => Err(mismatch(other, $wanted)),
                }
            }
        }
    )*};
}

from_sql_value! {
    bool, "a bit", SqlValue::Bool(flag) => *flag;
    i64, "a whole number", SqlValue::I64(number) => *number, SqlValue::I32(number) => i64::from(*number),
        SqlValue::Bool(flag) => i64::from(*flag);
    f64, "a number", SqlValue::F64(number) => *number, SqlValue::I32(number) => f64::from(*number);
    String, "character data", SqlValue::Text(text) => text.clone();
    Vec<u8>, "binary data", SqlValue::Bytes(bytes) => bytes.clone();
    Uuid, "a uniqueidentifier", SqlValue::Uuid(id) => *id;
    SqlDateTime, "a date", SqlValue::DateTime(moment) => *moment;
}

impl FromSqlValue for i32 {
    fn from_sql_value(value: &SqlValue) -> Result<Self> {
        let wide = i64::from_sql_value(value)?;
        i32::try_from(wide)
            .map_err(|_| Error::value(format!("the column holds {wide}, which does not fit an i32")))
    }
}

impl<T: FromSqlValue> FromSqlValue for Option<T> {
    fn from_sql_value(value: &SqlValue) -> Result<Self> {
        if value.is_null() { Ok(None) } else { T::from_sql_value(value).map(Some) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_prints_as_a_date_and_converts_to_the_system_clock_and_back() {
        let table =
            [(0, "0001-01-01"), (719_162, "1970-01-01"), (730_178, "2000-02-29"), (3_652_058, "9999-12-31")];
        for (days, text) in table {
            let moment = SqlDateTime { days, nanoseconds: 3_723_000_000_100, offset_minutes: None };
            assert_eq!(moment.to_string(), format!("{text}T01:02:03.0000001"));
            assert_eq!(SqlDateTime::from(moment.to_system_time().unwrap()), moment);
        }
    }

    #[test]
    fn a_body_is_always_declared_with_the_same_type() {
        assert_eq!(SqlValue::from(vec![0u8; 3]).declaration(), "varbinary(max)");
        assert_eq!(SqlValue::from(vec![0u8; 30_000]).declaration(), "varbinary(max)");
    }

    #[test]
    fn reading_as_another_type_says_what_the_column_holds() {
        let error = i32::from_sql_value(&SqlValue::from("7")).unwrap_err();
        assert!(error.to_string().contains("character data"), "{error}");
        assert!(i32::from_sql_value(&SqlValue::I64(1 << 40)).is_err());
        assert_eq!(Option::<i32>::from_sql_value(&SqlValue::Null).unwrap(), None);
        assert!(i32::from_sql_value(&SqlValue::Null).is_err());
    }
}
