//! Works off stored messages, one at a time: claim, work under the lease, complete in a transaction.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;

use super::super::Settings;
use super::super::control::{Control, InHand, count};
use super::super::crew::Ended;
use super::super::delivery::Delivery;
use super::super::failure::{panic_reason, reason_of, too_long, within};
use super::super::handler::HandlerError;
use super::super::trouble::Trouble;
use super::{LongHandler, WorkItem, lease};
use crate::client::broker::Broker;
use crate::client::error::{Error, ErrorKind, Result};
use crate::client::handled::is_repeated;
use crate::client::message::MessageKind;
use crate::client::poison::{Failure, Verdict, Wish};
use crate::client::pool::random_fraction;
use crate::client::receive::{Batch, Receiver};
use crate::client::retry::Backoff;
use crate::client::statements::{self, Selection, Statement};
use crate::client::telemetry;

/// Pauses after failures where the policy has no schedule.
const PAUSES: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));
/// The shortest wait before another look: somebody else may be about to claim the item that is due.
const SOON: Duration = Duration::from_millis(50);
/// The longest wait before another look: items that another process stored are not announced.
const LOOK: Duration = Duration::from_secs(5);

pub(super) struct Leaser<H> {
    pub(super) broker: Broker,
    /// For the completing transactions only.
    pub(super) receiver: Receiver,
    pub(super) queue: String,
    pub(super) handler: Arc<H>,
    pub(super) settings: Settings,
    pub(super) span: Duration,
    pub(super) control: Arc<Control>,
}

/// How the work on an item ended.
enum Worked {
    Done,
    /// Somebody else has the item.
    Lost,
    /// A shutdown cancelled it.
    Cut,
    Failed(String, Wish),
}

