//! Single decisions of the supervisor, one story each, told in actions and log records.

use super::{Action, Event, LaunchOrder, Record, Supervisor};
use crate::activator::config::{Config, Resolver, parse};
use crate::activator::launch::{LaunchId, Outcome, Target};
use crate::activator::notification::{Notice, QueueEvent};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

struct Nothing;

impl Resolver for Nothing {
    fn environment(&self, _name: &str) -> Option<String> {
        None
    }

    fn file(&self, _path: &Path) -> io::Result<String> {
        Err(io::Error::from(io::ErrorKind::NotFound))
    }
}

/// A configuration with the given applications; each text adds keys to one that reads queue `q0`, `q1` and so on.
pub(in crate::activator) fn config(apps: &[&str]) -> Arc<Config> {
    let mut text = "[[notification]]\nname = \"//n\"\nconnection = \"server=x\"\n".to_owned();
    for (index, keys) in apps.iter().enumerate() {
        text.push_str(&format!("[[app]]\nname = \"app{index}\"\ncommand = \"/bin/app\"\n{keys}\n"));
        if !keys.contains("on =") {
            text.push_str(&format!("on = {{ database = \"Db\", schema = \"dbo\", queue = \"q{index}\" }}\n"));
        }
    }
    Arc::new(parse(Path::new("a.toml"), Path::new("/"), text.as_bytes(), &Nothing).unwrap().config)
}

/// Launch ids 1, 2, 3 and so on, different for each life of a daemon.
pub(in crate::activator) fn counting_ids(life: u128) -> impl FnMut() -> LaunchId + Send {
    let mut next = life << 64;
    move || {
        next += 1;
        LaunchId::from_u128(next)
    }
}

pub(in crate::activator) fn notice(server: &str, queue: &str) -> Notice {
    Notice {
        event: QueueEvent::QueueActivation,
        server: server.to_owned(),
        database: "DB".to_owned(),
        schema: "DBO".to_owned(),
        queue: queue.to_owned(),
        post_time: None,
    }
}

/// A supervisor with a hand-moved clock.
pub(super) struct Bench {
    pub(super) supervisor: Supervisor,
    pub(super) now: Instant,
}

impl Bench {
    pub(super) fn new(apps: &[&str]) -> Self {
        Self { supervisor: Supervisor::new(config(apps), counting_ids(0)), now: Instant::now() }
    }

    pub(super) fn handle(&mut self, event: Event) -> Vec<Action> {
        self.supervisor.handle(event, self.now)
    }

    pub(super) fn notify(&mut self, queue: &str) -> Vec<Action> {
        self.handle(Event::Notified { listener: 0, notice: notice("S", queue) })
    }

    /// Notifies and reports every launch as running, with the launch number as process id.
    pub(super) fn notify_and_run(&mut self, queue: &str) -> Vec<LaunchId> {
        let launches: Vec<_> = orders(&self.notify(queue)).iter().map(|order| order.launch).collect();
        for launch in &launches {
            self.handle(Event::Launched { launch: *launch, pid: 100 });
        }
        launches
    }

    pub(super) fn exit(&mut self, launch: LaunchId) -> Vec<Action> {
        self.handle(Event::Exited { launch, outcome: Outcome::Code(0) })
    }

    pub(super) fn tick_when_due(&mut self) -> Vec<Action> {
        self.now = self.supervisor.wake_at().expect("something waits for time to pass");
        self.handle(Event::Tick)
    }
}

pub(super) fn orders(actions: &[Action]) -> Vec<LaunchOrder> {
    let launches = actions.iter().filter_map(|action| match action {
        Action::Launch(order) => Some(order.clone()),
        _ => None,
    });
    launches.collect()
}

pub(super) fn records(actions: &[Action]) -> Vec<String> {
    let records = actions.iter().filter_map(|action| match action {
        Action::Log(record) => Some(record.to_string()),
        _ => None,
    });
    records.collect()
}

