//! WAITFOR DELAY and WAITFOR TIME. WAITFOR around a RECEIVE lives with RECEIVE.
//!
//! This file must not know the engine.

use std::time::Duration;

use crate::error::SqlError;
use crate::interpreter::errors;
use crate::interpreter::execution::{Done, Execution, Stop};
use crate::interpreter::frame::Frame;
use crate::relational::evaluate;
use crate::tsql::ast::Expr;
use crate::value::{Timestamp, Value};

/// 100 ns units in a day.
const DAY: i64 = 864_000_000_000;

/// `WAITFOR DELAY 'hh:mm:ss'`
pub(super) async fn delay(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    time: &Expr,
) -> Result<Done, Stop> {
    let delay = time_of(execution, frame, time).await?;
    let until = execution.state.instance.clock().now().plus(delay);
    execution.sleep_until(until).await?;
    Ok(Done::PLAIN)
}

/// `WAITFOR TIME 'hh:mm:ss'`: the next moment the clock shows that time.
pub(super) async fn time(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    time: &Expr,
) -> Result<Done, Stop> {
    let time = time_of(execution, frame, time).await?;
    let until = next_occurrence(execution.state.instance.clock().now(), time);
    execution.sleep_until(until).await?;
    Ok(Done::PLAIN)
}

async fn time_of(execution: &mut Execution<'_>, frame: &mut Frame, time: &Expr) -> Result<Duration, Stop> {
    let (_, value) = execution.operate(frame, |tx, scope| evaluate(time, scope, tx)).await?;
    Ok(duration(&value)?)
}

fn next_occurrence(now: Timestamp, time: Duration) -> Timestamp {
    let midnight = Timestamp(now.0 - now.0.rem_euclid(DAY));
    let today = midnight.plus(time);
    if today > now { today } else { Timestamp(midnight.0 + DAY).plus(time) }
}

fn duration(value: &Value) -> Result<Duration, SqlError> {
    match value {
        Value::Text(text) => {
            let text = text.to_string();
            parsed(text.trim()).ok_or_else(|| errors::waitfor_time(&text))
        }
        Value::DateTime(moment) => Ok(Duration::from_nanos(u64::from(moment.thirds) * 1_000_000_000 / 300)),
        Value::Time(time) => Ok(Duration::from_nanos(time.ticks * 100)),
        Value::DateTime2(moment) => Ok(Duration::from_nanos(moment.time.ticks * 100)),
        Value::Null => Err(errors::waitfor_time("NULL")),
        _ => Err(errors::waitfor_time("of another type")),
    }
}

/// `hh:mm[:ss[.fraction]]`, less than a day.
fn parsed(text: &str) -> Option<Duration> {
    let mut parts = text.split(':');
    let hours = number(parts.next()?, 24)?;
    let minutes = number(parts.next()?, 60)?;
    let (seconds, fraction) = match parts.next() {
        None => (0, 0),
        Some(seconds) => {
            let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
            (number(whole, 60)?, nanoseconds(fraction)?)
        }
    };
    let whole = Duration::from_secs(hours * 3600 + minutes * 60 + seconds);
    parts.next().is_none().then(|| whole + Duration::from_nanos(fraction))
}

fn number(text: &str, limit: u64) -> Option<u64> {
    let digits = !text.is_empty() && text.len() <= 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| digits && *number < limit)
}

fn nanoseconds(fraction: &str) -> Option<u64> {
    if fraction.is_empty() {
        return Some(0);
    }
    let digits = fraction.len() <= 9 && fraction.bytes().all(|byte| byte.is_ascii_digit());
    format!("{fraction:0<9}").parse().ok().filter(|_| digits)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{DAY, next_occurrence, parsed};
    use crate::value::Timestamp;

    #[test]
    fn delays_are_hours_minutes_seconds_and_a_fraction() {
        assert_eq!(parsed("00:00:05"), Some(Duration::from_secs(5)));
        assert_eq!(parsed("0:01"), Some(Duration::from_secs(60)));
        assert_eq!(parsed("00:00:00.010"), Some(Duration::from_millis(10)));
        assert_eq!(parsed("00:00:00.5"), Some(Duration::from_millis(500)));
    }

    #[test]
    fn a_day_and_more_and_other_texts_are_refused() {
        for text in ["24:00:00", "00:60:00", "5", "", "00:00:xx", "00:00:00:00", "00:00:-1"] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }

    #[test]
    fn a_time_already_past_means_tomorrow() {
        let noon = Timestamp(10 * DAY + DAY / 2);
        assert_eq!(
            next_occurrence(noon, Duration::from_secs(13 * 3600)),
            noon.plus(Duration::from_secs(3600))
        );
        assert_eq!(
            next_occurrence(noon, Duration::from_secs(11 * 3600)),
            noon.plus(Duration::from_secs(23 * 3600))
        );
    }
}
