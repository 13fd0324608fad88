//! The functions of a build with the facade: one line each, so that names and labels stand in one place.

use std::time::Duration;

use metrics::{Gauge, counter, gauge, histogram};

use super::{BatchOutcome, DialogEvent, PutAside};
use crate::client::error::ErrorKind;

pub(crate) fn sent(messages: usize, bytes: usize) {
    counter!(super::SENT_MESSAGES).increment(messages as u64);
    counter!(super::SENT_BYTES).increment(bytes as u64);
}

pub(crate) fn received(queue: &str, messages: usize) {
    counter!(super::RECEIVED_MESSAGES, "queue" => queue.to_owned()).increment(messages as u64);
    histogram!(super::BATCH_MESSAGES, "queue" => queue.to_owned()).record(messages as f64);
}

pub(crate) fn batch_decided(queue: &str, outcome: BatchOutcome) {
    let outcome = match outcome {
        BatchOutcome::Committed => "committed",
        BatchOutcome::GivenBack => "given_back",
        BatchOutcome::RolledBack => "rolled_back",
        BatchOutcome::Failed => "failed",
    };
    counter!(super::BATCHES, "queue" => queue.to_owned(), "outcome" => outcome).increment(1);
}

/// A handler at work, until this is dropped.
pub(crate) fn handling(queue: &str, age: Duration) -> impl Drop + Send + use<> {
    histogram!(super::MESSAGE_AGE, "queue" => queue.to_owned()).record(age.as_secs_f64());
    let gauge = gauge!(super::ACTIVE_HANDLERS, "queue" => queue.to_owned());
    gauge.increment(1.0);
    Active(gauge)
}

struct Active(Gauge);

impl Drop for Active {
    fn drop(&mut self) {
        self.0.decrement(1.0);
    }
}

pub(crate) fn repeated(queue: &str) {
    counter!(super::REPEATED_MESSAGES, "queue" => queue.to_owned()).increment(1);
}

pub(crate) fn lease_lost(queue: &str) {
    counter!(super::LEASES_LOST, "queue" => queue.to_owned()).increment(1);
}

pub(crate) fn breaker_opened(queue: &str) {
    counter!(super::BREAKERS_OPENED, "queue" => queue.to_owned()).increment(1);
}

pub(crate) fn handled(queue: &str, took: Duration, succeeded: bool) {
    let outcome = if succeeded { "ok" } else { "failed" };
    histogram!(super::HANDLE_SECONDS, "queue" => queue.to_owned(), "outcome" => outcome)
        .record(took.as_secs_f64());
}

pub(crate) fn put_aside(queue: &str, action: PutAside) {
    let action = match action {
        PutAside::Parked => "parked",
        PutAside::ConversationEnded => "conversation_ended",
    };
    counter!(super::PARKED_MESSAGES, "queue" => queue.to_owned(), "action" => action).increment(1);
}

pub(crate) fn retried(queue: &str) {
    counter!(super::RETRIED_MESSAGES, "queue" => queue.to_owned()).increment(1);
}

pub(crate) fn connected() {
    counter!(super::CONNECTIONS_OPENED).increment(1);
}

pub(crate) fn connect_failed(kind: ErrorKind) {
    counter!(super::CONNECT_FAILURES, "kind" => format!("{kind:?}")).increment(1);
}

pub(crate) fn connection_lost(queue: &str) {
    counter!(super::CONNECTIONS_LOST, "queue" => queue.to_owned()).increment(1);
}

pub(crate) fn reconnected(queue: &str) {
    counter!(super::RECONNECTS, "queue" => queue.to_owned()).increment(1);
}

pub(crate) fn pool(idle: u32, all: u32) {
    gauge!(super::POOL_CONNECTIONS, "state" => "idle").set(idle);
    gauge!(super::POOL_CONNECTIONS, "state" => "lent").set(all.saturating_sub(idle));
}

pub(crate) fn dialog(event: DialogEvent) {
    let event = match event {
        DialogEvent::Begun => "begun",
        DialogEvent::Reused => "reused",
        DialogEvent::Retired => "retired",
        DialogEvent::Replaced => "replaced",
        DialogEvent::EndedByPeer => "ended_by_peer",
    };
    counter!(super::POOL_DIALOGS, "event" => event).increment(1);
}
