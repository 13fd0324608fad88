//! What names a launch, what it is for and how it ends; the same in the log, the journal and the handler's environment.
//!
//! Plain values: starts nothing, waits for nothing. Ids are made by whoever builds the supervisor, never by pure code.

use crate::activator::config::MacroValues;
use crate::activator::notification::Notice;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use uuid::Uuid;

/// Names one launch for ever; never used twice, unlike a process id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LaunchId(Uuid);

/// On whose behalf a process is started: what its handler is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::activator) struct Source {
    /// Position of the notification service whose connection the handler is told of.
    pub(in crate::activator) listener: usize,
    /// The queue.
    pub(in crate::activator) target: Target,
}

impl LaunchId {
    /// A new random id.
    #[must_use]
    pub fn random() -> Self {
        Self(Uuid::new_v4())
    }

    /// A number from 0 to 1 that belongs to this launch and is as random as its id: what chance decides about a launch is
    /// decided by its name, so that pure code needs no source of chance.
    #[must_use]
    pub(crate) fn chance(self) -> f64 {
        // Digits that are random in a random id, and zero in the counted ones of tests.
        let bytes = self.0.as_bytes();
        f64::from(u16::from_be_bytes([bytes[12], bytes[13]])) / f64::from(u16::MAX)
    }

    /// The same as a plain identifier.
    pub(in crate::activator) fn as_uuid(self) -> Uuid {
        self.0
    }

    /// An id with a given value, for tests and for reading one back.
    #[must_use]
    pub fn from_u128(value: u128) -> Self {
        Self(Uuid::from_u128(value))
    }
}

impl fmt::Display for LaunchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl FromStr for LaunchId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Uuid::parse_str(text).map(Self)
    }
}

impl TryFrom<String> for LaunchId {
    type Error = uuid::Error;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<LaunchId> for String {
    fn from(id: LaunchId) -> Self {
        id.to_string()
    }
}

/// A program's file at one time: what changes when it is replaced, rewritten or made executable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageStamp {
    /// Number of the file on its device.
    pub inode: u64,
    /// Seconds and nanoseconds of its last change, contents or rights.
    pub changed: (i64, i64),
}

/// The queue a process is launched for, by the names the notification gave.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Target {
    /// The server's own name.
    pub server: String,
    /// Database of the queue.
    pub database: String,
    /// Schema of the queue.
    pub schema: String,
    /// Name of the queue.
    pub queue: String,
}

impl Target {
    /// The names as values for the macros in a handler's arguments.
    #[must_use]
    pub fn values(&self) -> MacroValues<'_> {
        MacroValues {
            server: &self.server,
            database: &self.database,
            schema: &self.schema,
            queue: &self.queue,
        }
    }
}

impl From<&Notice> for Target {
    fn from(notice: &Notice) -> Self {
        Self {
            server: notice.server.clone(),
            database: notice.database.clone(),
            schema: notice.schema.clone(),
            queue: notice.queue.clone(),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}].[{}].[{}].[{}]", self.server, self.database, self.schema, self.queue)
    }
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It exited with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
    /// It is gone, and the system does not tell how: true of a process that an earlier daemon had started.
    Unknown,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
            Self::Unknown => f.write_str("an unknown result"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LaunchId, Outcome};

    #[test]
    fn an_id_survives_being_written_and_read() {
        let id = LaunchId::from_u128(7);
        let json = serde_json::to_string(&id).unwrap();
        assert_eq!(json, "\"00000000-0000-0000-0000-000000000007\"");
        assert_eq!(serde_json::from_str::<LaunchId>(&json).unwrap(), id);
        assert!("seven".parse::<LaunchId>().is_err());
    }

    #[test]
    fn outcomes_are_written_as_the_status_format_says() {
        let written = [Outcome::Code(3), Outcome::Signal(9), Outcome::Unknown];
        let json = serde_json::to_string(&written).unwrap();
        assert_eq!(json, r#"[{"code":3},{"signal":9},"unknown"]"#);
    }
}
