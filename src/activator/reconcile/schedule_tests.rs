//! Random schedules of a small world: a server with queues and monitors, notifications that get lost, handlers that do not
//! receive, and the pure supervisor and judges between them, all on a clock that only the test moves.
//!
//! The promise (goal D6): a queue with messages has a process within two seconds, or within the pause that its handlers
//! have earned by ending in vain. Each schedule comes from a fixed seed and is named by it when it fails.

use super::judge::{Judge, Look, Verdict};
use crate::activator::launch::{LaunchId, Outcome, Target};
use crate::activator::status::Handlers;
use crate::activator::supervisor::testing::{config, counting_ids, notice};
use crate::activator::supervisor::{Action, Event, Supervisor};
use crate::client::MonitorState;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const APPS: [&str; 3] = ["max = 1", "min = 2\nmax = 3", "min = 0\nmax = 2"];
/// How fine the world's time is.
const STEP: Duration = Duration::from_millis(50);
/// Time between two sweeps, as the reconciler has it.
const SWEEP: Duration = Duration::from_secs(1);
/// The server's own timer while receives occur.
const SERVER_TIMER: Duration = Duration::from_secs(5);
/// How long a queue with messages may be without a process.
const PROMISE: Duration = Duration::from_secs(2);

/// Xorshift: small, fixed, and no dependency.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// A queue at the server.
struct Queue {
    messages: u32,
    monitor: MonitorState,
    last_receive: Instant,
    has_notification: bool,
    judge: Judge,
    launches: u64,
    look_at: Instant,
    /// Handlers that ended in a row without receiving.
    futile: u32,
    unread_since: Option<Instant>,
    /// Somebody else read, so the server's own timer goes first until then.
    others_until: Instant,
}

/// A process. One that is futile ends without a RECEIVE.
struct Handler {
    app: usize,
    is_futile: bool,
    idle_until: Instant,
}

struct World {
    seed: u64,
    random: Random,
    now: Instant,
    supervisor: Supervisor,
    queues: Vec<Queue>,
    handlers: BTreeMap<LaunchId, Handler>,
    /// Notifications on the notification queue, by application.
    posted: Vec<usize>,
    /// The listener is away until then.
    listener_back: Instant,
    /// Whether handlers and notifications may fail.
    is_unkind: bool,
    longest: Duration,
}

