//! One SQL connection and the rule that keeps it honest: a request that was not read to its end condemns it.
//!
//! A session is *clean*, *busy* or *broken*. It turns busy before the first poll of a request and clean only after the
//! response was read completely; a future that is dropped half-way therefore leaves it busy, and a session that is not
//! clean is never used again: its next request fails, and the pool discards it. The server then rolls back whatever was
//! open. This folder and `pool.rs` are the only places that name the driver; they know nothing of dialogs or queues.

mod connect;
mod fault;
mod guest;
mod socket;
mod wire;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tiberius::Client;
use tokio::net::TcpStream;
use tokio_util::compat::Compat;

use super::error::{Error, ErrorKind, Result};
use super::options::BrokerOptions;
use super::rows::Results;
use super::statements::{self, Statement};
use super::telemetry;

pub(crate) use guest::Guest;

type Driver = Client<Compat<TcpStream>>;

/// Counts the requests sent by all sessions that share it; tests of round trips read it.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestCounter(Arc<AtomicU64>);

impl RequestCounter {
    pub(crate) fn sent(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Clean,
    Busy,
    Broken,
}

/// What a request answered, including what arrived before an error that ended it.
///
/// A batch that fails half-way has already sent the results of its first statements; most callers want
/// [`into_results`](Response::into_results), the sending code wants both.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) results: Results,
    pub(crate) error: Option<Error>,
}

impl Response {
    /// The results, or the error if the request ended with one.
    pub(crate) fn into_results(self) -> Result<Results> {
        match self.error {
            Some(error) => Err(error),
            None => Ok(self.results),
        }
    }
}

/// Runs statements with parameters: a session of ours, or a caller's connection that we are a guest on.
pub(crate) trait Connection {
    /// Runs a statement, keeping what arrived before an error.
    fn run(&mut self, statement: &Statement<'_>) -> impl Future<Output = Result<Response>> + Send;

    /// The largest body that may be sent on it, in bytes; `None` is as the server takes.
    fn max_body(&self) -> Option<usize>;
}

impl Connection for Session {
    async fn run(&mut self, statement: &Statement<'_>) -> Result<Response> {
        self.execute_response(statement).await
    }

    fn max_body(&self) -> Option<usize> {
        self.max_body
    }
}

/// One SQL connection.
pub(crate) struct Session {
    driver: Driver,
    state: State,
    in_transaction: bool,
    is_altered: bool,
    was_refused: bool,
    has_timed_out: bool,
    request_timeout: Option<Duration>,
    max_body: Option<usize>,
    requests: RequestCounter,
    last_used: Instant,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("state", &self.state)
            .field("in_transaction", &self.in_transaction)
            .finish()
    }
}

impl Session {
    /// Connects, logs in and applies the session settings the library relies on.
    ///
    /// One attempt; the connect timeout bounds all of it. Dropping the future closes the socket.
    pub(crate) async fn connect(options: &BrokerOptions, requests: RequestCounter) -> Result<Self> {
        let limit = options.connect_timeout;
        let server = options.describe_server();
        let made = match tokio::time::timeout(limit, Self::log_in(options, requests)).await {
            Ok(outcome) => outcome.map_err(|error| error.during(format!("connecting to {server}"))),
            Err(_elapsed) => Err(Error::new(
                ErrorKind::Connect,
                format!("connecting to {server} took longer than {limit:?}"),
            )),
        };
        match &made {
            Ok(_) => telemetry::connected(),
            Err(error) => telemetry::connect_failed(error.kind()),
        }
        made
    }

    async fn log_in(options: &BrokerOptions, requests: RequestCounter) -> Result<Self> {
        let mut session = Self {
            driver: connect::connect(options).await?,
            state: State::Clean,
            in_transaction: false,
            is_altered: false,
            was_refused: false,
            has_timed_out: false,
            request_timeout: None,
            max_body: options.max_body,
            requests,
            last_used: Instant::now(),
        };
        session
            .batch(statements::SESSION_SETTINGS)
            .await
            .map_err(|error| error.during("applying session settings"))?;
        session.request_timeout = options.command_timeout;
        Ok(session)
    }

    /// Bounds every later request: `None` waits for ever, as a receiver does that bounds its WAITFOR itself.
    ///
    /// A request that passes the bound fails with `Timeout` and leaves the session unusable.
    pub(crate) fn set_request_timeout(&mut self, timeout: Option<Duration>) {
        self.request_timeout = timeout;
    }

    /// What bounds a request now.
    pub(crate) fn request_timeout(&self) -> Option<Duration> {
        self.request_timeout
    }

    /// Whether the server has answered a request with an error since this was asked last.
    pub(crate) fn take_refused(&mut self) -> bool {
        std::mem::take(&mut self.was_refused)
    }

    /// Whether it is unusable because a request took longer than its bound.
    pub(crate) fn has_timed_out(&self) -> bool {
        self.has_timed_out
    }

    /// Whether the last response was read to its end and no fault was seen.
    pub(crate) fn is_clean(&self) -> bool {
        self.state == State::Clean
    }

