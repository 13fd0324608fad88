//! Settling a batch: what is handled is done and committed, the rest goes back to the queue, all in the receiving
//! transaction.
//!
//! The messages behind the handled ones are given back by rolling back to the savepoint before RECEIVE and taking the
//! handled ones again: same group, same sequence numbers. That is no roll back as the queue counts them. Decides nothing
//! about the handler.

use super::decisions::{Decisions, Failure};
use super::deliveries::Deliveries;
use super::protocol::key;
use super::session::{Dead, Operation};
use crate::activator::config::{DeadLetter, FeedSettings};
use crate::activator::log_lines;
use crate::client::{Batch, Broker, ConversationHandle, Error, ErrorKind, Message, OutgoingMessage, Result};
use std::collections::HashMap;

/// Code of the error that a conversation is ended with when a message of it is given up.
const DEAD_CODE: i32 = 1;
/// The column of a reason holds so many UTF-16 units.
const LONGEST_REASON: usize = 2_000;

/// A batch and what has become of its messages.
pub(super) struct Settlement<'a> {
    pub(super) broker: &'a Broker,
    pub(super) settings: &'a FeedSettings,
    pub(super) deliveries: &'a Deliveries,
    /// How often each message failed before.
    pub(super) failures: HashMap<(ConversationHandle, i64), u32>,
    pub(super) decisions: Decisions<'a>,
}

/// What a settlement has led to.
pub(super) struct Settled {
    /// So many messages, the first of the batch, are gone from the queue.
    pub(super) count: usize,
    /// Why the message behind them has gone back.
    pub(super) failure: Option<Failure>,
    /// Why that message, tried as often as it may be, could not be given up either.
    pub(super) stuck: Option<Error>,
    /// The batch that came with the commit.
    pub(super) next: Option<Batch>,
}

