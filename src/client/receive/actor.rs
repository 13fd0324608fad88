//! The task behind a receiver: it owns the connection, waits at the server, and serves the batch that is out.
//!
//! The receive protocol: `BEGIN; SAVE before_receive; RECEIVE; SAVE before_handling`, then orders of the batch, then
//! commit, or give-back (roll back to `before_receive`, commit). A full roll back happens only when the transaction is
//! doomed. The task never gives up a request half-way, except by stopping, which closes the socket.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::Waiting;
use super::batch::{Batch, Order};
use crate::client::broker::Broker;
use crate::client::error::{Error, ErrorKind, Result};
use crate::client::message::Message;
use crate::client::pool::random_fraction;
use crate::client::retry::Backoff;
use crate::client::rows::Results;
use crate::client::session::{Response, Session};
use crate::client::statements::{self, ReceiveSpec};
use crate::client::telemetry::{self, BatchOutcome};

/// What a request of a receiver may take beyond its wait.
const SLACK: Duration = Duration::from_secs(30);

/// A caller waiting for a batch.
pub(super) type Ask = oneshot::Sender<Result<Batch>>;

/// The receiver was dropped: nobody will ask again.
struct Stopped;

pub(super) struct Actor {
    broker: Broker,
    spec: ReceiveSpec,
    waiting: Waiting,
    /// `None` while the connection is lost.
    session: Option<Session>,
    stop: CancellationToken,
}

impl Actor {
    pub(super) fn new(
        broker: Broker,
        spec: ReceiveSpec,
        waiting: Waiting,
        session: Session,
        stop: CancellationToken,
    ) -> Self {
        Self { broker, spec, waiting, session: Some(session), stop }
    }

    pub(super) async fn run(mut self, mut asks: mpsc::Receiver<Ask>) {
        let mut held = Vec::new();
        while let Some(ask) = self.next_ask(&mut asks, &mut held).await {
            let received = if held.is_empty() { self.receive().await } else { Ok(std::mem::take(&mut held)) };
            match received {
                Ok(messages) => held = self.hand_out(messages, ask).await,
                Err(Failure::Stopped(Stopped)) => return,
                Err(Failure::Error(error)) => {
                    // A caller who has gone hears of it by asking again.
                    let _ = ask.send(Err(error));
                }
            }
        }
        if !held.is_empty() {
            self.give_back().await;
        }
    }

    /// The next caller. Messages that nobody asks for go back after the hold time.
    async fn next_ask(&mut self, asks: &mut mpsc::Receiver<Ask>, held: &mut Vec<Message>) -> Option<Ask> {
        if held.is_empty() {
            return asks.recv().await;
        }
        match tokio::time::timeout(self.waiting.hold, asks.recv()).await {
            Ok(ask) => ask,
            Err(_elapsed) => {
                held.clear();
                self.give_back().await;
                asks.recv().await
            }
        }
    }

    /// Waits until there are messages, over as many WAITFORs and connections as it takes.
    async fn receive(&mut self) -> Result<Vec<Message>, Failure> {
        loop {
            let text = statements::wait_and_receive(&self.spec, self.waiting.wait);
            let stop = self.stop.clone();
            let span = telemetry::receive_span(&self.queue());
            let session = self.connected().await?;
            let outcome = tokio::select! {
                outcome = session.batch(&text).instrument(span.clone()) => outcome,
                () = stop.cancelled() => return Err(Failure::Stopped(Stopped)),
            };
            let received = outcome.and_then(messages);
            span.record("messages", received.as_ref().map_or(0, Vec::len));
            match received {
                Ok(messages) if messages.is_empty() => {}
                Ok(messages) => return Ok(messages),
                Err(error) if error.is_connection_lost() => self.lose(&error),
                Err(error) => {
                    self.roll_back().await;
                    return Err(Failure::Error(
                        error.during(format_args!("receiving from {}", self.queue())),
                    ));
                }
            }
        }
    }

