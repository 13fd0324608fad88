//! Delivery: what the effects of a committing transaction do to other endpoints and queues (spec 4).
//!
//! Runs inside the commit, so it needs no locks of conversation groups (spec 2.10), and nothing of it fails: what cannot
//! be delivered waits in the transmission queue, what may not be delivered comes back as an Error message. Which of
//! these it is, `dispatch.rs` decides. This file must not know statements.

use std::sync::Arc;

use bytes::Bytes;
use uuid::Uuid;

use super::broker_faults::BrokerFault;
use super::definitions::{
    Effect, Endpoint, EndpointState, Inbound, MessageKind, MessageStatus, MessageType, PeerSide,
    StoredMessage,
};
use super::ids::QueueKey;
use super::system_messages::{error_body, names};
use super::tx::Tx;
use crate::value::Timestamp;

/// A message about to be put into a queue.
pub(super) struct Arrival {
    pub(super) kind: MessageKind,
    pub(super) message_type: Arc<MessageType>,
    /// U-27: -1 for what a broker made.
    pub(super) sequence: i64,
    pub(super) body: Option<Bytes>,
    pub(super) message_id: Uuid,
}

impl Tx<'_> {
    /// Lets the effects of a transaction take place, in order.
    pub(super) fn apply(&mut self, effects: &[Effect]) {
        effects.iter().for_each(|effect| match effect {
            Effect::Send(send) => self.dispatch(send),
            Effect::DropPending(handle) => self.drop_pending(*handle),
            Effect::Settle(handle) => self.settle_endpoint(*handle),
            Effect::SetTimer(handle, due) => self.set_timer(*handle, Some(*due)),
            Effect::Received(queue, orders) => self.settle_received(*queue, orders),
            Effect::Fail(handle, code, text) => {
                self.fail(*handle, &BrokerFault { code: *code, text: text.to_string() })
            }
            Effect::Remove(handle, queue) => self.remove_endpoint(*handle, *queue),
            Effect::MoveMessages(service, from, to) => self.move_messages(*service, *from, *to),
            Effect::Interrupt(queue, service, error) => {
                self.core.broker.interrupt(*queue, *service, error);
            }
            Effect::CatalogChanged => self.core.broker.catalog_changed = true,
        })
    }

    /// Puts a broker-made Error in front of the application of an endpoint (spec 4.5).
    pub(super) fn fail(&mut self, handle: Uuid, fault: &BrokerFault) {
        let Some(endpoint) = self.state().endpoints.get(handle).cloned() else { return };
        let Some(queue) = self.state().queue_of(&endpoint) else { return };
        if endpoint.own.ended && !self.is_being_changed(&endpoint) {
            // Nobody is there to take the error: it goes, and so does the endpoint (spec 3.2).
            return self.remove_endpoint(handle, queue);
        }
        if !self.state().takes_messages(queue) {
            self.core.broker.overdue.insert(handle);
            let held_error = Some((fault.code, fault.text.as_str().into()));
            return self.change_inbound(&endpoint, |inbound| Inbound {
                held_error,
                overdue: true,
                ..inbound
            });
        }
        let message_id = self.new_uuid();
        let body = Some(error_body(fault.code, &fault.text));
        let arrival = Arrival {
            kind: MessageKind::Error,
            message_type: self.system_type(names::ERROR),
            sequence: -1,
            body,
            message_id,
        };
        self.enqueue(queue, &endpoint, arrival);
        self.change_inbound(&endpoint, |inbound| Inbound {
            peer: PeerSide::Failed,
            held_error: None,
            ..inbound
        })
    }

    /// Puts a message into the queue of an endpoint.
    pub(super) fn enqueue(&mut self, queue: QueueKey, endpoint: &Endpoint, arrival: Arrival) {
        self.core.broker.counters.messages_delivered += 1;
        self.store(queue, endpoint, arrival, MessageStatus::Ready)
    }

    /// Keeps a copy of a sent message in the sender's queue (RETENTION, spec 2.3.6).
    pub(super) fn retain(&mut self, queue: QueueKey, endpoint: &Endpoint, arrival: Arrival) {
        self.store(queue, endpoint, arrival, MessageStatus::Sent)
    }

    /// Changes what has arrived at an endpoint.
    pub(super) fn change_inbound(&mut self, endpoint: &Endpoint, change: impl FnOnce(Inbound) -> Inbound) {
        let inbound = change(endpoint.inbound.clone());
        self.put_endpoint(endpoint.handle, Some(Arc::new(Endpoint { inbound, ..endpoint.clone() })));
    }

    /// A system message type; every database has them under the same ids.
    pub(super) fn system_type(&self, name: &str) -> Arc<MessageType> {
        let found = self.state().message_type(self.database(), name).cloned();
        found.expect("system message types cannot be dropped (9663)")
    }

    /// Sets or clears an endpoint's timer.
    pub(super) fn set_timer(&mut self, handle: Uuid, timer: Option<Timestamp>) {
        let endpoint = self.state().endpoints.get(handle).filter(|endpoint| !endpoint.own.ended).cloned();
        if let Some(endpoint) = endpoint {
            self.change_inbound(&endpoint, |inbound| Inbound { timer, ..inbound });
        }
    }

    /// After a side has ended: its messages leave the queue, and a closed endpoint goes or waits for its purge.
    pub(super) fn settle_endpoint(&mut self, handle: Uuid) {
        let Some(endpoint) = self.state().endpoints.get(handle).cloned() else { return };
        let Some(queue) = self.state().queue_of(&endpoint) else { return };
        if endpoint.own.removed {
            return self.remove_endpoint(handle, queue);
        }
        self.clear_messages(queue, handle);
        if endpoint.state() != EndpointState::Closed {
            return;
        }
        if endpoint.is_initiator {
            // U-24: a closed initiator is not kept.
            return self.remove_endpoint(handle, queue);
        }
        // U-50: a closed target is kept for a fixed time from now, so that nothing can begin the dialog anew.
        let purge_after = Some(self.now().plus(self.core.options.endpoint_retention));
        self.change_inbound(&endpoint, |inbound| Inbound { purge_after, timer: None, ..inbound })
    }

    /// Removes an endpoint with its messages in the queue and in the transmission queue, and its group if it was the last
    /// (U-47).
    pub(super) fn remove_endpoint(&mut self, handle: Uuid, queue: QueueKey) {
        let Some(endpoint) = self.state().endpoints.get(handle).cloned() else { return };
        self.clear_messages(queue, handle);
        self.drop_pending(handle);
        self.core.broker.overdue.remove(&handle);
        self.put_endpoint(handle, None);
        self.drop_empty_group(endpoint.group)
    }

    /// Deletes what waits in the transmission queue for an endpoint's peer.
    pub(super) fn drop_pending(&mut self, handle: Uuid) {
        let orders: Vec<i64> = self.state().transmission.of_handle(handle).map(|row| row.order).collect();
        orders.into_iter().for_each(|order| self.put_transmission(order, None))
    }

    fn store(&mut self, queue: QueueKey, endpoint: &Endpoint, arrival: Arrival, status: MessageStatus) {
        let order = self.state().queues.get(&queue).map_or(1, super::queue_state::QueueState::next_order);
        let message = StoredMessage {
            status,
            queuing_order: order,
            handle: endpoint.handle,
            sequence: arrival.sequence,
            kind: arrival.kind,
            message_type: arrival.message_type,
            body: arrival.body,
            message_id: arrival.message_id,
            enqueued: self.now(),
            priority: endpoint.priority,
            taken_by: None,
        };
        self.put_message(queue, order, Some(Arc::new(message)));
    }

    fn clear_messages(&mut self, queue: QueueKey, handle: Uuid) {
        let orders = self.state().queues.get(&queue).map(|state| state.orders_of(handle)).unwrap_or_default();
        orders.into_iter().for_each(|order| self.put_message(queue, order, None))
    }

    /// Received rows go; retained ones stay with status 0.
    fn settle_received(&mut self, queue: QueueKey, orders: &[i64]) {
        for order in orders {
            let message = self.state().queues.get(&queue).and_then(|state| state.message(*order)).cloned();
            // The row is gone already when the same transaction ended the conversation.
            let Some(message) = message else { continue };
            let kept = (message.status == MessageStatus::Received)
                .then(|| Arc::new(StoredMessage { taken_by: None, ..StoredMessage::clone(&message) }));
            self.put_message(queue, *order, kept);
        }
    }

    /// ALTER SERVICE ... ON QUEUE: the service's messages move and keep their order (spec 1.5).
    fn move_messages(&mut self, service: super::ids::ServiceId, from: QueueKey, to: QueueKey) {
        let endpoints = self.state().endpoints.of_service(from.database, service);
        let handles: Vec<Uuid> = endpoints.map(|endpoint| endpoint.handle).collect();
        let Some(old) = self.state().queues.get(&from) else { return };
        let mut orders: Vec<i64> = handles.iter().flat_map(|handle| old.orders_of(*handle)).collect();
        orders.sort_unstable();
        for order in orders {
            let message = self.state().queues.get(&from).and_then(|state| state.message(order)).cloned();
            self.put_message(from, order, None);
            let queuing_order =
                self.state().queues.get(&to).map_or(1, super::queue_state::QueueState::next_order);
            let moved = message
                .map(|message| Arc::new(StoredMessage { queuing_order, ..StoredMessage::clone(&message) }));
            self.put_message(to, queuing_order, moved);
        }
    }
}
