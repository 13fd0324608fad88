//! When a handler is started without a notification.
//!
//! Pure: what was seen, how many processes there are, and the time come in; a verdict goes out. One judge for each queue.
//!
//! SQL Server notifies once and is silent until somebody executes RECEIVE. So a notification that was lost, or a handler
//! that ended without receiving, leaves messages lying for ever. The rule: messages that wait, no process of ours, and no
//! sign of another reader, for longer than a notification takes to arrive, start a handler; one that ends and changes
//! nothing is started again after growing pauses.

use crate::activator::status::Handlers;
use crate::client::MonitorState;
use std::time::{Duration, Instant};

/// How long a notification may take before it counts as lost, or another activator to react.
const PATIENCE: Duration = Duration::from_millis(700);
/// How long the server's own timer is given while somebody reads: it notifies after five seconds (specification 5.2).
const READING: Duration = Duration::from_secs(8);
/// Pauses after handlers that ended without receiving.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// The same where it cannot be seen whether somebody received: messages may only have come faster than they were taken.
const LONGEST_BLIND_PAUSE: Duration = Duration::from_secs(5);

/// What a look at a queue showed. `None` is what the login may not see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Look {
    /// Whether a message can be received.
    pub(super) ready: Option<bool>,
    /// State of the queue monitor; `Some(None)` if there is none.
    pub(super) monitor: Option<Option<MonitorState>>,
}

/// What follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing.
    Fine,
    /// To be looked at again at this time at the latest.
    LookAgain(Instant),
    /// A handler is to be started.
    Launch,
}

/// Judges one queue.
#[derive(Debug, Clone, Default)]
pub(super) struct Judge {
    /// Since when messages wait and no process of ours runs.
    waiting_since: Option<Instant>,
    not_before: Option<Instant>,
    /// Launches that were judged already.
    launches: u64,
    futile: u32,
    /// When the last process of ours was seen to have ended: for a while the one who reads was that one.
    ended_at: Option<Instant>,
    /// Whether messages were found for which no notification came, and nothing better is known since.
    lost: bool,
}

impl Judge {
    /// A judge that knows nothing yet, for an application that has launched so many processes before.
    pub(super) fn new(launches: u64) -> Self {
        Self { launches, ..Self::default() }
    }

    /// Whether there is anything to look at while these processes run.
    pub(super) fn is_idle(handlers: Handlers) -> bool {
        handlers.running == 0 && !handlers.pending && !handlers.paused
    }

    /// Judges a look that was taken at `now`, while `handlers` were as they are.
    pub(super) fn judge(&mut self, look: &Look, handlers: Handlers, now: Instant) -> Verdict {
        if !Self::is_idle(handlers) {
            self.waiting_since = None;
            return Verdict::Fine;
        }
        if handlers.launches > self.launches {
            (self.launches, self.ended_at, self.waiting_since) = (handlers.launches, Some(now), None);
            self.ended(look, now);
        }
        if !look.waits() {
            self.rest();
            return Verdict::Fine;
        }
        let since = *self.waiting_since.get_or_insert(now);
        let is_theirs = look.is_read() && self.ended_at.is_none_or(|ended| now > ended + READING);
        let patience = if is_theirs { READING } else { PATIENCE };
        let due = (since + patience).max(self.not_before.unwrap_or(now));
        if due > now {
            return Verdict::LookAgain(due);
        }
        self.lost |= self.futile == 0 && !look.is_read();
        self.waiting_since = None;
        Verdict::Launch
    }

    /// How many handlers in a row ended and left the messages, without one RECEIVE as far as can be seen.
    pub(super) fn futile(&self) -> u32 {
        self.futile
    }

    /// Whether messages were found for which no notification came.
    pub(super) fn is_lost(&self) -> bool {
        self.lost
    }

    /// Nothing waits, so nothing is held against anybody.
    fn rest(&mut self) {
        *self = Self { launches: self.launches, ended_at: self.ended_at, ..Self::default() };
    }

    /// The last of our processes has ended; if messages wait, it may have ended in vain.
    fn ended(&mut self, look: &Look, now: Instant) {
        let longest = match look.monitor {
            // Only RECEIVE leads from there to any other state.
            Some(Some(MonitorState::Notified)) => LONGEST_PAUSE,
            Some(_) => {
                (self.futile, self.not_before) = (0, None);
                return;
            }
            None => LONGEST_BLIND_PAUSE,
        };
        let pause = FIRST_PAUSE.saturating_mul(1 << self.futile.min(16)).min(longest);
        self.futile = self.futile.saturating_add(1);
        self.not_before = Some(now + pause);
    }
}

impl Look {
    /// Whether messages wait. Where nobody may look, a monitor that has notified says so.
    fn waits(&self) -> bool {
        match self.ready {
            Some(ready) => ready,
            None => matches!(self.monitor, Some(Some(MonitorState::Notified))),
        }
    }

    /// Whether somebody, here or elsewhere, reads.
    fn is_read(&self) -> bool {
        matches!(self.monitor, Some(Some(MonitorState::ReceivesOccurring)))
    }
}

#[cfg(test)]
mod tests {
    use super::{FIRST_PAUSE, Judge, LONGEST_BLIND_PAUSE, LONGEST_PAUSE, Look, PATIENCE, READING, Verdict};
    use crate::activator::status::Handlers;
    use crate::client::MonitorState;
    use std::time::{Duration, Instant};

