//! A reply, and how a remembered request is settled.

use super::Shared;
use super::table;
use super::verdict::Arrived;
use crate::client::body::Body;
use crate::client::broker::Broker;
use crate::client::envelope::Envelope;
use crate::client::error::{Error, ErrorKind, Result};
use crate::client::ids::ConversationHandle;
use crate::client::rows::Results;
use crate::client::session::Session;
use crate::client::statements::{self, Statement};
use crate::client::values::SqlValue;

/// The reply to a request.
///
/// The reply of a remembered request stays in the table until it is settled: a program that dies before finds it again.
#[derive(Debug)]
#[non_exhaustive]
pub struct Reply {
    /// Our side of the conversation it came on, which has been ended.
    pub conversation: ConversationHandle,
    /// The name of its type.
    pub message_type: String,
    /// Its body, empty when it has none.
    pub body: Body,
    /// What came behind it while nobody waited, in order, for a remembered request: it is in no queue any more, and goes
    /// with the request when that is settled. What comes behind a reply while the requester waits goes to the recovery
    /// handler.
    pub further: Vec<FurtherMessage>,
    broker: Broker,
    is_remembered: bool,
}

/// A message behind a kept reply.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FurtherMessage {
    /// The name of its type.
    pub message_type: String,
    /// Its body, empty when it has none.
    pub body: Body,
}

impl Reply {
    pub(super) fn new(shared: &Shared, conversation: ConversationHandle, arrived: Arrived) -> Self {
        let Arrived { message_type, body, behind, .. } = arrived;
        let further = behind
            .into_iter()
            .map(|Arrived { message_type, body, .. }| FurtherMessage { message_type, body })
            .collect();
        let (broker, is_remembered) = (shared.broker.clone(), shared.remembers());
        Self { conversation, message_type, body, further, broker, is_remembered }
    }

    /// The envelope of the body; `None` when it is a raw body.
    ///
    /// # Errors
    /// [`ErrorKind::BodyUnreadable`] for a damaged envelope.
    pub fn envelope(&self) -> Result<Option<Envelope>> {
        Envelope::read(&self.body)
    }

    /// Forgets the request: its reply has been used. Without effect when it was not remembered.
    ///
    /// ```compile_fail,E0382
    /// # async fn example(reply: ssbroker::client::Reply) -> Result<(), ssbroker::client::Error> {
    /// reply.settle().await?;
    /// reply.settle().await?; // a reply is settled once
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The server's; `NoReply` when somebody else has settled it. Dropping the future leaves it open.
    pub async fn settle(self) -> Result<()> {
        self.forget().await
    }

    pub(super) async fn forget(&self) -> Result<()> {
        if !self.is_remembered {
            return Ok(());
        }
        let forgotten = table::forget(&self.broker, self.conversation).await;
        check_forgotten(forgotten.map_err(Error::into_commit_outcome)?)
            .map_err(|error| error.on_conversation(self.conversation))
    }

    /// Uses the reply with a statement of the caller's and forgets the request, both in one transaction: the statement
    /// takes effect exactly once, however often the program dies and starts again. The values are `@P1`, `@P2`, and so on.
    ///
    /// # Errors
    /// The server's; `NoReply` when somebody else has settled the request: the statement is then undone.
    /// [`ErrorKind::CommitUnknown`] when the answer of the commit was lost:
    /// [`Requester::unfinished`](super::Requester::unfinished) tells.
    ///
    /// # Cancellation
    /// Dropping the future rolls back what is not committed yet.
    pub async fn settle_with(self, sql: &str, values: &[SqlValue]) -> Result<Results> {
        let mut session = self.broker.session().await?;
        session.begin().await?;
        match self.use_up(&mut session, sql, values).await {
            Ok(results) => session.commit().await.map(|()| results),
            Err(error) => {
                // A session that is not clean is discarded, which rolls back as well.
                if session.is_clean() {
                    session.rollback_if_open().await?;
                }
                Err(error)
            }
        }
        .map_err(|error| error.on_conversation(self.conversation))
    }

    async fn use_up(&self, session: &mut Session, sql: &str, values: &[SqlValue]) -> Result<Results> {
        if statements::may_outlive_statement(sql) {
            session.mark_altered();
        }
        let results = session.execute(&Statement::with_values(sql, values)).await?;
        if self.is_remembered {
            let forgotten = session.execute(&statements::forget_request(self.conversation)).await?;
            check_forgotten(table::count(&forgotten, "forgotten")?)?;
        }
        Ok(results)
    }
}

fn check_forgotten(forgotten: bool) -> Result<()> {
    if forgotten {
        return Ok(());
    }
    Err(Error::new(ErrorKind::NoReply, "the request was settled before"))
}
