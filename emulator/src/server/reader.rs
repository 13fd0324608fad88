//! Reads the requests of a logged-in client, at all times.
//!
//! It decodes nothing: messages go to the executor as they are. What it does at once is cancelling: an Attention cancels
//! all requests before it, the end of the stream cancels everything.

use std::sync::Arc;

use tokio::io::{AsyncRead, BufReader};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::counters::{ServerCounters, count};
use super::phase::Phase;
use crate::tds::error::ProtocolError;
use crate::tds::packet::{Message, MessageReader, PacketType, ReadError, Status};

/// What the executor has to answer.
#[derive(Debug)]
pub(super) enum Incoming {
    /// A request.
    Request {
        /// The whole message.
        message: Message,
        /// Fires when the request is cancelled or the connection ends.
        cancel: CancellationToken,
    },
    /// A request the client took back while it sent it.
    Ignored,
    /// An Attention, which is acknowledged after everything before it.
    Attention,
    /// The client broke the protocol; nothing more comes.
    Broken(ProtocolError),
}

/// Reads until the stream ends, the client breaks the protocol, or `closed` fires; fires `closed` at the end of the
/// stream. While the queue is full it waits and reads nothing: a client that sends more before its first answer, which
/// the protocol does not allow, loses the prompt reaction to a closed socket, and nothing else.
pub(super) async fn read_requests<R: AsyncRead + Unpin>(
    stream: R,
    queue: mpsc::Sender<Incoming>,
    closed: CancellationToken,
    max_message: usize,
    counters: Arc<ServerCounters>,
) {
    let phase = Phase::Requests { max_message };
    let mut messages = MessageReader::new(BufReader::new(stream));
    let mut cancel = closed.child_token();
    loop {
        let read = tokio::select! {
            biased;
            () = closed.cancelled() => return,
            read = messages.read(phase.max_message()) => read,
        };
        let Some(incoming) = classify(read, phase, &cancel) else {
            closed.cancel();
            return;
        };
        if matches!(incoming, Incoming::Attention) {
            count(&counters.attentions);
            cancel.cancel();
            cancel = closed.child_token();
        }
        let last = matches!(incoming, Incoming::Broken(_));
        let queued = tokio::select! {
            biased;
            () = closed.cancelled() => return,
            queued = queue.send(incoming) => queued,
        };
        if last || queued.is_err() {
            return;
        }
    }
}

/// What a read means to the executor; `None` at the end of the stream.
fn classify(
    read: Result<Option<Message>, ReadError>,
    phase: Phase,
    cancel: &CancellationToken,
) -> Option<Incoming> {
    let message = match read {
        Ok(message) => message?,
        Err(ReadError::Io(error)) => {
            debug!(%error, "the stream of a client failed");
            return None;
        }
        Err(ReadError::Protocol(error)) => return Some(broken(error)),
    };
    Some(match phase.check(message.kind) {
        Err(error) => broken(error),
        Ok(()) if message.kind == PacketType::Attention => Incoming::Attention,
        Ok(()) if message.status.contains(Status::IGNORE) => Incoming::Ignored,
        Ok(()) => Incoming::Request { message, cancel: cancel.clone() },
    })
}

fn broken(error: ProtocolError) -> Incoming {
    warn!(%error, "a client broke the protocol");
    Incoming::Broken(error)
}
