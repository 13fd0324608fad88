//! The gate that connections come through: it can be shut for a while, and everything that came through it be cut.

use std::sync::{Mutex, MutexGuard};

use tokio_util::sync::CancellationToken;

use crate::value::Timestamp;

/// Lets connections in and can cut them all.
#[derive(Debug)]
pub(crate) struct Gate {
    stop: CancellationToken,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Ends the connections made since the last cut.
    current: CancellationToken,
    refused_until: Option<Timestamp>,
    refused: u64,
}

impl Gate {
    /// An open gate; `stop` ends all connections for good.
    pub(crate) fn new(stop: CancellationToken) -> Gate {
        let current = stop.child_token();
        Gate { stop, state: Mutex::new(State { current, refused_until: None, refused: 0 }) }
    }

    /// The token that ends a connection made at `now`; `None` when it is refused.
    pub(crate) fn enter(&self, now: Timestamp) -> Option<CancellationToken> {
        let mut state = self.state();
        if state.refused_until.is_some_and(|until| now < until) {
            state.refused += 1;
            return None;
        }
        Some(state.current.child_token())
    }

    /// Cuts every connection; those that come afterwards live.
    pub(crate) fn cut(&self) {
        let mut state = self.state();
        state.current.cancel();
        state.current = self.stop.child_token();
    }

    /// Refuses connections until then.
    pub(crate) fn refuse_until(&self, until: Timestamp) {
        self.state().refused_until = Some(until);
    }

    /// How many connections were refused.
    pub(crate) fn refused(&self) -> u64 {
        self.state().refused
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no code panics while it holds the gate")
    }
}
