//! Reads `activator.toml`, the native format, into the raw shape.
//!
//! Every key is taken by name and type; what is left over is reported with the nearest key that exists.

mod comments;
mod process;
mod table;

use super::fault::Report;
use super::model::{LogFormat, LogLevel, LogRotation};
use super::quantity::parse_duration;
use super::raw::{Format, Located, RawApplication, RawConfig, RawLog, RawNotification, RawReenable};
use crate::activator::text::LineIndex;
use comments::has_comments;
use std::net::SocketAddr;
use table::Table;
use toml::de::DeTable;

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
    Some(RawConfig { has_comments: has_comments(text), ..config(&mut root, report) })
}

fn one_line(message: &str) -> String {
    message.lines().collect::<Vec<_>>().join("; ")
}

fn config(root: &mut Table<'_>, report: &mut Report) -> RawConfig {
    if root.boolean(report, "lenient").is_some_and(|lenient| lenient.value) {
        report.be_lenient();
    }
    let log = root.table(report, "log").map(|mut table| log(&mut table, report)).unwrap_or_default();
    let state_dir = root.table(report, "state").and_then(|mut table| {
        let dir = table.string(report, "dir");
        table.finish(report);
        dir
    });
    let metrics = root.table(report, "metrics").and_then(|mut table| {
        let listen = table.parsed(report, "listen", address);
        table.finish(report);
        listen
    });
    let history_table = root.table(report, "history").and_then(|mut table| {
        let service = table.string(report, "table");
        table.finish(report);
        service
    });
    let mut notifications = Vec::new();
    for mut table in root.tables(report, "notification") {
        notifications.push(notification(&mut table, report));
    }
    let mut applications = Vec::new();
    for mut table in root.tables(report, "app") {
        applications.push(application(&mut table, report));
    }
    root.finish(report);
    RawConfig {
        format: Format::Toml,
        has_comments: false,
        notifications,
        applications,
        log,
        state_dir,
        history_table,
        metrics,
    }
}

fn log(table: &mut Table<'_>, report: &mut Report) -> RawLog {
    let levels = [
        ("error", LogLevel::Error),
        ("warn", LogLevel::Warn),
        ("info", LogLevel::Info),
        ("debug", LogLevel::Debug),
        ("trace", LogLevel::Trace),
    ];
    let formats = [("text", LogFormat::Text), ("json", LogFormat::Json)];
    let rotations =
        [("daily", LogRotation::Daily), ("hourly", LogRotation::Hourly), ("never", LogRotation::Never)];
    let log = RawLog {
        level: table.choice(report, "level", &levels).map(|level| level.value),
        format: table.choice(report, "format", &formats).map(|format| format.value),
        file: table.string(report, "file"),
        rotation: table.choice(report, "rotation", &rotations).map(|rotation| rotation.value),
        keep: table.number(report, "keep", 1, 100_000),
    };
    table.finish(report);
    log
}

fn notification(table: &mut Table<'_>, report: &mut Report) -> RawNotification {
    let notification = RawNotification {
        name: table.required(report, "name", Table::string),
        description: None,
        id: None,
        connection: table.required(report, "connection", Table::string),
        enabled: table.boolean(report, "enabled"),
    };
    table.finish(report);
    notification
}

fn application(table: &mut Table<'_>, report: &mut Report) -> RawApplication {
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
        process: process::read(table, report),
        environment: table.variables(report, "env"),
        pass_connection: table.boolean(report, "pass_connection"),
        reenable: table.table(report, "reenable").map(|table| reenable(table, report)),
    };
    table.finish(report);
    application
}

fn reenable(mut table: Table<'_>, report: &mut Report) -> Located<RawReenable> {
    let reenable = RawReenable {
        after: table.parsed(report, "after", parse_duration),
        at_most: table.number(report, "at_most", 1, 1000),
    };
    table.finish(report);
    Located { value: reenable, line: table.line() }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| format!("'{text}' is not an address and a port, as in 127.0.0.1:9464 or [::]:9464"))
}

fn queue_address(on: &mut Table<'_>, report: &mut Report) -> [Option<Located<String>>; 4] {
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
