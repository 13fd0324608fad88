//! Conversations: endpoints, groups, messages in queues, messages on their way.

use std::sync::Arc;

use bytes::Bytes;
use uuid::Uuid;

use super::{MessageType, Validation};
use crate::engine::ids::{ContractId, DatabaseId, MessageTypeId, PrincipalId, QueueKey, ServiceId, TxnId};
use crate::error::SqlError;
use crate::value::Timestamp;

/// State of an endpoint (spec 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointState {
    /// `SO`
    StartedOutbound,
    /// `SI`; never seen with local delivery.
    StartedInbound,
    /// `CO`
    Conversing,
    /// `DI`: the peer ended.
    DisconnectedInbound,
    /// `DO`: this side ended.
    DisconnectedOutbound,
    /// `ER`
    Error,
    /// `CD`
    Closed,
}

impl EndpointState {
    /// `state` of `sys.conversation_endpoints`.
    pub fn code(self) -> &'static str {
        match self {
            EndpointState::StartedOutbound => "SO",
            EndpointState::StartedInbound => "SI",
            EndpointState::Conversing => "CO",
            EndpointState::DisconnectedInbound => "DI",
            EndpointState::DisconnectedOutbound => "DO",
            EndpointState::Error => "ER",
            EndpointState::Closed => "CD",
        }
    }

    /// `state_desc`
    pub fn description(self) -> &'static str {
        match self {
            EndpointState::StartedOutbound => "STARTED_OUTBOUND",
            EndpointState::StartedInbound => "STARTED_INBOUND",
            EndpointState::Conversing => "CONVERSING",
            EndpointState::DisconnectedInbound => "DISCONNECTED_INBOUND",
            EndpointState::DisconnectedOutbound => "DISCONNECTED_OUTBOUND",
            EndpointState::Error => "ERROR",
            EndpointState::Closed => "CLOSED",
        }
    }
}

/// What the endpoint's own application did: changed by statements under the lock of the conversation group, undone with
/// their transaction.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OwnSide {
    /// END CONVERSATION was executed here.
    pub ended: bool,
    /// The endpoint goes away when the transaction commits (WITH CLEANUP, or ended before anything was sent).
    pub removed: bool,
    /// `send_sequence`: number of the next message to send.
    pub send_sequence: i64,
    /// `end_dialog_sequence`; `None` shows as -1 (U-26).
    pub end_dialog_sequence: Option<i64>,
    /// `last_send_tran_id`
    pub last_send: Option<TxnId>,
}

/// How the other side stands, as far as this side has heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PeerSide {
    /// It converses, or has not been heard of.
    #[default]
    Open,
    /// Its EndDialog is in the queue here, or was.
    Ended,
    /// An Error is in the queue here, or was: from the peer, or made by a broker.
    Failed,
}

/// What arrives from outside: changed by deliveries, timers and lifetimes without the group's lock (spec 2.10), hence
/// never undone with a transaction of the endpoint's own application.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inbound {
    /// The other side.
    pub peer: PeerSide,
    /// The EndDialog or Error of this side has reached the peer.
    pub acknowledged: bool,
    /// `receive_sequence`: number of the next message expected.
    pub receive_sequence: i64,
    /// `far_broker_instance`: as named in TO SERVICE, or learnt at the first acknowledgement.
    pub far_broker_instance: Option<Arc<str>>,
    /// `dialog_timer`: when it is due.
    pub timer: Option<Timestamp>,
    /// The lifetime has passed and the Error about it was put into the queue.
    pub expired: bool,
    /// Timer, lifetime or error are due, but the queue is off: they wait until it is switched on (spec 2.7, 2.13).
    pub overdue: bool,
    /// A broker-made Error that waits for the queue to be switched on: code and description.
    pub held_error: Option<(i32, Arc<str>)>,
    /// `security_timestamp`: earliest purge of a closed target; `None` shows as 1900-01-01.
    pub purge_after: Option<Timestamp>,
}

