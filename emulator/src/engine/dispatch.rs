//! What becomes of one sent message (spec 4.1 to 4.4): put into the peer's queue, refused with an Error, or held in the
//! transmission queue.
//!
//! [`Tx::decide`] reads the state and decides; the rest carries that out. It must not know statements.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;

use uuid::Uuid;

use super::admission::takes_part;
use super::broker_faults::{BrokerFault, Held};
use super::definitions::{
    Contract, Endpoint, EndpointState, Group, Inbound, MessageKind, MessageType, OwnSide, PeerSide,
    PendingSend, Service, TransmissionRow,
};
use super::delivery::Arrival;
use super::dialogs::instance_text;
use super::ids::{DatabaseId, QueueKey};
use super::locks::Resource;
use super::routing::Located;
use super::tx::Tx;

/// What is to be done with a message.
enum Decision {
    /// It waits, for the queue if one is given.
    Hold(Held, Option<QueueKey>),
    /// Its sender gets an Error, and it waits with the rest until the conversation is ended (spec 4.5).
    Refuse(BrokerFault),
    /// It comes too late for anybody to care and is thrown away.
    Discard,
    /// It goes into the queue of the peer's endpoint.
    Enqueue(Arc<Endpoint>, QueueKey, Arc<MessageType>),
    /// It is the first one: the target endpoint is made for it.
    Open(DatabaseId, Arc<Service>, Arc<Contract>, Arc<MessageType>),
    /// The peer has ended too: both sides are through.
    BothEnded(Arc<Endpoint>),
}

