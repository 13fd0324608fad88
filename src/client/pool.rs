//! The pool of connections for short work, and dedicated connections for receivers.
//!
//! A session that is not clean, has a transaction open, or may have had its settings
//! changed is discarded when it comes back. Nothing here knows what the
//! sessions are used for.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bb8::{ManageConnection, PooledConnection, RunError};
use tokio::sync::watch;
use uuid::Uuid;

use super::error::{Error, ErrorKind, Result};
use super::options::BrokerOptions;
use super::retry::Backoff;
use super::session::{RequestCounter, Session};
use super::{statements, telemetry};

/// A session on loan; it goes back when dropped.
pub(crate) type PooledSession = PooledConnection<'static, SessionManager>;

/// A session idle for longer is asked whether it still lives before it is lent. Asking every time would double the round
/// trips of a single send.
const CHECK_AFTER_IDLE: Duration = Duration::from_secs(5);
/// How long that question may take.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);

/// The pool.
#[derive(Clone, Debug)]
pub(crate) struct SessionPool {
    sessions: bb8::Pool<SessionManager>,
    failures: watch::Receiver<Option<Error>>,
    manager: SessionManager,
}

impl SessionPool {
    /// An empty pool; the first connections are made when they are asked for.
    pub(crate) fn new(options: BrokerOptions) -> Self {
        let (report, failures) = watch::channel(None);
        let manager = SessionManager {
            options: Arc::new(options),
            requests: RequestCounter::default(),
            report: Arc::new(report),
            last_error: Arc::default(),
        };
        let options = &manager.options;
        let sessions = bb8::Pool::builder()
            .max_size(options.max_pool_size)
            .min_idle(options.min_pool_size)
            .connection_timeout(options.acquire_timeout)
            .max_lifetime(options.connection_lifetime)
            .retry_connection(false)
            .queue_strategy(bb8::QueueStrategy::Lifo)
            .build_unchecked(manager.clone());
        Self { sessions, failures, manager }
    }

    /// Connects once and keeps the session for the first caller: wrong options fail here, at once.
    pub(crate) async fn prove(&self) -> Result<()> {
        let session = self.dedicated().await?;
        // A pool that is full already has proved itself; the session is then simply closed.
        drop(self.sessions.add(session));
        Ok(())
    }

    /// Lends a session, waiting up to the acquire timeout for a free or new one.
    ///
    /// Attempts to connect are repeated with growing pauses while the network is at fault; a refused login or certificate
    /// fails at once. Dropping the future gives up the place in the queue and nothing else.
    pub(crate) async fn get(&self) -> Result<PooledSession> {
        let mut failures = self.failures.clone();
        failures.mark_unchanged();
        let lent = tokio::select! {
            biased;
            session = self.sessions.get_owned() => session.map_err(|error| self.explain(error)),
            failure = next_failure(&mut failures) => Err(failure),
        };
        let state = self.sessions.state();
        telemetry::pool(state.idle_connections, state.connections);
        lent
    }

    /// A session of one's own, outside the pool. One attempt.
    pub(crate) async fn dedicated(&self) -> Result<Session> {
        Session::connect(&self.manager.options, self.manager.requests.clone()).await
    }

    /// The options of all sessions.
    pub(crate) fn options(&self) -> &BrokerOptions {
        &self.manager.options
    }

    /// How many requests all sessions, dedicated ones included, have sent.
    pub(crate) fn requests_sent(&self) -> u64 {
        self.manager.requests.sent()
    }

    fn explain(&self, error: RunError<Error>) -> Error {
        match error {
            RunError::User(error) => error,
            RunError::TimedOut => {
                let limit = self.manager.options.acquire_timeout;
                // While connecting fails, that is what the caller has to know, whichever of the two deadlines came first.
                match self.manager.last_error() {
                    Some(cause) => cause.during(format_args!("no connection within {limit:?}")),
                    None => self.kept_waiting(limit),
                }
            }
        }
    }

