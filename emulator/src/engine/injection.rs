//! Faults that a test asks for, where no statement could cause them: a broker's error on a conversation.
//!
//! What happens then is what happens to any such error; nothing here knows why it is asked for.

use uuid::Uuid;

use super::broker_faults::BrokerFault;
use super::core::{Call, Core};
use super::ids::SessionId;
use crate::value::Timestamp;

impl Core {
    /// Lets the conversation at this endpoint fail with a broker's error, as if the peer's broker had answered it (spec 4.5).
    /// `number` is that of `sys.messages`; the Error message carries it negated. Returns whether there is such an endpoint.
    pub fn fail_conversation(&mut self, handle: Uuid, number: u32, text: &str, now: Timestamp) -> bool {
        let Some(database) = self.state().endpoints.get(handle).map(|endpoint| endpoint.database) else {
            return false;
        };
        let code = -i32::try_from(number).unwrap_or(i32::MAX);
        let fault = BrokerFault { code, text: text.to_owned() };
        self.in_background(database, now, |tx| {
            tx.fail(handle, &fault);
            tx.retry_transmission();
        });
        self.settle(&Call { session: SessionId::SYSTEM, now }, true);
        self.collect_wakes();
        true
    }
}
