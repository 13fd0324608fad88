//! Ends that a handler said when their message had been settled already.
//!
//! Each is done by a task on a connection of the pool: END CONVERSATION waits for the group, and it may be the feed itself
//! that holds it, with the next messages of the same group in the handler's hands. So nothing may wait for such an end but
//! the end of the feed, which holds no group any more. Knows nothing of handlers.

use super::UNREACHABLE;
use super::session::Operation;
use crate::activator::log_lines;
use crate::client::{Broker, Result};
use std::time::Duration;
use tokio::task::JoinSet;

/// How long ends that are not done yet are waited for when the feed is over.
const PATIENCE: Duration = Duration::from_secs(10);

/// The ends that are being done. Dropping it gives up those that are not done.
#[derive(Debug)]
pub(super) struct LateEnds {
    broker: Broker,
    /// For the pauses between attempts; 0 to 1.
    jitter: f64,
    tasks: JoinSet<()>,
}

impl LateEnds {
    pub(super) fn new(broker: Broker, jitter: f64) -> Self {
        Self { broker, jitter, tasks: JoinSet::new() }
    }

    /// Does this from now on, as often as the reason it cannot be done is one that passes.
    pub(super) fn add(&mut self, operation: Operation) {
        while self.tasks.try_join_next().is_some() {}
        self.tasks.spawn(end(self.broker.clone(), operation, self.jitter));
    }

    /// Waits for those that are not done; the feed must hold no group any more.
    pub(super) async fn finish(mut self) {
        let done = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(PATIENCE, done).await.is_err() {
            let count = self.tasks.len();
            tracing::warn!(target: "activator", count, "{count} conversations that a handler has ended were not ended in time");
        }
    }
}

async fn end(broker: Broker, operation: Operation, jitter: f64) {
    let Some(conversation) = operation.ends() else { return };
    let mut attempt = 0;
    let error = loop {
        match end_once(&broker, &operation).await {
            Ok(()) => return,
            Err(error) if error.is_retryable() => {}
            Err(error) => break error,
        }
        tokio::time::sleep(UNREACHABLE.delay(attempt, jitter)).await;
        attempt += 1;
    };
    let (conversation, reason) = (tracing::field::display(conversation), log_lines::chain(&error));
    tracing::warn!(target: "activator", %conversation, "a conversation could not be ended: {reason}");
}

async fn end_once(broker: &Broker, operation: &Operation) -> Result<()> {
    match operation {
        Operation::End(conversation) => broker.attach(*conversation).end().await,
        Operation::EndWithError { conversation, code, text } => {
            broker.attach(*conversation).end_with_error(*code, text).await
        }
        Operation::Send { .. } => Ok(()),
    }
}
