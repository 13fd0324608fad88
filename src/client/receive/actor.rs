//! The task behind a receiver: it owns the connection, waits at the server, and serves the batch that is out.
//!
//! The receive protocol: `BEGIN; SAVE before_receive; RECEIVE; SAVE before_handling`, then orders of the batch, then
//! commit, or give-back (roll back to `before_receive`, commit). A full roll back happens only when the transaction is
//! doomed. The task never gives up a request half-way, except by stopping, which closes the socket. `link.rs` holds the
//! connection.

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::batch::{Batch, Job, Order};
use super::link::Link;
use super::overdue::noticed;
use super::received::Received;
use super::{LONG_OUT, Waiting};
use crate::client::error::{Error, ErrorKind, Result};
use crate::client::rows::Results;
use crate::client::session::Response;
use crate::client::statements::{self, ReceiveSpec};
use crate::client::telemetry::{self, BatchOutcome};

/// A caller waiting for a batch.
pub(super) struct Ask {
    pub(super) spec: ReceiveSpec,
    pub(super) patience: Patience,
    pub(super) answer: oneshot::Sender<Result<Option<Batch>>>,
}

/// Whether a caller waits for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    Waits,
    None,
}

/// The receiver was dropped: nobody will ask again.
struct Stopped;

/// Messages whose caller has gone, kept for the next one who asks for the same.
struct Held {
    spec: ReceiveSpec,
    received: Received,
}

pub(super) struct Actor {
    link: Link,
    waiting: Waiting,
    stop: CancellationToken,
}

impl Actor {
    pub(super) fn new(link: Link, waiting: Waiting, stop: CancellationToken) -> Self {
        Self { link, waiting, stop }
    }

    pub(super) async fn run(mut self, mut asks: mpsc::Receiver<Ask>) {
        let mut held = None;
        let mut untold = None;
        while let Some(ask) = self.next_ask(&mut asks, &mut held).await {
            if let Some(error) = untold.take() {
                untold = tell(ask, error);
                continue;
            }
            let received = match self.held_for(&ask.spec, held.take()).await {
                Some(received) => Ok(received),
                None => self.receive(&ask.spec, ask.patience).await,
            };
            match received {
                Ok(received) if received.is_empty() => {
                    let _ = ask.answer.send(Ok(None));
                }
                Ok(received) => held = self.hand_out(received, ask).await,
                Err(Failure::Stopped(Stopped)) => return,
                Err(Failure::Error(error)) => untold = tell(ask, error),
            }
        }
        if held.is_some() {
            self.give_back().await;
        }
    }

    /// The next caller. Messages that nobody asks for go back after the hold time.
    async fn next_ask(&mut self, asks: &mut mpsc::Receiver<Ask>, held: &mut Option<Held>) -> Option<Ask> {
        if held.is_none() {
            return asks.recv().await;
        }
        match tokio::time::timeout(self.waiting.hold, asks.recv()).await {
            Ok(ask) => ask,
            Err(_elapsed) => {
                *held = None;
                self.give_back().await;
                asks.recv().await
            }
        }
    }

    /// The messages held, if they are what is asked for; otherwise they go back.
    async fn held_for(&mut self, spec: &ReceiveSpec, held: Option<Held>) -> Option<Received> {
        let held = held?;
        if held.spec.selection == spec.selection {
            return Some(held.received);
        }
        self.give_back().await;
        None
    }

    /// Waits until there are messages, over as many WAITFORs and connections as it takes.
    async fn receive(&mut self, spec: &ReceiveSpec, patience: Patience) -> Result<Received, Failure> {
        let wait = (patience == Patience::Waits).then_some(self.waiting.wait);
        let text = statements::receive(spec, wait);
        loop {
            let stop = self.stop.clone();
            let span = telemetry::receive_span(self.link.queue());
            let session = tokio::select! {
                session = self.link.connected() => session.map_err(Failure::Error)?,
                () = stop.cancelled() => return Err(Failure::Stopped(Stopped)),
            };
            let outcome = tokio::select! {
                outcome = session.batch(&text).instrument(span.clone()) => outcome,
                () = stop.cancelled() => return Err(Failure::Stopped(Stopped)),
            };
            let received = match outcome.and_then(Received::read) {
                Ok(received) => self.what_fits(spec, received).await,
                failed => failed,
            };
            span.record("messages", received.as_ref().map_or(0, |received| received.messages.len()));
            match received {
                Ok(received) if received.is_empty() && patience == Patience::Waits => {}
                Ok(received) => return Ok(received),
                Err(error) => {
                    self.leave(&error).await;
                    if error.is_connection_lost() {
                        continue;
                    }
                    let error = error.during(format_args!("receiving from {}", self.link.queue()));
                    return Err(Failure::Error(error));
                }
            }
        }
    }

