//! From one configuration format to another: `EAService.config`, `activator.toml`, and out of the format of 2005.
//!
//! What is written is what was written, references to secrets and relative paths included; only the form changes. What
//! the other format cannot say is reported at its line, never dropped in silence.

mod to_toml;
mod to_xml;

use super::fault::{Fault, LoadError, Report};
use super::model::Config;
use super::raw::{Format, RawConfig};
use super::reading::Reading;
use super::secret::Resolver;
use super::{read_raw, validate};
use std::io;
use std::path::Path;

/// A format to convert to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// `activator.toml`
    Toml,
    /// `EAService.config`
    EaService,
}

/// A converted configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Converted {
    /// The content of the new file.
    pub text: String,
    /// Its format.
    pub target: Target,
    /// What is left out or doubtful, at its line in the old file; ordered by line.
    pub remarks: Vec<Fault>,
}

/// Converts the configuration in `bytes` to `target`, or without one to the other of the two formats. `path` names it in
/// faults and tells its format as for [`load`](super::load).
///
/// Secrets are neither needed nor resolved. The format of the sample program of 2005 is read too.
///
/// # Errors
/// As for [`load`](super::load); also for a value that the other format has no way to write.
pub fn convert(
    path: &Path,
    bytes: &[u8],
    reading: Reading,
    target: Option<Target>,
) -> Result<Converted, LoadError> {
    let mut report = Report::new(path);
    let raw = read_raw(path, bytes, reading.with_ancestor(), &mut report)?;
    let folder = Path::new("/");
    let judged = raw.clone().and_then(|raw| validate::validate(raw, folder, &Placeholder, &mut report));
    if let (Some(raw), Some(config)) = (&raw, &judged) {
        let target = target.unwrap_or(match raw.format {
            Format::EaService | Format::Ancestor => Target::Toml,
            Format::Toml => Target::EaService,
        });
        report_comments(raw, &mut report);
        let text = write(raw, config, target, &mut report);
        return Ok(Converted { text, target, remarks: report.finish()? });
    }
    let faults = report.finish().expect_err("a configuration is only withheld together with a fault");
    Err(faults)
}

fn write(raw: &RawConfig, config: &Config, target: Target, report: &mut Report) -> String {
    match target {
        Target::Toml => to_toml::write(raw, report),
        Target::EaService => to_xml::write(raw, config, report),
    }
}

fn report_comments(raw: &RawConfig, report: &mut Report) {
    if raw.has_comments {
        report.warn(1, "comments are left out");
    }
}

/// Stands in for secrets, which are only judged for being referred to in the right places.
struct Placeholder;

impl Resolver for Placeholder {
    fn environment(&self, _name: &str) -> Option<String> {
        Some("x".to_owned())
    }

    fn file(&self, _path: &Path) -> io::Result<String> {
        Ok("x".to_owned())
    }
}

#[cfg(test)]
mod tests;
