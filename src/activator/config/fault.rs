//! What is wrong with a configuration file, and where; and the report in which all of it is collected.
//!
//! Knows no file format. A reader never stops at the first fault: people mend a file once, not once per fault.

use crate::activator::text::NotText;
use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// One thing that is wrong (or, as a warning, doubtful) in a configuration file.
///
/// Displays as `file:line: message`, the form editors and terminals can jump to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The file as the caller named it.
    pub file: PathBuf,
    /// Line, counted from 1.
    pub line: u32,
    /// What is wrong and, where that is not plain, what to write instead. Never holds a secret.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file.display(), self.line, self.message)
    }
}

/// Why no configuration came out of a file.
#[derive(Debug)]
#[non_exhaustive]
pub enum LoadError {
    /// The file could not be read at all; the command line answers with exit code 2.
    Unreadable {
        /// The file as the caller named it.
        file: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The file was read, but holds no text; exit code 2.
    NotText {
        /// The file as the caller named it.
        file: PathBuf,
        /// Which byte is no text.
        source: NotText,
    },
    /// The file is text with faults in it; exit code 1. Never empty, ordered by line.
    Invalid(Vec<Fault>),
}

impl LoadError {
    /// The located faults; empty when the file could not be read.
    #[must_use]
    pub fn faults(&self) -> &[Fault] {
        match self {
            Self::Invalid(faults) => faults,
            Self::Unreadable { .. } | Self::NotText { .. } => &[],
        }
    }

    /// Whether the file could not be read, as opposed to being read and found wrong.
    #[must_use]
    pub fn is_unreadable(&self) -> bool {
        !matches!(self, Self::Invalid(_))
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { file, .. } => write!(f, "cannot read {}", file.display()),
            Self::NotText { file, .. } => write!(f, "{} is not a text file", file.display()),
            Self::Invalid(faults) => match faults.as_slice() {
                [only] => only.fmt(f),
                [first, ..] => write!(f, "{first} (and {} more)", faults.len() - 1),
                [] => f.write_str("the configuration is invalid"),
            },
        }
    }
}

impl Error for LoadError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Unreadable { source, .. } => Some(source),
            Self::NotText { source, .. } => Some(source),
            Self::Invalid(_) => None,
        }
    }
}

/// Collects faults and warnings of one file while it is read and validated.
#[derive(Debug)]
pub(crate) struct Report {
    file: PathBuf,
    faults: Vec<Fault>,
    warnings: Vec<Fault>,
    lenient: bool,
}

impl Report {
    /// An empty report on `file`.
    pub(crate) fn new(file: &Path) -> Self {
        Self { file: file.to_owned(), faults: Vec::new(), warnings: Vec::new(), lenient: false }
    }

    /// From now on deviations are passed over.
    pub(crate) fn be_lenient(&mut self) {
        self.lenient = true;
    }

    /// Notes a deviation from the format that does not keep the rest from being understood: a fault, or a warning where
    /// the reading is lenient.
    pub(crate) fn deviation(&mut self, line: u32, message: impl Into<String>) {
        if self.lenient {
            self.warn(line, format!("{}; passed over", message.into()));
        } else {
            self.fault(line, message);
        }
    }

    /// Notes something that makes the configuration unusable.
    pub(crate) fn fault(&mut self, line: u32, message: impl Into<String>) {
        self.faults.push(Fault { file: self.file.clone(), line, message: message.into() });
    }

    /// Notes something that is allowed, but probably not meant.
    pub(crate) fn warn(&mut self, line: u32, message: impl Into<String>) {
        self.warnings.push(Fault { file: self.file.clone(), line, message: message.into() });
    }

    /// The warnings if there is no fault, else the faults; both by line, in the order found within a line.
    pub(crate) fn finish(mut self) -> Result<Vec<Fault>, LoadError> {
        if self.faults.is_empty() {
            self.warnings.sort_by_key(|warning| warning.line);
            return Ok(self.warnings);
        }
        self.faults.sort_by_key(|fault| fault.line);
        Err(LoadError::Invalid(self.faults))
    }
}
