//! Transactions: begin, commit, roll back, savepoints, and what ends with them.
//!
//! An explicit transaction belongs to its session until it ends; an autocommit one lives as long as its statement,
//! which includes the waits of that statement. Only explicit ones count in `@@TRANCOUNT` and have a descriptor.

use crate::error::SqlError;

use super::core::{Call, Core};
use super::definitions::Effect;
use super::errors;
use super::hooks;
use super::ids::{DatabaseId, SessionId, TxnId};
use super::tx::Tx;
use super::undo::{Log, Mark, Undo};

/// Characters of a savepoint's name that count.
const SAVEPOINT_NAME_LENGTH: usize = 32;

#[derive(Debug)]
struct Savepoint {
    /// Compared ordinally: savepoint names are case-sensitive whatever the collation (SAVE TRANSACTION page).
    name: String,
    mark: Mark,
}

/// A transaction and what it has done so far.
#[derive(Debug)]
pub(super) struct Transaction {
    pub(super) id: TxnId,
    pub(super) session: SessionId,
    /// Begun by BEGIN TRANSACTION rather than for one statement.
    pub(super) explicit: bool,
    /// It can only be rolled back as a whole.
    pub(super) doomed: bool,
    /// It has lost a deadlock and ends with the running statement.
    pub(super) victim: bool,
    /// For the engine's own work: the database it is about.
    pub(super) background: Option<DatabaseId>,
    pub(super) log: Log,
    savepoints: Vec<Savepoint>,
}

impl Transaction {
    pub(super) fn new(id: TxnId, session: SessionId, explicit: bool) -> Transaction {
        Transaction {
            id,
            session,
            explicit,
            doomed: false,
            victim: false,
            background: None,
            log: Log::default(),
            savepoints: Vec::new(),
        }
    }
}

impl Core {
    /// BEGIN TRANSACTION: the descriptor of a transaction that began; `None` when one was open and only counts up.
    ///
    /// # Errors
    /// 1205 or 596 decided while the session did not run.
    pub fn begin(&mut self, call: &Call) -> Result<Option<u64>, SqlError> {
        self.answer_verdict(call)?;
        self.cancel_wait(call.session);
        let descriptor = if self.trancount(call.session) == 0 {
            let transaction = self.new_transaction(call, true);
            let id = transaction.id;
            self.transactions.insert(id, transaction);
            self.session_mut(call.session).transaction = Some(id);
            Some(id.0)
        } else {
            None
        };
        self.session_mut(call.session).trancount += 1;
        Ok(descriptor)
    }

    /// COMMIT: the descriptor of the transaction that ended; `None` when an outer one goes on.
    ///
    /// # Errors
    /// 3902 without a transaction; 3930 when it is doomed; 1205 or 596 decided while the session did not run. If the
    /// work of the commit itself fails, the transaction is rolled back and that error returned.
    pub fn commit(&mut self, call: &Call) -> Result<Option<u64>, SqlError> {
        self.answer_verdict(call)?;
        self.cancel_wait(call.session);
        let Some(id) = self.explicit_transaction(call.session) else { return Err(errors::no_commit()) };
        if self.transactions.get(&id).is_some_and(|transaction| transaction.doomed) {
            return Err(errors::doomed_write());
        }
        let session = self.session_mut(call.session);
        session.trancount -= 1;
        if session.trancount > 0 {
            return Ok(None);
        }
        let transaction = self.detach_transaction(call.session, id);
        let outcome = self.commit_transaction(call, transaction);
        self.collect_wakes();
        outcome.map(|()| Some(id.0))
    }

    /// ROLLBACK of everything, whatever the nesting: the descriptor of the transaction that ended.
    ///
    /// # Errors
    /// 3903 without a transaction; 1205 or 596 decided while the session did not run, by which it has ended already.
    pub fn rollback(&mut self, call: &Call) -> Result<Option<u64>, SqlError> {
        self.answer_verdict(call)?;
        self.cancel_wait(call.session);
        let Some(id) = self.explicit_transaction(call.session) else { return Err(errors::no_rollback()) };
        let transaction = self.detach_transaction(call.session, id);
        self.roll_back_transaction(call, transaction);
        self.collect_wakes();
        Ok(Some(id.0))
    }

    /// SAVE TRANSACTION. A name may be set again; a roll back then goes to the latest.
    ///
    /// # Errors
    /// 628 without a transaction; 3930 when it is doomed.
    pub fn save(&mut self, call: &Call, name: &str) -> Result<(), SqlError> {
        self.answer_verdict(call)?;
        let Some(transaction) = self.open_transaction(call.session) else { return Err(errors::no_save()) };
        if transaction.doomed {
            return Err(errors::doomed_write());
        }
        let mark = transaction.log.mark();
        transaction.savepoints.push(Savepoint { name: significant(name), mark });
        Ok(())
    }

