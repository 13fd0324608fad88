//! Reading a configuration on behalf of a person: warnings and faults are printed, one line each.

use super::super::environment::Environment;
use super::super::exit::CliError;
use super::super::terminal;
use crate::activator::config::{self, LoadError, Loaded, Reading};
use std::path::Path;

/// Reads a configuration, printing warnings, or every fault when it is invalid; `None` means invalid.
pub(super) fn load(
    file: &Path,
    reading: Reading,
    environment: &Environment,
) -> Result<Option<Loaded>, CliError> {
    match config::load_with(file, reading, environment) {
        Ok(loaded) => {
            loaded.warnings.iter().for_each(|warning| terminal::remark(format_args!("warning: {warning}")));
            Ok(Some(loaded))
        }
        Err(LoadError::Invalid(faults)) => {
            faults.iter().for_each(terminal::remark);
            Ok(None)
        }
        Err(unreadable) => Err(CliError::usage("no configuration").because(unreadable)),
    }
}
