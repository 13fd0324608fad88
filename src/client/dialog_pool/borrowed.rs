//! A place of the pool on loan to somebody who sends in a transaction of another connection.
//!
//! Its dialog is begun and repaired on our own connections only, so that it exists whatever becomes of that transaction.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use super::super::error::{Error, ErrorKind, Result};
use super::super::ids::ConversationHandle;
use super::super::message::OutgoingMessage;
use super::super::statements::{DialogSpec, Scope};
use super::destination::Destination;
use super::places::Leased;
use super::{DialogPool, Shared, send};

/// A place on loan. Dropped before it was settled, its dialog is verified before it is used again.
pub(crate) struct BorrowedPlace {
    shared: Arc<Shared>,
    leased: Leased,
    spec: DialogSpec,
    /// Messages and bytes sent in a transaction whose end is not known yet.
    unsettled: (u64, u64),
}

impl DialogPool {
    /// Borrows a place with a dialog that takes messages.
    ///
    /// # Errors
    /// `Config` for a shared pool, whose claims end with each call; otherwise as for sending.
    pub(crate) async fn borrow_place(&self, destination: &Destination) -> Result<BorrowedPlace> {
        if self.shared.options.shared.is_some() {
            return Err(Error::config(
                "a shared pool lends a dialog for one call only: use a pool of this process in a transaction of your own",
            ));
        }
        let mut attempt = 0;
        loop {
            match self.lend(destination).await {
                Err(error) if send::is_unread(&error) && attempt + 1 < send::MOST_ATTEMPTS => {
                    send::pause(attempt).await;
                    attempt += 1;
                }
                place => return place,
            }
        }
    }

    async fn lend(&self, destination: &Destination) -> Result<BorrowedPlace> {
        let (leased, spec) = self.shared.lease(destination).await?;
        let mut place = BorrowedPlace { shared: Arc::clone(&self.shared), leased, spec, unsettled: (0, 0) };
        let mut session = self.shared.broker.session().await?;
        self.shared.make_ready(&mut session, &mut place.leased, &place.spec).await?;
        self.shared.remember(&place.leased, &place.spec);
        Ok(place)
    }
}

impl BorrowedPlace {
    /// The dialog to send on.
    pub(crate) fn dialog(&self) -> Result<ConversationHandle> {
        let dialog = self.leased.dialog().map(|(dialog, ..)| dialog);
        dialog.ok_or_else(|| Error::new(ErrorKind::DialogOver, "the place has no dialog any more"))
    }

    /// Whether nothing has been tried on the dialog since it was borrowed.
    pub(crate) fn is_untouched(&self) -> bool {
        self.unsettled == (0, 0)
    }

    /// The largest body that may be sent.
    pub(crate) fn max_body(&self) -> Option<usize> {
        self.shared.broker.options().max_body
    }

    /// The route of the dialog.
    pub(crate) fn spec(&self) -> &DialogSpec {
        &self.spec
    }

    /// Replaces the dialog, which is over, on a connection of our own.
    pub(crate) async fn replace(&mut self, dialog: ConversationHandle) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        let mut session = shared.broker.session().await?;
        shared.replace_in(&mut session, Scope::Own, &mut self.leased, &self.spec, dialog).await?;
        shared.make_ready(&mut session, &mut self.leased, &self.spec).await?;
        shared.remember(&self.leased, &self.spec);
        Ok(())
    }

    /// These may be sent from now on in a transaction that is still open.
    pub(crate) fn sending<'m>(&mut self, messages: impl IntoIterator<Item = &'m OutgoingMessage>) {
        for message in messages {
            self.unsettled.0 += 1;
            self.unsettled.1 += message.body.len() as u64;
        }
    }

    /// The transaction is committed.
    pub(crate) fn committed(mut self) {
        let (messages, bytes) = std::mem::take(&mut self.unsettled);
        self.leased.sent(messages, bytes, Instant::now());
    }

    /// The transaction is rolled back.
    pub(crate) fn rolled_back(mut self) {
        self.unsettled = (0, 0);
    }
}

impl Drop for BorrowedPlace {
    fn drop(&mut self) {
        if self.unsettled != (0, 0) {
            self.leased.doubt();
        }
    }
}

impl fmt::Debug for BorrowedPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BorrowedPlace")
            .field("dialog", &self.leased.dialog())
            .field("unsettled", &self.unsettled)
            .finish_non_exhaustive()
    }
}
