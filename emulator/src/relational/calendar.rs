//! The proleptic Gregorian calendar in days since 0001-01-01, and the clock of a day in 100 ns units.
//!
//! Pure arithmetic; must not know SQL types' ranges or texts.

/// Days from 0001-01-01 to 9999-12-31, the last day any SQL type can hold.
pub(crate) const LAST_DAY: i32 = 3_652_058;

/// A day as people write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Civil {
    /// 1 to 9999.
    pub(crate) year: i32,
    /// 1 to 12.
    pub(crate) month: i32,
    /// 1 to 31.
    pub(crate) day: i32,
}

impl Civil {
    /// The day with that number; 0 is 0001-01-01.
    pub(crate) fn from_days(days: i32) -> Civil {
        let days = days + 306;
        let era = days.div_euclid(146_097);
        let of_era = days.rem_euclid(146_097);
        let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
        let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
        Civil { year: year_of_era + era * 400 + i32::from(month <= 2), month, day }
    }

    /// The number of this day, if it exists and lies between the years 1 and 9999.
    pub(crate) fn days(self) -> Option<i32> {
        let exists = (1..=9999).contains(&self.year)
            && (1..=12).contains(&self.month)
            && (1..=days_in_month(self.year, self.month)).contains(&self.day);
        exists.then(|| self.count())
    }

    /// Moved by months; a day past the month's end becomes its last day.
    pub(crate) fn plus_months(self, months: i64) -> Option<Civil> {
        let total = i64::from(self.year) * 12 + i64::from(self.month) - 1 + months;
        let year = i32::try_from(total.div_euclid(12)).ok().filter(|year| (1..=9999).contains(year))?;
        let month = total.rem_euclid(12) as i32 + 1;
        Some(Civil { year, month, day: self.day.min(days_in_month(year, month)) })
    }

    /// 1 for the first of January.
    pub(crate) fn day_of_year(self) -> i32 {
        self.count() - Civil { month: 1, day: 1, ..self }.count() + 1
    }

    fn count(self) -> i32 {
        let year = if self.month <= 2 { self.year - 1 } else { self.year };
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let shifted_month = (self.month + 9) % 12;
        let day_of_year = (153 * shifted_month + 2) / 5 + self.day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        era * 146_097 + day_of_era - 306
    }
}

/// 28 to 31.
pub(crate) fn days_in_month(year: i32, month: i32) -> i32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap(year) => 29,
        2 => 28,
        _ => 31,
    }
}

/// 0 for Sunday to 6 for Saturday.
pub(crate) fn weekday(days: i32) -> i32 {
    (days + 1).rem_euclid(7)
}

/// The number of the ISO 8601 week.
pub(crate) fn iso_week(days: i32) -> i32 {
    let thursday = days - (weekday(days) + 6) % 7 + 3;
    (Civil::from_days(thursday).day_of_year() - 1) / 7 + 1
}

fn is_leap(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// A time of day as people write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Clock {
    /// 0 to 23.
    pub(crate) hour: u32,
    /// 0 to 59.
    pub(crate) minute: u32,
    /// 0 to 59.
    pub(crate) second: u32,
    /// 100 ns units within the second.
    pub(crate) fraction: u32,
}

impl Clock {
    /// The time that many 100 ns units after midnight.
    pub(crate) fn from_ticks(ticks: u64) -> Clock {
        let seconds = (ticks / 10_000_000) as u32;
        Clock {
            hour: seconds / 3600,
            minute: seconds / 60 % 60,
            second: seconds % 60,
            fraction: (ticks % 10_000_000) as u32,
        }
    }

    /// 100 ns units since midnight.
    pub(crate) fn ticks(self) -> u64 {
        u64::from(self.hour * 3600 + self.minute * 60 + self.second) * 10_000_000 + u64::from(self.fraction)
    }

    /// The hour on a twelve-hour clock and its half of the day.
    pub(crate) fn half_day(self) -> (u32, &'static str) {
        let hour = if self.hour.is_multiple_of(12) { 12 } else { self.hour % 12 };
        (hour, if self.hour < 12 { "AM" } else { "PM" })
    }
}

#[cfg(test)]
mod tests {
    use super::{Civil, Clock, LAST_DAY, iso_week, weekday};

    fn civil(year: i32, month: i32, day: i32) -> Civil {
        Civil { year, month, day }
    }

    #[test]
    fn every_day_number_returns_to_itself() {
        for days in (0..LAST_DAY).step_by(37).chain([0, LAST_DAY]) {
            assert_eq!(Civil::from_days(days).days(), Some(days));
        }
    }

    #[test]
    fn known_days_have_their_numbers() {
        assert_eq!(civil(1, 1, 1).days(), Some(0));
        assert_eq!(civil(1900, 1, 1).days(), Some(693_595));
        assert_eq!(civil(1970, 1, 1).days(), Some(719_162));
        assert_eq!(civil(9999, 12, 31).days(), Some(LAST_DAY));
        assert_eq!(civil(2019, 2, 29).days(), None);
    }

    #[test]
    fn months_end_at_their_last_day() {
        assert_eq!(civil(2020, 1, 31).plus_months(1), Some(civil(2020, 2, 29)));
        assert_eq!(civil(2020, 1, 31).plus_months(-2), Some(civil(2019, 11, 30)));
        assert_eq!(civil(9999, 12, 1).plus_months(1), None);
    }

    #[test]
    fn weeks_follow_the_iso_rule() {
        let day = |y, m, d| civil(y, m, d).days().unwrap();
        assert_eq!(weekday(day(2026, 11, 29)), 0);
        assert_eq!(iso_week(day(2021, 1, 3)), 53);
        assert_eq!(iso_week(day(2021, 1, 4)), 1);
    }

    #[test]
    fn a_time_of_day_returns_to_itself() {
        let clock = Clock { hour: 23, minute: 59, second: 58, fraction: 1_234_567 };
        assert_eq!(Clock::from_ticks(clock.ticks()), clock);
        assert_eq!(clock.half_day(), (11, "PM"));
    }
}
