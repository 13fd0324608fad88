//! The whole instance, and the life of one statement in it.
//!
//! Everything runs synchronously under the one lock that the caller holds around [`Core`]; nothing here waits. A
//! statement that cannot go on is undone and answers [`Step::Blocked`]; its session waits outside and runs it again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use crate::error::SqlError;
use crate::value::Timestamp;

use super::broker_state::BrokerState;
use super::definitions::Secret;
use super::errors;
use super::hooks;
use super::ids::{DatabaseId, IdSource, QueueKey, SessionId, TxnId};
use super::locks::{LockManager, LockMode, Resource};
use super::sessions::{Session, Verdict};
use super::state::State;
use super::system_objects;
use super::transaction::Transaction;
use super::tx::Tx;
use super::undo::Mark;

/// Settings of an instance.
#[derive(Debug, Clone)]
pub struct CoreOptions {
    /// `@@SERVERNAME`, also in event messages.
    pub server_name: String,
    /// Password of `sa`; without one that login is disabled.
    pub sa_password: Option<Secret>,
    /// How long the closed target of a local dialog is kept (U-50).
    pub endpoint_retention: Duration,
    /// How long a queue monitor stays NOTIFIED without a RECEIVE; `None` is forever (U-20).
    pub notified_timeout: Option<Duration>,
}

impl Default for CoreOptions {
    fn default() -> CoreOptions {
        CoreOptions {
            server_name: "SSBROKER".to_string(),
            sa_password: None,
            endpoint_retention: Duration::from_secs(30 * 60),
            notified_timeout: None,
        }
    }
}

/// Who calls, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// The session; its security context is what permissions are checked for.
    pub session: SessionId,
    /// The time of the call.
    pub now: Timestamp,
}

/// Why an operation inside a statement did not finish.
#[derive(Debug)]
pub enum Interrupt {
    /// It failed.
    Error(SqlError),
    /// It has to wait.
    Blocked(Wait),
}

impl From<SqlError> for Interrupt {
    fn from(error: SqlError) -> Interrupt {
        Interrupt::Error(error)
    }
}

/// What operations inside a statement return.
pub type Op<T> = Result<T, Interrupt>;

/// Outcome of a statement that did not fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step<T> {
    /// It ran to its end.
    Done(T),
    /// It was undone and must be run again when the wait is over.
    Blocked(Wait),
}

/// What a session waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// The thing.
    pub on: WaitOn,
    /// End of the wait by LOCK_TIMEOUT (1222); `None` waits without limit.
    pub deadline: Option<Timestamp>,
}

/// The things a session waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitOn {
    /// A lock; the request stands in the queue of that resource.
    Lock(Resource),
    /// A message in the queue.
    Queue(QueueKey),
    /// That other sessions leave the database.
    DatabaseInUse(DatabaseId),
}

/// A lock as `sys.dm_tran_locks` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockInfo {
    /// Whose it is.
    pub session: SessionId,
    /// What is locked.
    pub resource: Resource,
    /// Mode held or asked for.
    pub mode: LockMode,
    /// Held, or waited for.
    pub granted: bool,
}

/// The whole instance.
pub struct Core {
    pub(super) options: CoreOptions,
    pub(super) state: State,
    pub(super) ids: Box<dyn IdSource + Send>,
    pub(super) locks: LockManager,
    pub(super) sessions: BTreeMap<SessionId, Session>,
    /// Open transactions, except for that of the running statement.
    pub(super) transactions: HashMap<TxnId, Transaction>,
    pub(super) broker: BrokerState,
    wakes: BTreeSet<SessionId>,
    last_session: u64,
    last_transaction: u64,
}

impl Core {
    /// An instance with the databases master, tempdb, model and msdb and the login sa.
    pub fn new(options: CoreOptions, ids: Box<dyn IdSource + Send>, now: Timestamp) -> Core {
        let mut core = Core {
            options,
            state: State::default(),
            ids,
            locks: LockManager::default(),
            sessions: BTreeMap::new(),
            transactions: HashMap::new(),
            broker: BrokerState::default(),
            wakes: BTreeSet::new(),
            last_session: 0,
            last_transaction: 0,
        };
        system_objects::create_instance(&mut core, now);
        core
    }

