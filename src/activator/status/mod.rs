//! What the daemon knows of itself, for people and for programs.
//!
//! The event loop, the listeners and the reconcilers write what they know on one [`board`]; whoever shows it (the control
//! socket, metrics, the service manager) reads from there. The shape that scripts rely on is in [`view`]. Decides nothing.

pub(super) mod board;
pub mod view;
pub(super) mod warnings;

pub(super) use board::{Board, Handlers};
pub(super) use view::outcome_fields;
pub use view::{
    AppStatus, ChildStatus, LastExit, ListenerState, ListenerStatus, QueueStatus, Status, Warning,
};

use std::time::SystemTime;

/// A moment as RFC 3339 in UTC, to the millisecond.
pub(crate) fn rfc3339(moment: SystemTime) -> String {
    let since = moment.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let (days, seconds) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", since.subsec_millis())
}

/// Year, month and day of a day since 1970, by Hinnant's reckoning in eras of 400 years that begin in March.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::rfc3339;
    use std::time::{Duration, SystemTime};

    #[test]
    fn moments_are_written_in_rfc_3339() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_709_164_800, "2024-02-29T00:00:00.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(rfc3339(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)), expected);
        }
        assert!(rfc3339(SystemTime::UNIX_EPOCH + Duration::from_millis(1_007)).ends_with("01.007Z"));
    }
}