    /// Gives the batch to its caller and serves it; answers the messages of a batch whose caller has gone.
    async fn hand_out(&mut self, messages: Vec<Message>, ask: Ask) -> Vec<Message> {
        telemetry::received(&self.queue(), messages.len());
        let (batch, mut orders) = Batch::new(self.queue(), messages);
        if let Err(unwanted) = ask.send(Ok(batch)) {
            return unwanted.map(Batch::into_messages).unwrap_or_default();
        }
        loop {
            match self.serve(&mut orders).await {
                Served::Decided => return Vec::new(),
                Served::Next { batch: (batch, next_orders), answer } => {
                    if let Err(unwanted) = answer.send(Ok(Some(batch))) {
                        return unwanted.ok().flatten().map(Batch::into_messages).unwrap_or_default();
                    }
                    orders = next_orders;
                }
            }
        }
    }

    /// Carries out the orders of a batch up to its decision. A batch that is dropped undecided is given back.
    async fn serve(&mut self, orders: &mut mpsc::Receiver<Order>) -> Served {
        while let Some(order) = orders.recv().await {
            match order {
                Order::Run(job) => match &mut self.session {
                    Some(session) => job(session).await,
                    None => drop(job),
                },
                Order::Commit(answer) => {
                    let _ = answer.send(self.commit().await);
                    return Served::Decided;
                }
                Order::CommitAndNext(answer) => return self.commit_and_next(answer).await,
                Order::GiveBack(answer) => {
                    self.give_back().await;
                    let _ = answer.send(());
                    return Served::Decided;
                }
            }
        }
        self.give_back().await;
        Served::Decided
    }

    async fn commit(&mut self) -> Result<()> {
        let outcome = match &mut self.session {
            Some(session) => session.batch(statements::COMMIT).await.and_then(|results| committed(&results)),
            None => Err(lost()),
        };
        self.after_commit(outcome).await
    }

    /// One request: commit, and what is ready without waiting. The commit's own outcome comes first.
    async fn commit_and_next(&mut self, answer: oneshot::Sender<Result<Option<Batch>>>) -> Served {
        let text = statements::commit_and_receive(&self.spec);
        let response = match &mut self.session {
            Some(session) => session.batch_response(&text).await,
            None => Err(lost()),
        };
        match self.committed_and_received(response).await {
            Ok(messages) if !messages.is_empty() => {
                telemetry::received(&self.queue(), messages.len());
                Served::Next { batch: Batch::new(self.queue(), messages), answer }
            }
            outcome => {
                let _ = answer.send(outcome.map(|_none| None));
                Served::Decided
            }
        }
    }

    /// Once the commit is known to have happened, a failed RECEIVE is left for the next wait to report.
    async fn committed_and_received(&mut self, response: Result<Response>) -> Result<Vec<Message>> {
        let (outcome, received) = match response {
            Ok(Response { results, error }) => match committed(&results) {
                Ok(()) => (Ok(()), if error.is_none() { messages(results) } else { Ok(Vec::new()) }),
                Err(unmarked) => (Err(error.unwrap_or(unmarked)), Ok(Vec::new())),
            },
            Err(error) => (Err(error), Ok(Vec::new())),
        };
        self.after_commit(outcome).await?;
        received
    }

    /// A commit that failed leaves nothing open behind it.
    async fn after_commit(&mut self, outcome: Result<()>) -> Result<()> {
        let Err(error) = outcome else {
            telemetry::batch_decided(&self.queue(), BatchOutcome::Committed);
            return Ok(());
        };
        telemetry::batch_decided(&self.queue(), BatchOutcome::Failed);
        if error.is_connection_lost() {
            self.lose(&error);
        } else {
            self.roll_back().await;
        }
        Err(error.into_commit_outcome().during(format_args!("committing what {} gave", self.queue())))
    }

