//! One running operation: its transaction, its principal, its time, and every way to change the state.
//!
//! All data operations are methods of [`Tx`], spread over the files of this folder by concept. Each change goes through
//! a `put` function here, which records what to put back.

use std::sync::Arc;

use uuid::Uuid;

use crate::error::SqlError;
use crate::value::Timestamp;

use super::activation::CompletedReceive;
pub(crate) use super::core::{Call, Interrupt, Op, Wait};
use super::core::{Core, WaitOn};
use super::definitions::{
    Database, Effect, Endpoint, Grant, Group, Login, PermissionKey, StoredMessage, TransmissionRow, User,
};
use super::errors;
use super::ids::{DatabaseId, LoginId, ObjectKey, PrincipalId, QueueKey, RowId, TableKey, TxnId};
use super::locks::{Acquired, LockDuration, LockMode, Resource};
use super::sessions::Session;
use super::state::{DatabaseState, Row, State, TableData, UndoableEntity};
use super::transaction::Transaction;
use super::undo::{Undo, put_in_map};

/// As whom an operation acts, in one database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Principal {
    /// The login; `None` for a user without login that is impersonated.
    pub login: Option<LoginId>,
    /// The database the user belongs to, which is the current one.
    pub database: DatabaseId,
    /// The user.
    pub user: PrincipalId,
    /// Impersonated by EXECUTE AS USER, a module or activation: without rights outside the database, unless that is
    /// trustworthy.
    pub confined: bool,
}

/// The running operation. It ends with the function that got it.
pub struct Tx<'a> {
    pub(super) core: &'a mut Core,
    pub(super) transaction: Transaction,
    call: Call,
    principal: Principal,
    waited: Option<Wait>,
    receives: Vec<(QueueKey, CompletedReceive)>,
}

impl<'a> Tx<'a> {
    pub(super) fn new(
        core: &'a mut Core,
        call: Call,
        transaction: Transaction,
        waited: Option<Wait>,
    ) -> Tx<'a> {
        let principal = match core.sessions.get(&call.session) {
            Some(session) => session.principal(),
            None => {
                let database = transaction.background.unwrap_or(DatabaseId(1));
                Principal { login: Some(Login::SA), database, user: User::DBO, confined: false }
            }
        };
        Tx { core, transaction, call, principal, waited, receives: Vec::new() }
    }

    /// The time of the call.
    pub fn now(&self) -> Timestamp {
        self.call.now
    }

    /// Who called, and when.
    pub fn call(&self) -> Call {
        self.call
    }

    /// As whom the operation acts.
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// The current database.
    pub fn database(&self) -> DatabaseId {
        self.principal.database
    }

    /// A new uuid.
    pub fn new_uuid(&mut self) -> Uuid {
        self.core.ids.uuid()
    }

    /// Everything the instance keeps, to read.
    pub fn state(&self) -> &State {
        &self.core.state
    }

    /// The session, to read; the engine's own work has none.
    pub(super) fn session(&self) -> Option<&Session> {
        self.core.sessions.get(&self.call.session)
    }

    /// The transaction's id.
    pub fn transaction(&self) -> TxnId {
        self.transaction.id
    }

    /// A database that must exist: the current one, or one found before by the same operation.
    pub(super) fn database_state(&self, database: DatabaseId) -> &DatabaseState {
        self.state().database(database).expect("the current database of a session is not dropped")
    }

    /// Takes a lock, or blocks until it can be had.
    ///
    /// # Errors
    /// 1205 when waiting would close a cycle and this transaction is the cheapest to roll back; 1222 when it would have
    /// to wait and LOCK_TIMEOUT is 0.
    pub fn lock(&mut self, resource: Resource, mode: LockMode, duration: LockDuration) -> Op<()> {
        match self.core.locks.acquire(self.transaction.id, &resource, mode, duration) {
            Acquired::Granted => return Ok(()),
            Acquired::Queued => self.resolve_deadlocks()?,
            Acquired::StillQueued => {}
        }
        Err(self.wait_for(WaitOn::Lock(resource))?)
    }

    /// Takes a lock if that is possible without waiting.
    pub fn try_lock(&mut self, resource: Resource, mode: LockMode, duration: LockDuration) -> bool {
        self.core.locks.try_acquire(self.transaction.id, &resource, mode, duration)
    }

    /// Locks a table, queue or procedure.
    ///
    /// # Errors
    /// As [`Tx::lock`].
    pub fn lock_object(&mut self, object: ObjectKey, mode: LockMode, duration: LockDuration) -> Op<()> {
        self.lock(Resource::Object(object), mode, duration)
    }

    /// The interrupt that makes the session wait, with the deadline LOCK_TIMEOUT gives: a wait that goes on keeps its
    /// deadline.
    ///
    /// # Errors
    /// 1222 when LOCK_TIMEOUT is 0.
    pub(super) fn wait_for(&mut self, on: WaitOn) -> Op<Interrupt> {
        if let Some(waited) = self.waited.take_if(|waited| waited.on == on) {
            return Ok(Interrupt::Blocked(waited));
        }
        let timeout = self.session().and_then(|session| session.info.lock_timeout);
        if timeout.is_some_and(|timeout| timeout.is_zero()) {
            self.core.locks.cancel_wait(self.transaction.id);
            return Err(errors::lock_timeout().into());
        }
        let deadline = timeout.map(|timeout| self.call.now.plus(timeout));
        Ok(Interrupt::Blocked(Wait { on, deadline }))
    }

    /// Notes a RECEIVE or GET CONVERSATION GROUP of this statement; the queue's monitor sees it if the statement ends well.
    pub(super) fn note_receive(&mut self, queue: QueueKey, receive: CompletedReceive) {
        self.receives.push((queue, receive));
    }

    pub(super) fn take_receives(&mut self) -> Vec<(QueueKey, CompletedReceive)> {
        std::mem::take(&mut self.receives)
    }

    pub(super) fn finish(self) -> Transaction {
        self.transaction
    }

    /// Breaks every cycle this transaction's wait has closed: the one that has done least is the victim.
    fn resolve_deadlocks(&mut self) -> Op<()> {
        let own = self.transaction.id;
        loop {
            let cycle = self.core.locks.cycle_of(own);
            let cost = |id: &TxnId| match self.core.transactions.get(id) {
                Some(other) => (other.log.cost(), true),
                None => (self.transaction.log.cost(), false),
            };
            let Some(victim) = cycle.iter().copied().min_by_key(cost) else { return Ok(()) };
            if victim == own {
                self.core.locks.cancel_wait(own);
                self.transaction.victim = true;
                let spid = self.session().map_or(0, |session| session.info.spid);
                return Err(errors::deadlock_victim(spid).into());
            }
            self.core.condemn(victim);
        }
    }
}

