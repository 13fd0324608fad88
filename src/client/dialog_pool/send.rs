//! Sending through a place of the pool: makes sure of its dialog, sends, keeps the books, replaces the dialog when it is
//! over and sends what it refused.
//!
//! The same for a place of this process, where every step is a transaction of its own, and for a place of a shared pool,
//! where all steps join the transaction that claims the place.

use std::time::Instant;

use super::super::error::{Error, ErrorKind, Result};
use super::super::ids::ConversationHandle;
use super::super::message::OutgoingMessage;
use super::super::outcome::{SendAnswer, SendOutcome};
use super::super::pool::random_fraction;
use super::super::retry::Backoff;
use super::super::sending;
use super::super::session::Session;
use super::super::statements::{self, DialogSpec, Opening, Scope};
use super::Shared;
use super::core::{Decision, Slot};
use super::repair::{self, Replaced, Settled};

/// How often one call replaces a dead dialog, or repeats a transaction that lost a deadlock.
pub(crate) const MOST_ATTEMPTS: u32 = 4;

/// What became of one call.
pub(super) struct Sent {
    pub(super) outcomes: Vec<SendOutcome>,
    /// Whether the transaction can only be rolled back, or was.
    pub(super) rolled_back: bool,
    /// Whether a joined transaction was lost with everything in it, and doing it all again may succeed.
    pub(super) lost: bool,
}

impl Shared {
    /// Sends all messages on the dialog of a place, and on its successors.
    pub(super) async fn send_all(
        &self,
        session: &mut Session,
        scope: Scope,
        slot: &mut Slot,
        spec: &DialogSpec,
        messages: &[OutgoingMessage],
    ) -> Result<Sent> {
        let mut outcomes: Vec<SendOutcome> = Vec::new();
        let mut pending: Vec<usize> = (0..messages.len()).collect();
        let mut attempt = 0;
        loop {
            let batch: Vec<&OutgoingMessage> = pending.iter().map(|index| &messages[*index]).collect();
            let answer = self.send_on_slot(session, scope, slot, spec, &batch).await?;
            let again = what_to_repeat(&answer);
            let (rolled_back, dialog) = (answer.rolled_back, answer.conversation);
            record(&mut outcomes, &pending, answer.outcomes);
            let lost = rolled_back && !again.is_empty();
            attempt += 1;
            if again.is_empty() || attempt == MOST_ATTEMPTS || (lost && scope != Scope::Own) {
                return Ok(Sent { outcomes, rolled_back, lost });
            }
            pending = again.into_iter().map(|at| pending[at]).collect();
            match dialog {
                _ if lost => {
                    self.ledger().repeated();
                    pause(attempt - 1).await;
                }
                Some(dialog) => match self.replace_in(session, scope, slot, spec, dialog).await {
                    Ok(()) => {}
                    // The server may have ended the joined transaction, with what was sent in it before.
                    Err(error) if scope != Scope::Own && error.server().is_some() => return Err(error),
                    Err(error) => return refused(outcomes, &pending, error),
                },
                None => {}
            }
        }
    }

    /// The dialog of a place that takes messages, begun by itself if there is none: for those who send on it elsewhere.
    pub(super) async fn make_ready(
        &self,
        session: &mut Session,
        slot: &mut Slot,
        spec: &DialogSpec,
    ) -> Result<ConversationHandle> {
        if let Some(dialog) = self.existing_dialog(session, Scope::Own, slot, spec).await? {
            return Ok(dialog);
        }
        self.check_enabled(session).await?;
        let unknown = UnknownBegin::new(self);
        let dialog = unknown.settle(sending::begin(session, Scope::Own, spec).await)?;
        self.seat(slot, dialog);
        Ok(dialog)
    }

    /// Replaces the dialog of a place. In a transaction of our own a lost deadlock is repeated; a joined one is lost with
    /// everything in it, which is for its owner to repeat.
    pub(super) async fn replace_in(
        &self,
        session: &mut Session,
        scope: Scope,
        slot: &mut Slot,
        spec: &DialogSpec,
        dialog: ConversationHandle,
    ) -> Result<()> {
        let mut attempt = 0;
        let replaced = loop {
            match self.replace(session, scope, spec, dialog).await {
                Err(error) if scope == Scope::Own && is_lost(&error) && attempt + 1 < MOST_ATTEMPTS => {
                    pause(attempt).await;
                    attempt += 1;
                }
                replaced => break replaced?,
            }
        };
        match replaced {
            Replaced::Alive => slot.trust(),
            Replaced::Gone => self.vacate(slot, dialog, Settled::default()),
            Replaced::Settled(settled) => self.vacate(slot, dialog, settled),
            Replaced::LeftOpen => {
                slot.clear();
                self.places.forget(dialog);
                self.ledger().left_open(dialog);
            }
        }
        Ok(())
    }

