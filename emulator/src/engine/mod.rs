//! The engine: one instance with its databases, queues, conversations, tables, transactions and locks.
//!
//! It holds no SQL text to interpret, no tokens, no sockets, no clock and no async; callers pass the time in. The way
//! in is [`Core`]: sessions and transactions directly, everything else by [`Core::statement`], whose closure gets a
//! [`Tx`] with one method per operation. What cannot go on answers [`Step::Blocked`] and is run again after a wake-up.

mod acknowledgements;
mod activation;
mod admission;
mod application_locks;
mod broker_database;
mod broker_errors;
mod broker_faults;
mod broker_priorities;
mod broker_state;
#[cfg(test)]
mod conformance;
mod conversation;
mod core;
mod databases;
mod definitions;
mod delivery;
mod dialogs;
mod dispatch;
pub(crate) mod errors;
mod event_notifications;
mod fault_injection;
mod grants;
mod hooks;
mod ids;
mod injection;
mod inspection;
mod locks;
mod logins;
mod lookup;
mod message_types;
mod objects;
mod permission_rule;
mod poison;
mod priorities;
mod queue_state;
mod queues;
mod ready_index;
mod receive;
mod routes;
mod routing;
mod rows;
mod schemas;
mod security;
mod send;
mod services;
mod sessions;
mod state;
mod system_messages;
mod system_objects;
mod tables;
#[cfg(test)]
mod testing;
mod timers;
mod transaction;
mod tx;
mod undo;
mod users;
mod waiters;

pub use self::core::{Call, Core, CoreOptions, Interrupt, LockInfo, Op, Step, Wait, WaitOn};
pub use activation::{ActivationRequest, MonitorRow, MonitorState, TaskEnd, TaskRow};
pub use application_locks::LockOwner;
pub use broker_database::BrokerOption;
pub use broker_priorities::{Criterion, PriorityOptions};
pub use broker_state::BrokerCounters;
pub use conversation::End;
pub use databases::{DatabaseOption, Termination};
pub use definitions::{
    Activation, ActivationUser, Body, BrokerPriority, CheckDef, Contract, ContractUsage, Database, Endpoint,
    EndpointState, EventNotification, Grant, GrantState, Group, Inbound, KeyDef, Login, MessageKind,
    MessageStatus, MessageType, ModuleDef, ModuleKind, NotificationScope, Object, ObjectKind, OwnSide,
    PeerSide, Permission, PermissionKey, QueueDef, QueuedMessage, RemoteServiceBinding, Route, Schema,
    Secret, Securable, ServerRole, Service, StoredMessage, TableColumn, TableDef, TransmissionRow, User,
    UserAccess, UserKind, Validation,
};
pub use dialogs::{BeginDialog, Related};
pub use event_notifications::{NewNotification, NotifyOn};
pub use fault_injection::EventFault;
pub use grants::GrantAction;
pub use ids::{
    BindingId, ContractId, DatabaseId, FoldedName, IdSource, LoginId, MessageTypeId, NumericId, ObjectId,
    ObjectKey, PrincipalId, PriorityId, QueueKey, RouteId, RowId, SchemaId, ServiceId, SessionId, TableKey,
    TxnId, same_name,
};
pub use locks::{LockDuration, LockMode, Resource};
pub use logins::LoginChange;
pub use message_types::SentBy;
pub use objects::ObjectName;
pub use permission_rule::can_see;
pub use queue_state::QueueState;
pub use queues::{ActivationClause, ExecuteAs, QueueOptions};
pub use receive::{Filter, Receive, Waiting};
pub use routes::RouteOptions;
pub use rows::{Access, Inserted, ReadHint, ReadOptions, RowRead};
pub use services::ContractChange;
pub use sessions::{LoginInfo, SessionInfo};
pub use state::{
    Catalog, DatabaseEntity, DatabaseState, Endpoints, Entity, Row, State, TableData, Transmission,
};
pub use tx::{Principal, Tx};
pub use users::UserFor;