    /// Back to the savepoint before RECEIVE, so that it does not count as a roll back of the queue.
    async fn give_back(&mut self) {
        let Some(session) = &mut self.session else { return };
        let mut outcome = BatchOutcome::GivenBack;
        if let Err(error) = session.batch(statements::GIVE_BACK).await {
            tracing::warn!(queue = self.queue(), %error, "messages cannot be given back in order; rolling back");
            self.roll_back().await;
            outcome = BatchOutcome::RolledBack;
        }
        telemetry::batch_decided(&self.queue(), outcome);
    }

    async fn roll_back(&mut self) {
        let Some(session) = &mut self.session else { return };
        if let Err(error) = session.batch(statements::ROLL_BACK).await {
            self.lose(&error);
        }
    }

    /// The connection, made anew if it was lost. Refused logins and the like end the attempts.
    async fn connected(&mut self) -> Result<&mut Session, Failure> {
        if self.session.is_none() {
            let session = tokio::select! {
                session = reconnect(&self.broker, self.waiting) => session.map_err(Failure::Error)?,
                () = self.stop.cancelled() => return Err(Failure::Stopped(Stopped)),
            };
            telemetry::reconnected(&self.queue());
            self.session = Some(session);
        }
        Ok(self.session.as_mut().expect("the session was made above"))
    }

    fn lose(&mut self, error: &Error) {
        telemetry::connection_lost(&self.queue());
        tracing::warn!(queue = self.queue(), %error, "the receiver lost its connection");
        self.session = None;
    }

    fn queue(&self) -> String {
        self.spec.queue.quoted()
    }
}

/// Opens the receiver's own connection. Its requests may last as long as the wait, and a little: an answer that is later
/// than that comes from a server that has gone without a word.
pub(super) async fn open_session(broker: &Broker, waiting: Waiting) -> Result<Session> {
    let mut session = broker.dedicated_session().await?;
    session.set_request_timeout(Some(waiting.wait.saturating_add(SLACK)));
    Ok(session)
}

/// Tries until there is a connection again. One log line says that it is back.
async fn reconnect(broker: &Broker, waiting: Waiting) -> Result<Session> {
    let backoff = Backoff::reconnect();
    let mut attempt = 0;
    loop {
        match open_session(broker, waiting).await {
            Ok(session) => {
                tracing::info!(attempts = attempt + 1, "the receiver is connected again");
                return Ok(session);
            }
            Err(error) if !error.is_retryable() => return Err(error),
            Err(_still_away) => tokio::time::sleep(backoff.delay(attempt, random_fraction())).await,
        }
        attempt += 1;
    }
}

/// Why there are no messages.
enum Failure {
    Stopped(Stopped),
    Error(Error),
}

/// What became of a batch.
enum Served {
    Decided,
    Next { batch: (Batch, mpsc::Receiver<Order>), answer: oneshot::Sender<Result<Option<Batch>>> },
}

/// The messages are the last result set.
fn messages(results: Results) -> Result<Vec<Message>> {
    let rows = results.into_sets().pop().map(crate::client::rows::ResultSet::into_rows).unwrap_or_default();
    rows.into_iter().map(Message::from_row).collect()
}

/// Reads the marker that stands after COMMIT.
fn committed(results: &Results) -> Result<()> {
    let row = results.first_row().ok_or_else(|| {
        Error::new(ErrorKind::Protocol, "the server did not say whether the transaction was committed")
    })?;
    match row.get::<i32>("open_transactions")? {
        0 => Ok(()),
        -1 => Err(Error::new(ErrorKind::TransactionDoomed, "the transaction cannot be committed any more")),
        open => Err(Error::new(
            ErrorKind::Statement,
            format!("a handler left {open} transactions open; what it did is rolled back"),
        )),
    }
}

fn lost() -> Error {
    Error::new(ErrorKind::ConnectionLost, "the connection of this batch was lost")
}
