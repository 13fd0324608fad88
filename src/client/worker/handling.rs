//! Runs the handlers of one batch.
//!
//! A message that was tried before is handled alone: the batch is cut before it, so that a failure costs no neighbour
//! another attempt. When one fails all the same, what handlers did is undone; then either the batch goes back to the
//! queue, or the message is put aside and the others are handled again in the same transaction.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use tracing::Instrument as _;

use super::control::count;
use super::crew::{Crew, Taken};
use super::delivery::Delivery;
use super::failing::Fate;
use super::failure::{panic_reason, reason_of, too_long, within};
use super::handler::{Handler, HandlerError};
use crate::client::error::{Error, ErrorKind, Result};
use crate::client::handled::is_repeated;
use crate::client::message::Message;
use crate::client::poison::{PoisonAction, Wish};
use crate::client::receive::Batch;
use crate::client::statements::{self, Statement};
use crate::client::telemetry;

/// The pause before a message that had to wait is looked at again.
const MOMENT: Duration = Duration::from_millis(20);

/// The reason of a handler that treated the error by which the server ended its transaction.
const HIDDEN_END: &str = "the server ended the transaction after an error that the handler did not pass on";

/// How far the work on a batch is.
#[derive(Debug, Default)]
struct Progress {
    /// Positions of messages that are not handled any more.
    aside: BTreeSet<usize>,
    /// What was done for the messages before this position is kept when a later one fails.
    kept: usize,
    /// At this position what was done so far is to be kept.
    keep_at: Option<usize>,
}

/// How a run over the batch ended.
enum Run {
    Done,
    /// A shutdown cancelled the handler.
    Cut,
    /// A message has to wait a moment.
    NotNow,
    Failed(HandlerFailure),
}

/// A handler that failed.
pub(super) struct HandlerFailure {
    pub(super) position: usize,
    pub(super) reason: String,
    pub(super) wish: Wish,
    /// The server said that it is nobody's fault: a deadlock, for one.
    pub(super) is_transient: bool,
}

/// Why one message failed.
struct Unhandled {
    reason: String,
    wish: Wish,
    is_transient: bool,
}

impl Unhandled {
    fn new(reason: impl Into<String>, wish: Wish) -> Self {
        Self { reason: reason.into(), wish, is_transient: false }
    }

    fn at(self, position: usize) -> HandlerFailure {
        let Self { reason, wish, is_transient } = self;
        HandlerFailure { position, reason, wish, is_transient }
    }
}

impl From<HandlerError> for Unhandled {
    fn from(error: HandlerError) -> Self {
        let known = error.cause().downcast_ref::<Error>();
        let is_transient = known.is_some_and(|known| known.kind() == ErrorKind::Transient);
        Self { reason: reason_of(error.cause()), wish: error.wish(), is_transient }
    }
}

impl<H: Handler> Crew<H> {
    /// Has the messages handled; answers the batch when it is ready to be committed, nothing when it went back.
    pub(super) async fn work_on(&self, mut batch: Batch, taken: &mut Taken) -> Result<Option<Batch>> {
        taken.messages = batch.take_messages();
        taken.earlier = batch.earlier();
        self.isolate(&mut batch, taken).await?;
        let mut progress = Progress::default();
        loop {
            match self.handle_all(&mut batch, taken, &mut progress).await? {
                Run::Done => break,
                Run::Cut => return give_back(batch, taken).await,
                Run::NotNow => {
                    let outcome = give_back(batch, taken).await;
                    tokio::time::sleep(MOMENT).await;
                    return outcome;
                }
                Run::Failed(failure) => {
                    let position = failure.position;
                    match self.fail(batch, taken, failure).await? {
                        Fate::GivenBack => return Ok(None),
                        Fate::GoesOn(same) => {
                            batch = same;
                            progress.aside.extend(self.put_aside(&taken.messages, position));
                            progress.keep_at = Some(position);
                        }
                        Fate::Shortened(same) => {
                            batch = same;
                            progress = Progress::default();
                        }
                    }
                }
            }
        }
        self.forget(&mut batch, taken, &progress.aside).await?;
        Ok(Some(batch))
    }

    /// Cuts the batch so that a message tried before stands alone in it, and counts attempts where the ledger does.
    async fn isolate(&self, batch: &mut Batch, taken: &mut Taken) -> Result<()> {
        loop {
            match self.first_suspect(taken).await? {
                None => return Ok(()),
                Some(0) if taken.messages.len() == 1 => return self.count_suspect(taken).await,
                Some(position) => {
                    let count = u32::try_from(position.max(1)).unwrap_or(u32::MAX);
                    taken.messages = batch.shorten(taken.messages[0].group, count).await?;
                }
            }
            if taken.messages.is_empty() {
                return Ok(());
            }
        }
    }

