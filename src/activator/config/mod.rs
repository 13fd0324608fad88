//! The activator's configuration: two file formats, one validated meaning.
//!
//! A file is read into a raw shape in which every value has its line ([`xml`] for `EAService.config`, [`toml`] for
//! `activator.toml`), and the raw shape is judged once ([`validate`]) into a [`Config`]. Only that type travels on.
//! All faults are reported together, each with file and line. Nothing here reads the environment: what a file refers
//! to is asked of the [`Resolver`] that the caller passes in. It must not know listeners, processes or the driver.

mod argument;
mod convert;
pub(crate) mod diff;
mod fault;
mod file;
mod model;
mod place;
mod quantity;
mod raw;
mod reading;
mod secret;
mod source;
mod toml;
mod unique;
mod validate;
pub(crate) mod watch;
mod xml;

pub use crate::activator::text::NotText;
pub use argument::{ArgumentTemplate, MacroValues, UnknownMacro, join_command_line, split_command_line};
pub use convert::{Converted, Target, convert};
pub use diff::Change;
pub use fault::{Fault, LoadError};
pub use file::ConfigFile;
pub use model::{
    Account, Application, BackoffSettings, Config, DeadLetter, Environment, FeedSettings, HistorySettings,
    Kind, Limits, LogFormat, LogLevel, LogRotation, LogSettings, MetricsSettings, NotificationService,
    QueueAddress, Rate, Reenable, StateSettings,
};
pub(crate) use quantity::parse_duration;
pub use reading::Reading;
pub use secret::{ConnectionString, Resolver};
pub use source::{doubt_about_secret, read_secret};

use crate::activator::text::{Decoded, decode};
use fault::Report;
use raw::RawConfig;
use std::path::Path;

/// A configuration and what is doubtful about it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// Things that are allowed, but probably not meant; ordered by line. The daemon logs them, `check` prints them.
    pub warnings: Vec<Fault>,
}

/// Reads and validates the file at `path`, strictly.
///
/// A name ending in `.toml` is read as `activator.toml`, one ending in `.config` or `.xml` as `EAService.config`;
/// with any other name the first character decides. Where this process is root, a file that somebody else can write, or
/// whose folder somebody else can write, is refused.
///
/// # Errors
/// [`LoadError`] tells a file that cannot be read from one that is wrong, and lists everything that is wrong in it.
pub fn load(path: &Path, resolver: &dyn Resolver) -> Result<Loaded, LoadError> {
    load_with(path, Reading::default(), resolver)
}

/// As [`load`], as strictly as `reading` says.
///
/// # Errors
/// As for [`load`].
pub fn load_with(path: &Path, reading: Reading, resolver: &dyn Resolver) -> Result<Loaded, LoadError> {
    let unreadable = |source| LoadError::Unreadable { file: path.to_owned(), source };
    let (bytes, refusal) = source::read(path).map_err(unreadable)?;
    let absolute = std::path::absolute(path).map_err(unreadable)?;
    let mut report = Report::new(path);
    if let Some(refusal) = refusal {
        report.fault(1, refusal);
    }
    let folder = absolute.parent().unwrap_or(Path::new("/"));
    judge(path, folder, &bytes, reading, resolver, report)
}

/// As [`load`], from bytes that are already at hand: `path` names them in faults and is not opened, and relative paths
/// in the configuration are taken from `folder`.
///
/// # Errors
/// As for [`load`].
pub fn parse(path: &Path, folder: &Path, bytes: &[u8], resolver: &dyn Resolver) -> Result<Loaded, LoadError> {
    parse_with(path, folder, bytes, Reading::default(), resolver)
}

/// As [`parse`], as strictly as `reading` says.
///
/// # Errors
/// As for [`load`].
pub fn parse_with(
    path: &Path,
    folder: &Path,
    bytes: &[u8],
    reading: Reading,
    resolver: &dyn Resolver,
) -> Result<Loaded, LoadError> {
    judge(path, folder, bytes, reading, resolver, Report::new(path))
}

fn judge(
    path: &Path,
    folder: &Path,
    bytes: &[u8],
    reading: Reading,
    resolver: &dyn Resolver,
    mut report: Report,
) -> Result<Loaded, LoadError> {
    let raw = read_raw(path, bytes, reading, &mut report)?;
    let config = raw.and_then(|raw| validate::validate(raw, folder, resolver, &mut report));
    let warnings = report.finish()?;
    let config = config.expect("a configuration is only withheld together with a fault");
    Ok(Loaded { config, warnings })
}

/// What is written in a file, by the reader of its format.
fn read_raw(
    path: &Path,
    bytes: &[u8],
    reading: Reading,
    report: &mut Report,
) -> Result<Option<RawConfig>, LoadError> {
    let decoded = decode(bytes).map_err(|source| LoadError::NotText { file: path.to_owned(), source })?;
    if reading.is_lenient() {
        report.be_lenient();
    }
    Ok(match is_toml(path, &decoded) {
        true => toml::read(&decoded.text, report),
        false => xml::read(&decoded, reading, report),
    })
}

fn is_toml(path: &Path, decoded: &Decoded) -> bool {
    let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
    match extension.as_ref().and_then(|extension| extension.to_str()) {
        Some("toml") => true,
        Some("config" | "xml") => false,
        _ => !decoded.text.trim_start().starts_with('<'),
    }
}

#[cfg(test)]
mod tests;