    /// ROLLBACK TRANSACTION to a savepoint: undoes what came after it, sends and receives included, keeps the savepoint
    /// and all locks (spec 2.10). `@@TRANCOUNT` stays, and the poison rule does not see it (spec 6).
    ///
    /// # Errors
    /// 3903 without a transaction; 3931 when it is doomed; 6401 when there is no savepoint of that name.
    pub fn rollback_to(&mut self, call: &Call, name: &str) -> Result<(), SqlError> {
        self.answer_verdict(call)?;
        let Some(id) = self.explicit_transaction(call.session) else { return Err(errors::no_rollback()) };
        let Some(transaction) = self.transactions.get_mut(&id) else { return Err(errors::no_rollback()) };
        if transaction.doomed {
            return Err(errors::doomed_savepoint());
        }
        let wanted = significant(name);
        let Some(place) = transaction.savepoints.iter().rposition(|it| it.name == wanted) else {
            return Err(errors::no_savepoint(name));
        };
        transaction.savepoints.truncate(place + 1);
        let mark = transaction.savepoints[place].mark;
        transaction.log.undo_to(mark, &mut self.state);
        hooks::rolled_back_to_savepoint(self, call);
        self.collect_wakes();
        Ok(())
    }

    /// Whether a savepoint of that name is set in the session's transaction.
    pub fn has_savepoint(&self, session: SessionId, name: &str) -> bool {
        let wanted = significant(name);
        let transaction = self.explicit_transaction(session).and_then(|id| self.transactions.get(&id));
        transaction.is_some_and(|it| it.savepoints.iter().any(|savepoint| savepoint.name == wanted))
    }

    /// `@@TRANCOUNT`
    pub fn trancount(&self, session: SessionId) -> i32 {
        self.sessions.get(&session).map_or(0, |session| session.trancount)
    }

    /// `XACT_STATE()`: 1 with an open transaction, -1 with a doomed one, 0 without one.
    pub fn xact_state(&self, session: SessionId) -> i8 {
        let transaction = self.explicit_transaction(session).and_then(|id| self.transactions.get(&id));
        transaction.map_or(0, |transaction| if transaction.doomed { -1 } else { 1 })
    }

    /// Descriptor of the session's explicit transaction.
    pub fn descriptor(&self, session: SessionId) -> Option<u64> {
        self.explicit_transaction(session).map(|id| id.0)
    }

    /// Dooms the session's transaction: it can be read in and rolled back, nothing else. Without one nothing happens.
    pub fn doom(&mut self, session: SessionId) {
        if let Some(transaction) = self.open_transaction(session) {
            transaction.doomed = true;
        }
    }

    /// Opens the doomed remains of a transaction that lost a deadlock inside a TRY block: nothing is left in it, yet it
    /// stays open until ROLLBACK, so that CATCH sees `XACT_STATE()` -1 (coverage 6.5).
    pub(crate) fn reopen_doomed(&mut self, call: &Call, descriptor: u64) {
        let mut transaction = Transaction::new(TxnId(descriptor), call.session, true);
        transaction.doomed = true;
        self.transactions.insert(transaction.id, transaction);
        let session = self.session_mut(call.session);
        session.transaction = Some(TxnId(descriptor));
        session.trancount = session.lost_trancount.max(1);
    }

    /// Ends a transaction by commit: its effects take place, rows it deleted go, its locks are released, those it woke
    /// run. If an effect fails, the transaction is rolled back instead.
    pub(super) fn commit_transaction(
        &mut self,
        call: &Call,
        transaction: Transaction,
    ) -> Result<(), SqlError> {
        let mut transaction = transaction;
        let effects = transaction.log.take_effects();
        if !effects.is_empty() {
            let mut tx = Tx::new(self, *call, transaction, None);
            let outcome = hooks::apply_effects(&mut tx, &effects);
            transaction = tx.finish();
            if let Err(error) = outcome {
                effects.into_iter().for_each(|effect| transaction.log.push_effect(effect));
                self.roll_back_transaction(call, transaction);
                return Err(error);
            }
        }
        self.remove_ghosts(&transaction);
        self.locks.release_all(transaction.id);
        hooks::committed(self, call, &effects);
        Ok(())
    }

    /// Ends a transaction by roll back: everything is undone, its locks are released. What it had received counts for
    /// the poison rule, whoever ended it (U-35).
    pub(super) fn roll_back_transaction(&mut self, call: &Call, transaction: Transaction) {
        let mut transaction = transaction;
        let effects: Vec<Effect> = transaction.log.take_effects();
        transaction.log.undo_to(Mark::default(), &mut self.state);
        self.locks.release_all(transaction.id);
        hooks::rolled_back(self, call, &effects);
    }

    fn explicit_transaction(&self, session: SessionId) -> Option<TxnId> {
        let session = self.sessions.get(&session)?;
        session.transaction.filter(|_| session.trancount > 0)
    }

    fn open_transaction(&mut self, session: SessionId) -> Option<&mut Transaction> {
        let id = self.explicit_transaction(session)?;
        self.transactions.get_mut(&id)
    }

    fn detach_transaction(&mut self, session: SessionId, id: TxnId) -> Transaction {
        let session = self.session_mut(session);
        session.transaction = None;
        session.trancount = 0;
        self.transactions.remove(&id).expect("the transaction of an idle session is kept")
    }

    /// Rows the transaction deleted stay as ghosts until here.
    fn remove_ghosts(&mut self, transaction: &Transaction) {
        for record in transaction.log.records() {
            let Undo::Row(table, id, _) = record else { continue };
            let row = self.state.tables.get(table).and_then(|data| data.get(*id));
            if row.is_some_and(|row| row.deleted_by == Some(transaction.id)) {
                self.state.put_row(*table, *id, None);
            }
        }
    }
}

fn significant(name: &str) -> String {
    name.chars().take(SAVEPOINT_NAME_LENGTH).collect()
}

#[cfg(test)]
#[path = "transaction_tests.rs"]
mod tests;
