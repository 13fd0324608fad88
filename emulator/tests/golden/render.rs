//! What a session answered, as text: result sets in aligned columns, counts, notices and errors. Must not know sessions.

use ssbroker_emulator::error::SqlError;
use ssbroker_emulator::output::{Command, Event};
use ssbroker_emulator::value::{Column, DateTime, Timestamp, Value};

use super::labels::Labels;

/// Byte order mark of UTF-16LE, with which bodies made by the broker begin.
const BYTE_ORDER_MARK: [u8; 2] = [0xff, 0xfe];

/// What the names of the broker's own types and contracts begin with, and what is shown instead.
const NAMESPACES: [(&str, &str); 2] = [
    ("http://schemas.microsoft.com/SQL/ServiceBroker/", "ssb:"),
    ("http://schemas.microsoft.com/SQL/Notifications/", "ntf:"),
];

/// Renders the events of one request.
pub(super) struct Renderer<'a> {
    pub(super) labels: &'a mut Labels,
    /// When the script began; moments are shown as the time since.
    pub(super) start: Timestamp,
    /// Whether row counts are shown.
    pub(super) counts: bool,
}

impl Renderer<'_> {
    /// The whole answer.
    pub(super) fn render(&mut self, events: &[Event]) -> String {
        let mut lines = Vec::new();
        let mut table: Option<Table> = None;
        for event in events {
            match event {
                Event::Columns(columns) => table = Some(Table::new(columns)),
                Event::Row(values) => self.row(table.as_mut().expect("rows follow columns"), values),
                other => {
                    let had_rows = table.take().map(|table| lines.extend(table.lines())).is_some();
                    lines.extend(self.line(other, had_rows));
                }
            }
        }
        lines.into_iter().map(|line: String| format!("{}\n", line.trim_end())).collect()
    }

    fn row(&mut self, table: &mut Table, values: &[Value]) {
        let columns = table.rows[0].clone();
        table
            .rows
            .push(columns.iter().zip(values).map(|(column, value)| self.value(value, column)).collect());
    }

    /// The line of an event that is not part of a result set.
    fn line(&mut self, event: &Event, had_rows: bool) -> Option<String> {
        match event {
            Event::StatementDone { command, count: Some(count), .. } if self.counts => {
                counted(*command, *count, had_rows)
            }
            Event::OutputParameter { name, value, .. } => {
                Some(format!("{name} = {}", self.value(value, name)))
            }
            Event::ReturnStatus(status) if *status != 0 => Some(format!("return status {status}")),
            Event::Info(notice) if notice.number == 5701 => None,
            Event::Info(notice) if notice.number == 0 => Some(self.labels.relabel(&notice.message, "")),
            Event::Info(notice) => Some(self.message(notice)),
            Event::Error(error) => Some(self.message(error)),
            _ => None,
        }
    }

    fn message(&mut self, error: &SqlError) -> String {
        let place =
            if error.procedure.is_empty() { String::new() } else { format!(" ({})", error.procedure) };
        format!("{}{place}", self.labels.relabel(&error.to_string(), ""))
    }

    fn value(&mut self, value: &Value, column: &str) -> String {
        match value {
            Value::Null => "NULL".to_owned(),
            Value::Bit(bit) => u8::from(*bit).to_string(),
            Value::TinyInt(number) => number.to_string(),
            Value::SmallInt(number) => number.to_string(),
            Value::Int(number) => number.to_string(),
            Value::BigInt(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            Value::Text(text) | Value::Xml(text) => {
                let text = text.to_string().replace('\u{feff}', "<BOM>").replace('\n', "\\n");
                self.labels.relabel(&shortened(text), column)
            }
            Value::Binary(bytes) => self.labels.relabel(&binary(bytes), column),
            Value::Uuid(uuid) => self.labels.label(*uuid, column),
            Value::DateTime(moment) => self.moment(*moment),
            other => format!("{other:?}"),
        }
    }

    /// A moment as the time since the script began, or since 1900 for the value that stands for "none".
    fn moment(&self, moment: DateTime) -> String {
        if (moment.days, moment.thirds) == (0, 0) {
            return "1900-01-01".to_owned();
        }
        let start = self.start.to_datetime();
        let day = 86_400 * 300;
        let thirds =
            i64::from(moment.days - start.days) * day + i64::from(moment.thirds) - i64::from(start.thirds);
        let (seconds, rest) = (thirds.div_euclid(300), thirds.rem_euclid(300));
        let fraction = if rest == 0 { String::new() } else { format!(".{:03}", (rest * 10 + 1) / 3) };
        format!("T{seconds:+}{fraction}s")
    }
}

/// A result set: a row of column names, then the rows.
struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    fn new(columns: &[Column]) -> Table {
        Table { rows: vec![columns.iter().map(|column| column.name.clone()).collect()] }
    }

    /// The lines, in aligned columns; a name that is empty shows as `-`.
    fn lines(mut self) -> Vec<String> {
        for name in self.rows[0].iter_mut().filter(|name| name.is_empty()) {
            *name = "-".to_owned();
        }
        let width = |at: usize| self.rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.rows[0].len()).map(width).collect();
        let padded = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
            cells.collect::<Vec<_>>().join("  ")
        };
        self.rows.iter().map(padded).collect()
    }
}

fn counted(command: Command, count: u64, had_rows: bool) -> Option<String> {
    let rows = if count == 1 { "row" } else { "rows" };
    match command {
        _ if had_rows => Some(format!("({count} {rows})")),
        Command::Insert | Command::Update | Command::Delete | Command::Merge => {
            Some(format!("({count} {rows} affected)"))
        }
        Command::Select | Command::Other => None,
    }
}

/// A name of the broker's own with its namespace shortened; any other text as it is.
fn shortened(text: String) -> String {
    let short = |(long, short): &(&str, &str)| text.strip_prefix(long).map(|name| format!("{short}{name}"));
    NAMESPACES.iter().find_map(short).unwrap_or(text)
}

/// Bytes as `b'text'` when they are printable ASCII, as `u'text'` when they are UTF-16LE with a byte order mark, else in hex.
fn binary(bytes: &[u8]) -> String {
    if let Some(units) = bytes.strip_prefix(&BYTE_ORDER_MARK) {
        let units: Vec<u16> =
            units.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
        return format!("u'{}'", String::from_utf16_lossy(&units));
    }
    if !bytes.is_empty() && bytes.iter().all(|byte| (b' '..=b'~').contains(byte)) {
        return format!("b'{}'", String::from_utf8_lossy(bytes));
    }
    let hex: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
    format!("0x{hex}")
}