    /// The position of the first message that was tried before. If there is none the ledger has counted all of them.
    async fn first_suspect(&self, taken: &mut Taken) -> Result<Option<usize>> {
        let suspect =
            |messages: &[Message]| messages.iter().position(|message| self.failed.is_suspect(message));
        let known = suspect(&taken.messages);
        if known.is_some() || !self.settings.poison.has_ledger() {
            return Ok(known);
        }
        let mut session = self.broker.session().await?;
        let results = session.execute(&statements::open_ledger(&taken.messages)).await?;
        drop(session);
        for row in results.into_rows() {
            let attempts = row.get::<i32>("attempts")?;
            let key = (row.get("conversation_handle")?, row.get("message_sequence_number")?);
            self.failed.note_key(key, u32::try_from(attempts).unwrap_or(0).max(1));
        }
        let found = suspect(&taken.messages);
        taken.is_counted = found.is_none();
        Ok(found)
    }

    /// Counts the attempt of a message that stands alone.
    async fn count_suspect(&self, taken: &mut Taken) -> Result<()> {
        let message = &taken.messages[0];
        if !self.settings.poison.has_ledger() || self.has_had_all(message) {
            return Ok(());
        }
        let mut session = self.broker.session().await?;
        let begun = "the attempt did not come to an end";
        let results = session.execute(&statements::count_attempt(message, begun)).await?;
        self.failed.note(message, attempts_in(&results)?.saturating_sub(1));
        taken.is_counted = true;
        Ok(())
    }

    /// Handles the messages that are not put aside, up to the first that fails.
    async fn handle_all(&self, batch: &mut Batch, taken: &Taken, progress: &mut Progress) -> Result<Run> {
        for (position, message) in taken.messages.iter().enumerate().skip(progress.kept) {
            if progress.aside.contains(&position) {
                // What stands before it was undone and done again. A later failure must not undo it once more.
                if progress.keep_at.take_if(|at| *at == position).is_some() {
                    batch.keep().await?;
                    progress.kept = position + 1;
                }
                continue;
            }
            if self.has_had_all(message) {
                let reason = self.failed.reason(message);
                let reason = reason.unwrap_or_else(|| "no attempt came to an end".to_owned());
                return Ok(Run::Failed(Unhandled::new(reason, Wish::Interrupted).at(position)));
            }
            tokio::select! {
                treated = self.handle_one(batch, taken, message) => match treated {
                    Ok(()) => {}
                    Err(Unhandled { wish: Wish::NotNow, .. }) => return Ok(Run::NotNow),
                    Err(failed) => return Ok(Run::Failed(failed.at(position))),
                },
                () = self.control.cut.cancelled() => return Ok(Run::Cut),
            }
        }
        tokio::select! {
            concluded = self.conclude_all(batch, taken, progress) => Ok(concluded),
            () = self.control.cut.cancelled() => Ok(Run::Cut),
        }
    }

    /// Ends our side of the conversations that are over, when all handlers are done.
    async fn conclude_all(&self, batch: &mut Batch, taken: &Taken, progress: &Progress) -> Run {
        let ends = |(position, message): &(usize, &Message)| {
            message.ends_conversation() && !progress.aside.contains(position)
        };
        for (position, message) in taken.messages.iter().enumerate().filter(ends) {
            let attempt = taken.earlier.attempts + self.failed.attempts(message) + 1;
            let mut delivery = Delivery { message, batch, attempt };
            let limit = self.settings.handler_timeout;
            let failed = match within(limit, self.routes.conclude(&mut delivery)).await {
                Some(Ok(())) => continue,
                Some(Err(error)) if error.wish() == Wish::NotNow => return Run::NotNow,
                Some(Err(error)) => Unhandled::from(error),
                None => Unhandled::new(too_long(limit), Wish::TimedOut),
            };
            count(&self.control.counters.failures);
            return Run::Failed(failed.at(position));
        }
        Run::Done
    }

    /// Treats one message. An error, a panic or a time-out of the handler comes back as its reason; so does a transaction that
    /// has ended under a handler which said nothing of it.
    async fn handle_one(&self, batch: &mut Batch, taken: &Taken, message: &Message) -> Result<(), Unhandled> {
        self.ask_breaker(message)?;
        let attempt = taken.earlier.attempts + self.failed.attempts(message) + 1;
        let mut delivery = Delivery { message, batch, attempt };
        let (span, begun) = (telemetry::handle_span(&self.queue, message), Instant::now());
        let active = telemetry::handling(&self.queue, message.age());
        let limit = self.settings.handler_timeout;
        let treating = AssertUnwindSafe(self.treat(&mut delivery)).catch_unwind().instrument(span);
        let treated = match within(limit, treating).await {
            Some(Ok(Ok(()))) if batch.is_over() => Err(Unhandled::new(HIDDEN_END, Wish::None)),
            Some(Ok(Ok(()))) => Ok(()),
            Some(Ok(Err(error))) => Err(error.into()),
            Some(Err(panic)) => Err(Unhandled::new(panic_reason(panic.as_ref()), Wish::None)),
            None => Err(Unhandled::new(too_long(limit), Wish::TimedOut)),
        };
        drop(active);
        let took = begun.elapsed();
        telemetry::handled(&self.queue, took, treated.is_ok());
        self.control.counters.handled(took);
        self.tell_breaker(message, treated.as_ref().map_err(|failed| failed.wish));
        treated.inspect_err(|failed| {
            if failed.wish != Wish::NotNow {
                count(&self.control.counters.failures);
            }
        })
    }

