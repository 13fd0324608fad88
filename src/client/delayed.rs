//! Sending later: messages are kept in a table (`sql/08-delayed-messages.sql`) until their time, and a pump sends them.
//!
//! Service Broker has no delayed SEND. A row is deleted in the transaction that sends its message, so each is sent exactly
//! once whatever dies in between; time is the server's. Any process may pump; of several, one works and the others wait.

use std::future::Future;
use std::time::{Duration, SystemTime};

use super::broker::Broker;
use super::dialog_pool::{BorrowedPlace, Destination, DialogPool, MOST_ATTEMPTS};
use super::error::{Error, ErrorKind, Result};
use super::message::OutgoingMessage;
use super::names::MessageTypeName;
use super::outcome::{SendOutcome, cause_of_roll_back};
use super::pool::random_fraction;
use super::retry::Backoff;
use super::rows::Row;
use super::sending;
use super::server_codes;
use super::session::Session;
use super::statements::{self, DialogSpec, Due, Opening, Scope};
use super::values::SqlValue;

/// How long the pump sleeps at most: a message that another process delays by less is sent at most this late.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// What one call of [`DialogPool::send_due`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DueSent {
    /// Messages sent.
    pub sent: u64,
    /// Messages the server refused, or to whose destination no dialog can be begun; they went to the table of unsent
    /// messages.
    pub unsent: u64,
    /// How long until the next one is due; `None` when there is none.
    pub next: Option<Duration>,
}

impl DialogPool {
    /// Keeps messages and has them sent after a time, which the server measures; resolution one second with the pump of
    /// [`run_delayed`](Self::run_delayed). All are kept or none.
    ///
    /// # Errors
    /// `Config` for a delay of more than 68 years; `ObjectMissing` without the table of `sql/08-delayed-messages.sql`;
    /// `MessageRefused` for a body above the limit of the options; `CommitUnknown` when the answer was lost.
    /// Dropping the future leaves it open whether they are kept.
    pub async fn send_after(
        &self,
        destination: &Destination,
        delay: Duration,
        messages: &[OutgoingMessage],
    ) -> Result<()> {
        let seconds = i32::try_from(delay.as_secs())
            .map_err(|_too_long| Error::config(format!("a message cannot be delayed by {delay:?}")))?;
        let milliseconds = delay.subsec_millis().cast_signed();
        self.keep(destination, Due::After { seconds, milliseconds }, messages).await
    }

    /// Keeps messages and has them sent at a moment; one in the past is now. Otherwise like
    /// [`send_after`](Self::send_after), but compared with the server's clock.
    ///
    /// # Errors
    /// As [`send_after`](Self::send_after). Dropping the future leaves it open whether they are kept.
    pub async fn send_at(
        &self,
        destination: &Destination,
        moment: SystemTime,
        messages: &[OutgoingMessage],
    ) -> Result<()> {
        self.keep(destination, Due::At(moment.into()), messages).await
    }

    /// Sends messages whose time has come: those of one destination, at most 100, in order of their times, in one
    /// transaction. Call it until it answers 0 sent and unsent. What cannot be sent whatever comes, for example because its
    /// contract does not exist, goes to the table of unsent messages with the reason and does not hold up the others.
    ///
    /// # Errors
    /// As [`send`](Self::send); the messages stay kept. Dropping the future leaves it open whether they were sent; they are
    /// not sent twice.
    pub async fn send_due(&self) -> Result<DueSent> {
        let due = read_due(&mut *self.broker().session().await?).await?;
        let Some(first) = due.first() else {
            return Ok(DueSent { next: next_due(self.broker()).await?, ..DueSent::default() });
        };
        let destination = first.destination.clone();
        let mut place = match self.borrow_place(&destination).await {
            Ok(place) => place,
            Err(error) if is_for_good(&error) => return self.set_aside(&destination, None, &error).await,
            Err(error) => return Err(error),
        };
        for _ in 0..MOST_ATTEMPTS {
            match self.attempt(&mut place, &destination).await? {
                Attempt::Done(done) => {
                    place.committed();
                    return Ok(DueSent { next: Some(Duration::ZERO), ..done });
                }
                Attempt::Refused(id, error) => {
                    place.rolled_back();
                    return self.set_aside(&destination, Some(id), &error).await;
                }
                Attempt::DialogOver => {
                    let dialog = place.dialog()?;
                    place.replace(dialog).await?;
                }
            }
        }
        Err(Error::new(
            ErrorKind::Transient,
            "the dialogs for delayed messages are over as soon as they are begun",
        ))
    }

