//! How a command ends: the exit codes of the whole command line, and the error that carries one.

use std::error::Error as StdError;
use std::fmt;
use std::process::ExitCode;

use crate::client::{Error, ErrorKind};

/// How a command ended; the numbers are fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExitStatus {
    /// 0: done.
    Done,
    /// 1: the thing asked about is not well: a check failed, a demo did not verify.
    NotWell,
    /// 2: wrong usage, or input that cannot be read.
    Usage,
    /// 3: the server cannot be reached, or refuses the login.
    Unreachable,
    /// 4: a permission is missing.
    Refused,
    /// 5: interrupted.
    Interrupted,
    /// 127: a handler could not be started; seen by the activator only.
    HandlerNotStarted,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> ExitCode {
        ExitCode::from(match status {
            ExitStatus::Done => 0,
            ExitStatus::NotWell => 1,
            ExitStatus::Usage => 2,
            ExitStatus::Unreachable => 3,
            ExitStatus::Refused => 4,
            ExitStatus::Interrupted => 5,
            ExitStatus::HandlerNotStarted => 127,
        })
    }
}

/// An error that ends a command, with the exit status it means.
#[derive(Debug)]
pub struct CliError {
    status: ExitStatus,
    text: String,
    cause: Option<Box<dyn StdError + Send + Sync>>,
}

impl CliError {
    /// Wrong usage, or input that cannot be read.
    pub(super) fn usage(text: impl Into<String>) -> Self {
        Self { status: ExitStatus::Usage, text: text.into(), cause: None }
    }

    /// Something is not well.
    pub(super) fn not_well(text: impl Into<String>) -> Self {
        Self { status: ExitStatus::NotWell, text: text.into(), cause: None }
    }

    /// Something that should answer cannot be reached.
    pub(super) fn unreachable(text: impl Into<String>) -> Self {
        Self { status: ExitStatus::Unreachable, text: text.into(), cause: None }
    }

    /// The same error with its cause.
    pub(super) fn because(mut self, cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// How the command ends.
    #[must_use]
    pub fn status(&self) -> ExitStatus {
        self.status
    }
}

impl From<Error> for CliError {
    fn from(error: Error) -> Self {
        let status = match error.kind() {
            ErrorKind::Config => ExitStatus::Usage,
            ErrorKind::PermissionDenied => ExitStatus::Refused,
            ErrorKind::Connect
            | ErrorKind::LoginFailed
            | ErrorKind::ConnectionLost
            | ErrorKind::Timeout
            | ErrorKind::PoolExhausted => ExitStatus::Unreachable,
            _ => ExitStatus::NotWell,
        };
        let text = error.to_string();
        let cause = StdError::source(&error).map(|cause| cause.to_string().into());
        Self { status, text, cause }
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl StdError for CliError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.cause.as_deref().map(|cause| cause as &(dyn StdError + 'static))
    }
}
