//! Replacing a dialog that is over: learns why, sends again what is pending or notes it as unsent, and ends our side.
//!
//! All of it is one transaction. It takes the Error or EndDialog message out of our queue, so that the cause is read once;
//! pending messages go in order to a new dialog; and END CONVERSATION, which deletes them from the transmission queue,
//! commits with that. A crash at any point leaves either the old dialog with its messages, or the new one.

use super::super::error::{Error, ErrorKind, Result};
use super::super::ids::ConversationHandle;
use super::super::message::{Message, MessageKind, OutgoingMessage};
use super::super::names::{ContractName, MessageTypeName, QueueName, ServiceName};
use super::super::outcome::{SendOutcome, cause_of_roll_back};
use super::super::rows::Row;
use super::super::sending;
use super::super::session::Session;
use super::super::statements::{self, DialogSpec, Opening, Scope};
use super::Shared;
use super::cause::{self, Cause, Finding};

/// What became of a dialog that refused a message.
#[derive(Debug)]
pub(super) enum Replaced {
    /// It takes messages after all.
    Alive,
    /// There is no such conversation any more, hence nothing was pending.
    Gone,
    /// It was ended.
    Settled(Settled),
    /// It is over but was left open, because what is pending on it could not be kept.
    LeftOpen,
}

/// What became of the pending messages of a dialog that was ended.
#[derive(Debug, Default)]
pub(super) struct Settled {
    /// The new dialog, if messages were sent again.
    pub(super) successor: Option<ConversationHandle>,
    pub(super) resent: u64,
    pub(super) unsent: u64,
    /// Its place in the table of a shared pool, by route and place, if it has one there.
    pub(super) place: Option<(i64, i32)>,
    /// Whether the last message sent again was the end-of-stream message.
    pub(super) ends_with: Option<MessageTypeName>,
}

/// How far settling came.
enum Settlement {
    Done(Settled),
    /// This login may not see what is pending.
    Unseen,
    /// What cannot be sent again has no table to go to.
    Unkept,
}

/// The endpoint of a conversation, as the catalog shows it.
pub(super) struct Endpoint {
    pub(super) state: String,
    pub(super) is_initiator: bool,
    pub(super) spec: DialogSpec,
}

/// What this login may do about pending messages.
#[derive(Clone, Copy)]
struct Rights {
    readable: bool,
    lent: bool,
    unsent_table: bool,
}

impl Shared {
    /// Replaces a dialog that refused a message. With [`Scope::Own`] in a transaction of its own.
    pub(super) async fn replace(
        &self,
        session: &mut Session,
        scope: Scope,
        spec: &DialogSpec,
        dialog: ConversationHandle,
    ) -> Result<Replaced> {
        if scope == Scope::Own {
            session.begin().await?;
        }
        let replaced = match self.replace_joined(session, spec, dialog).await {
            Ok(Replaced::Settled(settled)) => Ok(Replaced::Settled(settled)),
            // Back to before RECEIVE, so that it does not count as a roll back of our own queue.
            Ok(other) => session.rollback_to(statements::BEFORE_CAUSE).await.map(|()| other),
            Err(error) => {
                give_back(session).await;
                Err(error)
            }
        };
        if scope == Scope::Own {
            match &replaced {
                Ok(_) => session.commit().await?,
                Err(_) => close_failed(session).await,
            }
        }
        replaced.map_err(|error| error.during(format!("replacing dialog {dialog}")))
    }

    async fn replace_joined(
        &self,
        session: &mut Session,
        spec: &DialogSpec,
        dialog: ConversationHandle,
    ) -> Result<Replaced> {
        let queue = self.queue_of(session, &spec.from).await?;
        let kinds = match session.batch(&statements::take_cause(&queue, dialog)).await {
            Ok(results) => results.into_rows().into_iter().map(kind).collect::<Result<Vec<_>>>()?,
            Err(error) if error.dialog_is_over() => return Ok(Replaced::Gone),
            Err(error) => return Err(error),
        };
        let endpoint = read_endpoint(session, dialog).await?;
        let state = endpoint.as_ref().map(|endpoint| endpoint.state.as_str());
        let all = kinds.len() < statements::CAUSE_MESSAGES as usize;
        match cause::judge(&kinds, all, state, &self.options.also_resend) {
            Finding::Alive => Ok(Replaced::Alive),
            Finding::Unread => Err(Error::new(
                ErrorKind::Transient,
                "replies lie unread on it: receive them, and hand the Error message to the pool",
            )),
            Finding::Over(cause) => self.settle_or_leave(session, spec, dialog, &cause).await,
        }
    }

