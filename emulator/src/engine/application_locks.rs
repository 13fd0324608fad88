//! Application locks (`sp_getapplock`): named locks of a transaction or a session.
//!
//! A lock is asked for by the running transaction, so that waits and deadlocks are those of every other lock; one that
//! the session is to own changes hands when it is granted. Each granted request is counted and needs its own release.
//! This file must not know procedures or their return codes.

use std::sync::Arc;

use super::core::Core;
use super::errors;
use super::ids::{SessionId, TxnId};
use super::locks::{LockDuration, LockMode, Resource};
use super::tx::{Op, Tx};

/// Whose an application lock is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockOwner {
    /// The transaction's: it ends with it.
    Transaction,
    /// The session's: it ends when the session closes, is reset, or gives it up.
    Session,
}

impl Tx<'_> {
    /// Takes an application lock, or blocks until it can be had. A lock that is held already is counted once more.
    ///
    /// # Errors
    /// 1205, 1222 as for any lock; 40510 for a session that asks for more than it holds while others hold the lock, too.
    pub fn lock_application(&mut self, name: &str, mode: LockMode, owner: LockOwner) -> Op<()> {
        let resource = self.application(name);
        let transaction = self.transaction();
        if owner == LockOwner::Transaction {
            self.lock(resource.clone(), mode, LockDuration::Transaction)?;
            self.core.locks.count(transaction, &resource);
            return Ok(());
        }
        let own = self.lock_owner();
        if self.core.locks.held(own, &resource).is_some() {
            if !self.core.locks.try_acquire(own, &resource, mode, LockDuration::Transaction) {
                return Err(errors::session_lock_conversion(name).into());
            }
        } else {
            self.lock(resource.clone(), mode, LockDuration::Transaction)?;
            self.core.locks.hand_over(transaction, own, &resource);
        }
        self.core.locks.count(own, &resource);
        Ok(())
    }

    /// Gives up one request for an application lock; `false` when it is not held.
    pub fn unlock_application(&mut self, name: &str, owner: LockOwner) -> bool {
        let resource = self.application(name);
        let own = self.owner_of(owner);
        self.core.locks.give_up(own, &resource)
    }

    /// The mode in which an application lock is held.
    pub fn application_lock(&mut self, name: &str, owner: LockOwner) -> Option<LockMode> {
        let resource = self.application(name);
        let own = self.owner_of(owner);
        self.core.locks.held(own, &resource)
    }

    /// Whether an application lock could be had at once.
    pub fn can_lock_application(&mut self, name: &str, mode: LockMode, owner: LockOwner) -> bool {
        let resource = self.application(name);
        let own = self.owner_of(owner);
        self.core.locks.could_acquire(own, &resource, mode)
    }

    /// Whether a transaction was begun, without which it can own no lock.
    pub fn is_in_transaction(&self) -> bool {
        self.transaction.explicit
    }

    fn application(&self, name: &str) -> Resource {
        Resource::Application(self.database(), Arc::from(name))
    }

    fn owner_of(&mut self, owner: LockOwner) -> TxnId {
        match owner {
            LockOwner::Transaction => self.transaction(),
            LockOwner::Session => self.lock_owner(),
        }
    }

    /// Under which number the session itself owns locks.
    fn lock_owner(&mut self) -> TxnId {
        let session = self.call().session;
        if let Some(owner) = self.core.session_mut(session).lock_owner {
            return owner;
        }
        let owner = self.core.new_lock_owner();
        self.core.session_mut(session).lock_owner = Some(owner);
        owner
    }
}

impl Core {
    /// Ends the locks that a session owns itself.
    pub(super) fn release_session_locks(&mut self, session: SessionId) {
        if let Some(owner) = self.sessions.get_mut(&session).and_then(|it| it.lock_owner.take()) {
            self.locks.release_all(owner);
        }
    }
}
