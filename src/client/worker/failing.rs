//! What becomes of a message whose handler failed: another attempt, a later one, the dead letters, or the end of its
//! conversation. The policy decides; this carries it out.

use std::time::Duration;

use super::control::count;
use super::crew::{Crew, Taken};
use super::failure::reason_of;
use super::handler::Handler;
use super::handling::{HandlerFailure, attempts_in};
use crate::client::error::{Error, ErrorKind, Result};
use crate::client::message::Message;
use crate::client::poison::{DeadLetterCause, Failure, PoisonAction, Verdict, Wish};
use crate::client::pool::random_fraction;
use crate::client::receive::Batch;
use crate::client::retry::Backoff;
use crate::client::statements::{self, Failed, Statement};
use crate::client::telemetry::{self, PutAside};

/// The code of the error a poisoned conversation is ended with.
const POISON_CODE: i32 = 1;

/// After so many doomed transactions in a row the next message that dooms one must not run: the server switches a queue
/// off at five.
const MOST_DOOMED: u32 = 3;

/// The pauses after failures that do not count.
const SPARED: Backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(1));

/// What became of a batch one of whose messages failed.
pub(super) enum Fate {
    /// It went back to the queue.
    GivenBack,
    /// The message was put aside; the batch goes on without it.
    GoesOn(Batch),
    /// It holds the messages before the failed one only, which are handled anew.
    Shortened(Batch),
}

impl<H: Handler> Crew<H> {
    /// Undoes the handlers' work and does what the policy says.
    ///
    /// A connection that was lost is not the message's fault and comes back as the error, unless it was given up because a
    /// statement of the handler took too long.
    pub(super) async fn fail(
        &self,
        mut batch: Batch,
        taken: &mut Taken,
        failure: HandlerFailure,
    ) -> Result<Fate> {
        let message = &taken.messages[failure.position];
        let reason = failure.reason.as_str();
        if !matches!(failure.wish, Wish::Blocked(_)) {
            tracing::warn!(conversation = %message.conversation, sequence = message.sequence_number, reason, "a message failed");
        }
        if let Err(doomed) = batch.undo_handling().await {
            let is_gone = doomed.is_connection_lost() || doomed.kind() == ErrorKind::Closed;
            if is_gone && !batch.has_timed_out() {
                return Err(doomed);
            }
            tracing::warn!(%doomed, "the handler's transaction cannot go on");
            batch.give_back().await?;
            self.count_rolled_back(taken, &failure).await?;
            return Ok(Fate::GivenBack);
        }
        let earlier = self.earlier_attempts(&mut batch, taken, message).await?;
        let verdict = self.judge(taken, earlier, &failure);
        // The attempt of a message that is put aside counts with its row, and is undone with it.
        if verdict == Verdict::TryAgain {
            self.failed.note(message, (earlier - taken.earlier.attempts).saturating_add(1));
        }
        self.carry_out(batch, taken, failure, verdict).await
    }

    fn judge(&self, taken: &Taken, earlier: u32, failure: &HandlerFailure) -> Verdict {
        let known = Failure {
            earlier,
            retries: taken.earlier.retries,
            is_retry: taken.earlier.is_retry,
            age: taken.messages[failure.position].age(),
            wish: failure.wish,
        };
        self.settings.poison.judge(known, random_fraction())
    }

