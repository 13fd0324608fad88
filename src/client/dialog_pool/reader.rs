//! What a reader of the sending service's queue has to tell the pool: that a dialog failed or was ended.
//!
//! It works in the reader's own transaction, which holds the lock of the dialog's group. So it never waits for a place:
//! whoever has that may be waiting for the group (one order of locks: place, then group).

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::error::Result;
use super::super::ids::ConversationHandle;
use super::super::message::{Message, MessageKind};
use super::super::receive::Batch;
use super::super::sending;
use super::super::session::Session;
use super::super::statements::{DialogSpec, Scope};
use super::cause::Cause;
use super::places::{Home, Leased};
use super::repair::{self, Replaced, Settled};
use super::{DialogPool, Shared};

/// How long a place is kept for a reader who could not wait for it.
const KEPT_FOR_READER: Duration = Duration::from_secs(3);

/// What the pool did about an Error or EndDialog message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Repair {
    /// Nothing: it is no such message, or we are not the initiator of its conversation.
    NotOurs,
    /// Nothing yet: a call of the pool has the dialog in hand. Give the batch back and pause a little: that call finds the
    /// dialog over and repairs it itself, or, if it cannot because of unread replies, the place is kept for a moment for whoever
    /// receives the message again.
    Busy,
    /// The dialog was ended in the batch's transaction; do not end it again.
    Done {
        /// Pending messages sent again, in order, on a new dialog.
        resent: u64,
        /// Pending messages noted in the table of unsent messages.
        unsent: u64,
    },
    /// The dialog is over and was left open: what is pending on it could not be seen or kept. Do not end it, or that is lost.
    LeftOpen,
}

impl DialogPool {
    /// Treats an Error or EndDialog message in the transaction it was received in: sends again what is pending on its
    /// dialog, or notes it as unsent, and ends our side. A new dialog takes the old one's place once the batch is committed.
    ///
    /// It takes any dialog that this database began, also one that another process or an earlier run began and left.
    ///
    /// # Errors
    /// As [`send`](Self::send) where a dialog is replaced. Give the batch back then. Cancelling is safe: give the batch back
    /// or drop it.
    pub async fn on_error(&self, batch: &mut Batch, message: &Message) -> Result<Repair> {
        let cause = match &message.kind {
            MessageKind::Error(error) => Cause::error(error, &self.shared.options.also_resend),
            MessageKind::EndDialog => Cause::ended_by_peer(),
            MessageKind::User | MessageKind::DialogTimer => return Ok(Repair::NotOurs),
        };
        let dialog = message.conversation;
        if message.kind == MessageKind::EndDialog && self.shared.ledger().is_retiring(dialog) {
            return self.end_retired(batch, dialog).await;
        }
        let leased = match self.shared.places.home_of(dialog) {
            Home::None => None,
            Home::Leased(leased, spec) => Some((leased, spec)),
            Home::Busy => {
                self.stand_in_line(dialog);
                return Ok(Repair::Busy);
            }
        };
        self.repair(batch, dialog, cause, leased).await
    }

    /// Whether a call of the pool uses the place of a dialog at this moment. If so the place is kept for the reader who asks
    /// this, once the calls that stand in line before it are done.
    pub(crate) fn is_in_use(&self, dialog: ConversationHandle) -> bool {
        let in_use = self.shared.places.is_lent(dialog);
        if in_use {
            self.stand_in_line(dialog);
        }
        in_use
    }

    fn stand_in_line(&self, dialog: ConversationHandle) {
        let shared = Arc::clone(&self.shared);
        tokio::spawn(async move { shared.places.reserve(dialog, KEPT_FOR_READER).await });
    }

    /// The target ended after our last message, so nothing is pending and nobody has to look.
    async fn end_retired(&self, batch: &mut Batch, dialog: ConversationHandle) -> Result<Repair> {
        batch.end(dialog).await?;
        let shared = Arc::clone(&self.shared);
        batch.after_commit(move || {
            shared.note_end(dialog);
        });
        Ok(Repair::Done { resent: 0, unsent: 0 })
    }