impl Tx<'_> {
    /// Delivers a message of the committing transaction, or holds it.
    pub(super) fn dispatch(&mut self, send: &PendingSend) {
        let Some(sender) = self.state().endpoints.get(send.handle).cloned() else { return };
        self.keep_sent_copy(&sender, send);
        // Behind others that wait, so that the order of the conversation is kept (spec 2.11).
        let ahead = self.state().transmission.of_handle(send.handle).find(|row| !row.arrived);
        let ahead = ahead.map(|row| (Arc::clone(&row.status), row.waits_for));
        if let Some((status, waits_for)) = ahead {
            return self.hold(&sender, send, status, waits_for);
        }
        match self.decide(&sender, send) {
            Decision::Hold(reason, waits_for) => self.hold(&sender, send, reason.status().into(), waits_for),
            Decision::Refuse(fault) => {
                self.hold(&sender, send, Held::PeerFailed.status().into(), None);
                self.fail(sender.handle, &fault)
            }
            decision => self.carry_out(&sender, send, decision),
        }
    }

    /// Tries every waiting message again, oldest first, each conversation up to its first message that still has to wait.
    /// Databases with HONOR_BROKER_PRIORITY send urgent conversations before others (spec 1.8).
    pub(super) fn retry_transmission(&mut self) {
        let mut seen = HashSet::new();
        let waiting = self.state().transmission.iter().filter(|row| !row.arrived && seen.insert(row.handle));
        let mut conversations: Vec<(Reverse<u8>, Uuid)> =
            waiting.map(|row| (Reverse(self.urgency(row)), row.handle)).collect();
        conversations.sort_by_key(|(urgency, _)| *urgency);
        for (_, handle) in conversations {
            self.retry_conversation(handle);
        }
    }

    fn urgency(&self, row: &TransmissionRow) -> u8 {
        let honored = self.state().database(row.database).is_some_and(|database| database.def.honor_priority);
        if honored { row.priority } else { 0 }
    }

    fn retry_conversation(&mut self, handle: Uuid) {
        while let Some(row) = self.first_waiting(handle) {
            let sender = self.state().endpoints.get(handle).cloned();
            let Some(sender) = sender else { return self.drop_pending(handle) };
            let send = sent_again(&row);
            match self.decide(&sender, &send) {
                Decision::Hold(reason, waits_for) => return self.restate(&row, reason, waits_for),
                Decision::Refuse(fault) => {
                    self.restate(&row, Held::PeerFailed, None);
                    return self.fail(handle, &fault);
                }
                decision => {
                    self.put_transmission(row.order, None);
                    self.carry_out(&sender, &send, decision);
                }
            }
            self.settle_if_closed(handle);
        }
    }

    fn first_waiting(&self, handle: Uuid) -> Option<Arc<TransmissionRow>> {
        self.state().transmission.of_handle(handle).find(|row| !row.arrived).cloned()
    }

    /// An ended endpoint whose last message has just gone out is closed now.
    fn settle_if_closed(&mut self, handle: Uuid) {
        let endpoint = self.state().endpoints.get(handle);
        if endpoint.is_some_and(|it| it.state() == EndpointState::Closed && it.inbound.purge_after.is_none())
        {
            self.settle_endpoint(handle);
        }
    }

    fn restate(&mut self, row: &TransmissionRow, reason: Held, waits_for: Option<QueueKey>) {
        if *row.status == *reason.status() && row.waits_for == waits_for {
            return;
        }
        let changed = TransmissionRow { status: reason.status().into(), waits_for, ..row.clone() };
        self.put_transmission(row.order, Some(Arc::new(changed)));
    }

    fn carry_out(&mut self, sender: &Endpoint, send: &PendingSend, decision: Decision) {
        match decision {
            Decision::Hold(..) | Decision::Refuse(_) => {}
            Decision::Discard => self.acknowledge(sender, send, None),
            Decision::BothEnded(peer) => {
                self.acknowledge(sender, send, Some(peer.database));
                self.meet_ended_peer(&peer, send)
            }
            Decision::Enqueue(peer, queue, message_type) => {
                self.acknowledge_arrival(sender, send, peer.database);
                self.arrive(queue, &peer, message_type, send)
            }
            Decision::Open(database, service, contract, message_type) => {
                let peer = self.open_target(sender, database, &service, &contract);
                self.acknowledge_arrival(sender, send, database);
                self.arrive(QueueKey::new(database, service.queue), &peer, message_type, send)
            }
        }
    }

    fn decide(&self, sender: &Endpoint, send: &PendingSend) -> Decision {
        let is_user = send.kind == MessageKind::User;
        match sender.inbound.peer {
            PeerSide::Ended if is_user => return Decision::Hold(Held::PeerEnded, None),
            PeerSide::Failed if is_user => return Decision::Hold(Held::PeerFailed, None),
            PeerSide::Ended | PeerSide::Failed => return Decision::Discard,
            PeerSide::Open => {}
        }
        if !self.state().database(sender.database).is_some_and(takes_part) {
            return Decision::Hold(Held::SenderBrokerOff, None);
        }
        // U-19: the end of a conversation is not announced while the own queue is off either.
        let own_queue = self.state().queue_of(sender).filter(|queue| !self.state().takes_messages(*queue));
        if own_queue.is_some() && !is_user {
            return Decision::Hold(Held::TargetQueueOff, own_queue);
        }
        match self.state().endpoints.side(sender.conversation_id, !sender.is_initiator).cloned() {
            Some(peer) => self.decide_known(sender, peer, send),
            None if sender.is_initiator && send.sequence == 0 => self.decide_first(sender, send),
            None if is_user => Decision::Refuse(BrokerFault::remote_endpoint_gone()),
            None => Decision::Discard,
        }
    }

    fn decide_known(&self, sender: &Endpoint, peer: Arc<Endpoint>, send: &PendingSend) -> Decision {
        if !self.state().database(peer.database).is_some_and(takes_part) {
            return Decision::Hold(Held::TargetBrokerOff, None);
        }
        if !self.is_trusted_in(sender, peer.database) {
            return Decision::Hold(Held::SenderNotTrusted, None);
        }
        if peer.own.ended && !self.is_being_changed(&peer) {
            let is_user = send.kind == MessageKind::User;
            return if is_user { Decision::Discard } else { Decision::BothEnded(peer) };
        }
        let Some(queue) = self.state().queue_of(&peer) else {
            return Decision::Refuse(BrokerFault::remote_service_dropped());
        };
        if !self.state().takes_messages(queue) {
            return Decision::Hold(Held::TargetQueueOff, Some(queue));
        }
        match self.accept(peer.database, peer.contract, sender, send) {
            Ok(message_type) => Decision::Enqueue(peer, queue, message_type),
            Err(fault) => Decision::Refuse(fault),
        }
    }

    /// Whether another transaction has changed the endpoint and may yet take that back; then messages still arrive, and
    /// its commit clears them away.
    pub(super) fn is_being_changed(&self, endpoint: &Endpoint) -> bool {
        self.core.locks.is_contended(self.transaction(), &Resource::Group(endpoint.group))
    }

    fn decide_first(&self, sender: &Endpoint, send: &PendingSend) -> Decision {
        let database = match self.locate_target(sender) {
            Located::At(database) => database,
            Located::Missing => {
                return Decision::Refuse(BrokerFault::remote_service_missing(&sender.far_service));
            }
            Located::Delayed(reason) => return Decision::Hold(reason, None),
        };
        if !self.is_trusted_in(sender, database) {
            return Decision::Hold(Held::SenderNotTrusted, None);
        }
        let service = self.state().service(database, &sender.far_service).cloned();
        let Some(service) = service else { return Decision::Hold(Held::NoLocalService, None) };
        let queue = QueueKey::new(database, service.queue);
        if !self.state().takes_messages(queue) {
            return Decision::Hold(Held::TargetQueueOff, Some(queue));
        }
        let accepted = self.admit(sender, database, &service).and_then(|contract| {
            let message_type = self.accept(database, contract.id, sender, send)?;
            Ok(Decision::Open(database, service, contract, message_type))
        });
        accepted.unwrap_or_else(Decision::Refuse)
    }

    fn open_target(
        &mut self,
        sender: &Endpoint,
        database: DatabaseId,
        service: &Service,
        contract: &Contract,
    ) -> Arc<Endpoint> {
        let (group, handle) = (self.new_uuid(), self.new_uuid());
        let is_system = sender.is_system;
        self.put_group(group, Some(Arc::new(Group { id: group, database, service: service.id, is_system })));
        let peer = Endpoint {
            handle,
            conversation_id: sender.conversation_id,
            is_initiator: false,
            database,
            service: service.id,
            service_name: Arc::clone(&service.name),
            contract: contract.id,
            contract_name: Arc::clone(&contract.name),
            group,
            far_service: Arc::clone(&sender.service_name),
            names_instance: true,
            owner: service.owner,
            expires: sender.expires,
            is_system,
            encryption: sender.encryption,
            priority: self.priority_of(database, contract, service, &sender.service_name),
            own: OwnSide::default(),
            inbound: Inbound { far_broker_instance: self.instance_of(sender.database), ..Inbound::default() },
        };
        let peer = Arc::new(peer);
        self.put_endpoint(handle, Some(Arc::clone(&peer)));
        peer
    }

    fn arrive(
        &mut self,
        queue: QueueKey,
        peer: &Endpoint,
        message_type: Arc<MessageType>,
        send: &PendingSend,
    ) {
        self.enqueue(queue, peer, arrival(send, message_type));
        let standing = match send.kind {
            MessageKind::EndDialog => PeerSide::Ended,
            MessageKind::Error => PeerSide::Failed,
            MessageKind::User | MessageKind::Timer => peer.inbound.peer,
        };
        let receive_sequence = send.sequence + 1;
        self.change_inbound(peer, |inbound| Inbound { peer: standing, receive_sequence, ..inbound })
    }

    /// The end of one side reaches another that has ended already (spec 3.2).
    fn meet_ended_peer(&mut self, peer: &Endpoint, send: &PendingSend) {
        if send.kind == MessageKind::Error
            && let Some(queue) = self.state().queue_of(peer)
        {
            return self.remove_endpoint(peer.handle, queue);
        }
        self.change_inbound(peer, |inbound| Inbound { peer: PeerSide::Ended, ..inbound });
        self.settle_if_closed(peer.handle)
    }

    /// The sender learns that its message has been taken: for local delivery at once (spec 3.2).
    pub(super) fn acknowledge(&mut self, sender: &Endpoint, send: &PendingSend, by: Option<DatabaseId>) {
        let ends = send.kind != MessageKind::User;
        let learnt = by.filter(|_| sender.inbound.far_broker_instance.is_none());
        if !ends && learnt.is_none() {
            return;
        }
        let instance = learnt.and_then(|database| self.instance_of(database));
        self.change_inbound(sender, |inbound| Inbound {
            acknowledged: inbound.acknowledged || ends,
            far_broker_instance: inbound.far_broker_instance.or(instance),
            ..inbound
        })
    }

    fn keep_sent_copy(&mut self, sender: &Endpoint, send: &PendingSend) {
        let queue = self.state().queue_of(sender).filter(|_| send.kind == MessageKind::User);
        let Some(queue) = queue else { return };
        let retains = self.state().queue_def(queue).is_some_and(|def| def.retention && def.enqueue_enabled);
        let message_type = self.state().message_type(sender.database, &send.message_type).cloned();
        if let Some(message_type) = message_type.filter(|_| retains) {
            self.retain(queue, sender, arrival(send, message_type));
        }
    }

    /// Puts a message into the transmission queue: that of the target's database while the target queue is off, else
    /// that of the sender's (spec 4.3).
    fn hold(&mut self, sender: &Endpoint, send: &PendingSend, status: Arc<str>, waits_for: Option<QueueKey>) {
        let order = self.allocate_transmission();
        let database = waits_for.map_or(sender.database, |queue| queue.database);
        let row = self.pending_row(order, sender, send);
        self.keep_pending(TransmissionRow { database, status, waits_for, ..row });
    }

    pub(super) fn keep_pending(&mut self, row: TransmissionRow) {
        self.core.broker.counters.messages_held += 1;
        self.put_transmission(row.order, Some(Arc::new(row)));
    }

    /// The row of a message that nothing is known of yet.
    pub(super) fn pending_row(&self, order: i64, sender: &Endpoint, send: &PendingSend) -> TransmissionRow {
        TransmissionRow {
            order,
            database: sender.database,
            handle: sender.handle,
            conversation_id: sender.conversation_id,
            from_initiator: sender.is_initiator,
            to_service: Arc::clone(&sender.far_service),
            to_broker_instance: sender.inbound.far_broker_instance.clone(),
            from_service: Arc::clone(&sender.service_name),
            contract: Arc::clone(&sender.contract_name),
            enqueued: send.sent,
            sequence: send.sequence,
            message_type: Arc::clone(&send.message_type),
            kind: send.kind,
            body: send.body.clone(),
            status: "".into(),
            priority: sender.priority,
            message_id: send.message_id,
            waits_for: None,
            arrived: false,
        }
    }

    fn instance_of(&self, database: DatabaseId) -> Option<Arc<str>> {
        self.state().database(database).map(|database| instance_text(database.def.broker_guid))
    }
}

fn arrival(send: &PendingSend, message_type: Arc<MessageType>) -> Arrival {
    Arrival {
        kind: send.kind,
        message_type,
        sequence: send.sequence,
        body: send.body.clone(),
        message_id: send.message_id,
    }
}

pub(super) fn sent_again(row: &TransmissionRow) -> PendingSend {
    PendingSend {
        handle: row.handle,
        sequence: row.sequence,
        kind: row.kind,
        message_type: Arc::clone(&row.message_type),
        body: row.body.clone(),
        message_id: row.message_id,
        sent: row.enqueued,
    }
}
