//! Feed protocol 1: the lines that go to a handler, and what its answers mean. JSON, UTF-8, one object a line.
//!
//! Pure. A line that is not of the protocol is a fault of the handler, told with what is wrong with it.

use super::body::{AnsweredBody, Encoding, FedBody};
use crate::activator::config::LogLevel;
use crate::activator::config::parse_duration;
use crate::activator::launch::LaunchId;
use crate::client::{ConversationHandle, Message, SqlDateTime};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The version that the first line names.
const VERSION: u32 = 1;
/// The text of an error has so many UTF-16 units at most, which is what a server takes.
const LONGEST_ERROR: usize = 3_000;

/// The first line to a handler.
#[derive(Debug, Serialize)]
pub(super) struct Hello<'a> {
    pub(super) hello: u32,
    pub(super) app: &'a str,
    pub(super) queue: &'a str,
    pub(super) database: &'a str,
    pub(super) launch_id: LaunchId,
}

impl<'a> Hello<'a> {
    pub(super) fn new(app: &'a str, database: &'a str, queue: &'a str, launch_id: LaunchId) -> Self {
        Self { hello: VERSION, app, queue, database, launch_id }
    }
}

/// A message to a handler.
#[derive(Debug, Serialize)]
pub(super) struct Fed<'a> {
    id: u64,
    conversation: String,
    group: String,
    service: &'a str,
    contract: &'a str,
    #[serde(rename = "type")]
    message_type: &'a str,
    sequence: i64,
    priority: i32,
    enqueued: Option<String>,
    attempt: u32,
    body: Option<FedBody>,
}

impl<'a> Fed<'a> {
    /// The line for `message`, with its body as given.
    pub(super) fn new(id: u64, message: &'a Message, attempt: u32, body: Option<FedBody>) -> Self {
        Self {
            id,
            conversation: message.conversation.as_uuid().to_string(),
            group: message.group.as_uuid().to_string(),
            service: &message.service,
            contract: &message.contract,
            message_type: &message.message_type,
            sequence: message.sequence_number,
            priority: message.priority,
            enqueued: message.enqueued_at.map(rfc3339),
            attempt,
            body,
        }
    }
}

/// One line, with its end.
pub(super) fn line(object: &impl Serialize) -> Vec<u8> {
    let mut line =
        serde_json::to_vec(object).expect("its fields are texts and numbers, so it is always JSON");
    line.push(b'\n');
    line
}

/// What a line of a handler means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// For the daemon's log.
    Log {
        /// Its importance.
        level: LogLevel,
        /// The line.
        text: String,
    },
    /// About one message; what it asks for, in the order in which it is done.
    About {
        /// The number the message was handed over with.
        id: u64,
        /// At least one.
        wishes: Vec<Wish>,
    },
}

/// What a handler asks for a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wish {
    /// Send this on its conversation.
    Reply {
        /// The message type.
        message_type: String,
        /// The body; `None` is an empty one.
        body: Option<AnsweredBody>,
    },
    /// End its conversation.
    End,
    /// End its conversation with an error.
    EndWithError {
        /// Positive.
        code: i32,
        /// For the peer.
        text: String,
    },
    /// It is done with.
    Done,
    /// It is to come again after this time.
    Retry(Duration),
    /// It can never be handled, for this reason.
    Dead(String),
}

impl Answer {
    /// Reads one line, without its end.
    pub(super) fn parse(line: &[u8]) -> Result<Self, String> {
        let raw: Raw = serde_json::from_slice(line)
            .map_err(|error| format!("a line is not of the protocol ({error}): {}", excerpt(line)))?;
        raw.read().map_err(|reason| format!("{reason}: {}", excerpt(line)))
    }
}

impl Encoding {
    /// For answers to this message.
    pub(super) fn of_answers(message: &Message) -> Self {
        FedBody::encoding_of_answers(message.body.as_bytes())
    }
}

/// What identifies a message for as long as its conversation exists.
pub(super) fn key(message: &Message) -> (ConversationHandle, i64) {
    (message.conversation, message.sequence_number)
}

