//! Settling a batch: what is handled is done and committed, the rest goes back to the queue, all in the receiving
//! transaction.
//!
//! The messages behind the handled ones are given back by rolling back to the savepoint before RECEIVE and taking the
//! handled ones again: same group, same sequence numbers. That is no roll back as the queue counts them. Decides nothing
//! about the handler.

use super::deliveries::Deliveries;
use super::protocol::key;
use super::session::{Dead, Handled, Operation};
use crate::activator::config::{DeadLetter, FeedSettings};
use crate::activator::log_lines;
use crate::client::{Batch, Broker, ConversationHandle, Error, ErrorKind, Message, OutgoingMessage, Result};
use std::collections::HashMap;
use std::time::Duration;

/// Code of the error that a conversation is ended with when a message of it is given up.
const DEAD_CODE: i32 = 1;
/// The column of a reason holds so many UTF-16 units.
const LONGEST_REASON: usize = 2_000;

/// A message that failed, at the end of those that were handled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) reason: String,
    /// When it is to come again.
    pub(super) delay: Duration,
}

/// A batch and what has become of its messages.
pub(super) struct Settlement<'a> {
    pub(super) broker: &'a Broker,
    pub(super) settings: &'a FeedSettings,
    pub(super) deliveries: &'a Deliveries,
    pub(super) messages: &'a [Message],
    /// How often each message failed before.
    pub(super) failures: HashMap<(ConversationHandle, i64), u32>,
    /// The first messages of the batch, as many as were handled.
    pub(super) handled: Vec<Handled>,
    /// What became of the message behind them.
    pub(super) failure: Option<Failure>,
}

