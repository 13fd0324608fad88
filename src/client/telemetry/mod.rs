//! Spans and numbers: what the library tells `tracing` and the `metrics` facade.
//!
//! The names below are stable; the crate page lists them. Without the feature `metrics` the functions do nothing, and
//! with it they cost an atomic addition once a recorder is installed. Labels are queue names and outcomes only, so their
//! number is bounded by what the program itself names. Nothing here decides anything.

use tracing::Span;

use super::ids::ConversationHandle;
use super::message::Message;

/// Messages accepted by the server for sending.
pub const SENT_MESSAGES: &str = "ssbroker_sent_messages_total";
/// Bytes of their bodies.
pub const SENT_BYTES: &str = "ssbroker_sent_bytes_total";
/// Messages received; label `queue`. One given back and received again counts twice.
pub const RECEIVED_MESSAGES: &str = "ssbroker_received_messages_total";
/// Messages of each batch received (histogram); label `queue`. Its count is the number of batches.
pub const BATCH_MESSAGES: &str = "ssbroker_batch_messages";
/// Batches decided; labels `queue` and `outcome`: `committed`, `given_back`, `rolled_back`, `failed`.
pub const BATCHES: &str = "ssbroker_batches_total";
/// Seconds a handler took for one message (histogram); labels `queue` and `outcome`: `ok`, `failed`.
pub const HANDLE_SECONDS: &str = "ssbroker_handle_seconds";
/// Seconds between a message's coming into the queue and the call of its handler, by the clock of this machine against the
/// server's (histogram); label `queue`.
pub const MESSAGE_AGE: &str = "ssbroker_message_age_seconds";
/// Handlers at work now (gauge); label `queue`.
pub const ACTIVE_HANDLERS: &str = "ssbroker_active_handlers";
/// Messages skipped because they were handled before; label `queue`.
pub const REPEATED_MESSAGES: &str = "ssbroker_repeated_messages_total";
/// Leases of long workers that were lost to somebody else or for want of a heartbeat; label `queue`.
pub const LEASES_LOST: &str = "ssbroker_leases_lost_total";
/// Times a breaker opened because the handler of a message type only failed; label `queue`.
pub const BREAKERS_OPENED: &str = "ssbroker_breakers_opened_total";
/// Messages put aside after their last attempt; labels `queue` and `action`: `parked`, `conversation_ended`.
pub const PARKED_MESSAGES: &str = "ssbroker_parked_messages_total";
/// Failed attempts after which a message is tried again; label `queue`.
pub const RETRIED_MESSAGES: &str = "ssbroker_retried_messages_total";
/// Connections made, login included.
pub const CONNECTIONS_OPENED: &str = "ssbroker_connections_opened_total";
/// Attempts to connect that failed; label `kind`: the kind of the error.
pub const CONNECT_FAILURES: &str = "ssbroker_connect_failures_total";
/// Receivers whose connection was lost; label `queue`.
pub const CONNECTIONS_LOST: &str = "ssbroker_connections_lost_total";
/// Receivers that are connected again; label `queue`.
pub const RECONNECTS: &str = "ssbroker_reconnects_total";
/// Connections of the pool now (gauge); label `state`: `idle`, `lent`.
pub const POOL_CONNECTIONS: &str = "ssbroker_pool_connections";
/// Dialogs of dialog pools; label `event`: `begun`, `reused`, `retired`, `replaced`, `ended_by_peer`.
pub const POOL_DIALOGS: &str = "ssbroker_pool_dialogs_total";

/// The span around one request that sends.
pub(crate) fn send_span(conversation: Option<ConversationHandle>, messages: usize, bytes: usize) -> Span {
    let span = tracing::debug_span!(
        "ssbroker.send",
        conversation = tracing::field::Empty,
        messages = messages,
        bytes = bytes
    );
    if let Some(conversation) = conversation {
        span.record("conversation", tracing::field::display(conversation));
    }
    span
}

/// The span around one request that waits for messages.
pub(crate) fn receive_span(queue: &str) -> Span {
    tracing::debug_span!("ssbroker.receive", queue, messages = tracing::field::Empty)
}

/// The span around the handling of one message.
pub(crate) fn handle_span(queue: &str, message: &Message) -> Span {
    tracing::info_span!(
        "ssbroker.handle",
        queue,
        conversation = %message.conversation,
        message_type = %message.message_type,
        sequence = message.sequence_number
    )
}

/// How a batch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BatchOutcome {
    Committed,
    GivenBack,
    RolledBack,
    Failed,
}

/// What became of a message after its last attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PutAside {
    Parked,
    ConversationEnded,
}

/// What happened to a dialog of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DialogEvent {
    Begun,
    Reused,
    Retired,
    Replaced,
    EndedByPeer,
}

#[cfg(feature = "metrics")]
mod recorded;
#[cfg(feature = "metrics")]
pub(crate) use recorded::{
    batch_decided, breaker_opened, connect_failed, connected, connection_lost, dialog, handled, handling,
    lease_lost, pool, put_aside, received, reconnected, repeated, retried, sent,
};

#[cfg(not(feature = "metrics"))]
mod silent;
#[cfg(not(feature = "metrics"))]
pub(crate) use silent::{
    batch_decided, breaker_opened, connect_failed, connected, connection_lost, dialog, handled, handling,
    lease_lost, pool, put_aside, received, reconnected, repeated, retried, sent,
};
