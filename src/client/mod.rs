//! The client library: dialogs, a dialog pool, receivers and workers.
//!
//! Everything starts from a [`Broker`]. This folder knows neither the activator, nor the command line, nor the embedded
//! broker; only `session` and `pool` name the SQL driver.

mod body;
mod broker;
mod dead_letters;
mod dialog;
mod dialog_pool;
mod error;
mod ids;
mod inspection;
mod message;
mod names;
mod options;
mod outcome;
mod poison;
mod pool;
mod receive;
mod retry;
mod rows;
mod sending;
pub mod server_codes;
mod session;
mod statements;
mod values;
mod worker;

pub use body::Body;
pub use broker::{Broker, BrokerInstance};
pub use dead_letters::{DeadLetter, DeadLetters};
pub use dialog::{Dialog, DialogBuilder};
pub use dialog_pool::{Destination, DialogPool, PoolOptions, PoolStats};
pub use error::{Error, ErrorKind, Result, ServerError};
pub use ids::{ConversationGroup, ConversationHandle};
pub use inspection::{
    DatabaseState, EventNotification, Finding, Monitor, MonitorState, QueueDetails, QueueLocation,
    QueueState, Right, ServiceState,
};
pub use message::{ErrorBody, Message, MessageKind, OutgoingMessage};
pub use names::{ContractName, MessageTypeName, QueueName, ServiceName};
pub use options::{BrokerOptions, DEFAULT_PORT, Encryption};
pub use outcome::SendOutcome;
pub use poison::{DeadLetterCause, PoisonAction, PoisonPolicy, RetrySchedule};
pub use receive::{Batch, Receive, Receiver};
pub use retry::Backoff;
pub use rows::{ColumnIndex, ResultSet, Results, Row};
pub use values::{FromSqlValue, SqlDateTime, SqlValue};
pub use worker::{
    Delivery, Handler, HandlerError, HandlerFn, Handling, LongHandler, LongWorker, StopReason, UnknownType,
    WhenBrokerChanges, WhenUnavailable, WorkItem, Worker, WorkerHandle, WorkerStats, handler_fn,
};
