//! The activator's configuration: two file formats, one validated meaning.
//!
//! A file is read into a raw shape in which every value has its line ([`xml`] for `EAService.config`, [`toml`] for
//! `activator.toml`), and the raw shape is judged once ([`validate`]) into a [`Config`]. Only that type travels on.
//! All faults are reported together, each with file and line. Nothing here reads the environment: what a file refers
//! to is asked of the [`Resolver`] that the caller passes in. It must not know listeners, processes or the driver.

mod argument;
mod fault;
mod model;
mod place;
mod quantity;
mod raw;
mod secret;
mod toml;
mod unique;
mod validate;
mod xml;

pub use crate::activator::text::NotText;
pub use argument::{ArgumentTemplate, MacroValues, UnknownMacro, split_command_line};
pub use fault::{Fault, LoadError};
pub use model::{
    Account, Application, BackoffSettings, Config, DeadLetter, Environment, FeedSettings, Kind, Limits,
    LogFormat, LogLevel, LogRotation, LogSettings, MetricsSettings, NotificationService, QueueAddress, Rate,
    StateSettings,
};
pub(crate) use quantity::parse_duration;
pub use secret::{ConnectionString, Resolver};

use crate::activator::text::{Decoded, decode};
use fault::Report;
use std::io::{self, Read};
use std::path::Path;

/// No configuration is near this size; a device or a wrongly named file may be far above it.
const MAX_FILE_SIZE: u64 = 16 * 1024 * 1024;

/// A configuration and what is doubtful about it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// Things that are allowed, but probably not meant; ordered by line. The daemon logs them, `check` prints them.
    pub warnings: Vec<Fault>,
}

/// Reads and validates the file at `path`.
///
/// A name ending in `.toml` is read as `activator.toml`, one ending in `.config` or `.xml` as `EAService.config`;
/// with any other name the first character decides.
///
/// # Errors
/// [`LoadError`] tells a file that cannot be read from one that is wrong, and lists everything that is wrong in it.
pub fn load(path: &Path, resolver: &dyn Resolver) -> Result<Loaded, LoadError> {
    let unreadable = |source| LoadError::Unreadable { file: path.to_owned(), source };
    let bytes = read_file(path).map_err(unreadable)?;
    let absolute = std::path::absolute(path).map_err(unreadable)?;
    parse(path, absolute.parent().unwrap_or(Path::new("/")), &bytes, resolver)
}

/// As [`load`], from bytes that are already at hand: `path` names them in faults and is not opened, and relative paths
/// in the configuration are taken from `folder`.
///
/// # Errors
/// As for [`load`].
pub fn parse(path: &Path, folder: &Path, bytes: &[u8], resolver: &dyn Resolver) -> Result<Loaded, LoadError> {
    let decoded = decode(bytes).map_err(|source| LoadError::NotText { file: path.to_owned(), source })?;
    let mut report = Report::new(path);
    let raw = match is_toml(path, &decoded) {
        true => toml::read(&decoded.text, &mut report),
        false => xml::read(&decoded, &mut report),
    };
    let config = raw.and_then(|raw| validate::validate(raw, folder, resolver, &mut report));
    let warnings = report.finish()?;
    let config = config.expect("a configuration is only withheld together with a fault");
    Ok(Loaded { config, warnings })
}

fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = std::fs::File::open(path)?.take(MAX_FILE_SIZE + 1).read_to_end(&mut bytes)?;
    if read as u64 > MAX_FILE_SIZE {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "the file is larger than 16 MiB"));
    }
    Ok(bytes)
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
