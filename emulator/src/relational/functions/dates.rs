//! Date and time functions.
//!
//! The clock is the time of the statement; the emulator's time zone is UTC.

use super::{Call, DatePart, Function, Parameter, bigint, datetime, int, of_session, pure};
use crate::engine::Op;
use crate::error::SqlError;
use crate::relational::calendar::{Civil, Clock, days_in_month, iso_week, weekday};
use crate::relational::convert::{Moment, convert, moment_of, month_name};
use crate::relational::environment::Context;
use crate::relational::errors;
use crate::relational::types::{type_name, type_of};
use crate::value::{Date, DateTimeOffset, SqlType, Value};

const PART_AND_MOMENTS: &[Parameter] = &[Parameter::DatePart, Parameter::Moment, Parameter::Moment];

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    of_session("GETDATE", &[], datetime, now),
    of_session("GETUTCDATE", &[], datetime, now),
    of_session("CURRENT_TIMESTAMP", &[], datetime, now),
    of_session("SYSDATETIME", &[], |_| SqlType::DateTime2(7), precise_now),
    of_session("SYSUTCDATETIME", &[], |_| SqlType::DateTime2(7), precise_now),
    of_session("SYSDATETIMEOFFSET", &[], |_| SqlType::DateTimeOffset(7), now_with_offset),
    pure("DATEADD", &[Parameter::DatePart, Parameter::BigInt, Parameter::Moment], third, date_add),
    pure("DATEDIFF", PART_AND_MOMENTS, int, date_diff),
    pure("DATEDIFF_BIG", PART_AND_MOMENTS, bigint, date_diff),
    pure_session("DATEPART", &[Parameter::DatePart, Parameter::Moment], int, date_part),
    pure_session("DATENAME", &[Parameter::DatePart, Parameter::Moment], |_| SqlType::nvarchar(30), date_name),
    pure("YEAR", &[Parameter::Moment], int, |call| Ok(Value::Int(civil(call, 0).year))),
    pure("MONTH", &[Parameter::Moment], int, |call| Ok(Value::Int(civil(call, 0).month))),
    pure("DAY", &[Parameter::Moment], int, |call| Ok(Value::Int(civil(call, 0).day))),
    pure("EOMONTH", &[Parameter::Moment, Parameter::Int], |_| SqlType::Date, end_of_month).requiring(1),
    pure("ISDATE", &[Parameter::Any], int, is_date).seeing_nulls(),
];