/// Every field an answer may have.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    id: Option<u64>,
    done: Option<bool>,
    retry: Option<String>,
    dead: Option<String>,
    reply: Option<RawReply>,
    end: Option<bool>,
    end_error: Option<RawError>,
    log: Option<String>,
    level: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawReply {
    #[serde(rename = "type")]
    message_type: String,
    #[serde(default)]
    body: Option<AnsweredBody>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawError {
    code: i32,
    text: String,
}

impl Raw {
    fn read(self) -> Result<Answer, String> {
        match (self.id, self.log.is_some()) {
            (None, true) => self.read_log(),
            (Some(_), true) => Err("a log line is about no message".to_owned()),
            (None, false) => Err("an answer needs the id of its message".to_owned()),
            (Some(_), false) if self.level.is_some() => Err("only a log line has a level".to_owned()),
            (Some(id), false) => Ok(Answer::About { id, wishes: self.wishes()? }),
        }
    }

    fn read_log(self) -> Result<Answer, String> {
        let level = match self.level.as_deref().unwrap_or("info") {
            "error" => LogLevel::Error,
            "warn" => LogLevel::Warn,
            "info" => LogLevel::Info,
            "debug" => LogLevel::Debug,
            "trace" => LogLevel::Trace,
            other => return Err(format!("there is no level '{other}'")),
        };
        if self.is_about_a_message() {
            return Err("a log line is about no message".to_owned());
        }
        Ok(Answer::Log { level, text: self.log.unwrap_or_default() })
    }

    /// Whether any field is there that only an answer to a message has, whatever it says.
    fn is_about_a_message(&self) -> bool {
        let Self { id, done, retry, dead, reply, end, end_error, log: _, level: _ } = self;
        id.is_some()
            || done.is_some()
            || retry.is_some()
            || dead.is_some()
            || reply.is_some()
            || end.is_some()
            || end_error.is_some()
    }

    /// Replies come before the end of the conversation, and both before the decision.
    fn wishes(self) -> Result<Vec<Wish>, String> {
        let mut wishes = Vec::new();
        if let Some(RawReply { message_type, body }) = self.reply {
            wishes.push(Wish::Reply { message_type, body });
        }
        if said("end", self.end)? {
            wishes.push(Wish::End);
        }
        if let Some(RawError { code, text }) = self.end_error {
            if code <= 0 {
                return Err("the code of end_error has to be positive".to_owned());
            }
            if text.encode_utf16().count() > LONGEST_ERROR {
                return Err(format!("the text of end_error is longer than {LONGEST_ERROR} characters"));
            }
            wishes.push(Wish::EndWithError { code, text });
        }
        let before = wishes.len();
        if said("done", self.done)? {
            wishes.push(Wish::Done);
        }
        if let Some(delay) = self.retry {
            wishes.push(Wish::Retry(parse_duration(&delay)?));
        }
        wishes.extend(self.dead.map(Wish::Dead));
        match wishes.len() - before {
            0 | 1 if !wishes.is_empty() => Ok(wishes),
            0 => Err("an answer has to ask for something".to_owned()),
            _ => Err("an answer decides once: done, retry or dead".to_owned()),
        }
    }
}

/// `true` says it; `false` is nothing anybody would write on purpose.
fn said(field: &str, value: Option<bool>) -> Result<bool, String> {
    match value {
        Some(false) => Err(format!("\"{field}\":false means nothing; leave it out")),
        Some(true) => Ok(true),
        None => Ok(false),
    }
}

/// The beginning of a line, for a log.
fn excerpt(line: &[u8]) -> String {
    const LONGEST: usize = 200;
    let text = String::from_utf8_lossy(&line[..line.len().min(LONGEST)]).into_owned();
    if line.len() > LONGEST { format!("{text:?}...") } else { format!("{text:?}") }
}

/// In UTC, to the millisecond, which is what the queue keeps.
fn rfc3339(moment: SqlDateTime) -> String {
    let (year, month, day) = moment.date();
    let milliseconds = moment.nanoseconds / 1_000_000;
    let (hours, minutes) = (milliseconds / 3_600_000, milliseconds / 60_000 % 60);
    let (seconds, rest) = (milliseconds / 1_000 % 60, milliseconds % 1_000);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{rest:03}Z")
}

#[cfg(test)]
mod tests {
    use super::{Answer, Fed, FedBody, Hello, Wish, line};
    use crate::activator::config::LogLevel;
    use crate::activator::launch::LaunchId;
    use crate::client::{Body, ConversationGroup, ConversationHandle, Message, MessageKind, SqlDateTime};
    use std::time::Duration;
    use uuid::Uuid;

    fn message() -> Message {
        Message {
            kind: MessageKind::User,
            conversation: ConversationHandle::from_uuid(Uuid::from_u128(7)),
            group: ConversationGroup::from_uuid(Uuid::from_u128(8)),
            sequence_number: 3,
            service: "//shop/orders".to_owned(),
            contract: "//shop/order".to_owned(),
            message_type: "//shop/new".to_owned(),
            enqueued_at: Some(SqlDateTime {
                days: 739_584,
                nanoseconds: 3_723_004_000_000,
                offset_minutes: None,
            }),
            priority: 5,
            body: Body::utf8("hi"),
        }
    }

    #[test]
    fn the_first_line_names_the_version() {
        let hello = Hello::new("orders", "Shop", "OrderQueue", LaunchId::from_u128(1));
        assert_eq!(
            String::from_utf8(line(&hello)).unwrap(),
            "{\"hello\":1,\"app\":\"orders\",\"queue\":\"OrderQueue\",\"database\":\"Shop\",\"launch_id\":\
             \"00000000-0000-0000-0000-000000000001\"}\n"
        );
    }

    #[test]
    fn a_message_has_every_field_of_the_format() {
        let mut message = message();
        let text = |message: &Message| {
            let fed = Fed::new(12, message, 2, FedBody::of(message.body.as_bytes()));
            String::from_utf8(line(&fed)).unwrap()
        };
        assert_eq!(
            text(&message),
            "{\"id\":12,\"conversation\":\"00000000-0000-0000-0000-000000000007\",\"group\":\
             \"00000000-0000-0000-0000-000000000008\",\"service\":\"//shop/orders\",\"contract\":\"//shop/order\",\"type\":\
             \"//shop/new\",\"sequence\":3,\"priority\":5,\"enqueued\":\"2025-11-30T01:02:03.004Z\",\"attempt\":2,\"body\":\
             {\"text\":\"hi\",\"encoding\":\"utf-8\"}}\n"
        );
        message.enqueued_at = None;
        message.body = Body::empty();
        assert!(text(&message).contains("\"enqueued\":null") && text(&message).contains("\"body\":null"));
    }

    #[test]
    fn every_answer_of_the_format_is_understood() {
        let about = |json: &str| match Answer::parse(json.as_bytes()).unwrap() {
            Answer::About { id: 4, wishes } => wishes,
            other => panic!("{other:?}"),
        };
        assert_eq!(about(r#"{"id":4,"done":true}"#), [Wish::Done]);
        assert_eq!(about(r#"{"id":4,"retry":"30s"}"#), [Wish::Retry(Duration::from_secs(30))]);
        assert_eq!(about(r#"{"id":4,"dead":"no such order"}"#), [Wish::Dead("no such order".into())]);
        assert_eq!(about(r#"{"id":4,"end":true}"#), [Wish::End]);
        let error = Wish::EndWithError { code: 7, text: "no".into() };
        assert_eq!(about(r#"{"id":4,"end_error":{"code":7,"text":"no"}}"#), [error]);
        let [Wish::Reply { message_type, body: Some(_) }] =
            &about(r#"{"id":4,"reply":{"type":"//t","body":{"text":"x"}}}"#)[..]
        else {
            panic!()
        };
        assert_eq!(message_type, "//t");
        let empty = Wish::Reply { message_type: "//t".into(), body: None };
        assert_eq!(about(r#"{"id":4,"reply":{"type":"//t","body":null}}"#)[..], [empty.clone()][..]);
        assert_eq!(
            about(r#"{"id":4,"done":true,"end":true,"reply":{"type":"//t"}}"#),
            [empty, Wish::End, Wish::Done]
        );
    }

    #[test]
    fn log_lines_have_a_level() {
        let parse = |json: &str| Answer::parse(json.as_bytes());
        let log = |level| Ok(Answer::Log { level, text: "x".into() });
        assert_eq!(parse(r#"{"log":"x"}"#), log(LogLevel::Info));
        assert_eq!(parse(r#"{"log":"x","level":"warn"}"#), log(LogLevel::Warn));
    }

    #[test]
    fn anything_else_is_a_fault_that_is_told() {
        for (json, reason) in [
            ("hello", "not of the protocol"),
            ("", "not of the protocol"),
            ("[]", "not of the protocol"),
            (r#"{"id":1,"don":true}"#, "unknown field `don`"),
            (r#"{"done":true}"#, "needs the id"),
            (r#"{"id":1}"#, "ask for something"),
            (r#"{"id":1,"done":false}"#, "means nothing"),
            (r#"{"id":1,"done":true,"retry":"1s"}"#, "decides once"),
            (r#"{"id":1,"retry":"soon"}"#, "not a duration"),
            (r#"{"id":1,"end_error":{"code":0,"text":""}}"#, "positive"),
            (r#"{"id":1,"log":"x"}"#, "about no message"),
            (r#"{"log":"x","done":true}"#, "about no message"),
            (r#"{"log":"x","done":false}"#, "about no message"),
            (r#"{"log":"x","retry":"soon"}"#, "about no message"),
            (r#"{"log":"x","end_error":{"code":0,"text":""}}"#, "about no message"),
            (r#"{"log":"x","level":"loud"}"#, "no level 'loud'"),
            (r#"{"id":1,"done":true,"level":"info"}"#, "only a log line"),
            (r#"{"id":-1,"done":true}"#, "not of the protocol"),
        ] {
            let told = Answer::parse(json.as_bytes()).unwrap_err();
            assert!(told.contains(reason), "{json}: {told}");
        }
        let wordy = format!(r#"{{"id":1,"end_error":{{"code":1,"text":"{}"}}}}"#, "x".repeat(3_001));
        assert!(Answer::parse(wordy.as_bytes()).unwrap_err().contains("longer than 3000"));
        assert!(Answer::parse(&[b'x'; 1_000]).unwrap_err().len() < 400);
    }
}
