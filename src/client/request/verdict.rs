//! Reads what came on the conversation of a request: progress, the reply, an end. Pure.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::client::body::Body;
use crate::client::message::{ErrorBody, Message, MessageKind};

/// Tells the reply from progress messages, by type and body.
pub(super) type Until = Arc<dyn Fn(&str, &Body) -> bool + Send + Sync>;

/// How a request ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome {
    /// The reply came.
    Replied(Arrived),
    /// The conversation failed, or the target ended it with an error.
    Failed(ErrorBody),
    /// The target ended the conversation without a reply.
    Ended,
}

/// A message as it came, or as the table kept it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Arrived {
    pub(super) sequence_number: i64,
    pub(super) message_type: String,
    pub(super) body: Body,
    /// What the table kept behind it.
    pub(super) behind: Vec<Arrived>,
}

/// What the messages of one conversation mean for the one who waits.
#[derive(Debug, PartialEq)]
pub(super) struct Verdict {
    /// `None` while only progress came.
    pub(super) outcome: Option<Outcome>,
    /// Messages that nobody waits for: those of the application behind the reply, and timers.
    pub(super) rest: Vec<Message>,
}

/// The reply is the first message that `until` accepts; what comes before it is progress.
pub(super) fn judge(messages: Vec<Message>, until: &Until) -> Verdict {
    let mut verdict = Verdict { outcome: None, rest: Vec::new() };
    for message in messages {
        match (&message.kind, &verdict.outcome) {
            (MessageKind::DialogTimer, _) | (MessageKind::User, Some(_)) => verdict.rest.push(message),
            (MessageKind::User, None) => {
                if is_reply(until, &message.message_type, &message.body) {
                    verdict.outcome = Some(Outcome::Replied(message.into()));
                }
            }
            (MessageKind::Error(error), None) => verdict.outcome = Some(Outcome::Failed(error.clone())),
            (MessageKind::EndDialog, None) => verdict.outcome = Some(Outcome::Ended),
            (MessageKind::Error(_) | MessageKind::EndDialog, Some(_)) => {}
        }
    }
    verdict
}

/// A predicate that panics must not stop the reader of the queue, nor lose the message: it counts as the reply.
pub(super) fn is_reply(until: &Until, message_type: &str, body: &Body) -> bool {
    catch_unwind(AssertUnwindSafe(|| until(message_type, body))).unwrap_or_else(|_panic| {
        tracing::error!(
            message_type,
            "the predicate of a request panicked; its message is taken for the reply"
        );
        true
    })
}

impl From<Message> for Arrived {
    fn from(message: Message) -> Self {
        let Message { sequence_number, message_type, body, .. } = message;
        Self { sequence_number, message_type, body, behind: Vec::new() }
    }
}

/// Takes messages apart by conversation; each keeps its order.
pub(super) fn by_conversation(messages: Vec<Message>) -> Vec<Vec<Message>> {
    let mut conversations: Vec<Vec<Message>> = Vec::new();
    for message in messages {
        match conversations.iter_mut().find(|known| known[0].conversation == message.conversation) {
            Some(known) => known.push(message),
            None => conversations.push(vec![message]),
        }
    }
    conversations
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::ids::{ConversationGroup, ConversationHandle};

    fn message(conversation: u128, sequence_number: i64, text: &str) -> Message {
        let kind = match text {
            "end" => MessageKind::EndDialog,
            "error" => MessageKind::Error(ErrorBody::read(&Body::utf8("out of paper"))),
            "timer" => MessageKind::DialogTimer,
            _ => MessageKind::User,
        };
        Message {
            kind,
            conversation: ConversationHandle::from_uuid(uuid::Uuid::from_u128(conversation)),
            group: ConversationGroup::from_uuid(uuid::Uuid::from_u128(9)),
            sequence_number,
            service: "//t/initiator".to_owned(),
            contract: "//t/contract".to_owned(),
            message_type: "//t/reply".to_owned(),
            enqueued_at: None,
            priority: 5,
            body: Body::utf8(text),
        }
    }

    /// The outcome as a word, and the texts of the rest.
    fn judged(texts: &[&str], until: impl Fn(&str) -> bool + Send + Sync + 'static) -> (String, Vec<String>) {
        let messages = texts.iter().zip(0..).map(|(text, at)| message(1, at, text)).collect();
        let until: Until = Arc::new(move |_, body: &Body| until(body.to_utf8().unwrap()));
        let verdict = judge(messages, &until);
        let outcome = match verdict.outcome {
            None => "progress".to_owned(),
            Some(Outcome::Ended) => "ended".to_owned(),
            Some(Outcome::Failed(error)) => error.description,
            Some(Outcome::Replied(reply)) => reply.body.to_utf8().unwrap().to_owned(),
        };
        (outcome, verdict.rest.iter().map(|message| message.body.to_utf8().unwrap().to_owned()).collect())
    }

    #[test]
    fn the_first_accepted_message_is_the_reply_and_an_end_behind_it_changes_nothing() {
        let none: Vec<String> = Vec::new();
        assert_eq!(judged(&["a", "end"], |_| true), ("a".to_owned(), none.clone()));
        assert_eq!(
            judged(&["10 %", "90 %", "done", "end"], |text| text == "done"),
            ("done".to_owned(), none.clone())
        );
        assert_eq!(judged(&["10 %"], |text| text == "done"), ("progress".to_owned(), none.clone()));
        assert_eq!(judged(&["10 %", "end"], |text| text == "done"), ("ended".to_owned(), none.clone()));
        assert_eq!(judged(&["error"], |_| true), ("out of paper".to_owned(), none));
    }

    #[test]
    fn what_nobody_waits_for_is_left_over() {
        let rest = vec!["timer".to_owned(), "b".to_owned()];
        assert_eq!(judged(&["timer", "a", "b", "end"], |_| true), ("a".to_owned(), rest));
    }

    #[test]
    fn a_predicate_that_panics_takes_the_message_for_the_reply() {
        assert_eq!(judged(&["a"], |_| panic!("no opinion")).0, "a");
    }

    #[test]
    fn messages_are_taken_apart_by_conversation_in_order() {
        let messages = vec![message(1, 0, "a"), message(2, 0, "b"), message(1, 1, "c")];
        let parts = by_conversation(messages);
        assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(parts[0][1].sequence_number, 1);
    }
}
