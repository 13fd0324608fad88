//! Which entries of a configuration may not be alike: names, numbers and queues.
//!
//! Pure; reports and changes nothing.

use super::fault::Report;
use super::raw::{Format, Located, RawApplication, RawNotification};
use std::collections::HashMap;

/// Reports notification services that are alike.
pub(super) fn notifications(format: Format, all: &[RawNotification], report: &mut Report) {
    let mut names = Seen::new("notification service name");
    let mut ids = Seen::new("notification service id");
    for raw in all {
        let Some(name) = &raw.name else { continue };
        let key = match format {
            Format::EaService | Format::Ancestor => name.value.clone(),
            // The same service name may well exist on two servers.
            Format::Toml => {
                format!("{}\0{}", name.value, raw.connection.as_ref().map_or("", |c| c.value.as_str()))
            }
        };
        names.check(key, &name.value, name.line, report);
        if let Some(id) = &raw.id {
            ids.check(id.value.to_string(), &id.value.to_string(), id.line, report);
        }
    }
    if format == Format::EaService {
        one_enabled(all, report);
    }
}

/// Reports applications that have the same name or the same queue.
pub(super) fn applications(all: &[RawApplication], report: &mut Report) {
    let mut names = Seen::new("application name");
    for name in all.iter().filter_map(|raw| raw.name.as_ref()) {
        names.check(name.value.clone(), &name.value, name.line, report);
    }
    let mut queues: HashMap<String, Vec<&RawApplication>> = HashMap::new();
    for raw in all {
        let Some((name, line)) = queue_name(raw) else { continue };
        let others = queues.entry(name.to_lowercase()).or_default();
        if let Some(other) = others.iter().find(|other| !told_apart(other, raw)) {
            let other_line = queue_name(other).map_or(other.line, |(_, line)| line);
            report.fault(line, format!("queue '{name}' is used already on line {other_line}"));
        }
        others.push(raw);
    }
}

/// Keys seen so far and the line of each.
struct Seen {
    what: &'static str,
    lines: HashMap<String, u32>,
}

impl Seen {
    fn new(what: &'static str) -> Self {
        Self { what, lines: HashMap::new() }
    }

    fn check(&mut self, key: String, shown: &str, line: u32, report: &mut Report) {
        if let Some(first) = self.lines.get(&key) {
            report.fault(line, format!("{} '{shown}' is used already on line {first}", self.what));
        } else {
            self.lines.insert(key, line);
        }
    }
}

/// The old product listened on one service only; which one of several was never said.
fn one_enabled(all: &[RawNotification], report: &mut Report) {
    let mut enabled = all.iter().filter_map(|raw| raw.enabled.as_ref()).filter(|enabled| enabled.value);
    if let (Some(first), Some(second)) = (enabled.next(), enabled.next()) {
        report.deviation(
            second.line,
            format!(
                "only one notification service may be enabled in EAService.config, and the one on line {} is; \
                 activator.toml allows several",
                first.line
            ),
        );
    }
}

fn queue_name(raw: &RawApplication) -> Option<(String, u32)> {
    let (database, schema, queue) = (raw.database.as_ref()?, raw.schema.as_ref()?, raw.queue.as_ref()?);
    Some((format!("{}.{}.{}", database.value, schema.value, queue.value), queue.line))
}

/// Two entries for one queue name can be told apart only where both let the server name decide.
fn told_apart(left: &RawApplication, right: &RawApplication) -> bool {
    match (deciding_server(left), deciding_server(right)) {
        (Some(left), Some(right)) => left != right,
        _ => false,
    }
}

fn deciding_server(raw: &RawApplication) -> Option<String> {
    let strict: Option<&Located<bool>> = raw.strict_server.as_ref();
    let server = raw.server.as_ref()?;
    strict.is_some_and(|strict| strict.value).then(|| server.value.to_lowercase())
}
