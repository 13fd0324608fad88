//! The parts of a date that DATEADD, DATEDIFF, DATEPART and DATENAME speak of.

/// A part of a date or time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum DatePart {
    /// `year`
    Year,
    /// `quarter`
    Quarter,
    /// `month`
    Month,
    /// `dayofyear`
    DayOfYear,
    /// `day`
    Day,
    /// `week`
    Week,
    /// `weekday`
    Weekday,
    /// `hour`
    Hour,
    /// `minute`
    Minute,
    /// `second`
    Second,
    /// `millisecond`
    Millisecond,
    /// `microsecond`
    Microsecond,
    /// `nanosecond`
    Nanosecond,
    /// `iso_week`
    IsoWeek,
    /// `tzoffset`
    Offset,
}

/// Full name first, then the abbreviations.
const NAMES: &[(DatePart, &[&str])] = &[
    (DatePart::Year, &["year", "yy", "yyyy"]),
    (DatePart::Quarter, &["quarter", "qq", "q"]),
    (DatePart::Month, &["month", "mm", "m"]),
    (DatePart::DayOfYear, &["dayofyear", "dy", "y"]),
    (DatePart::Day, &["day", "dd", "d"]),
    (DatePart::Week, &["week", "wk", "ww"]),
    (DatePart::Weekday, &["weekday", "dw", "w"]),
    (DatePart::Hour, &["hour", "hh"]),
    (DatePart::Minute, &["minute", "mi", "n"]),
    (DatePart::Second, &["second", "ss", "s"]),
    (DatePart::Millisecond, &["millisecond", "ms"]),
    (DatePart::Microsecond, &["microsecond", "mcs"]),
    (DatePart::Nanosecond, &["nanosecond", "ns"]),
    (DatePart::IsoWeek, &["iso_week", "isowk", "isoww"]),
    (DatePart::Offset, &["tzoffset", "tz"]),
];

impl DatePart {
    /// The part of that name or abbreviation.
    pub(crate) fn by_name(name: &str) -> Option<DatePart> {
        let known = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
        NAMES.iter().find(|(_, names)| known(names)).map(|(part, _)| *part)
    }

    /// The part of that number in the order above.
    pub(super) fn by_number(number: u8) -> DatePart {
        NAMES.get(usize::from(number)).map_or(DatePart::Day, |(part, _)| *part)
    }

    /// The full name.
    pub(super) fn name(self) -> &'static str {
        NAMES.iter().find(|(part, _)| *part == self).map_or("", |(_, names)| names[0])
    }

    /// 100 ns units of a part of fixed length; `None` for calendar parts.
    pub(super) fn ticks(self) -> Option<i128> {
        const SECOND: i128 = 10_000_000;
        Some(match self {
            DatePart::DayOfYear | DatePart::Day | DatePart::Weekday => 86_400 * SECOND,
            DatePart::Week | DatePart::IsoWeek => 7 * 86_400 * SECOND,
            DatePart::Hour => 3600 * SECOND,
            DatePart::Minute => 60 * SECOND,
            DatePart::Second => SECOND,
            DatePart::Millisecond => 10_000,
            DatePart::Microsecond => 10,
            _ => return None,
        })
    }
}
