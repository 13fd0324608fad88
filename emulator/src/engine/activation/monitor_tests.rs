//! Table tests of the queue monitor: what happens on the left, what is expected on the right.

use std::time::Duration;

use super::{CompletedReceive, Monitor, MonitorState, QueueView};
use crate::value::Timestamp;

/// One thing that happens to the monitored queue.
#[derive(Clone, Copy)]
enum Step {
    /// The queue is judged with this many unread messages and waiters.
    Judge { unread: u32, waiters: u32 },
    /// A RECEIVE returned messages.
    Found,
    /// A RECEIVE returned nothing.
    Empty,
    /// A RECEIVE with WHERE returned nothing.
    EmptyFiltered,
    /// Time passes, in milliseconds.
    Wait(u64),
}

use MonitorState::{Inactive, Notified, ReceivesOccurring};
use Step::{Empty, EmptyFiltered, Found, Judge, Wait};

const BACKLOG: Step = Judge { unread: 3, waiters: 0 };
const DRAINED: Step = Judge { unread: 0, waiters: 0 };
const SERVED: Step = Judge { unread: 3, waiters: 1 };

struct Bench {
    monitor: Monitor,
    now: Timestamp,
}

impl Bench {
    fn new(notified_timeout: Option<Duration>) -> Bench {
        let now = Timestamp::from_unix_ticks(0);
        Bench { monitor: Monitor::new(now, notified_timeout), now }
    }

    fn step(&mut self, step: Step) -> u32 {
        let receive = |empty, filtered| CompletedReceive { empty, filtered };
        match step {
            Judge { unread, waiters } => {
                let view = QueueView { unread: unread > 0, waiter: waiters > 0 };
                return u32::from(self.monitor.judge(view, self.now));
            }
            Found => self.monitor.received(receive(false, false), self.now),
            Empty => self.monitor.received(receive(true, false), self.now),
            EmptyFiltered => self.monitor.received(receive(true, true), self.now),
            Wait(millis) => self.now = self.now.plus(Duration::from_millis(millis)),
        }
        0
    }

    fn run(&mut self, steps: &[Step]) -> u32 {
        steps.iter().map(|step| self.step(*step)).sum()
    }
}

#[test]
fn every_row_of_the_transition_table_holds() {
    let table: [(&str, &[Step], MonitorState, u32); 13] = [
        ("nothing happens", &[DRAINED], Inactive, 0),
        ("a message appears", &[BACKLOG], Notified, 1),
        ("more messages while notified", &[BACKLOG, BACKLOG, Wait(60_000), BACKLOG], Notified, 1),
        ("a receive leaves NOTIFIED", &[BACKLOG, Found, BACKLOG], ReceivesOccurring, 1),
        (
            "a filtered receive leaves NOTIFIED (U-31)",
            &[BACKLOG, EmptyFiltered, BACKLOG],
            ReceivesOccurring,
            1,
        ),
        ("drained", &[BACKLOG, Found, DRAINED], Inactive, 1),
        ("drained, then a new message", &[BACKLOG, Found, DRAINED, BACKLOG], Notified, 2),
        ("not yet five seconds", &[BACKLOG, Found, Wait(4_999), BACKLOG], ReceivesOccurring, 1),
        ("five seconds without an empty receive", &[BACKLOG, Found, Wait(5_000), BACKLOG], Notified, 2),
        (
            "an empty receive resets the timer",
            &[BACKLOG, Found, Wait(4_000), Empty, BACKLOG, Wait(4_000), BACKLOG],
            ReceivesOccurring,
            1,
        ),
        (
            "a filtered empty receive does not",
            &[BACKLOG, Found, Wait(4_000), EmptyFiltered, BACKLOG, Wait(4_000), BACKLOG],
            Notified,
            2,
        ),
        ("a waiter takes the message", &[SERVED, Found, DRAINED], Inactive, 0),
        ("a waiter suppresses growth", &[BACKLOG, Found, Wait(9_000), SERVED], ReceivesOccurring, 1),
    ];
    for (what, steps, state, fired) in table {
        let mut bench = Bench::new(None);
        assert_eq!(bench.run(steps), fired, "{what}: notifications");
        assert_eq!(bench.monitor.state(), state, "{what}: state");
    }
}

#[test]
fn a_deadline_exists_only_while_growth_is_possible() {
    let mut bench = Bench::new(None);
    let backlog = QueueView { unread: true, waiter: false };
    bench.run(&[BACKLOG]);
    assert_eq!(bench.monitor.deadline(backlog), None);
    bench.run(&[Wait(1_000), Found, BACKLOG]);
    assert_eq!(bench.monitor.deadline(backlog), Some(bench.now.plus(Duration::from_secs(5))));
    assert_eq!(bench.monitor.deadline(QueueView { unread: true, waiter: true }), None);
    assert_eq!(bench.monitor.deadline(QueueView { unread: false, waiter: false }), None);
}

#[test]
fn notified_times_out_only_when_asked_to() {
    let mut bench = Bench::new(Some(Duration::from_secs(30)));
    assert_eq!(bench.run(&[BACKLOG, Wait(29_999), BACKLOG]), 1);
    assert_eq!(bench.run(&[Wait(1), BACKLOG]), 1);
}

#[test]
fn the_view_columns_are_kept() {
    let mut bench = Bench::new(None);
    bench.run(&[BACKLOG]);
    let activated = bench.now;
    bench.run(&[Wait(10), Empty, DRAINED]);
    assert_eq!(bench.monitor.last_activated(), Some(activated));
    assert_eq!(bench.monitor.last_empty(), Some(bench.now));
}
