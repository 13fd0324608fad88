//! The requests a session answers, free of their wire form, and the trait through which the server hands them over.
//!
//! The server knows only this trait; [`crate::session::Session`] implements it. Keeping them apart lets the wire be
//! tested with a scripted handler, and sessions be driven without a wire.

use std::future::Future;

use tokio_util::sync::CancellationToken;

use crate::error::SqlError;
use crate::output::ResultSink;
use crate::value::{SqlType, Value};

/// What a client says about itself at login (LOGIN7, MS-TDS 2.2.6.4). The password never prints.
#[derive(Clone, Default)]
pub struct LoginRequest {
    /// Login name.
    pub user: String,
    /// Password in clear.
    pub password: String,
    /// Database asked for; empty means the login's default.
    pub database: String,
    /// Host name of the client.
    pub host: String,
    /// Name of the client program.
    pub application: String,
}

impl std::fmt::Debug for LoginRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoginRequest")
            .field("user", &self.user)
            .field("database", &self.database)
            .field("host", &self.host)
            .field("application", &self.application)
            .finish_non_exhaustive()
    }
}

/// Procedure named by a remote call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcedureName {
    /// By name, as sent: `sp_executesql`, `[sys].sp_datatype_info_100`, `dbo.p`.
    Name(String),
    /// By number (MS-TDS 2.2.6.6): 10 is `sp_executesql`.
    Number(u16),
}

/// A parameter of a remote call.
#[derive(Debug, Clone, PartialEq)]
pub struct CallParameter {
    /// Name with its `@`, possibly empty; the first parameters of `sp_executesql` and its kin count by position.
    pub name: String,
    /// Whether the client wants the value back.
    pub output: bool,
    /// Whether the parameter's default is asked for instead of `value`.
    pub default: bool,
    /// Type as sent, which may differ from the declared one.
    pub ty: SqlType,
    /// The value.
    pub value: Value,
}

/// A remote procedure call.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcedureCall {
    /// What is called.
    pub procedure: ProcedureName,
    /// Its parameters.
    pub parameters: Vec<CallParameter>,
}

/// Isolation levels in the order of their number on the wire, 1 to 5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IsolationLevel {
    /// 1
    ReadUncommitted,
    /// 2, the default
    #[default]
    ReadCommitted,
    /// 3
    RepeatableRead,
    /// 4
    Serializable,
    /// 5
    Snapshot,
}

/// A transaction-manager request (MS-TDS 2.2.6.9).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransactionRequest {
    /// Begin a transaction.
    Begin {
        /// Level for the session from now on; `None` leaves it.
        isolation: Option<IsolationLevel>,
        /// Name, possibly empty.
        name: String,
    },
    /// Commit; with `next`, begin another at once.
    Commit {
        /// Name, possibly empty.
        name: String,
        /// The transaction to begin afterwards (flag fBeginXact).
        next: Option<NextTransaction>,
    },
    /// Roll back all, or to the savepoint of that name; with `next`, begin another at once.
    Rollback {
        /// Savepoint or transaction name, possibly empty.
        name: String,
        /// The transaction to begin afterwards (flag fBeginXact).
        next: Option<NextTransaction>,
    },
    /// Set a savepoint.
    Save {
        /// Its name.
        name: String,
    },
}

/// The transaction that follows a commit or roll back at once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NextTransaction {
    /// Level for the session from now on; `None` leaves it.
    pub isolation: Option<IsolationLevel>,
    /// Name, possibly empty.
    pub name: String,
}

/// A session: answers one request at a time. A request is cancelled through its token: it then stops at the next
/// possible point, keeps its transaction (unless XACT_ABORT is on) and emits nothing more. Dropping the session rolls back.
pub trait RequestHandler: Send + 'static {
    /// Runs a batch (SQLBatch).
    fn batch(
        &mut self,
        text: String,
        sink: &mut dyn ResultSink,
        cancel: &CancellationToken,
    ) -> impl Future<Output = ()> + Send;

    /// Runs a procedure (RPC). A request with several calls arrives as several of these.
    fn call(
        &mut self,
        call: ProcedureCall,
        sink: &mut dyn ResultSink,
        cancel: &CancellationToken,
    ) -> impl Future<Output = ()> + Send;

    /// Begins, ends or marks a transaction.
    fn transaction(
        &mut self,
        request: TransactionRequest,
        sink: &mut dyn ResultSink,
        cancel: &CancellationToken,
    ) -> impl Future<Output = ()> + Send;

    /// Resets the session before the request that carries the bit: rolls back (unless `keep_transaction`), restores
    /// options and database, emits [`crate::output::Change::Reset`].
    fn reset(&mut self, keep_transaction: bool, sink: &mut dyn ResultSink)
    -> impl Future<Output = ()> + Send;
}

/// Opens sessions: checks the login and answers with a handler, or with the error of a refused login (18456, 4060).
pub trait LoginHandler: Send + Sync + 'static {
    /// The sessions it opens.
    type Session: RequestHandler;

    /// Logs in. What the client must know of (change of database, language) goes to `sink`.
    fn login(
        &self,
        request: LoginRequest,
        sink: &mut dyn ResultSink,
    ) -> impl Future<Output = Result<Self::Session, SqlError>> + Send;
}