    /// A dialog that was over leaves its place to its successor, if it has one.
    fn vacate(&self, slot: &mut Slot, dialog: ConversationHandle, settled: Settled) {
        slot.clear();
        self.places.forget(dialog);
        self.ledger().died(dialog);
        self.ledger().settled(settled.resent, settled.unsent);
        if let Some(successor) = settled.successor {
            self.seat(slot, successor);
            slot.sent(settled.resent, 0, Instant::now());
        }
    }

    /// Sends the end-of-stream message, or ends our side when there is none.
    pub(super) async fn retire(
        &self,
        session: &mut Session,
        scope: Scope,
        slot: &mut Slot,
        spec: &DialogSpec,
        dialog: ConversationHandle,
    ) -> Result<()> {
        let done = match &self.end_of_stream {
            Some(message) => sending::send(session, scope, dialog, message).await,
            None => sending::end(session, scope, dialog).await,
        };
        match done {
            Ok(()) if self.end_of_stream.is_some() => self.ledger().retired(dialog, Instant::now()),
            Ok(()) => self.ledger().ended(dialog),
            Err(error) if error.dialog_is_over() => {
                return self.replace_in(session, scope, slot, spec, dialog).await;
            }
            Err(error) => return Err(error),
        }
        self.places.forget(dialog);
        slot.clear();
        Ok(())
    }

    /// A dialog takes a place.
    pub(super) fn seat(&self, slot: &mut Slot, dialog: ConversationHandle) {
        slot.begun(dialog, Instant::now());
        self.ledger().begun(dialog);
    }

    /// One attempt: makes sure of a dialog, sends, and keeps the books.
    async fn send_on_slot(
        &self,
        session: &mut Session,
        scope: Scope,
        slot: &mut Slot,
        spec: &DialogSpec,
        messages: &[&OutgoingMessage],
    ) -> Result<SendAnswer> {
        let existing = self.existing_dialog(session, scope, slot, spec).await?;
        let bytes = messages.iter().map(|message| message.body.len() as u64).sum();
        let fills_up = slot.fills_up(&self.options.limits, messages.len() as u64, bytes);
        let last = self.end_of_stream.as_ref().filter(|_| fills_up);
        let batch: Vec<&OutgoingMessage> = messages.iter().copied().chain(last).collect();
        let mut answer = match existing {
            Some(dialog) => sending::send_many(session, scope, Opening::Existing(dialog), &batch).await?,
            None => self.begin_and_send(session, scope, slot, spec, &batch).await?,
        };
        let closing = last.and_then(|_| answer.outcomes.pop());
        self.book(slot, &answer, closing, bytes);
        Ok(answer)
    }

    /// The dialog of the place that is to be used again, after retiring one that is used up.
    async fn existing_dialog(
        &self,
        session: &mut Session,
        scope: Scope,
        slot: &mut Slot,
        spec: &DialogSpec,
    ) -> Result<Option<ConversationHandle>> {
        let is_open = |dialog| self.ledger().is_open(dialog);
        let dialog = match slot.decide(&self.options.limits, Instant::now(), is_open) {
            Decision::Reuse(dialog) => Some(dialog),
            Decision::Verify(dialog) => self.verify(session, scope, slot, spec, dialog).await?,
            Decision::Retire(dialog) => {
                self.retire(session, scope, slot, spec, dialog).await?;
                // A dialog that was over has a successor when something was pending on it.
                slot.dialog().map(|(successor, ..)| successor)
            }
            Decision::Begin => {
                slot.clear();
                None
            }
        };
        if dialog.is_some() {
            self.ledger().reused();
        }
        Ok(dialog)
    }

    async fn verify(
        &self,
        session: &mut Session,
        scope: Scope,
        slot: &mut Slot,
        spec: &DialogSpec,
        dialog: ConversationHandle,
    ) -> Result<Option<ConversationHandle>> {
        let endpoint = repair::read_endpoint(session, dialog).await?;
        if endpoint.is_some_and(|endpoint| matches!(endpoint.state.trim(), "SO" | "CO")) {
            slot.trust();
        } else {
            self.replace_in(session, scope, slot, spec, dialog).await?;
        }
        Ok(slot.dialog().map(|(dialog, ..)| dialog))
    }

