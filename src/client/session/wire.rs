//! Sends requests through the driver, reads every response to its end, and translates values both ways.
//!
//! Nothing here knows the state of a session.

use std::borrow::Cow;
use std::future::Future;
use std::time::Duration;

use futures_util::{AsyncRead, AsyncWrite, TryStreamExt};
use tiberius::numeric::Numeric;
use tiberius::time as wire_time;
use tiberius::{Client, ColumnData, Command, CommandItem, QueryItem, ResultMetadata};

use super::super::error::{Error, Result};
use super::super::rows::{ResultSet, Results};
use super::super::statements::{Argument, Statement};
use super::super::values::{SqlDateTime, SqlValue};
use super::{Driver, Response, fault};

/// Sends a plain batch.
pub(super) async fn batch(driver: &mut Driver, text: &str) -> Result<Response> {
    let mut stream = match driver.simple_query(text).await {
        Ok(stream) => stream,
        Err(error) => return refused(error),
    };
    let mut answer = Answer::default();
    loop {
        match stream.try_next().await {
            Ok(Some(QueryItem::Metadata(metadata))) => answer.open_set(&metadata),
            Ok(Some(QueryItem::Row(row))) => answer.add_row(row),
            Ok(None) => return Ok(answer.into_response(None)),
            Err(error) => return answer.end_with(error),
        }
    }
}

/// Runs a statement through `sp_executesql`, with our own declarations instead of those the driver would guess from
/// the length of each value.
pub(super) async fn execute<S>(driver: &mut Client<S>, statement: &Statement<'_>) -> Result<Response>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let mut stream = match call(statement).exec(driver).await {
        Ok(stream) => stream,
        Err(error) => return refused(error),
    };
    let mut answer = Answer::default();
    loop {
        match stream.try_next().await {
            Ok(Some(CommandItem::Metadata(metadata))) => answer.open_set(&metadata),
            Ok(Some(CommandItem::Row(row))) => answer.add_row(row),
            Ok(Some(CommandItem::RowsAffected(count))) => answer.row_counts.push(count),
            Ok(Some(CommandItem::ReturnStatus(_) | CommandItem::ReturnValue(_))) => {}
            Ok(None) => return Ok(answer.into_response(None)),
            Err(error) => return answer.end_with(error),
        }
    }
}

/// Awaits a request that answers nothing but success or an error.
pub(super) async fn acknowledged(request: impl Future<Output = tiberius::Result<()>>) -> Result<Response> {
    match request.await {
        Ok(()) => Ok(Answer::default().into_response(None)),
        Err(error) => refused(error),
    }
}

/// `sp_executesql` takes its first two arguments by position, so they go without a name.
fn call<'a>(statement: &'a Statement<'_>) -> Command<'a> {
    let mut command = Command::new("sp_executesql");
    command.bind_param("", statement.text());
    if !statement.parameters().is_empty() {
        command.bind_param("", statement.declarations());
        for parameter in statement.parameters() {
            command.bind_param(parameter.name.as_ref(), to_wire(&parameter.value));
        }
    }
    command
}

/// A request that failed before any result: the server's own refusal was read to its end, everything else was not.
fn refused(error: tiberius::error::Error) -> Result<Response> {
    Answer::default().end_with(error)
}

#[derive(Default)]
struct Answer {
    sets: Vec<ResultSet>,
    row_counts: Vec<u64>,
}

impl Answer {
    fn open_set(&mut self, metadata: &ResultMetadata) {
        let names = metadata.columns().iter().map(|column| column.name().to_owned()).collect();
        self.sets.push(ResultSet::new(names));
    }

    fn add_row(&mut self, row: tiberius::Row) {
        let values = row.into_iter().map(from_wire).collect();
        if let Some(set) = self.sets.last_mut() {
            set.push(values);
        }
    }

    fn into_response(self, error: Option<Error>) -> Response {
        Response { results: Results::new(self.sets, self.row_counts), error }
    }