/// One side of a conversation (`sys.conversation_endpoints`, spec 3.4). Columns that never vary here have no field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// `conversation_handle`
    pub handle: Uuid,
    /// `conversation_id`, shared by both sides.
    pub conversation_id: Uuid,
    /// `is_initiator`
    pub is_initiator: bool,
    /// Database of the local service.
    pub database: DatabaseId,
    /// `service_id`: the local service.
    pub service: ServiceId,
    /// Its name.
    pub service_name: Arc<str>,
    /// `service_contract_id`
    pub contract: ContractId,
    /// Its name.
    pub contract_name: Arc<str>,
    /// `conversation_group_id`
    pub group: Uuid,
    /// `far_service`
    pub far_service: Arc<str>,
    /// Whether the dialog named a broker instance, so that a missing service is an error (U-13).
    pub names_instance: bool,
    /// Owner of the conversation: the user who began it, or the target service's owner (`principal_id`).
    pub owner: PrincipalId,
    /// `lifetime`: UTC expiry.
    pub expires: Timestamp,
    /// `is_system`: a dialog the broker owns.
    pub is_system: bool,
    /// ENCRYPTION as given.
    pub encryption: bool,
    /// `priority`, 1 to 10, fixed at creation.
    pub priority: u8,
    /// What this side's application did.
    pub own: OwnSide,
    /// What arrived.
    pub inbound: Inbound,
}

impl Endpoint {
    /// State (spec 3.2), which follows from what both sides have done.
    pub fn state(&self) -> EndpointState {
        match (self.own.ended, self.inbound.peer) {
            (true, PeerSide::Open) if !self.inbound.acknowledged => EndpointState::DisconnectedOutbound,
            (true, _) => EndpointState::Closed,
            (false, PeerSide::Ended) => EndpointState::DisconnectedInbound,
            (false, PeerSide::Failed) => EndpointState::Error,
            (false, PeerSide::Open) if self.is_initiator && self.own.send_sequence == 0 => {
                EndpointState::StartedOutbound
            }
            (false, PeerSide::Open) => EndpointState::Conversing,
        }
    }

    /// When the clock has to look at this endpoint: its timer, its lifetime, or its purge.
    pub fn deadline(&self) -> Option<Timestamp> {
        if self.inbound.overdue {
            return None;
        }
        let lifetime =
            (self.state() != EndpointState::Closed && !self.inbound.expired).then_some(self.expires);
        let timer = self.inbound.timer.filter(|_| !self.own.ended);
        [lifetime, timer, self.inbound.purge_after].into_iter().flatten().min()
    }
}

/// A conversation group (`sys.conversation_groups`). Its members are found through the state's index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// `conversation_group_id`
    pub id: Uuid,
    /// Database of its service.
    pub database: DatabaseId,
    /// `service_id`
    pub service: ServiceId,
    /// `is_system`
    pub is_system: bool,
}

/// `status` of a message in a queue (spec 2.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MessageStatus {
    /// 0: received, kept by RETENTION.
    Received,
    /// 1
    Ready,
    /// 3: sent, kept by RETENTION.
    Sent,
}

impl MessageStatus {
    /// The catalog's number.
    pub fn code(self) -> u8 {
        match self {
            MessageStatus::Received => 0,
            MessageStatus::Ready => 1,
            MessageStatus::Sent => 3,
        }
    }
}

/// What a message is to the broker; also its rank in the order of RECEIVE within one conversation (spec 2.3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MessageKind {
    /// DialogTimer, made locally.
    Timer,
    /// Error, from the peer's application or a broker.
    Error,
    /// An application's message.
    User,
    /// EndDialog.
    EndDialog,
}

/// A message as a queue keeps it. What it shares with the rest of its conversation is looked up in the endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredMessage {
    /// `status`
    pub status: MessageStatus,
    /// `queuing_order`, unique in the queue; the key of the row.
    pub queuing_order: i64,
    /// `conversation_handle` of the side that owns the queue.
    pub handle: Uuid,
    /// `message_sequence_number`; -1 for messages the broker made (U-27).
    pub sequence: i64,
    /// What it is to the broker.
    pub kind: MessageKind,
    /// Its type when it arrived.
    pub message_type: Arc<MessageType>,
    /// `message_body`; `None` is NULL, and an empty body is stored as NULL.
    pub body: Option<Bytes>,
    /// `message_id`
    pub message_id: Uuid,
    /// `message_enqueue_time`
    pub enqueued: Timestamp,
    /// `priority` of its endpoint.
    pub priority: u8,
    /// The running transaction that has received it; the row stays until that ends.
    pub taken_by: Option<TxnId>,
}