    /// Ends a dialog that is over, in the open transaction. Leaves it open where the options or the missing table say so.
    pub(super) async fn settle_or_leave(
        &self,
        session: &mut Session,
        spec: &DialogSpec,
        dialog: ConversationHandle,
        cause: &Cause,
    ) -> Result<Replaced> {
        let why = match settle(session, spec, dialog, cause).await? {
            Settlement::Done(settled) => {
                tell(dialog, cause, &settled);
                return Ok(Replaced::Settled(settled));
            }
            Settlement::Unseen if !self.options.leave_unknown_pending => return Err(unreadable(cause)),
            Settlement::Unseen => "what is pending on it cannot be seen",
            Settlement::Unkept => "its pending messages need the table of sql/07-sending.sql",
        };
        tracing::warn!(%dialog, cause = cause.reason, why, "a dialog of the pool is over and was left open");
        Ok(Replaced::LeftOpen)
    }

    /// The queue of one of our services; asked for once.
    async fn queue_of(&self, session: &mut Session, service: &ServiceName) -> Result<QueueName> {
        if let Some(queue) = self.known_queue(service) {
            return Ok(queue);
        }
        let queue = sending::queue_of(session, service).await?;
        self.learn_queue(service, &queue);
        Ok(queue)
    }
}

/// Messages that will not arrive are an error for somebody to look at.
fn tell(dialog: ConversationHandle, cause: &Cause, settled: &Settled) {
    let (resent, unsent, cause) = (settled.resent, settled.unsent, cause.reason.as_str());
    if unsent > 0 {
        tracing::error!(%dialog, cause, resent, unsent, "a dialog of the pool failed, and messages were not delivered");
    } else {
        tracing::info!(%dialog, cause, resent, "a dialog of the pool was over and was ended");
    }
}

/// Reads the endpoint of a conversation and the route of its dialog.
pub(super) async fn read_endpoint(
    session: &mut Session,
    dialog: ConversationHandle,
) -> Result<Option<Endpoint>> {
    let results = session.execute(&statements::endpoint(dialog)).await?;
    let Some(row) = results.first_row() else { return Ok(None) };
    let mut spec = DialogSpec::new(
        ServiceName::new(row.get::<String>("from_service")?)?,
        ServiceName::new(row.get::<String>("to_service")?)?,
    );
    spec.contract = Some(ContractName::new(row.get::<String>("contract")?)?);
    spec.broker_instance = row.get("broker_instance")?;
    let is_initiator = row.get::<i32>("is_initiator")? != 0;
    Ok(Some(Endpoint { state: row.get("state")?, is_initiator, spec }))
}

/// Undoes a failed repair. There may be nothing to go back to; the first error is the one to tell.
async fn give_back(session: &mut Session) {
    if !session.is_clean() {
        return;
    }
    if let Err(error) = session.rollback_to(statements::BEFORE_CAUSE).await {
        tracing::debug!(%error, "a failed repair had received nothing, or doomed its transaction");
    }
}

/// A failed repair leaves no transaction open. What was received is back already, so committing does not count against
/// the queue; a doomed transaction can only be rolled back.
async fn close_failed(session: &mut Session) {
    let committed = session.is_clean() && session.commit().await.is_ok();
    if !committed
        && session.is_clean()
        && let Err(error) = session.rollback_if_open().await
    {
        tracing::debug!(%error, "the connection of a failed repair is given up");
    }
}

