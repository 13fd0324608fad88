//! Failures, limits and resident processes, one story each.

use super::tests::{Bench, id, notice, orders, records, remembers};
use super::{Action, Event, ProcessRecord, Record};
use crate::activator::config::LogLevel;
use crate::activator::launch::{ImageStamp, LaunchId, Outcome, Target};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

impl Bench {
    fn run(&mut self, actions: &[Action]) -> Vec<LaunchId> {
        let launches: Vec<_> = orders(actions).iter().map(|order| order.launch).collect();
        for launch in &launches {
            self.handle(Event::Launched { launch: *launch, pid: 100 });
        }
        launches
    }

    fn fail(&mut self, launch: LaunchId) -> Vec<Action> {
        self.handle(Event::Exited { launch, outcome: Outcome::Code(1) })
    }
}

#[test]
fn a_handler_that_fails_is_launched_again_ever_more_slowly() {
    let mut bench = Bench::new(&["backoff = { first = \"1s\", max = \"5s\" }"]);
    let mut launch = bench.notify_and_run("q0")[0];
    let mut delays = Vec::new();
    for _ in 0..5 {
        let before = bench.now;
        let failed = bench.fail(launch);
        assert!(remembers(&failed) && orders(&failed).is_empty(), "what it was launched for is not done");
        assert!(records(&failed)[1].contains("times in a row"));
        let again = bench.tick_when_due();
        delays.push((bench.now - before).as_secs());
        launch = bench.run(&again)[0];
    }
    assert_eq!(delays, [1, 2, 4, 5, 5]);
    assert!(orders(&bench.exit(launch)).is_empty());
    assert_eq!(bench.supervisor.wake_at(), None);
    let launch = bench.notify_and_run("q0")[0];
    bench.fail(launch);
    assert_eq!(bench.supervisor.wake_at(), Some(bench.now + SECOND), "it had ended well in between");
}

#[test]
fn a_notification_in_the_pause_is_kept_and_acted_on_afterwards() {
    let mut bench = Bench::new(&["max = 3"]);
    let launch = bench.notify_and_run("q0")[0];
    bench.fail(launch);
    let actions = bench.notify("q0");
    assert!(orders(&actions).is_empty() && remembers(&actions));
    assert!(records(&actions)[0].contains("acted on in 1s"));
    assert_eq!(orders(&bench.tick_when_due()).len(), 1);
}

#[test]
fn a_crash_loop_is_given_up_with_an_alert_until_somebody_says_to_try_again() {
    let mut bench = Bench::new(&["backoff = { give_up_after = 2 }"]);
    let launch = bench.notify_and_run("q0")[0];
    bench.fail(launch);
    let again = bench.tick_when_due();
    let launch = bench.run(&again)[0];
    let actions = bench.fail(launch);
    let alert = actions.iter().find_map(|action| match action {
        Action::Log(Record::Process(record @ ProcessRecord::GaveUp { failures: 2, .. })) => {
            Some(record.level())
        }
        _ => None,
    });
    assert_eq!(alert, Some(LogLevel::Error));
    assert!(bench.supervisor.has_given_up(0) && bench.supervisor.is_pending(0));
    assert_eq!(bench.supervisor.wake_at(), None);
    assert!(orders(&bench.notify("q0")).is_empty());
    let target = Target::from(&notice("S", "q0"));
    let actions = bench.handle(Event::Kicked { app: "app0".to_owned(), listener: 0, target });
    assert_eq!(orders(&actions).len(), 1);
    assert!(!bench.supervisor.has_given_up(0));
}

#[test]
fn launches_beyond_the_rate_wait_and_none_is_lost() {
    let mut bench = Bench::new(&["rate = \"2/s\"\nmax = 4\nmin = 3"]);
    let first = bench.notify("q0");
    assert_eq!(orders(&first).len(), 2);
    assert!(remembers(&first));
    bench.run(&first);
    let second = bench.notify("q0");
    assert!(orders(&second).is_empty() && remembers(&second));
    assert_eq!(bench.supervisor.wake_at(), Some(bench.now + SECOND));
    assert_eq!(orders(&bench.tick_when_due()).len(), 1);
    assert!(!bench.supervisor.is_pending(0));
}

