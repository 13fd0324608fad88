//! The task that reads the reply queue: it finds out who waits for a message, does what has to be done with it in the
//! receiving transaction, commits, and only then tells the waiter.
//!
//! A waiter is claimed before the transaction does anything for it (see `registry.rs`). When the outcome of a commit is
//! unknown, the queue itself says whether it happened: a message that still lies there was not received.

use std::collections::HashSet;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::recovery::{Fate, Recovery};
use super::registry::{Registry, WaiterId};
use super::table;
use super::verdict::{Outcome, Verdict, by_conversation, judge};
use crate::client::broker::Broker;
use crate::client::error::{Error, ErrorKind, Result};
use crate::client::ids::{ConversationGroup, ConversationHandle};
use crate::client::message::{Message, MessageKind};
use crate::client::names::QueueName;
use crate::client::poison::{PoisonAction, Wish};
use crate::client::pool::random_fraction;
use crate::client::receive::{Batch, Receiver};
use crate::client::retry::Backoff;
use crate::client::statements;
use crate::client::worker::Handler;

pub(super) struct Reader<H> {
    pub(super) broker: Broker,
    pub(super) queue: QueueName,
    pub(super) receiver: Receiver,
    pub(super) registry: Arc<Registry>,
    pub(super) recovery: Recovery<H>,
    /// Whether requests are remembered in the table.
    pub(super) remembers: bool,
    pub(super) stop: CancellationToken,
}

/// A waiter whose messages are in the open transaction.
struct Claimed {
    id: WaiterId,
    conversation: ConversationHandle,
    last_sequence: i64,
    /// `None` while only progress came.
    outcome: Option<Outcome>,
}

/// What to do with a batch.
struct Plan {
    claimed: Vec<Claimed>,
    /// Messages of conversations nobody here waits for.
    unattended: Vec<Vec<Message>>,
    /// Messages for the recovery handler in any case.
    strays: Vec<Message>,
}

/// What is left out when a batch is worked through once more.
#[derive(Debug, Default)]
struct Aside {
    /// Messages that were parked.
    parked: HashSet<(ConversationHandle, i64)>,
    /// Conversations that were ended, with all their messages.
    ended: HashSet<ConversationHandle>,
}

impl Aside {
    fn put(&mut self, message: &Message, action: PoisonAction) {
        match action {
            PoisonAction::Park => {
                self.parked.insert((message.conversation, message.sequence_number));
            }
            PoisonAction::EndConversation => {
                self.ended.insert(message.conversation);
            }
        }
    }

    fn holds(&self, message: &Message) -> bool {
        self.ended.contains(&message.conversation)
            || self.parked.contains(&(message.conversation, message.sequence_number))
    }
}

/// Why a batch could not be worked through.
enum Trouble {
    Recovery(Box<Message>, (String, Wish)),
    Broker(Error),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Broker(error)
    }
}

impl<H: Handler> Reader<H> {
    /// Reads until the stop.
    pub(super) async fn run(mut self) {
        let mut failures = 0;
        let mut next = None;
        while !self.stop.is_cancelled() {
            let batch = match next.take() {
                Some(batch) => Ok(batch),
                None => tokio::select! {
                    () = self.stop.cancelled() => return,
                    batch = self.receiver.next() => batch,
                },
            };
            let outcome = match batch {
                Ok(batch) => self.process(batch).await,
                Err(error) => Err(self.tell_unreadable(error)),
            };
            match outcome {
                Ok(more) => (next, failures) = (more, 0),
                Err(error) => {
                    tracing::warn!(queue = self.queue.quoted(), %error, "reading replies failed and is tried again");
                    self.pause(&mut failures).await;
                }
            }
        }
    }

    /// Failures that trying again does not mend are told to all who wait.
    fn tell_unreadable(&self, error: Error) -> Error {
        if !(error.is_retryable() || error.is_connection_lost()) {
            self.registry.fail_all(&error);
        }
        error
    }