    /// Repairs a dialog in the transaction of the batch; its place is kept until that is committed.
    async fn repair(
        &self,
        batch: &mut Batch,
        dialog: ConversationHandle,
        cause: Cause,
        leased: Option<(Leased, DialogSpec)>,
    ) -> Result<Repair> {
        let (leased, spec) = leased.unzip();
        let (shared, alone) = (Arc::clone(&self.shared), leased.is_none());
        let received = batch
            .on_session(move |session| {
                Box::pin(async move { shared.settle_received(session, dialog, spec, &cause, alone).await })
            })
            .await?;
        let (repair, replaced) = match received {
            Received::NotOurs => return Ok(Repair::NotOurs),
            Received::Busy => return Ok(Repair::Busy),
            Received::LeftOpen => (Repair::LeftOpen, None),
            Received::Settled(replaced) => {
                let Settled { resent, unsent, .. } = replaced.0;
                (Repair::Done { resent, unsent }, Some(replaced))
            }
        };
        let shared = Arc::clone(&self.shared);
        batch.after_commit(move || shared.settled(dialog, leased, replaced));
        Ok(repair)
    }
}

/// What was done in the reader's transaction.
enum Received {
    NotOurs,
    Busy,
    Settled(Box<(Settled, DialogSpec)>),
    LeftOpen,
}

impl Shared {
    /// `alone`: the dialog lies in no place of this process.
    async fn settle_received(
        &self,
        session: &mut Session,
        dialog: ConversationHandle,
        spec: Option<DialogSpec>,
        cause: &Cause,
        alone: bool,
    ) -> Result<Received> {
        let Some(endpoint) = repair::read_endpoint(session, dialog).await? else {
            return Ok(Received::NotOurs);
        };
        if !endpoint.is_initiator {
            return Ok(Received::NotOurs);
        }
        let place = match &self.options.shared {
            Some(pool) => match self.claim_place_of(session, pool, dialog).await? {
                Ok(place) => place,
                Err(_held_by_another) => return Ok(Received::Busy),
            },
            None => None,
        };
        let mut known = endpoint.spec;
        if place.as_ref().is_some_and(|place| place.takes_any_instance(&known)) {
            known.broker_instance = None;
        }
        known.encryption = self.options.encryption;
        known.lifetime_seconds = self.options.lifetime_seconds;
        let spec = spec.unwrap_or(known);
        let Replaced::Settled(mut settled) = self.settle_or_leave(session, &spec, dialog, cause).await?
        else {
            return Ok(Received::LeftOpen);
        };
        match place {
            Some(place) => {
                place.fill(session, settled.successor, settled.resent).await?;
                settled.place = Some(place.number());
            }
            None if alone => self.close_successor(session, &mut settled).await?,
            None => {}
        }
        Ok(Received::Settled(Box::new((settled, spec))))
    }

    /// The new dialog for what a retired or foreign dialog left has no place: it is retired at once.
    async fn close_successor(&self, session: &mut Session, settled: &mut Settled) -> Result<()> {
        let (Some(successor), Some(last)) = (settled.successor, &self.end_of_stream) else { return Ok(()) };
        if settled.ends_with.as_ref() == Some(&last.message_type) {
            return Ok(());
        }
        sending::send(session, Scope::Joined, successor, last).await
    }

    /// The reader's transaction is committed: enters what it did.
    fn settled(
        &self,
        dialog: ConversationHandle,
        leased: Option<Leased>,
        replaced: Option<Box<(Settled, DialogSpec)>>,
    ) {
        self.places.forget(dialog);
        let Some((settled, spec)) = replaced.map(|replaced| *replaced) else {
            self.ledger().left_open(dialog);
            return self.ended.notify_waiters();
        };
        let was_ours = self.ledger().peer_ended(dialog);
        self.ledger().settled(settled.resent, settled.unsent);
        let holds_it = |leased: &Leased| leased.dialog().is_some_and(|(lying, ..)| lying == dialog);
        match (leased.filter(holds_it), settled.successor) {
            (Some(mut leased), Some(successor)) => {
                self.seat(&mut leased, successor);
                leased.sent(settled.resent, 0, Instant::now());
                self.remember(&leased, &spec);
            }
            (Some(mut leased), None) => drop(leased.clear()),
            (None, Some(successor)) => {
                self.ledger().begun(successor);
                match settled.place {
                    Some(place) => self.note_claimed(place, Some(successor)),
                    None if self.end_of_stream.is_some() && self.options.shared.is_none() => {
                        self.ledger().retired(successor, Instant::now());
                    }
                    None => {}
                }
            }
            (None, None) => {}
        }
        if was_ours {
            self.ended.notify_waiters();
        }
    }
}