async fn settle(
    session: &mut Session,
    spec: &DialogSpec,
    dialog: ConversationHandle,
    cause: &Cause,
) -> Result<Settlement> {
    let rights = read_rights(session).await?;
    if !(rights.readable || rights.lent) {
        return Ok(Settlement::Unseen);
    }
    let mut settled = Settled::default();
    let mut after = -1;
    loop {
        let page = read_page(session, rights, dialog, after).await?;
        let Some(last) = page.last() else { break };
        after = last.0;
        settled.ends_with = Some(last.1.message_type.clone());
        let refused = match cause.resend {
            true => resend(session, spec, &page, &mut settled).await?,
            false => page.iter().map(|each| (each, cause.code, cause.reason.clone())).collect(),
        };
        if !refused.is_empty() && !rights.unsent_table {
            return Ok(Settlement::Unkept);
        }
        settled.unsent += refused.len() as u64;
        for ((sequence, message), code, reason) in refused {
            let note = statements::note_unsent(spec, Some((dialog, *sequence)), message, code, &reason);
            session.execute(&note).await?;
        }
    }
    sending::end(session, Scope::Joined, dialog).await?;
    Ok(Settlement::Done(settled))
}

async fn read_rights(session: &mut Session) -> Result<Rights> {
    let results = session.batch(statements::PENDING_RIGHTS).await?;
    let row = results
        .first_row()
        .ok_or_else(|| Error::new(ErrorKind::Protocol, "the server does not say what this login may see"))?;
    let is = |column: &str| row.get::<Option<i32>>(column).map(|flag| flag == Some(1));
    let unsent_table = !row.value("unsent_table")?.is_null();
    Ok(Rights { readable: is("readable")?, lent: is("lent")?, unsent_table })
}

async fn read_page(
    session: &mut Session,
    rights: Rights,
    dialog: ConversationHandle,
    after: i64,
) -> Result<Vec<(i64, OutgoingMessage)>> {
    let statement = match rights {
        Rights { readable: true, .. } => statements::pending_messages(dialog, after),
        _ => statements::pending_messages_lent(dialog, after),
    };
    let rows = session.execute(&statement).await?.into_rows();
    rows.into_iter().map(pending).collect()
}

/// A message that cannot be sent again: with its number, the error's code, and words.
type Refused<'p> = (&'p (i64, OutgoingMessage), Option<i32>, String);

/// Sends a page again; the first message begins the new dialog. Answers what that refuses.
async fn resend<'p>(
    session: &mut Session,
    spec: &DialogSpec,
    page: &'p [(i64, OutgoingMessage)],
    settled: &mut Settled,
) -> Result<Vec<Refused<'p>>> {
    let opening = settled.successor.map_or(Opening::Begin(spec), Opening::Existing);
    let messages: Vec<&OutgoingMessage> = page.iter().map(|(_, message)| message).collect();
    let answer = sending::send_many(session, Scope::Joined, opening, &messages).await?;
    if answer.rolled_back {
        return Err(doomed(answer.outcomes));
    }
    settled.successor = answer.conversation;
    settled.resent += answer.outcomes.iter().filter(|outcome| outcome.is_sent()).count() as u64;
    let refused = answer.outcomes.into_iter().zip(page).filter_map(|(outcome, each)| {
        let error = outcome.into_result().err()?;
        let code = error.server_number().and_then(|number| i32::try_from(number).ok());
        Some((each, code, error.to_string()))
    });
    Ok(refused.collect())
}

fn kind(row: Row) -> Result<MessageKind> {
    Message::from_row(row).map(|message| message.kind)
}

fn pending(mut row: Row) -> Result<(i64, OutgoingMessage)> {
    let message_type = MessageTypeName::new(row.get::<String>("message_type_name")?)?;
    let body = match row.take("message_body")? {
        super::super::values::SqlValue::Bytes(bytes) => bytes,
        _ => Vec::new(),
    };
    Ok((row.get("message_sequence_number")?, OutgoingMessage::new(message_type, body)))
}

fn unreadable(cause: &Cause) -> Error {
    let text = format!(
        "it is over ({}), and only members of db_owner, or whoever may run the procedures of sql/07-sending.sql, see what \
         is still pending on it",
        cause.reason
    );
    Error::new(ErrorKind::PendingUnknown, text)
}

/// A lost deadlock stays what it is, so that the repair is done again.
fn doomed(outcomes: Vec<SendOutcome>) -> Error {
    let error =
        Error::new(ErrorKind::TransactionDoomed, "sending pending messages again doomed the transaction");
    match cause_of_roll_back(outcomes) {
        Some(cause) if cause.kind() == ErrorKind::Transient => cause,
        Some(cause) => error.with_cause(cause),
        None => error,
    }
}
