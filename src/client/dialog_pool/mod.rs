//! A pool of long-lived dialogs, so that sending does not cost a BEGIN DIALOG and an end for each message.
//!
//! `core` decides, this file acts. Dialogs are begun on connections of our own, never in a transaction of the caller's
//! that may roll back. A dialog has one place, and a place is used by one call at a time, as the server's lock on the
//! conversation would force anyway.
//!
//! Retiring lets the *target end first*: the pool sends the end-of-stream message, the target's program ends the
//! conversation, its EndDialog arrives on our reply queue, and whoever reads that queue ends our side and tells the pool
//! with [`DialogPool::on_end_dialog`]. Ending first ourselves would lose errors of delivery and keep the target's endpoint
//! until the end of its lifetime (specification section 3.6).

mod core;
mod destination;
mod places;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

use self::core::{Decision, Ledger, Slot};
use self::places::Places;
use super::broker::Broker;
use super::error::{Error, ErrorKind, Result};
use super::ids::ConversationHandle;
use super::message::OutgoingMessage;
use super::names::MessageTypeName;
use super::outcome::{SendAnswer, SendOutcome};
use super::pool::random_fraction;
use super::retry::Backoff;
use super::sending;
use super::session::Session;
use super::statements::{DialogSpec, Opening, Scope};

pub use self::core::PoolStats;
pub use self::destination::{Destination, PoolOptions};

/// How often one call replaces a dead dialog, or repeats a transaction that lost a deadlock.
const MOST_ATTEMPTS: u32 = 4;

/// A pool of dialogs; clones share it. Made by [`Broker::dialog_pool`].
///
/// Dropping the last clone leaves its dialogs open on the server; [`close`](Self::close) retires them.
#[derive(Clone)]
pub struct DialogPool {
    shared: Arc<Shared>,
}

struct Shared {
    broker: Broker,
    options: PoolOptions,
    end_of_stream: Option<OutgoingMessage>,
    places: Places,
    ledger: Mutex<Ledger>,
    ended: Notify,
}

