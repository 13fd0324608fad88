//! Writes `activator.toml`.

use super::super::fault::Report;
use super::super::model::{DeadLetter, LogFormat, LogLevel, LogRotation};
use super::super::quantity::{write_duration, write_rate, write_size};
use super::super::raw::{
    Format, Located, RawApplication, RawBackoff, RawConfig, RawFeed, RawKind, RawLimits, RawLog,
    RawNotification, RawProcess, RawReenable,
};
use std::fmt::Write;

/// The content of a file that says the same as `raw`.
pub(super) fn write(raw: &RawConfig, report: &mut Report) -> String {
    let mut blocks = Vec::new();
    blocks.extend(section("[log]", log(&raw.log)));
    blocks.extend(section("[state]", raw.state_dir.iter().map(|dir| ("dir", quoted(&dir.value))).collect()));
    let table = raw.history_table.iter().map(|service| ("table", quoted(&service.value)));
    blocks.extend(section("[history]", table.collect()));
    let listen = raw.metrics.iter().map(|listen| ("listen", quoted(&listen.value.to_string())));
    blocks.extend(section("[metrics]", listen.collect()));
    let enabled = |one: &&RawNotification| one.enabled.as_ref().is_none_or(|enabled| enabled.value);
    if raw.format != Format::Toml && raw.notifications.iter().filter(enabled).count() > 1 {
        report.warn(1, "several notification services are enabled: all of them are listened on");
    }
    blocks.extend(raw.notifications.iter().map(notification));
    blocks.extend(raw.applications.iter().map(application));
    blocks.join("\n")
}

type Keys = Vec<(&'static str, String)>;

fn section(head: &str, keys: Keys) -> Option<String> {
    if keys.is_empty() {
        return None;
    }
    let mut text = format!("{head}\n");
    for (key, value) in keys {
        writeln!(text, "{key} = {value}").expect("writing to a string does not fail");
    }
    Some(text)
}

fn log(log: &RawLog) -> Keys {
    let mut keys = Keys::new();
    keys.extend(log.level.map(|level| ("level", quoted(level_name(level)))));
    keys.extend(log.format.map(|format| match format {
        LogFormat::Text => ("format", quoted("text")),
        LogFormat::Json => ("format", quoted("json")),
    }));
    keys.extend(log.file.as_ref().map(|file| ("file", quoted(&file.value))));
    keys.extend(log.rotation.map(|rotation| {
        let name = match rotation {
            LogRotation::Daily => "daily",
            LogRotation::Hourly => "hourly",
            LogRotation::Never => "never",
        };
        ("rotation", quoted(name))
    }));
    keys.extend(log.keep.as_ref().map(|keep| ("keep", keep.value.to_string())));
    keys
}

fn level_name(level: LogLevel) -> &'static str {
    match level {
        LogLevel::Error => "error",
        LogLevel::Warn => "warn",
        LogLevel::Info => "info",
        LogLevel::Debug => "debug",
        LogLevel::Trace => "trace",
    }
}

fn notification(raw: &RawNotification) -> String {
    let mut keys = Keys::new();
    keys.extend(string("name", raw.name.as_ref()));
    keys.extend(string("connection", raw.connection.as_ref()));
    keys.extend(boolean("enabled", raw.enabled.as_ref()));
    let block = section("[[notification]]", keys).unwrap_or_default();
    let description = raw.description.as_ref().map_or("", |description| description.value.as_str());
    // What is for people stays for people.
    let comment: String = description.lines().map(|line| format!("# {}\n", without_control(line))).collect();
    comment + &block
}

fn application(raw: &RawApplication) -> String {
    let mut on = Keys::new();
    on.extend(string("server", raw.server.as_ref()).filter(|(_, server)| server != "\"\""));
    on.extend(string("database", raw.database.as_ref()));
    on.extend(string("schema", raw.schema.as_ref()));
    on.extend(string("queue", raw.queue.as_ref()));
    let arguments: Vec<_> = raw.arguments.iter().map(|argument| quoted(&argument.value)).collect();
    let variables = raw
        .environment
        .iter()
        .map(|(name, value)| format!("{} = {}", quoted(&name.value), quoted(&value.value)));
    let variables: Vec<_> = variables.collect();
    let mut keys = Keys::new();
    keys.extend(string("name", raw.name.as_ref()));
    keys.extend(boolean("enabled", raw.enabled.as_ref()));
    keys.push(("on", inline(on)));
    keys.extend(boolean("strict_server", raw.strict_server.as_ref()));
    keys.extend(kind(raw.process.kind.as_ref()));
    keys.extend(string("command", raw.command.as_ref()));
    keys.extend((!arguments.is_empty()).then(|| ("args", format!("[{}]", arguments.join(", ")))));
    keys.extend(string("work_dir", raw.work_dir.as_ref()).filter(|(_, folder)| folder != "\"\""));
    keys.extend(raw.min.as_ref().map(|min| ("min", min.value.to_string())));
    keys.extend(raw.max.as_ref().map(|max| ("max", max.value.to_string())));
    keys.extend((!variables.is_empty()).then(|| ("env", format!("{{ {} }}", variables.join(", ")))));
    keys.extend(boolean("pass_connection", raw.pass_connection.as_ref()));
    keys.extend(raw.reenable.as_ref().map(|settings| ("reenable", inline(reenable(&settings.value)))));
    keys.extend(process(&raw.process));
    section("[[app]]", keys).unwrap_or_default()
}

