//! Whether the transaction of a batch can go on, found out after each error and never assumed.
//!
//! Some errors end the transaction at the server. What is sent then is committed at once, by itself, so it is not sent.
//! Nothing here knows messages.

use std::sync::atomic::{AtomicBool, Ordering};

use super::batch::Work;
use crate::client::error::{Error, ErrorKind, Result};
use crate::client::session::Session;
use crate::client::statements;

/// What has become of the transaction of a batch. Only an error of the server or a time-out can change it.
#[derive(Debug, Default)]
pub(super) struct TransactionState {
    is_over: AtomicBool,
    has_timed_out: AtomicBool,
}

impl TransactionState {
    /// Whether nothing can be done in it any more.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// Whether that is because a request took longer than it may.
    pub(super) fn has_timed_out(&self) -> bool {
        self.has_timed_out.load(Ordering::Acquire)
    }

    /// Runs `work` unless the transaction is over, and finds out whether it is afterwards.
    pub(super) async fn work_in<T>(
        &self,
        session: &mut Session,
        work: impl for<'s> FnOnce(&'s mut Session) -> Work<'s, Result<T>>,
    ) -> Result<T> {
        if self.is_over() && session.is_clean() {
            let text = "the server has ended the transaction of this batch after an error; give it back";
            return Err(Error::new(ErrorKind::TransactionDoomed, text));
        }
        session.take_refused();
        let done = work(session).await;
        if session.has_timed_out() {
            self.has_timed_out.store(true, Ordering::Release);
            self.is_over.store(true, Ordering::Release);
        } else if session.take_refused() && session.is_clean() && !can_go_on(session).await {
            self.is_over.store(true, Ordering::Release);
        }
        done
    }
}

/// Whether a transaction is open that is not doomed. One that nobody can ask about is taken for lost.
async fn can_go_on(session: &mut Session) -> bool {
    let state = session.batch(statements::TRANSACTION_STATE).await;
    state.is_ok_and(|results| results.first_row().and_then(|row| row.get::<i32>("state").ok()) == Some(1))
}
