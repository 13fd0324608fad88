//! Dead letters: looking at what workers have parked, and bringing it back.
//!
//! They lie in the table `ssbroker.dead_letters` (`sql/05-dead-letters.sql`). Everything that takes many rows goes in
//! bounded steps.

use std::time::Duration;

use super::body::Body;
use super::broker::Broker;
use super::error::{Error, ErrorKind, Result};
use super::ids::{ConversationGroup, ConversationHandle};
use super::message::OutgoingMessage;
use super::names::{ContractName, MessageTypeName, QueueName, ServiceName};
use super::poison::DeadLetterCause;
use super::rows::Row;
use super::sending;
use super::session::Session;
use super::statements::{self, DialogSpec, Scope};
use super::values::{SqlDateTime, SqlValue};

/// Rows removed in one statement.
const AT_ONCE: u32 = 1000;

/// The dead letters of a database.
#[derive(Clone, Debug)]
pub struct DeadLetters {
    broker: Broker,
}

/// A message that was parked.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DeadLetter {
    /// Its number, by which it is asked for.
    pub id: i64,
    /// When it was parked, in UTC.
    pub parked: SqlDateTime,
    /// The queue it came from, quoted as in T-SQL.
    pub queue: String,
    /// The service it was sent to.
    pub service: String,
    /// The contract of its conversation.
    pub contract: String,
    /// Its type.
    pub message_type: String,
    /// Our side of its conversation, which may be over by now.
    pub conversation: ConversationHandle,
    /// The group of that conversation.
    pub group: ConversationGroup,
    /// Its place in the conversation.
    pub sequence_number: i64,
    /// How often it was tried.
    pub attempts: u32,
    /// Why it is here.
    pub cause: DeadLetterCause,
    /// What the handler said last.
    pub reason: String,
    /// The length of its body in bytes.
    pub body_length: u64,
    /// Its body; `None` in a list.
    pub body: Option<Body>,
}

impl Broker {
    /// The dead letters of the database.
    #[must_use]
    pub fn dead_letters(&self) -> DeadLetters {
        DeadLetters { broker: self.clone() }
    }
}

impl DeadLetters {
    /// The next dead letters after the one with number `after`, oldest first, without their bodies; of one queue or of
    /// all. Begin with 0, and go on with the last number of the page before.
    ///
    /// # Errors
    /// The server's: the table is missing (`ObjectMissing`) or not permitted. Cancelling is safe.
    pub async fn list(&self, queue: Option<&QueueName>, after: i64, limit: u32) -> Result<Vec<DeadLetter>> {
        let queue = queue.map(QueueName::quoted);
        let mut session = self.broker.session().await?;
        let results = session.execute(&statements::list_dead_letters(queue.as_deref(), after, limit)).await?;
        results.into_rows().into_iter().map(DeadLetter::from_row).collect()
    }

    /// One dead letter with its body.
    ///
    /// # Errors
    /// As [`list`](Self::list). Cancelling is safe.
    pub async fn get(&self, id: i64) -> Result<Option<DeadLetter>> {
        get(&mut *self.broker.session().await?, id).await
    }

    /// Gives a dead letter back to the workers of its queue: it goes through the same handler once more, on its old
    /// conversation and with its attempts forgotten. Answers whether there was such a letter.
    ///
    /// It waits in the table `ssbroker.retries`, so a worker with a [`RetrySchedule`](super::RetrySchedule) has to run.
    ///
    /// # Errors
    /// As [`list`](Self::list); [`ErrorKind::CommitUnknown`] when the answer was lost. Dropping the future leaves it open
    /// whether it happened.
    pub async fn hand_back(&self, id: i64) -> Result<bool> {
        let mut session = self.broker.session().await?;
        let results = session.execute(&statements::hand_back_dead_letter(id)).await;
        Ok(results.map_err(Error::into_commit_outcome)?.row_counts().iter().sum::<u64>() > 0)
    }

