//! The broker under a script: an instance on a manual clock with counted uuids, and the runtime that drives it.
//!
//! The runtime has one thread and its own clock is paused: a sleep on it ends when nothing else can run. That is how a script
//! knows, without waiting any real time, that a statement is blocked.

use std::sync::Arc;
use std::time::Duration;

use ssbroker_emulator::instance::Instance;
use ssbroker_emulator::output::Collected;
use ssbroker_emulator::request::{LoginHandler, LoginRequest};
use ssbroker_emulator::session::{Logins, Session};
use ssbroker_emulator::value::Timestamp;
use ssbroker_emulator::{Clock, CoreOptions, IdSource, LoginId, ManualClock};
use tokio::runtime::Runtime;
use uuid::Uuid;

/// Noon of 2026-06-01, in 100 ns since 1970.
const START: Timestamp = Timestamp::from_unix_ticks(1_780_315_200 * 10_000_000);
/// The login `sa`.
const SA: LoginId = LoginId(1);

/// A broker of its own for one script.
pub(super) struct Server {
    instance: Arc<Instance>,
    clock: ManualClock,
}

impl Server {
    /// Starts one; needs the runtime of [`runtime`].
    pub(super) fn start() -> Server {
        let (clock, hands) = Clock::manual(START);
        let instance = Instance::new(CoreOptions::default(), clock, Box::new(Counted(0)));
        Server { instance, clock: hands }
    }

    /// When the script began.
    pub(super) fn start_time(&self) -> Timestamp {
        START
    }

    /// Opens a session of `sa`.
    pub(super) fn administrator(&self, database: &str) -> Session {
        Session::internal(&self.instance, SA, Some(database), "golden").expect("sa may enter every database")
    }

    /// Opens a session of another login, as a client does.
    pub(super) async fn login(&self, user: &str, password: &str, database: &str) -> Result<Session, String> {
        let request = LoginRequest {
            user: user.to_owned(),
            password: password.to_owned(),
            database: database.to_owned(),
            application: "golden".to_owned(),
            ..LoginRequest::default()
        };
        let session = Logins::new(Arc::clone(&self.instance)).login(request, &mut Collected::default()).await;
        session.map_err(|error| error.to_string())
    }

    /// Moves the clock and lets everything due happen.
    pub(super) async fn advance(&self, by: Duration) {
        self.clock.advance(by);
        settle().await;
    }
}

/// A runtime whose sleeps end when nothing else can run.
pub(super) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime")
}

/// Waits until nothing can run any more.
pub(super) async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// Uuids in the order of their making.
struct Counted(u128);

impl IdSource for Counted {
    fn uuid(&mut self) -> Uuid {
        self.0 += 1;
        Uuid::from_u128((0x5b << 120) + self.0)
    }
}
