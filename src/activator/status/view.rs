//! The status as `activator status --json` prints it. Names and shapes are fixed: scripts read them.
//!
//! Plain values. What nobody can say is `null`: the login lacks the right, or nobody has looked yet.

use crate::activator::launch::{LaunchId, Outcome};
use serde::{Deserialize, Serialize};

/// The whole status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Status {
    /// Version of the daemon.
    pub version: String,
    /// When it started, RFC 3339 in UTC, like all times here.
    pub started: String,
    /// The applications, in the order of the configuration.
    pub apps: Vec<AppStatus>,
    /// The notification services, in the order of the configuration.
    pub listeners: Vec<ListenerStatus>,
}

/// One application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AppStatus {
    /// Its name.
    pub name: String,
    /// Kind of handler: `launch`, `resident` or `feed`.
    pub kind: String,
    /// Its queue, as `database.schema.queue`.
    pub queue: String,
    /// Messages in the queue, approximately: retained and locked ones are counted.
    pub depth: Option<u64>,
    /// Age in seconds of the oldest ready message, among the first 1,000.
    pub oldest: Option<u64>,
    /// State of the queue monitor: `INACTIVE`, `NOTIFIED`, `RECEIVES_OCCURRING`; `NONE` if the queue has no monitor.
    pub monitor_state: Option<String>,
    /// The event notification that starts this application: its name, `missing` or `dead`.
    pub notification: Option<String>,
    /// Processes that run or are being started.
    pub running: u32,
    /// Processes that the first notification starts.
    pub min: u32,
    /// Most processes at one time.
    pub max: u32,
    /// Whether a notification waits to be acted on.
    pub pending: bool,
    /// Whether a person has paused it.
    pub paused: bool,
    /// Its processes.
    pub children: Vec<ChildStatus>,
    /// The last process that ended.
    pub last_exit: Option<LastExit>,
    /// What is wrong, and what helps.
    pub warnings: Vec<Warning>,
    /// Notifications received for it since the daemon started.
    pub notifications: u64,
    /// Processes launched since the daemon started.
    pub launches: u64,
}

/// One process of an application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ChildStatus {
    /// Its launch.
    pub launch_id: LaunchId,
    /// Its process id.
    pub pid: u32,
    /// When it was launched or adopted.
    pub since: String,
    /// Messages handed to it by its feed; `None` for handlers that receive by themselves.
    pub received: Option<u64>,
    /// Kind of handler.
    pub kind: String,
}

/// How the last process of an application ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LastExit {
    /// `{"code": 0}`, `{"signal": 9}` or `"unknown"`.
    #[serde(flatten, with = "outcome_fields")]
    pub outcome: Outcome,
    /// When.
    pub at: String,
    /// The last lines it wrote on standard error.
    pub stderr_tail: String,
}

/// Something that needs a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Warning {
    /// What kind of thing it is; the same text for the same kind.
    pub id: String,
    /// Since when.
    pub since: String,
    /// What is wrong.
    pub text: String,
    /// What helps, often as T-SQL.
    pub cure: String,
}

/// One notification service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ListenerStatus {
    /// Its name.
    pub service: String,
    /// Where it is: the address of the connection.
    pub server: String,
    /// How it does.
    pub state: ListenerState,
    /// Since when.
    pub since: String,
    /// When the last message came.
    pub last_event: Option<String>,
    /// Why it does not work, if it does not.
    pub error: Option<String>,
    /// Messages in its queue, approximately.
    pub depth: Option<u64>,
    /// What is wrong, and what helps.
    pub warnings: Vec<Warning>,
}

/// How a listener does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ListenerState {
    /// It has not yet connected.
    Connecting,
    /// It waits for notifications.
    Listening,
    /// Its connection was lost and is made anew; `error` says why it is not there yet.
    Reconnecting,
    /// It does not work, and tries again.
    Failing,
    /// It is switched off in the configuration.
    Disabled,
}

/// What the last look at an application's queue showed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueStatus {
    /// As in [`AppStatus::depth`].
    pub depth: Option<u64>,
    /// As in [`AppStatus::oldest`].
    pub oldest: Option<u64>,
    /// As in [`AppStatus::monitor_state`].
    pub monitor_state: Option<String>,
    /// As in [`AppStatus::notification`].
    pub notification: Option<String>,
}

/// An outcome as fields of the object around it: `code`, `signal`, or `outcome` when unknown.
pub(in crate::activator) mod outcome_fields {
    use crate::activator::launch::Outcome;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Fields {
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<i32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        signal: Option<i32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        outcome: Option<String>,
    }

    pub(in crate::activator) fn serialize<S: Serializer>(
        outcome: &Outcome,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let none = Fields { code: None, signal: None, outcome: None };
        match outcome {
            Outcome::Code(code) => Fields { code: Some(*code), ..none },
            Outcome::Signal(signal) => Fields { signal: Some(*signal), ..none },
            Outcome::Unknown => Fields { outcome: Some("unknown".to_owned()), ..none },
        }
        .serialize(serializer)
    }

    pub(in crate::activator) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Outcome, D::Error> {
        let fields = Fields::deserialize(deserializer)?;
        Ok(match (fields.code, fields.signal) {
            (Some(code), _) => Outcome::Code(code),
            (None, Some(signal)) => Outcome::Signal(signal),
            (None, None) => Outcome::Unknown,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::LastExit;
    use crate::activator::launch::Outcome;

    #[test]
    fn an_exit_is_one_flat_object() {
        for (outcome, expected) in [
            (Outcome::Code(3), r#"{"code":3,"at":"x","stderr_tail":""}"#),
            (Outcome::Signal(9), r#"{"signal":9,"at":"x","stderr_tail":""}"#),
            (Outcome::Unknown, r#"{"outcome":"unknown","at":"x","stderr_tail":""}"#),
        ] {
            let exit = LastExit { outcome, at: "x".to_owned(), stderr_tail: String::new() };
            let json = serde_json::to_string(&exit).unwrap();
            assert_eq!(json, expected);
            assert_eq!(serde_json::from_str::<LastExit>(&json).unwrap(), exit);
        }
    }
}
