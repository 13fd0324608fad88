//! What all integration tests share: the server they run against.
//!
//! That is the embedded broker, always; or the server named by `SSBROKER_TEST_SERVER` (a connection string with rights to
//! create objects), for the suites that take their backend as an argument.

use std::sync::Arc;
use std::time::Duration;

use ssbroker_emulator::value::Timestamp;
use ssbroker_emulator::{Clock, Emulator, ManualClock};

/// A server under test.
pub(crate) trait Backend: Send + Sync {
    /// How to connect to it, in a database of the test's own choice, as a login that may create objects.
    fn connection_string(&self) -> String;

    /// The clock its timers run by, if the test may move it.
    fn manual_clock(&self) -> Option<&ManualClock>;

    /// What it is, for messages.
    fn describe(&self) -> String;
}

/// The embedded broker, in this process.
pub(crate) struct Embedded {
    pub(crate) emulator: Emulator,
    clock: Option<ManualClock>,
}

impl Embedded {
    /// With the machine's clock.
    pub(crate) async fn start() -> Self {
        Self { emulator: Emulator::start().await.unwrap(), clock: None }
    }

    /// With a clock that only the test moves.
    pub(crate) async fn with_manual_clock() -> Self {
        // A whole second, so that times the server rounds to milliseconds stay exact.
        let second = 10_000_000;
        let start = Timestamp(Clock::real().now().0 / second * second);
        let (clock, manual) = Clock::manual(start);
        let emulator = Emulator::builder().clock(clock).start().await.unwrap();
        Self { emulator, clock: Some(manual) }
    }
}

impl Backend for Embedded {
    fn connection_string(&self) -> String {
        self.emulator.connection_string("msdb")
    }

    fn manual_clock(&self) -> Option<&ManualClock> {
        self.clock.as_ref()
    }

    fn describe(&self) -> String {
        "embedded broker".to_owned()
    }
}

/// An embedded broker as seen from one database of its own.
pub(crate) struct InDatabase {
    pub(crate) embedded: Embedded,
    pub(crate) name: &'static str,
}

impl InDatabase {
    /// Makes the database on that broker.
    pub(crate) async fn create(embedded: Embedded, name: &'static str) -> Arc<Self> {
        let broker = ssbroker::client::Broker::connect(&embedded.connection_string()).await.unwrap();
        broker.batch(&format!("CREATE DATABASE [{name}]")).await.unwrap();
        Arc::new(Self { embedded, name })
    }
}

impl Backend for InDatabase {
    fn connection_string(&self) -> String {
        self.embedded.emulator.connection_string(self.name)
    }

    fn manual_clock(&self) -> Option<&ManualClock> {
        self.embedded.manual_clock()
    }

    fn describe(&self) -> String {
        format!("database {} of the embedded broker", self.name)
    }
}

/// A server named by `SSBROKER_TEST_SERVER`.
struct Server {
    connection_string: String,
}

impl Backend for Server {
    fn connection_string(&self) -> String {
        self.connection_string.clone()
    }

    fn manual_clock(&self) -> Option<&ManualClock> {
        None
    }

    fn describe(&self) -> String {
        "server of SSBROKER_TEST_SERVER".to_owned()
    }
}

/// The embedded broker with the machine's clock.
pub(crate) async fn start() -> Arc<dyn Backend> {
    Arc::new(Embedded::start().await)
}

/// Every backend there is: the embedded broker with a manual clock, and the named server if there is one.
pub(crate) async fn all_backends() -> Vec<Arc<dyn Backend>> {
    let mut backends: Vec<Arc<dyn Backend>> = vec![Arc::new(Embedded::with_manual_clock().await)];
    match std::env::var("SSBROKER_TEST_SERVER") {
        Ok(connection_string) => backends.push(Arc::new(Server { connection_string })),
        Err(_) => println!("skipped: no server, since SSBROKER_TEST_SERVER is not set"),
    }
    backends
}

/// Waits for something that nobody announces, as the counts of a running worker. Fails after a minute, saying what it was.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting)
        .await
        .unwrap_or_else(|_| panic!("in vain: {what}"));
}

/// Runs a script of `sql/`, batch by batch.
pub(crate) async fn run_script(broker: &ssbroker::client::Broker, script: &str) {
    for batch in script.split("\nGO\n").filter(|batch| !batch.trim().is_empty()) {
        broker.batch(batch).await.unwrap();
    }
}