pub(super) fn remembers(actions: &[Action]) -> bool {
    actions.iter().any(|action| matches!(action, Action::Remember { .. }))
}

pub(super) fn id(value: u128) -> LaunchId {
    LaunchId::from_u128(value)
}

#[test]
fn a_notification_launches_with_the_names_it_gave() {
    let mut bench = Bench::new(&["args = [\"%sqlserver%\", \"%database%.%schema%.%queue%\"]"]);
    let actions = bench.notify("Q0");
    let order = &orders(&actions)[0];
    assert_eq!(order.arguments(), ["S", "DB.DBO.Q0"]);
    assert_eq!((order.launch, order.listener, order.app.name.as_str()), (id(1), 0, "app0"));
    assert_eq!(
        records(&actions),
        ["notification for [S].[DB].[DBO].[Q0]: starting 1 of app0, 1 of 1 running"]
    );
}

#[test]
fn launch_and_exit_are_logged_with_command_line_and_duration() {
    let mut bench = Bench::new(&["args = [\"-q\", \"%queue%\"]\nmax = 2"]);
    bench.notify("q0");
    let actions = bench.handle(Event::Launched { launch: id(1), pid: 7 });
    assert_eq!(
        records(&actions),
        [format!("launched app0 as process 7 ({}), 1 of 2 running: [\"/bin/app\", \"-q\", \"q0\"]", id(1))]
    );
    bench.now += Duration::from_millis(1500);
    let actions = bench.handle(Event::Exited { launch: id(1), outcome: Outcome::Signal(9) });
    assert_eq!(
        records(&actions)[0],
        format!("app0 process 7 ({}) ended with signal 9 after 1.500 s, 0 still running", id(1))
    );
}

#[test]
fn a_secret_among_the_arguments_is_given_and_not_logged() {
    let mut bench = Bench::new(&["args = [\"--password\", \"s3cret\", \"token=s3cret\"]"]);
    let actions = bench.notify("q0");
    assert_eq!(orders(&actions)[0].arguments(), ["--password", "s3cret", "token=s3cret"]);
    let told = records(&bench.handle(Event::Launched { launch: id(1), pid: 7 })).remove(0);
    assert!(!told.contains("s3cret") && told.contains("token=***"), "{told}");
}

#[test]
fn at_max_the_notification_is_remembered_and_acted_on_when_one_ends() {
    let mut bench = Bench::new(&["min = 2\nmax = 2"]);
    assert_eq!(bench.notify_and_run("q0"), [id(1), id(2)]);
    let actions = bench.notify("q0");
    assert!(orders(&actions).is_empty() && remembers(&actions));
    assert!(bench.supervisor.is_pending(0));
    let actions = bench.exit(id(1));
    assert_eq!(orders(&actions).len(), 1);
    assert!(!bench.supervisor.is_pending(0));
    assert!(orders(&bench.exit(id(2))).is_empty(), "nothing is kept alive");
}

#[test]
fn an_unmatched_notification_names_the_nearest_queue() {
    let mut bench = Bench::new(&["on = { database = \"Db\", schema = \"dbo\", queue = \"OrderQueue\" }"]);
    let actions = bench.notify("OrdersQueue");
    assert_eq!(
        records(&actions),
        [
            "notification for [S].[DB].[DBO].[OrdersQueue] matches no application; the nearest configured queue is \
          Db.dbo.OrderQueue"
        ]
    );
    assert_eq!(actions.len(), 1);
}

#[test]
fn another_server_name_is_warned_of_once_and_launches() {
    let on = "on = { server = \"db1\", database = \"Db\", schema = \"dbo\", queue = \"q\" }\nmax = 9";
    let mut bench = Bench::new(&[on]);
    let warned = |actions: &[Action]| records(actions).iter().any(|text| text.contains("calls itself"));
    let mut from = |server: &str| {
        let actions = bench.handle(Event::Notified { listener: 0, notice: notice(server, "q") });
        (orders(&actions).len(), warned(&actions))
    };
    assert_eq!(from("DB1"), (1, false));
    assert_eq!(from("DB1\\PROD"), (1, true));
    assert_eq!(from("db1\\prod"), (1, false));
    assert_eq!(from("other"), (1, true));
}

