//! Dates and times as text: reading every usual notation, writing CONVERT's styles.
//!
//! The language is us_english: English month names, month before day unless the style says otherwise, two-digit
//! years up to 49 belong to this century. Must not know ranges of types.

use crate::relational::calendar::{Civil, Clock};
use crate::relational::convert::moment::Moment;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// The English name of a month, 1 to 12.
pub(crate) fn month_name(month: i32) -> &'static str {
    MONTHS[(month - 1).clamp(0, 11) as usize]
}

/// Reads a date, a time or both; the style decides the order of day, month and year.
pub(crate) fn parse(text: &str, style: i32) -> Option<Moment> {
    let text = text.trim_matches([' ', '\t', '\r', '\n']);
    let (date, time) = split(text);
    let days = if date.is_empty() { Moment::BASE.days } else { parse_date(date, style)?.days()? };
    let (ticks, offset) = if time.is_empty() { (0, None) } else { parse_time(time)? };
    Some(Moment { days, ticks, offset })
}

/// What a style shows of a moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown {
    /// The value has a date.
    pub(crate) date: bool,
    /// The value has a time.
    pub(crate) time: bool,
    /// Digits of its fraction of a second.
    pub(crate) digits: u8,
    /// Whether it is a `datetime`, whose styles 9, 13 and 14 put a colon before the fraction.
    pub(crate) legacy: bool,
}

/// Writes a moment in a style of CONVERT; `None` for a style that does not exist.
pub(crate) fn format(moment: &Moment, style: i32, shown: Shown) -> Option<String> {
    let (date, joint, time) = layout(style)?;
    let mut moment = *moment;
    let zulu = style == 127 && moment.offset.is_some();
    if let (true, Some(offset)) = (zulu, moment.offset) {
        moment = moment.plus_ticks(-i128::from(offset) * 600_000_000)?;
    }
    let mut out = String::new();
    if shown.date {
        write_pattern(&mut out, date, &moment, shown);
    }
    if shown.time && !time.is_empty() {
        out.push_str(if out.is_empty() { "" } else { joint });
        write_pattern(&mut out, time, &moment, shown);
        write_offset(&mut out, moment.offset, style);
    }
    Some(if shown.date { out } else { out.trim_start().to_owned() })
}

/// Cuts a text before its time: the digits before the first colon, or before a trailing AM or PM.
fn split(text: &str) -> (&str, &str) {
    let upper_end = text.get(text.len().saturating_sub(2)..).unwrap_or("");
    let half_day = upper_end.eq_ignore_ascii_case("am") || upper_end.eq_ignore_ascii_case("pm");
    let before = match text.find(':') {
        Some(colon) => text[..colon].trim_end(),
        None if half_day => text[..text.len() - 2].trim_end(),
        None => return (text, ""),
    };
    let start = before.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let date = text[..start].trim_end();
    let iso = date.strip_suffix(['T', 't']).filter(|rest| rest.ends_with(|c: char| c.is_ascii_digit()));
    (iso.unwrap_or(date), &text[start..])
}

fn parse_date(text: &str, style: i32) -> Option<Civil> {
    let parts: Vec<&str> = text.split([' ', '-', '/', '.', ',']).filter(|part| !part.is_empty()).collect();
    match parts.as_slice() {
        [digits] if digits.len() == 8 => civil(&digits[..4], &digits[4..6], &digits[6..]),
        [digits] if digits.len() == 6 => civil(&digits[..2], &digits[2..4], &digits[4..]),
        [digits] if digits.len() == 4 => civil(digits, "1", "1"),
        [first, second, third] => three_parts(first, second, third, style),
        [first, second] => two_parts(first, second),
        _ => None,
    }
}

fn three_parts(first: &str, second: &str, third: &str, style: i32) -> Option<Civil> {
    if let Some(month) = month_number(first) {
        return civil(third, &month, second);
    }
    if let Some(month) = month_number(second) {
        let year_first = first.len() == 4;
        return if year_first { civil(first, &month, third) } else { civil(third, &month, first) };
    }
    match order(first, style) {
        Order::YearMonthDay => civil(first, second, third),
        Order::DayMonthYear => civil(third, second, first),
        Order::MonthDayYear => civil(third, first, second),
    }
}

