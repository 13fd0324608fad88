//! Durations as they are written in `activator.toml`: a whole number and a unit, such as `30s`.
//!
//! Pure; knows nothing of the keys that hold them.

use std::time::Duration;

/// Reads `250ms`, `30s`, `15m`, `2h` or `1d`.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let milliseconds_each = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => {
            return Err(format!(
                "'{text}' is not a duration; write a whole number and ms, s, m, h or d, as in 30s"
            ));
        }
    };
    let number: u64 = number.parse().map_err(|_| format!("'{text}' has no usable number before its unit"))?;
    let milliseconds = number.checked_mul(milliseconds_each);
    // A year is far beyond any sensible grace or timeout, and keeps every later sum of times in range.
    match milliseconds.filter(|milliseconds| *milliseconds <= 366 * 86_400_000) {
        Some(milliseconds) => Ok(Duration::from_millis(milliseconds)),
        None => Err(format!("'{text}' is longer than a year")),
    }
}

#[cfg(test)]
mod tests {
    use super::parse_duration;
    use std::time::Duration;

    #[test]
    fn number_and_unit_are_read() {
        assert_eq!(parse_duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(parse_duration("15m"), Ok(Duration::from_secs(900)));
        assert_eq!(parse_duration("0s"), Ok(Duration::ZERO));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "30", "s", "1.5s", "-1s", "30 s", "30S", "367d", "99999999999999999999s"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }
}
