//! What the engine keeps: plain data, one struct per catalog row or stored thing.
//!
//! Definitions are immutable once put (they are shared by `Arc`, and an old one is the undo record), so a change is a
//! new value. This module must not know how they are stored, locked or undone.

mod broker;
mod conversation;
mod objects;
mod principals;

pub use broker::{
    BrokerPriority, Contract, ContractUsage, EventNotification, MessageType, NotificationScope,
    RemoteServiceBinding, Route, Service, Validation,
};
pub use conversation::{
    Body, Endpoint, EndpointState, Group, Inbound, MessageKind, MessageStatus, OwnSide, PeerSide,
    QueuedMessage, StoredMessage, TransmissionRow,
};
pub(crate) use conversation::{Effect, PendingSend};
pub use objects::{
    Activation, ActivationUser, CheckDef, Database, KeyDef, ModuleDef, ModuleKind, Object, ObjectKind,
    QueueDef, Schema, TableColumn, TableDef, UserAccess,
};
pub use principals::{
    Grant, GrantState, Login, Permission, PermissionKey, Secret, Securable, ServerRole, User, UserKind,
};
