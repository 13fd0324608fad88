//! What resets a session and what ends a request: options and database as they were at login, no doomed transaction left.
//!
//! This file must not know how resets are asked for.

use super::errors;
use super::execution::{Execution, Stop};
use super::options::Options;
use super::statements::database_context;
use crate::output::{Change, Event};

impl Execution<'_> {
    /// Resets the session for its next user: rolls back unless the transaction is kept, restores options and database,
    /// forgets prepared statements. The client hears of a changed database.
    ///
    /// # Errors
    /// Those of entering the first database again.
    pub(super) fn reset(&mut self, keep_transaction: bool) -> Result<(), Stop> {
        let old = self.database_name();
        let home = self.state.home;
        self.engine(|core, call| core.reset_session(call, home, keep_transaction))?;
        self.notice_lost_transaction();
        self.state.options = Options::default();
        self.state.prepared.clear();
        self.state.cursors.clear();
        self.state.caught.clear();
        self.state.row_count = 0;
        self.state.last_error = 0;
        self.state.last_identity = None;
        self.state.scope_identity = None;
        self.state.identity_insert = None;
        let new = self.database_name();
        if new != old {
            self.emit(Event::Change(Change::Database { old, new: new.clone() }));
            self.emit(Event::Info(database_context(&new)));
        }
        Ok(())
    }

    /// Ends a request: errors caught in it are forgotten, and a transaction that can only be rolled back is (3998).
    pub(super) fn end_request(&mut self) {
        self.state.caught.clear();
        let session = self.state.id;
        if self.state.instance.call(|core| core.xact_state(session)) == -1 {
            self.roll_back_all();
            self.state.last_error = 3998;
            self.tell(errors::uncommittable_at_end().at_line(1));
        }
    }

    /// Ends a request that was cancelled: nothing more is said; with XACT_ABORT its transaction is rolled back.
    pub(super) fn end_cancelled(&mut self) {
        self.state.caught.clear();
        if self.state.options.xact_abort && self.trancount() > 0 {
            let call = self.state.call();
            // The verdict of a deadlock or KILL has rolled back already; there is nothing else to do about it here.
            let _ = self.state.instance.call(|core| core.rollback(&call));
            self.state.transaction = None;
        }
    }
}
