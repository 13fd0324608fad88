//! Dates and times in the units SQL Server counts in, and the emulator's own point in time.

use std::time::Duration;

/// 100 ns units in one second.
pub(crate) const TICKS_PER_SECOND: i64 = 10_000_000;
/// 100 ns units in one day.
pub(crate) const TICKS_PER_DAY: i64 = 86_400 * TICKS_PER_SECOND;
/// Days from 0001-01-01 to 1900-01-01, the day `datetime` counts from.
pub(crate) const DAYS_TO_1900: i32 = 693_595;
/// Days from 0001-01-01 to 1970-01-01.
pub(crate) const DAYS_TO_1970: i32 = 719_162;

/// A point in time (UTC): 100 ns units since 0001-01-01. The engine gets its time in this form and never reads a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The point in time of that many 100 ns units since 1970-01-01.
    pub const fn from_unix_ticks(ticks: i64) -> Timestamp {
        Timestamp(DAYS_TO_1970 as i64 * TICKS_PER_DAY + ticks)
    }

    /// Later by `duration`; stays at the end of time instead of overflowing.
    pub fn plus(self, duration: Duration) -> Timestamp {
        let ticks = i64::try_from(duration.as_nanos() / 100).unwrap_or(i64::MAX);
        Timestamp(self.0.saturating_add(ticks))
    }

    /// Time from `earlier` to here, zero if `earlier` is later.
    pub fn since(self, earlier: Timestamp) -> Duration {
        let ticks = u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0);
        Duration::new(ticks / TICKS_PER_SECOND as u64, (ticks % TICKS_PER_SECOND as u64) as u32 * 100)
    }

    /// The `datetime` of this moment, rounded to 1/300 s as the server does.
    pub fn to_datetime(self) -> DateTime {
        let days = self.0.div_euclid(TICKS_PER_DAY);
        let ticks = self.0.rem_euclid(TICKS_PER_DAY);
        let thirds = (ticks * 300 + TICKS_PER_SECOND / 2) / TICKS_PER_SECOND;
        let (carry, thirds) = (thirds / (86_400 * 300), thirds % (86_400 * 300));
        DateTime { days: (days + carry) as i32 - DAYS_TO_1900, thirds: thirds as u32 }
    }

    /// The `datetime2(7)` of this moment.
    pub fn to_datetime2(self) -> DateTime2 {
        DateTime2 {
            date: Date(self.0.div_euclid(TICKS_PER_DAY) as i32),
            time: Time { ticks: self.0.rem_euclid(TICKS_PER_DAY) as u64, scale: 7 },
        }
    }
}

/// `date`: days since 0001-01-01.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Date(pub i32);

/// `time`: 100 ns units since midnight, with the declared scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Time {
    /// 100 ns units since midnight.
    pub ticks: u64,
    /// Declared fractional digits, 0 to 7.
    pub scale: u8,
}

/// `datetime` (and `smalldatetime`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DateTime {
    /// Days since 1900-01-01, negative before.
    pub days: i32,
    /// 1/300 s since midnight.
    pub thirds: u32,
}

/// `datetime2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DateTime2 {
    /// The day.
    pub date: Date,
    /// The time of day.
    pub time: Time,
}

/// `datetimeoffset`: the moment in UTC and the offset it was written with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DateTimeOffset {
    /// The moment in UTC.
    pub utc: DateTime2,
    /// Minutes east of UTC.
    pub offset_minutes: i16,
}
