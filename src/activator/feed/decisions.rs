//! The messages of a batch and what has become of each: first those that are handled, then perhaps one that failed, then
//! those that nobody has seen.
//!
//! Pure. That order is what lets the rest be given back and the first ones be kept; this type is what holds to it.

use super::session::Handled;
use crate::client::{DeadLetterCause, Message};
use std::time::Duration;

/// Why a message failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) reason: String,
    /// When it is to come again.
    pub(super) delay: Duration,
}

/// What has become of the messages of a batch.
#[derive(Debug)]
pub(super) struct Decisions<'a> {
    messages: &'a [Message],
    handled: Vec<Handled>,
    failure: Option<Failure>,
}

impl<'a> Decisions<'a> {
    /// The first messages are handled, as many as there are entries; `failure` belongs to the one behind them.
    pub(super) fn new(messages: &'a [Message], handled: Vec<Handled>, failure: Option<Failure>) -> Self {
        let decided = handled.len() + usize::from(failure.is_some());
        assert!(decided <= messages.len(), "only messages of the batch are decided");
        Self { messages, handled, failure }
    }

    pub(super) fn messages(&self) -> &'a [Message] {
        self.messages
    }

    /// What became of the messages that are handled, in order.
    pub(super) fn handled(&self) -> &[Handled] {
        &self.handled
    }

    /// The messages that are handled.
    pub(super) fn handled_messages(&self) -> &'a [Message] {
        &self.messages[..self.handled.len()]
    }

    /// Whether some messages have to go back to the queue.
    pub(super) fn are_partial(&self) -> bool {
        self.handled.len() < self.messages.len()
    }

    /// The message that failed, and why.
    pub(super) fn failed(&self) -> Option<(&'a Message, &Failure)> {
        let failure = self.failure.as_ref()?;
        Some((&self.messages[self.handled.len()], failure))
    }

    /// The message at this place failed after all; nothing behind it counts.
    pub(super) fn fail(&mut self, at: usize, failure: Failure) {
        self.handled.truncate(at);
        self.failure = Some(failure);
    }

    /// The message that failed is dead, so it counts as handled.
    pub(super) fn give_up(&mut self) {
        if let Some(failure) = self.failure.take() {
            self.handled.push(Handled::exhausted(failure.reason));
        }
    }

    /// Whether the message at this place was given up because it was tried as often as it may be.
    pub(super) fn is_exhausted(&self, at: usize) -> bool {
        let dead = self.handled.get(at).and_then(|handled| handled.dead.as_ref());
        dead.is_some_and(|dead| dead.cause == DeadLetterCause::Attempts)
    }

    pub(super) fn into_failure(self) -> Option<Failure> {
        self.failure
    }
}

#[cfg(test)]
mod tests {
    use super::{Decisions, Failure};
    use crate::activator::feed::samples::message;
    use crate::activator::feed::session::Handled;
    use std::time::Duration;

    fn failure(reason: &str) -> Failure {
        Failure { reason: reason.to_owned(), delay: Duration::ZERO }
    }

    #[test]
    fn the_message_behind_the_handled_ones_is_the_one_that_failed() {
        let messages = [message(1), message(2), message(3)];
        let mut decisions = Decisions::new(&messages, vec![Handled::default(); 2], Some(failure("no")));
        assert!(decisions.are_partial());
        assert_eq!(decisions.failed(), Some((&messages[2], &failure("no"))));
        decisions.fail(0, failure("refused"));
        assert_eq!(decisions.failed(), Some((&messages[0], &failure("refused"))));
        decisions.give_up();
        assert_eq!((decisions.failed(), decisions.handled_messages()), (None, &messages[..1]));
        assert!(decisions.is_exhausted(0) && !decisions.is_exhausted(1));
        assert!(!Decisions::new(&messages, vec![Handled::default(); 3], None).are_partial());
    }

    #[test]
    #[should_panic(expected = "only messages of the batch")]
    fn a_failure_needs_a_message() {
        Decisions::new(&[message(1)], vec![Handled::default()], Some(failure("whose?")));
    }
}
