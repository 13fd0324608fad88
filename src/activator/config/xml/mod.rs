//! Reads `EAService.config`, the old product's format, into the raw shape.
//!
//! Strict: namespace, order, occurrence and lexical forms are those of the published `EAServiceConfig.xsd` (schema
//! version 1.0). What the schema does not say (unique names, `min` not above `max`) is judged in [`super::validate`].
//! A lenient reading passes over what the schema does not know and over elements left out that may be empty.

mod ancestor;
mod sequence;
mod value;

use super::argument::split_command_line;
use super::fault::Report;
use super::model::LogLevel;
use super::raw::{Format, Located, RawApplication, RawConfig, RawLog, RawNotification, RawProcess};
use super::reading::Reading;
use crate::activator::text::{Decoded, Encoding};
use crate::activator::xml_tree::{self, Element};
use sequence::{Slot, attributes, empty, sequence, string};
use value::{boolean, unsigned};

/// Namespace of every element.
pub(crate) const NAMESPACE: &str =
    "http://schemas.microsoft.com/sqlserver/2008/10/servicebroker/externalactivator";

/// The words of the processing instruction that asks for a lenient reading. The schema allows instructions anywhere, so
/// a file that holds it is as valid as before.
const LENIENT: [&str; 2] = ["ssbroker", "lenient"];

/// Reads a whole file. `None` if it is no XML or its root is another element; the report says so then.
pub(crate) fn read(source: &Decoded, reading: Reading, report: &mut Report) -> Option<RawConfig> {
    let document = match xml_tree::parse(&source.text) {
        Ok(document) => document,
        Err(error) => {
            report.fault(error.line, format!("not well-formed XML: {}", error.message));
            return None;
        }
    };
    check_encoding(document.declared_encoding.as_deref(), source.encoding, report);
    let asks_for_lenience = |instruction: &String| instruction.split_ascii_whitespace().eq(LENIENT);
    if document.instructions.iter().any(asks_for_lenience) {
        report.be_lenient();
    }
    let root = &document.root;
    if ancestor::is_root(root) && reading.reads_ancestor() {
        return Some(RawConfig { has_comments: document.has_comments, ..ancestor::read(root, report) });
    }
    if root.name != "Activator" || root.namespace.as_deref() != Some(NAMESPACE) {
        report.fault(root.line, wrong_root(root));
        return None;
    }
    Some(RawConfig { has_comments: document.has_comments, ..activator(root, report) })
}

/// A file whose declaration contradicts its bytes was damaged by a conversion; its other characters are suspect too.
fn check_encoding(declared: Option<&str>, actual: Encoding, report: &mut Report) {
    let Some(declared) = declared else { return };
    let lower = declared.to_ascii_lowercase();
    let agrees = match actual {
        Encoding::Utf8 => matches!(lower.as_str(), "utf-8" | "utf8" | "us-ascii" | "ascii"),
        // The byte-order mark outranks the declaration, as it does for the XML reader of the old product.
        Encoding::Utf16 => true,
    };
    if !agrees {
        report.fault(
            1,
            format!(
                "the file declares encoding '{declared}', but is not in it; save it as UTF-8 or as UTF-16"
            ),
        );
    }
}

fn wrong_root(root: &Element) -> String {
    if root.name != "Activator" {
        return format!("the root element must be <Activator>, not <{}>", root.name);
    }
    if ancestor::is_root(root) {
        return "this is a file of the sample program of 2005, the old product's ancestor; \
                `ssbroker activator convert FILE` makes an activator.toml of it"
            .to_owned();
    }
    match &root.namespace {
        None => format!("<Activator> is in no namespace; write xmlns=\"{NAMESPACE}\""),
        Some(other) => format!("<Activator> is in namespace '{other}'; it must be '{NAMESPACE}'"),
    }
}

fn activator(root: &Element, report: &mut Report) -> RawConfig {
    let [] = attributes(report, root, []);
    let [notifications, applications, log] = sequence(
        report,
        root,
        [
            Slot::once("NotificationServiceList"),
            Slot::once("ApplicationServiceList"),
            Slot::once("LogSettings").may_be_empty(),
        ],
    );
    RawConfig {
        format: Format::EaService,
        has_comments: false,
        notifications: list(notifications, "NotificationService", notification_service, report),
        applications: list(applications, "ApplicationService", application_service, report),
        log: log.first().map(|settings| log_settings(settings, report)).unwrap_or_default(),
        state_dir: None,
        history_table: None,
        metrics: None,
    }
}

fn list<T>(
    lists: Vec<&Element>,
    item: &'static str,
    read: fn(&Element, &mut Report) -> T,
    report: &mut Report,
) -> Vec<T> {
    let mut items = Vec::new();
    for list in lists {
        let [] = attributes(report, list, []);
        let [found] = sequence(report, list, [Slot::one_or_more(item)]);
        items.extend(found.into_iter().map(|element| read(element, report)));
    }
    items
}

