//! How events reach the daemon's one loop, and how whoever sent one learns that it has been acted on.
//!
//! Everything that happens becomes an [`Input`] in one channel. A [`Receipt`] travels with an event and with everything the
//! event leads to; it is given when the last of that is done, and refused when something is lost on the way. So a
//! listener commits a notification exactly when nothing of it depends on this process's memory any more. Decides nothing.

use crate::activator::launch::Target;
use crate::activator::notification::Notice;
use crate::activator::supervisor::Event;
use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{mpsc, oneshot};

/// Events that wait before senders are held up.
const CAPACITY: usize = 64;

/// Hands events to a running [`Activator`](super::Activator), as its own listeners do. Cheap to clone.
///
/// For programs that learn of waiting messages by other means, and for tests.
#[derive(Debug, Clone)]
pub struct EventSender {
    inputs: mpsc::Sender<Input>,
}

/// An event was not acted on, and nothing remembers it: send it again later.
///
/// The activator has stopped, or its journal cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotHandled;

impl fmt::Display for NotHandled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the activator could neither act on the event nor keep it")
    }
}

impl Error for NotHandled {}

impl EventSender {
    /// Hands in a notification on behalf of the notification service at position `listener` of the configuration, and
    /// waits until everything it led to is done: processes are started and journalled, or the notification is kept.
    ///
    /// # Errors
    /// [`NotHandled`]. Dropping the future leaves it open whether the notification is acted on.
    pub async fn notified(&self, listener: usize, notice: Notice) -> Result<(), NotHandled> {
        self.send(Event::Notified { listener, notice }, Until::Done).await?.await
    }

    /// Reports messages that wait in a queue without a reader, whatever notifications said; otherwise like
    /// [`notified`](Self::notified).
    ///
    /// # Errors
    /// [`NotHandled`].
    pub async fn reconcile(&self, listener: usize, target: Target) -> Result<(), NotHandled> {
        self.send(Event::Reconcile { listener, target }, Until::Done).await?.await
    }

    /// Hands in an event. The future that is answered waits for it to be acted on; events are taken in the order of sending.
    pub(super) async fn send(
        &self,
        event: Event,
        until: Until,
    ) -> Result<impl Future<Output = Result<(), NotHandled>> + use<>, NotHandled> {
        let (receipt, given) = Receipt::new(until);
        self.inputs.send(Input { event, receipt }).await.map_err(|_gone| NotHandled)?;
        Ok(async move { given.await.map_err(|_refused| NotHandled) })
    }

    /// Reports what became of an earlier event, whose receipt is passed on.
    pub(super) async fn report(&self, event: Event, receipt: Receipt) {
        // A loop that has ended has no use for reports; the journal tells its successor.
        let _ = self.inputs.send(Input { event, receipt }).await;
    }
}

/// What a sender waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// Nothing of the event depends on this process any more: what it led to is on disk, though processes may still be starting.
    Safe,
    /// Everything it led to is done, or has failed.
    Done,
}

/// One event on its way to the loop.
#[derive(Debug)]
pub(super) struct Input {
    pub(super) event: Event,
    pub(super) receipt: Receipt,
}

impl From<Event> for Input {
    fn from(event: Event) -> Self {
        Self { event, receipt: Receipt::none() }
    }
}

/// The receiving end, for the loop.
#[derive(Debug)]
pub(super) struct Inbox {
    inputs: mpsc::Receiver<Input>,
    sender: EventSender,
}

impl Inbox {
    pub(super) fn new() -> Self {
        let (sender, inputs) = mpsc::channel(CAPACITY);
        Self { inputs, sender: EventSender { inputs: sender } }
    }

    pub(super) fn sender(&self) -> EventSender {
        self.sender.clone()
    }

    /// The next event. Dropping the future loses none.
    pub(super) async fn next(&mut self) -> Input {
        self.inputs.recv().await.expect("the inbox holds a sender, so the channel is open")
    }
}

/// A promise to tell the sender of an event that it is acted on; shared by everything that the event leads to.
///
/// One that is dropped without being given refuses the whole.
#[derive(Debug, Clone)]
pub(super) struct Receipt {
    sender: Option<Arc<Mutex<Option<oneshot::Sender<()>>>>>,
    until: Until,
}

impl Receipt {
    /// A receipt, and what learns of it.
    pub(super) fn new(until: Until) -> (Self, oneshot::Receiver<()>) {
        let (sender, given) = oneshot::channel();
        (Self { sender: Some(Arc::new(Mutex::new(Some(sender)))), until }, given)
    }

    /// For events nobody waits for.
    pub(super) fn none() -> Self {
        Self { sender: None, until: Until::Safe }
    }

    /// The part for a process whose intent is journalled: it counts for those only who wait for its start.
    pub(super) fn of_start(&self) -> Self {
        match self.until {
            Until::Safe => Self::none(),
            Until::Done => self.clone(),
        }
    }

    /// This part is done. The sender is told with the last part.
    pub(super) fn give(mut self) {
        // Of several parts that are done at once exactly one gets the value.
        let last = self.sender.take().and_then(Arc::into_inner);
        let sender = last.and_then(|shared| shared.into_inner().unwrap_or_else(PoisonError::into_inner));
        if let Some(sender) = sender {
            // Who has gone needs no receipt.
            let _ = sender.send(());
        }
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        if let Some(shared) = self.sender.take() {
            shared.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Receipt, Until};

    #[test]
    fn a_receipt_is_given_with_its_last_part() {
        let (receipt, mut given) = Receipt::new(Until::Done);
        let other = receipt.clone();
        receipt.give();
        assert!(given.try_recv().is_err());
        other.give();
        assert_eq!(given.try_recv(), Ok(()));
    }

    #[test]
    fn the_start_of_a_process_counts_only_for_who_waits_for_it() {
        let (receipt, mut given) = Receipt::new(Until::Safe);
        let start = receipt.of_start();
        receipt.give();
        assert_eq!(given.try_recv(), Ok(()));
        drop(start);

        let (receipt, mut given) = Receipt::new(Until::Done);
        let start = receipt.of_start();
        receipt.give();
        assert!(given.try_recv().is_err());
        start.give();
        assert_eq!(given.try_recv(), Ok(()));
    }

    #[test]
    fn one_forgotten_part_refuses_the_whole() {
        let (receipt, given) = Receipt::new(Until::Done);
        let other = receipt.clone();
        drop(receipt);
        other.give();
        assert!(given.blocking_recv().is_err());
    }
}