impl Settlement<'_> {
    /// Carries it out. Answers the failure that is left, and the next batch if `wants_more`.
    ///
    /// A server that refuses what a handler asked for makes that message fail. When this fails as a whole nothing is
    /// settled, and everything comes again with a higher attempt.
    pub(super) async fn settle(
        mut self,
        mut batch: Batch,
        wants_more: bool,
    ) -> Result<(Option<Failure>, Option<Batch>)> {
        self.give_up_if_exhausted();
        if self.handled.len() < self.messages.len() {
            self.take(&mut batch).await?;
        }
        while let Err(refused) = self.carry_out(&mut batch).await {
            let Refused { at, error } = refused;
            if !is_refusal(&error) {
                return self.abandon(batch, at, error).await;
            }
            self.handled.truncate(at);
            self.fail(log_lines::chain(&error));
            self.take(&mut batch).await?;
        }
        if let Some(failure) = &self.failure {
            self.count(&mut batch, &failure.reason).await?;
        }
        let next = match wants_more && self.failure.is_none() {
            true => batch.commit_and_next().await?,
            false => batch.commit().await.map(|()| None)?,
        };
        if let Err(error) = self.deliveries.settle(&self.messages[..self.handled.len()]) {
            tracing::warn!(target: "activator", "messages that are handled cannot be struck out: {error}");
        }
        Ok((self.failure, next))
    }

    /// The message behind the handled ones has failed for this reason.
    fn fail(&mut self, reason: String) {
        self.failure = Some(Failure { reason, delay: self.settings.retry });
        self.give_up_if_exhausted();
    }

    /// A message that has failed often enough counts as handled: it is dead.
    fn give_up_if_exhausted(&mut self) {
        let Some(failure) = &self.failure else { return };
        let failures = self.failures_of(self.handled.len()) + 1;
        if failures >= self.settings.attempts {
            self.handled.push(Handled::exhausted(failure.reason.clone()));
            self.failure = None;
        }
    }

    /// Keeps the handled messages and gives the others back.
    async fn take(&self, batch: &mut Batch) -> Result<()> {
        let count = self.handled.len();
        let taken =
            batch.keep_first(self.messages[0].group, u32::try_from(count).unwrap_or(u32::MAX)).await?;
        if taken.iter().map(key).eq(self.messages[..count].iter().map(key)) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Handler, "other messages have come before those that were handled"))
    }

    /// Does what the handled messages lead to: in few round trips, and one by one if something is refused, to find out what.
    async fn carry_out(&self, batch: &mut Batch) -> Result<(), Refused> {
        let error = match self.carry_out_together(batch).await {
            Ok(()) => return Ok(()),
            Err(error) if is_refusal(&error) => error,
            Err(error) => return Err(Refused { at: self.handled.len().saturating_sub(1), error }),
        };
        batch.undo().await.map_err(|doomed| Refused { at: self.handled.len() - 1, error: doomed })?;
        for at in 0..self.handled.len() {
            self.carry_out_one(batch, at).await.map_err(|error| Refused { at, error })?;
        }
        // Refused together and not refused one by one: the server has changed its mind.
        tracing::debug!(target: "activator", "refused at first, and not the second time: {error}");
        Ok(())
    }

    async fn carry_out_together(&self, batch: &mut Batch) -> Result<()> {
        let mut sends = Vec::new();
        for at in 0..self.handled.len() {
            for operation in &self.handled[at].operations {
                if let Operation::Send { conversation, message } = operation {
                    sends.push((*conversation, message.clone()));
                } else {
                    send(batch, &mut sends).await?;
                    carry_out(batch, operation).await?;
                }
            }
            if self.is_counted(at) || self.handled[at].dead.is_some() {
                send(batch, &mut sends).await?;
                self.conclude(batch, at).await?;
            }
        }
        send(batch, &mut sends).await
    }

    async fn carry_out_one(&self, batch: &mut Batch, at: usize) -> Result<()> {
        for operation in &self.handled[at].operations {
            carry_out(batch, operation).await?;
        }
        self.conclude(batch, at).await
    }

    /// What the tables of attempts and dead letters have to know.
    async fn conclude(&self, batch: &mut Batch, at: usize) -> Result<()> {
        let message = &self.messages[at];
        let Some(Dead { cause, reason }) = &self.handled[at].dead else {
            return if self.is_counted(at) { batch.forget_attempts(message).await } else { Ok(()) };
        };
        let attempts = self.failures_of(at) + 1;
        let conversation = tracing::field::display(message.conversation);
        tracing::error!(target: "activator", %conversation, attempts, reason, "a message was given up");
        match self.settings.dead_letter {
            DeadLetter::Table => batch.dead_letter(message.clone(), attempts, *cause, bounded(reason)).await,
            DeadLetter::EndConversation if self.handled[at].ends_conversation() => Ok(()),
            DeadLetter::EndConversation => {
                batch.end_with_error(message.conversation, DEAD_CODE, bounded(reason)).await
            }
        }
    }

    /// Whether the table knows of failures of this message.
    fn is_counted(&self, at: usize) -> bool {
        self.settings.dead_letter == DeadLetter::Table && self.failures_of(at) > 0
    }

    fn failures_of(&self, at: usize) -> u32 {
        self.messages.get(at).and_then(|message| self.failures.get(&key(message))).copied().unwrap_or(0)
    }

    /// Counts an attempt of the message behind the handled ones.
    async fn count(&self, batch: &mut Batch, reason: &str) -> Result<()> {
        match self.settings.dead_letter {
            DeadLetter::Table => {
                batch.count_attempt(&self.messages[self.handled.len()], bounded(reason)).await
            }
            DeadLetter::EndConversation => Ok(()),
        }
    }

    /// The transaction is lost. If what a message led to has doomed it, an attempt of that message is counted elsewhere.
    async fn abandon(
        self,
        batch: Batch,
        at: usize,
        error: Error,
    ) -> Result<(Option<Failure>, Option<Batch>)> {
        batch.give_back().await?;
        if error.kind() == ErrorKind::TransactionDoomed && self.settings.dead_letter == DeadLetter::Table {
            let reason = bounded(&log_lines::chain(&error));
            self.broker.count_attempt(&self.messages[at], &reason).await?;
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
