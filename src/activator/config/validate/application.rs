//! The rules for one application: its queue, its program, its arguments and its numbers.

use super::super::argument::ArgumentTemplate;
use super::super::model::{Application, QueueAddress, Reenable};
use super::super::place;
use super::super::raw::{Located, RawApplication, RawReenable};
use super::Judge;
use std::path::PathBuf;

/// `min` and `max` where `activator.toml` does not give them.
const DEFAULT_CONCURRENCY: u32 = 1;
/// Longest name SQL Server accepts (`sysname`), in UTF-16 units.
const MAX_NAME: usize = 128;

impl Judge<'_> {
    pub(super) fn application(&mut self, raw: RawApplication) -> Option<Application> {
        let process = self.process(raw.process, raw.min.as_ref());
        let (min, max) = self.concurrency(raw.min, raw.max);
        self.deciding_server(raw.strict_server.as_ref(), raw.server.as_ref());
        let name = self.filled("the application name", raw.name);
        let server = raw.server.and_then(|server| self.optional_name("the server name", server));
        let database = self.name("the database name", raw.database);
        let schema = self.name("the schema name", raw.schema);
        let queue = self.name("the queue name", raw.queue);
        let command = self.command(raw.command);
        let arguments: Vec<_> = raw.arguments.iter().map(|written| self.argument(written)).collect();
        let work_dir = raw.work_dir.and_then(|dir| self.work_dir(&dir));
        let environment = raw.environment.into_iter().filter_map(|(n, v)| self.variable(n, v)).collect();
        Some(Application {
            name: name?.value,
            enabled: raw.enabled.is_none_or(|enabled| enabled.value),
            on: QueueAddress { server, database: database?, schema: schema?, queue: queue? },
            strict_server: raw.strict_server.is_some_and(|strict| strict.value),
            command: command?,
            arguments: arguments.into_iter().collect::<Option<_>>()?,
            work_dir,
            kind: process.kind,
            min,
            max,
            user: process.user,
            group: process.group,
            umask: process.umask,
            timeout: process.timeout,
            stop_grace: process.stop_grace,
            backoff: process.backoff,
            rate: process.rate,
            limits: process.limits,
            environment,
            pass_connection: raw.pass_connection.is_some_and(|pass| pass.value),
            reenable: raw.reenable.map(|reenable| reenabling(&reenable.value)),
        })
    }

    fn concurrency(&mut self, min: Option<Located<u32>>, max: Option<Located<u32>>) -> (u32, u32) {
        if let Some(Located { value: 0, line }) = max {
            self.report
                .fault(line, "max = 0 would never launch anything; to switch it off set enabled to false");
        }
        let line = min.as_ref().or(max.as_ref()).map_or(1, |limit| limit.line);
        let max_value = max.as_ref().map_or(DEFAULT_CONCURRENCY, |max| max.value);
        let min_value = min.map_or(DEFAULT_CONCURRENCY, |min| min.value);
        if max_value > 0 && min_value > max_value {
            let note = if max.is_some() { "" } else { ", its default" };
            self.report.fault(line, format!("min = {min_value} is above max = {max_value}{note}"));
        }
        (min_value, max_value)
    }

    fn deciding_server(&mut self, strict: Option<&Located<bool>>, server: Option<&Located<String>>) {
        let has_server = server.is_some_and(|server| !server.value.is_empty());
        if let Some(strict) = strict.filter(|strict| strict.value)
            && !has_server
        {
            self.report.fault(strict.line, "strict_server = true needs a server in 'on' to compare with");
        }
    }

    /// A name of something on the server, without quotes; matched without regard to case.
    fn name(&mut self, what: &str, written: Option<Located<String>>) -> Option<String> {
        let written = written?;
        if written.value.is_empty() {
            self.report.fault(
                written.line,
                format!("{what} is empty; there is no wildcard, each queue needs its own entry"),
            );
            return None;
        }
        self.optional_name(what, written)
    }

    fn optional_name(&mut self, what: &str, written: Located<String>) -> Option<String> {
        let Located { value, line } = written;
        if value.is_empty() {
            return None;
        }
        if value.encode_utf16().count() > MAX_NAME {
            self.report.fault(line, format!("{what} is longer than {MAX_NAME} characters"));
            return None;
        }
        if (value.starts_with('[') && value.ends_with(']'))
            || (value.starts_with('"') && value.ends_with('"'))
        {
            let message =
                format!("{what} {value} is compared with its quotes; notifications give names without");
            self.report.warn(line, message);
        }
        Some(value)
    }

    fn command(&mut self, written: Option<Located<String>>) -> Option<PathBuf> {
        let written = self.filled("the program path", written)?;
        self.windows_path("the program", &written);
        self.place(place::program(&written.value, self.folder), written.line)
    }

    /// A blank working folder means the daemon's own, as in the old product.
    fn work_dir(&mut self, written: &Located<String>) -> Option<PathBuf> {
        if written.value.is_empty() {
            return None;
        }
        self.windows_path("the working folder", written);
        self.place(place::path(&written.value, self.folder), written.line)
    }

    fn windows_path(&mut self, what: &str, written: &Located<String>) {
        if cfg!(unix) && place::is_windows_absolute(&written.value) {
            let message =
                format!("{what} '{}' is a Windows path, which this system cannot use", written.value);
            self.report.warn(written.line, message);
        }
    }

    fn argument(&mut self, written: &Located<String>) -> Option<ArgumentTemplate> {
        if written.value.contains('\0') {
            self.report.fault(written.line, "an argument cannot hold a NUL character");
            return None;
        }
        let parsed = ArgumentTemplate::parse(&written.value);
        parsed.map_err(|error| self.report.fault(written.line, error.to_string())).ok()
    }

    fn variable(&mut self, name: Located<String>, value: Located<String>) -> Option<(String, String)> {
        let Located { value: name, line } = name;
        let message = if name.is_empty() || name.contains(['=', '\0']) {
            format!("'{name}' cannot be the name of an environment variable")
        } else if name.starts_with("SSBROKER_") {
            format!("'{name}' cannot be set: names that begin with SSBROKER_ are given by the activator")
        } else if value.value.contains('\0') {
            format!("the value of '{name}' cannot hold a NUL character")
        } else {
            return Some((name, value.value));
        };
        self.report.fault(line, message);
        None
    }
}

fn reenabling(raw: &RawReenable) -> Reenable {
    let default = Reenable::default();
    Reenable {
        after: raw.after.as_ref().map_or(default.after, |after| after.value),
        at_most: raw.at_most.as_ref().map_or(default.at_most, |times| times.value),
    }
}
