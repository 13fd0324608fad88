//! One reader of a worker: receive, have the messages handled, commit with the next receive.
//!
//! `handling.rs` runs the handlers of a batch, `failing.rs` decides what becomes of a message that failed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::batch_size::BatchSize;
use super::control::{InHand, count, count_many};
use super::crew::{Crew, Ended, Taken};
use super::handler::Handler;
use super::trouble::Trouble;
use crate::client::error::{ErrorKind, Result};
use crate::client::receive::{Batch, Receiver};
use crate::client::statements::Selection;

pub(super) struct Reader<H> {
    pub(super) crew: Arc<Crew<H>>,
    pub(super) receiver: Receiver,
    pub(super) size: BatchSize,
    pub(super) source: Source,
    /// Whether the queue was found, so that it is known to have existed.
    pub(super) has_looked: bool,
}

/// Where a reader takes messages from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Queue,
    /// The messages put off, which wait in the table `ssbroker.retries`.
    Retries,
}

/// What a reader finds when it looks for messages.
enum Found {
    Batch(Batch),
    /// Nothing for as long as the reader had patience.
    Nothing,
    End(Ended),
}

impl<H: Handler> Reader<H> {
    /// Reads until the stop, until idle, or until a failure that trying again does not mend.
    pub(super) async fn run(mut self) -> Result<Ended> {
        let mut trouble = Trouble::default();
        let mut next = None;
        loop {
            match self.step(next.take()).await {
                Ok(Step::End(ended)) => return Ok(ended),
                Ok(Step::GoOn(more)) => {
                    trouble.is_over();
                    next = more;
                }
                Err(error) => {
                    let crew = &self.crew;
                    if let Some(ended) = crew.control.face(error, &mut trouble, &crew.settings).await? {
                        return Ok(ended);
                    }
                }
            }
        }
    }

    /// Takes a batch, unless one came with the last commit, and works on it.
    async fn step(&mut self, ready: Option<Batch>) -> Result<Step> {
        let batch = match ready {
            Some(batch) => batch,
            None => match self.receive().await? {
                Found::Batch(batch) => batch,
                Found::Nothing => return Ok(Step::GoOn(None)),
                Found::End(ended) => return Ok(Step::End(ended)),
            },
        };
        self.process(batch).await.map(Step::GoOn)
    }

    async fn receive(&mut self) -> Result<Found> {
        self.crew.control.until_resumed().await;
        if self.crew.control.stop.is_cancelled() {
            return Ok(Found::End(Ended::Stopped));
        }
        self.receiver.set_max_messages(self.size.get());
        if let Some(conversation) = self.crew.take_urgent() {
            return match self.receiver.try_next(Selection::Conversation(conversation), 1).await {
                Ok(urgent) => Ok(urgent.map_or(Found::Nothing, Found::Batch)),
                // Somebody has ended it, and its messages went with it.
                Err(error) if error.dialog_is_over() => Ok(Found::Nothing),
                Err(error) => Err(error),
            };
        }
        match self.source {
            Source::Queue => self.receive_from_queue().await,
            Source::Retries => self.receive_retry().await,
        }
    }

    async fn receive_from_queue(&mut self) -> Result<Found> {
        if !self.has_looked {
            let ready = self.receiver.try_next(Selection::NextGroup, self.size.get()).await?;
            self.has_looked = true;
            return Ok(ready.map_or(Found::Nothing, Found::Batch));
        }
        let control = &self.crew.control;
        let idle = self.crew.settings.idle;
        let patience = idle.map(|idle| control.patience(idle));
        let batch = tokio::select! {
            biased;
            () = control.stop.cancelled() => return Ok(Found::End(Ended::Stopped)),
            () = control.until_paused() => return Ok(Found::Nothing),
            () = control.drained.cancelled() => return Ok(Found::End(Ended::Idle)),
            batch = next_within(&mut self.receiver, patience) => batch?,
        };
        match (batch, idle) {
            (Some(batch), _) => Ok(Found::Batch(batch)),
            (None, Some(idle)) if self.crew.is_drained(idle).await? => {
                control.drained.cancel();
                Ok(Found::End(Ended::Idle))
            }
            (None, _) => Ok(Found::Nothing),
        }
    }

    async fn receive_retry(&mut self) -> Result<Found> {
        if self.crew.control.drained.is_cancelled() {
            return Ok(Found::End(Ended::Idle));
        }
        if let Some(batch) = self.receiver.try_next(Selection::DueRetries, 1).await? {
            return Ok(Found::Batch(batch));
        }
        self.crew.until_next_retry().await.map(|()| Found::Nothing)
    }

    /// Works on a batch and commits; answers the batch that came with the commit. Unless more is wanted, none is taken.
    async fn process(&mut self, batch: Batch) -> Result<Option<Batch>> {
        let _in_hand = InHand::new(&self.crew.control);
        let begun = Instant::now();
        let mut taken = Taken::default();
        let outcome = self.crew.work_on(batch, &mut taken).await;
        if outcome.is_err() || taken.is_cut {
            self.crew.uncount(&taken).await;
        }
        let Some(batch) = outcome? else { return Ok(None) };
        let committed = if self.crew.control.is_taking() && self.source == Source::Queue {
            batch.commit_and_take(self.size.get()).await
        } else {
            batch.commit().await.map(|()| None)
        };
        let next = match committed {
            Err(error) if error.kind() == ErrorKind::TransactionDoomed => {
                return self.crew.fail_commit(&taken, &error).await.map(|()| None);
            }
            committed => committed?,
        };
        self.size.learn(taken.messages.len(), begun.elapsed());
        self.crew.failed.committed(&taken.messages);
        count(&self.crew.control.counters.batches);
        count_many(&self.crew.control.counters.messages, taken.messages.len());
        Ok(next)
    }
}

enum Step {
    GoOn(Option<Batch>),
    End(Ended),
}

async fn next_within(receiver: &mut Receiver, idle: Option<Duration>) -> Result<Option<Batch>> {
    match idle {
        Some(limit) => receiver.next_within(limit).await,
        None => receiver.next().await.map(Some),
    }
}