    /// Runs one leaf operation.
    ///
    /// `f` runs inside the session's transaction, or in an autocommit transaction of its own. If it fails, what it did
    /// is undone (an autocommit transaction ends by that). If it blocks, it is undone too, the locks it took for the
    /// statement are released, and its pending lock request keeps its place; the session runs it again when it has been
    /// woken, or gives up by [`Core::cancel_wait`]. If it finishes, an autocommit transaction commits.
    ///
    /// # Errors
    /// What `f` fails with; 3930 when it has written in a doomed transaction; 1205 when the transaction was chosen as
    /// deadlock victim, here or since the last call; 596 when the session was killed. After 1205 and 596 the transaction
    /// is rolled back.
    pub fn statement<T>(
        &mut self,
        call: &Call,
        f: impl FnOnce(&mut Tx<'_>) -> Op<T>,
    ) -> Result<Step<T>, SqlError> {
        self.answer_verdict(call)?;
        let waited = self.sessions.get_mut(&call.session).and_then(|session| session.wait.take());
        let transaction = self.take_transaction(call);
        let mark = transaction.log.mark();
        let mut tx = Tx::new(self, *call, transaction, waited);
        let mut outcome = f(&mut tx);
        if outcome.is_ok() && tx.transaction.doomed && tx.transaction.log.mark() != mark {
            outcome = Err(errors::doomed_write().into());
        }
        let receives = tx.take_receives();
        let transaction = tx.finish();
        let outcome = match outcome {
            Ok(value) => {
                hooks::statement_done(self, call, &receives);
                self.finish_statement(call, transaction).map(|()| Step::Done(value))
            }
            Err(interrupt) => self.interrupt_statement(call, transaction, mark, interrupt).map(Step::Blocked),
        };
        self.collect_wakes();
        outcome
    }

    /// Runs engine work outside any session, in a transaction of its own as `dbo` of `database`: timers, lifetimes,
    /// delivery retries.
    ///
    /// # Errors
    /// What `f` fails with; everything is undone then. Engine work takes no locks others can hold, so blocking is an error.
    pub(super) fn background<T>(
        &mut self,
        database: DatabaseId,
        now: Timestamp,
        f: impl FnOnce(&mut Tx<'_>) -> Op<T>,
    ) -> Result<T, SqlError> {
        let call = Call { session: SessionId::SYSTEM, now };
        let mut transaction = self.new_transaction(&call, false);
        transaction.background = Some(database);
        let mut tx = Tx::new(self, call, transaction, None);
        let outcome = f(&mut tx);
        let transaction = tx.finish();
        let done = match outcome {
            Ok(value) => self.commit_transaction(&call, transaction).map(|()| value),
            Err(interrupt) => {
                self.roll_back_transaction(&call, transaction);
                Err(match interrupt {
                    Interrupt::Error(error) => error,
                    Interrupt::Blocked(_) => errors::lock_timeout(),
                })
            }
        };
        self.collect_wakes();
        done
    }

    /// Gives up the session's wait: its deadline has come, or its request was cancelled. What had been granted to it in
    /// the meantime goes to the next one.
    pub fn cancel_wait(&mut self, session: SessionId) {
        let Some(entry) = self.sessions.get_mut(&session) else { return };
        entry.wait = None;
        if let Some(id) = entry.transaction {
            self.locks.cancel_wait(id);
            self.locks.release_statement(id);
            if entry.trancount == 0 {
                entry.transaction = None;
                self.transactions.remove(&id);
                self.locks.release_all(id);
            }
        }
        hooks::cancel_queue_wait(self, session);
        self.wakes.remove(&session);
        self.collect_wakes();
    }

    /// Sessions whose wait may be over. The caller notifies them after every call of any method of this type; each then
    /// runs its operation again.
    pub fn take_wakes(&mut self) -> Vec<SessionId> {
        self.collect_wakes();
        std::mem::take(&mut self.wakes).into_iter().collect()
    }

    /// Everything the instance keeps, to read.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The settings.
    pub fn options(&self) -> &CoreOptions {
        &self.options
    }

    /// Every lock held or waited for, in order of the transactions.
    pub fn locks(&self) -> Vec<LockInfo> {
        let all = self.locks.list().into_iter();
        all.filter_map(|(owner, resource, mode, granted)| {
            let session = self.session_of(owner)?;
            Some(LockInfo { session, resource, mode, granted })
        })
        .collect()
    }

    /// Has a session run its operation again.
    pub(super) fn wake(&mut self, session: SessionId) {
        self.wakes.insert(session);
    }

    /// Wakes the sessions that wait for something of this kind.
    pub(super) fn wake_waiting(&mut self, on: &WaitOn) {
        let waiting =
            self.sessions.iter().filter(|(_, it)| it.wait.as_ref().is_some_and(|wait| wait.on == *on));
        self.wakes.extend(waiting.map(|(id, _)| *id));
    }

    /// Notes that the session's transaction lost a deadlock; the session rolls it back when it runs next, which is now.
    pub(super) fn condemn(&mut self, victim: TxnId) {
        self.locks.cancel_wait(victim);
        let Some(session) = self.transactions.get(&victim).map(|it| it.session) else { return };
        if let Some(entry) = self.sessions.get_mut(&session) {
            entry.verdict = Some(Verdict::DeadlockVictim);
        }
        self.wakes.insert(session);
    }

    /// Answers what was decided about the session while it did not run.
    pub(super) fn answer_verdict(&mut self, call: &Call) -> Result<(), SqlError> {
        let Some(session) = self.sessions.get_mut(&call.session) else { return Ok(()) };
        let Some(verdict) = session.verdict else { return Ok(()) };
        if verdict == Verdict::DeadlockVictim {
            session.verdict = None;
            session.lost_trancount = session.trancount;
        }
        let spid = session.info.spid;
        self.abandon_transaction(call);
        self.collect_wakes();
        Err(match verdict {
            Verdict::DeadlockVictim => errors::deadlock_victim(spid),
            Verdict::Killed => errors::killed(),
        })
    }

    /// Rolls back whatever transaction the session has, explicit or blocked.
    pub(super) fn abandon_transaction(&mut self, call: &Call) {
        hooks::cancel_queue_wait(self, call.session);
        let Some(session) = self.sessions.get_mut(&call.session) else { return };
        session.wait = None;
        session.trancount = 0;
        let open = session.transaction.take();
        if let Some(transaction) = open.and_then(|id| self.transactions.remove(&id)) {
            self.roll_back_transaction(call, transaction);
        }
    }

    pub(super) fn new_transaction(&mut self, call: &Call, explicit: bool) -> Transaction {
        self.last_transaction += 1;
        Transaction::new(TxnId(self.last_transaction), call.session, explicit)
    }

    /// A number under which a session owns locks itself.
    pub(super) fn new_lock_owner(&mut self) -> TxnId {
        self.last_transaction += 1;
        TxnId(self.last_transaction)
    }

    pub(super) fn new_session_id(&mut self) -> SessionId {
        self.last_session += 1;
        SessionId(self.last_session)
    }

    /// Whose session owns locks under that number.
    fn session_of(&self, owner: TxnId) -> Option<SessionId> {
        let own = self.sessions.iter().find(|(_, session)| session.lock_owner == Some(owner));
        self.transactions.get(&owner).map(|it| it.session).or(own.map(|(id, _)| *id))
    }

    /// Turns granted locks into wakes.
    pub(super) fn collect_wakes(&mut self) {
        for owner in self.locks.take_woken() {
            if let Some(transaction) = self.transactions.get(&owner) {
                self.wakes.insert(transaction.session);
            }
        }
    }

    /// The session's open transaction, or a new one for this statement alone.
    fn take_transaction(&mut self, call: &Call) -> Transaction {
        let open = self.sessions.get(&call.session).and_then(|session| session.transaction);
        open.and_then(|id| self.transactions.remove(&id)).unwrap_or_else(|| self.new_transaction(call, false))
    }

    fn keep_transaction(&mut self, call: &Call, transaction: Transaction) {
        if let Some(session) = self.sessions.get_mut(&call.session) {
            session.transaction = Some(transaction.id);
            self.transactions.insert(transaction.id, transaction);
        }
    }

    fn finish_statement(&mut self, call: &Call, transaction: Transaction) -> Result<(), SqlError> {
        self.locks.cancel_wait(transaction.id);
        if transaction.explicit {
            self.locks.release_statement(transaction.id);
            self.keep_transaction(call, transaction);
            return Ok(());
        }
        self.forget_transaction(call);
        self.commit_transaction(call, transaction)
    }

    /// Undoes a statement that failed or blocked; gives the wait or the error.
    fn interrupt_statement(
        &mut self,
        call: &Call,
        mut transaction: Transaction,
        mark: Mark,
        interrupt: Interrupt,
    ) -> Result<Wait, SqlError> {
        transaction.log.undo_to(mark, &mut self.state);
        match interrupt {
            Interrupt::Blocked(wait) => Ok(self.block(call, transaction, wait)),
            Interrupt::Error(error) => Err(self.fail_statement(call, transaction, error)),
        }
    }

    fn fail_statement(&mut self, call: &Call, transaction: Transaction, error: SqlError) -> SqlError {
        self.locks.cancel_wait(transaction.id);
        if transaction.explicit && !transaction.victim {
            self.locks.release_statement(transaction.id);
            self.keep_transaction(call, transaction);
            return error;
        }
        if transaction.victim {
            let session = self.session_mut(call.session);
            session.lost_trancount = session.trancount;
        }
        self.forget_transaction(call);
        self.roll_back_transaction(call, transaction);
        error
    }

    fn block(&mut self, call: &Call, transaction: Transaction, wait: Wait) -> Wait {
        self.locks.release_statement(transaction.id);
        if !matches!(wait.on, WaitOn::Lock(_)) {
            self.locks.cancel_wait(transaction.id);
        }
        self.keep_transaction(call, transaction);
        if let Some(session) = self.sessions.get_mut(&call.session) {
            session.wait = Some(wait.clone());
        }
        wait
    }

    fn forget_transaction(&mut self, call: &Call) {
        if let Some(session) = self.sessions.get_mut(&call.session) {
            session.transaction = None;
            session.trancount = 0;
        }
    }
}

#[cfg(test)]
#[path = "core_tests.rs"]
mod tests;