/// A message with every column of a queue (spec 2.3.1): what RECEIVE and SELECT return.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedMessage {
    /// `status`
    pub status: MessageStatus,
    /// `priority` of the endpoint.
    pub priority: u8,
    /// `queuing_order`, unique in the queue.
    pub queuing_order: i64,
    /// `conversation_group_id`
    pub group: Uuid,
    /// `conversation_handle` of the side that owns the queue.
    pub handle: Uuid,
    /// `message_sequence_number`; -1 for messages the broker made (U-27).
    pub sequence: i64,
    /// What it is to the broker.
    pub kind: MessageKind,
    /// `service_id` of the local service.
    pub service: ServiceId,
    /// `service_name`
    pub service_name: Arc<str>,
    /// `service_contract_id`
    pub contract: ContractId,
    /// `service_contract_name`
    pub contract_name: Arc<str>,
    /// `message_type_id`
    pub message_type: MessageTypeId,
    /// `message_type_name`
    pub message_type_name: Arc<str>,
    /// `validation` of the type when the message arrived.
    pub validation: Validation,
    /// `message_body`; `None` is NULL, and an empty body is stored as NULL.
    pub body: Option<Bytes>,
    /// `message_id`
    pub message_id: Uuid,
    /// `message_enqueue_time`
    pub enqueued: Timestamp,
}

/// A message that could not be delivered yet (`sys.transmission_queue`, spec 4.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransmissionRow {
    /// Order of arrival across the instance; the key of the row.
    pub order: i64,
    /// Database whose transmission queue it is in: the sender's, or the target's while the target queue is off (4.3).
    pub database: DatabaseId,
    /// `conversation_handle` of the sender.
    pub handle: Uuid,
    /// `conversation_id`
    pub conversation_id: Uuid,
    /// Whether the initiator sent it.
    pub from_initiator: bool,
    /// `to_service_name`
    pub to_service: Arc<str>,
    /// `to_broker_instance`
    pub to_broker_instance: Option<Arc<str>>,
    /// `from_service_name`
    pub from_service: Arc<str>,
    /// `service_contract_name`
    pub contract: Arc<str>,
    /// `enqueue_time`
    pub enqueued: Timestamp,
    /// `message_sequence_number`
    pub sequence: i64,
    /// `message_type_name`
    pub message_type: Arc<str>,
    /// Gives `is_conversation_error` and `is_end_of_dialog`.
    pub kind: MessageKind,
    /// `message_body`
    pub body: Option<Bytes>,
    /// `transmission_status`; empty before the first try.
    pub status: Arc<str>,
    /// `priority`
    pub priority: u8,
    /// `message_id`, kept over retries.
    pub message_id: Uuid,
    /// The target queue it waits for, when the wait is for a queue that is off.
    pub waits_for: Option<QueueKey>,
    /// The target has it, and only the acknowledgement is missing: it is not sent again and holds nothing up.
    pub arrived: bool,
}

/// Body argument of SEND.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// No parentheses: stored as NULL.
    Absent,
    /// An expression that gave NULL: error 8433.
    Null,
    /// Bytes, possibly none.
    Bytes(Bytes),
}

/// A message sent by the running transaction, delivered when it commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PendingSend {
    /// The sending endpoint's handle.
    pub handle: Uuid,
    /// Its number in the conversation's direction.
    pub sequence: i64,
    /// What it is to the broker.
    pub kind: MessageKind,
    /// Name of its type.
    pub message_type: Arc<str>,
    /// Body; `None` is NULL.
    pub body: Option<Bytes>,
    /// `message_id`
    pub message_id: Uuid,
    /// When it was sent.
    pub sent: Timestamp,
}

/// What a running transaction does to others once it commits. Statements touch only what their locks cover; everything
/// else waits in this list, in order, and is dropped with the part of the transaction that is rolled back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Delivers a message, an EndDialog or an Error.
    Send(PendingSend),
    /// Drops the endpoint's messages from the transmission queue.
    DropPending(Uuid),
    /// Settles an endpoint that its application has ended: clears its messages, closes or removes it.
    Settle(Uuid),
    /// Sets the endpoint's timer.
    SetTimer(Uuid, Timestamp),
    /// Messages were received: their rows go, or stay as retained ones.
    Received(QueueKey, Vec<i64>),
    /// A broker-made Error for the application at this endpoint: code and description.
    Fail(Uuid, i32, Arc<str>),
    /// The endpoint goes without a word to its application, and its messages leave the queue (DROP SERVICE, NEW_BROKER).
    Remove(Uuid, QueueKey),
    /// The queue of a service changed: moves the service's messages from the first queue to the second.
    MoveMessages(ServiceId, QueueKey, QueueKey),
    /// Sessions that wait for a conversation or group of the service get this error (U-06).
    Interrupt(QueueKey, ServiceId, SqlError),
    /// A committed change of the catalogs: monitors are compared anew and waiting messages tried again.
    CatalogChanged,
}