impl DialogPool {
    pub(crate) fn new(broker: Broker, options: PoolOptions) -> Result<Self> {
        options.check()?;
        let empty = |message_type: MessageTypeName| OutgoingMessage::new(message_type, Vec::new());
        let shared = Shared {
            broker,
            end_of_stream: options.end_of_stream.clone().map(empty),
            places: Places::new(options.width),
            options,
            ledger: Mutex::default(),
            ended: Notify::new(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Sends messages in order on one dialog of the pool, in one transaction and, up to 100 messages, one round trip. Each
    /// gets its own outcome.
    ///
    /// A dialog that turns out to be over is replaced, and the messages it refused are sent in order on the new one; a
    /// transaction that was rolled back as a deadlock victim is repeated.
    ///
    /// # Errors
    /// Those that concern the whole call: no connection, no such service or contract, `CommitUnknown`. The last is never
    /// repeated: the messages may have been sent.
    ///
    /// Dropping the future leaves it open whether the messages were sent; a dialog whose begin was interrupted counts as
    /// leaked.
    pub async fn send(
        &self,
        destination: &Destination,
        messages: &[OutgoingMessage],
    ) -> Result<Vec<SendOutcome>> {
        if messages.is_empty() {
            return Ok(Vec::new());
        }
        let mut slot = self.shared.places.lease(destination).await;
        let mut session = self.shared.broker.session().await?;
        let spec = destination.route.spec(&self.shared.options);
        let mut outcomes: Vec<SendOutcome> = Vec::new();
        let mut pending: Vec<usize> = (0..messages.len()).collect();
        for attempt in 0.. {
            let batch: Vec<&OutgoingMessage> = pending.iter().map(|index| &messages[*index]).collect();
            let answer = self.send_on_slot(&mut session, &mut slot, &spec, &batch).await?;
            let again = what_to_repeat(&answer);
            record(&mut outcomes, &pending, answer.outcomes);
            if again.is_empty() || attempt + 1 == MOST_ATTEMPTS {
                break;
            }
            if answer.rolled_back {
                tokio::time::sleep(Backoff::reconnect().delay(attempt, random_fraction())).await;
            }
            pending = again.into_iter().map(|at| pending[at]).collect();
        }
        Ok(outcomes)
    }

    /// Tells the pool that an EndDialog or Error message came in on a conversation. Returns whether it was one of the
    /// pool's; then the caller has only to end our side, as for any other conversation.
    ///
    /// Call it for every such message on the queue of the sending service, from a worker's hook.
    pub fn on_end_dialog(&self, conversation: ConversationHandle) -> bool {
        let known = self.shared.ledger().peer_ended(conversation);
        if known {
            self.shared.ended.notify_waiters();
        }
        known
    }

    /// The dialogs that were retired and that the target has not ended yet.
    #[must_use]
    pub fn retiring(&self) -> Vec<ConversationHandle> {
        self.shared.ledger().retiring()
    }

    /// Waits until the target has ended every retired dialog, as far as [`on_end_dialog`](Self::on_end_dialog) is told.
    /// Bound it with a timeout. Dropping the future changes nothing.
    pub async fn drained(&self) {
        loop {
            let ended = self.shared.ended.notified();
            tokio::pin!(ended);
            ended.as_mut().enable();
            if self.retiring().is_empty() {
                return;
            }
            ended.await;
        }
    }

    /// The counts.
    #[must_use]
    pub fn stats(&self) -> PoolStats {
        self.shared.ledger().stats(self.shared.options.overdue_after, Instant::now())
    }

    /// How many dialogs probably stay behind on the server; see [`PoolStats::leaked`].
    #[must_use]
    pub fn leaked(&self) -> u64 {
        self.stats().leaked
    }

    /// Retires every open dialog: by the end-of-stream message when there is one, otherwise by ending our side first.
    ///
    /// The pool may be used afterwards; it begins new dialogs.
    ///
    /// # Errors
    /// The first one met; the dialogs not reached stay open and in the pool, so that it can be called again. Dropping the
    /// future does the same.
    pub async fn close(&self) -> Result<()> {
        for slot in self.shared.places.all() {
            let mut slot = slot.lock_owned().await;
            let no_limits = self::core::Limits::default();
            let now = Instant::now();
            let decision =
                slot.decide(&no_limits, now, |conversation| self.shared.ledger().is_open(conversation));
            if let Decision::Reuse(conversation) = decision {
                let mut session = self.shared.broker.session().await?;
                self.retire(&mut session, &mut slot, conversation).await?;
            }
        }
        Ok(())
    }

    /// One attempt: makes sure of a dialog, sends, and keeps the books.
    async fn send_on_slot(
        &self,
        session: &mut Session,
        slot: &mut Slot,
        spec: &DialogSpec,
        messages: &[&OutgoingMessage],
    ) -> Result<SendAnswer> {
        let existing = self.existing_dialog(session, slot).await?;
        let bytes = messages.iter().map(|message| message.body.len() as u64).sum();
        let fills_up = slot.fills_up(&self.shared.options.limits, messages.len() as u64, bytes);
        let last = self.shared.end_of_stream.as_ref().filter(|_| fills_up);
        let batch: Vec<&OutgoingMessage> = messages.iter().copied().chain(last).collect();
        let mut answer = match existing {
            Some(conversation) => {
                sending::send_many(session, Scope::Own, Opening::Existing(conversation), &batch).await?
            }
            None => self.begin_and_send(session, slot, spec, &batch).await?,
        };
        let closing = last.and_then(|_| answer.outcomes.pop());
        self.book(slot, &answer, closing, bytes);
        Ok(answer)
    }

    /// The dialog of the place that is to be used again, after retiring one that is used up.
    async fn existing_dialog(
        &self,
        session: &mut Session,
        slot: &mut Slot,
    ) -> Result<Option<ConversationHandle>> {
        let is_open = |conversation| self.shared.ledger().is_open(conversation);
        match slot.decide(&self.shared.options.limits, Instant::now(), is_open) {
            Decision::Reuse(conversation) => {
                self.shared.ledger().reused();
                Ok(Some(conversation))
            }
            Decision::Retire(conversation) => {
                self.retire(session, slot, conversation).await?;
                Ok(None)
            }
            Decision::Begin => {
                slot.clear();
                Ok(None)
            }
        }
    }

    async fn begin_and_send(
        &self,
        session: &mut Session,
        slot: &mut Slot,
        spec: &DialogSpec,
        batch: &[&OutgoingMessage],
    ) -> Result<SendAnswer> {
        let unknown = UnknownBegin { shared: &self.shared };
        let answer = sending::send_many(session, Scope::Own, Opening::Begin(spec), batch).await;
        match &answer {
            // Nobody knows whether the dialog exists: the guard counts it.
            Err(error) if error.kind() == ErrorKind::CommitUnknown => drop(unknown),
            _ => unknown.learned(),
        }
        let answer = answer?;
        if let (Some(conversation), false) = (answer.conversation, answer.rolled_back) {
            slot.begun(conversation, Instant::now());
            self.shared.ledger().begun(conversation);
        }
        Ok(answer)
    }

    /// Sends the end-of-stream message, or ends our side when there is none.
    async fn retire(
        &self,
        session: &mut Session,
        slot: &mut Slot,
        conversation: ConversationHandle,
    ) -> Result<()> {
        let done = match &self.shared.end_of_stream {
            Some(message) => sending::send(session, Scope::Own, conversation, message).await,
            None => sending::end(session, Scope::Own, conversation).await,
        };
        match done {
            Ok(()) if self.shared.end_of_stream.is_some() => {
                self.shared.ledger().retired(conversation, Instant::now())
            }
            Ok(()) => self.shared.ledger().ended(conversation),
            Err(error) if error.dialog_is_over() => self.shared.ledger().died(conversation),
            Err(error) => return Err(error),
        }
        slot.clear();
        Ok(())
    }

    /// Enters the outcome of one attempt; `closing` is that of the end-of-stream message, if one was sent along.
    fn book(&self, slot: &mut Slot, answer: &SendAnswer, closing: Option<SendOutcome>, bytes: u64) {
        let Some(conversation) = answer.conversation else { return };
        let sent = answer.outcomes.iter().filter(|outcome| outcome.is_sent()).count();
        slot.sent(sent as u64, bytes);
        if answer.outcomes.iter().any(is_over) {
            slot.clear();
            self.shared.ledger().died(conversation);
            return;
        }
        match closing {
            Some(closing) if closing.is_sent() => {
                slot.clear();
                self.shared.ledger().retired(conversation, Instant::now());
            }
            Some(closing) if !answer.rolled_back => {
                let error = closing.error().map(ToString::to_string).unwrap_or_default();
                tracing::warn!(%conversation, error, "the end-of-stream message was refused, the dialog stays in use");
            }
            _ => {}
        }
    }
}

impl fmt::Debug for DialogPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DialogPool")
            .field("options", &self.shared.options)
            .field("stats", &self.stats())
            .finish()
    }
}

impl Shared {
    /// Held for one entry.
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts a begin whose outcome was never learned, also when its future is dropped.
struct UnknownBegin<'a> {
    shared: &'a Shared,
}

impl UnknownBegin<'_> {
    /// The outcome is known after all.
    fn learned(self) {
        std::mem::forget(self);
    }
}