    async fn carry_out(
        &self,
        mut batch: Batch,
        taken: &mut Taken,
        failure: HandlerFailure,
        verdict: Verdict,
    ) -> Result<Fate> {
        let message = &taken.messages[failure.position];
        let conversation = message.conversation;
        match verdict {
            Verdict::TryAgain => {
                telemetry::retried(&self.queue);
                batch.give_back_and(self.counting(taken, &failure)).await?;
                return Ok(Fate::GivenBack);
            }
            Verdict::RetryLater { attempts, retries, delay } => {
                tracing::info!(%conversation, attempts, ?delay, "a message is tried again later");
                let failed = self.failed_message(message, attempts, retries, failure.reason);
                batch.schedule_retry(failed, delay).await?;
                telemetry::retried(&self.queue);
                count(&self.control.counters.put_off);
                self.put_off.notify_one();
            }
            Verdict::Park { attempts, cause } => {
                let reason = failure.reason.as_str();
                tracing::error!(%conversation, attempts, reason, cause = cause.as_str(), "a message was parked");
                self.park(&mut batch, taken, attempts, cause, failure).await?;
            }
            Verdict::EndConversation { attempts } => {
                let before = &taken.messages[..failure.position];
                if before.iter().any(|earlier| earlier.conversation == conversation) {
                    return self.shorten(batch, taken, failure).await;
                }
                let reason = failure.reason.as_str();
                tracing::error!(%conversation, attempts, reason, "a poisoned conversation was ended");
                batch.end_poisoned(conversation, POISON_CODE, failure.reason).await?;
                telemetry::put_aside(&self.queue, PutAside::ConversationEnded);
                count(&self.control.counters.ended);
            }
        }
        Ok(Fate::GoesOn(batch))
    }

    /// Before a conversation is ended its earlier messages are handled and committed, so that what answers them arrives. The
    /// poison message comes back alone and is not tried again.
    async fn shorten(&self, mut batch: Batch, taken: &mut Taken, failure: HandlerFailure) -> Result<Fate> {
        let message = &taken.messages[failure.position];
        self.failed.give_up(message, self.settings.poison.max_attempts(), failure.reason);
        let count = u32::try_from(failure.position).unwrap_or(u32::MAX);
        taken.messages = batch.shorten(message.group, count).await?;
        Ok(Fate::Shortened(batch))
    }

    /// A conversation whose last message cannot be treated is over all the same.
    async fn park(
        &self,
        batch: &mut Batch,
        taken: &Taken,
        attempts: u32,
        cause: DeadLetterCause,
        failure: HandlerFailure,
    ) -> Result<()> {
        let message = &taken.messages[failure.position];
        let failed = self.failed_message(message, attempts, taken.earlier.retries, failure.reason);
        batch.park(failed, cause.as_str()).await?;
        telemetry::put_aside(&self.queue, PutAside::Parked);
        count(&self.control.counters.parked);
        if message.ends_conversation() {
            match batch.end(message.conversation).await {
                Err(error) if error.kind() != ErrorKind::DialogOver => return Err(error),
                _ => batch.keep().await?,
            }
        }
        Ok(())
    }

