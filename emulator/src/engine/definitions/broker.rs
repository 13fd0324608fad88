//! Broker metadata: message types, contracts, services, routes, bindings, priorities, event notifications.

use std::sync::Arc;

use uuid::Uuid;

use crate::engine::ids::{
    BindingId, ContractId, MessageTypeId, ObjectId, PrincipalId, PriorityId, RouteId, ServiceId,
};
use crate::value::Timestamp;

/// How the receiver of a message checks its body (spec 1.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Validation {
    /// Anything.
    None,
    /// Must be NULL.
    Empty,
    /// Must parse as XML.
    WellFormedXml,
    /// Must be valid by one schema of the collection; the emulator keeps its name only.
    ValidXml(Arc<str>),
}

impl Validation {
    /// `validation` of `sys.service_message_types`.
    pub fn code(&self) -> &'static str {
        match self {
            Validation::None => "N ",
            Validation::Empty => "E ",
            Validation::WellFormedXml | Validation::ValidXml(_) => "X ",
        }
    }

    /// `validation_desc`; `BINARY` for NONE as real rows show (U-02).
    pub fn description(&self) -> &'static str {
        match self {
            Validation::None => "BINARY",
            Validation::Empty => "EMPTY",
            Validation::WellFormedXml | Validation::ValidXml(_) => "XML",
        }
    }
}

/// A message type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageType {
    /// `message_type_id`; below 65536 for system ones.
    pub id: MessageTypeId,
    /// Name, compared ordinally.
    pub name: Arc<str>,
    /// Owner.
    pub owner: PrincipalId,
    /// Check of the body.
    pub validation: Validation,
}

/// A message type's entry in a contract; `ANY` sets both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContractUsage {
    /// The message type.
    pub message_type: MessageTypeId,
    /// The initiator may send it.
    pub by_initiator: bool,
    /// The target may send it.
    pub by_target: bool,
}

/// A contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contract {
    /// `service_contract_id`; below 65536 for system ones.
    pub id: ContractId,
    /// Name, compared ordinally.
    pub name: Arc<str>,
    /// Owner.
    pub owner: PrincipalId,
    /// Which types which side may send.
    pub usages: Vec<ContractUsage>,
}

/// A service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// `service_id`; below 65536 for system ones.
    pub id: ServiceId,
    /// Name, compared ordinally.
    pub name: Arc<str>,
    /// Owner.
    pub owner: PrincipalId,
    /// Its queue, of the same database.
    pub queue: ObjectId,
    /// Contracts it may be target for.
    pub contracts: Vec<ContractId>,
}

/// A route (spec 1.6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// `route_id`
    pub id: RouteId,
    /// Name, compared by the default collation.
    pub name: Arc<str>,
    /// Owner.
    pub owner: PrincipalId,
    /// `remote_service_name`, compared ordinally.
    pub remote_service: Option<Arc<str>>,
    /// `broker_instance` as written.
    pub broker_instance: Option<Arc<str>>,
    /// UTC expiry; `None` never expires.
    pub expires: Option<Timestamp>,
    /// `LOCAL`, `TRANSPORT` or `TCP://host:port`.
    pub address: Arc<str>,
    /// `mirror_address`
    pub mirror_address: Option<Arc<str>>,
}

/// A remote service binding: stored metadata (spec 1.7).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteServiceBinding {
    /// `remote_service_binding_id`
    pub id: BindingId,
    /// Name, compared by the default collation.
    pub name: Arc<str>,
    /// Owner.
    pub owner: PrincipalId,
    /// `remote_service_name`
    pub remote_service: Arc<str>,
    /// `remote_principal_id`
    pub user: PrincipalId,
    /// `is_anonymous_on`
    pub anonymous: bool,
}

/// A broker priority (spec 1.8); `None` stands for ANY.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerPriority {
    /// `priority_id`
    pub id: PriorityId,
    /// Name, compared by the default collation.
    pub name: Arc<str>,
    /// CONTRACT_NAME
    pub contract: Option<ContractId>,
    /// LOCAL_SERVICE_NAME
    pub local_service: Option<ServiceId>,
    /// REMOTE_SERVICE_NAME, compared ordinally.
    pub remote_service: Option<Arc<str>>,
    /// 1 to 10.
    pub level: u8,
}

/// What an event notification watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NotificationScope {
    /// ON SERVER; such a notification is kept in msdb.
    Server,
    /// ON DATABASE
    Database,
    /// ON QUEUE, of the same database.
    Queue(ObjectId),
}

/// An event notification (spec 1.9).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventNotification {
    /// `object_id`
    pub id: ObjectId,
    /// Name, unique in its scope by the default collation.
    pub name: Arc<str>,
    /// What it watches.
    pub scope: NotificationScope,
    /// Events and event groups, upper case.
    pub events: Vec<Arc<str>>,
    /// `service_name`, compared ordinally.
    pub service: Arc<str>,
    /// `broker_instance`: the guid as given, or this database's for `'current database'`.
    pub broker_instance: Arc<str>,
    /// Who created it (`principal_id`).
    pub creator: PrincipalId,
    /// WITH FAN_IN
    pub fan_in: bool,
    /// `create_date`
    pub created: Timestamp,
    /// Handles of the dialogs it posts on.
    pub dialogs: Vec<Uuid>,
}