impl Drop for UnknownBegin<'_> {
    fn drop(&mut self) {
        self.shared.ledger().begin_lost();
    }
}

fn is_over(outcome: &SendOutcome) -> bool {
    outcome.error().is_some_and(Error::dialog_is_over)
}

/// The positions that a further attempt may send: those a dead dialog refused, or all when the transaction lost a deadlock.
fn what_to_repeat(answer: &SendAnswer) -> Vec<usize> {
    let lost = answer
        .outcomes
        .iter()
        .any(|outcome| outcome.error().is_some_and(|e| e.kind() == ErrorKind::Transient));
    let positions = answer.outcomes.iter().map(SendOutcome::index);
    if answer.rolled_back {
        return if lost { positions.collect() } else { Vec::new() };
    }
    answer.outcomes.iter().filter(|outcome| is_over(outcome)).map(SendOutcome::index).collect()
}

/// Puts the outcomes of one attempt where the messages stood in the call.
fn record(outcomes: &mut Vec<SendOutcome>, pending: &[usize], attempt: Vec<SendOutcome>) {
    if outcomes.is_empty() {
        outcomes.extend(attempt);
        return;
    }
    for (index, outcome) in pending.iter().zip(attempt) {
        outcomes[*index] = outcome.at(*index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::error::ServerError;

    fn outcomes(numbers: &[u32]) -> Vec<SendOutcome> {
        let outcome = |(index, number): (usize, &u32)| match number {
            0 => SendOutcome::sent(index),
            _ => SendOutcome::failed(index, Error::from_server(ServerError::new(*number, ""))),
        };
        numbers.iter().enumerate().map(outcome).collect()
    }

    fn repeated(numbers: &[u32], rolled_back: bool) -> Vec<usize> {
        what_to_repeat(&SendAnswer { outcomes: outcomes(numbers), conversation: None, rolled_back })
    }

    #[test]
    fn only_what_a_dead_dialog_refused_is_sent_again_and_all_of_a_lost_deadlock() {
        assert_eq!(repeated(&[0, 8431, 0], false), [0usize; 0]);
        assert_eq!(repeated(&[0, 8429, 8431, 8429], false), [1, 3]);
        assert_eq!(repeated(&[8426], false), [0]);
        assert_eq!(repeated(&[3930, 1205, 3930], true), [0, 1, 2]);
        assert_eq!(repeated(&[3930, 9615], true), [0usize; 0]);
    }

    #[test]
    fn a_later_attempt_replaces_the_outcomes_of_the_messages_it_sent() {
        let mut all = Vec::new();
        record(&mut all, &[0, 1, 2], outcomes(&[0, 8429, 8429]));
        record(&mut all, &[1, 2], outcomes(&[0, 8431]));
        let numbers: Vec<_> =
            all.iter().map(|outcome| outcome.error().and_then(Error::server_number)).collect();
        assert_eq!(numbers, [None, None, Some(8431)]);
        assert_eq!(all.iter().map(SendOutcome::index).collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn limits_without_an_end_of_stream_message_are_refused() {
        assert!(PoolOptions::default().check().is_ok());
        assert!(PoolOptions::default().max_sends(10).check().is_err());
        let message_type = MessageTypeName::new("//t/end").unwrap();
        assert!(PoolOptions::default().max_sends(10).end_of_stream(message_type).check().is_ok());
    }
}
