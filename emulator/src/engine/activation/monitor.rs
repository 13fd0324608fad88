//! The queue monitor: the state machine that decides when a queue needs another reader (spec 5.2, 5.3).
//!
//! Pure: it is told what happened and what the queue looks like, and answers whether subscribers must be told. It must
//! not know queues, messages, notifications or a clock.

use std::time::Duration;

use crate::value::Timestamp;

/// How long receives may go on without one of them coming back empty before one more reader is called for (spec 5.2 b).
const GROWTH_THRESHOLD: Duration = Duration::from_secs(5);

/// The three states of `sys.dm_broker_queue_monitors`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MonitorState {
    /// Nothing to receive.
    Inactive,
    /// Subscribers were told and nobody has received since.
    Notified,
    /// Somebody receives from the queue.
    ReceivesOccurring,
}

impl MonitorState {
    /// The state as the view spells it.
    pub fn name(self) -> &'static str {
        match self {
            MonitorState::Inactive => "INACTIVE",
            MonitorState::Notified => "NOTIFIED",
            MonitorState::ReceivesOccurring => "RECEIVES_OCCURRING",
        }
    }
}

/// What a monitor must know of its queue at the moment it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueView {
    /// Whether a message of status 1 waits, in whatever group.
    pub(crate) unread: bool,
    /// Whether a session waits in RECEIVE without WHERE or in GET CONVERSATION GROUP.
    pub(crate) waiter: bool,
}

impl QueueView {
    pub(super) fn wants_reader(self) -> bool {
        self.unread && !self.waiter
    }
}

/// A RECEIVE or GET CONVERSATION GROUP that ran to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CompletedReceive {
    /// Whether it returned nothing.
    pub(crate) empty: bool,
    /// Whether it named a conversation or group; such a one is no sign that the queue is served (spec 5.3, 8).
    pub(crate) filtered: bool,
}

/// The monitor of one queue.
#[derive(Debug, Clone)]
pub(crate) struct Monitor {
    state: MonitorState,
    /// Start of the growth timer, or the moment of the last notification, by state.
    since: Timestamp,
    last_empty: Option<Timestamp>,
    last_activated: Option<Timestamp>,
    notified_timeout: Option<Duration>,
}

impl Monitor {
    /// A monitor over a queue not looked at yet. `notified_timeout`: how long NOTIFIED lasts without a RECEIVE before
    /// the case is looked at anew; `None` is forever (U-20).
    pub(crate) fn new(now: Timestamp, notified_timeout: Option<Duration>) -> Monitor {
        Monitor {
            state: MonitorState::Inactive,
            since: now,
            last_empty: None,
            last_activated: None,
            notified_timeout,
        }
    }

    /// The present state.
    pub(crate) fn state(&self) -> MonitorState {
        self.state
    }

    /// When a RECEIVE last came back empty.
    pub(crate) fn last_empty(&self) -> Option<Timestamp> {
        self.last_empty
    }

    /// When a reader was last called for.
    pub(crate) fn last_activated(&self) -> Option<Timestamp> {
        self.last_activated
    }

    /// Takes note of a RECEIVE that ran to its end, before the queue is judged again.
    pub(crate) fn received(&mut self, receive: CompletedReceive, now: Timestamp) {
        // U-31: a RECEIVE with WHERE leaves NOTIFIED too; it only is no evidence of an empty queue.
        if self.state != MonitorState::ReceivesOccurring {
            self.state = MonitorState::ReceivesOccurring;
            self.since = now;
        }
        if receive.empty && !receive.filtered {
            self.since = now;
            self.last_empty = Some(now);
        }
    }

    /// Judges the queue after something changed or time passed. `true`: one more reader is needed, tell all subscribers.
    #[must_use]
    pub(crate) fn judge(&mut self, queue: QueueView, now: Timestamp) -> bool {
        let fire = match self.state {
            MonitorState::Inactive => queue.wants_reader(),
            MonitorState::Notified => self.is_due(now) && queue.wants_reader(),
            MonitorState::ReceivesOccurring if !queue.unread => {
                self.state = MonitorState::Inactive;
                false
            }
            MonitorState::ReceivesOccurring => self.is_due(now) && queue.wants_reader(),
        };
        if fire {
            // U-39: a repeated call for readers leads to NOTIFIED like the first.
            self.state = MonitorState::Notified;
            self.since = now;
            self.last_activated = Some(now);
        }
        fire
    }

    /// When the queue has to be judged again though nothing happens to it.
    pub(crate) fn deadline(&self, queue: QueueView) -> Option<Timestamp> {
        if queue.wants_reader() { self.threshold().map(|limit| self.since.plus(limit)) } else { None }
    }

    fn is_due(&self, now: Timestamp) -> bool {
        self.threshold().is_some_and(|limit| now >= self.since.plus(limit))
    }

    fn threshold(&self) -> Option<Duration> {
        match self.state {
            MonitorState::Inactive => None,
            MonitorState::Notified => self.notified_timeout,
            MonitorState::ReceivesOccurring => Some(GROWTH_THRESHOLD),
        }
    }
}

#[cfg(test)]
#[path = "monitor_tests.rs"]
mod tests;