#[test]
fn with_strict_server_the_name_decides_between_entries() {
    let on = |server: &str| {
        format!(
            "strict_server = true\non = {{ server = \"{server}\", database = \"Db\", schema = \"dbo\", queue = \"q\" }}"
        )
    };
    let mut bench = Bench::new(&[&on("a"), &on("b")]);
    let from_b = bench.handle(Event::Notified { listener: 0, notice: notice("B", "q") });
    assert_eq!(orders(&from_b)[0].app.name, "app1");
    let from_c = bench.handle(Event::Notified { listener: 0, notice: notice("c", "q") });
    assert!(orders(&from_c).is_empty());
    assert!(records(&from_c)[0].contains("left alone: app0 is for server a only"));
}

#[test]
fn notifications_for_a_disabled_application_are_consumed() {
    let mut bench = Bench::new(&["enabled = false"]);
    let actions = bench.notify("q0");
    assert_eq!(actions.len(), 1);
    assert!(records(&actions)[0].contains("app0 is not enabled"));
}

#[test]
fn what_is_no_activation_launches_nothing_and_is_logged() {
    let mut bench = Bench::new(&[""]);
    let mut disabled = notice("S", "q0");
    disabled.event = QueueEvent::QueueDisabled;
    let actions = bench.handle(Event::Notified { listener: 0, notice: disabled });
    assert!(matches!(&actions[..], [Action::Log(Record::QueueDisabled { .. })]));
    let mut other = notice("S", "q0");
    other.event = QueueEvent::Other("ALTER_QUEUE".to_owned());
    let actions = bench.handle(Event::Notified { listener: 0, notice: other });
    assert!(matches!(&actions[..], [Action::Log(Record::OtherEvent { .. })]));
    let actions = bench.handle(Event::Unreadable { listener: 0, reason: "the body is empty".to_owned() });
    assert_eq!(
        records(&actions),
        ["message to //n consumed, but it is no event notification: the body is empty"]
    );
}

#[test]
fn a_failed_launch_is_remembered_and_tried_again_ever_more_slowly() {
    let mut bench = Bench::new(&[""]);
    let mut launch = orders(&bench.notify("q0"))[0].launch;
    let mut delays = Vec::new();
    for _ in 0..8 {
        let before = bench.now;
        let failed =
            bench.handle(Event::LaunchFailed { launch, reason: "no such file".to_owned(), image: None });
        assert!(remembers(&failed) && orders(&failed).is_empty());
        launch = orders(&bench.tick_when_due())[0].launch;
        delays.push((bench.now - before).as_secs());
    }
    assert_eq!(delays, [1, 2, 4, 8, 16, 32, 64, 128]);
    bench.handle(Event::Launched { launch, pid: 5 });
    assert_eq!(bench.supervisor.wake_at(), None);
    assert!(!bench.supervisor.is_pending(0));
}

#[test]
fn adopted_processes_are_counted_and_kept_notifications_acted_on() {
    let mut bench = Bench::new(&["max = 1"]);
    bench.handle(Event::Adopted { launch: id(900), app: "app0".to_owned(), pid: 44 });
    let target = Target::from(&notice("S", "q0"));
    let kept = Event::Remembered { app: "app0".to_owned(), listener: 0, target: target.clone() };
    assert!(orders(&bench.handle(kept)).is_empty());
    let actions = bench.handle(Event::Exited { launch: id(900), outcome: Outcome::Unknown });
    assert_eq!(orders(&actions).len(), 1);
    let gone = Event::Remembered { app: "gone".to_owned(), listener: 0, target };
    let actions = bench.handle(gone);
    assert!(records(&actions)[0].contains("gone is not for that queue any more"));
    assert!(actions.contains(&Action::Forget { app: "gone".to_owned() }), "nor is it asked about again");
}

