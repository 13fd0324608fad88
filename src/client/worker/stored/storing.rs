//! Moves messages from the queue into the table of work items, as they come. The bodies never leave the server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::Settings;
use super::super::batch_size::BatchSize;
use super::super::control::{Control, InHand};
use super::super::crew::Ended;
use super::super::trouble::Trouble;
use super::lease::next_item;
use crate::client::broker::Broker;
use crate::client::error::Result;
use crate::client::receive::{Batch, Receiver};
use crate::client::statements::Selection;

pub(super) struct Storer {
    pub(super) broker: Broker,
    pub(super) receiver: Receiver,
    /// The queue, quoted.
    pub(super) queue: String,
    pub(super) control: Arc<Control>,
    pub(super) settings: Settings,
    pub(super) size: BatchSize,
}

impl Storer {
    /// Moves messages until the stop, until idle, or until a failure that trying again does not mend.
    pub(super) async fn run(mut self) -> Result<Ended> {
        let mut trouble = Trouble::default();
        let mut has_looked = false;
        loop {
            let error = match self.step(&mut has_looked).await {
                Ok(Some(ended)) => return Ok(ended),
                Ok(None) => {
                    trouble.is_over();
                    continue;
                }
                Err(error) => error,
            };
            if let Some(ended) = self.control.face(error, &mut trouble, &self.settings).await? {
                return Ok(ended);
            }
        }
    }

    /// Moves what there is; answers whether it is time to end.
    async fn step(&mut self, has_looked: &mut bool) -> Result<Option<Ended>> {
        self.control.until_resumed().await;
        if self.control.stop.is_cancelled() {
            return Ok(Some(Ended::Stopped));
        }
        self.receiver.set_max_messages(self.size.get());
        if !*has_looked {
            let ready = self.receiver.try_next(Selection::NextGroup, self.size.get()).await?;
            *has_looked = true;
            return self.commit_all(ready).await.map(|()| None);
        }
        let control = Arc::clone(&self.control);
        let next = async {
            match self.settings.idle {
                Some(idle) => self.receiver.next_within(control.patience(idle)).await,
                None => self.receiver.next().await.map(Some),
            }
        };
        let batch = tokio::select! {
            biased;
            () = control.stop.cancelled() => return Ok(Some(Ended::Stopped)),
            () = control.until_paused() => return Ok(None),
            batch = next => batch?,
        };
        match batch {
            Some(batch) => self.commit_all(Some(batch)).await.map(|()| None),
            None => Ok(self.is_drained().await?.then_some(Ended::Idle)),
        }
    }

    /// Whether nothing has come for so long and no item is left: until then the queue is read, however long an item waits.
    async fn is_drained(&self) -> Result<bool> {
        let idle = self.settings.idle.unwrap_or(Duration::MAX);
        let waits = async || Ok(next_item(&self.broker, &self.queue).await?.is_some());
        self.control.is_quiet_for(idle, waits).await
    }

    /// Commits a batch, which stands in the table already, and takes the next with the commit while there is one.
    async fn commit_all(&mut self, mut ready: Option<Batch>) -> Result<()> {
        while let Some(batch) = ready {
            let _in_hand = InHand::new(&self.control);
            let (count, begun) = (batch.messages().len(), Instant::now());
            ready = if self.control.is_taking() {
                batch.commit_and_take(self.size.get()).await?
            } else {
                batch.commit().await.map(|()| None)?
            };
            self.size.learn(count, begun.elapsed());
            self.control.stored.notify_waiters();
        }
        Ok(())
    }
}
