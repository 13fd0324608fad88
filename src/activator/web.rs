//! Three pages over HTTP for monitoring: `/metrics`, `/healthz` and `/readyz`. Reads the board; decides nothing.
//!
//! Healthy is a daemon whose loop still turns; ready is one that listens on every enabled notification service. Whoever can
//! reach the address may read: names of applications and queues, no data.

use crate::activator::inbox::{EventSender, Until};
use crate::activator::metrics;
use crate::activator::status::{Board, ListenerState};
use crate::activator::supervisor::Event;
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// How long the loop may take to answer.
const LOOP_PATIENCE: Duration = Duration::from_secs(2);
/// How long a client may take to say what it wants, and how long a connection is kept.
const HEADER_PATIENCE: Duration = Duration::from_secs(10);
const CONNECTION: Duration = Duration::from_secs(300);
/// Pause after a failure to accept.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);
/// Connections at one time.
const CONNECTIONS: usize = 64;

/// Answers requests.
#[derive(Debug, Clone)]
pub(super) struct Web {
    pub(super) board: Board,
    pub(super) events: EventSender,
}

type Page = Response<Full<Bytes>>;

impl Web {
    /// Answers until dropped.
    pub(super) async fn run(self, listener: TcpListener) {
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        let mut connections = JoinSet::new();
        loop {
            let place = Arc::clone(&places).acquire_owned().await.expect("the semaphore is never closed");
            match listener.accept().await {
                Ok((stream, _)) => {
                    let web = self.clone();
                    connections.spawn(async move {
                        // Who talks for ever gives way to others.
                        let _ = tokio::time::timeout(CONNECTION, web.converse(stream)).await;
                        drop(place);
                    });
                }
                Err(error) => {
                    tracing::warn!(target: "activator", "a client of the metrics address is turned away: {error}");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
            while connections.try_join_next().is_some() {}
        }
    }

    async fn converse(self, stream: TcpStream) {
        let answer = service_fn(move |request| {
            let web = self.clone();
            async move { Ok::<_, Infallible>(web.answer(&request).await) }
        });
        let mut server = http1::Builder::new();
        server.timer(TokioTimer::new()).header_read_timeout(HEADER_PATIENCE);
        // A client that breaks off is its own affair.
        let _ = server.serve_connection(TokioIo::new(stream), answer).await;
    }

    async fn answer(&self, request: &Request<Incoming>) -> Page {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return page(StatusCode::METHOD_NOT_ALLOWED, "only GET is answered\n");
        }
        match request.uri().path() {
            "/metrics" => self.metrics(),
            "/healthz" => self.health().await,
            "/readyz" => self.readiness(),
            _ => page(StatusCode::NOT_FOUND, "there are /metrics, /healthz and /readyz\n"),
        }
    }

    fn metrics(&self) -> Page {
        let (apps, unmatched, unreadable) = self.board.counts();
        let text = metrics::exposition(&self.board.status(), &apps, unmatched, unreadable);
        let mut page = page(StatusCode::OK, text);
        page.headers_mut()
            .insert(CONTENT_TYPE, metrics::CONTENT_TYPE.parse().expect("the type is plain text"));
        page
    }

    async fn health(&self) -> Page {
        match tokio::time::timeout(LOOP_PATIENCE, is_alive(&self.events)).await {
            Ok(true) => page(StatusCode::OK, "well\n"),
            _ => page(StatusCode::SERVICE_UNAVAILABLE, "the daemon's loop does not answer\n"),
        }
    }

    fn readiness(&self) -> Page {
        let listeners = self.board.status().listeners.into_iter();
        let waiting: Vec<String> = listeners
            .filter(|one| !matches!(one.state, ListenerState::Listening | ListenerState::Disabled))
            .map(|one| format!("not listening on {} at {}\n", one.service, one.server))
            .collect();
        match waiting.is_empty() {
            true => page(StatusCode::OK, "ready\n"),
            false => page(StatusCode::SERVICE_UNAVAILABLE, waiting.concat()),
        }
    }
}

/// Whether the loop takes an event and acts on it. Time passing is an event that does no harm at any time.
pub(super) async fn is_alive(events: &EventSender) -> bool {
    match events.send(Event::Tick, Until::Safe).await {
        Ok(acted_on) => acted_on.await.is_ok(),
        Err(_stopped) => false,
    }
}

fn page(status: StatusCode, text: impl Into<Bytes>) -> Page {
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = status;
    response
}
