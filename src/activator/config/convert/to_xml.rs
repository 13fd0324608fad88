//! Writes `EAService.config`, valid against its schema, and reports what it cannot say.

use super::super::argument::join_command_line;
use super::super::fault::Report;
use super::super::model::{
    Application, BackoffSettings, Config, Kind, Limits, LogLevel, LogSettings, StateSettings,
};
use super::super::raw::{Located, RawApplication, RawConfig, RawLog, RawNotification};
use super::super::xml::NAMESPACE;
use std::fmt::Write;

/// The most that the schema allows for `min`.
const MOST_MIN: u32 = 16;
/// The first number of a notification service; they mean nothing, and this one is in every published file.
const FIRST_ID: u32 = 100;

/// The content of a file that says as much as it can of `raw`, whose meaning is `config`.
pub(super) fn write(raw: &RawConfig, config: &Config, report: &mut Report) -> String {
    let mut xml = Xml { text: String::new(), report };
    xml.line(0, "<?xml version=\"1.0\" encoding=\"utf-8\"?>");
    xml.several_services(raw);
    xml.line(0, &format!("<Activator xmlns=\"{NAMESPACE}\""));
    xml.line(0, "           xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"");
    xml.line(0, &format!("           xsi:schemaLocation=\"{NAMESPACE} EAServiceConfig.xsd\">"));
    xml.line(1, "<NotificationServiceList>");
    for (service, id) in raw.notifications.iter().zip(FIRST_ID..) {
        xml.notification(service, id);
    }
    xml.line(1, "</NotificationServiceList>");
    xml.line(1, "<ApplicationServiceList>");
    for (written, meant) in raw.applications.iter().zip(&config.applications) {
        xml.application(written, meant);
    }
    xml.line(1, "</ApplicationServiceList>");
    xml.log(&raw.log, &config.log);
    xml.line(0, "</Activator>");
    xml.settings(raw, config);
    xml.text
}

struct Xml<'a> {
    text: String,
    report: &'a mut Report,
}