    /// Sends messages as their time comes, until `stop` is done. A lost connection and the like are tried again with growing
    /// pauses.
    ///
    /// # Errors
    /// Those that trying again does not mend, such as a missing table. Dropping the future is safe.
    pub async fn run_delayed(&self, stop: impl Future<Output = ()>) -> Result<()> {
        tokio::pin!(stop);
        let mut failures = 0;
        loop {
            let pause = match self.send_due().await {
                Ok(done) => {
                    failures = 0;
                    done.next.unwrap_or(LONGEST_SLEEP).min(LONGEST_SLEEP)
                }
                Err(error) if error.is_retryable() || error.is_connection_lost() => {
                    tracing::warn!(%error, "sending delayed messages failed, trying again");
                    failures += 1;
                    Backoff::reconnect().delay(failures, random_fraction())
                }
                Err(error) => return Err(error),
            };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = &mut stop => return Ok(()),
            }
        }
    }

    /// One transaction; it is committed when its messages are done with.
    async fn attempt(&self, place: &mut BorrowedPlace, destination: &Destination) -> Result<Attempt> {
        let mut session = self.broker().session().await?;
        session.begin().await?;
        let attempt = send_claimed(&mut session, place, destination).await;
        if let Ok(Attempt::Done(_)) = attempt {
            session.commit().await?;
        } else if session.is_clean() {
            session.rollback_if_open().await?;
        }
        attempt
    }

    /// Moves one message that is due, or all to a destination, to the table of unsent messages.
    async fn set_aside(
        &self,
        destination: &Destination,
        only: Option<i64>,
        reason: &Error,
    ) -> Result<DueSent> {
        let spec = self.spec_of(destination);
        let mut session = self.broker().session().await?;
        session.begin().await?;
        match move_to_unsent(&mut session, &spec, destination, only, reason).await {
            Ok(unsent) => {
                session.commit().await?;
                tracing::error!(to = %spec.to, unsent, %reason, "delayed messages cannot be sent");
                Ok(DueSent { unsent, next: Some(Duration::ZERO), ..DueSent::default() })
            }
            Err(error) => {
                if session.is_clean() {
                    session.rollback_if_open().await?;
                }
                Err(error)
            }
        }
    }

    async fn keep(&self, destination: &Destination, due: Due, messages: &[OutgoingMessage]) -> Result<()> {
        let spec = self.spec_of(destination);
        let mut session = self.broker().session().await?;
        sending::check_bodies(&*session, messages)?;
        session.begin().await?;
        for message in messages {
            let kept =
                session.execute(&statements::delay(due, &spec, destination.order_key(), message)).await;
            if let Err(error) = kept {
                if session.is_clean() {
                    session.rollback_if_open().await?;
                }
                return Err(error.during("keeping a message in ssbroker.delayed_messages"));
            }
        }
        session.commit().await
    }
}

/// A kept message.
struct Kept {
    id: i64,
    destination: Destination,
    message: OutgoingMessage,
}

enum Attempt {
    Done(DueSent),
    DialogOver,
    /// The message with this number doomed the transaction, and would do so again.
    Refused(i64, Error),
}

/// Whether the server refuses what was asked of it as such, so that trying again is of no use.
fn is_for_good(error: &Error) -> bool {
    use ErrorKind::{MessageRefused, ObjectMissing, PermissionDenied, Statement};
    error.server().is_some()
        && matches!(error.kind(), MessageRefused | ObjectMissing | PermissionDenied | Statement)
}

async fn read_due(session: &mut Session) -> Result<Vec<Kept>> {
    let results = session.execute(&statements::due_messages()).await;
    let results = results.map_err(|error| error.during("reading ssbroker.delayed_messages"))?;
    results.into_rows().into_iter().map(kept).collect()
}

async fn next_due(broker: &Broker) -> Result<Option<Duration>> {
    let mut session = broker.session().await?;
    let results = session.batch(statements::NEXT_DUE).await?;
    let wait: Option<i64> = results.first_row().map_or(Ok(None), |row| row.get("wait"))?;
    Ok(wait.map(|wait| Duration::from_millis(u64::try_from(wait).unwrap_or(0))))
}

/// Claims what is due, sends what goes to that destination, and deletes it.
async fn send_claimed(
    session: &mut Session,
    place: &mut BorrowedPlace,
    destination: &Destination,
) -> Result<Attempt> {
    let mut due = read_due(session).await?;
    due.retain(|kept| kept.destination == *destination);
    if due.is_empty() {
        return Ok(Attempt::Done(DueSent::default()));
    }
    let messages: Vec<&OutgoingMessage> = due.iter().map(|kept| &kept.message).collect();
    place.sending(messages.iter().copied());
    let opening = Opening::Existing(place.dialog()?);
    let answer = sending::send_many(session, Scope::Joined, opening, &messages).await?;
    if answer.outcomes.iter().any(|outcome| outcome.error().is_some_and(Error::dialog_is_over)) {
        return Ok(Attempt::DialogOver);
    }
    if answer.rolled_back {
        return dooming(answer.outcomes, &due);
    }
    let mut done = DueSent::default();
    for (outcome, kept) in answer.outcomes.into_iter().zip(&due) {
        match outcome.into_result() {
            Ok(()) => done.sent += 1,
            Err(error) => {
                note_unsent(session, place.spec(), kept, &error).await?;
                done.unsent += 1;
            }
        }
    }
    delete(session, &due).await?;
    Ok(Attempt::Done(done))
}

