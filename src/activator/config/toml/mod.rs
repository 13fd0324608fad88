//! Reads `activator.toml`, the native format, into the raw shape.
//!
//! Every key is taken by name and type; what is left over is reported with the nearest key that exists. Keys of the
//! format that this program does not act on yet are refused by name: a limit that is read and not kept would be worse
//! than none.

mod table;

use super::fault::Report;
use super::model::{LogFormat, LogLevel, LogRotation};
use super::raw::{Format, RawApplication, RawConfig, RawLog, RawNotification};
use crate::activator::text::LineIndex;
use table::Table;
use toml::de::DeTable;

/// Keys of an application that belong to the format and are not acted on yet.
const LATER_APP_KEYS: [&str; 8] = ["user", "group", "umask", "timeout", "backoff", "rate", "limits", "feed"];

/// Reads a whole file. `None` if it is not TOML; the report says so then.
pub(crate) fn read(text: &str, report: &mut Report) -> Option<RawConfig> {
    let lines = LineIndex::new(text);
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let offset = error.span().map_or(0, |span| span.start);
        report.fault(lines.line(offset), format!("not valid TOML: {}", one_line(error.message())));
    }
    if !errors.is_empty() {
        return None;
    }
    let mut root = Table::root(document.get_ref(), &lines);
    Some(config(&mut root, report))
}

fn one_line(message: &str) -> String {
    message.lines().collect::<Vec<_>>().join("; ")
}

fn config(root: &mut Table<'_>, report: &mut Report) -> RawConfig {
    let log = root.table(report, "log").map(|mut table| log(&mut table, report)).unwrap_or_default();
    let state_dir = root.table(report, "state").and_then(|mut table| {
        let dir = table.string(report, "dir");
        table.finish(report);
        dir
    });
    root.not_supported_yet(report, &["metrics"]);
    let mut notifications = Vec::new();
    for mut table in root.tables(report, "notification") {
        notifications.push(notification(&mut table, report));
    }
    let mut applications = Vec::new();
    for mut table in root.tables(report, "app") {
        applications.push(application(&mut table, report));
    }
    root.finish(report);
    RawConfig { format: Format::Toml, notifications, applications, log, state_dir }
}

fn log(table: &mut Table<'_>, report: &mut Report) -> RawLog {
    let levels = [
        ("error", LogLevel::Error),
        ("warn", LogLevel::Warn),
        ("info", LogLevel::Info),
        ("debug", LogLevel::Debug),
        ("trace", LogLevel::Trace),
    ];
    let rotations =
        [("daily", LogRotation::Daily), ("hourly", LogRotation::Hourly), ("never", LogRotation::Never)];
    let log = RawLog {
        level: table.choice(report, "level", &levels),
        format: table.choice(report, "format", &[("text", LogFormat::Text), ("json", LogFormat::Json)]),
        file: table.string(report, "file"),
        rotation: table.choice(report, "rotation", &rotations),
        keep: table.number(report, "keep", 1, 100_000),
    };
    table.finish(report);
    log
}

fn notification(table: &mut Table<'_>, report: &mut Report) -> RawNotification {
    let notification = RawNotification {
        name: table.required(report, "name", Table::string),
        id: None,
        connection: table.required(report, "connection", Table::string),
        enabled: table.boolean(report, "enabled"),
    };
    table.finish(report);
    notification
}

fn application(table: &mut Table<'_>, report: &mut Report) -> RawApplication {
    kind(table, report);
    let [server, database, schema, queue] = match table.required(report, "on", Table::table) {
        Some(mut on) => queue_address(&mut on, report),
        None => [None, None, None, None],
    };
    let application = RawApplication {
        line: table.line(),
        name: table.required(report, "name", Table::string),
        enabled: table.boolean(report, "enabled"),
        server,
        database,
        schema,
        queue,
        strict_server: table.boolean(report, "strict_server"),
        command: table.required(report, "command", Table::string),
        arguments: table.strings(report, "args"),
        work_dir: table.string(report, "work_dir"),
        min: table.number(report, "min", 0, u32::from(u16::MAX)),
        max: table.number(report, "max", 0, u32::from(u16::MAX)),
        stop_grace: table.duration(report, "stop_grace"),
        environment: table.variables(report, "env"),
        pass_connection: table.boolean(report, "pass_connection"),
    };
    table.not_supported_yet(report, &LATER_APP_KEYS);
    table.finish(report);
    application
}

fn kind(table: &mut Table<'_>, report: &mut Report) {
    let kinds = [("launch", "launch"), ("resident", "resident"), ("feed", "feed")];
    let line = table.line_of("kind");
    if let Some(kind @ ("resident" | "feed")) = table.choice(report, "kind", &kinds) {
        report.fault(line, format!("kind = \"{kind}\" is not supported yet; only \"launch\" is"));
    }
}

fn queue_address(on: &mut Table<'_>, report: &mut Report) -> [Option<super::raw::Located<String>>; 4] {
    let address = [
        on.string(report, "server"),
        on.required(report, "database", Table::string),
        on.required(report, "schema", Table::string),
        on.required(report, "queue", Table::string),
    ];
    on.finish(report);
    address
}

#[cfg(test)]
mod tests;