    /// Whether the breaker lets the message through.
    fn ask_breaker(&self, message: &Message) -> Result<(), Unhandled> {
        let breaker = self.breaker.as_ref().filter(|_| message.is_user_message());
        match breaker.and_then(|breaker| breaker.wait(&message.message_type, Instant::now())) {
            None => Ok(()),
            Some(wait) => {
                let reason = format!("messages of type {} are not handled for now", message.message_type);
                Err(Unhandled::new(reason, Wish::Blocked(wait)))
            }
        }
    }

    fn tell_breaker(&self, message: &Message, treated: Result<&(), Wish>) {
        let Some(breaker) = self.breaker.as_ref().filter(|_| message.is_user_message()) else { return };
        let message_type = message.message_type.as_str();
        match treated {
            Ok(()) if breaker.succeeded(message_type) => {
                tracing::info!(queue = self.queue, message_type, "messages of this type are handled again");
            }
            Err(Wish::None | Wish::Later(_) | Wish::TimedOut)
                if breaker.failed(message_type, Instant::now()) =>
            {
                telemetry::breaker_opened(&self.queue);
                tracing::error!(
                    queue = self.queue,
                    message_type,
                    "the handler of this type only fails; its messages are put off"
                );
            }
            _ => {}
        }
    }

    /// Hands a message to its handler, unless it was handled before.
    async fn treat(&self, delivery: &mut Delivery<'_>) -> Result<(), HandlerError> {
        let skips = self.settings.remembers_handled.is_some();
        if skips && is_repeated(delivery.batch, delivery.message).await? {
            count(&self.control.counters.repeated);
            telemetry::repeated(&self.queue);
            return Ok(());
        }
        self.routes.treat(delivery).await
    }

    /// Whether a message was tried as often as allowed without a verdict: its process died or its transaction was doomed.
    fn has_had_all(&self, message: &Message) -> bool {
        self.failed.attempts(message) >= self.settings.poison.max_attempts()
    }

    /// The positions a poison message takes out of its batch: its own, or the rest of a conversation that was ended.
    fn put_aside(&self, messages: &[Message], position: usize) -> Vec<usize> {
        let ended = self.settings.poison.action() == PoisonAction::EndConversation;
        let conversation = messages[position].conversation;
        let goes = |at: &usize| *at == position || (ended && messages[*at].conversation == conversation);
        (position..messages.len()).filter(goes).collect()
    }

    /// Forgets the attempts of messages that are done with, in their transaction. Those that were parked are forgotten.
    async fn forget(&self, batch: &mut Batch, taken: &Taken, aside: &BTreeSet<usize>) -> Result<()> {
        let policy = self.settings.poison;
        if !policy.counts_in_table() {
            return Ok(());
        }
        let is_left = |at: &usize| policy.action() != PoisonAction::Park || !aside.contains(at);
        let messages =
            taken.messages.iter().enumerate().filter(|(at, _)| is_left(at)).map(|(_, message)| message);
        let known = messages.filter(|message| self.failed.is_suspect(message));
        let statements: Vec<Statement<'static>> = if taken.is_counted {
            let runs = taken.messages.chunk_by(|left, right| left.conversation == right.conversation);
            runs.map(|run| statements::forget_attempts_between(&run[0], &run[run.len() - 1])).collect()
        } else {
            known.map(statements::forget_attempts).collect()
        };
        for statement in statements {
            batch.run(statement).await?;
        }
        Ok(())
    }
}

/// Gives the batch back as it is; attempts that were counted for it are to be taken back.
async fn give_back(batch: Batch, taken: &mut Taken) -> Result<Option<Batch>> {
    taken.is_cut = true;
    batch.give_back().await.map(|()| None)
}

/// The count that a statement about attempts answers; 0 without a row.
pub(super) fn attempts_in(results: &crate::client::rows::Results) -> Result<u32> {
    let attempts = results.first_row().map(|row| row.get::<i32>("attempts")).transpose()?;
    Ok(attempts.and_then(|count| u32::try_from(count).ok()).unwrap_or(0))
}
