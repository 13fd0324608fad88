//! Serves one connection: from PRELOGIN to the end of the stream, over any stream of bytes.
//!
//! ```text
//! handshake   PRELOGIN -> (TLS inside PRELOGIN packets) -> LOGIN7 -> LoginHandler -> reply
//! session     reader task -> queue of one -> executor -> RequestHandler -> ReplySink
//! ```
//!
//! The reader always reads, so that an Attention or the end of the stream is seen while a request runs; each fires the
//! request's token. The executor answers in the order of arrival. What a request does stays unknown here: sessions are
//! reached through [`RequestHandler`](crate::request::RequestHandler) only.

mod counters;
mod encryption;
mod executor;
mod handshake;
mod options;
mod phase;
mod reader;
mod transport;
mod tunnel;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info};

pub use counters::ServerCounters;
pub use options::{Encryption, ServerOptions};

use crate::request::LoginHandler;
use executor::Executor;
use handshake::LoggedIn;

/// Requests that may wait while one runs. The reader holds at most one more, and reads on when there is room.
const QUEUED_REQUESTS: usize = 1;

/// Serves one connection until the client leaves, breaks the protocol, or `shutdown` fires. A request that runs then is
/// cancelled; the session is dropped, which rolls back. Dropping the future has the same effect.
pub(crate) async fn serve<L, S>(
    stream: S,
    logins: Arc<L>,
    options: Arc<ServerOptions>,
    shutdown: CancellationToken,
) where
    L: LoginHandler,
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let _open = options.counters.connection_opened();
    let closed = shutdown.child_token();
    let logging_in = tokio::time::timeout(
        options.login_timeout,
        handshake::log_in(stream, logins.as_ref(), &options, closed.clone()),
    );
    let logged_in = tokio::select! {
        () = closed.cancelled() => return,
        logged_in = logging_in => logged_in,
    };
    match logged_in {
        Ok(Ok(Some(logged_in))) => run_session(logged_in, &options, closed).await,
        Ok(Ok(None)) => {}
        Ok(Err(error)) => info!(%error, "connection ended before the login"),
        Err(_elapsed) => info!("connection did not log in within the time allowed"),
    }
}

async fn run_session<H, S>(logged_in: LoggedIn<H, S>, options: &ServerOptions, closed: CancellationToken)
where
    H: crate::request::RequestHandler,
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (read_half, write_half) = tokio::io::split(logged_in.transport);
    let (sender, inbox) = mpsc::channel(QUEUED_REQUESTS);
    // A set, so that the reader ends with this future even if that is dropped.
    let mut reader = JoinSet::new();
    reader.spawn(reader::read_requests(
        read_half,
        sender,
        closed.clone(),
        options.max_message,
        options.counters.clone(),
    ));
    let reply = handshake::reply_sink(write_half, options, closed.clone(), logged_in.packet_size);
    let executor = Executor::new(logged_in.session, reply, options.counters.clone());
    if let Err(error) = executor.run(inbox).await {
        debug!(%error, "connection lost");
    }
    closed.cancel();
}
