//! From what was written to what it means: the rules that neither the old schema nor types can state.
//!
//! Pure apart from the resolver it is given; knows no file format beyond which of the two it was.

mod application;
mod process;

use super::fault::Report;
use super::model::{
    Config, HistorySettings, LogSettings, MetricsSettings, NotificationService, StateSettings,
};
use super::place;
use super::raw::{Format, Located, RawConfig, RawLog, RawNotification};
use super::secret::{ConnectionString, Resolver, files, resolve, variables};
use super::unique;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    let history = HistorySettings { table: judge.history_table(&raw) };
    let connections = raw.notifications.iter().filter_map(|raw| raw.connection.as_ref());
    let secret_variables =
        connections.flat_map(|written| variables(&written.value)).map(str::to_owned).collect();
    let notifications: Vec<_> = raw.notifications.into_iter().map(|raw| judge.notification(raw)).collect();
    let applications: Vec<_> = raw.applications.into_iter().map(|raw| judge.application(raw)).collect();
    let log = judge.log(raw.log);
    let state = judge.state(raw.state_dir);
    Some(Config {
        notifications: notifications.into_iter().collect::<Option<_>>()?,
        applications: applications.into_iter().map(|one| one.map(Arc::new)).collect::<Option<_>>()?,
        log,
        state,
        secret_variables,
        history,
        metrics: MetricsSettings { listen: raw.metrics.map(|listen| listen.value) },
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

    /// The table of runs lies in the database of a service that is listened on, whose connection it shares.
    fn history_table(&mut self, raw: &RawConfig) -> Option<String> {
        let Located { value: table, line } = raw.history_table.as_ref()?;
        let is_named = |one: &&RawNotification| one.name.as_ref().is_some_and(|name| name.value == *table);
        match raw.notifications.iter().find(is_named) {
            Some(service) if service.enabled.as_ref().is_none_or(|enabled| enabled.value) => {}
            Some(_) => self
                .report
                .fault(*line, format!("[history] table: notification service {table:?} is not enabled")),
            None => self.report.fault(
                *line,
                format!("[history] table: there is no [[notification]] with the name {table:?}"),
            ),
        }
        Some(table.clone())
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
                for doubt in files(&written.value).filter_map(|file| self.resolver.doubt_about_file(file)) {
                    self.report.warn(written.line, doubt);
                }
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

    /// A value that must not be blank.
    fn filled(&mut self, what: &str, written: Option<Located<String>>) -> Option<Located<String>> {
        let written = written?;
        if written.value.trim().is_empty() {
            self.report.fault(written.line, format!("{what} is empty"));
            return None;
        }
        Some(written)
    }

    fn place(&mut self, resolved: Result<PathBuf, String>, line: u32) -> Option<PathBuf> {
        resolved.map_err(|message| self.report.fault(line, message)).ok()
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
