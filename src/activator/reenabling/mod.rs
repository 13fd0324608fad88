//! Which queues the server has switched off, and when this daemon switched them on again: across restarts, so that the
//! limit of `reenable` holds also for a daemon that is started again and again.
//!
//! A JSON object in `reenabled.json` below the state folder, replaced as a whole; the rules are in [`guard`]. A queue is
//! known by the address of its server and its name. The times in the file are those of the wall clock, since they have to
//! mean the same after a restart; within one run time passes as the monotonic clock says, so that a wall clock which is set
//! neither shortens nor stretches a wait. Cheap to clone. Switches nothing by itself.

mod guard;

pub(super) use guard::Decision;

use crate::activator::config::Reenable;
use crate::activator::launch::Target;
use crate::activator::state_file;
use guard::Guard;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// The queues.
#[derive(Debug, Clone)]
pub(super) struct Reenabling {
    clock: Clock,
    state: Arc<Mutex<State>>,
}

/// The wall clock as it was read once, and the time since then.
#[derive(Debug, Clone, Copy)]
struct Clock {
    read_at: Instant,
    /// What it showed, in milliseconds since 1970.
    shown: u64,
}

#[derive(Debug)]
struct State {
    path: PathBuf,
    guards: BTreeMap<String, Guard>,
}

