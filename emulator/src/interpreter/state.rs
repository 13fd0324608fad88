//! What a session keeps from one request to the next, as far as T-SQL sees it.
//!
//! Transactions, locks and the current database live in the engine. This file must not run anything.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::Notify;

use super::cursor::Cursors;
use super::options::Options;
use super::procedures::Prepared;
use crate::engine::{Call, DatabaseId, SessionId, TableKey};
use crate::error::SqlError;
use crate::instance::Instance;

/// The state of one session.
pub(crate) struct SessionState {
    /// The server it belongs to.
    pub(crate) instance: Arc<Instance>,
    /// Its key in the engine.
    pub(crate) id: SessionId,
    /// Told when a wait of the session may be over.
    pub(crate) wake: Arc<Notify>,
    /// What SET changed.
    pub(crate) options: Options,
    /// The database a reset returns to.
    pub(super) home: DatabaseId,
    /// `@@ROWCOUNT`
    pub(super) row_count: i64,
    /// `@@ERROR`
    pub(super) last_error: i32,
    /// `@@IDENTITY`
    pub(super) last_identity: Option<i64>,
    /// `SCOPE_IDENTITY()` of the running program.
    pub(super) scope_identity: Option<i64>,
    /// The table `SET IDENTITY_INSERT .. ON` named.
    pub(super) identity_insert: Option<TableKey>,
    /// Descriptor of the open transaction that the client was told of.
    pub(super) transaction: Option<u64>,
    /// Its name, which ROLLBACK may mention.
    pub(super) transaction_name: Option<String>,
    /// Errors whose CATCH blocks are running, the innermost last.
    pub(super) caught: Vec<SqlError>,
    /// How many procedures and dynamic batches are running inside each other (`@@NESTLEVEL`).
    pub(super) nest_level: usize,
    /// Cursors that outlive their batch.
    pub(super) cursors: Cursors,
    /// `@@FETCH_STATUS`
    pub(super) fetch_status: i32,
    /// `@@CURSOR_ROWS`
    pub(super) cursor_rows: i32,
    /// Statements prepared by `sp_prepare` and its kin, by handle.
    pub(super) prepared: HashMap<i32, Prepared>,
    /// The handle given out last.
    pub(super) last_handle: i32,
}

impl SessionState {
    /// The state of a session that has just been opened in database `home`.
    pub(crate) fn new(instance: Arc<Instance>, id: SessionId, home: DatabaseId) -> SessionState {
        let wake = instance.register(id);
        SessionState {
            instance,
            id,
            wake,
            options: Options::default(),
            home,
            row_count: 0,
            last_error: 0,
            last_identity: None,
            scope_identity: None,
            identity_insert: None,
            transaction: None,
            transaction_name: None,
            caught: Vec::new(),
            nest_level: 0,
            cursors: Cursors::default(),
            fetch_status: 0,
            cursor_rows: 0,
            prepared: HashMap::new(),
            last_handle: 0,
        }
    }

    /// Who calls the engine, and when.
    pub(crate) fn call(&self) -> Call {
        Call { session: self.id, now: self.instance.clock().now() }
    }
}
