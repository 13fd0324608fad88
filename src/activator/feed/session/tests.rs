//! The state of a feed, told in the lines of a handler.

use super::{Dead, Handled, Operation, Session, Step};
use crate::activator::config::LogLevel;
use crate::activator::feed::protocol::Answer;
use crate::activator::feed::samples::message;
use crate::client::{Body, ConversationHandle, DeadLetterCause, Message, MessageTypeName, OutgoingMessage};
use std::time::Duration;
use uuid::Uuid;

fn conversation(number: u128) -> ConversationHandle {
    ConversationHandle::from_uuid(Uuid::from_u128(number))
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

    /// Everything that is decided is settled.
    fn settle(&mut self) -> Vec<Handled> {
        let handled = self.0.take_handled();
        self.0.settled(handled.len());
        handled
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
    assert_eq!(bench.settle(), [first, Handled::default()]);
    assert!(bench.settle().is_empty());
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
    assert_eq!(bench.settle()[0].operations, [sent(1, b"a\0"), sent(1, b"a")]);
}

#[test]
fn a_message_can_be_called_dead_or_be_wanted_again_later() {
    let mut bench = Bench::new();
    bench.0.hand_over(&message(1));
    assert_eq!(bench.say(r#"{"id":1,"dead":"no such order"}"#), Ok(Step::Handled));
    bench.0.hand_over(&message(2));
    bench.say(r#"{"id":2,"reply":{"type":"//r"}}"#).unwrap();
    assert_eq!(bench.say(r#"{"id":2,"retry":"30s"}"#), Ok(Step::Retry(Duration::from_secs(30))));
    let handled = bench.settle();
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
    let handled = bench.settle();
    assert_eq!(handled[0].operations, [Operation::End(conversation(1))]);
    let error = Operation::EndWithError { conversation: conversation(2), code: 7, text: "no".into() };
    assert_eq!(handled[1].operations, [error]);
    assert!(!bench.0.is_ended(conversation(1)), "that was the last batch");
}

#[test]
fn an_end_that_comes_after_the_batch_is_done_by_itself_and_once() {
    let mut bench = Bench::new();
    let id = bench.done(1);
    bench.settle();
    let late = format!("{{\"id\":{id},\"end\":true}}");
    assert_eq!(bench.say(&late), Ok(Step::Late(Operation::End(conversation(1)))));
    assert!(bench.say(&late).is_err());
}

#[test]
fn an_end_of_a_message_that_went_back_ends_nothing() {
    let mut bench = Bench::new();
    let (first, second) = (bench.done(1), bench.done(2));
    assert_eq!(bench.0.take_handled().len(), 2);
    bench.0.settled(1);
    assert_eq!(bench.say(&format!("{{\"id\":{second},\"end\":true}}")), Ok(Step::Wait));
    let late = bench.say(&format!("{{\"id\":{first},\"end\":true}}"));
    assert_eq!(late, Ok(Step::Late(Operation::End(conversation(1)))));
    let third = bench.done(3);
    bench.0.take_handled();
    bench.0.settled(0);
    assert_eq!(bench.say(&format!("{{\"id\":{third},\"end\":true}}")), Ok(Step::Wait));
}

#[test]
fn an_end_comes_after_every_reply_that_was_said_before_it() {
    let mut bench = Bench::new();
    let first = bench.done(1);
    bench.done(2);
    bench.0.hand_over(&message(1));
    bench.say(r#"{"id":3,"reply":{"type":"//r"},"done":true}"#).unwrap();
    bench.0.hand_over(&message(1));
    bench.say(r#"{"id":4,"reply":{"type":"//r"}}"#).unwrap();
    assert_eq!(bench.say(&format!("{{\"id\":{first},\"end\":true}}")), Ok(Step::Wait));
    assert!(bench.0.is_ended(conversation(1)));
    assert!(bench.say(r#"{"id":4,"reply":{"type":"//r"}}"#).is_err(), "that is said after the end");
    bench.say(r#"{"id":4,"done":true}"#).unwrap();
    let operations: Vec<_> = bench.settle().into_iter().map(|handled| handled.operations).collect();
    let last = vec![sent(1, b""), Operation::End(conversation(1))];
    assert_eq!(operations, [vec![], vec![], vec![sent(1, b"")], last]);
}

#[test]
fn a_handler_may_end_what_its_peer_has_ended_in_the_same_batch() {
    let mut bench = Bench::new();
    let first = bench.done(1);
    let end = Operation::End(conversation(1));
    bench.0.decide(&message(1), Handled { operations: vec![end.clone()], dead: None });
    assert_eq!(bench.say(&format!("{{\"id\":{first},\"end\":true}}")), Ok(Step::Wait));
    let operations: Vec<_> = bench.settle().into_iter().map(|handled| handled.operations).collect();
    assert_eq!(operations, [vec![], vec![end]], "it is ended once");
}

#[test]
fn an_end_holds_even_if_the_message_that_was_out_comes_to_nothing() {
    let mut bench = Bench::new();
    let first = bench.done(1);
    bench.0.hand_over(&message(1));
    bench.say(&format!("{{\"id\":{first},\"end\":true}}")).unwrap();
    bench.0.take_back();
    assert_eq!(bench.settle()[0].operations, [Operation::End(conversation(1))]);
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

/// A reply of 4 MiB to the message with this number.
fn large_reply(id: u64) -> String {
    format!(
        "{{\"id\":{id},\"reply\":{{\"type\":\"//r\",\"body\":{{\"text\":\"{}\"}}}}}}",
        "x".repeat(4 << 20)
    )
}

#[test]
fn a_message_cannot_lead_to_more_than_memory_bears() {
    let mut bench = Bench::new();
    bench.0.hand_over(&message(1));
    let reply = large_reply(1);
    let said = (0..17).map(|_| bench.say(&reply)).find(Result::is_err);
    assert!(said.unwrap().unwrap_err().contains("more than"));
}

#[test]
fn a_batch_that_leads_to_much_is_settled_early() {
    let mut bench = Bench::new();
    for id in 1..=4 {
        assert!(!bench.0.is_full());
        bench.0.hand_over(&message(1));
        bench.say(&large_reply(id)).unwrap();
        bench.say(&format!("{{\"id\":{id},\"done\":true}}")).unwrap();
    }
    assert!(bench.0.is_full());
    bench.settle();
    bench.0.hand_over(&message(1));
    bench.say(&format!("{{\"id\":5,\"dead\":\"{}\"}}", "x".repeat(16 << 20))).unwrap();
    assert!(bench.0.is_full(), "a reason takes memory as well");
    bench.settle();
    assert!(!bench.0.is_full());
}