    /// A message whose body is too long stays on the queue, with what came behind it; with none before it, it is an error.
    async fn what_fits(&mut self, spec: &ReceiveSpec, received: Received) -> Result<Received> {
        let Some(first) = received.messages.first().filter(|_| received.withheld.is_some()) else {
            return received.whole();
        };
        let count = u32::try_from(received.messages.len()).unwrap_or(u32::MAX);
        let text = statements::receive_fewer(spec, first.group, count);
        let session = self.link.session().ok_or_else(lost)?;
        session.batch(&text).await.and_then(Received::read)?.whole()
    }

    /// Ends the transaction of a RECEIVE that failed, itself or what stands behind it in its batch. What it took goes back
    /// without counting as a roll back.
    async fn leave(&mut self, error: &Error) {
        if error.is_connection_lost() {
            self.link.lose(error);
        } else {
            self.close().await;
        }
    }

    /// Gives the batch to its caller and serves it; answers the messages of a batch whose caller has gone.
    async fn hand_out(&mut self, received: Received, ask: Ask) -> Option<Held> {
        let mut spec = ask.spec;
        telemetry::received(self.link.queue(), received.messages.len());
        let (batch, mut orders) = Batch::new(spec.clone(), received);
        if let Err(unwanted) = ask.answer.send(Ok(Some(batch))) {
            return held(spec, unwanted);
        }
        loop {
            let queue = self.link.queue().to_owned();
            match noticed(LONG_OUT, self.serve(&mut orders), || warn_of_long_batch(&queue)).await {
                Served::Decided => return None,
                Served::CommitAndNext { max_messages, answer } => {
                    spec.max_messages = max_messages;
                    let next = self.commit_and_next(&spec).await;
                    let Ok(received) = next else {
                        let _ = answer.send(next.map(|_none| None));
                        return None;
                    };
                    if received.is_empty() {
                        let _ = answer.send(Ok(None));
                        return None;
                    }
                    telemetry::received(self.link.queue(), received.messages.len());
                    let (batch, next_orders) = Batch::new(spec.clone(), received);
                    if let Err(unwanted) = answer.send(Ok(Some(batch))) {
                        return held(spec, unwanted);
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
                Order::Run(job) => self.run_job(job).await,
                Order::Commit { outcome, answer } => {
                    let _ = answer.send(self.commit(outcome).await);
                    return Served::Decided;
                }
                Order::CommitAndNext { max_messages, answer } => {
                    return Served::CommitAndNext { max_messages, answer };
                }
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

    /// What a batch has run may last as long as it is allowed to, which is not what a wait may last.
    async fn run_job(&mut self, job: Job) {
        let statement = self.waiting.statement;
        match self.link.session() {
            Some(session) => {
                let usual = session.request_timeout();
                session.set_request_timeout(statement.or(usual));
                job(Ok(session)).await;
                session.set_request_timeout(usual);
            }
            None => job(Err(lost())).await,
        }
    }

    async fn commit(&mut self, meaning: BatchOutcome) -> Result<()> {
        let session = self.link.session().filter(|session| session.is_clean());
        let outcome = match session {
            Some(session) => session.batch(statements::COMMIT).await.and_then(|results| committed(&results)),
            None => return self.not_committed(lost()).await,
        };
        self.after_commit(outcome, meaning).await
    }

    /// One request: commit, and what is ready without waiting. The commit's own outcome comes first.
    async fn commit_and_next(&mut self, spec: &ReceiveSpec) -> Result<Received> {
        let text = statements::commit_and_receive(spec);
        let session = self.link.session().filter(|session| session.is_clean());
        let response = match session {
            Some(session) => session.batch_response(&text).await,
            None => return self.not_committed(lost()).await,
        };
        let answer = CommitAnswer::read(response);
        self.after_commit(answer.commit, BatchOutcome::Committed).await?;
        Ok(self.received_behind_commit(spec, answer.received).await)
    }

    /// The commit has happened: a RECEIVE that failed behind it, or too long a body, is left for the next wait to report. What
    /// it had taken by then goes back, or it would be lost in the transaction that is open now.
    async fn received_behind_commit(&mut self, spec: &ReceiveSpec, received: Result<Received>) -> Received {
        let fitting = match received {
            Ok(received) => self.what_fits(spec, received).await,
            failed => failed,
        };
        match fitting {
            Ok(received) => received,
            Err(error) => {
                tracing::debug!(queue = self.link.queue(), %error, "the next messages could not be taken yet");
                self.leave(&error).await;
                Received::default()
            }
        }
    }

    /// A commit that was sent and failed leaves nothing open behind it.
    async fn after_commit(&mut self, outcome: Result<()>, meaning: BatchOutcome) -> Result<()> {
        match outcome {
            Ok(()) => {
                telemetry::batch_decided(self.link.queue(), meaning);
                Ok(())
            }
            Err(error) => self.not_committed(error.into_commit_outcome()).await,
        }
    }

    async fn not_committed<T>(&mut self, error: Error) -> Result<T> {
        telemetry::batch_decided(self.link.queue(), BatchOutcome::Failed);
        self.leave(&error).await;
        Err(error.during(format_args!("committing what {} gave", self.link.queue())))
    }

    async fn give_back(&mut self) {
        if self.link.session().is_none() {
            return;
        }
        let outcome = self.close().await;
        telemetry::batch_decided(self.link.queue(), outcome);
    }

    /// Ends the transaction without its work. Back to the savepoint before RECEIVE, so that it does not count as a roll back
    /// of the queue, if that is possible.
    async fn close(&mut self) -> BatchOutcome {
        let Some(session) = self.link.session() else { return BatchOutcome::RolledBack };
        let Err(error) = session.batch(statements::GIVE_BACK).await else { return BatchOutcome::GivenBack };
        if error.is_connection_lost() {
            self.link.lose(&error);
        } else {
            let queue = self.link.queue();
            tracing::warn!(queue, %error, "messages cannot be given back in order; rolling back");
            self.roll_back().await;
        }
        BatchOutcome::RolledBack
    }

    async fn roll_back(&mut self) {
        let Some(session) = self.link.session() else { return };
        if let Err(error) = session.batch(statements::ROLL_BACK).await {
            self.link.lose(&error);
        }
    }
}

fn warn_of_long_batch(queue: &str) {
    tracing::warn!(
        queue,
        "a batch has been out for {LONG_OUT:?}: its transaction is open and its conversation group locked; handlers that \
         need longer belong in a long worker"
    );
}

/// What one request that commits and receives has answered.
struct CommitAnswer {
    commit: Result<()>,
    /// Of interest once the commit is known to have happened.
    received: Result<Received>,
}

impl CommitAnswer {
    /// An error that comes behind the marker of the commit is one of the RECEIVE.
    fn read(response: Result<Response>) -> Self {
        let nothing = || Ok(Received::default());
        let Response { results, error } = match response {
            Ok(response) => response,
            Err(error) => return Self { commit: Err(error), received: nothing() },
        };
        match (committed(&results), error) {
            (Ok(()), None) => Self { commit: Ok(()), received: Received::read(results) },
            (Ok(()), Some(error)) => Self { commit: Ok(()), received: Err(error) },
            (Err(unmarked), error) => Self { commit: Err(error.unwrap_or(unmarked)), received: nothing() },
        }
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
    CommitAndNext { max_messages: u32, answer: oneshot::Sender<Result<Option<Batch>>> },
}

/// Answers a caller with an error; gives it back if the caller has gone and asking again would not bring it up.
fn tell(ask: Ask, error: Error) -> Option<Error> {
    let unheard = ask.answer.send(Err(error)).err()?.err()?;
    (unheard.kind() == ErrorKind::BrokerChanged).then_some(unheard)
}

/// What an answer that nobody took holds.
fn held(spec: ReceiveSpec, unwanted: Result<Option<Batch>>) -> Option<Held> {
    let batch = unwanted.ok().flatten()?;
    Some(Held { spec, received: batch.into_received() })
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
            ErrorKind::TransactionDoomed,
            format!("a handler left {open} transactions open; what it did is rolled back"),
        )),
    }
}

fn lost() -> Error {
    Error::new(ErrorKind::ConnectionLost, "the connection of this batch was lost")
}
