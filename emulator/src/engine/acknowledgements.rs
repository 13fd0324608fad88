//! Acknowledgements that are held back on request: a message has arrived, and its sender cannot know.
//!
//! Inside one instance a message that arrives is acknowledged at once (spec 3.2); between two servers the acknowledgement
//! may be late or lost, and the message stays in the sender's transmission queue with an empty status (spec 4.2). This
//! file must not know why a message arrived.

use super::core::Core;
use super::definitions::{Endpoint, MessageKind, PendingSend, TransmissionRow};
use super::ids::DatabaseId;
use super::tx::Tx;
use crate::value::Timestamp;

impl Core {
    /// Holds acknowledgements of application messages back from now on, or lets all that were held back come.
    pub(crate) fn withhold_acknowledgements(&mut self, withhold: bool, now: Timestamp) {
        self.broker.withholds_acknowledgements = withhold;
        if withhold {
            return;
        }
        let rows = self.state().transmission.iter().filter(|row| row.arrived);
        for row in rows.cloned().collect::<Vec<_>>() {
            self.in_background(row.database, now, |tx| tx.acknowledge_late(&row));
        }
    }
}

impl Tx<'_> {
    /// The sender learns that its message has arrived in a database, unless acknowledgements are held back.
    pub(super) fn acknowledge_arrival(&mut self, sender: &Endpoint, send: &PendingSend, by: DatabaseId) {
        if !self.core.broker.withholds_acknowledgements || send.kind != MessageKind::User {
            return self.acknowledge(sender, send, Some(by));
        }
        let order = self.allocate_transmission();
        let row = TransmissionRow { arrived: true, ..self.pending_row(order, sender, send) };
        self.keep_pending(row);
    }

    fn acknowledge_late(&mut self, row: &TransmissionRow) {
        self.put_transmission(row.order, None);
        let sender = self.state().endpoints.get(row.handle).cloned();
        let peer = self.state().endpoints.side(row.conversation_id, !row.from_initiator);
        let by = peer.map(|peer| peer.database);
        if let Some(sender) = sender {
            self.acknowledge(&sender, &super::dispatch::sent_again(row), by);
        }
    }
}
