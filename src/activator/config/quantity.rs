//! Quantities as they are written in `activator.toml`: durations (`30s`), sizes (`512MiB`), rates (`10/s`), file mode
//! masks (`"027"`) and accounts; and the same written out again.
//!
//! Pure; knows nothing of the keys that hold them.

use super::model::{Account, Rate};
use std::time::Duration;

/// A year is far beyond any sensible grace or timeout, and keeps every later sum of times in range.
const LONGEST: u64 = 366 * 86_400_000;
/// Units of durations in milliseconds, from the largest.
const TIMES: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];
/// Units of sizes in bytes, from the largest.
const SIZES: [(&str, u64); 5] =
    [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];
/// What launches are counted in.
const PERIODS: [(&str, u64); 3] = [("s", 1), ("m", 60), ("h", 3600)];

/// Reads `250ms`, `30s`, `15m`, `2h` or `1d`.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let Some((number, each)) = number_and_unit(text, &TIMES) else {
        return Err(format!(
            "'{text}' is not a duration; write a whole number and ms, s, m, h or d, as in 30s"
        ));
    };
    let milliseconds = number.and_then(|number| number.checked_mul(each));
    match milliseconds.filter(|milliseconds| *milliseconds <= LONGEST) {
        Some(milliseconds) => Ok(Duration::from_millis(milliseconds)),
        None => Err(format!("'{text}' is longer than a year")),
    }
}

/// The shortest text that [`parse_duration`] reads as `duration`, which is in whole milliseconds.
pub(crate) fn write_duration(duration: Duration) -> String {
    let milliseconds = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    match milliseconds {
        0 => "0s".to_owned(),
        _ => with_unit(milliseconds, &TIMES),
    }
}

/// Reads `512MiB`, `4GiB`, `64KiB`, `1TiB` or `1000B`.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let Some((number, each)) = number_and_unit(text, &SIZES) else {
        return Err(format!(
            "'{text}' is not a size; write a whole number and B, KiB, MiB, GiB or TiB, as in 512MiB"
        ));
    };
    let bytes = number.and_then(|number| number.checked_mul(each));
    bytes.ok_or_else(|| format!("'{text}' is larger than any size of this system"))
}

/// The shortest text that [`parse_size`] reads as `bytes`.
pub(crate) fn write_size(bytes: u64) -> String {
    with_unit(bytes, &SIZES)
}

/// Reads `10/s`, `30/m` or `100/h`.
pub(crate) fn parse_rate(text: &str) -> Result<Rate, String> {
    let read = || {
        let (number, unit) = text.split_once('/')?;
        let launches = digits(number)?.parse().ok().filter(|number| *number > 0)?;
        let (_, seconds) = PERIODS.iter().find(|(name, _)| *name == unit)?;
        Some(Rate { launches, per: Duration::from_secs(*seconds) })
    };
    read().ok_or_else(|| {
        format!("'{text}' is not a rate; write a whole number from 1 and /s, /m or /h, as in 10/s")
    })
}

/// The text that [`parse_rate`] reads as `rate`.
pub(crate) fn write_rate(rate: Rate) -> String {
    let unit = PERIODS.iter().find(|(_, seconds)| rate.per == Duration::from_secs(*seconds));
    format!("{}/{}", rate.launches, unit.map_or("s", |(name, _)| name))
}

/// Reads a file mode creation mask: up to four octal digits.
pub(crate) fn parse_umask(text: &str) -> Result<u32, String> {
    let mask = digits(text).filter(|text| text.len() <= 4).and_then(|text| u32::from_str_radix(text, 8).ok());
    mask.filter(|mask| *mask <= 0o777).ok_or_else(|| {
        format!("'{text}' is not a file mode mask; write octal digits from 000 to 777, as in \"027\"")
    })
}

/// Reads the name or the number of a user or a group.
pub(crate) fn parse_account(text: &str) -> Result<Account, String> {
    if let Some(number) = digits(text) {
        // The largest number means "leave it as it is" to the system.
        let id = number.parse().ok().filter(|id| *id != u32::MAX);
        return id
            .map(Account::Id)
            .ok_or_else(|| format!("'{text}' is larger than any user or group number"));
    }
    if text.is_empty() || text.contains([':', '/', '\0']) || text.contains(char::is_whitespace) {
        return Err(format!("'{text}' is not the name or number of a user or group"));
    }
    Ok(Account::Name(text.to_owned()))
}

/// The number before a unit, `None` if it is too large, and what the unit counts; `None` if the text is no such thing.
fn number_and_unit(text: &str, units: &[(&str, u64)]) -> Option<(Option<u64>, u64)> {
    let count = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(count);
    let (_, each) = units.iter().find(|(name, _)| *name == unit)?;
    digits(number).map(|number| (number.parse().ok(), *each))
}

fn digits(text: &str) -> Option<&str> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then_some(text)
}

fn with_unit(count: u64, units: &[(&str, u64)]) -> String {
    let whole = units.iter().find(|(_, each)| count >= *each && count.is_multiple_of(*each));
    whole.map_or_else(
        || format!("{count}{}", units[units.len() - 1].0),
        |(name, each)| format!("{}{name}", count / each),
    )
}

#[cfg(test)]
mod tests {
    use super::{
        parse_account, parse_duration, parse_rate, parse_size, parse_umask, write_duration, write_rate,
        write_size,
    };
    use crate::activator::config::Account;
    use std::time::Duration;

    #[test]
    fn durations_are_read_and_written() {
        for (text, milliseconds) in [
            ("250ms", 250),
            ("15m", 900_000),
            ("0s", 0),
            ("1500ms", 1500),
            ("1d", 86_400_000),
            ("366d", super::LONGEST),
        ] {
            let duration = Duration::from_millis(milliseconds);
            assert_eq!(parse_duration(text), Ok(duration));
            assert_eq!(write_duration(duration), text);
        }
        assert_eq!(parse_duration("90m").map(write_duration), Ok("90m".to_owned()));
        assert_eq!(parse_duration("120s").map(write_duration), Ok("2m".to_owned()));
        for text in ["", "30", "s", "1.5s", "-1s", "30 s", "30S", "367d", "99999999999999999999s"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_read_and_written() {
        for (text, bytes) in [("512MiB", 512 << 20), ("1GiB", 1 << 30), ("0B", 0), ("1000B", 1000)] {
            assert_eq!(parse_size(text), Ok(bytes));
            assert_eq!(write_size(bytes), text);
        }
        for text in ["512", "512MB", "1.5GiB", "99999999999TiB", "MiB", ""] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates_are_read_and_written() {
        for (text, seconds) in [("10/s", 1), ("30/m", 60), ("7/h", 3600)] {
            let rate = parse_rate(text).unwrap();
            assert_eq!(rate.per, Duration::from_secs(seconds));
            assert_eq!(write_rate(rate), text);
        }
        for text in ["10", "0/s", "10/d", "/s", "-1/s", "10/ s"] {
            assert!(parse_rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn masks_are_octal_and_accounts_are_names_or_numbers() {
        assert_eq!((parse_umask("027"), parse_umask("0")), (Ok(0o027), Ok(0)));
        assert!(["8", "1000", "00027", "", "-1"].iter().all(|text| parse_umask(text).is_err()));
        assert_eq!(parse_account("1000"), Ok(Account::Id(1000)));
        assert_eq!(parse_account("svc-orders"), Ok(Account::Name("svc-orders".to_owned())));
        assert!(["", "a b", "a:b", "4294967295"].iter().all(|text| parse_account(text).is_err()));
    }
}
