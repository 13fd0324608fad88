//! What a changed configuration does to applications and launches, one story each.

use super::super::tests::{config, counting_ids, notice};
use super::super::{Action, Event, LaunchOrder, Record, Supervisor};
use crate::activator::config::Config;
use crate::activator::launch::{LaunchId, Outcome};
use std::sync::Arc;
use std::time::{Duration, Instant};

struct Bench {
    supervisor: Supervisor,
    now: Instant,
}

impl Bench {
    fn new(apps: &[&str]) -> Self {
        Self { supervisor: Supervisor::new(config(apps), counting_ids(0)), now: Instant::now() }
    }

    fn handle(&mut self, event: Event) -> Vec<Action> {
        self.supervisor.handle(event, self.now)
    }

    fn reconfigure(&mut self, apps: &[&str]) -> Vec<Action> {
        self.handle(Event::Reconfigured { config: config(apps) })
    }

    /// Notifies and reports every launch as running.
    fn run(&mut self, queue: &str) -> Vec<LaunchId> {
        let actions = self.handle(Event::Notified { listener: 0, notice: notice("S", queue) });
        self.report(&actions)
    }

    fn report(&mut self, actions: &[Action]) -> Vec<LaunchId> {
        let launches: Vec<_> = orders(actions).iter().map(|order| order.launch).collect();
        for launch in &launches {
            self.handle(Event::Launched { launch: *launch, pid: 7 });
        }
        launches
    }

    fn exit(&mut self, launch: LaunchId) -> Vec<Action> {
        self.handle(Event::Exited { launch, outcome: Outcome::Code(0) })
    }
}

fn orders(actions: &[Action]) -> Vec<LaunchOrder> {
    let launches = actions.iter().filter_map(|action| match action {
        Action::Launch(order) => Some(order.clone()),
        _ => None,
    });
    launches.collect()
}

fn terminated(actions: &[Action]) -> Vec<LaunchId> {
    let launches = actions.iter().filter_map(|action| match action {
        Action::Terminate { launch, .. } => Some(*launch),
        _ => None,
    });
    launches.collect()
}

fn told(actions: &[Action]) -> String {
    let records = actions.iter().filter_map(|action| match action {
        Action::Log(record) => Some(format!("{record}\n")),
        _ => None,
    });
    records.collect()
}

#[test]
fn a_higher_max_acts_on_what_was_pending() {
    let mut bench = Bench::new(&["max = 1"]);
    assert_eq!((bench.run("q0").len(), bench.run("q0").len()), (1, 0));
    let actions = bench.reconfigure(&["max = 3"]);
    assert!(told(&actions).contains("application app0 has min 1 and max 3 instead of 1 and 1"));
    assert_eq!(bench.report(&actions).len(), 1);
    assert_eq!((bench.run("q0").len(), bench.run("q0").len()), (1, 0));
}

#[test]
fn a_lower_max_lets_what_runs_go_on_and_starts_nothing_above_it() {
    let mut bench = Bench::new(&["min = 3\nmax = 3"]);
    let launches = bench.run("q0");
    let actions = bench.reconfigure(&["max = 1"]);
    assert!(terminated(&actions).is_empty());
    assert!(bench.run("q0").is_empty());
    assert!(orders(&bench.exit(launches[0])).is_empty() && orders(&bench.exit(launches[1])).is_empty());
    assert_eq!(orders(&bench.exit(launches[2])).len(), 1, "the remembered notification");
}

#[test]
fn a_removed_application_is_asked_to_end_then_killed_and_its_queue_launches_nothing() {
    let mut bench = Bench::new(&["", "max = 2\nmin = 2\nstop_grace = \"3s\""]);
    let launches = bench.run("q1");
    assert_eq!(terminated(&bench.reconfigure(&[""])), launches);
    let actions = bench.handle(Event::Notified { listener: 0, notice: notice("S", "q1") });
    assert!(told(&actions).contains("matches no application"), "{}", told(&actions));
    assert!(orders(&bench.exit(launches[0])).is_empty());
    assert_eq!(bench.supervisor.wake_at(), Some(bench.now + Duration::from_secs(3)));
    bench.now += Duration::from_secs(3);
    let killed = bench.handle(Event::Tick);
    assert!(killed.contains(&Action::Kill { launch: launches[1], pid: 7 }));
    bench.handle(Event::Exited { launch: launches[1], outcome: Outcome::Signal(9) });
    assert_eq!((bench.supervisor.running(1), bench.supervisor.wake_at()), (0, None));
}