    /// Nobody failed to connect: either every connection is in use, or the one being made takes too long.
    fn kept_waiting(&self, limit: Duration) -> Error {
        let most = self.manager.options.max_pool_size;
        if self.sessions.state().connections < most {
            return Error::new(ErrorKind::Timeout, format!("no connection was made within {limit:?}"));
        }
        let text =
            format!("all {most} connections of the pool stayed in use for {limit:?}: make the pool larger");
        Error::new(ErrorKind::PoolExhausted, text)
    }
}

async fn next_failure(failures: &mut watch::Receiver<Option<Error>>) -> Error {
    loop {
        if failures.changed().await.is_err() {
            return Error::new(ErrorKind::Closed, "the connection pool is closed");
        }
        if let Some(error) = failures.borrow_and_update().clone() {
            return error;
        }
    }
}

/// Makes and judges the sessions of the pool.
#[derive(Clone, Debug)]
pub(crate) struct SessionManager {
    options: Arc<BrokerOptions>,
    requests: RequestCounter,
    report: Arc<watch::Sender<Option<Error>>>,
    last_error: Arc<Mutex<Option<Error>>>,
}

impl SessionManager {
    /// Answers the error before. The lock is held for one exchange; what a panicking thread left is still a whole value.
    fn note_error(&self, error: Option<Error>) -> Option<Error> {
        std::mem::replace(&mut *self.last_error.lock().unwrap_or_else(PoisonError::into_inner), error)
    }

    fn last_error(&self) -> Option<Error> {
        self.last_error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ManageConnection for SessionManager {
    type Connection = Session;
    type Error = Error;

    async fn connect(&self) -> Result<Session> {
        let outcome = connect_patiently(self).await;
        if let Err(error) = &outcome {
            self.report.send_replace(Some(error.clone()));
        }
        outcome
    }

    async fn is_valid(&self, session: &mut Session) -> Result<()> {
        if session.last_used().elapsed() < CHECK_AFTER_IDLE {
            return Ok(());
        }
        match tokio::time::timeout(CHECK_TIMEOUT, session.batch(statements::SESSION_CHECK)).await {
            Ok(answer) => answer.map(drop),
            Err(_elapsed) => Err(Error::new(ErrorKind::Timeout, "an idle connection did not answer")),
        }
    }

    fn has_broken(&self, session: &mut Session) -> bool {
        !session.is_clean() || session.in_transaction() || session.is_altered()
    }
}

/// Repeats attempts while they fail for reasons of the network, up to the acquire timeout and the number of retries.
async fn connect_patiently(manager: &SessionManager) -> Result<Session> {
    let options = &manager.options;
    let deadline = Instant::now() + options.acquire_timeout;
    let backoff = Backoff::reconnect();
    let mut attempt = 0;
    loop {
        let error = match Session::connect(&manager.options, manager.requests.clone()).await {
            Ok(session) => {
                if manager.note_error(None).is_some() {
                    tracing::info!("connections can be made again");
                }
                return Ok(session);
            }
            Err(error) => error,
        };
        let pause =
            options.connect_retry_interval.unwrap_or_else(|| backoff.delay(attempt, random_fraction()));
        let spent = options.connect_retries.is_some_and(|retries| attempt >= retries);
        if spent || !error.is_retryable() || Instant::now() + pause >= deadline {
            return Err(error);
        }
        // One line when the server goes away, whoever notices, and one when it is back.
        if manager.note_error(Some(error.clone())).is_none() {
            tracing::warn!(%error, "connecting failed, trying again with growing pauses");
        }
        tokio::time::sleep(pause).await;
        attempt += 1;
    }
}

/// A random number from 0 to below 1, for spreading retries.
pub(crate) fn random_fraction() -> f64 {
    let (high, _) = Uuid::new_v4().as_u64_pair();
    // The version bits are at the low end of the high half; the upper 32 are all random.
    (high >> 32) as f64 / f64::from(u32::MAX)
}