fn two_parts(first: &str, second: &str) -> Option<Civil> {
    let (month, year) = match (month_number(first), month_number(second)) {
        (Some(month), None) => (month, second),
        (None, Some(month)) => (month, first),
        _ => return None,
    };
    if year.len() == 4 { civil(year, &month, "1") } else { None }
}

enum Order {
    YearMonthDay,
    DayMonthYear,
    MonthDayYear,
}

fn order(first: &str, style: i32) -> Order {
    match style {
        _ if first.len() == 4 => Order::YearMonthDay,
        2 | 11 | 102 | 111 => Order::YearMonthDay,
        3 | 4 | 5 | 13 | 103 | 104 | 105 | 113 | 131 => Order::DayMonthYear,
        _ => Order::MonthDayYear,
    }
}

fn civil(year: &str, month: &str, day: &str) -> Option<Civil> {
    let written: i32 = number(year)?;
    let year = match year.len() {
        1 | 2 if written <= 49 => written + 2000,
        1 | 2 => written + 1900,
        4 => written,
        _ => return None,
    };
    let (month, day) = (number(month)?, number(day)?);
    Some(Civil { year, month, day })
}

fn number(digits: &str) -> Option<i32> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

fn month_number(word: &str) -> Option<String> {
    let known = |name: &str| name.eq_ignore_ascii_case(word) || name[..3].eq_ignore_ascii_case(word);
    MONTHS.iter().position(|name| known(name)).map(|index| (index + 1).to_string())
}

/// `hh[:mi[:ss[.fffffff | :fff]]] [AM | PM] [Z | +hh:mm | -hh:mm]`
fn parse_time(text: &str) -> Option<(u64, Option<i16>)> {
    let (text, offset) = split_offset(text)?;
    let text = text.trim_end();
    let upper = text.to_ascii_uppercase();
    let (clock, half) = match (upper.strip_suffix("AM"), upper.strip_suffix("PM")) {
        (Some(clock), _) => (clock.trim_end(), Some(false)),
        (_, Some(clock)) => (clock.trim_end(), Some(true)),
        _ => (upper.as_str(), None),
    };
    let mut parts = clock.split(':');
    let hour = number(parts.next()?.trim())? as u32;
    let minute = parts.next().map_or(Some(0), |part| number(part.trim()))? as u32;
    let (second, fraction) = seconds(parts.next().unwrap_or("0"), parts.next())?;
    let hour = half_day_hour(hour, half)?;
    let valid = hour < 24 && minute < 60 && second < 60 && parts.next().is_none();
    valid.then(|| (Clock { hour, minute, second, fraction }.ticks(), offset))
}

fn half_day_hour(hour: u32, afternoon: Option<bool>) -> Option<u32> {
    match afternoon {
        None => Some(hour),
        Some(false) if hour == 12 => Some(0),
        Some(true) if hour < 12 => Some(hour + 12),
        Some(_) => (hour <= 23).then_some(hour),
    }
}

fn seconds(part: &str, after_colon: Option<&str>) -> Option<(u32, u32)> {
    let part = part.trim();
    if let Some(thousandths) = after_colon {
        let ticks = number(thousandths).filter(|value| *value < 1000)? as u32 * 10_000;
        return Some((number(part)? as u32, ticks));
    }
    let Some((whole, fraction)) = part.split_once('.') else { return Some((number(part)? as u32, 0)) };
    let kept = fraction.get(..fraction.len().min(9))?;
    let digits = format!("{kept:0<9}");
    let nanos: u32 = if kept.is_empty() { 0 } else { number(&digits)? as u32 };
    Some((number(whole)? as u32, ((nanos + 50) / 100).min(9_999_999)))
}

fn split_offset(text: &str) -> Option<(&str, Option<i16>)> {
    if let Some(rest) = text.strip_suffix(['Z', 'z']) {
        return Some((rest, Some(0)));
    }
    let Some(place) = text.rfind(['+', '-']) else { return Some((text, None)) };
    let (hours, minutes) = text[place + 1..].split_once(':')?;
    let minutes =
        i16::try_from(number(hours)? * 60 + number(minutes)?).ok().filter(|total| *total <= 14 * 60)?;
    let sign = if text[place..].starts_with('-') { -1 } else { 1 };
    Some((&text[..place], Some(sign * minutes)))
}

