//! The client library: dialogs, a dialog pool, receivers and workers.
//!
//! Everything starts from a [`Broker`]. This folder knows neither the activator, nor the command line, nor the embedded
//! broker; only `session`, `pool` and `outbox` name the SQL driver.

mod body;
mod broker;
mod dead_letters;
mod delayed;
mod delivery;
mod dialog;
mod dialog_pool;
mod envelope;
mod error;
mod handled;
mod ids;
mod inspection;
mod limits;
mod message;
mod names;
mod once;
mod options;
pub mod outbox;
mod outcome;
mod poison;
mod pool;
mod queue_switch;
mod receive;
mod request;
mod retry;
mod rows;
mod runs;
mod sending;
pub mod server_codes;
mod session;
mod statements;
pub mod telemetry;
mod topology;
mod unsent;
mod values;
mod worker;

pub use body::{Body, TextEncoding};
pub use broker::{Broker, BrokerInstance};
pub use dead_letters::{DeadLetter, DeadLetters};
pub use delayed::DueSent;
pub use delivery::{ConversationState, DeliveryStatus};
pub use dialog::{Dialog, DialogBuilder};
pub use dialog_pool::{Destination, DialogPool, PoolOptions, PoolStats, Repair};
pub use envelope::{Envelope, TraceContext};
pub use error::{Error, ErrorKind, Result, ServerError};
pub use ids::{ConversationGroup, ConversationHandle};
pub use inspection::{
    DatabaseState, EventNotification, Monitor, MonitorState, QueueDetails, QueueLocation, QueueState, Right,
    ServiceState, Visible,
};
pub use limits::Limits;
pub use message::{ErrorBody, Message, MessageKind, OutgoingMessage};
pub use names::{ContractName, MessageTypeName, QueueName, ServiceName};
pub use once::SendOnce;
pub use options::{BrokerOptions, DEFAULT_PORT, Encryption, TokenProvider};
pub use outcome::SendOutcome;
pub use poison::{DeadLetterCause, PoisonAction, PoisonPolicy, RetrySchedule};
pub use receive::{Batch, Connectivity, Receive, Receiver};
pub use request::{
    DiscardReplies, FurtherMessage, PendingReply, Reply, Request, Requester, RequesterBuilder,
    RequesterStats, SharedReply, UnfinishedRequest, Wait,
};
pub use retry::Backoff;
pub use rows::{ColumnIndex, ResultSet, Results, Row};
pub use runs::HandlerRun;
pub use topology::{
    Finding, QueueSettings, RouteSettings, SentBy, Table, Topology, Validation, Verification,
};
pub use unsent::{UnsentMessage, UnsentMessages};
pub use values::{FromSqlValue, SqlDateTime, SqlValue};
pub use worker::{
    Delivery, Handler, HandlerError, HandlerFn, Handling, LongHandler, LongWorker, StopReason, UnknownType,
    WhenBrokerChanges, WhenUnavailable, WorkItem, Worker, WorkerHandle, WorkerStats, handler_fn,
};
