//! What running a request yields, as a stream of events, and the sink that takes them.
//!
//! The interpreter emits events; the wire encodes them as tokens, a test collects them, an activated procedure's sink
//! writes them to the log. This file must not know tokens or packets.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use crate::error::SqlError;
use crate::value::{Column, SqlType, Value};

/// One thing a running request tells its client, in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A result set begins.
    Columns(Arc<[Column]>),
    /// One row of the result set begun last; as many values as columns.
    Row(Vec<Value>),
    /// A statement is done.
    StatementDone {
        /// What kind of statement it was.
        command: Command,
        /// Rows it returned or changed; `None` for statements without a count and under `SET NOCOUNT ON`.
        count: Option<u64>,
        /// Whether the statement ran inside a procedure or `sp_executesql`.
        in_procedure: bool,
        /// Whether it failed.
        failed: bool,
    },
    /// Value of an OUTPUT parameter of the called procedure.
    OutputParameter {
        /// Position among the call's parameters, 0-based.
        ordinal: u16,
        /// Name as the client sent it, possibly empty.
        name: String,
        /// Declared type.
        ty: SqlType,
        /// The value.
        value: Value,
    },
    /// Return status of the called procedure.
    ReturnStatus(i32),
    /// The called procedure is done.
    ProcedureDone {
        /// Whether it ended by an error.
        failed: bool,
    },
    /// A notice: severity 0 to 10 (PRINT, low RAISERROR, change of database).
    Info(SqlError),
    /// An error: severity 11 and up.
    Error(SqlError),
    /// A change the client must know of.
    Change(Change),
}

/// Changes of the session (ENVCHANGE, MS-TDS 2.2.7.9).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Current database.
    Database {
        /// Name before.
        old: String,
        /// Name now.
        new: String,
    },
    /// A transaction began; its descriptor, never 0.
    TransactionBegun(u64),
    /// The transaction of that descriptor committed.
    TransactionCommitted(u64),
    /// The transaction of that descriptor was rolled back, by whomever.
    TransactionRolledBack(u64),
    /// The session was reset on the client's request.
    Reset,
}

/// Kind of a finished statement, for the CurCmd field of DONE (MS-TDS 2.2.7.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// SELECT, RECEIVE and the like that return rows.
    Select,
    /// INSERT
    Insert,
    /// UPDATE
    Update,
    /// DELETE
    Delete,
    /// MERGE
    Merge,
    /// Anything else.
    Other,
}

/// Takes the events of a request.
pub trait ResultSink: Send {
    /// Takes one event. Never blocks; what cannot leave at once is kept.
    fn emit(&mut self, event: Event);

    /// Whether so much is kept that [`flush`](ResultSink::flush) should run before more is emitted.
    fn is_full(&self) -> bool;

    /// Lets everything kept leave, waiting for a slow reader. An error means that the reader is gone.
    fn flush(&mut self) -> Pin<Box<dyn Future<Output = io::Result<()>> + Send + '_>>;

    /// Cuts the way to the reader: nothing that is kept or comes later leaves.
    fn cut(&mut self) {}

    /// Lets everything leave at once, however little it is (`RAISERROR .. WITH NOWAIT`).
    fn flush_all(&mut self) -> Pin<Box<dyn Future<Output = io::Result<()>> + Send + '_>> {
        self.flush()
    }
}

/// A sink that keeps all events, for tests and for callers inside the process.
#[derive(Debug, Default)]
pub struct Collected {
    /// The events so far.
    pub events: Vec<Event>,
}

impl ResultSink for Collected {
    fn emit(&mut self, event: Event) {
        self.events.push(event);
    }

    fn is_full(&self) -> bool {
        false
    }

    fn flush(&mut self) -> Pin<Box<dyn Future<Output = io::Result<()>> + Send + '_>> {
        Box::pin(async { Ok(()) })
    }
}
