//! Waiting for one reply: hearing what the reader says, looking into the table, giving up in time.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use uuid::Uuid;

use super::outgoing::Wait;
use super::registry::{Heard, News, WaiterId};
use super::reply::Reply;
use super::verdict::{Outcome, Until};
use super::{Shared, table};
use crate::client::error::{Error, ErrorKind, Result};
use crate::client::ids::ConversationHandle;
use crate::client::statements;

/// A request that was sent, or taken up again, and whose reply is to be waited for.
///
/// Dropping it gives up waiting: the reply goes to the recovery handler, or waits in the table if the request is
/// remembered. If the reply was being received at that very moment, a requester that does not remember keeps it for
/// [`Requester::attach`](super::Requester::attach).
#[derive(Debug)]
#[must_use = "the reply is waited for by `reply`"]
pub struct PendingReply {
    subscription: Subscription,
    conversation: ConversationHandle,
    wait: Wait,
    /// `None` once the time has run out and the reader has the last word.
    deadline: Option<Instant>,
    /// Whether the reply may have come before the subscription.
    may_be_late: bool,
}

/// A place in the registry, given up when dropped.
#[derive(Debug)]
pub(super) struct Subscription {
    shared: Arc<Shared>,
    id: WaiterId,
    heard: Heard,
}

impl PendingReply {
    pub(super) fn sent(subscription: Subscription, conversation: ConversationHandle, wait: Wait) -> Self {
        let deadline = deadline(wait.timeout);
        Self { subscription, conversation, wait, deadline, may_be_late: false }
    }

    pub(super) fn attached(subscription: Subscription, conversation: ConversationHandle, wait: Wait) -> Self {
        Self { may_be_late: true, ..Self::sent(subscription, conversation, wait) }
    }

    /// Our side of the request's conversation: what [`Requester::attach`](super::Requester::attach) takes.
    #[must_use]
    pub fn conversation(&self) -> ConversationHandle {
        self.conversation
    }

    /// Waits for the reply.
    ///
    /// ```compile_fail,E0382
    /// # async fn example(pending: ssbroker::client::PendingReply) -> Result<(), ssbroker::client::Error> {
    /// let reply = pending.reply().await?;
    /// let again = pending.reply().await?; // a reply is waited for once
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - [`ErrorKind::ReplyTimeout`]: no reply in time, counted from the sending. The dialog stays open until its lifetime
    ///   ends, and a late reply goes to the recovery handler; a remembered request is forgotten.
    /// - [`ErrorKind::RequestFailed`]: the conversation failed, or the target ended it with an error, which
    ///   [`Error::conversation_error`] tells.
    /// - [`ErrorKind::NoReply`]: the target ended the conversation without a reply; or, for an attached one, the
    ///   conversation is over or not visible: its reply was given to somebody else.
    /// - What the server answered when the reply queue cannot be read.
    ///
    /// [`Error::conversation`] names the conversation in all these cases.
    ///
    /// # Cancellation
    /// As dropping the pending reply.
    pub async fn reply(mut self) -> Result<Reply> {
        let shared = Arc::clone(&self.subscription.shared);
        shared.start();
        let conversation = self.conversation;
        let error = match self.outcome().await {
            Ok(Outcome::Replied(arrived)) => return Ok(Reply::new(&shared, conversation, arrived)),
            Ok(Outcome::Failed(error)) => {
                forget(&shared, conversation).await;
                Error::new(ErrorKind::RequestFailed, format!("the request failed: {error}")).with_cause(error)
            }
            Ok(Outcome::Ended) => {
                forget(&shared, conversation).await;
                Error::new(ErrorKind::NoReply, "the conversation was ended without a reply")
            }
            Err(error) => error,
        };
        Err(error.on_conversation(conversation))
    }

    async fn outcome(&mut self) -> Result<Outcome> {
        if self.may_be_late
            && let Some(outcome) = self.look().await?
        {
            return Ok(outcome);
        }
        loop {
            let Some(news) = self.next_news().await else {
                if self.registry_expire() {
                    return self.give_up().await;
                }
                self.deadline = None;
                continue;
            };
            match news {
                News::Outcome(_, outcome) => return Ok(outcome),
                News::TimedOut => return self.give_up().await,
                News::Unreadable(error) => return Err(error.during("waiting for a reply")),
                News::Look => {
                    if let Some(outcome) = self.look().await? {
                        return Ok(outcome);
                    }
                }
            }
        }
    }

