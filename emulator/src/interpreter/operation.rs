//! Leaf operations: one synchronous engine call, run again after every wait until it is done.
//!
//! A blocked operation has been undone by the engine, and nothing of it has left: its assignments are dropped and its
//! rows were never sent. This file must not know any particular statement.

use std::future::pending;

use super::execution::{Execution, Stop};
use super::frame::Frame;
use super::scope::Scope;
use crate::engine::errors::lock_timeout;
use crate::engine::{Call, Core, Op, Step, Tx};
use crate::error::SqlError;
use crate::value::Timestamp;

/// What ended a wait.
enum Woken {
    /// The engine: what the operation waited for may be there.
    Engine,
    /// Time: the moment the wait was limited to.
    Deadline,
    /// The client.
    Cancelled,
}

impl Execution<'_> {
    /// Runs an operation to its end, waiting as long as LOCK_TIMEOUT allows.
    pub(super) async fn operate<T>(
        &mut self,
        frame: &mut Frame,
        operation: impl FnMut(&mut Tx<'_>, &mut Scope<'_>) -> Op<T> + Send,
    ) -> Result<T, Stop> {
        let done = self.operate_until(frame, None, operation).await?;
        done.ok_or_else(|| lock_timeout().into())
    }

    /// Runs an operation to its end, or until `limit` passes while it waits: `None` then.
    pub(super) async fn operate_until<T>(
        &mut self,
        frame: &mut Frame,
        limit: Option<Timestamp>,
        mut operation: impl FnMut(&mut Tx<'_>, &mut Scope<'_>) -> Op<T> + Send,
    ) -> Result<Option<T>, Stop> {
        loop {
            let wait = match self.attempt(frame, &mut operation)? {
                Step::Done(value) => return Ok(Some(value)),
                Step::Blocked(wait) => wait,
            };
            let limited = wait.deadline.is_none_or(|deadline| limit.is_some_and(|limit| limit <= deadline));
            let deadline = if limited { limit } else { wait.deadline };
            match self.wait(deadline).await {
                Woken::Engine => {}
                Woken::Deadline if limited => {
                    self.cancel_wait();
                    return Ok(None);
                }
                Woken::Deadline => {
                    self.cancel_wait();
                    return Err(lock_timeout().into());
                }
                Woken::Cancelled => {
                    self.cancel_wait();
                    return Err(Stop::Cancelled);
                }
            }
        }
    }

    /// Runs an engine call that is no statement of a transaction.
    pub(super) fn engine<T>(
        &mut self,
        call: impl FnOnce(&mut Core, &Call) -> Result<T, SqlError>,
    ) -> Result<T, Stop> {
        let who = self.state.call();
        self.state.instance.call(|core| call(core, &who)).map_err(Stop::from)
    }

    /// Waits until that moment, unless the request is cancelled.
    pub(super) async fn sleep_until(&mut self, moment: Timestamp) -> Result<(), Stop> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(Stop::Cancelled),
            () = self.state.instance.clock().sleep_until(moment) => Ok(()),
        }
    }

    fn attempt<T>(
        &mut self,
        frame: &mut Frame,
        operation: &mut impl FnMut(&mut Tx<'_>, &mut Scope<'_>) -> Op<T>,
    ) -> Result<Step<T>, SqlError> {
        let call = self.state.call();
        let instance = std::sync::Arc::clone(&self.state.instance);
        instance.call(|core| {
            let mut scope = Scope::new(self.state, frame, core, call.now);
            let outcome = core.statement(&call, |tx| operation(tx, &mut scope));
            scope.close(matches!(outcome, Ok(Step::Done(_))));
            outcome
        })
    }

    async fn wait(&mut self, deadline: Option<Timestamp>) -> Woken {
        let clock = self.state.instance.clock();
        let due = async {
            match deadline {
                Some(deadline) => clock.sleep_until(deadline).await,
                None => pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Woken::Cancelled,
            () = self.state.wake.notified() => Woken::Engine,
            () = due => Woken::Deadline,
        }
    }

    fn cancel_wait(&mut self) {
        let session = self.state.id;
        self.state.instance.call(|core| core.cancel_wait(session));
    }
}
