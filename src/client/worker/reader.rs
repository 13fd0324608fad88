//! One reader of a worker: receive, handle each message, decide what becomes of a failed one, commit.
//!
//! When message k of a batch fails, everything handlers did is undone first. Then either the whole batch goes back to
//! the queue with one attempt counted, or message k is put aside and the others are handled again in the same
//! transaction, so that a poison message never holds up its neighbours and never rolls back its queue.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::failure::{FailedMessages, panic_reason, reason_of};
use super::handler::{Delivery, Handler, HandlerError};
use crate::client::broker::Broker;
use crate::client::error::{Error, Result};
use crate::client::message::{Message, MessageKind};
use crate::client::poison::{PoisonAction, PoisonPolicy, Verdict};
use crate::client::pool::random_fraction;
use crate::client::receive::{Batch, Receiver};
use crate::client::retry::Backoff;
use crate::client::statements;
use crate::client::telemetry::{self, PutAside};

/// The code of the error a poisoned conversation is ended with.
const POISON_CODE: i32 = 1;

pub(super) struct Reader<H> {
    pub(super) broker: Broker,
    pub(super) receiver: Receiver,
    pub(super) handler: Arc<H>,
    pub(super) poison: PoisonPolicy,
    pub(super) idle: Option<Duration>,
    pub(super) failed: Arc<FailedMessages>,
    pub(super) stop: CancellationToken,
}

/// What became of a batch one of whose messages failed.
enum Fate {
    /// It went back to the queue.
    GivenBack,
    /// The message was put aside; the batch goes on without it.
    GoesOn(Batch),
}

impl<H: Handler> Reader<H> {
    /// Reads until the stop, until idle, or until a failure that trying again does not mend.
    pub(super) async fn run(mut self) -> Result<()> {
        let mut failures = 0;
        let mut next = None;
        loop {
            let batch = match next.take() {
                Some(batch) => Some(batch),
                None => match self.receive().await {
                    Ok(batch) => batch,
                    Err(error) => {
                        self.pause(error, &mut failures).await?;
                        continue;
                    }
                },
            };
            let Some(batch) = batch else { return Ok(()) };
            match self.process(batch).await {
                Ok(more) => (next, failures) = (more, 0),
                Err(error) => self.pause(error, &mut failures).await?,
            }
        }
    }

    /// The next batch; `None` when it is time to stop.
    async fn receive(&mut self) -> Result<Option<Batch>> {
        let idle = self.idle;
        let receiver = &mut self.receiver;
        let next = async move {
            match idle {
                Some(limit) => receiver.next_within(limit).await,
                None => receiver.next().await.map(Some),
            }
        };
        tokio::select! {
            biased;
            () = self.stop.cancelled() => Ok(None),
            batch = next => batch,
        }
    }