fn notification_service(element: &Element, report: &mut Report) -> RawNotification {
    let [name, id, enabled] = attributes(report, element, ["name", "id", "enabled"]);
    let [description, connection] =
        sequence(report, element, [Slot::once("Description").may_be_empty(), Slot::once("ConnectionString")]);
    let description = description.first().map(|description| string(report, description));
    RawNotification {
        description,
        name,
        id: id.and_then(|id| unsigned(report, "id", &id, 0, u32::MAX)),
        enabled: enabled.and_then(|enabled| boolean(report, "enabled", &enabled)),
        connection: connection.first().and_then(|connection| unencrypted(connection, report)),
    }
}

fn unencrypted(connection: &Element, report: &mut Report) -> Option<Located<String>> {
    let [] = attributes(report, connection, []);
    let [text] = sequence(report, connection, [Slot::once("Unencrypted")]);
    text.first().map(|text| string(report, text))
}

fn application_service(element: &Element, report: &mut Report) -> RawApplication {
    let [name, enabled] = attributes(report, element, ["name", "enabled"]);
    let [on, launch, concurrency] = sequence(
        report,
        element,
        [Slot::once("OnNotification"), Slot::once("LaunchInfo"), Slot::once("Concurrency")],
    );
    let names = ["ServerName", "DatabaseName", "SchemaName", "QueueName"];
    let [server, database, schema, queue] = strings(on.first(), names, report);
    let [command, line, work_dir] = strings(launch.first(), ["ImagePath", "CmdLineArgs", "WorkDir"], report);
    let [min, max] = concurrency.first().map_or([None, None], |element| limits(element, report));
    RawApplication {
        line: element.line,
        name,
        enabled: enabled.and_then(|enabled| boolean(report, "enabled", &enabled)),
        server,
        database,
        schema,
        queue,
        strict_server: None,
        command,
        arguments: line.map(arguments).unwrap_or_default(),
        work_dir,
        min,
        max,
        process: RawProcess::default(),
        environment: Vec::new(),
        pass_connection: None,
        reenable: None,
    }
}

/// The texts of the children of `parent`, which must be `names` in that order.
fn strings<const N: usize>(
    parent: Option<&&Element>,
    names: [&'static str; N],
    report: &mut Report,
) -> [Option<Located<String>>; N] {
    let Some(parent) = parent else { return std::array::from_fn(|_| None) };
    let [] = attributes(report, parent, []);
    let slot = |name| match name {
        "ServerName" | "CmdLineArgs" | "WorkDir" => Slot::once(name).may_be_empty(),
        _ => Slot::once(name),
    };
    let found = sequence(report, parent, names.map(slot));
    found.map(|elements| elements.first().map(|element| string(report, element)))
}

fn arguments(line: Located<String>) -> Vec<Located<String>> {
    let words = split_command_line(&line.value);
    words.into_iter().map(|value| Located { value, line: line.line }).collect()
}

/// `min` is restricted to 16 by the schema, `max` is an unsigned short.
fn limits(element: &Element, report: &mut Report) -> [Option<Located<u32>>; 2] {
    let [min, max] = attributes(report, element, ["min", "max"]);
    empty(report, element);
    [
        min.and_then(|min| unsigned(report, "min", &min, 0, 16)),
        max.and_then(|max| unsigned(report, "max", &max, 0, u32::from(u16::MAX))),
    ]
}

fn log_settings(element: &Element, report: &mut Report) -> RawLog {
    let [] = attributes(report, element, []);
    let [filters] = sequence(report, element, [Slot::once("LogFilter").may_be_empty()]);
    let mut level = None;
    for filter in filters {
        let [] = attributes(report, filter, []);
        let [flags] = sequence(report, filter, [Slot::any_number("TraceFlag")]);
        for flag in flags {
            level = level.max(trace_flag(flag, report));
        }
    }
    RawLog { level, ..RawLog::default() }
}

/// The level a trace flag asks for. How levels, modules and entities combine was never documented: the most talkative
/// level counts, and a narrower choice of modules or entities is answered with a warning, since all of them are logged.
fn trace_flag(element: &Element, report: &mut Report) -> Option<LogLevel> {
    let flag = string(report, element);
    let collapsed = flag.value.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    match collapsed.as_str() {
        "Error" => Some(LogLevel::Error),
        "Warning" => Some(LogLevel::Warn),
        "Information" => Some(LogLevel::Info),
        "Verbose" | "All Levels" => Some(LogLevel::Debug),
        "All Modules" | "All Entities" => None,
        "Application Monitor"
        | "Configuration Manager"
        | "Global"
        | "Recovery Log"
        | "Imported Methods"
        | "Notification Service"
        | "Service Broker"
        | "Asynchronous Updates"
        | "Threads" => {
            report.warn(flag.line, format!("trace flag '{collapsed}' does not narrow the log; everything of the chosen level is logged"));
            None
        }
        other => {
            report.deviation(
                flag.line,
                format!("'{other}' is not a trace flag; the flags and their case are in EAServiceConfig.xsd"),
            );
            None
        }
    }
}

#[cfg(test)]
mod tests;
