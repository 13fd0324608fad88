//! What a handler has been given and what it has said about it: the state of one feed, without its pipes and its server.
//!
//! Pure. One message is out at a time, so order in a group holds and nothing behind a failed message has been seen. What a
//! handler asks for is collected, and done when the batch is settled; so undoing it costs nothing.

use super::body::Encoding;
use super::protocol::{Answer, Wish, key};
use crate::activator::config::LogLevel;
use crate::client::{Body, ConversationHandle, DeadLetterCause, Message, MessageTypeName, OutgoingMessage};
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

/// How many messages that are settled are remembered, for a handler that ends their conversations afterwards.
const REMEMBERED: usize = 1_000;

/// Something to be done on a conversation when the batch is settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Operation {
    /// Send a message.
    Send {
        /// On which conversation.
        conversation: ConversationHandle,
        /// The message.
        message: OutgoingMessage,
    },
    /// End our side.
    End(ConversationHandle),
    /// End our side with an error.
    EndWithError {
        /// Which conversation.
        conversation: ConversationHandle,
        /// Positive.
        code: i32,
        /// For the peer.
        text: String,
    },
}

/// A message that is decided.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Handled {
    /// What it leads to.
    pub(super) operations: Vec<Operation>,
    /// That it is given up, if it is.
    pub(super) dead: Option<Dead>,
}

/// Why a message is given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dead {
    /// For the table.
    pub(super) cause: DeadLetterCause,
    /// For people.
    pub(super) reason: String,
}

impl Handled {
    /// A message that was tried as often as it may be.
    pub(super) fn exhausted(reason: String) -> Self {
        Self { operations: Vec::new(), dead: Some(Dead { cause: DeadLetterCause::Attempts, reason }) }
    }

    /// Whether the handler has ended the conversation itself.
    pub(super) fn ends_conversation(&self) -> bool {
        self.operations.iter().any(|operation| ended_by(operation).is_some())
    }
}

/// What follows from a line of the handler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing yet.
    Wait,
    /// The message that is out is decided and counts as handled.
    Handled,
    /// The message that is out is to come again after this time.
    Retry(Duration),
    /// For the log.
    Log {
        /// Its importance.
        level: LogLevel,
        /// The line.
        text: String,
    },
    /// To be done by itself: the message it is about is settled already.
    Late(Operation),
}

/// The state of one feed.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// Whether giving a message up ends its conversation.
    ends_with_dead: bool,
    last_id: u64,
    out: Option<Out>,
    /// The decided messages of the batch, in order, each with the number it was handed over with; 0 for one that was not.
    handled: Vec<(u64, Handled)>,
    /// The conversations that are ended with this batch.
    ended: HashSet<ConversationHandle>,
    /// The conversations of messages that are settled.
    settled: BTreeMap<u64, ConversationHandle>,
    conversations: BTreeMap<u64, ConversationHandle>,
}

/// The message in the handler's hands.
#[derive(Debug)]
struct Out {
    id: u64,
    conversation: ConversationHandle,
    encoding: Encoding,
    operations: Vec<Operation>,
}

impl Session {
    /// Nothing handed over yet. `ends_with_dead` says whether giving a message up ends its conversation.
    pub(super) fn new(ends_with_dead: bool) -> Self {
        Self { ends_with_dead, ..Self::default() }
    }

    /// Hands a message over; answers its number.
    pub(super) fn hand_over(&mut self, message: &Message) -> u64 {
        self.last_id += 1;
        let (conversation, _) = key(message);
        self.conversations.insert(self.last_id, conversation);
        self.out = Some(Out {
            id: self.last_id,
            conversation,
            encoding: Encoding::of_answers(message),
            operations: Vec::new(),
        });
        self.last_id
    }

    /// Decides a message without the handler.
    pub(super) fn decide(&mut self, message: &Message, handled: Handled) {
        self.ended.extend(handled.operations.iter().filter_map(ended_by));
        if handled.dead.is_some() && self.ends_with_dead {
            self.ended.insert(message.conversation);
        }
        self.handled.push((0, handled));
    }

    /// Takes in a line. An error is a fault of the handler: it is to be ended.
    pub(super) fn answer(&mut self, answer: Answer) -> Result<Step, String> {
        match answer {
            Answer::Log { level, text } => Ok(Step::Log { level, text }),
            Answer::About { id, wishes } if self.out.as_ref().is_some_and(|out| out.id == id) => {
                self.about_message_out(wishes)
            }
            Answer::About { id, wishes } => self.about_earlier(id, wishes),
        }
    }