    /// The driver reports the first server error only after the last token, so a server error means a response that was
    /// read completely; any other error means one that was not.
    fn end_with(self, error: tiberius::error::Error) -> Result<Response> {
        let is_server = matches!(error, tiberius::error::Error::Server(_));
        let error = fault::translate(error);
        if is_server { Ok(self.into_response(Some(error))) } else { Err(error) }
    }
}

fn to_wire<'a>(argument: &'a Argument<'_>) -> ColumnData<'a> {
    match argument {
        Argument::Bytes(bytes) => ColumnData::Binary(Some(Cow::Borrowed(bytes))),
        Argument::Text(text) => ColumnData::String(Some(Cow::Borrowed(text))),
        Argument::NoBytes => ColumnData::Binary(None),
        Argument::Value(value) => value_to_wire(value),
    }
}

fn value_to_wire(value: &SqlValue) -> ColumnData<'_> {
    match value {
        SqlValue::Null => ColumnData::String(None),
        SqlValue::Bool(flag) => ColumnData::Bit(Some(*flag)),
        SqlValue::I32(number) => ColumnData::I32(Some(*number)),
        SqlValue::I64(number) => ColumnData::I64(Some(*number)),
        SqlValue::F64(number) => ColumnData::F64(Some(*number)),
        SqlValue::Decimal { value, scale } => {
            ColumnData::Numeric(Some(Numeric::new_with_scale(*value, (*scale).min(37))))
        }
        SqlValue::Text(text) => ColumnData::String(Some(Cow::Borrowed(text))),
        SqlValue::Bytes(bytes) => ColumnData::Binary(Some(Cow::Borrowed(bytes))),
        SqlValue::Uuid(id) => ColumnData::Guid(Some(*id)),
        SqlValue::DateTime(moment) => moment_to_wire(*moment),
        SqlValue::Time(since_midnight) => {
            ColumnData::Time(Some(time_of_day(since_midnight.as_nanos() as u64)))
        }
    }
}

fn moment_to_wire(moment: SqlDateTime) -> ColumnData<'static> {
    let date = wire_time::Date::new(u32::try_from(moment.days).unwrap_or(0));
    let plain = wire_time::DateTime2::new(date, time_of_day(moment.nanoseconds));
    match moment.offset_minutes {
        None => ColumnData::DateTime2(Some(plain)),
        Some(offset) => ColumnData::DateTimeOffset(Some(wire_time::DateTimeOffset::new(plain, offset))),
    }
}

fn time_of_day(nanoseconds: u64) -> wire_time::Time {
    wire_time::Time::new(nanoseconds / 100, 7)
}

fn from_wire(data: ColumnData<'static>) -> SqlValue {
    known_value(data).unwrap_or(SqlValue::Null)
}

/// `None` for NULL, whatever its type.
fn known_value(data: ColumnData<'static>) -> Option<SqlValue> {
    Some(match data {
        ColumnData::Bit(flag) => SqlValue::Bool(flag?),
        ColumnData::U8(number) => SqlValue::I32(number?.into()),
        ColumnData::I16(number) => SqlValue::I32(number?.into()),
        ColumnData::I32(number) => SqlValue::I32(number?),
        ColumnData::I64(number) => SqlValue::I64(number?),
        ColumnData::F32(number) => SqlValue::F64(number?.into()),
        ColumnData::F64(number) => SqlValue::F64(number?),
        ColumnData::Numeric(number) => {
            let number = number?;
            SqlValue::Decimal { value: number.value(), scale: number.scale() }
        }
        ColumnData::String(text) => SqlValue::Text(text?.into_owned()),
        ColumnData::Xml(xml) => SqlValue::Text(xml?.into_owned().into_string()),
        ColumnData::Binary(bytes) => SqlValue::Bytes(bytes?.into_owned()),
        ColumnData::Guid(id) => SqlValue::Uuid(id?),
        ColumnData::Time(time) => SqlValue::Time(Duration::from_nanos(nanoseconds(time?))),
        dated => SqlValue::DateTime(moment_from_wire(dated)?),
    })
}