    /// Whether a transaction begun with [`begin`](Session::begin) is still open.
    pub(crate) fn in_transaction(&self) -> bool {
        self.in_transaction
    }

    /// When the last response ended.
    pub(crate) fn last_used(&self) -> Instant {
        self.last_used
    }

    /// Makes the session unusable, for callers that no longer know what state the server holds for it.
    pub(crate) fn condemn(&mut self) {
        self.state = State::Broken;
    }

    /// Lets the pool close the connection when it comes back: the settings on it may not be the library's any more.
    pub(crate) fn mark_altered(&mut self) {
        self.is_altered = true;
    }

    /// Whether a caller's batch that may have changed its settings ran on it.
    pub(crate) fn is_altered(&self) -> bool {
        self.is_altered
    }

    /// Sends a plain batch: statements in their own scope, where transaction control is allowed.
    pub(crate) async fn batch(&mut self, text: &str) -> Result<Results> {
        self.batch_response(text).await?.into_results()
    }

    /// Like [`batch`](Session::batch), keeping what arrived before an error.
    pub(crate) async fn batch_response(&mut self, text: &str) -> Result<Response> {
        let timeout = self.start()?;
        let outcome = bounded(timeout, wire::batch(&mut self.driver, text)).await;
        self.finish(outcome)
    }

    /// Runs a statement with parameters through `sp_executesql`.
    ///
    /// The transaction count must be the same at its end as at its beginning, else the server raises error 266.
    pub(crate) async fn execute(&mut self, statement: &Statement<'_>) -> Result<Results> {
        self.execute_response(statement).await?.into_results()
    }

    /// Like [`execute`](Session::execute), keeping what arrived before an error.
    pub(crate) async fn execute_response(&mut self, statement: &Statement<'_>) -> Result<Response> {
        let timeout = self.start()?;
        let outcome = bounded(timeout, wire::execute(&mut self.driver, statement)).await;
        self.finish(outcome)
    }

    /// Begins a transaction by a transaction-manager request.
    pub(crate) async fn begin(&mut self) -> Result<()> {
        let timeout = self.start()?;
        let outcome = bounded(timeout, wire::acknowledged(self.driver.begin_transaction())).await;
        self.finish(outcome)?.into_results()?;
        self.in_transaction = true;
        Ok(())
    }

    /// Sets a savepoint.
    pub(crate) async fn save(&mut self, savepoint: &str) -> Result<()> {
        self.batch(&statements::save_transaction(savepoint)).await.map(drop)
    }

    /// Commits. When the answer is lost the error is `CommitUnknown`.
    pub(crate) async fn commit(&mut self) -> Result<()> {
        let timeout = self.start()?;
        let outcome = bounded(timeout, wire::acknowledged(self.driver.commit_transaction())).await;
        let committed = self.finish(outcome).and_then(Response::into_results);
        committed.map_err(Error::into_commit_outcome)?;
        self.in_transaction = false;
        Ok(())
    }

    /// Rolls back if the server still has a transaction open for us; it may have ended one by itself.
    pub(crate) async fn rollback_if_open(&mut self) -> Result<()> {
        self.batch(statements::SESSION_CHECK).await?;
        self.in_transaction = false;
        Ok(())
    }

    /// Rolls back to a savepoint; the transaction and its conversation group locks stay.
    pub(crate) async fn rollback_to(&mut self, savepoint: &str) -> Result<()> {
        self.batch(&statements::rollback_to(savepoint)).await.map(drop)
    }

    /// Marks the session busy before anything is written.
    fn start(&mut self) -> Result<Option<Duration>> {
        if !self.is_clean() {
            return Err(Error::new(
                ErrorKind::ConnectionLost,
                "the connection was given up because an earlier request on it was not read to its end",
            ));
        }
        self.state = State::Busy;
        self.requests.count();
        Ok(self.request_timeout)
    }

    /// Decides what the end of a request means for the connection.
    fn finish(&mut self, outcome: Result<Response>) -> Result<Response> {
        let usable = match &outcome {
            Ok(Response { error: Some(error), .. }) => {
                error.kind() != ErrorKind::Failover
                    && !error.server().is_some_and(|server| server.ends_connection())
            }
            Ok(_) => true,
            Err(_) => false,
        };
        self.state = if usable { State::Clean } else { State::Broken };
        self.was_refused |= matches!(&outcome, Ok(Response { error: Some(_), .. }));
        self.has_timed_out |= matches!(&outcome, Err(error) if error.kind() == ErrorKind::Timeout);
        self.last_used = Instant::now();
        outcome
    }
}

async fn bounded(
    timeout: Option<Duration>,
    request: impl Future<Output = Result<Response>>,
) -> Result<Response> {
    let Some(limit) = timeout else { return request.await };
    match tokio::time::timeout(limit, request).await {
        Ok(outcome) => outcome,
        Err(_elapsed) => Err(Error::new(
            ErrorKind::Timeout,
            format!("the server did not answer within {limit:?}; the connection was given up"),
        )),
    }
}

#[cfg(test)]
mod connecting_tests;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
