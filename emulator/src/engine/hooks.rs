//! Where the substrate calls the broker: at the end of statements and transactions, and when a wait is given up.
//!
//! This is the only file the substrate calls the broker through; what the events mean is decided in the files it names.

use crate::error::SqlError;

use super::activation::CompletedReceive;
use super::core::{Call, Core};
use super::definitions::Effect;
use super::ids::{DatabaseId, QueueKey, SessionId};
use super::tx::Tx;

/// A transaction commits: its effects take place, in order. An error rolls the transaction back instead.
pub(super) fn apply_effects(tx: &mut Tx<'_>, effects: &[Effect]) -> Result<(), SqlError> {
    tx.apply(effects);
    Ok(())
}

/// A transaction has committed, with these effects, and has released its locks. It may have held locks and changed nothing.
pub(super) fn committed(core: &mut Core, call: &Call, effects: &[Effect]) {
    core.forgive(effects);
    core.settle(call, true);
}

/// A transaction was rolled back as a whole and has released its locks; `effects` are those that never took place. The
/// poison rule counts here (spec 6).
pub(super) fn rolled_back(core: &mut Core, call: &Call, effects: &[Effect]) {
    core.count_roll_back(effects, call.now);
    core.settle(call, true);
}

/// A session rolled back to a savepoint: messages may be back in their queues.
pub(super) fn rolled_back_to_savepoint(core: &mut Core, call: &Call) {
    core.settle(call, false);
}

/// A statement has run to its end with these receives. An autocommit transaction commits right after this, and only then
/// its locks are free.
pub(super) fn statement_done(core: &mut Core, call: &Call, receives: &[(QueueKey, CompletedReceive)]) {
    if !receives.is_empty() {
        core.note_task_receives(call.session, receives);
        core.note_receives(receives, call.now);
        core.settle(call, false);
    }
}

/// A session gave up its wait; if it waited on a queue and was woken, the next waiter gets its turn.
pub(super) fn cancel_queue_wait(core: &mut Core, session: SessionId) {
    core.broker.leave_all(session);
    core.serve_waiters();
}

impl Core {
    /// Brings monitors and waiters up to date with the state. `ended`: a transaction has ended, so that changes of the
    /// catalogs count.
    pub(super) fn settle(&mut self, call: &Call, ended: bool) {
        let version = self.state.catalog_version();
        if ended && (self.broker.catalog_changed || self.broker.seen_catalog != version) {
            self.broker.catalog_changed = false;
            self.broker.seen_catalog = version;
            self.forgive_disabled();
            self.compare_monitors(call.now);
            if !self.state.transmission.is_empty() {
                self.in_background(DatabaseId(1), call.now, |tx| tx.retry_transmission());
            }
            self.revive_overdue(call.now);
        }
        self.judge_monitors(call.now);
        self.serve_waiters();
    }
}