impl<H: LongHandler> Leaser<H> {
    /// Works until the stop, until nothing is left after the queue was drained, or until a failure.
    pub(super) async fn run(mut self) -> Result<Ended> {
        let mut trouble = Trouble::default();
        loop {
            let error = match self.step().await {
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

    async fn step(&mut self) -> Result<Option<Ended>> {
        self.control.until_resumed().await;
        if self.control.stop.is_cancelled() {
            return Ok(Some(Ended::Stopped));
        }
        match lease::claim(&self.broker, &self.queue, self.span).await? {
            Some(item) => self.treat(item).await.map(|()| None),
            None => self.wait().await,
        }
    }

    /// Waits until an item may be free; ends when the worker has found that nothing is left.
    async fn wait(&self) -> Result<Option<Ended>> {
        if self.control.drained.is_cancelled() {
            return Ok(Some(Ended::Idle));
        }
        let stored = self.control.stored.notified();
        let due = lease::next_item(&self.broker, &self.queue).await?.unwrap_or(LOOK);
        tokio::select! {
            () = tokio::time::sleep(due.clamp(SOON, LOOK)) => {}
            () = stored => {}
            () = self.control.stop.cancelled() => {}
            () = self.control.drained.cancelled() => {}
        }
        Ok(None)
    }

    /// Works on one item and decides what becomes of it.
    async fn treat(&mut self, item: WorkItem) -> Result<()> {
        let _in_hand = InHand::new(&self.control);
        let (id, lease) = (item.id, item.lease);
        let worked = if item.attempt > self.settings.poison.max_attempts() + self.retries() {
            let reason = item.last_reason.clone();
            let reason = reason.unwrap_or_else(|| "no attempt came to an end: its lease ran out".to_owned());
            Worked::Failed(reason, Wish::Interrupted)
        } else {
            self.work(&item).await
        };
        match worked {
            Worked::Done => {
                count(&self.control.counters.batches);
                count(&self.control.counters.messages);
                self.control.stored.notify_waiters();
                Ok(())
            }
            Worked::Lost => {
                telemetry::lease_lost(&self.queue);
                tracing::warn!(item = id, "the lease on an item was lost; its work is dropped here");
                Ok(())
            }
            Worked::Cut => self.run_statement(statements::return_work_item(id, lease)).await,
            Worked::Failed(reason, wish) => self.fail(&item, reason, wish).await,
        }
    }

    /// How many later attempts the policy has.
    fn retries(&self) -> u32 {
        self.settings.poison.retries().map_or(0, |schedule| schedule.most())
    }

    /// The work under its heartbeat, then its completion. A message of the broker that ends the conversation needs no work.
    async fn work(&mut self, item: &WorkItem) -> Worked {
        let output = if item.message.ends_conversation() {
            None
        } else {
            match self.work_under_lease(item).await {
                Ok(output) => Some(output),
                Err(ended) => return ended,
            }
        };
        match self.complete(item, output).await {
            Ok(()) => Worked::Done,
            Err(error) if error.cause().downcast_ref::<Error>().is_some_and(is_lost) => Worked::Lost,
            Err(error) => Worked::Failed(reason_of(error.cause()), error.wish()),
        }
    }

    async fn work_under_lease(&self, item: &WorkItem) -> Result<H::Output, Worked> {
        let work = AssertUnwindSafe(self.handler.work(item)).catch_unwind();
        let limit = self.settings.handler_timeout;
        let worked = tokio::select! {
            worked = within(limit, work) => match worked {
                Some(worked) => worked,
                None => return Err(Worked::Failed(too_long(limit), Wish::TimedOut)),
            },
            () = lease::beat(&self.broker, item.id, item.lease, self.span) => return Err(Worked::Lost),
            () = self.control.cut.cancelled() => return Err(Worked::Cut),
        };
        flatten(worked).map_err(|(reason, wish)| Worked::Failed(reason, wish))
    }

    /// One transaction: the item goes, and what the handler does comes.
    async fn complete(&mut self, item: &WorkItem, output: Option<H::Output>) -> Result<(), HandlerError> {
        let selection = Selection::WorkItem { id: item.id, lease: item.lease };
        let Some(mut batch) = self.receiver.try_next(selection, 1).await? else {
            return Err(Error::new(ErrorKind::LeaseLost, "somebody else has taken the item over").into());
        };
        let completed = self.complete_in(&mut batch, item, output).await;
        match completed {
            Ok(()) => Ok(batch.commit().await?),
            Err(error) => {
                batch.give_back().await?;
                Err(error)
            }
        }
    }

    async fn complete_in(
        &self,
        batch: &mut Batch,
        item: &WorkItem,
        output: Option<H::Output>,
    ) -> Result<(), HandlerError> {
        let Some(output) = output else {
            if let MessageKind::Error(error) = &item.message.kind {
                let conversation = item.message.conversation;
                tracing::warn!(%conversation, code = error.code, text = error.description, "a conversation failed");
            }
            return match batch.end(item.message.conversation).await {
                Err(error) if error.kind() != ErrorKind::DialogOver => Err(error.into()),
                _ => Ok(()),
            };
        };
        if self.settings.remembers_handled.is_some() && is_repeated(batch, &item.message).await? {
            count(&self.control.counters.repeated);
            telemetry::repeated(&self.queue);
            return Ok(());
        }
        let mut delivery = Delivery { message: &item.message, batch, attempt: item.attempt };
        let completed = AssertUnwindSafe(self.handler.complete(output, &mut delivery)).catch_unwind().await;
        match completed {
            Ok(done) => done,
            Err(panic) => Err(panic_reason(panic.as_ref()).into()),
        }
    }

    /// Another attempt later, or the dead letters.
    async fn fail(&self, item: &WorkItem, reason: String, wish: Wish) -> Result<()> {
        count(&self.control.counters.failures);
        let conversation = item.message.conversation;
        tracing::warn!(%conversation, item = item.id, attempt = item.attempt, reason, "the work on an item failed");
        let earlier = item.attempt - 1;
        let at_once = self.settings.poison.max_attempts() - 1;
        let retries = earlier.saturating_sub(at_once);
        let failure =
            Failure { earlier, retries, is_retry: earlier > at_once, age: item.message.age(), wish };
        let (id, lease) = (item.id, item.lease);
        match self.settings.poison.judge(failure, random_fraction()) {
            Verdict::TryAgain => {
                let delay = PAUSES.delay(earlier, random_fraction());
                self.run_statement(statements::release_work_item(id, lease, delay, &reason)).await
            }
            Verdict::RetryLater { delay, .. } => {
                count(&self.control.counters.put_off);
                self.run_statement(statements::release_work_item(id, lease, delay, &reason)).await
            }
            Verdict::Park { cause, attempts } => {
                tracing::error!(%conversation, attempts, reason, cause = cause.as_str(), "an item was parked");
                count(&self.control.counters.parked);
                self.run_statement(statements::park_work_item(id, lease, cause.as_str(), &reason)).await
            }
            Verdict::EndConversation { .. } => Ok(()),
        }
    }

    async fn run_statement(&self, statement: Statement<'_>) -> Result<()> {
        let mut session = self.broker.session().await?;
        session.execute(&statement).await.map(drop)
    }
}

fn is_lost(error: &Error) -> bool {
    error.kind() == ErrorKind::LeaseLost
}

/// An error or a panic as reason and wish.
fn flatten<T>(worked: std::thread::Result<Result<T, HandlerError>>) -> Result<T, (String, Wish)> {
    match worked {
        Ok(Ok(output)) => Ok(output),
        Ok(Err(error)) => Err((reason_of(error.cause()), error.wish())),
        Err(panic) => Err((panic_reason(panic.as_ref()), Wish::None)),
    }
}