#[test]
fn a_run_that_takes_too_long_is_ended_killed_after_its_grace_and_counts_as_a_failure() {
    let mut bench = Bench::new(&["timeout = \"5s\"\nstop_grace = \"2s\""]);
    let launch = bench.notify_and_run("q0")[0];
    let begin = bench.now;
    let actions = bench.tick_when_due();
    assert_eq!(bench.now - begin, 5 * SECOND);
    assert!(actions.contains(&Action::Terminate { launch, pid: 100 }));
    assert!(records(&actions)[0].contains("has run for 5s"));
    assert!(
        bench.notify("q0").iter().any(|action| matches!(action, Action::Remember { .. })),
        "it has its slot still"
    );
    let actions = bench.tick_when_due();
    assert_eq!(bench.now - begin, 7 * SECOND);
    assert!(actions.contains(&Action::Kill { launch, pid: 100 }));
    let ended = bench.handle(Event::Exited { launch, outcome: Outcome::Signal(9) });
    assert!(records(&ended).iter().any(|text| text.contains("failed 1 times")));
    assert_eq!(orders(&bench.tick_when_due()).len(), 1);
}

#[test]
fn an_adopted_process_is_timed_from_its_adoption() {
    let mut bench = Bench::new(&["timeout = \"5s\""]);
    bench.handle(Event::Adopted { launch: id(9), app: "app0".to_owned(), pid: 44 });
    assert_eq!(bench.supervisor.wake_at(), Some(bench.now + 5 * SECOND));
    assert!(bench.tick_when_due().contains(&Action::Terminate { launch: id(9), pid: 44 }));
}

#[test]
fn a_program_that_cannot_start_is_told_of_once_for_each_state_of_its_file() {
    let mut bench = Bench::new(&[""]);
    let mut launch = orders(&bench.notify("q0"))[0].launch;
    let stamp = |inode| Some(ImageStamp { inode, changed: (1, 2) });
    let mut levels = Vec::new();
    for (reason, image) in [
        ("no such file", None),
        ("no such file", None),
        ("not permitted", stamp(1)),
        ("not permitted", stamp(1)),
        ("not permitted", stamp(2)),
    ] {
        let failed = bench.handle(Event::LaunchFailed { launch, reason: reason.to_owned(), image });
        levels.extend(failed.iter().filter_map(|action| match action {
            Action::Log(record @ Record::LaunchFailed { .. }) => Some(record.level()),
            _ => None,
        }));
        launch = orders(&bench.tick_when_due())[0].launch;
    }
    let (error, debug) = (LogLevel::Error, LogLevel::Debug);
    assert_eq!(levels, [error, debug, error, debug, error]);
}

#[test]
fn what_its_feed_finds_unfit_is_ended_and_counts_as_a_failure() {
    let mut bench = Bench::new(&["kind = \"feed\"\ntimeout = \"5s\""]);
    let launch = bench.notify_and_run("q0")[0];
    assert_eq!(bench.supervisor.wake_at(), None, "a feed is timed message by message");
    let actions = bench.handle(Event::Unfit { launch, reason: "no answer".to_owned() });
    assert!(actions.contains(&Action::Terminate { launch, pid: 100 }));
    let ended = bench.exit(launch);
    assert!(records(&ended).iter().any(|text| text.contains("failed 1 times")));
    assert!(remembers(&ended));
}

#[test]
fn a_fed_process_of_an_earlier_daemon_is_counted_and_ended() {
    let mut bench = Bench::new(&["kind = \"feed\""]);
    let actions = bench.handle(Event::Adopted { launch: id(9), app: "app0".to_owned(), pid: 44 });
    assert!(actions.contains(&Action::Terminate { launch: id(9), pid: 44 }));
    assert_eq!(bench.supervisor.running(0), 1);
    assert!(orders(&bench.notify("q0")).is_empty());
    assert_eq!(orders(&bench.handle(Event::Exited { launch: id(9), outcome: Outcome::Unknown })).len(), 1);
}

