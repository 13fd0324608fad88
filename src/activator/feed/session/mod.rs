//! What a handler has been given and what it has said about it: the state of one feed, without its pipes and its server.
//!
//! Pure. One message is out at a time, so order in a group holds and nothing behind a failed message has been seen. What a
//! handler asks for is collected, and done when the batch is settled; so undoing it costs nothing.

use super::body::Encoding;
use super::protocol::{Answer, Wish, key};
use crate::activator::config::LogLevel;
use crate::client::{Body, ConversationHandle, DeadLetterCause, Message, MessageTypeName, OutgoingMessage};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

/// How many messages of earlier batches are remembered, for a handler that ends their conversations afterwards.
const REMEMBERED: usize = 1_000;

/// Most bytes that one message may lead to. What else an operation holds counts as [`OVERHEAD`].
const MOST_BYTES: usize = 64 * 1024 * 1024;
const OVERHEAD: usize = 512;
/// A batch that leads to so many bytes is settled before more of it is handed over.
const MANY_BYTES: usize = 16 * 1024 * 1024;

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

impl Operation {
    /// The conversation it ends.
    pub(super) fn ends(&self) -> Option<ConversationHandle> {
        match self {
            Self::End(conversation) | Self::EndWithError { conversation, .. } => Some(*conversation),
            Self::Send { .. } => None,
        }
    }

    /// About how much memory it takes.
    fn bytes(&self) -> usize {
        OVERHEAD
            + match self {
                Self::Send { message, .. } => message.body.as_bytes().len(),
                Self::EndWithError { text, .. } => text.len(),
                Self::End(_) => 0,
            }
    }
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
        self.operations.iter().any(|operation| operation.ends().is_some())
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
    /// What they lead to takes so much memory.
    bytes: usize,
    /// The conversations that are ended with this batch.
    ended: HashSet<ConversationHandle>,
    /// Those of them that no handler has asked to end, so that asking for it as well is no fault.
    ended_by_us: HashSet<ConversationHandle>,
    /// Ends that were said after their message was decided. Each goes behind everything else on its conversation.
    ends: Vec<(ConversationHandle, Operation)>,
    /// The conversations of this batch's messages, but for those that came to nothing.
    conversations: BTreeMap<u64, ConversationHandle>,
    /// The numbers of the messages that are being settled, in order; 0 for one that was not handed over.
    settling: Vec<u64>,
    /// The conversations of messages that are settled.
    settled: BTreeMap<u64, ConversationHandle>,
    /// The messages that were decided and went back to the queue all the same.
    returned: BTreeSet<u64>,
}

/// The message in the handler's hands.
#[derive(Debug)]
struct Out {
    id: u64,
    conversation: ConversationHandle,
    encoding: Encoding,
    operations: Vec<Operation>,
    /// What the operations take.
    bytes: usize,
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
            bytes: 0,
        });
        self.last_id
    }

    /// Decides a message without the handler.
    pub(super) fn decide(&mut self, message: &Message, handled: Handled) {
        let is_given_up = handled.dead.is_some() && self.ends_with_dead;
        let given_up = is_given_up.then_some(message.conversation);
        for conversation in handled.operations.iter().filter_map(Operation::ends).chain(given_up) {
            self.end_unasked(conversation);
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

    /// Whether the decided messages lead to so much that they are to be settled first.
    pub(super) fn is_full(&self) -> bool {
        self.bytes >= MANY_BYTES
    }

    /// Takes out what is decided, in order, to be settled; [`settled`](Self::settled) has to follow.
    pub(super) fn take_handled(&mut self) -> Vec<Handled> {
        self.bytes = 0;
        self.ended.clear();
        self.ended_by_us.clear();
        for (conversation, end) in std::mem::take(&mut self.ends) {
            let is_on = |id: &u64| self.conversations.get(id) == Some(&conversation);
            let last = self.handled.iter_mut().rev().find(|(id, _)| is_on(id));
            last.expect("an end is about a decided message").1.operations.push(end);
        }
        let (ids, handled) = self.handled.drain(..).unzip();
        self.settling = ids;
        handled
    }

    /// The first `count` messages of what was taken out are committed, and the others have gone back to the queue. A new
    /// batch begins.
    pub(super) fn settled(&mut self, count: usize) {
        for (at, id) in std::mem::take(&mut self.settling).into_iter().enumerate() {
            match self.conversations.remove(&id) {
                Some(conversation) if at < count => drop(self.settled.insert(id, conversation)),
                Some(_) => drop(self.returned.insert(id)),
                None => {}
            }
        }
        while self.settled.len() > REMEMBERED {
            self.settled.pop_first();
        }
        while self.returned.len() > REMEMBERED {
            self.returned.pop_first();
        }
    }

    fn about_message_out(&mut self, wishes: Vec<Wish>) -> Result<Step, String> {
        for wish in wishes {
            let out = self.out.as_mut().expect("the answer is about the message that is out");
            match wish {
                Wish::Done => return Ok(self.conclude(None)),
                Wish::Dead(reason) => {
                    out.bytes += reason.len();
                    return Ok(self.conclude(Some(Dead { cause: DeadLetterCause::Refused, reason })));
                }
                Wish::Retry(delay) => {
                    self.take_back();
                    return Ok(Step::Retry(delay));
                }
                other => {
                    let operation = operation(other, out.conversation, out.encoding)?;
                    let last_end = out.operations.iter().filter_map(Operation::ends).next();
                    if self.ended.contains(&out.conversation) || last_end.is_some() {
                        return Err(format!("the conversation of message {} is ended already", out.id));
                    }
                    out.bytes += operation.bytes();
                    if out.bytes > MOST_BYTES {
                        return Err(format!("message {} leads to more than {MOST_BYTES} bytes", out.id));
                    }
                    out.operations.push(operation);
                }
            }
        }
        Ok(Step::Wait)
    }

    fn conclude(&mut self, dead: Option<Dead>) -> Step {
        let out = self.out.take().expect("the answer is about the message that is out");
        self.ended.extend(out.operations.iter().filter_map(Operation::ends));
        if dead.is_some() && self.ends_with_dead {
            self.end_unasked(out.conversation);
        }
        self.bytes += out.bytes;
        self.handled.push((out.id, Handled { operations: out.operations, dead }));
        Step::Handled
    }

    fn end_unasked(&mut self, conversation: ConversationHandle) {
        if self.ended.insert(conversation) {
            self.ended_by_us.insert(conversation);
        }
    }

    /// The only thing left to say about a message that is decided is that its conversation is at its end.
    fn about_earlier(&mut self, id: u64, wishes: Vec<Wish>) -> Result<Step, String> {
        let [wish @ (Wish::End | Wish::EndWithError { .. })] = &wishes[..] else {
            return Err(format!("there is no message {id} to be answered"));
        };
        if self.handled.iter().any(|(number, _)| *number == id) {
            let conversation = self.conversations[&id];
            if self.ended_by_us.contains(&conversation) {
                return Ok(Step::Wait);
            }
            if !self.ended.insert(conversation) {
                return Err(format!("the conversation of message {id} is ended already"));
            }
            self.ends.push((conversation, operation(wish.clone(), conversation, Encoding::Utf8)?));
            return Ok(Step::Wait);
        }
        if self.returned.contains(&id) {
            // It comes again under another number, and its conversation has to be there then.
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

#[cfg(test)]
mod tests;
