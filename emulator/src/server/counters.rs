//! What a server has done so far, for tests and status pages.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since the server started. Each number is read on its own; together they are no snapshot.
#[derive(Debug, Default)]
pub struct ServerCounters {
    /// Requests of all kinds, ignored ones not included.
    pub requests: AtomicU64,
    /// Batches of SQL text.
    pub batches: AtomicU64,
    /// Procedure calls; a message may hold several.
    pub rpcs: AtomicU64,
    /// Transaction-manager requests.
    pub transaction_requests: AtomicU64,
    /// Attentions received.
    pub attentions: AtomicU64,
    /// Accepted logins.
    pub logins: AtomicU64,
    /// Connections open now, logged in or not.
    pub connections_open: AtomicU64,
}

impl ServerCounters {
    /// Counts a connection as open until the answer is dropped.
    pub(super) fn connection_opened(self: &Arc<ServerCounters>) -> OpenConnection {
        self.connections_open.fetch_add(1, Ordering::Relaxed);
        OpenConnection { counters: self.clone() }
    }
}

/// One open connection.
pub(super) struct OpenConnection {
    counters: Arc<ServerCounters>,
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.counters.connections_open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Adds one.
pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