#[test]
fn a_process_of_an_application_that_is_gone_is_watched_and_ended() {
    let mut bench = Bench::new(&["max = 1"]);
    let gone = Event::Adopted { launch: id(901), app: "gone".to_owned(), pid: 45 };
    let actions = bench.handle(gone);
    assert!(records(&actions)[0].contains("is to end: application gone is not configured any more"));
    assert!(actions.contains(&Action::Terminate { launch: id(901), pid: 45 }));
    assert!(bench.tick_when_due().contains(&Action::Kill { launch: id(901), pid: 45 }));
    let ended = bench.handle(Event::Exited { launch: id(901), outcome: Outcome::Unknown });
    assert!(records(&ended)[0].contains("gone process 45"), "{:?}", records(&ended));
    assert!(!remembers(&ended) && bench.supervisor.wake_at().is_none());
}

#[test]
fn what_was_kept_for_another_queue_is_forgotten_and_for_a_disabled_application_it_waits() {
    let mut bench = Bench::new(&["", "enabled = false"]);
    let kept = |app: &str, queue: &str| {
        let target = Target::from(&notice("S", queue));
        Event::Remembered { app: app.to_owned(), listener: 0, target }
    };
    let actions = bench.handle(kept("app0", "old"));
    assert!(orders(&actions).is_empty(), "its queue is q0 now");
    assert!(actions.contains(&Action::Forget { app: "app0".to_owned() }));
    let actions = bench.handle(kept("app1", "q1"));
    assert!(orders(&actions).is_empty() && bench.supervisor.is_pending(1));
    let enabled = bench.handle(Event::Reconfigured { config: config(&["", ""]) });
    assert_eq!(orders(&enabled).len(), 1);
}

#[test]
fn what_ends_unseen_or_when_told_to_may_not_have_received_so_its_notification_is_kept() {
    let mut bench = Bench::new(&["max = 1", "kind = \"feed\"", "kind = \"resident\""]);
    for (launch, app) in [(900, "app0"), (901, "app1")] {
        bench.handle(Event::Adopted { launch: id(launch), app: app.to_owned(), pid: 44 });
        let ended = bench.handle(Event::Exited { launch: id(launch), outcome: Outcome::Unknown });
        let order = &orders(&ended)[0];
        assert_eq!(order.app.name, app, "another one looks, without a pause");
        bench.handle(Event::Launched { launch: order.launch, pid: 45 });
    }
    let resident = orders(&bench.handle(Event::Started))[0].launch;
    bench.handle(Event::Launched { launch: resident, pid: 46 });
    bench.handle(Event::ShutdownRequested);
    for (launch, outcome) in [(1, Outcome::Signal(15)), (2, Outcome::Code(0))] {
        let ended = bench.handle(Event::Exited { launch: id(launch), outcome });
        assert!(remembers(&ended), "launch {launch}");
    }
    assert!(!remembers(&bench.handle(Event::Exited { launch: resident, outcome: Outcome::Signal(15) })));
}

#[test]
fn reconcile_helps_a_queue_without_a_process_only() {
    let mut bench = Bench::new(&["max = 4"]);
    let look = || Event::Reconcile { listener: 0, target: Target::from(&notice("S", "q0")) };
    let actions = bench.handle(look());
    assert_eq!(orders(&actions).len(), 1);
    assert!(records(&actions)[0].contains("nobody reads"));
    assert!(bench.handle(look()).is_empty());
}

