//! Request and reply: many callers wait for replies on one reply queue, each on a dialog of its own.
//!
//! One task reads the queue (`reader.rs`) and finds the waiter of each message (`registry.rs`). A request subscribes
//! before it is sent: it chooses the conversation group of its dialog itself, so a reply cannot come too early. What
//! nobody waits for goes to a recovery handler (`recovery.rs`), in the receiving transaction. Requests that are
//! remembered in a table (`table.rs`) survive a restart.

mod builder;
mod outgoing;
mod pending;
mod reader;
mod recovery;
mod registry;
mod reply;
mod shared_reply;
mod table;
mod verdict;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio_util::sync::DropGuard;

use super::body::Body;
use super::broker::Broker;
use super::error::{Error, Result};
use super::ids::ConversationHandle;
use super::message::OutgoingMessage;
use super::names::{MessageTypeName, QueueName, ServiceName};

pub(crate) use recovery::MOST_COUNTED;
pub(crate) use registry::MOST_KEPT;

pub use builder::RequesterBuilder;
pub use outgoing::{Request, Wait};
pub use pending::PendingReply;
pub use recovery::DiscardReplies;
pub use registry::RequesterStats;
pub use reply::{FurtherMessage, Reply};
pub use shared_reply::SharedReply;
pub use table::UnfinishedRequest;

use pending::Subscription;
use registry::Registry;

/// Sends requests and waits for their replies; made by [`Broker::requester`], cheap to clone, shared by tasks.
///
/// Every request is a dialog of its own. A service that replies should end its side after the reply; ours is ended with
/// the receipt of the reply. The queue of the requester's service must be read by this requester alone, unless it
/// [shares the queue](RequesterBuilder::share_queue).
///
/// Exactly one of the waiter and the recovery handler gets a reply: the waiter, unless it has given up before the reply is
/// received. Reading stops when the last clone and the last [`PendingReply`] are dropped.
#[derive(Clone, Debug)]
pub struct Requester {
    shared: Arc<Shared>,
}

/// What all clones, requests and pending replies have in common.
struct Shared {
    broker: Broker,
    service: ServiceName,
    queue: QueueName,
    registry: Arc<Registry>,
    /// The name under which requests are remembered.
    remembered_as: Option<String>,
    /// How often a waiter looks into the table, if others read the queue too.
    look_every: Option<Duration>,
    /// The reading task, until it is started.
    reader: Mutex<Option<ReaderTask>>,
    _stop: DropGuard,
}

type ReaderTask = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Requester {
    /// Describes a request to a service: the type of its message and its body.
    ///
    /// Names may be texts or checked names; a faulty one is reported when the request is sent.
    pub fn request<T, M>(&self, to: T, message_type: M, body: impl Into<Body>) -> Request
    where
        T: TryInto<ServiceName>,
        M: TryInto<MessageTypeName>,
        Error: From<T::Error> + From<M::Error>,
    {
        let message = message_type.try_into().map(|message_type| OutgoingMessage::new(message_type, body));
        let to = to.try_into().map_err(Error::from);
        Request::new(Arc::clone(&self.shared), to, message.map_err(Error::from))
    }

    /// Takes up a request again, for example after a restart: the reply may lie in the queue, lie in the table of
    /// remembered requests, or be still to come.
    ///
    /// Nothing is asked of the server before [`PendingReply::reply`], and reading begins with the first request or the
    /// first such call: a program that does not remember its requests in the table attaches to all of them first, so that
    /// none of their replies goes to the recovery handler.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](super::ErrorKind::Config) when somebody waits for this reply already.
    pub fn attach(&self, conversation: ConversationHandle, wait: Wait) -> Result<PendingReply> {
        let subscription =
            Subscription::new(Arc::clone(&self.shared), conversation.as_uuid(), Arc::clone(&wait.until))?;
        Ok(PendingReply::attached(subscription, conversation, wait))
    }

    /// The requests remembered under this requester's name that are not settled, the oldest first; none when it does not
    /// remember.
    ///
    /// # Errors
    /// The server's. Cancelling is safe.
    pub async fn unfinished(&self) -> Result<Vec<UnfinishedRequest>> {
        match &self.shared.remembered_as {
            Some(requester) => table::unfinished(&self.shared.broker, requester).await,
            None => Ok(Vec::new()),
        }
    }

    /// Forgets a remembered request that has no reply yet, so that a late reply goes to the recovery handler. False when
    /// it has one, or is not known.
    ///
    /// # Errors
    /// The server's. Dropping the future leaves it open whether the request was forgotten.
    pub async fn give_up(&self, conversation: ConversationHandle) -> Result<bool> {
        match self.shared.remembered_as {
            Some(_) => table::give_up(&self.shared.broker, conversation, -1).await,
            None => Ok(false),
        }
    }

    /// Begins to read the queue, if that has not begun: for programs that only have late replies to recover.
    pub fn start(&self) {
        self.shared.start();
    }

    /// What has happened so far.
    #[must_use]
    pub fn stats(&self) -> RequesterStats {
        self.shared.registry.stats()
    }

    /// The reply queue.
    #[must_use]
    pub fn queue(&self) -> &QueueName {
        &self.shared.queue
    }
}

impl Shared {
    /// Starts the reading task the first time; needs a runtime.
    fn start(&self) {
        let task = self.reader.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            tokio::spawn(task);
        }
    }

    fn remembers(&self) -> bool {
        self.remembered_as.is_some()
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("service", &self.service)
            .field("queue", &self.queue)
            .field("remembered_as", &self.remembered_as)
            .finish_non_exhaustive()
    }
}