#[test]
fn a_launch_that_is_under_way_when_its_application_is_removed_is_ended_too() {
    let mut bench = Bench::new(&["", ""]);
    let started = orders(&bench.handle(Event::Notified { listener: 0, notice: notice("S", "q1") }));
    let failing = started[0].launch;
    assert!(terminated(&bench.reconfigure(&[""])).is_empty());
    assert_eq!(terminated(&bench.handle(Event::Launched { launch: failing, pid: 7 })), [failing]);
}

#[test]
fn a_removed_application_that_fails_to_start_is_not_tried_again() {
    let mut bench = Bench::new(&["", ""]);
    let started = orders(&bench.handle(Event::Notified { listener: 0, notice: notice("S", "q1") }));
    bench.reconfigure(&[""]);
    bench.handle(Event::LaunchFailed { launch: started[0].launch, reason: "gone".to_owned(), image: None });
    assert_eq!((bench.supervisor.wake_at(), bench.supervisor.is_pending(1)), (None, false));
}

#[test]
fn c058_an_application_that_comes_back_counts_what_still_runs_of_it() {
    let mut bench = Bench::new(&["", "max = 1"]);
    let first = bench.run("q1");
    bench.reconfigure(&[""]);
    bench.reconfigure(&["", "max = 1"]);
    assert!(bench.run("q1").is_empty(), "one still runs, and one is the limit");
    assert_eq!(orders(&bench.exit(first[0])).len(), 1);
}

#[test]
fn a_new_application_is_launched_and_a_changed_one_counts_from_its_next_launch() {
    let mut bench = Bench::new(&["max = 2"]);
    bench.run("q0");
    let actions = bench.reconfigure(&["max = 2\nargs = [\"new\"]", ""]);
    assert!(told(&actions).contains("application app1 is new"));
    assert!(told(&actions).contains("application app0 is different from its next launch on: args"));
    assert!(terminated(&actions).is_empty(), "what runs goes on as it is");
    assert_eq!(bench.run("q1").len(), 1);
    let next = orders(&bench.handle(Event::Notified { listener: 0, notice: notice("S", "q0") }));
    assert_eq!(next[0].arguments(), ["new"]);
}

#[test]
fn a_changed_application_is_tried_at_once_and_an_unchanged_one_keeps_its_pause() {
    let mut bench = Bench::new(&["", ""]);
    for queue in ["q0", "q1"] {
        let order = orders(&bench.handle(Event::Notified { listener: 0, notice: notice("S", queue) }));
        bench.handle(Event::LaunchFailed {
            launch: order[0].launch,
            reason: "no such file".to_owned(),
            image: None,
        });
    }
    let launched = orders(&bench.reconfigure(&["work_dir = \"/\"", ""]));
    assert_eq!(launched.iter().map(|order| order.app.name.as_str()).collect::<Vec<_>>(), ["app0"]);
    assert!(bench.supervisor.is_pending(1) && bench.supervisor.wake_at().is_some());
}

#[test]
fn resident_processes_come_and_go_with_their_application() {
    let resident = "kind = \"resident\"\nmin = 2\nmax = 2";
    let mut bench = Bench::new(&[""]);
    let started = bench.reconfigure(&["", resident]);
    let launches = bench.report(&started);
    assert_eq!(launches.len(), 2);
    assert_eq!(terminated(&bench.reconfigure(&[""])), launches);
    for launch in launches {
        assert!(orders(&bench.handle(Event::Exited { launch, outcome: Outcome::Signal(15) })).is_empty());
    }
    assert_eq!((bench.supervisor.running(1), bench.supervisor.wake_at()), (0, None));
}

