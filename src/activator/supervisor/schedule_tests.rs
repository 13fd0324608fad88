//! Random schedules: whatever the order of notifications, failures, exits and time, the promises hold.
//!
//! Each schedule comes from a fixed seed and is named by it when it fails. The model beside the machine is as simple as
//! possible: what was ordered, what runs, and when a notification was last left unanswered.

use super::tests::{config, counting_ids, notice};
use super::{Action, Event, Record, Supervisor};
use crate::activator::launch::{LaunchId, Outcome, Target};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const APPS: [(&str, u32); 4] =
    [("max = 1", 1), ("min = 2\nmax = 3", 3), ("min = 0\nmax = 2", 2), ("min = 4\nmax = 4", 4)];

/// Xorshift: small, fixed, and no dependency.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).unwrap()
    }
}

/// A world around the supervisor: processes that start, fail and end, and a journal of what is remembered.
struct World {
    seed: u64,
    random: Random,
    supervisor: Supervisor,
    now: Instant,
    starting: BTreeMap<LaunchId, usize>,
    running: BTreeMap<LaunchId, usize>,
    ordered: usize,
    ended: usize,
    lives: u128,
    remembered: [bool; APPS.len()],
    stopped: bool,
}

impl World {
    fn new(seed: u64) -> Self {
        let keys = APPS.map(|(keys, _)| keys);
        Self {
            seed,
            random: Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1),
            supervisor: Supervisor::new(config(&keys), counting_ids(0)),
            now: Instant::now(),
            starting: BTreeMap::new(),
            running: BTreeMap::new(),
            ordered: 0,
            ended: 0,
            lives: 0,
            remembered: [false; APPS.len()],
            stopped: false,
        }
    }

    fn handle(&mut self, event: Event) {
        assert!(
            !self.stopped || !matches!(event, Event::Tick),
            "seed {}: time passes after the stop",
            self.seed
        );
        for action in self.supervisor.handle(event, self.now) {
            match action {
                Action::Launch(order) => {
                    let app = app_index(&order.app.name);
                    self.remembered[app] = false;
                    self.ordered += 1;
                    assert!(
                        self.starting.insert(order.launch, app).is_none(),
                        "seed {}: id reused",
                        self.seed
                    );
                }
                Action::Remember { app, .. } => self.remembered[app_index(&app)] = true,
                Action::Forget { app } => self.remembered[app_index(&app)] = false,
                Action::Kill { launch, .. } => {
                    assert!(self.running.contains_key(&launch), "seed {}: killed a stranger", self.seed);
                }
                Action::Log(Record::LeftBehind { launch, .. }) => {
                    assert!(self.starting.remove(&launch).or(self.running.remove(&launch)).is_some());
                    self.ended += 1;
                }
                Action::Terminate { .. }
                | Action::UseConfig(_)
                | Action::Listen { .. }
                | Action::StopListening { .. }
                | Action::Log(_) => {}
                Action::Stop => self.stopped = true,
            }
        }
        self.check();
    }

    fn check(&self) {
        for (app, (_, max)) in APPS.iter().enumerate() {
            let alive = self.alive(app);
            assert!(alive <= *max as usize, "seed {}: {alive} of app{app}", self.seed);
            assert_eq!(
                self.supervisor.running(app) as usize,
                alive,
                "seed {}: app{app} miscounted",
                self.seed
            );
            assert_eq!(
                self.supervisor.is_pending(app),
                self.remembered[app],
                "seed {}: journal and memory disagree on app{app}",
                self.seed
            );
            let forgotten =
                self.supervisor.is_pending(app) && alive == 0 && self.supervisor.wake_at().is_none();
            assert!(!forgotten || self.is_stopping(), "seed {}: app{app} waits for nothing", self.seed);
        }
        assert_eq!(self.ordered, self.ended + self.starting.len() + self.running.len(), "seed {}", self.seed);
    }

    fn alive(&self, app: usize) -> usize {
        self.starting.values().chain(self.running.values()).filter(|one| **one == app).count()
    }

    fn is_stopping(&self) -> bool {
        self.supervisor.stage != super::Stage::Running
    }

    fn step(&mut self) {
        match self.random.below(40) {
            0..=15 => self.notify(),
            16..=23 => self.start_or_fail(),
            24..=31 => self.end_one(),
            32..=35 => self.reconcile(),
            36..=38 => self.pass_time(),
            _ => self.crash(),
        }
    }

    /// The daemon dies and another takes over from the journal: what runs is adopted, what was remembered or begun and
    /// never reported is acted on.
    fn crash(&mut self) {
        if self.is_stopping() {
            return;
        }
        self.lives += 1;
        let keys = APPS.map(|(keys, _)| keys);
        self.supervisor = Supervisor::new(config(&keys), counting_ids(self.lives));
        let begun = std::mem::take(&mut self.starting);
        self.ended += begun.len();
        let mut kept = std::mem::take(&mut self.remembered);
        begun.values().for_each(|app| kept[*app] = true);
        // The model's checks hold again once everything is handed over, so this part goes around them.
        for (launch, app) in self.running.clone() {
            self.supervisor.handle(Event::Adopted { launch, app: format!("app{app}"), pid: 1 }, self.now);
        }
        for app in (0..APPS.len()).filter(|app| kept[*app]) {
            let target = Target::from(&notice("S", &format!("q{app}")));
            self.handle(Event::Remembered { app: format!("app{app}"), listener: 0, target });
        }
    }

    fn notify(&mut self) {
        let queue = format!("q{}", self.random.below(APPS.len()));
        let app = app_index(&queue.replace('q', "app"));
        let before = self.ordered;
        self.handle(Event::Notified { listener: 0, notice: notice("S", &queue) });
        assert!(
            self.ordered > before || self.supervisor.is_pending(app),
            "seed {}: a notification for {queue} came to nothing",
            self.seed
        );
    }

    fn reconcile(&mut self) {
        let queue = format!("q{}", self.random.below(APPS.len()));
        self.handle(Event::Reconcile { listener: 0, target: Target::from(&notice("S", &queue)) });
    }

    fn start_or_fail(&mut self) {
        let Some((launch, app)) = pick(&self.starting, &mut self.random) else { return };
        self.starting.remove(&launch);
        if self.random.below(4) == 0 {
            self.ended += 1;
            self.handle(Event::LaunchFailed { launch, reason: "no memory".to_owned(), image: None });
            assert!(
                self.supervisor.is_pending(app),
                "seed {}: a failed launch of app{app} is forgotten",
                self.seed
            );
        } else {
            self.running.insert(launch, app);
            self.handle(Event::Launched { launch, pid: 1 });
        }
    }

    fn end_one(&mut self) {
        let Some((launch, _)) = pick(&self.running, &mut self.random) else { return };
        let outcome = if self.random.below(3) == 0 { Outcome::Code(1) } else { Outcome::Code(0) };
        self.end(launch, outcome);
    }

    fn end(&mut self, launch: LaunchId, outcome: Outcome) {
        let app = self.running.remove(&launch).unwrap();
        self.ended += 1;
        self.handle(Event::Exited { launch, outcome });
        let is_answered = outcome == Outcome::Code(0) || self.is_stopping();
        assert!(
            is_answered || self.supervisor.is_pending(app) || self.alive(app) > 0,
            "seed {}: what app{app} failed at is forgotten",
            self.seed
        );
    }

    fn pass_time(&mut self) {
        self.now += Duration::from_millis(self.random.below(40_000) as u64);
        if self.supervisor.wake_at().is_some_and(|at| at <= self.now) {
            self.handle(Event::Tick);
        }
    }

    /// Lets every launch succeed and end, and time pass, until nothing is left; no pending notification may survive it.
    fn settle(&mut self) {
        for _ in 0..1_000 {
            if let Some((launch, app)) = pick(&self.starting, &mut self.random) {
                self.starting.remove(&launch);
                self.running.insert(launch, app);
                self.handle(Event::Launched { launch, pid: 1 });
            } else if let Some((launch, _)) = pick(&self.running, &mut self.random) {
                self.end(launch, Outcome::Code(0));
            } else if let Some(at) = self.supervisor.wake_at() {
                self.now = at;
                self.handle(Event::Tick);
            } else {
                return;
            }
        }
        panic!("seed {}: never comes to rest", self.seed);
    }
}