    fn look(ready: bool, monitor: MonitorState) -> Look {
        Look { ready: Some(ready), monitor: Some(Some(monitor)) }
    }

    fn handlers(running: u32, launches: u64) -> Handlers {
        Handlers { running, launches, ..Handlers::default() }
    }

    #[test]
    fn messages_without_reader_start_a_handler_once_a_notification_would_have_come() {
        let now = Instant::now();
        let (mut judge, lost) = (Judge::default(), look(true, MonitorState::Notified));
        assert_eq!(judge.judge(&lost, handlers(0, 0), now), Verdict::LookAgain(now + PATIENCE));
        assert_eq!(judge.judge(&lost, handlers(0, 0), now + PATIENCE), Verdict::Launch);
        assert!(judge.is_lost());
        assert_eq!(judge.judge(&lost, handlers(1, 1), now + PATIENCE), Verdict::Fine);
        let empty = look(false, MonitorState::Inactive);
        assert_eq!(judge.judge(&empty, handlers(0, 1), now + PATIENCE), Verdict::Fine);
        assert!(!judge.is_lost());
    }

    #[test]
    fn the_servers_own_timer_goes_first_while_somebody_reads() {
        let now = Instant::now();
        let (mut judge, read) = (Judge::default(), look(true, MonitorState::ReceivesOccurring));
        assert_eq!(judge.judge(&read, handlers(0, 0), now), Verdict::LookAgain(now + READING));
        assert_eq!(judge.judge(&read, handlers(0, 0), now + READING), Verdict::Launch);
        assert!(!judge.is_lost());
    }

    #[test]
    fn a_message_that_came_while_the_last_handler_ended_does_not_wait_for_the_servers_timer() {
        let now = Instant::now();
        let (mut judge, read) = (Judge::default(), look(true, MonitorState::ReceivesOccurring));
        assert_eq!(judge.judge(&read, handlers(1, 1), now), Verdict::Fine);
        assert_eq!(judge.judge(&read, handlers(0, 1), now), Verdict::LookAgain(now + PATIENCE));
        assert_eq!(judge.judge(&read, handlers(0, 1), now + PATIENCE), Verdict::Launch);
        assert_eq!((judge.futile(), judge.is_lost()), (0, false));
    }

    #[test]
    fn nothing_is_started_beside_a_process_a_pending_launch_or_a_pause() {
        let now = Instant::now();
        let waits = look(true, MonitorState::Notified);
        for handlers in [
            Handlers { running: 1, ..Handlers::default() },
            Handlers { pending: true, ..Handlers::default() },
            Handlers { paused: true, ..Handlers::default() },
        ] {
            let mut judge = Judge::default();
            for seconds in 0..100 {
                let at = now + Duration::from_secs(seconds);
                assert_eq!(judge.judge(&waits, handlers, at), Verdict::Fine);
            }
        }
    }

    #[test]
    fn a_handler_that_does_not_receive_is_started_again_after_growing_pauses() {
        let mut now = Instant::now();
        let (mut judge, waits) = (Judge::new(0), look(true, MonitorState::Notified));
        let mut pauses = Vec::new();
        for launches in 1..12 {
            let Verdict::LookAgain(at) = judge.judge(&waits, handlers(0, launches), now) else { panic!() };
            pauses.push(at - now);
            now = at;
            assert_eq!(judge.judge(&waits, handlers(0, launches), now), Verdict::Launch);
            assert_eq!(u64::from(judge.futile()), launches);
        }
        assert_eq!(pauses[..3], [FIRST_PAUSE, FIRST_PAUSE * 2, FIRST_PAUSE * 4]);
        assert_eq!(pauses[10], LONGEST_PAUSE);
        // It receives at last: everything is forgotten.
        judge.judge(&look(true, MonitorState::ReceivesOccurring), handlers(0, 12), now);
        assert_eq!((judge.futile(), judge.not_before), (0, None));
    }

    #[test]
    fn without_the_right_to_see_the_monitor_pauses_stay_short() {
        let mut now = Instant::now();
        let (mut judge, waits) = (Judge::new(0), Look { ready: Some(true), monitor: None });
        for launches in 1..20 {
            let Verdict::LookAgain(at) = judge.judge(&waits, handlers(0, launches), now) else { panic!() };
            assert!(at - now <= LONGEST_BLIND_PAUSE);
            now = at;
            assert_eq!(judge.judge(&waits, handlers(0, launches), now), Verdict::Launch);
        }
    }

    #[test]
    fn a_monitor_that_has_notified_speaks_for_a_queue_that_may_not_be_read() {
        let now = Instant::now();
        let unread = |state| Look { ready: None, monitor: Some(Some(state)) };
        let mut judge = Judge::default();
        assert_eq!(judge.judge(&unread(MonitorState::Inactive), handlers(0, 0), now), Verdict::Fine);
        judge.judge(&unread(MonitorState::Notified), handlers(0, 0), now);
        assert_eq!(
            judge.judge(&unread(MonitorState::Notified), handlers(0, 0), now + PATIENCE),
            Verdict::Launch
        );
        assert_eq!(Judge::default().judge(&Look::default(), handlers(0, 0), now), Verdict::Fine);
    }
}
