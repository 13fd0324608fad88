//! The state of a feed, told in the lines of a handler.

use super::{Dead, Handled, Operation, Session, Step};
use crate::activator::config::LogLevel;
use crate::activator::feed::protocol::Answer;
use crate::client::{
    Body, ConversationGroup, ConversationHandle, DeadLetterCause, Message, MessageKind, MessageTypeName,
    OutgoingMessage,
};
use std::time::Duration;
use uuid::Uuid;

fn conversation(number: u128) -> ConversationHandle {
    ConversationHandle::from_uuid(Uuid::from_u128(number))
}

fn message(on: u128) -> Message {
    Message {
        kind: MessageKind::User,
        conversation: conversation(on),
        group: ConversationGroup::from_uuid(Uuid::nil()),
        sequence_number: 0,
        service: "//s".to_owned(),
        contract: "//c".to_owned(),
        message_type: "//t".to_owned(),
        enqueued_at: None,
        priority: 5,
        body: Body::utf8("x"),
    }
}

struct Bench(Session);

impl Bench {
    fn new() -> Self {
        Self(Session::default())
    }

    fn say(&mut self, json: &str) -> Result<Step, String> {
        self.0.answer(Answer::parse(json.as_bytes()).unwrap())
    }

    fn done(&mut self, on: u128) -> u64 {
        let id = self.0.hand_over(&message(on));
        assert_eq!(self.say(&format!("{{\"id\":{id},\"done\":true}}")), Ok(Step::Handled));
        id
    }
}

fn sent(on: u128, body: &[u8]) -> Operation {
    let message = OutgoingMessage::new(MessageTypeName::new("//r").unwrap(), Body::bytes(body));
    Operation::Send { conversation: conversation(on), message }
}

#[test]
fn what_a_handler_asks_for_is_collected_until_the_batch_is_settled() {
    let mut bench = Bench::new();
    assert_eq!(bench.0.hand_over(&message(1)), 1);
    assert_eq!(bench.say(r#"{"id":1,"reply":{"type":"//r","body":{"text":"a"}}}"#), Ok(Step::Wait));
    assert_eq!(bench.say(r#"{"id":1,"reply":{"type":"//r"}}"#), Ok(Step::Wait));
    assert_eq!(bench.say(r#"{"id":1,"done":true}"#), Ok(Step::Handled));
    assert_eq!(bench.done(2), 2);
    let first = Handled { operations: vec![sent(1, b"a"), sent(1, b"")], dead: None };
    assert_eq!(bench.0.settle(), [first, Handled::default()]);
    assert!(bench.0.settle().is_empty());
}

#[test]
fn an_answer_is_in_the_encoding_of_its_message_unless_it_says_otherwise() {
    let mut bench = Bench::new();
    let utf16 = Message { body: Body::utf16("x"), ..message(1) };
    bench.0.hand_over(&utf16);
    bench.say(r#"{"id":1,"reply":{"type":"//r","body":{"text":"a"}}}"#).unwrap();
    bench
        .say(r#"{"id":1,"reply":{"type":"//r","body":{"text":"a","encoding":"utf-8"}},"done":true}"#)
        .unwrap();
    assert_eq!(bench.0.settle()[0].operations, [sent(1, b"a\0"), sent(1, b"a")]);
}

#[test]
fn a_message_can_be_called_dead_or_be_wanted_again_later() {
    let mut bench = Bench::new();
    bench.0.hand_over(&message(1));
    assert_eq!(bench.say(r#"{"id":1,"dead":"no such order"}"#), Ok(Step::Handled));
    bench.0.hand_over(&message(2));
    bench.say(r#"{"id":2,"reply":{"type":"//r"}}"#).unwrap();
    assert_eq!(bench.say(r#"{"id":2,"retry":"30s"}"#), Ok(Step::Retry(Duration::from_secs(30))));
    let handled = bench.0.settle();
    let dead = Dead { cause: DeadLetterCause::Refused, reason: "no such order".into() };
    assert_eq!(handled, [Handled { operations: Vec::new(), dead: Some(dead) }]);
    assert!(bench.say(r#"{"id":2,"end":true}"#).is_err(), "it was not handled, so it ends nothing");
}

#[test]
fn a_conversation_is_ended_with_the_batch_whenever_that_is_said_in_time() {
    let mut bench = Bench::new();
    let first = bench.done(1);
    assert!(!bench.0.is_ended(conversation(1)));
    bench.0.hand_over(&message(2));
    assert_eq!(bench.say(&format!("{{\"id\":{first},\"end\":true}}")), Ok(Step::Wait));
    assert!(bench.0.is_ended(conversation(1)));
    bench.say(r#"{"id":2,"end_error":{"code":7,"text":"no"},"done":true}"#).unwrap();
    let handled = bench.0.settle();
    assert_eq!(handled[0].operations, [Operation::End(conversation(1))]);
    let error = Operation::EndWithError { conversation: conversation(2), code: 7, text: "no".into() };
    assert_eq!(handled[1].operations, [error]);
    assert!(!bench.0.is_ended(conversation(1)), "that was the last batch");
}

#[test]
fn an_end_that_comes_after_the_batch_is_done_by_itself_and_once() {
    let mut bench = Bench::new();
    let id = bench.done(1);
    bench.0.settle();
    let late = format!("{{\"id\":{id},\"end\":true}}");
    assert_eq!(bench.say(&late), Ok(Step::Late(Operation::End(conversation(1)))));
    assert!(bench.say(&late).is_err());
}

#[test]
fn nothing_can_be_said_about_what_is_not_out() {
    let mut bench = Bench::new();
    assert!(bench.say(r#"{"id":1,"done":true}"#).unwrap_err().contains("no message 1"));
    let id = bench.done(1);
    for json in ["\"done\":true", "\"reply\":{\"type\":\"//r\"}", "\"dead\":\"x\"", "\"retry\":\"1s\""] {
        assert!(bench.say(&format!("{{\"id\":{id},{json}}}")).is_err(), "{json}");
    }
    bench.0.hand_over(&message(1));
    bench.0.take_back();
    assert!(bench.say(r#"{"id":2,"done":true}"#).is_err());
}

#[test]
fn nothing_is_sent_on_a_conversation_that_the_same_batch_has_ended() {
    let mut bench = Bench::new();
    bench.0.hand_over(&message(1));
    bench.say(r#"{"id":1,"end":true}"#).unwrap();
    assert!(bench.say(r#"{"id":1,"reply":{"type":"//r"}}"#).unwrap_err().contains("ended already"));
    let mut bench = Bench::new();
    bench.0.hand_over(&message(1));
    bench.say(r#"{"id":1,"end":true,"done":true}"#).unwrap();
    bench.0.hand_over(&message(1));
    assert!(bench.say(r#"{"id":2,"reply":{"type":"//r"}}"#).unwrap_err().contains("ended already"));
}

#[test]
fn log_lines_change_nothing() {
    let mut bench = Bench::new();
    bench.0.hand_over(&message(1));
    let step = Step::Log { level: LogLevel::Warn, text: "slow".into() };
    assert_eq!(bench.say(r#"{"log":"slow","level":"warn"}"#), Ok(step));
    assert_eq!(bench.say(r#"{"id":1,"done":true}"#), Ok(Step::Handled));
}