    async fn begin_and_send(
        &self,
        session: &mut Session,
        scope: Scope,
        slot: &mut Slot,
        spec: &DialogSpec,
        batch: &[&OutgoingMessage],
    ) -> Result<SendAnswer> {
        self.check_enabled(session).await?;
        // A joined transaction holds the place, so a dialog that is not known to it does not exist.
        let unknown = (scope == Scope::Own).then(|| UnknownBegin::new(self));
        let answer = sending::send_many(session, scope, Opening::Begin(spec), batch).await;
        let answer = match unknown {
            Some(unknown) => unknown.settle(answer)?,
            None => answer?,
        };
        if let (Some(dialog), false) = (answer.conversation, answer.rolled_back) {
            self.seat(slot, dialog);
        }
        Ok(answer)
    }

    async fn check_enabled(&self, session: &mut Session) -> Result<()> {
        if !self.options.require_enabled {
            return Ok(());
        }
        let results = session.batch(statements::BROKER_INSTANCE).await?;
        let row = results.first_row();
        if row.is_some_and(|row| row.get("is_enabled").unwrap_or(false)) {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::BrokerDisabled,
            "service broker is disabled in this database: messages would wait in sys.transmission_queue",
        ))
    }

    /// Enters the outcome of one attempt; `closing` is that of the end-of-stream message, if one was sent along.
    fn book(&self, slot: &mut Slot, answer: &SendAnswer, closing: Option<SendOutcome>, bytes: u64) {
        let Some(dialog) = answer.conversation else { return };
        let sent = answer.outcomes.iter().filter(|outcome| outcome.is_sent()).count();
        slot.sent(sent as u64, bytes, Instant::now());
        if answer.outcomes.iter().any(is_over) {
            return;
        }
        match closing {
            Some(closing) if closing.is_sent() => {
                slot.clear();
                self.places.forget(dialog);
                self.ledger().retired(dialog, Instant::now());
            }
            Some(closing) if !answer.rolled_back => {
                let error = closing.error().map(ToString::to_string).unwrap_or_default();
                tracing::warn!(conversation = %dialog, error, "the end-of-stream message was refused, the dialog stays in use");
            }
            _ => {}
        }
    }
}

/// Counts a begin whose outcome was never learned, also when its future is dropped.
struct UnknownBegin<'a> {
    shared: &'a Shared,
    is_known: bool,
}

impl<'a> UnknownBegin<'a> {
    fn new(shared: &'a Shared) -> Self {
        Self { shared, is_known: false }
    }

    /// Counts nothing when the outcome is known after all.
    fn settle<T>(mut self, outcome: Result<T>) -> Result<T> {
        self.is_known = outcome.as_ref().err().is_none_or(|error| error.kind() != ErrorKind::CommitUnknown);
        outcome
    }
}

impl Drop for UnknownBegin<'_> {
    fn drop(&mut self) {
        if !self.is_known {
            self.shared.ledger().begin_lost();
        }
    }
}

/// Replies lie unread on a dialog that is over: it is repaired once somebody has received them.
pub(super) fn is_unread(error: &Error) -> bool {
    error.kind() == ErrorKind::Transient && error.server().is_none()
}

/// The server has ended the transaction, for example as the victim of a deadlock, and doing it again may succeed.
fn is_lost(error: &Error) -> bool {
    error.kind() == ErrorKind::Transient && error.server().is_some()
}

pub(super) async fn pause(attempt: u32) {
    tokio::time::sleep(Backoff::reconnect().delay(attempt, random_fraction())).await;
}

fn is_over(outcome: &SendOutcome) -> bool {
    outcome.error().is_some_and(Error::dialog_is_over)
}

/// The dialog could not be replaced. Nothing sent: the call fails; otherwise those it refused do.
fn refused(mut outcomes: Vec<SendOutcome>, pending: &[usize], error: Error) -> Result<Sent> {
    if pending.len() == outcomes.len() {
        return Err(error);
    }
    for index in pending {
        outcomes[*index] = SendOutcome::failed(*index, error.clone());
    }
    Ok(Sent { outcomes, rolled_back: false, lost: false })
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
}
