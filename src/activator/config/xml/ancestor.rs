//! Reads the configuration of the sample program of 2005, from which the old product descends, so that it can be
//! converted.
//!
//! Its root has no namespace; `Setup` names one notification service, and each `ConfigurationRecord` is an application.
//! What it can say and this product cannot is reported, never dropped in silence.

use super::super::argument::split_command_line;
use super::super::fault::Report;
use super::super::raw::{Format, Located, RawApplication, RawConfig, RawLog, RawNotification, RawProcess};
use super::value::{boolean, unsigned};
use crate::activator::nearest::nearest;
use crate::activator::xml_tree::Element;
use std::collections::HashMap;

const SETUP: [&str; 4] =
    ["NotificationSQLServer", "NotificationDatabase", "NotificationService", "EnableDebugTrace"];
const RECORD: [&str; 12] = [
    "ApplicationName",
    "SQLServer",
    "Database",
    "Schema",
    "Queue",
    "CommandLineArgs",
    "Min",
    "Max",
    "HasConsole",
    "StandardOut",
    "StandardIn",
    "StandardErr",
];

/// Whether `root` is that of such a file.
pub(super) fn is_root(root: &Element) -> bool {
    let own = |child: &Element| matches!(child.name.as_str(), "Setup" | "ConfigurationRecord");
    root.name == "Activator" && root.namespace.is_none() && root.children.iter().any(own)
}

/// Reads a whole file.
pub(super) fn read(root: &Element, report: &mut Report) -> RawConfig {
    let mut notifications = Vec::new();
    let mut applications = Vec::new();
    let mut names = HashMap::new();
    let mut log = RawLog::default();
    for child in &root.children {
        match child.name.as_str() {
            "Setup" => notifications.push(setup(child, &mut log, report)),
            "ConfigurationRecord" => applications.push(record(child, &mut names, report)),
            other => report.deviation(child.line, format!("<{other}> is not allowed in <Activator>")),
        }
    }
    if notifications.is_empty() {
        report.fault(root.line, "<Activator> lacks <Setup>, which names the notification service");
    }
    RawConfig {
        format: Format::Ancestor,
        has_comments: false,
        notifications,
        applications,
        log,
        state_dir: None,
        history_table: None,
        metrics: None,
    }
}

fn setup(element: &Element, log: &mut RawLog, report: &mut Report) -> RawNotification {
    let [server, database, name, trace] = texts(element, SETUP, report);
    let trace = trace.and_then(|trace| boolean(report, "EnableDebugTrace", &trace));
    if trace.is_some_and(|trace| trace.value) {
        log.level = Some(super::super::model::LogLevel::Debug);
    }
    for (written, what) in [(&server, SETUP[0]), (&database, SETUP[1]), (&name, SETUP[2])] {
        if written.is_none() {
            report.fault(element.line, format!("<Setup> lacks <{what}>"));
        }
    }
    let connection = server.zip(database).map(|(server, database)| Located {
        value: format!("server={};database={};integrated security=true", server.value, database.value),
        line: server.line,
    });
    let enabled = Some(Located { value: true, line: element.line });
    RawNotification { description: None, name, id: None, connection, enabled }
}

fn record(element: &Element, names: &mut HashMap<String, u32>, report: &mut Report) -> RawApplication {
    let [command, server, database, schema, queue, line, min, max, _, out, input, err] =
        texts(element, RECORD, report);
    for (written, what) in [(out, RECORD[9]), (input, RECORD[10]), (err, RECORD[11])] {
        if let Some(written) = written.filter(|written| !written.value.is_empty()) {
            let message = format!("<{what}> is left out: output goes to files in the state folder");
            report.warn(written.line, message);
        }
    }
    for (written, what) in [(&database, "Database"), (&schema, "Schema"), (&queue, "Queue")] {
        if written.as_ref().is_none_or(|written| written.value.is_empty()) {
            let line = written.as_ref().map_or(element.line, |written| written.line);
            report.fault(
                line,
                format!("<{what}> is blank, which meant any; each queue needs its own entry here"),
            );
        }
    }
    let is_filled = |written: &Located<String>| !written.value.is_empty();
    RawApplication {
        line: element.line,
        name: command.as_ref().map(|command| name_for(command, names)),
        enabled: enabled(element, report),
        server,
        database: database.filter(is_filled),
        schema: schema.filter(is_filled),
        queue: queue.filter(is_filled),
        strict_server: None,
        command,
        arguments: line.map(arguments).unwrap_or_default(),
        work_dir: None,
        min: Some(number("Min", min, 0, element, report)),
        max: Some(number("Max", max, 1, element, report)),
        process: RawProcess::default(),
        environment: Vec::new(),
        pass_connection: None,
        reenable: None,
    }
}

/// A record is off unless it says otherwise.
fn enabled(element: &Element, report: &mut Report) -> Option<Located<bool>> {
    let mut enabled = Some(Located { value: false, line: element.line });
    for attribute in &element.attributes {
        if attribute.name == "Enabled" {
            let written = Located { value: attribute.value.clone(), line: attribute.line };
            enabled = boolean(report, "Enabled", &written);
        } else {
            let message = format!("attribute '{}' is not allowed on <{}>", attribute.name, element.name);
            report.deviation(attribute.line, message);
        }
    }
    enabled
}

/// The texts of the children of `parent`, each of which may stand there once, in any order.
fn texts<const N: usize>(
    parent: &Element,
    names: [&'static str; N],
    report: &mut Report,
) -> [Option<Located<String>>; N] {
    let mut found = [const { None }; N];
    for child in &parent.children {
        let Some(place) = names.iter().position(|name| *name == child.name) else {
            let hint = nearest(&child.name, names)
                .map_or_else(String::new, |known| format!("; did you mean <{known}>?"));
            report
                .deviation(child.line, format!("<{}> is not allowed in <{}>{hint}", child.name, parent.name));
            continue;
        };
        let line = child.text_line.unwrap_or(child.line);
        let text = Located { value: child.text.trim().to_owned(), line };
        if found[place].replace(text).is_some() {
            report.fault(child.line, format!("<{}> may stand only once in <{}>", child.name, parent.name));
        }
    }
    found
}

fn number(
    what: &str,
    written: Option<Located<String>>,
    default: u32,
    element: &Element,
    report: &mut Report,
) -> Located<u32> {
    let number = written.and_then(|written| unsigned(report, what, &written, 0, u32::from(u16::MAX)));
    number.unwrap_or(Located { value: default, line: element.line })
}

fn arguments(line: Located<String>) -> Vec<Located<String>> {
    let words = split_command_line(&line.value);
    words.into_iter().map(|value| Located { value, line: line.line }).collect()
}

/// The sample names programs only; an application is called after its program, the second of a kind with a number.
fn name_for(command: &Located<String>, names: &mut HashMap<String, u32>) -> Located<String> {
    let file = command.value.rsplit(['/', '\\']).next().unwrap_or_default();
    let stem = file.strip_suffix(".exe").unwrap_or(file);
    let count = names.entry(stem.to_lowercase()).or_insert(0);
    *count += 1;
    let value = if *count == 1 { stem.to_owned() } else { format!("{stem}-{count}") };
    Located { value, line: command.line }
}