#[test]
fn resident_processes_are_started_at_the_beginning_and_after_a_pause_whenever_they_end() {
    let mut bench = Bench::new(&["kind = \"resident\"\nmin = 2\nmax = 3"]);
    let started = bench.handle(Event::Started);
    let launches = bench.run(&started);
    assert_eq!(launches.len(), 2);
    assert_eq!(orders(&started)[0].target.to_string(), "[].[Db].[dbo].[q0]");
    for (launch, how) in [(launches[0], Outcome::Code(0)), (launches[1], Outcome::Code(1))] {
        let ended = bench.handle(Event::Exited { launch, outcome: how });
        assert!(
            orders(&ended).is_empty(),
            "one that ends by itself is started again after a pause, however it ended"
        );
        let again = bench.tick_when_due();
        assert_eq!(bench.run(&again).len(), 1);
    }
    let adopted = bench.handle(Event::Adopted { launch: id(900), app: "app0".to_owned(), pid: 9 });
    assert!(orders(&adopted).is_empty());
}

#[test]
fn a_notification_adds_to_resident_processes_and_what_it_added_is_not_kept() {
    let mut bench = Bench::new(&["kind = \"resident\"\nmax = 2"]);
    let started = bench.handle(Event::Started);
    bench.run(&started);
    let added = bench.notify_and_run("q0");
    assert_eq!(added.len(), 1);
    let ended = bench.fail(added[0]);
    assert!(orders(&ended).is_empty() && !remembers(&ended));
    assert_eq!(bench.supervisor.wake_at(), None, "nothing is missed");
}

#[test]
fn what_an_earlier_daemon_left_running_counts_for_resident_applications() {
    let mut bench =
        Bench::new(&["kind = \"resident\"\nmin = 2\nmax = 2", "kind = \"resident\"\nenabled = false"]);
    bench.handle(Event::Adopted { launch: id(9), app: "app0".to_owned(), pid: 44 });
    assert_eq!(orders(&bench.handle(Event::Started)).len(), 1);
    bench.handle(Event::ShutdownRequested);
    assert!(orders(&bench.exit(id(9))).is_empty(), "nothing is started while the daemon stops");
}

#[test]
fn a_resident_process_is_started_again_within_its_rate() {
    let mut bench = Bench::new(&["kind = \"resident\"\nmin = 3\nmax = 3\nrate = \"1/s\""]);
    let first = bench.handle(Event::Started);
    assert_eq!(orders(&first).len(), 1);
    assert!(records(&first)[0].contains("is to run 3 times: starting 1"), "{:?}", records(&first));
    for _ in 1..3 {
        assert_eq!(orders(&bench.tick_when_due()).len(), 1);
    }
    assert_eq!(bench.supervisor.wake_at(), None);
}

#[test]
fn a_queue_that_is_helped_without_a_notification_is_helped_within_its_rate() {
    let mut bench = Bench::new(&["min = 3\nmax = 3\nrate = \"1/s\""]);
    let target = Target::from(&notice("S", "q0"));
    let helped = bench.handle(Event::Reconcile { listener: 0, target });
    assert_eq!(orders(&helped).len(), 1);
    assert!(remembers(&helped), "the rest follows");
    assert_eq!(orders(&bench.tick_when_due()).len(), 1);
}

#[test]
fn a_stop_does_not_count_as_a_failure() {
    let mut bench = Bench::new(&["backoff = { give_up_after = 1 }"]);
    let launch = bench.notify_and_run("q0")[0];
    bench.handle(Event::ShutdownRequested);
    bench.handle(Event::Exited { launch, outcome: Outcome::Signal(15) });
    assert!(!bench.supervisor.has_given_up(0));
    let notice = notice("S", "q0");
    assert!(remembers(&bench.handle(Event::Notified { listener: 0, notice })));
}
