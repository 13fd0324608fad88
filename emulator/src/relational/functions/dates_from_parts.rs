//! DATEFROMPARTS and its relatives: dates and times made of numbers.

use super::{Call, Function, Parameter, datetime, pure};
use crate::error::SqlError;
use crate::relational::calendar::{Civil, Clock};
use crate::relational::convert::Moment;
use crate::relational::errors;
use crate::value::{SqlType, Value};

const FIVE: &[Parameter] = &[Parameter::Int; 5];
const SEVEN: &[Parameter] = &[Parameter::Int; 7];

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    pure("DATEFROMPARTS", &[Parameter::Int; 3], |_| SqlType::Date, |call| made(call, days(call), Some(0))),
    pure("DATETIMEFROMPARTS", SEVEN, datetime, |call| made(call, days(call), ticks(call, 3, 10_000))),
    pure(
        "SMALLDATETIMEFROMPARTS",
        FIVE,
        |_| SqlType::SmallDateTime,
        |call| made(call, days(call), ticks(call, 3, 0)),
    ),
    pure(
        "TIMEFROMPARTS",
        FIVE,
        |_| SqlType::Time(7),
        |call| made(call, Some(0), ticks(call, 0, scaled(call, 4))),
    ),
    pure(
        "DATETIME2FROMPARTS",
        &[Parameter::Int; 8],
        |_| SqlType::DateTime2(7),
        |call| made(call, days(call), ticks(call, 3, scaled(call, 7))),
    ),
];

fn days(call: &Call<'_>) -> Option<i32> {
    Civil { year: call.int(0), month: call.int(1), day: call.int(2) }.days()
}

/// Hour, minute, second and fraction from `first` on; the fraction counts `unit` ticks.
fn ticks(call: &Call<'_>, first: usize, unit: u32) -> Option<u64> {
    let part = |index: usize, most: i32| {
        let value = call.int(first + index);
        (0..=most).contains(&value).then_some(value as u32)
    };
    let (hour, minute, second) = (part(0, 23)?, part(1, 59)?, part(2, 59)?);
    let fraction = part(3, 9_999_999)?.checked_mul(unit).filter(|fraction| *fraction < 10_000_000)?;
    Some(Clock { hour, minute, second, fraction }.ticks())
}

/// Ticks of one unit of a fraction with the precision given at `index`.
fn scaled(call: &Call<'_>, index: usize) -> u32 {
    10_u32.pow(7 - call.int(index).clamp(0, 7) as u32)
}

fn made(call: &Call<'_>, days: Option<i32>, ticks: Option<u64>) -> Result<Value, SqlError> {
    let moment = days.zip(ticks).map(|(days, ticks)| Moment { days, ticks, offset: None });
    moment.and_then(|moment| moment.to_value(call.ty)).ok_or_else(errors::bad_date_parts)
}