/// Date pattern, joint and time pattern of a style.
///
/// `Y y` year with and without century, `M` month, `N` its short name, `D d` day with zero or blank, `H` hour, `h`
/// hour of the half day, `m s` minute and second, `f` fraction after a colon, `F` after a point, `G` only when not
/// zero, `A` AM or PM; anything else stands for itself.
fn layout(style: i32) -> Option<(&'static str, &'static str, &'static str)> {
    Some(match style {
        0 | 100 => ("N d Y", " ", "h:mA"),
        1 => ("M/D/y", "", ""),
        101 => ("M/D/Y", "", ""),
        2 => ("y.M.D", "", ""),
        102 => ("Y.M.D", "", ""),
        3 => ("D/M/y", "", ""),
        103 => ("D/M/Y", "", ""),
        4 => ("D.M.y", "", ""),
        104 => ("D.M.Y", "", ""),
        5 => ("D-M-y", "", ""),
        105 => ("D-M-Y", "", ""),
        6 => ("D N y", "", ""),
        106 => ("D N Y", "", ""),
        7 => ("N D, y", "", ""),
        107 => ("N D, Y", "", ""),
        8 | 24 | 108 => ("", "", "H:m:s"),
        9 | 109 => ("N d Y", " ", "h:m:sfA"),
        10 => ("M-D-y", "", ""),
        110 => ("M-D-Y", "", ""),
        11 => ("y/M/D", "", ""),
        111 => ("Y/M/D", "", ""),
        12 => ("yMD", "", ""),
        112 => ("YMD", "", ""),
        13 | 113 => ("D N Y", " ", "H:m:sf"),
        14 | 114 => ("", "", "H:m:sf"),
        20 | 120 => ("Y-M-D", " ", "H:m:s"),
        21 | 25 | 121 => ("Y-M-D", " ", "H:m:sF"),
        22 => ("M/D/y", " ", "h:m:s A"),
        23 => ("Y-M-D", "", ""),
        126 | 127 => ("Y-M-D", "T", "H:m:sG"),
        _ => return None,
    })
}

fn write_pattern(out: &mut String, pattern: &str, moment: &Moment, shown: Shown) {
    let (civil, clock) = (Civil::from_days(moment.days), Clock::from_ticks(moment.ticks));
    let (half_hour, half) = clock.half_day();
    for letter in pattern.chars() {
        match letter {
            'Y' => out.push_str(&format!("{:04}", civil.year)),
            'y' => out.push_str(&format!("{:02}", civil.year % 100)),
            'M' => out.push_str(&format!("{:02}", civil.month)),
            'N' => out.push_str(&month_name(civil.month)[..3]),
            'D' => out.push_str(&format!("{:02}", civil.day)),
            'd' => out.push_str(&format!("{:>2}", civil.day)),
            'H' => out.push_str(&format!("{:02}", clock.hour)),
            'h' => out.push_str(&format!("{half_hour:>2}")),
            'm' => out.push_str(&format!("{:02}", clock.minute)),
            's' => out.push_str(&format!("{:02}", clock.second)),
            'f' => write_fraction(out, if shown.legacy { ':' } else { '.' }, clock, shown),
            'F' => write_fraction(out, '.', clock, shown),
            'G' if clock.fraction == 0 && shown.legacy => {}
            'G' => write_fraction(out, '.', clock, shown),
            'A' => out.push_str(half),
            other => out.push(other),
        }
    }
}

fn write_fraction(out: &mut String, mark: char, clock: Clock, shown: Shown) {
    let digits = usize::from(shown.digits);
    if digits == 0 {
        return;
    }
    let unit = 10_u32.pow(7 - u32::from(shown.digits));
    let rounded = if shown.legacy { (clock.fraction + unit / 2) / unit } else { clock.fraction / unit };
    out.push_str(&format!("{mark}{rounded:0digits$}"));
}

fn write_offset(out: &mut String, offset: Option<i16>, style: i32) {
    let Some(offset) = offset else { return };
    let sign = if offset < 0 { '-' } else { '+' };
    let (hours, minutes) = (offset.abs() / 60, offset.abs() % 60);
    match style {
        127 => out.push('Z'),
        126 => out.push_str(&format!("{sign}{hours:02}:{minutes:02}")),
        _ => out.push_str(&format!(" {sign}{hours:02}:{minutes:02}")),
    }
}