impl Reenabling {
    /// Reads what is known; a file that is missing says nothing, one that cannot be read is told of. At `now` the wall clock
    /// shows `shown`.
    pub(super) fn open(state_dir: &Path, now: Instant, shown: SystemTime) -> Self {
        let clock = Clock { read_at: now, shown: milliseconds(shown) };
        let path = state_dir.join("reenabled.json");
        let mut guards: BTreeMap<String, Guard> = match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text).unwrap_or_else(|error| {
                let path = path.display();
                tracing::error!(
                    target: "activator",
                    "{path} cannot be read, so it is not known which queues were switched on again: {error}"
                );
                BTreeMap::new()
            }),
            Err(_) => BTreeMap::new(),
        };
        guards.retain(|_, guard| guard.taken_up(clock.shown));
        Self { clock, state: Arc::new(Mutex::new(State { path, guards })) }
    }

    /// The server at this address says that it has switched a queue off.
    pub(super) fn told(&self, server: &str, queue: &Target, now: Instant) {
        self.change(server, queue, |guard| guard.told(self.clock.at(now)));
    }

    /// A look that began at `looked_at` has found a queue on.
    pub(super) fn seen_on(&self, server: &str, queue: &Target, looked_at: Instant) {
        let is_told = self.state().guards.get(&key(server, queue)).is_some_and(Guard::is_told);
        if is_told {
            self.change(server, queue, |guard| guard.seen_on(self.clock.at(looked_at)));
        }
    }

    /// What is to be done about a queue that is off. That it is to be switched on is written down before it is done, and so
    /// counts whatever becomes of this daemon.
    pub(super) fn decide(&self, server: &str, queue: &Target, settings: Reenable, now: Instant) -> Decision {
        self.change(server, queue, |guard| guard.decide(settings, self.clock.at(now)))
    }

    /// The server refused what was decided at `at`.
    pub(super) fn refused(&self, server: &str, queue: &Target, at: Instant) {
        self.change(server, queue, |guard| guard.refused(self.clock.at(at)));
    }

    /// When a queue was switched on again within the last hour, oldest first, in milliseconds since 1970.
    pub(super) fn recent(&self, server: &str, queue: &Target, now: Instant) -> Vec<u64> {
        let (state, now) = (self.state(), self.clock.at(now));
        state.guards.get(&key(server, queue)).map(|guard| guard.recent(now)).unwrap_or_default()
    }

    /// The moment of a decision to wait.
    pub(super) fn time_of(&self, moment: u64) -> Instant {
        self.clock.read_at + Duration::from_millis(moment.saturating_sub(self.clock.shown))
    }

    fn change<T>(&self, server: &str, queue: &Target, change: impl FnOnce(&mut Guard) -> T) -> T {
        let mut state = self.state();
        let key = key(server, queue);
        let mut guard = state.guards.get(&key).cloned().unwrap_or_default();
        let outcome = change(&mut guard);
        let is_different =
            state.guards.get(&key).map_or(guard != Guard::default(), |before| *before != guard);
        if is_different {
            state.guards.insert(key, guard);
            state.write();
        }
        outcome
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock {
    /// Milliseconds since 1970.
    fn at(self, moment: Instant) -> u64 {
        let since = moment.saturating_duration_since(self.read_at);
        self.shown.saturating_add(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

impl State {
    /// Short enough to be waited for. What cannot be written holds until the end of this daemon.
    fn write(&self) {
        if let Err(error) = self.try_write() {
            let path = self.path.display();
            tracing::error!(
                target: "activator",
                "{path} cannot be written, so the next start will not know which queues were switched on again: {error}"
            );
        }
    }

    fn try_write(&self) -> io::Result<()> {
        state_file::replace(&self.path, &serde_json::to_vec(&self.guards)?)
    }
}

/// Names of queues are compared without case, as those of applications are.
fn key(server: &str, queue: &Target) -> String {
    format!("{server}/{}.{}.{}", queue.database, queue.schema, queue.queue).to_lowercase()
}

/// Milliseconds since 1970.
fn milliseconds(moment: SystemTime) -> u64 {
    let since = moment.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{Decision, Reenabling};
    use crate::activator::config::Reenable;
    use crate::activator::launch::Target;
    use std::time::{Duration, Instant, SystemTime};

    fn queue(name: &str) -> Target {
        Target { server: "S".into(), database: "Sales".into(), schema: "dbo".into(), queue: name.into() }
    }

    #[test]
    fn the_count_survives_a_restart_and_each_queue_of_each_server_has_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let (start, settings) = (Instant::now(), Reenable { after: Duration::ZERO, at_most: 1 });
        let shown = SystemTime::now();
        let first = Reenabling::open(folder.path(), start, shown);
        first.told("db1,1433", &queue("Orders"), start);
        assert_eq!(first.decide("db1,1433", &queue("ORDERS"), settings, start), Decision::SwitchOn(1));
        for (server, name) in [("db2,1433", "Orders"), ("db1,1433", "Returns")] {
            assert_eq!(first.decide(server, &queue(name), settings, start), Decision::Untold);
        }
        let later = start + Duration::from_secs(60);
        first.told("db1,1433", &queue("Orders"), later);
        let second = Reenabling::open(folder.path(), later, shown + Duration::from_secs(60));
        assert_eq!(second.recent("db1,1433", &queue("Orders"), later).len(), 1);
        let decision = second.decide("db1,1433", &queue("Orders"), settings, later);
        assert_eq!(decision, Decision::GaveUp { is_news: true });
        std::fs::write(folder.path().join("reenabled.json"), "[").unwrap();
        let third = Reenabling::open(folder.path(), later, shown);
        assert_eq!(third.decide("db1,1433", &queue("Orders"), settings, later), Decision::Untold);
    }

    #[test]
    fn a_wait_ends_when_its_time_has_passed_whatever_the_wall_clock_shows() {
        let folder = tempfile::tempdir().unwrap();
        let (start, after) = (Instant::now(), Duration::from_secs(30));
        let (settings, orders) = (Reenable { after, at_most: 1 }, queue("Orders"));
        // Of the wall clock only this reading counts, here one that is years off.
        let shown = SystemTime::UNIX_EPOCH + Duration::from_secs(86_400);
        let reenabling = Reenabling::open(folder.path(), start, shown);
        let told_at = start + Duration::from_secs(5);
        reenabling.told("db1,1433", &orders, told_at);
        let Decision::Wait(due) = reenabling.decide("db1,1433", &orders, settings, told_at) else { panic!() };
        assert_eq!(reenabling.time_of(due), told_at + after);
        let decision = reenabling.decide("db1,1433", &orders, settings, told_at + after);
        assert_eq!(decision, Decision::SwitchOn(1));
        assert_eq!(reenabling.recent("db1,1433", &orders, told_at + after), [86_435_000]);
    }
}
