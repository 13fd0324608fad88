//! What can be asked over the control socket, and what comes back. Version 1.
//!
//! Plain values. A request is `{"v":1,"op":"kick","app":"orders"}`; an answer `{"v":1,"done":"..."}`, `{"v":1,"status":{..}}`,
//! `{"v":1,"history":[..]}` or `{"v":1,"error":"..."}`.

use crate::activator::history::Run;
use crate::activator::status::Status;
use serde::{Deserialize, Serialize};

/// The version of requests and answers.
pub(super) const VERSION: u32 = 1;

/// A question or a wish.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Request {
    /// What the daemon knows. It looks at its queues first, but not for long.
    Status,
    /// The last runs of an application, newest first.
    History {
        /// Name of the application.
        app: String,
        /// At most so many.
        count: usize,
    },
    /// Start a process, as a notification would.
    Kick {
        /// Name of the application.
        app: String,
    },
    /// Launch nothing of an application, or of all, until it is resumed; also after a restart.
    Pause {
        /// Name of the application; all without one.
        app: Option<String>,
    },
    /// Launch again, beginning with what was remembered.
    Resume {
        /// Name of the application; all without one.
        app: Option<String>,
    },
    /// Read the configuration again.
    Reload,
}

/// What comes back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Answer {
    /// It is done; what that means.
    Done(String),
    /// The status.
    Status(Box<Status>),
    /// The runs.
    History(Vec<Run>),
    /// It cannot be done; why.
    Error(String),
}

/// Anything with the version of the protocol.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Versioned<T> {
    pub(super) v: u32,
    #[serde(flatten)]
    pub(super) content: T,
}

impl<T> Versioned<T> {
    pub(super) fn new(content: T) -> Self {
        Self { v: VERSION, content }
    }
}

/// Reads a request.
pub(super) fn read_request(line: &str) -> Result<Request, String> {
    let value: serde_json::Value = serde_json::from_str(line).map_err(|error| format!("no JSON: {error}"))?;
    match value.get("v").and_then(serde_json::Value::as_u64) {
        Some(version) if version == u64::from(VERSION) => {}
        Some(version) => return Err(format!("version {version} of the protocol is not known, {VERSION} is")),
        None => return Err(format!("the request names no version; this is version {VERSION}")),
    }
    serde_json::from_value::<Versioned<Request>>(value)
        .map(|request| request.content)
        .map_err(|error| format!("no request: {error}"))
}

#[cfg(test)]
mod tests {
    use super::{Answer, Request, Versioned, read_request};

    #[test]
    fn requests_and_answers_are_written_as_documented() {
        let kick = Request::Kick { app: "orders".to_owned() };
        let line = serde_json::to_string(&Versioned::new(kick.clone())).unwrap();
        assert_eq!(line, r#"{"v":1,"op":"kick","app":"orders"}"#);
        assert_eq!(read_request(&line), Ok(kick));
        let answer = Versioned::new(Answer::Done("started".to_owned()));
        assert_eq!(serde_json::to_string(&answer).unwrap(), r#"{"v":1,"done":"started"}"#);
    }

    #[test]
    fn what_is_no_request_is_refused_with_its_reason() {
        for (line, reason) in [
            ("hello", "no JSON"),
            (r#"{"op":"status"}"#, "no version"),
            (r#"{"v":2,"op":"status"}"#, "version 2"),
            (r#"{"v":1,"op":"explode"}"#, "no request"),
            (r#"{"v":1,"op":"kick"}"#, "no request"),
        ] {
            let told = read_request(line).unwrap_err();
            assert!(told.contains(reason), "{told}");
        }
    }
}