    /// Waits before the next attempt, or hands on an error that waiting does not mend.
    async fn pause(&self, error: Error, failures: &mut u32) -> Result<()> {
        if !(error.is_retryable() || error.is_connection_lost()) {
            return Err(error);
        }
        tracing::warn!(%error, "a batch failed and is tried again");
        let pause = Backoff::reconnect().delay(*failures, random_fraction());
        *failures += 1;
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = self.stop.cancelled() => {}
        }
        Ok(())
    }

    /// Handles a batch and commits; answers the batch that came with the commit. After a stop no new one is taken.
    async fn process(&self, mut batch: Batch) -> Result<Option<Batch>> {
        let messages = batch.take_messages();
        let mut aside = BTreeSet::new();
        while let Some((position, reason)) = self.handle_all(&mut batch, &messages, &aside).await {
            match self.fail(batch, &messages[position], reason).await? {
                Fate::GivenBack => return Ok(None),
                Fate::GoesOn(same) => batch = same,
            }
            aside.extend(self.put_aside(&messages, position));
        }
        for message in messages.iter().filter(|message| self.failed.forget(message)) {
            if self.poison.action() == PoisonAction::Park {
                batch.run(statements::forget_attempts(message)).await?;
            }
        }
        if self.stop.is_cancelled() {
            return batch.commit().await.map(|()| None);
        }
        batch.commit_and_next().await
    }

    /// The positions a poison message takes out of its batch: its own, or the rest of a conversation that was ended.
    fn put_aside(&self, messages: &[Message], position: usize) -> Vec<usize> {
        let ended = self.poison.action() == PoisonAction::EndConversation;
        let conversation = messages[position].conversation;
        let goes = |at: &usize| *at == position || (ended && messages[*at].conversation == conversation);
        (position..messages.len()).filter(goes).collect()
    }

    /// Handles the messages that are not put aside; answers the first that fails, with the reason.
    async fn handle_all(
        &self,
        batch: &mut Batch,
        messages: &[Message],
        aside: &BTreeSet<usize>,
    ) -> Option<(usize, String)> {
        for (position, message) in
            messages.iter().enumerate().filter(|(position, _)| !aside.contains(position))
        {
            if self.failed.attempts(message) >= self.poison.max_attempts() {
                return Some((position, "it doomed its transaction in earlier attempts".to_owned()));
            }
            if let Err(reason) = self.handle_one(batch, message).await {
                return Some((position, reason));
            }
        }
        None
    }

    /// Treats one message by its kind. An error or a panic of the handler comes back as its reason.
    async fn handle_one(&self, batch: &mut Batch, message: &Message) -> Result<(), String> {
        let (queue, begun) = (batch.queue().to_owned(), Instant::now());
        let span = telemetry::handle_span(&queue, message);
        let treated = AssertUnwindSafe(self.treat(batch, message)).catch_unwind().instrument(span).await;
        telemetry::handled(&queue, begun.elapsed(), matches!(treated, Ok(Ok(()))));
        match treated {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(reason_of(error.as_ref())),
            Err(panic) => Err(panic_reason(panic.as_ref())),
        }
    }

    async fn treat(&self, batch: &mut Batch, message: &Message) -> Result<(), HandlerError> {
        match &message.kind {
            MessageKind::User => self.handler.handle(&mut Delivery { message, batch }).await?,
            MessageKind::DialogTimer => self.handler.on_timer(&mut Delivery { message, batch }).await?,
            MessageKind::EndDialog => {
                self.handler.on_end(message);
                batch.end(message.conversation).await?;
            }
            MessageKind::Error(error) => {
                self.handler.on_error(message, error);
                batch.end(message.conversation).await?;
            }
        }
        Ok(())
    }

    /// Undoes the handlers' work and decides between another attempt and putting the message aside.
    async fn fail(&self, mut batch: Batch, message: &Message, reason: String) -> Result<Fate> {
        tracing::warn!(conversation = %message.conversation, sequence = message.sequence_number, reason, "a message failed");
        if let Err(doomed) = batch.undo_handling().await {
            return self.fail_doomed(batch, message, reason, doomed).await;
        }
        let earlier = self.earlier_attempts(&mut batch, message).await?;
        self.failed.note(message, earlier.saturating_add(1));
        let verdict = self.poison.judge(earlier);
        if verdict == Verdict::TryAgain {
            telemetry::retried(batch.queue());
        }
        match verdict {
            Verdict::TryAgain if self.poison.action() == PoisonAction::Park => {
                batch.give_back_and(message.clone(), reason).await?;
                Ok(Fate::GivenBack)
            }
            Verdict::TryAgain => batch.give_back().await.map(|()| Fate::GivenBack),
            Verdict::Park { attempts } => {
                tracing::error!(conversation = %message.conversation, attempts, reason, "a message was parked");
                telemetry::put_aside(batch.queue(), PutAside::Parked);
                batch.park(message.clone(), i32::try_from(attempts).unwrap_or(i32::MAX), reason).await?;
                self.failed.forget(message);
                Ok(Fate::GoesOn(batch))
            }
            Verdict::EndConversation { attempts } => {
                tracing::error!(conversation = %message.conversation, attempts, reason, "a poisoned conversation was ended");
                telemetry::put_aside(batch.queue(), PutAside::ConversationEnded);
                batch.end_poisoned(message.conversation, POISON_CODE, reason).await?;
                self.failed.forget(message);
                Ok(Fate::GoesOn(batch))
            }
        }
    }

    /// The transaction can only be rolled back, which the server counts; the attempt is counted on another connection.
    async fn fail_doomed(
        &self,
        batch: Batch,
        message: &Message,
        reason: String,
        doomed: Error,
    ) -> Result<Fate> {
        tracing::warn!(%doomed, "the handler's error doomed the transaction");
        batch.give_back().await?;
        let mut attempts = self.failed.attempts(message).saturating_add(1);
        if self.poison.action() == PoisonAction::Park {
            let mut session = self.broker.session().await?;
            session.execute(&statements::count_attempt(message, &reason)).await?;
            let counted = session.execute(&statements::read_attempts(message)).await?;
            attempts = attempts.max(attempts_in(&counted)?);
        }
        self.failed.note(message, attempts);
        Ok(Fate::GivenBack)
    }

    async fn earlier_attempts(&self, batch: &mut Batch, message: &Message) -> Result<u32> {
        if self.poison.action() != PoisonAction::Park {
            return Ok(self.failed.attempts(message));
        }
        attempts_in(&batch.run(statements::read_attempts(message)).await?)
    }
}

fn attempts_in(results: &crate::client::rows::Results) -> Result<u32> {
    let attempts = results.first_row().map(|row| row.get::<i32>("attempts")).transpose()?;
    Ok(attempts.and_then(|count| u32::try_from(count).ok()).unwrap_or(0))
}
