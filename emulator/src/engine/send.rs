//! SEND ON CONVERSATION (spec 2.2) on one or several handles.
//!
//! Everything is checked for every handle before anything is changed. The messages wait in the transaction until it
//! commits (U-28). It must not know where they go then.

use std::sync::Arc;

use bytes::Bytes;
use uuid::Uuid;

use super::broker_errors;
use super::core::Op;
use super::definitions::{
    Body, Contract, ContractUsage, Effect, Endpoint, EndpointState, MessageKind, MessageType, OwnSide,
    PendingSend, Permission, Securable,
};
use super::ids::MessageTypeId;
use super::system_messages::names;
use super::tx::Tx;
use crate::error::SqlError;

/// Largest message with its headers (8459), in bytes.
const LARGEST_MESSAGE: usize = i32::MAX as usize - 4096;

impl Tx<'_> {
    /// Sends one message on each handle. `message_type`: `None` is `DEFAULT`. Errors: 8402 for a repeated handle (U-38),
    /// 8426, 8428, 8429, 8431, 8432, 8433, 8434, 8459, 9618, 229; then nothing is sent anywhere. Waits for the locks of
    /// the handles' groups.
    pub fn send(&mut self, handles: &[Uuid], message_type: Option<&str>, body: &Body) -> Op<()> {
        self.require_writable()?;
        require_distinct(handles)?;
        let body = stored_body(body)?;
        let mut endpoints = Vec::with_capacity(handles.len());
        for handle in handles {
            endpoints.push(self.locked_endpoint(*handle)?);
        }
        let name = message_type.unwrap_or(names::DEFAULT);
        let message_type = self.state().message_type(self.database(), name).cloned();
        let message_type = message_type.ok_or_else(|| broker_errors::message_type_not_found(name))?;
        for endpoint in &endpoints {
            self.check_send(endpoint, &message_type)?;
        }
        for endpoint in &endpoints {
            self.send_on(endpoint, &message_type, body.clone());
        }
        Ok(())
    }

    fn check_send(&self, endpoint: &Endpoint, message_type: &MessageType) -> Result<(), SqlError> {
        let state = endpoint.state();
        if !matches!(state, EndpointState::StartedOutbound | EndpointState::Conversing) {
            return Err(broker_errors::state_forbids_send(state.description()));
        }
        let contract = self.state().entry::<Contract>(endpoint.database, endpoint.contract);
        let contract = contract.ok_or_else(|| broker_errors::contract_not_found(&endpoint.contract_name))?;
        check_direction(contract, message_type, endpoint.is_initiator)?;
        let queue = self.state().queue_of(endpoint);
        let queue = queue.ok_or_else(|| broker_errors::service_not_found(&endpoint.service_name))?;
        self.require(Permission::Receive, Securable::Object(queue.database, queue.object))?;
        match self.state().queue_def(queue) {
            Some(def) if def.retention && !def.enqueue_enabled => {
                Err(broker_errors::cannot_retain_sent_message(&self.state().queue_title(queue)))
            }
            _ => Ok(()),
        }
    }

    fn send_on(&mut self, endpoint: &Endpoint, message_type: &MessageType, body: Option<Bytes>) {
        let sequence = endpoint.own.send_sequence;
        let last_send = Some(self.transaction());
        self.put_own_side(
            endpoint,
            OwnSide { send_sequence: sequence + 1, last_send, ..endpoint.own.clone() },
        );
        let send = PendingSend {
            handle: endpoint.handle,
            sequence,
            kind: MessageKind::User,
            message_type: Arc::clone(&message_type.name),
            body,
            message_id: self.new_uuid(),
            sent: self.now(),
        };
        self.push_effect(Effect::Send(send));
        self.core.broker.counters.sends += 1;
    }
}

/// The entry of a message type in a contract.
pub(super) fn usage(contract: &Contract, message_type: MessageTypeId) -> Option<ContractUsage> {
    contract.usages.iter().find(|usage| usage.message_type == message_type).copied()
}

fn require_distinct(handles: &[Uuid]) -> Result<(), SqlError> {
    let mut sorted = handles.to_vec();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        // U-38: the server's number is not known.
        Some(pair) => {
            Err(broker_errors::clause_value("ON CONVERSATION", &format!("'{}' is named twice", pair[0])))
        }
        None => Ok(()),
    }
}

/// An empty body is stored as NULL (spec 1.2).
fn stored_body(body: &Body) -> Result<Option<Bytes>, SqlError> {
    match body {
        Body::Absent => Ok(None),
        Body::Null => Err(broker_errors::body_is_null()),
        Body::Bytes(bytes) if bytes.len() > LARGEST_MESSAGE => Err(broker_errors::message_too_large()),
        Body::Bytes(bytes) => Ok((!bytes.is_empty()).then(|| bytes.clone())),
    }
}

fn check_direction(
    contract: &Contract,
    message_type: &MessageType,
    is_initiator: bool,
) -> Result<(), SqlError> {
    let name = &message_type.name;
    match usage(contract, message_type.id) {
        None => Err(broker_errors::message_type_not_in_contract(name, &contract.name)),
        Some(usage) if is_initiator && !usage.by_initiator => Err(broker_errors::only_target_may_send(name)),
        Some(usage) if !is_initiator && !usage.by_target => Err(broker_errors::only_initiator_may_send(name)),
        Some(_) => Ok(()),
    }
}
