//! Numbers as text: what the conversions of numbers share when they read or write them.

use crate::value::{Decimal, Text};

/// `varchar` or `nvarchar`, as conversion errors name the source.
pub(super) fn text_type(text: &Text) -> &'static str {
    if text.is_unicode() { "nvarchar" } else { "varchar" }
}

/// Without the blanks around it.
pub(super) fn trimmed(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\r', '\n'])
}

/// A number with at most one point and no exponent; `None` if it is something else or has more than 38 digits.
pub(super) fn parse_decimal(text: &str) -> Option<Decimal> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let all_digits = whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit());
    if !all_digits || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    let kept = &fraction[..fraction.len().min(38)];
    let magnitude = format!("{}{kept}", whole.trim_start_matches('0'));
    let unscaled = if magnitude.is_empty() { 0 } else { magnitude.parse::<i128>().ok()? };
    let sign = if text.starts_with('-') { -1 } else { 1 };
    Some(Decimal { unscaled: unscaled * sign, scale: kept.len() as u8 })
}

/// A float as style 0 writes it: six significant digits, an exponent of three digits when it is small or large.
pub(super) fn float_text(value: f64, digits: usize) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-5..digits as i32).contains(&exponent) {
        let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
        return without_trailing_zeros(&format!("{value:.decimals$}")).to_owned();
    }
    with_exponent(without_trailing_zeros(mantissa), exponent)
}

/// A float as styles 1 to 3 write it: always with an exponent.
pub(super) fn float_scientific(value: f64, digits: usize) -> String {
    let scientific = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    with_exponent(mantissa, exponent.parse().unwrap_or(0))
}

/// Money in ten-thousandths with two or four decimals, with or without commas.
pub(super) fn money_text(value: i64, style: i32) -> String {
    let decimals = if style == 2 { 4 } else { 2 };
    let units = if decimals == 4 { i128::from(value) } else { round_to_cents(value) };
    let text = Decimal { unscaled: units, scale: decimals }.to_string();
    if style == 1 { with_commas(&text) } else { text }
}

fn round_to_cents(value: i64) -> i128 {
    let value = i128::from(value);
    (value + 50 * value.signum()) / 100
}

fn with_exponent(mantissa: &str, exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:03}", exponent.abs())
}

fn without_trailing_zeros(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

fn with_commas(number: &str) -> String {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "00"));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    let mut grouped = String::from(sign);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{grouped}.{fraction}")
}
