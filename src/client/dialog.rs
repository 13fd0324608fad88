//! One dialog: begun by a builder, sent on, ended once.
//!
//! Ending takes the dialog by value, so that neither a second end nor a send after the end compiles.

use std::time::Duration;

use super::body::Body;
use super::broker::Broker;
use super::error::{Error, ErrorKind, Result};
use super::ids::{ConversationGroup, ConversationHandle};
use super::message::OutgoingMessage;
use super::names::{ContractName, MessageTypeName, ServiceName};
use super::outcome::{SendOutcome, cause_of_roll_back};
use super::sending;
use super::statements::{DialogSpec, Opening, Relation, Scope};

/// Describes a dialog before it is begun; made by [`Broker::dialog`].
#[derive(Debug)]
#[must_use = "a dialog is begun by calling `begin`"]
pub struct DialogBuilder {
    broker: Broker,
    spec: Result<DialogSpec>,
}

impl DialogBuilder {
    pub(crate) fn new(broker: Broker, from: Result<ServiceName>, to: Result<ServiceName>) -> Self {
        let spec = from.and_then(|from| Ok(DialogSpec::new(from, to?)));
        Self { broker, spec }
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

    /// How long the dialog may live; both sides get an Error message (-8489) when it has not ended by then. Rounded up to
    /// whole seconds. Default: practically for ever.
    pub fn lifetime(self, lifetime: Duration) -> Self {
        self.set(|spec| {
            spec.lifetime_seconds = Some(lifetime_seconds(lifetime)?);
            Ok(())
        })
    }

    /// Whether messages that leave the instance must be encrypted. It needs certificates and, between databases, master
    /// keys. Default: no.
    pub fn encryption(self, required: bool) -> Self {
        self.set(|spec| {
            spec.encryption = required;
            Ok(())
        })
    }

    /// Joins the conversation group of an existing conversation, so that its messages and those of the new dialog are
    /// received together. Replaces [`in_group`](Self::in_group).
    pub fn related_to(self, conversation: ConversationHandle) -> Self {
        self.set(|spec| {
            spec.relation = Relation::Conversation(conversation.as_uuid());
            Ok(())
        })
    }

    /// Joins this conversation group, which is made if it does not exist. Replaces [`related_to`](Self::related_to).
    pub fn in_group(self, group: ConversationGroup) -> Self {
        self.set(|spec| {
            spec.relation = Relation::Group(group.as_uuid());
            Ok(())
        })
    }

    /// Begins the dialog. Nothing is sent to the target before the first message.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] for a faulty name; `ObjectMissing` when our own service or the contract does not exist (a
    /// missing *target* shows later, as an Error message or as a message that waits); `CommitUnknown` when the answer was
    /// lost.
    ///
    /// Dropping the future may leave a dialog behind that nobody knows; a lifetime bounds that.
    pub async fn begin(self) -> Result<Dialog> {
        let spec = self.spec?;
        let mut session = self.broker.session().await?;
        let conversation = sending::begin(&mut session, Scope::Own, &spec).await?;
        drop(session);
        Ok(Dialog::new(self.broker, conversation))
    }

    /// Begins the dialog and sends the first messages, in one transaction and, up to 100 messages, one round trip.
    ///
    /// # Errors
    /// Those of [`begin`](Self::begin); messages that are refused by themselves have an error in their outcome. When the
    /// transaction was rolled back there is no dialog: `TransactionDoomed`.
    ///
    /// Dropping the future leaves it open whether the dialog was begun.
    pub async fn begin_with(self, messages: &[OutgoingMessage]) -> Result<(Dialog, Vec<SendOutcome>)> {
        let spec = self.spec?;
        let mut session = self.broker.session().await?;
        let messages: Vec<_> = messages.iter().collect();
        let answer = sending::send_many(&mut session, Scope::Own, Opening::Begin(&spec), &messages).await?;
        drop(session);
        match answer.conversation {
            Some(conversation) if !answer.rolled_back => {
                Ok((Dialog::new(self.broker, conversation), answer.outcomes))
            }
            _ => Err(rolled_back(answer.outcomes)),
        }
    }

    pub(crate) fn into_spec(self) -> Result<DialogSpec> {
        self.spec
    }

    fn set(mut self, change: impl FnOnce(&mut DialogSpec) -> Result<()>) -> Self {
        self.spec = self.spec.and_then(|mut spec| {
            change(&mut spec)?;
            Ok(spec)
        });
        self
    }
}

/// A lifetime as BEGIN DIALOG takes it.
pub(crate) fn lifetime_seconds(lifetime: Duration) -> Result<i32> {
    let seconds = lifetime.as_secs() + u64::from(lifetime.subsec_nanos() > 0);
    let seconds = i32::try_from(seconds).ok().filter(|seconds| *seconds > 0);
    seconds.ok_or_else(|| Error::config(format!("a dialog cannot have the lifetime {lifetime:?}")))
}

/// The dialog is gone with its transaction; the first failure is the likely reason.
fn rolled_back(outcomes: Vec<SendOutcome>) -> Error {
    let error =
        Error::new(ErrorKind::TransactionDoomed, "the dialog was not begun: the transaction was rolled back");
    match cause_of_roll_back(outcomes) {
        Some(reason) => error.with_cause(reason),
        None => error,
    }
}

/// One side of a conversation.
///
/// Every call is a transaction of its own. To send in the same transaction as a RECEIVE or as business data, use the
/// batch of a receiver instead.
///
/// Dropping a dialog leaves the conversation open on the server; [`handle`](Self::handle) and [`Broker::attach`] lead back
/// to it. A conversation that nobody ends stays for ever, unless it has a lifetime.
#[derive(Debug)]
pub struct Dialog {
    broker: Broker,
    conversation: ConversationHandle,
}

impl Dialog {
    pub(crate) fn new(broker: Broker, conversation: ConversationHandle) -> Self {
        Self { broker, conversation }
    }