fn app_index(name: &str) -> usize {
    name.trim_start_matches("app").parse().unwrap()
}

fn pick(from: &BTreeMap<LaunchId, usize>, random: &mut Random) -> Option<(LaunchId, usize)> {
    if from.is_empty() {
        return None;
    }
    from.iter().nth(random.below(from.len())).map(|(launch, app)| (*launch, *app))
}

#[test]
fn no_schedule_exceeds_max_loses_a_notification_or_a_process() {
    for seed in 1..=2_000 {
        let mut world = World::new(seed);
        for _ in 0..150 {
            world.step();
        }
        world.settle();
        for app in 0..APPS.len() {
            assert!(!world.supervisor.is_pending(app), "seed {seed}: app{app} has a forgotten notification");
            assert_eq!(world.alive(app), 0);
        }
    }
}

#[test]
fn every_schedule_can_be_stopped_at_any_point_and_ends() {
    for seed in 1..=2_000 {
        let mut world = World::new(seed);
        for _ in 0..world.random.below(100) {
            world.step();
        }
        world.handle(Event::ShutdownRequested);
        let ordered = world.ordered;
        for _ in 0..world.random.below(30) {
            if !world.stopped {
                world.step();
            }
        }
        world.settle();
        assert!(world.stopped, "seed {seed}: does not stop");
        assert_eq!(world.ordered, ordered, "seed {seed}: launched while stopping");
        assert!(world.starting.is_empty() && world.running.is_empty());
    }
}
