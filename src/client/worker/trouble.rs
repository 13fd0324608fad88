//! What a worker does about an error that is not its handler's: try again, wait until somebody has mended it, or end.
//!
//! Pure but for the log lines, of which there is one when trouble begins and one when it is over.

use std::time::Duration;

use crate::client::error::{Error, ErrorKind};
use crate::client::retry::Backoff;

/// What a worker does when its queue is switched off or gone, or the broker disabled, after it had worked before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhenUnavailable {
    /// Wait until it is back, asking every few seconds.
    #[default]
    Wait,
    /// End with the error.
    Stop,
}

/// What a worker does when it finds another broker behind the same name after a lost connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhenBrokerChanges {
    /// Log it and go on with the new one.
    #[default]
    GoOn,
    /// End with [`StopReason::BrokerChanged`](super::StopReason::BrokerChanged).
    Stop,
}

/// What to do about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reaction {
    /// Pause, then try again.
    Pause(Duration),
    /// End with the error.
    Fail,
    /// End because another broker answers.
    BrokerChanged,
}

/// A run of errors without a success between them.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    errors: u32,
    /// Whether anything has succeeded before: only then a missing queue may come back.
    has_worked: bool,
}

/// Pauses while somebody has to mend something.
const MENDING: Backoff = Backoff::new(Duration::from_millis(250), Duration::from_secs(2));

impl Trouble {
    /// Something succeeded, if only a wait that ended without messages.
    pub(super) fn is_over(&mut self) {
        if self.errors > 0 {
            tracing::info!(errors = self.errors, "the worker goes on after an error");
        }
        *self = Self { errors: 0, has_worked: true };
    }

    /// What to do about an error. `jitter` is a random number from 0 to 1.
    pub(super) fn react(
        &mut self,
        error: &Error,
        unavailable: WhenUnavailable,
        changed: WhenBrokerChanges,
        jitter: f64,
    ) -> Reaction {
        let backoff = match error.kind() {
            ErrorKind::BrokerChanged if changed == WhenBrokerChanges::Stop => return Reaction::BrokerChanged,
            ErrorKind::BrokerChanged => Backoff::reconnect(),
            _ if error.is_retryable() || error.is_connection_lost() => Backoff::reconnect(),
            ErrorKind::QueueDisabled | ErrorKind::ObjectMissing | ErrorKind::BrokerDisabled
                if self.has_worked && unavailable == WhenUnavailable::Wait =>
            {
                MENDING
            }
            _ => return Reaction::Fail,
        };
        if self.errors == 0 {
            tracing::warn!(%error, "the worker met an error and tries again");
        }
        self.errors += 1;
        Reaction::Pause(backoff.delay(self.errors - 1, jitter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::error::ServerError;

    fn react(trouble: &mut Trouble, number: u32) -> Reaction {
        let error = Error::from_server(ServerError::new(number, "text"));
        trouble.react(&error, WhenUnavailable::Wait, WhenBrokerChanges::GoOn, 1.0)
    }

    #[test]
    fn a_missing_queue_ends_a_worker_that_never_worked_and_is_waited_for_by_one_that_did() {
        let mut trouble = Trouble::default();
        assert_eq!(react(&mut trouble, 208), Reaction::Fail);
        trouble.is_over();
        for number in [208, 9617, 8442] {
            assert!(matches!(react(&mut trouble, number), Reaction::Pause(_)), "{number}");
        }
        assert_eq!(react(&mut trouble, 229), Reaction::Fail);
        let missing = Error::from_server(ServerError::new(208, "text"));
        let stop = trouble.react(&missing, WhenUnavailable::Stop, WhenBrokerChanges::GoOn, 1.0);
        assert_eq!(stop, Reaction::Fail);
    }

    /// Case C031: a secondary replica is neither poison nor fatal, and the pauses stay below two seconds.
    #[test]
    fn c031_a_database_that_moved_is_tried_again_with_pauses_below_two_seconds() {
        let mut trouble = Trouble::default();
        for number in [3906, 976, 983].into_iter().cycle().take(30) {
            let Reaction::Pause(pause) = react(&mut trouble, number) else {
                panic!("{number} ends the worker")
            };
            assert!(pause <= Duration::from_secs(2), "{pause:?}");
        }
    }

    #[test]
    fn another_broker_ends_a_worker_that_wants_it_so() {
        let mut trouble = Trouble::default();
        let error = Error::new(ErrorKind::BrokerChanged, "another broker answers");
        let stop = trouble.react(&error, WhenUnavailable::Wait, WhenBrokerChanges::Stop, 1.0);
        assert_eq!(stop, Reaction::BrokerChanged);
        let go_on = trouble.react(&error, WhenUnavailable::Wait, WhenBrokerChanges::GoOn, 1.0);
        assert!(matches!(go_on, Reaction::Pause(_)));
    }
}