    /// What the reader says next; `None` when the time has run out.
    async fn next_news(&mut self) -> Option<News> {
        let next_look = self.subscription.shared.look_every.and_then(deadline);
        let until = [self.deadline, next_look].into_iter().flatten().min();
        let next = self.subscription.heard.recv();
        let news = match until {
            Some(until) => match tokio::time::timeout_at(until, next).await {
                Ok(news) => news,
                Err(_elapsed) => return (self.deadline != Some(until)).then_some(News::Look),
            },
            None => next.await,
        };
        Some(news.unwrap_or_else(|| {
            News::Unreadable(Error::new(ErrorKind::Closed, "the task that reads the reply queue has stopped"))
        }))
    }

    fn registry_expire(&self) -> bool {
        self.subscription.shared.registry.expire(self.subscription.id)
    }

    /// Where is the reply that may have come before we listened? `None`: still to come.
    async fn look(&mut self) -> Result<Option<Outcome>> {
        let shared = Arc::clone(&self.subscription.shared);
        if let Some(outcome) = shared.registry.take_kept(self.conversation) {
            return Ok(Some(outcome));
        }
        if shared.remembers()
            && let Some(record) = table::read(&shared.broker, self.conversation).await?
        {
            let (is_ended, outcome) = (record.is_ended, record.outcome(&self.wait.until));
            if outcome.is_some() && !is_ended {
                end_once(&shared, self.conversation).await?;
            }
            return Ok(outcome);
        }
        let statement = statements::conversation_exists(self.conversation);
        let results = shared.broker.session().await?.execute(&statement).await?;
        if table::count(&results, "conversations")? || !shared.registry.withdraw(self.subscription.id) {
            return Ok(None);
        }
        Err(Error::new(
            ErrorKind::NoReply,
            "the conversation is over or not visible to this login: nobody can wait for its reply any more",
        ))
    }

    /// The time has run out. The row of a remembered request decides whether the reply came first.
    async fn give_up(&self) -> Result<Outcome> {
        let shared = &self.subscription.shared;
        let late =
            Error::new(ErrorKind::ReplyTimeout, format!("no reply came within {:?}", self.wait.timeout));
        if !shared.remembers() {
            return Err(late);
        }
        match self.give_up_or_take(shared).await {
            Ok(Some(outcome)) => Ok(outcome),
            Ok(None) => Err(late),
            Err(error) => Err(late.with_cause(error)),
        }
    }

    async fn give_up_or_take(&self, shared: &Shared) -> Result<Option<Outcome>> {
        let mut seen = -1;
        loop {
            if table::give_up(&shared.broker, self.conversation, seen).await? {
                return Ok(None);
            }
            let Some(record) = table::read(&shared.broker, self.conversation).await? else { return Ok(None) };
            seen = record.seen();
            let is_ended = record.is_ended;
            if let Some(outcome) = record.outcome(&self.wait.until) {
                if !is_ended {
                    end_once(shared, self.conversation).await?;
                }
                return Ok(Some(outcome));
            }
        }
    }
}

impl Subscription {
    /// Takes a place under a key of its own.
    pub(super) fn new(shared: Arc<Shared>, key: Uuid, until: Until) -> Result<Self> {
        let (id, heard) = shared.registry.subscribe(key, until)?;
        Ok(Self { shared, id, heard })
    }

    /// The server has told the conversation of the request.
    pub(super) fn learn_conversation(&self, conversation: ConversationHandle) {
        self.shared.registry.learn_conversation(self.id, conversation);
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.shared.registry.leave(self.id);
        while let Ok(news) = self.heard.try_recv() {
            if let News::Outcome(conversation, outcome) = news
                && !self.shared.remembers()
            {
                self.shared.registry.keep(conversation, outcome);
            }
        }
    }
}

/// A request that failed has nothing to settle. If forgetting fails the failure is told again after a restart.
async fn forget(shared: &Shared, conversation: ConversationHandle) {
    if !shared.remembers() {
        return;
    }
    if let Err(error) = table::forget(&shared.broker, conversation).await {
        tracing::warn!(%conversation, %error, "a request that failed stays in the table");
    }
}

/// Ends our side after a reply that the table kept; that may have happened before.
async fn end_once(shared: &Shared, conversation: ConversationHandle) -> Result<()> {
    match shared.broker.attach(conversation).end().await {
        Err(error) if !error.dialog_is_over() => Err(error),
        _ => Ok(()),
    }
}

/// `None` for a time so far away that it never comes.
fn deadline(timeout: Duration) -> Option<Instant> {
    Instant::now().checked_add(timeout)
}
