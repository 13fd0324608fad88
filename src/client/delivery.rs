//! What became of messages that were sent: delivered, waiting and why, or given up.
//!
//! SEND succeeds when the message is accepted, not when it is delivered; an unknown target service or a broker that is
//! off show here only. Nothing here changes anything.

use super::broker::Broker;
use super::error::{Error, ErrorKind, Result};
use super::ids::ConversationHandle;
use super::rows::Row;
use super::statements;

/// How many conversations one request asks about; it takes 2,100 parameters.
const MOST_HANDLES: usize = 500;

/// What is known about the delivery of what was sent on a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeliveryStatus {
    /// The state of our endpoint; `None` when there is none, because both sides ended or it never existed.
    pub state: Option<ConversationState>,
    /// How many messages wait in `sys.transmission_queue`; `None` when this login may not know: only members of db_owner do,
    /// and who may run `ssbroker.count_pending` of `sql/07-sending.sql`.
    pub pending: Option<u64>,
    /// Why the last attempt to deliver failed, in the server's words; empty when it did not fail or there was none.
    pub reason: String,
}

/// The state of a conversation endpoint, as `sys.conversation_endpoints` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConversationState {
    /// Begun, and nothing sent yet.
    StartedOutbound,
    /// The first message has arrived in part.
    StartedInbound,
    /// Open on both sides.
    Conversing,
    /// The peer has ended; ours is left to end.
    DisconnectedInbound,
    /// We have ended; the peer has not.
    DisconnectedOutbound,
    /// It failed; the Error message says why.
    Failed,
    /// Ended on both sides.
    Closed,
}

impl DeliveryStatus {
    /// Whether everything sent so far lies at the target, as far as this login can know. A conversation that failed or is
    /// gone did not deliver what was pending on it.
    #[must_use]
    pub fn is_delivered(&self) -> Option<bool> {
        match (self.state, self.pending) {
            (Some(ConversationState::Failed) | None, _) => Some(false),
            (Some(_), Some(pending)) => Some(pending == 0),
            // Any failed attempt leaves its reason until a later one succeeds.
            (Some(_), None) => (!self.reason.is_empty()).then_some(false),
        }
    }
}

impl Broker {
    /// Asks what became of the messages sent on a conversation. One round trip; nothing is locked.
    ///
    /// # Errors
    /// Those of connecting, and the server's. Dropping the future changes nothing.
    pub async fn delivery_status(&self, conversation: ConversationHandle) -> Result<DeliveryStatus> {
        let mut session = self.session().await?;
        let results = session.execute(&statements::delivery_status(conversation)).await?;
        let row = results.first_row().ok_or_else(|| {
            Error::new(ErrorKind::Protocol, "the server does not answer about a conversation")
        })?;
        let state = row.get::<Option<String>>("state")?;
        let reason: Option<String> = row.get("transmission_status")?;
        Ok(DeliveryStatus {
            state: state.as_deref().map(read_state).transpose()?,
            pending: read_pending(row)?,
            reason: reason.map(|text| text.trim_end().to_owned()).unwrap_or_default(),
        })
    }
}

/// How many messages are pending on these conversations.
///
/// # Errors
/// [`ErrorKind::PendingUnknown`] when this login may not know.
pub(crate) async fn count_pending(broker: &Broker, dialogs: &[ConversationHandle]) -> Result<u64> {
    let mut session = broker.session().await?;
    let mut pending = 0;
    for some in dialogs.chunks(MOST_HANDLES) {
        let results = session.execute(&statements::count_pending(some)).await?;
        let known = results.first_row().map_or(Ok(None), read_pending)?;
        pending += known.ok_or_else(|| {
            Error::new(
                ErrorKind::PendingUnknown,
                "only members of db_owner, or whoever may run ssbroker.count_pending of sql/07-sending.sql, see what is \
                 pending",
            )
        })?;
    }
    Ok(pending)
}

fn read_pending(row: &Row) -> Result<Option<u64>> {
    let pending: Option<i64> = row.get("pending")?;
    Ok(pending.map(|count| u64::try_from(count).unwrap_or(0)))
}

/// The two-letter codes of specification section 3.1.
fn read_state(code: &str) -> Result<ConversationState> {
    Ok(match code.trim() {
        "SO" => ConversationState::StartedOutbound,
        "SI" => ConversationState::StartedInbound,
        "CO" => ConversationState::Conversing,
        "DI" => ConversationState::DisconnectedInbound,
        "DO" => ConversationState::DisconnectedOutbound,
        "ER" => ConversationState::Failed,
        "CD" => ConversationState::Closed,
        other => {
            return Err(Error::new(
                ErrorKind::Protocol,
                format!("a conversation has the unknown state {other}"),
            ));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(state: Option<ConversationState>, pending: Option<u64>, reason: &str) -> DeliveryStatus {
        DeliveryStatus { state, pending, reason: reason.to_owned() }
    }

    #[test]
    fn delivered_is_known_only_as_far_as_pending_is() {
        let conversing = Some(ConversationState::Conversing);
        assert_eq!(status(conversing, Some(0), "").is_delivered(), Some(true));
        assert_eq!(status(conversing, Some(2), "no route").is_delivered(), Some(false));
        assert_eq!(status(conversing, None, "").is_delivered(), None);
        assert_eq!(status(conversing, None, "no route").is_delivered(), Some(false));
        assert_eq!(status(Some(ConversationState::Failed), Some(0), "").is_delivered(), Some(false));
        assert_eq!(status(None, None, "").is_delivered(), Some(false));
    }

    #[test]
    fn every_state_of_the_catalog_is_read_with_its_padding() {
        for code in ["SO", "SI", "CO", "DI", "DO", "ER ", "CD"] {
            assert!(read_state(code).is_ok(), "{code}");
        }
        assert!(read_state("XX").is_err());
    }
}