impl Xml<'_> {
    /// The old product takes one; this program takes several if the file asks for a lenient reading.
    fn several_services(&mut self, raw: &RawConfig) {
        let is_enabled = |one: &&RawNotification| one.enabled.as_ref().is_none_or(|enabled| enabled.value);
        if raw.notifications.iter().filter(is_enabled).count() > 1 {
            self.line(0, "<?ssbroker lenient?>");
            self.report.warn(
                1,
                "several notification services are enabled, of which the old product would take one only",
            );
        }
    }

    fn notification(&mut self, raw: &RawNotification, id: u32) {
        let name = self.attribute(raw.name.as_ref());
        let id = raw.id.as_ref().map_or(id, |id| id.value);
        let enabled = raw.enabled.as_ref().is_none_or(|enabled| enabled.value);
        self.line(2, &format!("<NotificationService name=\"{name}\" id=\"{id}\" enabled=\"{enabled}\">"));
        self.element(3, "Description", raw.description.as_ref());
        self.line(3, "<ConnectionString>");
        self.element(4, "Unencrypted", raw.connection.as_ref());
        self.line(3, "</ConnectionString>");
        self.line(2, "</NotificationService>");
    }

    fn application(&mut self, raw: &RawApplication, meant: &Application) {
        let name = self.attribute(raw.name.as_ref());
        self.line(2, &format!("<ApplicationService name=\"{name}\" enabled=\"{}\">", meant.enabled));
        self.line(3, "<OnNotification>");
        self.element(4, "ServerName", raw.server.as_ref());
        self.element(4, "DatabaseName", raw.database.as_ref());
        self.element(4, "SchemaName", raw.schema.as_ref());
        self.element(4, "QueueName", raw.queue.as_ref());
        self.line(3, "</OnNotification>");
        self.line(3, "<LaunchInfo>");
        self.element(4, "ImagePath", raw.command.as_ref());
        let words: Vec<&str> = raw.arguments.iter().map(|argument| argument.value.as_str()).collect();
        let line = raw.arguments.first().map_or(raw.line, |argument| argument.line);
        let arguments = Located { value: join_command_line(&words), line };
        self.element(4, "CmdLineArgs", Some(&arguments));
        self.element(4, "WorkDir", raw.work_dir.as_ref());
        self.line(3, "</LaunchInfo>");
        let min = self.min(raw, meant.min);
        self.line(3, &format!("<Concurrency min=\"{min}\" max=\"{}\" />", meant.max));
        self.line(2, "</ApplicationService>");
        self.lost_of_application(raw, meant);
    }

    fn min(&mut self, raw: &RawApplication, min: u32) -> u32 {
        if min > MOST_MIN {
            let line = raw.min.as_ref().map_or(raw.line, |min| min.line);
            self.report.warn(
                line,
                format!("min = {min} becomes {MOST_MIN}, the most that EAService.config can say"),
            );
        }
        min.min(MOST_MIN)
    }

    fn lost_of_application(&mut self, raw: &RawApplication, meant: &Application) {
        let process = &raw.process;
        let line = |written: Option<u32>| written.unwrap_or(raw.line);
        let backoff = &process.backoff;
        let backoff_line = backoff.first.as_ref().or(backoff.max.as_ref()).or(backoff.reset_after.as_ref());
        let default_grace = std::time::Duration::from_secs(30);
        let keys = [
            ("strict_server", meant.strict_server, line(raw.strict_server.as_ref().map(|it| it.line))),
            ("pass_connection", meant.pass_connection, line(raw.pass_connection.as_ref().map(|it| it.line))),
            ("reenable", meant.reenable.is_some(), line(raw.reenable.as_ref().map(|it| it.line))),
            ("env", !raw.environment.is_empty(), line(raw.environment.first().map(|(name, _)| name.line))),
            ("kind", meant.kind != Kind::Launch, line(process.kind.as_ref().map(|it| it.line))),
            ("user", meant.user.is_some(), line(process.user.as_ref().map(|it| it.line))),
            ("group", meant.group.is_some(), line(process.group.as_ref().map(|it| it.line))),
            ("umask", meant.umask.is_some(), line(process.umask.as_ref().map(|it| it.line))),
            ("timeout", meant.timeout.is_some(), line(process.timeout.as_ref().map(|it| it.line))),
            (
                "stop_grace",
                meant.stop_grace != default_grace,
                line(process.stop_grace.as_ref().map(|it| it.line)),
            ),
            ("backoff", meant.backoff != BackoffSettings::default(), line(backoff_line.map(|it| it.line))),
            ("rate", meant.rate.is_some(), line(process.rate.as_ref().map(|it| it.line))),
            (
                "limits",
                meant.limits != Limits::default(),
                line(process.limits.memory.as_ref().map(|it| it.line)),
            ),
        ];
        for (key, _, line) in keys.into_iter().filter(|(_, is_lost, _)| *is_lost) {
            self.lost(line, &format!("{key} of application {}", meant.name));
        }
    }

    fn log(&mut self, raw: &RawLog, meant: &LogSettings) {
        self.line(1, "<LogSettings>");
        self.line(2, "<LogFilter>");
        let flag = match meant.level {
            LogLevel::Error => "Error",
            LogLevel::Warn => "Warning",
            LogLevel::Info => "Information",
            LogLevel::Debug | LogLevel::Trace => "Verbose",
        };
        // Without a flag the level is the default, which need not be written down.
        if raw.level.is_some() {
            self.line(3, &format!("<TraceFlag>{flag}</TraceFlag>"));
        }
        self.line(2, "</LogFilter>");
        self.line(1, "</LogSettings>");
        if meant.level == LogLevel::Trace {
            self.report.warn(1, "log level trace becomes Verbose, which is debug");
        }
    }

    fn settings(&mut self, raw: &RawConfig, config: &Config) {
        let default = LogSettings::default();
        let log = &config.log;
        let is_log_lost = log.format != default.format
            || log.file.is_some()
            || log.rotation != default.rotation
            || log.keep != default.keep;
        if is_log_lost {
            let line = raw.log.file.as_ref().map_or(1, |file| file.line);
            self.lost(line, "everything in [log] but the level");
        }
        if let Some(dir) = raw.state_dir.as_ref().filter(|_| config.state != StateSettings::default()) {
            self.lost(dir.line, "[state]");
        }
        if let Some(service) = &raw.history_table {
            self.lost(service.line, "[history]");
        }
        if let Some(listen) = &raw.metrics {
            self.lost(listen.line, "[metrics]");
        }
    }

    fn lost(&mut self, line: u32, what: &str) {
        self.report.warn(line, format!("{what} is left out: EAService.config cannot say it"));
    }

    fn element(&mut self, depth: usize, name: &str, text: Option<&Located<String>>) {
        if let Some(text) = text {
            self.writable(text);
            if text.value.trim() != text.value {
                let message =
                    format!("'{}' begins or ends with white space, which is lost in <{name}>", text.value);
                self.report.fault(text.line, message);
            }
        }
        let content = text.map_or_else(String::new, |text| escaped(&text.value));
        self.line(depth, &format!("<{name}>{content}</{name}>"));
    }

    fn attribute(&mut self, text: Option<&Located<String>>) -> String {
        if let Some(text) = text {
            self.writable(text);
        }
        text.map_or_else(String::new, |text| escaped(&text.value))
    }

    /// Some characters cannot be in XML, not even escaped.
    fn writable(&mut self, text: &Located<String>) {
        let is_bad = |c: &char| c.is_control() && !matches!(c, '\t' | '\n' | '\r') && u32::from(*c) < 0x80;
        if let Some(bad) = text.value.chars().find(|c| is_bad(c) || matches!(c, '\u{FFFE}' | '\u{FFFF}')) {
            self.report
                .fault(text.line, format!("character U+{:04X} cannot be written in XML", u32::from(bad)));
        }
    }

    fn line(&mut self, depth: usize, line: &str) {
        writeln!(self.text, "{:1$}{line}", "", 2 * depth).expect("writing to a string does not fail");
    }
}

/// Text for an element or an attribute. White space other than a blank is written by number, since readers change it.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' | '\n' | '\r' => {
                write!(escaped, "&#{};", u32::from(c)).expect("writing to a string does not fail");
            }
            c => escaped.push(c),
        }
    }
    escaped
}