impl World {
    fn new(seed: u64) -> Self {
        let now = Instant::now();
        let queue = |_: &&str| Queue {
            messages: 0,
            monitor: MonitorState::Inactive,
            last_receive: now,
            has_notification: true,
            judge: Judge::new(0),
            launches: 0,
            look_at: now,
            futile: 0,
            unread_since: None,
            others_until: now,
        };
        Self {
            seed,
            random: Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1),
            now,
            supervisor: Supervisor::new(config(&APPS), counting_ids(0)),
            queues: APPS.iter().map(queue).collect(),
            handlers: BTreeMap::new(),
            posted: Vec::new(),
            listener_back: now,
            is_unkind: true,
            longest: Duration::ZERO,
        }
    }

    fn step(&mut self) {
        self.now += STEP;
        if self.is_unkind {
            self.mischief();
        }
        for app in 0..APPS.len() {
            self.server_timer(app);
        }
        self.listen();
        self.work();
        if self.supervisor.wake_at().is_some_and(|at| at <= self.now) {
            self.handle(Event::Tick);
        }
        for app in 0..APPS.len() {
            self.sweep(app);
            self.check(app);
        }
    }

    fn mischief(&mut self) {
        let app = usize::try_from(self.random.below(APPS.len() as u64)).unwrap();
        match self.random.below(60) {
            0..=7 => self.send(app),
            8 => {
                let back = self.random.below(700);
                self.listener_back = self.now + Duration::from_millis(back);
            }
            9 => self.posted.clear(),
            10 => self.queues[app].has_notification = false,
            11 | 12 => self.queues[app].has_notification = true,
            // Somebody looks with RECEIVE TOP (0).
            13 => {
                self.received(app);
                self.queues[app].others_until = self.now + SERVER_TIMER * 2;
            }
            _ => {}
        }
    }

    fn send(&mut self, app: usize) {
        let burst = if self.random.chance(20) { 20 } else { 1 };
        self.queues[app].messages += burst;
        if self.queues[app].monitor == MonitorState::Inactive {
            self.notify(app);
        }
    }

    fn notify(&mut self, app: usize) {
        self.queues[app].monitor = MonitorState::Notified;
        if self.queues[app].has_notification {
            self.posted.push(app);
        }
    }

    fn server_timer(&mut self, app: usize) {
        let queue = &mut self.queues[app];
        let is_due = self.now >= queue.last_receive + SERVER_TIMER;
        if queue.monitor == MonitorState::ReceivesOccurring && is_due {
            queue.monitor = MonitorState::Inactive;
            if queue.messages > 0 {
                self.notify(app);
            }
        }
    }

    fn received(&mut self, app: usize) {
        let queue = &mut self.queues[app];
        (queue.monitor, queue.last_receive) = (MonitorState::ReceivesOccurring, self.now);
    }

    fn listen(&mut self) {
        if self.now < self.listener_back {
            return;
        }
        for app in std::mem::take(&mut self.posted) {
            self.handle(Event::Notified { listener: 0, notice: notice("S", &format!("q{app}")) });
        }
    }

    /// Every process receives, waits a little for more, or ends.
    fn work(&mut self) {
        let ids: Vec<LaunchId> = self.handlers.keys().copied().collect();
        for launch in ids {
            let (app, is_futile) = (self.handlers[&launch].app, self.handlers[&launch].is_futile);
            if is_futile {
                if self.random.chance(30) {
                    self.queues[app].futile += 1;
                    self.end(launch);
                }
                continue;
            }
            self.received(app);
            self.queues[app].futile = 0;
            if self.queues[app].messages > 0 {
                let taken = 1 + u32::try_from(self.random.below(4)).unwrap();
                self.queues[app].messages = self.queues[app].messages.saturating_sub(taken);
                let patience = Duration::from_millis(self.random.below(300));
                self.handlers.get_mut(&launch).unwrap().idle_until = self.now + patience;
            } else if self.now >= self.handlers[&launch].idle_until {
                self.end(launch);
            }
        }
    }

    fn end(&mut self, launch: LaunchId) {
        let app = self.handlers.remove(&launch).unwrap().app;
        self.handle(Event::Exited { launch, outcome: Outcome::Code(0) });
        // The reconciler is woken by every change about processes.
        self.queues[app].look_at = self.now;
    }

    fn handle(&mut self, event: Event) {
        let mut launches = Vec::new();
        for action in self.supervisor.handle(event, self.now) {
            if let Action::Launch(order) = action {
                launches.push(order);
            }
        }
        for order in launches {
            let app = order.app.name.trim_start_matches("app").parse().unwrap();
            let is_futile = self.is_unkind && self.random.chance(15);
            self.handlers.insert(order.launch, Handler { app, is_futile, idle_until: self.now + STEP });
            self.queues[app].launches += 1;
            self.handle(Event::Launched { launch: order.launch, pid: 1 });
        }
    }

    fn sweep(&mut self, app: usize) {
        let running = self.supervisor.running(app);
        let handlers = Handlers {
            running,
            pending: self.supervisor.is_pending(app),
            paused: false,
            launches: self.queues[app].launches,
        };
        let queue = &mut self.queues[app];
        if !Judge::is_idle(handlers) || self.now < queue.look_at {
            return;
        }
        let look = Look { ready: Some(queue.messages > 0), monitor: Some(Some(queue.monitor.clone())) };
        queue.look_at = self.now + SWEEP;
        match queue.judge.judge(&look, handlers, self.now) {
            Verdict::Fine => {}
            Verdict::LookAgain(at) => queue.look_at = queue.look_at.min(at),
            Verdict::Launch => {
                let target = Target::from(&notice("S", &format!("q{app}")));
                self.handle(Event::Reconcile { listener: 0, target });
            }
        }
    }

    fn check(&mut self, app: usize) {
        let max = [1, 3, 2][app];
        let running = self.handlers.values().filter(|handler| handler.app == app).count();
        assert!(running <= max, "seed {}: {running} of app{app}", self.seed);
        let queue = &mut self.queues[app];
        if queue.messages == 0 || running > 0 {
            queue.unread_since = None;
            return;
        }
        let since = *queue.unread_since.get_or_insert(self.now);
        let earned = match queue.futile {
            0 => Duration::ZERO,
            futile => Duration::from_secs(1 << (futile - 1).min(6)),
        };
        let unread = self.now - since;
        if self.now <= queue.others_until {
            return;
        }
        if earned.is_zero() && queue.others_until <= since {
            self.longest = self.longest.max(unread);
        }
        assert!(
            unread.min(self.now - queue.others_until) <= PROMISE + earned,
            "seed {}: {} messages of app{app} without a reader for {unread:?}, monitor {}",
            self.seed,
            queue.messages,
            queue.monitor
        );
    }

    /// From now on nothing fails; in the end every message is read.
    fn settle(&mut self) {
        self.is_unkind = false;
        for _ in 0..4_000 {
            self.step();
            if self.queues.iter().all(|queue| queue.messages == 0) && self.handlers.is_empty() {
                return;
            }
        }
        panic!("seed {}: never comes to rest", self.seed);
    }
}

#[test]
fn d6_in_ten_thousand_schedules_every_queue_with_messages_gets_a_reader_in_time() {
    let mut longest = Duration::ZERO;
    for seed in 1..=10_000 {
        let mut world = World::new(seed);
        for _ in 0..120 {
            world.step();
        }
        world.settle();
        longest = longest.max(world.longest);
    }
    assert!(longest > Duration::from_millis(700), "the schedules lose no notification: {longest:?}");
}