    async fn pause(&self, failures: &mut u32) {
        let pause = Backoff::reconnect().delay(*failures, random_fraction());
        *failures += 1;
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = self.stop.cancelled() => {}
        }
    }

    /// Works through a batch and commits; answers the batch that came with the commit.
    async fn process(&mut self, mut batch: Batch) -> Result<Option<Batch>> {
        let plan = self.plan(batch.take_messages());
        let batch = match self.carry_out(batch, &plan).await {
            Ok(Some(batch)) => batch,
            Ok(None) => {
                self.release(&plan);
                return Ok(None);
            }
            Err(error) => {
                self.release(&plan);
                return Err(error);
            }
        };
        match batch.commit_and_next().await {
            Ok(next) => {
                self.received(plan);
                Ok(next)
            }
            Err(error) if error.kind() == ErrorKind::CommitUnknown => {
                self.resolve(plan).await;
                Err(error)
            }
            Err(error) => {
                self.release(&plan);
                Err(error)
            }
        }
    }

    fn plan(&self, messages: Vec<Message>) -> Plan {
        let mut plan = Plan { claimed: Vec::new(), unattended: Vec::new(), strays: Vec::new() };
        for messages in by_conversation(messages) {
            let last = &messages[messages.len() - 1];
            let (conversation, group, last_sequence) = (last.conversation, last.group, last.sequence_number);
            let Some((id, until)) = self.registry.claim(conversation, group) else {
                plan.unattended.push(messages);
                continue;
            };
            let Verdict { outcome, rest } = judge(messages, &until);
            plan.strays.extend(rest);
            plan.claimed.push(Claimed { id, conversation, last_sequence, outcome });
        }
        plan
    }

    /// Does everything but the commit; `None` when the batch was given back because the recovery handler failed.
    async fn carry_out(&mut self, mut batch: Batch, plan: &Plan) -> Result<Option<Batch>> {
        let mut aside = Aside::default();
        loop {
            match self.attempt(&mut batch, plan, &aside).await {
                Ok(()) => return Ok(Some(batch)),
                Err(Trouble::Broker(error)) => {
                    batch.give_back().await?;
                    return Err(error);
                }
                Err(Trouble::Recovery(message, failure)) => {
                    match self.recovery.fail(batch, &message, failure).await? {
                        Fate::GivenBack => return Ok(None),
                        Fate::GoesOn(same) => batch = same,
                    }
                    aside.put(&message, self.recovery.poison.action());
                }
            }
        }
    }

    async fn attempt(&self, batch: &mut Batch, plan: &Plan, aside: &Aside) -> Result<(), Trouble> {
        let mut strays: Vec<&Message> = plan.strays.iter().collect();
        for messages in &plan.unattended {
            if !(self.remembers && table::store_unattended(batch, messages).await?) {
                strays.extend(messages);
            }
        }
        strays.retain(|message| !aside.holds(message));
        for message in &strays {
            let treated = self.recovery.treat(batch, message).await;
            treated.map_err(|failure| Trouble::Recovery(Box::new((*message).clone()), failure))?;
        }
        for Claimed { conversation, outcome, .. } in &plan.claimed {
            let Some(outcome) = outcome else { continue };
            if self.remembers {
                table::store_outcome(batch, *conversation, outcome).await?;
            }
            if !aside.ended.contains(conversation) {
                end_once(batch, *conversation).await?;
            }
        }
        let user = strays.iter().filter(|message| message.kind == MessageKind::User);
        self.registry.count_recovered(user.count());
        Ok(())
    }

    /// The transaction is committed.
    fn received(&mut self, plan: Plan) {
        self.recovery.forget(plan.unattended.iter().flatten().chain(&plan.strays));
        for Claimed { id, conversation, outcome, .. } in plan.claimed {
            match outcome {
                Some(outcome) => self.registry.deliver(id, conversation, outcome, !self.remembers),
                None => self.registry.release(id),
            }
        }
        for (conversation, group) in plan.unattended.iter().map(|messages| address(&messages[0])) {
            self.registry.tell_to_look(conversation, group);
        }
    }

    /// The transaction is rolled back: the messages come again.
    fn release(&self, plan: &Plan) {
        plan.claimed.iter().for_each(|claimed| self.registry.release(claimed.id));
    }

    /// Nobody knows whether the transaction was committed: asks the queue for each message until it answers.
    async fn resolve(&mut self, plan: Plan) {
        let Plan { claimed, unattended, strays } = plan;
        let mut failures = 0;
        for claimed in claimed {
            let committed = loop {
                match self.is_still_queued(&claimed).await {
                    Ok(queued) => break !queued,
                    Err(_) if self.stop.is_cancelled() => break false,
                    Err(error) => tracing::warn!(%error, "whether a reply was received is still unknown"),
                }
                self.pause(&mut failures).await;
            };
            let one = Plan { claimed: vec![claimed], unattended: Vec::new(), strays: Vec::new() };
            if committed { self.received(one) } else { self.release(&one) }
        }
        self.received(Plan { claimed: Vec::new(), unattended, strays });
    }

    async fn is_still_queued(&self, claimed: &Claimed) -> Result<bool> {
        let statement = statements::still_queued(&self.queue, claimed.conversation, claimed.last_sequence);
        table::count(&self.broker.session().await?.execute(&statement).await?, "messages")
    }
}

fn address(message: &Message) -> (ConversationHandle, ConversationGroup) {
    (message.conversation, message.group)
}

/// Ends our side of a conversation; the recovery handler may have done so for what lay behind the reply.
async fn end_once(batch: &mut Batch, conversation: ConversationHandle) -> Result<()> {
    match batch.end(conversation).await {
        Err(error) if !error.dialog_is_over() => Err(error),
        _ => Ok(()),
    }
}