#[test]
fn a_stop_asks_then_kills_then_ends() {
    let mut bench = Bench::new(&["max = 2\nmin = 2\nstop_grace = \"10s\""]);
    bench.notify_and_run("q0");
    let begin = bench.now;
    let asked = bench.handle(Event::ShutdownRequested);
    let signals = asked.iter().filter(|action| matches!(action, Action::Terminate { .. })).count();
    assert_eq!(signals, 2);
    assert!(!bench.exit(id(1)).contains(&Action::Stop));
    let killed = bench.tick_when_due();
    assert_eq!(bench.now - begin, Duration::from_secs(10));
    assert!(killed.contains(&Action::Kill { launch: id(2), pid: 100 }));
    let ended = bench.handle(Event::Exited { launch: id(2), outcome: Outcome::Signal(9) });
    assert_eq!(ended.last(), Some(&Action::Stop));
    assert_eq!(bench.supervisor.wake_at(), None);
}

#[test]
fn a_stop_with_nothing_running_ends_at_once() {
    let mut bench = Bench::new(&[""]);
    assert_eq!(bench.handle(Event::ShutdownRequested).last(), Some(&Action::Stop));
    assert!(bench.handle(Event::ShutdownRequested).is_empty(), "it stops once");
}

#[test]
fn a_second_request_kills_at_once() {
    let mut bench = Bench::new(&[""]);
    bench.notify_and_run("q0");
    bench.handle(Event::ShutdownRequested);
    assert!(bench.handle(Event::ShutdownRequested).contains(&Action::Kill { launch: id(1), pid: 100 }));
}

#[test]
fn a_process_that_survives_its_kill_does_not_hold_up_the_stop() {
    let mut bench = Bench::new(&["stop_grace = \"0s\""]);
    bench.notify_and_run("q0");
    bench.handle(Event::ShutdownRequested);
    assert!(bench.tick_when_due().contains(&Action::Kill { launch: id(1), pid: 100 }));
    let last = bench.tick_when_due();
    assert!(records(&last)[0].contains("left behind"));
    assert_eq!(last.last(), Some(&Action::Stop));
}

#[test]
fn a_launch_reported_during_the_stop_is_asked_to_end() {
    let mut bench = Bench::new(&[""]);
    bench.notify("q0");
    assert!(!bench.handle(Event::ShutdownRequested).contains(&Action::Stop));
    let actions = bench.handle(Event::Launched { launch: id(1), pid: 9 });
    assert!(actions.contains(&Action::Terminate { launch: id(1), pid: 9 }));
    assert_eq!(bench.exit(id(1)).last(), Some(&Action::Stop));
}

#[test]
fn a_launch_that_is_never_reported_does_not_hold_up_the_stop() {
    let mut bench = Bench::new(&[""]);
    bench.notify("q0");
    bench.handle(Event::ShutdownRequested);
    assert_eq!(bench.tick_when_due().last(), Some(&Action::Stop));
}

#[test]
fn a_notification_during_the_stop_is_kept_for_the_next_start() {
    let mut bench = Bench::new(&["max = 2"]);
    bench.notify_and_run("q0");
    bench.handle(Event::ShutdownRequested);
    let actions = bench.notify("q0");
    assert!(orders(&actions).is_empty() && remembers(&actions));
    assert!(orders(&bench.exit(id(1))).is_empty());
}

#[test]
fn reports_about_unknown_launches_change_nothing() {
    let mut bench = Bench::new(&[""]);
    for event in [
        Event::Launched { launch: id(5), pid: 1 },
        Event::LaunchFailed { launch: id(5), reason: String::new(), image: None },
        Event::Exited { launch: id(5), outcome: Outcome::Unknown },
    ] {
        assert!(matches!(&bench.handle(event)[..], [Action::Log(Record::StrayReport { .. })]));
    }
    bench.notify_and_run("q0");
    bench.handle(Event::LaunchFailed { launch: id(1), reason: String::new(), image: None });
    assert_eq!(bench.supervisor.running(0), 1, "a launch that runs cannot fail to start any more");
}