fn moment_from_wire(data: ColumnData<'static>) -> Option<SqlDateTime> {
    let (days, nanoseconds, offset_minutes) = match data {
        ColumnData::DateTime(moment) => {
            let moment = moment?;
            (days_from_1900(moment.days()), ticks_of_300(moment.seconds_fragments()), None)
        }
        ColumnData::SmallDateTime(moment) => {
            let moment = moment?;
            (
                days_from_1900(moment.days().into()),
                u64::from(moment.seconds_fragments()) * 60_000_000_000,
                None,
            )
        }
        ColumnData::Date(date) => (date?.days() as i32, 0, None),
        ColumnData::DateTime2(moment) => {
            let moment = moment?;
            (moment.date().days() as i32, nanoseconds(moment.time()), None)
        }
        ColumnData::DateTimeOffset(moment) => {
            let (moment, offset) = moment.map(|moment| (moment.datetime2(), moment.offset()))?;
            (moment.date().days() as i32, nanoseconds(moment.time()), Some(offset))
        }
        _ => return None,
    };
    Some(SqlDateTime { days, nanoseconds, offset_minutes })
}

/// `datetime` and `smalldatetime` count from 1 January 1900.
fn days_from_1900(days: i32) -> i32 {
    days.saturating_add(693_595)
}

/// `datetime` counts three hundredths of a second.
fn ticks_of_300(ticks: u32) -> u64 {
    u64::from(ticks) * 10_000_000 / 3
}

fn nanoseconds(time: wire_time::Time) -> u64 {
    time.increments().saturating_mul(10u64.pow(9 - u32::from(time.scale().min(9))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_survives_the_way_to_the_wire_and_back() {
        let moment = SqlDateTime { days: 739_000, nanoseconds: 45_296_123_456_700, offset_minutes: None };
        let values = [
            SqlValue::Null,
            SqlValue::Bool(true),
            SqlValue::I32(-7),
            SqlValue::I64(1 << 40),
            SqlValue::F64(0.5),
            SqlValue::Decimal { value: -12_345, scale: 2 },
            SqlValue::from("größe"),
            SqlValue::from(vec![0u8, 255]),
            SqlValue::from(uuid::Uuid::from_u128(7)),
            SqlValue::DateTime(moment),
            SqlValue::DateTime(SqlDateTime { offset_minutes: Some(-90), ..moment }),
            SqlValue::Time(Duration::from_nanos(1_234_500)),
        ];
        for value in values {
            let owned: ColumnData<'static> = match value_to_wire(&value) {
                ColumnData::String(text) => {
                    ColumnData::String(text.map(|text| Cow::Owned(text.into_owned())))
                }
                ColumnData::Binary(bytes) => {
                    ColumnData::Binary(bytes.map(|bytes| Cow::Owned(bytes.into_owned())))
                }
                ColumnData::Bit(flag) => ColumnData::Bit(flag),
                ColumnData::I32(number) => ColumnData::I32(number),
                ColumnData::I64(number) => ColumnData::I64(number),
                ColumnData::F64(number) => ColumnData::F64(number),
                ColumnData::Numeric(number) => ColumnData::Numeric(number),
                ColumnData::Guid(id) => ColumnData::Guid(id),
                ColumnData::Time(time) => ColumnData::Time(time),
                ColumnData::DateTime2(moment) => ColumnData::DateTime2(moment),
                ColumnData::DateTimeOffset(moment) => ColumnData::DateTimeOffset(moment),
                other => panic!("no parameter is sent as {other:?}"),
            };
            assert_eq!(from_wire(owned), value);
        }
    }

    #[test]
    fn a_legacy_datetime_counts_from_1900_in_three_hundredths_of_a_second() {
        let value = from_wire(ColumnData::DateTime(Some(wire_time::DateTime::new(1, 300))));
        let SqlValue::DateTime(moment) = value else { panic!("{value:?}") };
        assert_eq!(moment.to_string(), "1900-01-02T00:00:01.0000000");
    }
}