fn kind(kind: Option<&Located<RawKind>>) -> Option<(&'static str, String)> {
    kind.map(|kind| {
        let name = match kind.value {
            RawKind::Launch => "launch",
            RawKind::Resident => "resident",
            RawKind::Feed => "feed",
        };
        ("kind", quoted(name))
    })
}

fn process(raw: &RawProcess) -> Keys {
    let duration = write_duration;
    let mut keys = Keys::new();
    keys.extend(raw.user.as_ref().map(|user| ("user", quoted(&user.value.to_string()))));
    keys.extend(raw.group.as_ref().map(|group| ("group", quoted(&group.value.to_string()))));
    keys.extend(raw.umask.as_ref().map(|umask| ("umask", format!("\"{:03o}\"", umask.value))));
    keys.extend(raw.timeout.as_ref().map(|timeout| ("timeout", quoted(&duration(timeout.value)))));
    keys.extend(raw.stop_grace.as_ref().map(|grace| ("stop_grace", quoted(&duration(grace.value)))));
    keys.extend(table("backoff", backoff(&raw.backoff)));
    keys.extend(raw.rate.as_ref().map(|rate| ("rate", quoted(&write_rate(rate.value)))));
    keys.extend(table("limits", limits(&raw.limits)));
    keys.extend(raw.feed.as_ref().map(|settings| ("feed", inline(feed(&settings.value)))));
    keys
}

fn reenable(raw: &RawReenable) -> Keys {
    let mut keys = Keys::new();
    keys.extend(raw.after.as_ref().map(|after| ("after", quoted(&write_duration(after.value)))));
    keys.extend(raw.at_most.as_ref().map(|times| ("at_most", times.value.to_string())));
    keys
}

fn backoff(raw: &RawBackoff) -> Keys {
    let durations = [("first", &raw.first), ("max", &raw.max), ("reset_after", &raw.reset_after)];
    let written =
        |(key, pause): (_, &Option<Located<_>>)| Some((key, quoted(&write_duration(pause.as_ref()?.value))));
    let mut keys: Keys = durations.into_iter().filter_map(written).collect();
    keys.extend(raw.give_up_after.as_ref().map(|failures| ("give_up_after", failures.value.to_string())));
    keys
}

fn limits(raw: &RawLimits) -> Keys {
    let mut keys = Keys::new();
    keys.extend(raw.memory.as_ref().map(|memory| ("memory", quoted(&write_size(memory.value)))));
    keys.extend(raw.cpu.as_ref().map(|cpu| ("cpu", quoted(&write_duration(cpu.value)))));
    keys.extend(raw.files.as_ref().map(|files| ("files", files.value.to_string())));
    keys
}

fn feed(raw: &RawFeed) -> Keys {
    let mut keys = Keys::new();
    keys.extend(raw.batch.as_ref().map(|batch| ("batch", batch.value.to_string())));
    keys.extend(raw.attempts.as_ref().map(|attempts| ("attempts", attempts.value.to_string())));
    keys.extend(raw.retry.as_ref().map(|retry| ("retry", quoted(&write_duration(retry.value)))));
    keys.extend(raw.dead_letter.as_ref().map(|dead_letter| match dead_letter.value {
        DeadLetter::Table => ("dead_letter", quoted("table")),
        DeadLetter::EndConversation => ("dead_letter", quoted("end")),
    }));
    keys.extend(boolean("system", raw.system.as_ref()));
    keys.extend(raw.file_above.as_ref().map(|size| ("file_above", quoted(&write_size(size.value)))));
    keys.extend(raw.idle.as_ref().map(|idle| ("idle", quoted(&write_duration(idle.value)))));
    keys
}

fn string(key: &'static str, text: Option<&Located<String>>) -> Option<(&'static str, String)> {
    text.map(|text| (key, quoted(&text.value)))
}

fn boolean(key: &'static str, value: Option<&Located<bool>>) -> Option<(&'static str, String)> {
    value.map(|value| (key, value.value.to_string()))
}

fn table(key: &'static str, keys: Keys) -> Option<(&'static str, String)> {
    (!keys.is_empty()).then(|| (key, inline(keys)))
}

fn inline(keys: Keys) -> String {
    if keys.is_empty() {
        return "{}".to_owned();
    }
    let keys: Vec<_> = keys.into_iter().map(|(key, value)| format!("{key} = {value}")).collect();
    format!("{{ {} }}", keys.join(", "))
}

/// A TOML string: as it stands between single quotes where backslashes would have to be doubled, else a basic one.
fn quoted(text: &str) -> String {
    if text.contains('\\') && !text.contains(|c: char| c == '\'' || c.is_control()) {
        return format!("'{text}'");
    }
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => {
                write!(quoted, "\\u{:04X}", u32::from(c)).expect("writing to a string does not fail");
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

fn without_control(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}
