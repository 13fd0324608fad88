//! The running of one request: session state, sink and cancellation, and what every statement needs of them.
//!
//! This file must not know any particular statement.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::effects::Origin;
use super::state::SessionState;
use crate::error::SqlError;
use crate::output::{Change, Command, Event, ResultSink};
use crate::value::{Column, Value};

/// One request while it runs.
pub(crate) struct Execution<'a> {
    /// The session.
    pub(super) state: &'a mut SessionState,
    /// Takes what the request yields.
    pub(super) sink: &'a mut (dyn ResultSink + 'a),
    /// Asks the request to stop.
    pub(super) cancel: &'a CancellationToken,
    /// Whether a TRY block of a caller catches what the running frame does not.
    pub(super) guarded: bool,
    /// Whether statements are reported as parts of a procedure.
    pub(super) in_procedure: bool,
    /// Whether the rows it returns are inserted by INSERT .. EXEC, which does not nest.
    pub(super) returns_rows_to_insert: bool,
    /// Steps run since other tasks last had their turn.
    pub(super) steps: u32,
}

/// Why a statement or program stopped.
#[derive(Debug)]
pub(super) enum Stop {
    /// An error that has not been told to the client yet.
    Error(Raised),
    /// The client cancelled the request, or is gone.
    Cancelled,
    /// The request ends; its error has been told.
    Abort,
}

/// An error on its way to whoever catches or tells it.
#[derive(Debug)]
pub(super) struct Raised {
    /// The error.
    pub(super) error: SqlError,
    /// Where it came from.
    pub(super) origin: Origin,
    /// Whether it left a procedure or dynamic batch; the caller's TRY block catches it in any case then.
    pub(super) from_callee: bool,
}

impl Stop {
    /// An error raised by RAISERROR or THROW.
    pub(super) fn raised(error: SqlError, origin: Origin) -> Stop {
        Stop::Error(Raised { error, origin, from_callee: false })
    }

    /// An error of compiling a text that a statement runs; a TRY block around that statement catches it.
    pub(super) fn from_callee(error: SqlError) -> Stop {
        Stop::Error(Raised { error, origin: Origin::Statement, from_callee: true })
    }
}

impl From<SqlError> for Stop {
    fn from(error: SqlError) -> Stop {
        Stop::raised(error, Origin::Statement)
    }
}

/// A statement that went well.
#[derive(Debug, Clone, Copy)]
pub(super) struct Done {
    /// Its kind, for the client.
    pub(super) command: Command,
    /// Rows it returned or changed, for the client.
    pub(super) count: Option<u64>,
    /// What `@@ROWCOUNT` becomes; `None` leaves it.
    pub(super) row_count: Option<i64>,
    /// What `@@ERROR` becomes: 0, except after RAISERROR WITH SETERROR.
    pub(super) error_number: i32,
    /// Whether the client is told at all.
    pub(super) told: bool,
}

impl Done {
    /// A statement without rows, after which `@@ROWCOUNT` is 0.
    pub(super) const PLAIN: Done =
        Done { command: Command::Other, count: None, row_count: Some(0), error_number: 0, told: true };

    /// An assignment, after which `@@ROWCOUNT` is 1.
    pub(super) const ASSIGNED: Done = Done { row_count: Some(1), ..Done::PLAIN };

    /// A statement the client hears nothing of and that leaves `@@ROWCOUNT`.
    pub(super) const SILENT: Done = Done { row_count: None, told: false, ..Done::PLAIN };

    /// A statement that returned or changed that many rows.
    pub(super) fn rows(command: Command, count: usize) -> Done {
        Done { command, count: Some(count as u64), row_count: Some(count as i64), ..Done::PLAIN }
    }

    /// A statement that assigned from that many rows, which the client gets no count of.
    pub(super) fn assigned_from(count: usize) -> Done {
        Done { count: None, ..Done::rows(Command::Select, count) }
    }
}