/// A function of its arguments and the session's settings that answers NULL to NULL.
const fn pure_session(
    name: &'static str,
    parameters: &'static [Parameter],
    result: fn(&[SqlType]) -> SqlType,
    body: fn(&Call<'_>, &mut Context<'_, '_>) -> Op<Value>,
) -> Function {
    let function = of_session(name, parameters, result, body);
    Function { required: parameters.len(), nulls: super::Nulls::AnyIsNull, ..function }
}

fn third(types: &[SqlType]) -> SqlType {
    types.get(2).copied().unwrap_or(SqlType::DateTime)
}

fn now(_: &Call<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
    Ok(Value::DateTime(ctx.env.session().now.to_datetime()))
}

fn precise_now(_: &Call<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
    Ok(Value::DateTime2(ctx.env.session().now.to_datetime2()))
}

fn now_with_offset(_: &Call<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
    let utc = ctx.env.session().now.to_datetime2();
    Ok(Value::DateTimeOffset(DateTimeOffset { utc, offset_minutes: 0 }))
}

fn part(call: &Call<'_>) -> DatePart {
    match call.arguments.first() {
        Some(Value::TinyInt(number)) => DatePart::by_number(*number),
        _ => DatePart::Day,
    }
}

fn moment(call: &Call<'_>, index: usize) -> Moment {
    call.arguments.get(index).and_then(moment_of).unwrap_or(Moment::BASE)
}

fn civil(call: &Call<'_>, index: usize) -> Civil {
    Civil::from_days(moment(call, index).days)
}

/// Numbers are cut to `int` on the server; here a number beyond it overflows the date.
fn date_add(call: &Call<'_>) -> Result<Value, SqlError> {
    let Value::BigInt(number) = call.arguments[1] else { return Ok(Value::Null) };
    let (part, start) = (part(call), moment(call, 2));
    if matches!(part, DatePart::Offset | DatePart::IsoWeek) {
        return Err(unsupported_part(part, "dateadd", call));
    }
    let moved = match part {
        DatePart::Year => months_later(start, number.saturating_mul(12)),
        DatePart::Quarter => months_later(start, number.saturating_mul(3)),
        DatePart::Month => months_later(start, number),
        DatePart::Nanosecond => start.plus_ticks((i128::from(number) + 50).div_euclid(100)),
        other => start.plus_ticks(other.ticks().unwrap_or(0) * i128::from(number)),
    };
    let ty = type_of(&call.arguments[2]).unwrap_or(call.ty);
    let ty = if call.ty == SqlType::SmallDateTime { call.ty } else { ty };
    let moved = match (ty, moved) {
        // A time of day goes round the clock.
        (SqlType::Time(_), None) => Some(Moment::BASE),
        (_, moved) => moved,
    };
    moved.and_then(|moved| moved.to_value(ty)).ok_or_else(|| errors::date_overflow(type_name(ty)))
}

fn months_later(start: Moment, months: i64) -> Option<Moment> {
    let days = Civil::from_days(start.days).plus_months(months)?.days()?;
    Some(Moment { days, ..start })
}

fn unsupported_part(part: DatePart, function: &str, call: &Call<'_>) -> SqlError {
    let text = format!(
        "The datepart {} is not supported by date function {function} for data type {}.",
        part.name(),
        type_name(call.ty)
    );
    SqlError::new(9810, text)
}

/// Counts the boundaries between the two: from 23:59 to 00:00 is one day.
fn date_diff(call: &Call<'_>) -> Result<Value, SqlError> {
    let (part, start, end) = (part(call), utc(call, 1), utc(call, 2));
    if matches!(part, DatePart::Offset | DatePart::IsoWeek) {
        return Err(unsupported_part(part, "datediff", call));
    }
    let months = |moment: Moment| {
        let civil = Civil::from_days(moment.days);
        i128::from(civil.year) * 12 + i128::from(civil.month) - 1
    };
    let boundaries = |moment: Moment| match part {
        DatePart::Year => months(moment).div_euclid(12),
        DatePart::Quarter => months(moment).div_euclid(3),
        DatePart::Month => months(moment),
        // Weeks begin on Sunday whatever DATEFIRST says.
        DatePart::Week => i128::from(moment.days + 1).div_euclid(7),
        DatePart::Nanosecond => moment.total_ticks() * 100,
        other => moment.total_ticks().div_euclid(other.ticks().unwrap_or(1)),
    };
    let difference = boundaries(end) - boundaries(start);
    let value = match call.ty {
        SqlType::BigInt => i64::try_from(difference).map(Value::BigInt),
        _ => i32::try_from(difference).map(Value::Int),
    };
    value.map_err(|_| errors::datediff_overflow())
}

fn utc(call: &Call<'_>, index: usize) -> Moment {
    let moment = moment(call, index);
    let shift = i128::from(moment.offset.unwrap_or(0)) * 600_000_000;
    moment.plus_ticks(-shift).unwrap_or(moment)
}

fn date_part(call: &Call<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
    let date_first = i32::from(ctx.env.session().date_first);
    Ok(Value::Int(part_of(part(call), moment(call, 1), date_first)))
}

/// Month and weekday by name, everything else as its number.
fn date_name(call: &Call<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
    const WEEKDAYS: [&str; 7] =
        ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
    let (part, moment) = (part(call), moment(call, 1));
    let text = match part {
        DatePart::Month => month_name(Civil::from_days(moment.days).month).to_owned(),
        DatePart::Weekday => WEEKDAYS[weekday(moment.days) as usize].to_owned(),
        DatePart::Offset => {
            let offset = moment.offset.unwrap_or(0);
            let sign = if offset < 0 { '-' } else { '+' };
            format!("{sign}{:02}:{:02}", offset.abs() / 60, offset.abs() % 60)
        }
        other => part_of(other, moment, i32::from(ctx.env.session().date_first)).to_string(),
    };
    Ok(Value::nvarchar(&text))
}

fn part_of(part: DatePart, moment: Moment, date_first: i32) -> i32 {
    let (civil, clock) = (Civil::from_days(moment.days), Clock::from_ticks(moment.ticks));
    match part {
        DatePart::Year => civil.year,
        DatePart::Quarter => (civil.month + 2) / 3,
        DatePart::Month => civil.month,
        DatePart::DayOfYear => civil.day_of_year(),
        DatePart::Day => civil.day,
        DatePart::Week => week_of_year(moment.days, civil, date_first),
        DatePart::Weekday => (weekday(moment.days) - date_first).rem_euclid(7) + 1,
        DatePart::Hour => clock.hour as i32,
        DatePart::Minute => clock.minute as i32,
        DatePart::Second => clock.second as i32,
        DatePart::Millisecond => (clock.fraction as i32 + 500) / 10_000,
        DatePart::Microsecond => clock.fraction as i32 / 10,
        DatePart::Nanosecond => clock.fraction as i32 * 100,
        DatePart::IsoWeek => iso_week(moment.days),
        DatePart::Offset => i32::from(moment.offset.unwrap_or(0)),
    }
}

/// The week that holds the first of January is week 1.
fn week_of_year(days: i32, civil: Civil, date_first: i32) -> i32 {
    let first = days - civil.day_of_year() + 1;
    let start_of_week = |day: i32| day - (weekday(day) - date_first).rem_euclid(7);
    (start_of_week(days) - start_of_week(first)) / 7 + 1
}

fn end_of_month(call: &Call<'_>) -> Result<Value, SqlError> {
    let month = civil(call, 0).plus_months(i64::from(call.int(1)));
    let last = month.and_then(|month| Civil { day: days_in_month(month.year, month.month), ..month }.days());
    last.map(|days| Value::Date(Date(days))).ok_or_else(|| errors::date_overflow("date"))
}

fn is_date(call: &Call<'_>) -> Result<Value, SqlError> {
    let valid = match &call.arguments[0] {
        text @ Value::Text(_) => convert(text.clone(), SqlType::DateTime, None, true).is_ok(),
        value => matches!(value, Value::DateTime(_)),
    };
    Ok(Value::Int(i32::from(valid)))
}