#[test]
fn a_changed_application_that_was_given_up_is_tried_again() {
    let keys = "backoff = { give_up_after = 1 }";
    let mut bench = Bench::new(&[keys]);
    let launch = bench.run("q0")[0];
    bench.handle(Event::Exited { launch, outcome: Outcome::Code(1) });
    assert!(bench.supervisor.has_given_up(0));
    assert!(orders(&bench.reconfigure(&[keys, ""])).is_empty(), "another application is no reason");
    assert_eq!(orders(&bench.reconfigure(&[&format!("{keys}\nargs = [\"x\"]")])).len(), 1);
    assert!(!bench.supervisor.has_given_up(0));
}

#[test]
fn another_queue_forgets_what_waited_for_the_old_one() {
    let on = |queue: &str| format!("on = {{ database = \"Db\", schema = \"dbo\", queue = \"{queue}\" }}");
    let mut bench = Bench::new(&[&on("old")]);
    let first = bench.run("old");
    assert!(bench.run("old").is_empty());
    let rebound = bench.reconfigure(&[&on("new")]);
    assert!(rebound.contains(&Action::Forget { app: "app0".to_owned() }), "the journal forgets it too");
    assert!(orders(&bench.exit(first[0])).is_empty());
    assert_eq!((bench.run("old").len(), bench.run("new").len()), (0, 1));
}

#[test]
fn a_removed_application_is_forgotten_by_the_journal_if_anything_waited() {
    let mut bench = Bench::new(&["", "max = 1", ""]);
    bench.run("q1");
    bench.run("q1");
    let forgotten = |app: &str| Action::Forget { app: app.to_owned() };
    let removed = bench.reconfigure(&[""]);
    assert!(removed.contains(&forgotten("app1")) && !removed.contains(&forgotten("app2")));
}

#[test]
fn a_launch_for_the_former_queue_that_fails_is_made_for_the_new_one() {
    let on = |queue: &str| format!("on = {{ database = \"Db\", schema = \"dbo\", queue = \"{queue}\" }}");
    let mut bench = Bench::new(&[&on("old")]);
    let order = orders(&bench.handle(Event::Notified { listener: 0, notice: notice("S", "old") }));
    bench.reconfigure(&[&on("new")]);
    bench.handle(Event::LaunchFailed { launch: order[0].launch, reason: "gone".to_owned(), image: None });
    bench.now = bench.supervisor.wake_at().unwrap();
    let again = orders(&bench.handle(Event::Tick));
    assert_eq!(again[0].target.to_string(), "[].[Db].[dbo].[new]");
}

#[test]
fn what_was_heard_from_a_service_that_is_gone_is_told_and_kept_as_from_another() {
    let mut bench = Bench::new(&["max = 1"]);
    let first = bench.run("q0");
    bench.run("q0");
    let actions = bench.handle(Event::Reconfigured { config: renamed(&config(&["max = 1"])) });
    assert!(actions.contains(&Action::StopListening { listener: 0 }), "{actions:?}");
    let kept = actions.iter().find_map(|action| match action {
        Action::Remember { listener, .. } => Some(*listener),
        _ => None,
    });
    assert_eq!(kept, Some(1), "the next start looks for the new name");
    assert_eq!(orders(&bench.exit(first[0]))[0].listener, 1);
}

/// The same with another name of its notification service.
fn renamed(config: &Config) -> Arc<Config> {
    let mut config = config.clone();
    config.notifications[0].name = "//renamed".to_owned();
    Arc::new(config)
}

#[test]
fn a_refused_configuration_is_told_and_changes_nothing() {
    let mut bench = Bench::new(&[""]);
    let faults = vec!["a.toml:1: one".to_owned(), "a.toml:2: two".to_owned()];
    let actions = bench.handle(Event::ReloadRefused { faults });
    assert_eq!(actions.len(), 2);
    assert!(actions.iter().all(|action| matches!(action, Action::Log(Record::ReloadRefused { .. }))));
    assert_eq!(bench.run("q0").len(), 1);
}

#[test]
fn a_daemon_that_stops_does_not_take_up_a_changed_configuration() {
    let mut bench = Bench::new(&[""]);
    bench.run("q0");
    bench.handle(Event::ShutdownRequested);
    assert!(bench.reconfigure(&["max = 9", ""]).is_empty());
}
