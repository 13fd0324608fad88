//! Listens on one notification service: receives, hands each notification to the loop, and commits when it is acted on.
//!
//! It never gives up: a server that is away, a queue that is off or a right that is missing is logged once for each
//! change and tried again with growing pauses. It never ends the conversation of an event notification by itself, since
//! the server drops the notification with it; only when the server has ended it already. Decides nothing about launches.

mod health;
mod incoming;
mod link;
mod set;

pub(super) use set::{Links, Listeners};

use crate::activator::inbox::{EventSender, Until};
use crate::activator::log_lines;
use crate::activator::status::{Board, ListenerState};
use crate::client::{self, Backoff, Batch, Connectivity, Error, ErrorKind, QueueName, Receiver, ServiceName};
pub(super) use health::Health;
use incoming::Incoming;
pub(super) use link::Link;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// Pauses while the server cannot be reached.
const UNREACHABLE: Backoff = Backoff::new(Duration::from_millis(250), Duration::from_secs(10));
/// Pauses while the server refuses: somebody has to do something first.
const REFUSED: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(30));
/// A receive that has not failed for so long is believed to work.
const SETTLED: Duration = Duration::from_secs(1);
/// Most notifications in one transaction.
const BATCH: u32 = 32;

/// The task of one notification service.
#[derive(Debug)]
pub(super) struct Listener {
    /// Its position in the configuration.
    index: usize,
    service: String,
    link: Link,
    board: Board,
    events: EventSender,
    stop: CancellationToken,
    health: Health,
}

/// The listener was told to stop.
struct Stopped;

impl Listener {
    pub(super) fn new(
        index: usize,
        service: &str,
        link: Link,
        board: Board,
        events: EventSender,
        stop: CancellationToken,
    ) -> Self {
        Self { index, service: service.to_owned(), link, board, events, stop, health: Health::default() }
    }

    /// Listens until told to stop. What is in its hands then is brought to its end.
    pub(super) async fn run(mut self) {
        loop {
            let error = match self.listen().await {
                Ok(Stopped) => return,
                Err(error) => error,
            };
            self.tell_failure(&error);
            let backoff = if is_away(&error) { UNREACHABLE } else { REFUSED };
            let pause = backoff.delay(self.health.failures().saturating_sub(1), jitter());
            if self.stop.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
                return;
            }
        }
    }

    /// From connecting to the first failure.
    async fn listen(&mut self) -> client::Result<Stopped> {
        let stop = self.stop.clone();
        let Some(opened) = stop.run_until_cancelled(self.open()).await else { return Ok(Stopped) };
        let (mut receiver, queue) = opened?;
        // A queue that is off refuses only here, so only now is it known to work.
        let Some(first) = stop.run_until_cancelled(receiver.next_within(SETTLED)).await else {
            return Ok(Stopped);
        };
        let mut batch = first?;
        self.tell_listening(&queue);
        let mut connectivity = receiver.connectivity();
        connectivity.mark_changed();
        loop {
            if let Some(batch) = batch.take() {
                self.board.heard(self.index);
                self.deliver(batch).await?;
            }
            tokio::select! {
                () = stop.cancelled() => return Ok(Stopped),
                // Nothing is lost: what comes meanwhile is for the next call.
                Ok(()) = connectivity.changed() => self.show(&connectivity.borrow_and_update()),
                next = receiver.next() => batch = Some(next?),
            }
        }
    }

    async fn open(&self) -> client::Result<(Receiver, QueueName)> {
        let broker = self.link.broker().await?;
        let queue = broker.queue_of(&ServiceName::new(&*self.service)?).await?;
        let receiver = broker.receive(queue.clone()).max_messages(BATCH).open().await?;
        Ok((receiver, queue))
    }

    /// Acts on every message and commits. Whatever fails before the commit gives the messages back, and they come again.
    async fn deliver(&self, mut batch: Batch) -> client::Result<()> {
        let mut outcomes = Vec::new();
        for message in batch.take_messages() {
            match Incoming::read(self.index, message) {
                Incoming::Event(event) => {
                    outcomes.push(self.events.send(event, Until::Safe).await.map_err(not_handled)?);
                }
                Incoming::Ended { conversation, why } => {
                    tracing::error!(
                        target: "activator", service = self.service, %conversation,
                        "the conversation of an event notification has ended ({why}); the server has dropped the event \
                         notification with it, so that queue launches nothing until it is created again"
                    );
                    batch.end(conversation).await?;
                }
            }
        }
        for outcome in outcomes {
            outcome.await.map_err(not_handled)?;
        }
        // Should it fail now, the same notifications come again and launch, at worst, a handler that finds nothing to do.
        batch.commit().await
    }

    fn tell_listening(&mut self, queue: &QueueName) {
        self.board.listener(self.index, ListenerState::Listening, None);
        if self.health.works() {
            let database = self.link.options().database().unwrap_or("its default database");
            tracing::info!(
                target: "activator",
                "listening on {}, queue {queue}, at {} in {database}", self.service, self.link.address()
            );
        }
    }

    /// While the receiver makes a lost connection anew nothing is heard, which the status is to say; its own lines in the log
    /// tell when it was lost and when it was there again.
    fn show(&self, connectivity: &Connectivity) {
        match connectivity {
            Connectivity::Reconnecting(error) => {
                let reason = log_lines::chain(error);
                self.board.listener(self.index, ListenerState::Reconnecting, Some(reason));
            }
            _ => self.board.listener(self.index, ListenerState::Listening, None),
        }
    }

    fn tell_failure(&mut self, error: &Error) {
        let reason = log_lines::chain(error);
        if self.health.fails(error) {
            tracing::error!(
                target: "activator",
                "not listening on {} at {}: {reason}; trying again until it works", self.service, self.link.address()
            );
        }
        self.board.listener(self.index, ListenerState::Failing, Some(reason));
    }
}

fn is_away(error: &Error) -> bool {
    error.is_retryable() || error.is_connection_lost()
}

fn not_handled(cause: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::Handler, "a notification goes back to its queue").with_cause(cause)
}

/// A random number from 0 to 1, so that many activators do not come back at the same moment.
fn jitter() -> f64 {
    f64::from(Uuid::new_v4().as_fields().0) / f64::from(u32::MAX)
}
