//! Where one vector plays: its own services and queues, and the passing of time.
//!
//! There is an initiator `a_#` on `qa_#` and a target `b_#` on `qb_#`; `#` is the vector's identifier (see
//! [`Sql`]). Everything whose name ends in it is removed afterwards. It must not know single vectors.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ssbroker::client::{Broker, BrokerOptions, Row};
use ssbroker_emulator::ManualClock;
use uuid::Uuid;

use super::cleanup;
use super::message::Message;
use super::session::Session;
use super::sql::{self, Refusal, Sql, fill_in};
use super::vector::Place;
use crate::support::Backend;

const OBJECTS: &str = "
    CREATE QUEUE [qa_#];
    CREATE QUEUE [qb_#];
    CREATE QUEUE [idle_#];
    CREATE SERVICE [a_#] ON QUEUE [qa_#] ([DEFAULT]);
    CREATE SERVICE [b_#] ON QUEUE [qb_#] ([DEFAULT]);";

/// How far a manual clock goes at once while something is waited for.
const TICK: Duration = Duration::from_millis(20);

/// How long a condition may take to come true, in real time.
const DEADLINE: Duration = Duration::from_secs(60);

/// A vector's place on the server.
pub(crate) struct Fixture {
    id: String,
    backend: Arc<dyn Backend>,
    /// Connected to the backend's own database.
    home: Broker,
    /// Connected to where the vector plays.
    broker: Broker,
    /// The database made for this vector.
    own_database: Option<String>,
}

impl Fixture {
    /// Connects and creates the objects, or says why the vector cannot be played here.
    pub(crate) async fn create(backend: &Arc<dyn Backend>, place: Place) -> Result<Self, &'static str> {
        let id = Uuid::new_v4().simple().to_string();
        let options: BrokerOptions = backend.connection_string().parse().unwrap();
        // Waits have limits of their own.
        let options = options.with_command_timeout(None);
        let home = Broker::with_options(options.clone()).await.unwrap();
        let mut fixture =
            Self { id, backend: Arc::clone(backend), broker: home.clone(), home, own_database: None };
        if place == Place::OwnDatabase {
            fixture.move_to_own_database(options).await?;
        }
        let instance = fixture.broker.instance().await.unwrap();
        assert!(
            instance.is_enabled,
            "Service Broker is off in {}; name a database where it is on",
            instance.database
        );
        fixture.run(OBJECTS, &[]).await;
        Ok(fixture)
    }

    async fn move_to_own_database(&mut self, options: BrokerOptions) -> Result<(), &'static str> {
        match self.attempt("CREATE DATABASE [db_#]", &[]).await {
            Err(error) if error.number == 262 => return Err("the login may not create databases"),
            answer => answer.unwrap(),
        };
        let name = fill_in("db_#", &self.id);
        self.broker = Broker::with_options(options.with_database(&name)).await.unwrap();
        self.own_database = Some(name);
        Ok(())
    }

    /// Removes what the vector made.
    pub(crate) async fn remove(self) {
        match self.own_database {
            Some(database) => {
                drop(self.broker);
                cleanup::drop_database(&self.home, &database).await;
            }
            None => cleanup::drop_objects(&self.broker, &self.id).await,
        }
    }

    /// A connection for transactions that stay open.
    pub(crate) async fn session(&self) -> Session {
        Session::open(&self.backend.connection_string(), self.own_database.as_deref(), &self.id).await
    }

    /// The clock that a vector may move; `None` on a server with a clock of its own.
    pub(crate) fn manual_clock(&self) -> Option<&ManualClock> {
        self.backend.manual_clock()
    }

    /// Lets time pass: by moving the clock, or by waiting on a queue that nobody sends to.
    pub(crate) async fn pass(&self, time: Duration) {
        match self.manual_clock() {
            Some(clock) => clock.advance(time),
            None => {
                let idle = self.wait_for("idle_#", u32::try_from(time.as_millis()).unwrap()).await;
                assert!(idle.is_empty());
            }
        }
    }

    /// Fails if something comes into a queue within that time.
    pub(crate) async fn stays_empty(&self, queue: &str, time: Duration) {
        let came = self.wait_for(queue, u32::try_from(time.as_millis()).unwrap()).await;
        assert!(came.is_empty(), "{came:?}");
    }

    /// Waits until a condition holds. Each look is a request to the server; a manual clock does not move.
    pub(crate) async fn until<F: Future<Output = bool>>(&self, what: &str, condition: impl Fn() -> F) {
        let deadline = Instant::now() + DEADLINE;
        while !condition().await {
            assert!(Instant::now() < deadline, "not within {DEADLINE:?}: {what}");
        }
    }

    /// The same while a manual clock moves on.
    pub(crate) async fn until_in_time<F: Future<Output = bool>>(
        &self,
        what: &str,
        condition: impl Fn() -> F,
    ) {
        self.while_time_passes(self.until(what, condition)).await;
    }

    /// Runs a text that waits, while a manual clock moves on.
    pub(crate) async fn in_time(&self, sql: &str) -> Vec<Row> {
        self.while_time_passes(self.run(sql, &[])).await
    }

    /// A manual clock moves only as fast as the server answers, so that what is due at one tick is done before the next.
    async fn while_time_passes<T>(&self, work: impl Future<Output = T>) -> T {
        let Some(clock) = self.manual_clock() else { return work.await };
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                biased;
                result = &mut work => return result,
                () = self.tick(clock) => {}
            }
        }
    }

    async fn tick(&self, clock: &ManualClock) {
        self.home.batch("SELECT 1 AS one").await.unwrap();
        clock.advance(TICK);
    }
}

impl Sql for Fixture {
    fn id(&self) -> &str {
        &self.id
    }

    async fn attempt(&self, sql: &str, values: &[Uuid]) -> Result<Vec<Row>, Refusal> {
        let sql = fill_in(sql, &self.id);
        let answer = match values {
            [] => self.broker.batch(&sql).await,
            values => {
                let values: Vec<_> = values.iter().map(|value| (*value).into()).collect();
                self.broker.execute(&sql, &values).await
            }
        };
        answer.map(|results| results.into_rows()).map_err(|error| match error.server_number() {
            Some(number) => Refusal { number, text: format!("{error:?}") },
            None => panic!("the request failed: {error:?}\n{sql}"),
        })
    }

    async fn wait_for(&self, queue: &str, milliseconds: u32) -> Vec<Message> {
        self.while_time_passes(sql::wait_for(self, queue, milliseconds)).await
    }
}
