//! How a requester is described and opened.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::reader::Reader;
use super::recovery::Recovery;
use super::registry::Registry;
use super::{Requester, Shared, table};
use crate::client::broker::Broker;
use crate::client::error::{Error, Result};
use crate::client::names::ServiceName;
use crate::client::poison::{PoisonAction, PoisonPolicy};
use crate::client::worker::{self, Handler};

/// The longest name of a requester, in UTF-16 units.
const LONGEST_NAME: usize = 128;

/// Describes a requester; ends in [`open`](RequesterBuilder::open).
#[must_use = "a requester does nothing before `open`"]
pub struct RequesterBuilder<H> {
    broker: Broker,
    service: Result<ServiceName>,
    handler: H,
    poison: PoisonPolicy,
    remembered_as: Option<String>,
    look_every: Option<Duration>,
}

impl Broker {
    /// A requester whose requests go out from this service of ours, with the handler for replies that nobody waits for
    /// (late ones, and those of other programs).
    ///
    /// The handler works in the receiving transaction, as in a worker. When a late message was the last of its
    /// conversation it should end it; otherwise that happens when the peer ends its side, or at the end of the dialog's
    /// lifetime. [`DiscardReplies`](super::DiscardReplies) is for programs that need no late replies.
    pub fn requester<S, H>(&self, service: S, recovery: H) -> RequesterBuilder<H>
    where
        S: TryInto<ServiceName>,
        Error: From<S::Error>,
        H: Handler,
    {
        RequesterBuilder {
            broker: self.clone(),
            service: service.try_into().map_err(Error::from),
            handler: recovery,
            poison: PoisonPolicy::new(3, PoisonAction::EndConversation),
            remembered_as: None,
            look_every: None,
        }
    }
}

impl<H: Handler> RequesterBuilder<H> {
    /// Remembers each request in the table `ssbroker.waiters` (script `sql/09-waiters.sql`) under this name, from its
    /// sending until [`Reply::settle`](super::Reply::settle). A program that starts again under the same name finds
    /// what is unfinished with [`Requester::unfinished`]. Replies that come while nobody waits for them are kept in the
    /// table. Default: requests are remembered by this process only.
    pub fn remember_as(mut self, name: impl Into<String>) -> Self {
        self.remembered_as = Some(name.into());
        self
    }

    /// Shares the reply queue with other processes, all of which remember their requests in the same table under names of
    /// their own: a reply that another's reader received is kept there, and each waiter looks for it so often. Without
    /// this such a reply is found only when the time of its waiter has run out.
    pub fn share_queue(mut self, look_every: Duration) -> Self {
        self.look_every = Some(look_every);
        self
    }

    /// What happens to messages whose recovery handler fails; if not set their conversation is ended with an error after
    /// three attempts. Attempts are counted in this process; a policy with a ledger or with later attempts is refused.
    pub fn poison(mut self, policy: PoisonPolicy) -> Self {
        self.poison = policy;
        self
    }

    /// Opens the connection that reads the reply queue. Reading begins with the first request.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::client::ErrorKind::Config) for a faulty name, or a shared queue without remembering;
    /// `ObjectMissing` when the service or a
    /// table does not exist; what [`Broker::connect`] may answer. Cancelling closes the connection.
    pub async fn open(self) -> Result<Requester> {
        let service = self.service?;
        if let Some(name) = &self.remembered_as {
            check_name(name)?;
            table::verify(&self.broker).await?;
        }
        if self.look_every.is_some() && self.remembered_as.is_none() {
            return Err(Error::config("a requester that shares its queue must remember its requests"));
        }
        worker::verify_tables(&self.broker, needed_tables(self.poison)?).await?;
        let queue = self.broker.queue_of(&service).await?;
        let receiver = self.broker.receive(queue.clone()).open().await?;
        let (stop, registry) = (CancellationToken::new(), Arc::new(Registry::default()));
        let reader = Reader {
            broker: self.broker.clone(),
            queue: queue.clone(),
            receiver,
            registry: Arc::clone(&registry),
            recovery: Recovery::new(self.handler, self.poison),
            remembers: self.remembered_as.is_some(),
            stop: stop.clone(),
        };
        let shared = Shared {
            broker: self.broker,
            service,
            queue,
            registry,
            remembered_as: self.remembered_as,
            look_every: self.look_every,
            reader: Mutex::new(Some(Box::pin(reader.run()))),
            _stop: stop.drop_guard(),
        };
        Ok(Requester { shared: Arc::new(shared) })
    }
}

impl<H> fmt::Debug for RequesterBuilder<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequesterBuilder")
            .field("service", &self.service)
            .field("remembered_as", &self.remembered_as)
            .finish_non_exhaustive()
    }
}

/// A requester keeps no ledger and puts nothing off.
fn needed_tables(poison: PoisonPolicy) -> Result<&'static [&'static str]> {
    if poison.has_ledger() || poison.retries().is_some() {
        return Err(Error::config(
            "the poison policy of a requester has neither a ledger nor later attempts",
        ));
    }
    Ok(match poison.action() {
        PoisonAction::Park => &["attempts", "dead_letters"],
        PoisonAction::EndConversation => &[],
    })
}

fn check_name(name: &str) -> Result<()> {
    let length = name.encode_utf16().count();
    if (1..=LONGEST_NAME).contains(&length) {
        return Ok(());
    }
    Err(Error::config(format!("the name of a requester has 1 to {LONGEST_NAME} characters, not {length}")))
}