    /// Sends a dead letter again, on a new dialog from one of our services to the service it was sent to, and removes it:
    /// both or neither. Answers our side of the new dialog, which we have to end one day.
    ///
    /// # Errors
    /// [`ErrorKind::ObjectMissing`] when there is no such letter, service or contract; what SEND refuses;
    /// [`ErrorKind::CommitUnknown`] when the answer was lost. Dropping the future leaves it open whether it happened.
    pub async fn resurrect<F>(&self, id: i64, from: F) -> Result<ConversationHandle>
    where
        F: TryInto<ServiceName>,
        Error: From<F::Error>,
    {
        let from = from.try_into()?;
        let mut session = self.broker.session().await?;
        session.begin().await?;
        match send_again(&mut session, id, from).await {
            Ok(conversation) => session.commit().await.map(|()| conversation),
            Err(error) => {
                if session.is_clean() {
                    session.rollback_if_open().await?;
                }
                Err(error.during(format_args!("sending dead letter {id} again")))
            }
        }
    }

    /// Removes one dead letter; answers whether there was one.
    ///
    /// # Errors
    /// As [`hand_back`](Self::hand_back). Dropping the future leaves it open whether it was removed.
    pub async fn remove(&self, id: i64) -> Result<bool> {
        let mut session = self.broker.session().await?;
        let results = session.execute(&statements::delete_dead_letter(id)).await;
        Ok(results.map_err(Error::into_commit_outcome)?.row_counts().iter().sum::<u64>() > 0)
    }

    /// Removes all dead letters that were parked at least so long ago, of one queue or of all, a thousand in a statement.
    /// Answers how many there were.
    ///
    /// # Errors
    /// As [`list`](Self::list); those removed so far stay removed. Cancelling stops between two statements.
    pub async fn purge(&self, queue: Option<&QueueName>, older_than: Duration) -> Result<u64> {
        let queue = queue.map(QueueName::quoted);
        let mut removed = 0;
        loop {
            let mut session = self.broker.session().await?;
            let statement = statements::purge_dead_letters(queue.as_deref(), older_than, AT_ONCE);
            let count = session.execute(&statement).await?.row_counts().iter().sum::<u64>();
            removed += count;
            if count < u64::from(AT_ONCE) {
                return Ok(removed);
            }
        }
    }
}

impl DeadLetter {
    fn from_row(mut row: Row) -> Result<Self> {
        let body = match row.take("message_body") {
            Ok(SqlValue::Bytes(bytes)) => Some(Body::bytes(bytes)),
            Ok(_) => Some(Body::empty()),
            Err(_not_asked_for) => None,
        };
        Ok(Self {
            id: row.get("id")?,
            parked: row.get("parked")?,
            queue: row.get("queue_name")?,
            service: row.get("service_name")?,
            contract: row.get("service_contract_name")?,
            message_type: row.get("message_type_name")?,
            conversation: row.get("conversation_handle")?,
            group: row.get("conversation_group_id")?,
            sequence_number: row.get("message_sequence_number")?,
            attempts: u32::try_from(row.get::<i32>("attempts")?).unwrap_or(0),
            cause: DeadLetterCause::read(&row.get::<String>("cause")?),
            reason: row.get("reason")?,
            body_length: row.get::<Option<i64>>("body_length")?.unwrap_or(0).unsigned_abs(),
            body,
        })
    }
}

async fn get(session: &mut Session, id: i64) -> Result<Option<DeadLetter>> {
    let results = session.execute(&statements::get_dead_letter(id)).await?;
    results.into_rows().into_iter().next().map(DeadLetter::from_row).transpose()
}

/// Within a transaction: the letter is read and locked, sent, and removed.
async fn send_again(session: &mut Session, id: i64, from: ServiceName) -> Result<ConversationHandle> {
    let letter = get(session, id).await?;
    let letter =
        letter.ok_or_else(|| Error::new(ErrorKind::ObjectMissing, "there is no such dead letter"))?;
    let mut spec = DialogSpec::new(from, ServiceName::new(letter.service)?);
    spec.contract = Some(ContractName::new(letter.contract)?);
    let conversation = sending::begin(session, Scope::Joined, &spec).await?;
    let body = letter.body.unwrap_or_default();
    let message = OutgoingMessage::new(MessageTypeName::new(letter.message_type)?, body);
    sending::send(session, Scope::Joined, conversation, &message).await?;
    session.execute(&statements::delete_dead_letter(id)).await?;
    Ok(conversation)
}