    /// The conversation handle of our side.
    #[must_use]
    pub fn handle(&self) -> ConversationHandle {
        self.conversation
    }

    /// Sends a message.
    ///
    /// # Errors
    /// `DialogOver` when the conversation ended or failed, `MessageRefused` for a wrong type or body, `CommitUnknown` when
    /// the answer was lost; then the message may have been sent.
    ///
    /// Dropping the future leaves it open whether the message was sent.
    pub async fn send<M>(&self, message_type: M, body: impl Into<Body>) -> Result<()>
    where
        M: TryInto<MessageTypeName>,
        Error: From<M::Error>,
    {
        let message = OutgoingMessage::new(message_type.try_into()?, body);
        let mut session = self.broker.session().await?;
        sending::send(&mut session, Scope::Own, self.conversation, &message).await
    }

    /// Sends messages in order, in one transaction and, up to 100 messages, one round trip. Each gets its own outcome: one
    /// that is refused does not keep the others from being sent.
    ///
    /// # Errors
    /// Those that concern the whole call: connection, login, `CommitUnknown`. After those nothing is known to be sent.
    ///
    /// Dropping the future leaves it open whether the messages were sent; it is all that were not refused or none.
    pub async fn send_many(&self, messages: &[OutgoingMessage]) -> Result<Vec<SendOutcome>> {
        if messages.is_empty() {
            return Ok(Vec::new());
        }
        let mut session = self.broker.session().await?;
        let messages: Vec<_> = messages.iter().collect();
        let opening = Opening::Existing(self.conversation);
        sending::send_many(&mut session, Scope::Own, opening, &messages).await.map(|answer| answer.outcomes)
    }

    /// Starts or replaces the conversation timer: after this time, rounded up to seconds, a DialogTimer message is put on
    /// our own queue. The peer does not notice.
    ///
    /// # Errors
    /// `Statement` (8410) when it lies beyond the lifetime of the dialog; `DialogOver` when the conversation failed.
    ///
    /// Dropping the future leaves it open whether the timer was started.
    pub async fn timer(&self, after: Duration) -> Result<()> {
        let mut session = self.broker.session().await?;
        sending::start_timer(&mut session, Scope::Own, self.conversation, after).await
    }

    /// Ends our side. Unless the peer has ended already, it gets an EndDialog message after everything we sent.
    ///
    /// Prefer that the target ends first: when the initiator ends right after sending, errors of delivery find nobody.
    ///
    /// ```compile_fail,E0382
    /// # async fn example(dialog: ssbroker::client::Dialog) -> Result<(), ssbroker::client::Error> {
    /// dialog.end().await?;
    /// dialog.end().await?; // the dialog is gone
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// ```compile_fail,E0382
    /// # async fn example(dialog: ssbroker::client::Dialog) -> Result<(), ssbroker::client::Error> {
    /// dialog.end().await?;
    /// dialog.send("//t/late", Vec::new()).await?; // so is the right to send on it
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `DialogOver` when it had ended before; `CommitUnknown` when the answer was lost. After an error take it up again
    /// with [`Broker::attach`] and its handle.
    ///
    /// Dropping the future leaves it open whether our side was ended; [`Broker::delivery_status`] tells.
    pub async fn end(self) -> Result<()> {
        let mut session = self.broker.session().await?;
        sending::end(&mut session, Scope::Own, self.conversation).await
    }

    /// Ends our side with an error for the peer: a code above 0 and a text of at most 3,000 characters. What we sent and
    /// has not left yet is dropped.
    ///
    /// ```compile_fail,E0382
    /// # async fn example(dialog: ssbroker::client::Dialog) -> Result<(), ssbroker::client::Error> {
    /// dialog.end_with_error(1, "out of paper").await?;
    /// dialog.send("//t/late", Vec::new()).await?; // as after `end`, the dialog is gone
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// ```compile_fail,E0382
    /// # async fn example(dialog: ssbroker::client::Dialog) -> Result<(), ssbroker::client::Error> {
    /// dialog.end_with_error(1, "out of paper").await?;
    /// dialog.end().await?; // and ended once
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`end`](Self::end); [`ErrorKind::Config`] for a code or text outside those limits.
    ///
    /// Dropping the future leaves it open whether our side was ended.
    pub async fn end_with_error(self, code: i32, text: &str) -> Result<()> {
        let mut session = self.broker.session().await?;
        sending::end_with_error(&mut session, Scope::Own, self.conversation, code, text).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::error::ServerError;

    #[test]
    fn a_lost_dialog_names_the_servers_reason_as_its_cause() {
        let mut outcomes = vec![SendOutcome::sent(0), SendOutcome::sent(1)];
        outcomes[1] = SendOutcome::failed(1, Error::from_server(ServerError::new(1205, "victim")));
        super::super::outcome::mark_rolled_back(&mut outcomes);
        let error = rolled_back(outcomes);
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.contains("1205"), "{cause}");
    }
}
