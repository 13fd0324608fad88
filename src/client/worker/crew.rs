//! What the readers of one worker share, and the small errands they run on other connections.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::breaker::Breaker;
use super::control::Control;
use super::failure::FailedMessages;
use super::routes::Routes;
use super::settings::Settings;
use crate::client::broker::Broker;
use crate::client::error::Result;
use crate::client::ids::ConversationHandle;
use crate::client::message::Message;
use crate::client::receive::Earlier;
use crate::client::statements::{self, Statement};

/// The longest wait before another look at the retries: those that another process put off are not announced.
const LOOK_AT_RETRIES: Duration = Duration::from_secs(30);

pub(super) struct Crew<H> {
    pub(super) broker: Broker,
    /// The queue, quoted.
    pub(super) queue: String,
    pub(super) routes: Routes<H>,
    pub(super) settings: Settings,
    pub(super) failed: FailedMessages,
    pub(super) breaker: Option<Breaker>,
    pub(super) control: std::sync::Arc<Control>,
    /// A message of ours was put off.
    pub(super) put_off: Notify,
    /// A conversation whose message has to be put aside before the server's rule of five roll backs strikes.
    urgent: Mutex<Option<ConversationHandle>>,
}

/// Why a reader ended without a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Stopped,
    Idle,
    BrokerChanged,
}

/// The messages a reader works on.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) messages: Vec<Message>,
    /// What a table knows of the message, if it does not come from the queue; it is then alone.
    pub(super) earlier: Earlier,
    /// Whether their attempts were counted before they were made.
    pub(super) is_counted: bool,
    /// Whether they went back although no handler failed: a shutdown cancelled it, or one of them has to wait.
    pub(super) is_cut: bool,
}

impl<H> Crew<H> {
    pub(super) fn new(
        broker: Broker,
        queue: String,
        routes: Routes<H>,
        settings: Settings,
        control: std::sync::Arc<Control>,
    ) -> Self {
        Self {
            broker,
            queue,
            routes,
            settings,
            failed: FailedMessages::default(),
            breaker: settings.breaker.map(Breaker::new),
            control,
            put_off: Notify::new(),
            urgent: Mutex::new(None),
        }
    }

    /// The conversation to look at first, once.
    pub(super) fn take_urgent(&self) -> Option<ConversationHandle> {
        self.urgent.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(super) fn set_urgent(&self, conversation: ConversationHandle) {
        *self.urgent.lock().unwrap_or_else(PoisonError::into_inner) = Some(conversation);
    }

    /// Runs statements on another connection, each committed by itself.
    pub(super) async fn aside(&self, statements: &[Statement<'_>]) -> Result<()> {
        if statements.is_empty() {
            return Ok(());
        }
        let mut session = self.broker.session().await?;
        for statement in statements {
            session.execute(statement).await?;
        }
        Ok(())
    }

    /// Takes back what was counted for messages that were not handled to an end through no fault of theirs.
    pub(super) async fn uncount(&self, taken: &Taken) {
        if !taken.is_counted {
            return;
        }
        let statements: Vec<_> = taken.messages.iter().map(statements::uncount_attempt).collect();
        if let Err(error) = self.aside(&statements).await {
            tracing::warn!(queue = self.queue, %error, "attempts that were not made stay counted");
        }
    }

    /// Waits until a retry may be due, or the worker is to end.
    pub(super) async fn until_next_retry(&self) -> Result<()> {
        let pause = self.next_retry().await?.unwrap_or(LOOK_AT_RETRIES).min(LOOK_AT_RETRIES);
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = self.put_off.notified() => {}
            () = self.control.stop.cancelled() => {}
            () = self.control.drained.cancelled() => {}
        }
        Ok(())
    }

    /// Whether nobody of the worker has had a message for so long, and nothing is put off that would come back. Then the
    /// worker is over, all readers at once: as long as one of them lives the queue is read.
    pub(super) async fn is_drained(&self, idle: Duration) -> Result<bool> {
        let puts_off = self.settings.poison.retries().is_some();
        let over =
            self.control.is_quiet_for(idle, async || Ok(puts_off && self.next_retry().await?.is_some()));
        Ok(self.control.drained.is_cancelled() || over.await?)
    }

    /// In how long the next retry is due, if there is any.
    async fn next_retry(&self) -> Result<Option<Duration>> {
        let mut session = self.broker.session().await?;
        let results = session.execute(&statements::next_retry(&self.queue)).await?;
        let due = results.first_row().map(|row| row.get::<Option<i64>>("wait")).transpose()?.flatten();
        Ok(due.map(|wait| Duration::from_millis(wait.max(1).unsigned_abs())))
    }
}