impl Settlement<'_> {
    /// Carries it out, and takes the next batch if `wants_more` and no message failed.
    ///
    /// A server that refuses what a handler asked for makes that message fail. When this fails as a whole nothing is
    /// settled, and everything comes again with a higher attempt. A message that is to be given up and cannot be goes back:
    /// nothing else is left to try with it until somebody mends the reason.
    pub(super) async fn settle(mut self, mut batch: Batch, wants_more: bool) -> Result<Settled> {
        self.give_up_if_exhausted();
        if self.decisions.are_partial() {
            self.take(&mut batch).await?;
        }
        let mut stuck = None;
        while let Err(Refused { at, error }) = self.carry_out(&mut batch).await {
            if !is_refusal(&error) {
                return self.abandon(batch, at, error).await;
            }
            let is_stuck = self.decisions.is_exhausted(at);
            let failure = Failure { reason: log_lines::chain(&error), delay: self.settings.retry };
            self.decisions.fail(at, failure);
            if is_stuck {
                stuck = Some(error);
            } else {
                stuck = None;
                self.give_up_if_exhausted();
            }
            self.take(&mut batch).await?;
        }
        if let Some((message, failure)) = self.decisions.failed() {
            self.count(&mut batch, message, &failure.reason).await?;
        }
        let next = match wants_more && self.decisions.failed().is_none() {
            true => batch.commit_and_next().await?,
            false => batch.commit().await.map(|()| None)?,
        };
        let handled = self.decisions.handled_messages();
        if let Err(error) = self.deliveries.settle(handled) {
            tracing::warn!(target: "activator", "messages that are handled cannot be struck out: {error}");
        }
        Ok(Settled { count: handled.len(), failure: self.decisions.into_failure(), stuck, next })
    }

    /// A message that has failed often enough counts as handled: it is dead.
    fn give_up_if_exhausted(&mut self) {
        let Some((message, _)) = self.decisions.failed() else { return };
        if self.failures_of(message) + 1 >= self.settings.attempts {
            self.decisions.give_up();
        }
    }

    /// Keeps the handled messages and gives the others back.
    async fn take(&self, batch: &mut Batch) -> Result<()> {
        let handled = self.decisions.handled_messages();
        let count = u32::try_from(handled.len()).unwrap_or(u32::MAX);
        let taken = batch.keep_first(self.decisions.messages()[0].group, count).await?;
        if taken.iter().map(key).eq(handled.iter().map(key)) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Handler, "other messages have come before those that were handled"))
    }

    /// Does what the handled messages lead to: in few round trips, and one by one if something is refused, to find out what.
    async fn carry_out(&self, batch: &mut Batch) -> Result<(), Refused> {
        let last = self.decisions.handled().len().saturating_sub(1);
        let error = match self.carry_out_together(batch).await {
            Ok(()) => return Ok(()),
            Err(error) if is_refusal(&error) => error,
            Err(error) => return Err(Refused { at: last, error }),
        };
        batch.undo().await.map_err(|doomed| Refused { at: last, error: doomed })?;
        for at in 0..self.decisions.handled().len() {
            self.carry_out_one(batch, at).await.map_err(|error| Refused { at, error })?;
        }
        // Refused together and not refused one by one: the server has changed its mind.
        tracing::debug!(target: "activator", "refused at first, and not the second time: {error}");
        Ok(())
    }

    async fn carry_out_together(&self, batch: &mut Batch) -> Result<()> {
        let mut sends = Vec::new();
        for (at, handled) in self.decisions.handled().iter().enumerate() {
            for operation in &handled.operations {
                if let Operation::Send { conversation, message } = operation {
                    sends.push((*conversation, message.clone()));
                } else {
                    send(batch, &mut sends).await?;
                    carry_out(batch, operation).await?;
                }
            }
            if self.is_counted(&self.decisions.messages()[at]) || handled.dead.is_some() {
                send(batch, &mut sends).await?;
                self.conclude(batch, at).await?;
            }
        }
        send(batch, &mut sends).await
    }

    async fn carry_out_one(&self, batch: &mut Batch, at: usize) -> Result<()> {
        for operation in &self.decisions.handled()[at].operations {
            carry_out(batch, operation).await?;
        }
        self.conclude(batch, at).await
    }

    /// What the tables of attempts and dead letters have to know.
    async fn conclude(&self, batch: &mut Batch, at: usize) -> Result<()> {
        let (message, handled) = (&self.decisions.messages()[at], &self.decisions.handled()[at]);
        let Some(Dead { cause, reason }) = &handled.dead else {
            return if self.is_counted(message) { batch.forget_attempts(message).await } else { Ok(()) };
        };
        let attempts = self.failures_of(message) + 1;
        let conversation = tracing::field::display(message.conversation);
        tracing::error!(target: "activator", %conversation, attempts, reason, "a message was given up");
        match self.settings.dead_letter {
            DeadLetter::Table => batch.dead_letter(message.clone(), attempts, *cause, bounded(reason)).await,
            DeadLetter::EndConversation if handled.ends_conversation() => Ok(()),
            DeadLetter::EndConversation => {
                batch.end_with_error(message.conversation, DEAD_CODE, bounded(reason)).await
            }
        }
    }

    /// Whether the table knows of failures of this message.
    fn is_counted(&self, message: &Message) -> bool {
        self.settings.dead_letter == DeadLetter::Table && self.failures_of(message) > 0
    }

    fn failures_of(&self, message: &Message) -> u32 {
        self.failures.get(&key(message)).copied().unwrap_or(0)
    }

    /// Counts a failed attempt.
    async fn count(&self, batch: &mut Batch, message: &Message, reason: &str) -> Result<()> {
        match self.settings.dead_letter {
            DeadLetter::Table => batch.count_attempt(message, bounded(reason)).await,
            DeadLetter::EndConversation => {
                self.note_failure(message);
                Ok(())
            }
        }
    }

    /// What cannot be written down is known for as long as this daemon lives.
    fn note_failure(&self, message: &Message) {
        if let Err(error) = self.deliveries.fail(message) {
            tracing::error!(target: "activator", "a failed message cannot be noted: {error}");
        }
    }

    /// The transaction is lost. If what a message led to has doomed it, an attempt of that message is counted elsewhere.
    async fn abandon(self, batch: Batch, at: usize, error: Error) -> Result<Settled> {
        batch.give_back().await?;
        if error.kind() == ErrorKind::TransactionDoomed {
            let message = &self.decisions.messages()[at];
            match self.settings.dead_letter {
                DeadLetter::Table => {
                    self.broker.count_attempt(message, &bounded(&log_lines::chain(&error))).await?;
                }
                DeadLetter::EndConversation => self.note_failure(message),
            }
        }
        Err(error)
    }
}

/// The server's refusal of something that a message led to.
struct Refused {
    /// Position of the message.
    at: usize,
    error: Error,
}

/// Does one operation on a batch.
async fn carry_out(batch: &mut Batch, operation: &Operation) -> Result<()> {
    match operation {
        Operation::Send { conversation, message } => {
            batch.send(*conversation, &message.message_type, message.body.clone()).await
        }
        Operation::End(conversation) => batch.end(*conversation).await,
        Operation::EndWithError { conversation, code, text } => {
            batch.end_with_error(*conversation, *code, text.clone()).await
        }
    }
}

/// Sends what has been gathered.
async fn send(batch: &mut Batch, sends: &mut Vec<(ConversationHandle, OutgoingMessage)>) -> Result<()> {
    if sends.is_empty() { Ok(()) } else { batch.send_all(std::mem::take(sends)).await }
}

/// Whether the server said no to a statement and the transaction goes on.
fn is_refusal(error: &Error) -> bool {
    let is_lost = error.is_connection_lost() || error.is_retryable();
    !is_lost && !matches!(error.kind(), ErrorKind::TransactionDoomed | ErrorKind::Closed)
}

/// As much of a reason as the table takes.
fn bounded(reason: &str) -> String {
    let units: Vec<u16> = reason.encode_utf16().take(LONGEST_REASON).collect();
    String::from_utf16(&units).unwrap_or_else(|_split| reason.chars().take(LONGEST_REASON / 2).collect())
}