/// Changes of the state, each undone with the transaction.
impl Tx<'_> {
    /// An id for a new catalog entry of an existing database.
    pub(super) fn allocate<T: UndoableEntity>(&mut self, database: DatabaseId) -> T::Id {
        let database =
            self.core.state.databases.get_mut(&database).expect("entries are made in existing databases");
        T::catalog_mut(database).allocate()
    }

    /// Puts, replaces or removes a catalog entry.
    pub(super) fn put<T: UndoableEntity>(&mut self, database: DatabaseId, id: T::Id, value: Option<Arc<T>>) {
        let before = self.core.state.put_entry(database, id, value);
        self.transaction.log.push(T::undo(database, id, before));
    }

    /// Puts, replaces or removes a database's own row; remove what it contains first.
    pub(super) fn put_database(&mut self, id: DatabaseId, value: Option<Arc<Database>>) {
        let before = self.core.state.put_database(id, value);
        self.transaction.log.push(Undo::Database(id, before));
    }

    /// Puts, replaces or removes a login.
    pub(super) fn put_login(&mut self, id: LoginId, value: Option<Arc<Login>>) {
        let before = self.core.state.logins.put(id, value);
        self.transaction.log.push(Undo::Login(id, before));
    }

    /// Puts, replaces or removes a permission.
    pub(super) fn put_permission(&mut self, key: PermissionKey, value: Option<Grant>) {
        let before = put_in_map(&mut self.core.state.permissions, key, value);
        self.transaction.log.push(Undo::Permission(key, before));
    }

    /// Puts, replaces or removes an endpoint.
    pub(super) fn put_endpoint(&mut self, handle: Uuid, value: Option<Arc<Endpoint>>) {
        let before = self.core.state.put_endpoint(handle, value);
        self.transaction.log.push(Undo::Endpoint(handle, before));
    }

    /// Puts, replaces or removes a conversation group.
    pub(super) fn put_group(&mut self, id: Uuid, value: Option<Arc<Group>>) {
        let before = put_in_map(&mut self.core.state.groups, id, value);
        self.transaction.log.push(Undo::Group(id, before));
    }

    /// Puts, replaces or removes a message of a queue.
    pub(super) fn put_message(&mut self, queue: QueueKey, order: i64, value: Option<Arc<StoredMessage>>) {
        let before = self.core.state.put_message(queue, order, value);
        self.transaction.log.push(Undo::Message(queue, order, before));
    }

    /// An order for a new row of the transmission queue.
    pub(super) fn allocate_transmission(&mut self) -> i64 {
        self.core.state.transmission.allocate_order()
    }

    /// Puts, replaces or removes a row of the transmission queue.
    pub(super) fn put_transmission(&mut self, order: i64, value: Option<Arc<TransmissionRow>>) {
        let before = self.core.state.transmission.put(order, value);
        self.transaction.log.push(Undo::Transmission(order, before));
    }

    /// Puts, replaces or removes a row of a table.
    pub(super) fn put_row(&mut self, table: TableKey, id: RowId, value: Option<Arc<Row>>) {
        let before = self.core.state.put_row(table, id, value);
        self.transaction.log.push(Undo::Row(table, id, before));
    }

    /// Puts, replaces or removes the whole content of a table.
    pub(super) fn put_table(&mut self, table: TableKey, value: Option<TableData>) {
        let before = self.core.state.put_table(table, value.map(Box::new));
        self.transaction.log.push(Undo::Table(table, before));
    }

    /// Adds something to do when the transaction commits.
    pub(super) fn push_effect(&mut self, effect: Effect) {
        self.transaction.log.push_effect(effect);
    }

    /// Refuses to write in a doomed transaction. Operations ask before their first change; one that does not is undone
    /// by [`Core::statement`], which raises the same error.
    ///
    /// # Errors
    /// 3930
    pub(super) fn require_writable(&self) -> Result<(), SqlError> {
        if self.transaction.doomed { Err(errors::doomed_write()) } else { Ok(()) }
    }
}