impl<'a> Execution<'a> {
    /// A request at its beginning.
    pub(crate) fn new(
        state: &'a mut SessionState,
        sink: &'a mut (dyn ResultSink + 'a),
        cancel: &'a CancellationToken,
    ) -> Execution<'a> {
        Execution {
            state,
            sink,
            cancel,
            guarded: false,
            in_procedure: false,
            returns_rows_to_insert: false,
            steps: 0,
        }
    }

    /// Tells the client of one event.
    pub(super) fn emit(&mut self, event: Event) {
        self.sink.emit(event);
    }

    /// Lets kept output leave when there is much of it. A reader that is gone cancels the request.
    pub(super) async fn drain(&mut self) -> Result<(), Stop> {
        if self.sink.is_full() { self.flush().await } else { Ok(()) }
    }

    /// Lets kept output leave, as far as it fills packets.
    pub(super) async fn flush(&mut self) -> Result<(), Stop> {
        self.sink.flush().await.map_err(|_| Stop::Cancelled)
    }

    /// Lets all kept output leave now.
    pub(super) async fn flush_all(&mut self) -> Result<(), Stop> {
        self.sink.flush_all().await.map_err(|_| Stop::Cancelled)
    }

    /// Sends a result set.
    pub(super) async fn send_rows(
        &mut self,
        columns: Arc<[Column]>,
        rows: Vec<Vec<Value>>,
    ) -> Result<(), Stop> {
        self.emit(Event::Columns(columns));
        for row in rows {
            self.emit(Event::Row(row));
            self.drain().await?;
        }
        Ok(())
    }

    /// Books a statement that went well and tells the client.
    pub(super) async fn finish(&mut self, done: Done) -> Result<(), Stop> {
        self.state.last_error = done.error_number;
        if let Some(count) = done.row_count {
            self.state.row_count = count;
        }
        if done.told {
            let count = done.count.filter(|_| !self.state.options.no_count);
            self.statement_done(done.command, count, false);
        }
        self.drain().await
    }

    /// Tells the client of an error and of the statement that failed by it.
    pub(super) fn tell(&mut self, error: SqlError) {
        self.emit(Event::Error(error));
        self.statement_done(Command::Other, None, true);
    }

    /// Tells the client that a transaction began.
    pub(super) fn transaction_began(&mut self, descriptor: u64) {
        self.state.transaction = Some(descriptor);
        self.emit(Event::Change(Change::TransactionBegun(descriptor)));
    }

    /// Tells the client that its transaction committed.
    pub(super) fn transaction_committed(&mut self, descriptor: u64) {
        self.state.transaction = None;
        self.emit(Event::Change(Change::TransactionCommitted(descriptor)));
    }

    /// Tells the client that its transaction was rolled back.
    pub(super) fn transaction_rolled_back(&mut self, descriptor: u64) {
        self.state.transaction = None;
        self.emit(Event::Change(Change::TransactionRolledBack(descriptor)));
    }

    /// Tells the client of a transaction that the engine rolled back by itself (deadlock, KILL).
    pub(super) fn notice_lost_transaction(&mut self) {
        let open = self.trancount() > 0;
        if let Some(descriptor) = self.state.transaction.filter(|_| !open) {
            self.transaction_rolled_back(descriptor);
        }
    }

    /// Rolls back whatever is open, telling the client.
    pub(super) fn roll_back_all(&mut self) {
        if self.trancount() == 0 {
            return;
        }
        let call = self.state.call();
        let rolled_back = self.state.instance.call(|core| core.rollback(&call));
        if let Ok(Some(descriptor)) = rolled_back {
            self.transaction_rolled_back(descriptor);
        }
    }

    /// `@@TRANCOUNT`
    pub(super) fn trancount(&self) -> i32 {
        let session = self.state.id;
        self.state.instance.call(|core| core.trancount(session))
    }

    fn statement_done(&mut self, command: Command, count: Option<u64>, failed: bool) {
        let in_procedure = self.in_procedure;
        self.emit(Event::StatementDone { command, count, in_procedure, failed });
    }
}