/// Notes what is due and cannot be sent, and deletes it; answers how many there were.
async fn move_to_unsent(
    session: &mut Session,
    spec: &DialogSpec,
    destination: &Destination,
    only: Option<i64>,
    reason: &Error,
) -> Result<u64> {
    let mut due = read_due(session).await?;
    due.retain(|kept| kept.destination == *destination && only.is_none_or(|only| only == kept.id));
    for kept in &due {
        note_unsent(session, spec, kept, reason).await?;
    }
    delete(session, &due).await?;
    Ok(due.len() as u64)
}

async fn note_unsent(session: &mut Session, spec: &DialogSpec, kept: &Kept, error: &Error) -> Result<()> {
    let code = error.server_number().and_then(|number| i32::try_from(number).ok());
    let reason = error.to_string();
    let note = statements::note_unsent(spec, None, &kept.message, code, &reason);
    let noted = session.execute(&note).await;
    noted.map(drop).map_err(|error| error.during("noting a refused message in ssbroker.unsent"))
}

async fn delete(session: &mut Session, done: &[Kept]) -> Result<()> {
    let ids: Vec<i64> = done.iter().map(|kept| kept.id).collect();
    if ids.is_empty() {
        return Ok(());
    }
    session.execute(&statements::delete_delayed(&ids)).await.map(drop)
}

/// Which message doomed the transaction; those behind it only say that it was doomed.
fn dooming(outcomes: Vec<SendOutcome>, due: &[Kept]) -> Result<Attempt> {
    let is_cause = |outcome: &&SendOutcome| {
        let error = outcome.error().filter(|error| is_for_good(error));
        error.is_some_and(|error| error.server_number() != Some(server_codes::TRANSACTION_DOOMED))
    };
    let cause = outcomes.iter().find(is_cause);
    match cause.and_then(|outcome| Some((due.get(outcome.index())?.id, outcome.error()?.clone()))) {
        Some((id, error)) => Ok(Attempt::Refused(id, error)),
        None => Err(first_failure(outcomes)),
    }
}

fn first_failure(outcomes: Vec<SendOutcome>) -> Error {
    cause_of_roll_back(outcomes)
        .unwrap_or_else(|| Error::new(ErrorKind::TransactionDoomed, "the transaction was rolled back"))
}

fn kept(mut row: Row) -> Result<Kept> {
    let text = |row: &Row, column: &str| row.get::<String>(column);
    let mut destination = Destination::new(text(&row, "from_service_name")?, text(&row, "to_service_name")?)?;
    if let Some(contract) = row.get::<Option<String>>("contract_name")? {
        destination = destination.contract(contract)?;
    }
    if let Some(instance) = row.get::<Option<String>>("broker_instance")? {
        destination = destination.broker_instance(instance);
    }
    if let Some(key) = row.get::<Option<String>>("order_key")? {
        destination = destination.key(key);
    }
    let message_type = MessageTypeName::new(text(&row, "message_type_name")?)?;
    let body = match row.take("message_body")? {
        SqlValue::Bytes(bytes) => bytes,
        _ => Vec::new(),
    };
    Ok(Kept { id: row.get("id")?, destination, message: OutgoingMessage::new(message_type, body) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::error::ServerError;

    fn attempt(numbers: &[u32]) -> Result<Attempt> {
        let outcome = |(index, number): (usize, &u32)| match number {
            0 => SendOutcome::sent(index),
            _ => SendOutcome::failed(index, Error::from_server(ServerError::new(*number, ""))),
        };
        let message = OutgoingMessage::new(MessageTypeName::new("//t/m").unwrap(), Vec::new());
        let destination = Destination::new("//t/a", "//t/b").unwrap();
        let kept = |id| Kept { id, destination: destination.clone(), message: message.clone() };
        let due: Vec<Kept> = (10..).take(numbers.len()).map(kept).collect();
        dooming(numbers.iter().enumerate().map(outcome).collect(), &due)
    }

    #[test]
    fn the_message_that_doomed_a_transaction_is_named_and_not_those_behind_it() {
        for numbers in [[0, 9615, 3930], [3930, 9615, 3930]] {
            let Ok(Attempt::Refused(id, error)) = attempt(&numbers) else { panic!("{numbers:?}") };
            assert_eq!((id, error.server_number()), (11, Some(9615)));
        }
    }

    #[test]
    fn a_transaction_that_lost_a_deadlock_is_no_messages_fault() {
        let Err(error) = attempt(&[0, 1205, 3930]) else { panic!("nothing is refused for good") };
        assert_eq!(error.kind(), ErrorKind::Transient);
        assert!(attempt(&[3930]).is_err());
    }
}
