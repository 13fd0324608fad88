//! One request before it is sent: where it goes, how long its reply is waited for, what counts as the reply.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::Shared;
use super::pending::{PendingReply, Subscription};
use super::reply::Reply;
use super::verdict::Until;
use crate::client::body::Body;
use crate::client::dialog::lifetime_seconds;
use crate::client::error::{Error, ErrorKind, Result};
use crate::client::ids::{ConversationGroup, ConversationHandle};
use crate::client::message::OutgoingMessage;
use crate::client::names::{ContractName, ServiceName};
use crate::client::sending;
use crate::client::statements::{self, DialogSpec, Relation, Remembered};

/// How much longer than its reply is waited for a dialog lives, if not told otherwise.
const DEFAULT_REST_OF_LIFE: Duration = Duration::from_secs(24 * 3600);
/// The longest note, in UTF-16 units.
const LONGEST_NOTE: usize = 400;

/// How long a reply is waited for, and what counts as the reply.
#[derive(Clone)]
pub struct Wait {
    pub(super) timeout: Duration,
    pub(super) until: Until,
}

impl Wait {
    /// Waits at most so long for the first message.
    #[must_use]
    pub fn at_most(timeout: Duration) -> Self {
        Self { timeout, until: Arc::new(|_, _| true) }
    }

    /// What counts as the reply, by message type and body; messages before it are progress. See
    /// [`Request::until`].
    #[must_use]
    pub fn until(mut self, is_reply: impl Fn(&str, &Body) -> bool + Send + Sync + 'static) -> Self {
        self.until = Arc::new(is_reply);
        self
    }
}

impl Default for Wait {
    /// At most 30 seconds, for the first message.
    fn default() -> Self {
        Self::at_most(Duration::from_secs(30))
    }
}

impl fmt::Debug for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wait").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

/// A request; ends in [`send`](Request::send) or [`post`](Request::post). Made by [`Requester::request`](super::Requester::request).
#[derive(Debug)]
#[must_use = "nothing is sent before `send` or `post`"]
pub struct Request {
    shared: Arc<Shared>,
    parts: Result<(DialogSpec, OutgoingMessage)>,
    wait: Wait,
    note: Option<String>,
}

impl Request {
    pub(super) fn new(
        shared: Arc<Shared>,
        to: Result<ServiceName>,
        message: Result<OutgoingMessage>,
    ) -> Self {
        let parts = to.and_then(|to| Ok((DialogSpec::new(shared.service.clone(), to), message?)));
        Self { shared, parts, wait: Wait::default(), note: None }
    }

    /// The contract. Default: the contract named `DEFAULT`.
    pub fn contract<C>(self, contract: C) -> Self
    where
        C: TryInto<ContractName>,
        Error: From<C::Error>,
    {
        self.set(|spec| {
            spec.contract = Some(contract.try_into()?);
            Ok(())
        })
    }

    /// Names the broker instance of the target: its identifier, or `CURRENT DATABASE`. Default: any that a route leads to.
    pub fn broker_instance(self, instance: impl Into<String>) -> Self {
        self.set(|spec| {
            spec.broker_instance = Some(instance.into());
            Ok(())
        })
    }

    /// How long the dialog may live if nobody ends it. Default: a day longer than the reply is waited for, so that even a
    /// request that is never answered leaves nothing behind.
    pub fn lifetime(self, lifetime: Duration) -> Self {
        self.set(|spec| {
            spec.lifetime_seconds = Some(lifetime_seconds(lifetime)?);
            Ok(())
        })
    }

    /// Whether messages that leave the instance must be encrypted. Default: no.
    pub fn encryption(self, required: bool) -> Self {
        self.set(|spec| {
            spec.encryption = required;
            Ok(())
        })
    }

    /// How long the reply is waited for, progress included. Default: 30 seconds.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.wait.timeout = timeout;
        self
    }

    /// What counts as the reply, by message type and body. Messages before it are progress: each is shown to `is_reply` as
    /// it comes, and consumed. Default: the first message is the reply.
    ///
    /// It is called by the task that reads the queue, so it must be quick; and once more for the same message when a
    /// transaction had to be repeated. When it panics the message counts as the reply.
    pub fn until(mut self, is_reply: impl Fn(&str, &Body) -> bool + Send + Sync + 'static) -> Self {
        self.wait = self.wait.until(is_reply);
        self
    }

    /// A note of at most 400 characters that is remembered with the request: whatever the program needs to go on with the
    /// reply after a restart. Without effect unless the requester remembers.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    /// Sends the request and waits for its reply: one round trip, and those of the reader.
    ///
    /// # Errors
    /// Those of [`post`](Request::post) and of [`PendingReply::reply`].
    ///
    /// # Cancellation
    /// Dropping the future leaves it open whether the request was sent; its reply goes to the recovery handler, or waits in
    /// the table if the request is remembered.
    pub async fn send(self) -> Result<Reply> {
        self.post().await?.reply().await
    }

    /// Sends the request; the reply is waited for by what it returns.
    ///
    /// # Errors
    /// `Config` for a faulty name or note; `ObjectMissing` when the contract does not exist; `MessageRefused` for a wrong
    /// type or body; `CommitUnknown` when the answer was lost: then the request may have been sent, and its reply goes to
    /// the recovery handler or the table. A missing *target* shows as a time-out.
    ///
    /// # Cancellation
    /// As [`send`](Request::send).
    pub async fn post(self) -> Result<PendingReply> {
        let Self { shared, parts, wait, note } = self;
        let (mut spec, message) = parts?;
        check_note(note.as_deref())?;
        let group = ConversationGroup::random();
        spec.relation = Relation::Group(group.as_uuid());
        if spec.lifetime_seconds.is_none() {
            spec.lifetime_seconds = lifetime_seconds(wait.timeout.saturating_add(DEFAULT_REST_OF_LIFE)).ok();
        }
        let subscription = Subscription::new(Arc::clone(&shared), group.as_uuid(), Arc::clone(&wait.until))?;
        shared.start();
        let remembered = shared.remembered_as.as_deref().map(|requester| Remembered {
            requester,
            note: note.as_deref(),
            timeout_seconds: i32::try_from(wait.timeout.as_secs()).unwrap_or(i32::MAX),
        });
        let conversation = transmit(&shared, &spec, &message, remembered).await?;
        subscription.learn_conversation(conversation);
        Ok(PendingReply::sent(subscription, conversation, wait))
    }

    fn set(mut self, change: impl FnOnce(&mut DialogSpec) -> Result<()>) -> Self {
        self.parts = self.parts.and_then(|(mut spec, message)| {
            change(&mut spec)?;
            Ok((spec, message))
        });
        self
    }
}

async fn transmit(
    shared: &Shared,
    spec: &DialogSpec,
    message: &OutgoingMessage,
    remembered: Option<Remembered<'_>>,
) -> Result<ConversationHandle> {
    let mut session = shared.broker.session().await?;
    sending::check_bodies(&*session, [message])?;
    let answer = session.execute(&statements::request(spec, message, remembered)).await;
    let results = answer.map_err(|error| {
        error.into_commit_outcome().during(format_args!("sending a request to {}", spec.to))
    })?;
    let row = results
        .first_row()
        .ok_or_else(|| Error::new(ErrorKind::Protocol, "the server answered a request with no handle"))?;
    row.get("conversation_handle")
}

fn check_note(note: Option<&str>) -> Result<()> {
    match note.map_or(0, |note| note.encode_utf16().count()) {
        0..=LONGEST_NOTE => Ok(()),
        length => Err(Error::config(format!("a note has at most {LONGEST_NOTE} characters, not {length}"))),
    }
}