    /// The message that is out comes to nothing: its handler failed, or nobody waits for it any more.
    pub(super) fn take_back(&mut self) {
        if let Some(out) = self.out.take() {
            self.conversations.remove(&out.id);
        }
    }

    /// Whether the batch ends this conversation: what else came on it is of no use any more.
    pub(super) fn is_ended(&self, conversation: ConversationHandle) -> bool {
        self.ended.contains(&conversation)
    }

    /// Takes out what is decided, in order; afterwards a new batch begins.
    pub(super) fn settle(&mut self) -> Vec<Handled> {
        self.ended.clear();
        self.settled.append(&mut self.conversations);
        while self.settled.len() > REMEMBERED {
            self.settled.pop_first();
        }
        self.handled.drain(..).map(|(_, handled)| handled).collect()
    }

    fn about_message_out(&mut self, wishes: Vec<Wish>) -> Result<Step, String> {
        for wish in wishes {
            let out = self.out.as_mut().expect("the answer is about the message that is out");
            match wish {
                Wish::Done => return Ok(self.conclude(None)),
                Wish::Dead(reason) => {
                    return Ok(self.conclude(Some(Dead { cause: DeadLetterCause::Refused, reason })));
                }
                Wish::Retry(delay) => {
                    self.take_back();
                    return Ok(Step::Retry(delay));
                }
                other => {
                    let operation = operation(other, out.conversation, out.encoding)?;
                    let last_end = out.operations.iter().filter_map(ended_by).next();
                    if self.ended.contains(&out.conversation) || last_end.is_some() {
                        return Err(format!("the conversation of message {} is ended already", out.id));
                    }
                    out.operations.push(operation);
                }
            }
        }
        Ok(Step::Wait)
    }

    fn conclude(&mut self, dead: Option<Dead>) -> Step {
        let out = self.out.take().expect("the answer is about the message that is out");
        self.ended.extend(out.operations.iter().filter_map(ended_by));
        if dead.is_some() && self.ends_with_dead {
            self.ended.insert(out.conversation);
        }
        self.handled.push((out.id, Handled { operations: out.operations, dead }));
        Step::Handled
    }

    /// The only thing left to say about a message that is decided is that its conversation is at its end.
    fn about_earlier(&mut self, id: u64, wishes: Vec<Wish>) -> Result<Step, String> {
        let [wish @ (Wish::End | Wish::EndWithError { .. })] = &wishes[..] else {
            return Err(format!("there is no message {id} to be answered"));
        };
        if let Some((_, handled)) = self.handled.iter_mut().find(|(number, _)| *number == id) {
            let conversation = self.conversations[&id];
            if !self.ended.insert(conversation) {
                return Err(format!("the conversation of message {id} is ended already"));
            }
            handled.operations.push(operation(wish.clone(), conversation, Encoding::Utf8)?);
            return Ok(Step::Wait);
        }
        match self.settled.remove(&id) {
            Some(conversation) => Ok(Step::Late(operation(wish.clone(), conversation, Encoding::Utf8)?)),
            None => Err(format!("there is no message {id} whose conversation could be ended")),
        }
    }
}

fn operation(wish: Wish, conversation: ConversationHandle, encoding: Encoding) -> Result<Operation, String> {
    match wish {
        Wish::Reply { message_type, body } => {
            let body = body.map(|body| body.into_bytes(encoding)).transpose()?.unwrap_or_default();
            let message_type = MessageTypeName::new(message_type).map_err(|error| error.to_string())?;
            let message = OutgoingMessage::new(message_type, Body::bytes(body));
            Ok(Operation::Send { conversation, message })
        }
        Wish::EndWithError { code, text } => Ok(Operation::EndWithError { conversation, code, text }),
        Wish::End | Wish::Done | Wish::Retry(_) | Wish::Dead(_) => Ok(Operation::End(conversation)),
    }
}

fn ended_by(operation: &Operation) -> Option<ConversationHandle> {
    match operation {
        Operation::End(conversation) | Operation::EndWithError { conversation, .. } => Some(*conversation),
        Operation::Send { .. } => None,
    }
}

#[cfg(test)]
mod tests;
