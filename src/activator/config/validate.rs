//! From what was written to what it means: the rules that neither the old schema nor types can state.
//!
//! Pure apart from the resolver it is given; knows no file format beyond which of the two it was.

use super::argument::ArgumentTemplate;
use super::fault::Report;
use super::model::{Application, Config, LogSettings, NotificationService, QueueAddress, StateSettings};
use super::place;
use super::raw::{Format, Located, RawApplication, RawConfig, RawLog, RawNotification};
use super::secret::{ConnectionString, Resolver, resolve};
use super::unique;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// `min` and `max` where `activator.toml` does not give them.
const DEFAULT_CONCURRENCY: u32 = 1;
/// Grace between end signal and kill where none is given.
const DEFAULT_STOP_GRACE: Duration = Duration::from_secs(30);
/// Longest name SQL Server accepts (`sysname`), in UTF-16 units.
const MAX_NAME: usize = 128;

/// Judges `raw`; relative paths are taken from `folder`, the folder of the configuration file.
///
/// The result is to be used only if the report holds no fault afterwards.
pub(super) fn validate(
    raw: RawConfig,
    folder: &Path,
    resolver: &dyn Resolver,
    report: &mut Report,
) -> Option<Config> {
    unique::notifications(raw.format, &raw.notifications, report);
    unique::applications(&raw.applications, report);
    let mut judge = Judge { folder, resolver, report };
    judge.something_to_do(&raw);
    let notifications: Vec<_> = raw.notifications.into_iter().map(|raw| judge.notification(raw)).collect();
    let applications: Vec<_> = raw.applications.into_iter().map(|raw| judge.application(raw)).collect();
    let log = judge.log(raw.log);
    let state = judge.state(raw.state_dir);
    Some(Config {
        notifications: notifications.into_iter().collect::<Option<_>>()?,
        applications: applications.into_iter().map(|one| one.map(Arc::new)).collect::<Option<_>>()?,
        log,
        state,
    })
}

struct Judge<'a> {
    folder: &'a Path,
    resolver: &'a dyn Resolver,
    report: &'a mut Report,
}

impl Judge<'_> {
    /// The old schema demands one of each; here the same is demanded of `activator.toml`.
    fn something_to_do(&mut self, raw: &RawConfig) {
        if raw.format == Format::Toml && raw.notifications.is_empty() {
            self.report.fault(1, "the file lacks a [[notification]], so no notification could arrive");
        }
        if raw.format == Format::Toml && raw.applications.is_empty() {
            self.report.fault(1, "the file lacks an [[app]], so nothing could be launched");
        }
        let is_off = |enabled: &Option<Located<bool>>| enabled.as_ref().is_some_and(|enabled| !enabled.value);
        if let [first, ..] = raw.notifications.as_slice()
            && raw.notifications.iter().all(|one| is_off(&one.enabled))
        {
            let line = first.enabled.as_ref().map_or(1, |enabled| enabled.line);
            self.report.warn(line, "no notification service is enabled, so no notification will arrive");
        }
    }

    fn notification(&mut self, raw: RawNotification) -> Option<NotificationService> {
        let name = self.filled("the notification service name", raw.name);
        let connection = raw.connection.and_then(|written| self.connection(&written));
        Some(NotificationService {
            name: name?.value,
            connection: connection?,
            enabled: raw.enabled.is_none_or(|enabled| enabled.value),
        })
    }

    fn connection(&mut self, written: &Located<String>) -> Option<ConnectionString> {
        if written.value.trim().is_empty() {
            self.report.fault(written.line, "the connection string is empty");
            return None;
        }
        let resolved = resolve(&written.value, self.resolver);
        let judged =
            resolved.map_err(|message| format!("connection string: {message}")).and_then(|connection| {
                let warning = self.resolver.check_connection(connection.expose())?;
                Ok((connection, warning))
            });
        match judged {
            Ok((connection, warning)) => {
                if let Some(warning) = warning {
                    self.report.warn(written.line, warning);
                }
                Some(connection)
            }
            Err(message) => {
                self.report.fault(written.line, message);
                None
            }
        }
    }

    fn application(&mut self, raw: RawApplication) -> Option<Application> {
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
            min,
            max,
            stop_grace: raw.stop_grace.map_or(DEFAULT_STOP_GRACE, |grace| grace.value),
            environment,
            pass_connection: raw.pass_connection.is_some_and(|pass| pass.value),
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

    /// A value that must not be blank.
    fn filled(&mut self, what: &str, written: Option<Located<String>>) -> Option<Located<String>> {
        let written = written?;
        if written.value.trim().is_empty() {
            self.report.fault(written.line, format!("{what} is empty"));
            return None;
        }
        Some(written)
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

    fn place(&mut self, resolved: Result<PathBuf, String>, line: u32) -> Option<PathBuf> {
        resolved.map_err(|message| self.report.fault(line, message)).ok()
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

    fn log(&mut self, raw: RawLog) -> LogSettings {
        let default = LogSettings::default();
        LogSettings {
            level: raw.level.unwrap_or(default.level),
            format: raw.format.unwrap_or(default.format),
            file: raw.file.and_then(|file| {
                let file = self.filled("the log file", Some(file))?;
                self.place(place::path(&file.value, self.folder), file.line)
            }),
            rotation: raw.rotation.unwrap_or(default.rotation),
            keep: raw.keep.map_or(default.keep, |keep| keep.value),
        }
    }

    fn state(&mut self, dir: Option<Located<String>>) -> StateSettings {
        let dir = self.filled("the state folder", dir);
        let dir = dir.and_then(|dir| self.place(place::path(&dir.value, self.folder), dir.line));
        dir.map_or_else(StateSettings::default, |dir| StateSettings { dir })
    }
}