    /// What counts the attempt while the batch goes back; the others in it have not been tried.
    fn counting(&self, taken: &Taken, failure: &HandlerFailure) -> Vec<Statement<'static>> {
        let message = &taken.messages[failure.position];
        if taken.is_counted {
            let others = taken.messages.iter().enumerate().filter(|(at, _)| *at != failure.position);
            let mut statements: Vec<_> =
                others.map(|(_, other)| statements::uncount_attempt(other)).collect();
            statements.push(statements::note_reason(message, &failure.reason));
            return statements;
        }
        if self.settings.poison.action() == PoisonAction::Park {
            return vec![statements::count_attempt(message, &failure.reason)];
        }
        Vec::new()
    }

    /// The handlers' transaction could not be committed, through no error that a handler has told. Alone a message is at
    /// fault; of several none is counted, and each is handled alone from now on.
    pub(super) async fn fail_commit(&self, taken: &Taken, error: &Error) -> Result<()> {
        tracing::warn!(queue = self.queue, %error, "what handlers did cannot be committed");
        count(&self.control.counters.failures);
        if taken.messages.len() == 1 {
            let (reason, wish) = (reason_of(error), Wish::None);
            let failure = HandlerFailure { position: 0, reason, wish, is_transient: false };
            return self.count_rolled_back(taken, &failure).await;
        }
        self.failed.count_doomed();
        self.uncount(taken).await;
        taken.messages.iter().for_each(|message| self.failed.suspect(message));
        Ok(())
    }

    /// The transaction has been rolled back as a whole, which the server counts if its messages came from the queue; the
    /// attempt is counted on another connection.
    async fn count_rolled_back(&self, taken: &Taken, failure: &HandlerFailure) -> Result<()> {
        let message = &taken.messages[failure.position];
        if taken.earlier.is_retry {
            self.failed.note(message, self.put_off_doomed(taken, failure).await?);
            return Ok(());
        }
        let is_last = self.failed.count_doomed() >= MOST_DOOMED;
        if failure.is_transient
            && !is_last
            && let Some(before) = self.failed.spare(message)
        {
            self.uncount(taken).await;
            self.control.rest(SPARED.delay(before, random_fraction())).await;
            return Ok(());
        }
        let attempts = self.count_elsewhere(taken, failure).await?;
        if is_last {
            self.failed.note(message, attempts.max(self.settings.poison.max_attempts()));
            self.set_urgent(message.conversation);
        } else {
            self.failed.note(message, attempts);
        }
        Ok(())
    }

    /// Counts an attempt outside the receiving transaction; answers how many there are.
    async fn count_elsewhere(&self, taken: &Taken, failure: &HandlerFailure) -> Result<u32> {
        let message = &taken.messages[failure.position];
        let known = self.failed.attempts(message).saturating_add(1);
        if !self.settings.poison.counts_in_table() {
            return Ok(known);
        }
        self.aside(&self.counting(taken, failure)).await?;
        let mut session = self.broker.session().await?;
        let counted = session.execute(&statements::read_attempts(message)).await?;
        Ok(known.max(attempts_in(&counted)?))
    }

    /// Remembers the messages whose last attempt was counted by a worker that ended before it could put them aside: their
    /// handler is not to be called once more.
    pub(super) async fn recall_exhausted(&self) -> Result<()> {
        let policy = self.settings.poison;
        if !policy.counts_in_table() {
            return Ok(());
        }
        let mut session = self.broker.session().await?;
        let results = session.execute(&statements::exhausted_attempts(policy.max_attempts())).await?;
        for row in results.into_rows() {
            let attempts = u32::try_from(row.get::<i32>("attempts")?).unwrap_or(0);
            let key = (row.get("conversation_handle")?, row.get("message_sequence_number")?);
            self.failed.note_key(key, attempts);
        }
        Ok(())
    }

    /// The row of a message that was put off is back; it gets its next time. Answers the attempts to remember.
    async fn put_off_doomed(&self, taken: &Taken, failure: &HandlerFailure) -> Result<u32> {
        let message = &taken.messages[failure.position];
        let earlier = taken.earlier.attempts;
        let (retries, delay, remembered) = match self.judge(taken, earlier, failure) {
            Verdict::RetryLater { retries, delay, .. } => (retries, delay, 0),
            _ => (taken.earlier.retries, Duration::ZERO, self.settings.poison.max_attempts()),
        };
        let failed = self.failed_message(message, earlier.saturating_add(1), retries, failure.reason.clone());
        self.aside(&[statements::put_off_retry(&failed, delay)]).await?;
        Ok(remembered)
    }

    /// How often the message was tried before, wherever that was counted.
    async fn earlier_attempts(&self, batch: &mut Batch, taken: &Taken, message: &Message) -> Result<u32> {
        let known = self.failed.attempts(message);
        let in_table = self.settings.poison.counts_in_table() && !taken.is_counted && !taken.earlier.is_retry;
        if in_table {
            return Ok(known.max(attempts_in(&batch.run(statements::read_attempts(message)).await?)?));
        }
        Ok(taken.earlier.attempts.saturating_add(known))
    }

    fn failed_message(&self, message: &Message, attempts: u32, retries: u32, reason: String) -> Failed {
        Failed { message: message.clone(), queue: self.queue.clone(), attempts, retries, reason }
    }
}
