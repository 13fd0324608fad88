//! Conformance vectors of the spec (10.1) driven against [`Core`] directly: two or three sessions, a clock that the test
//! moves, no T-SQL. Each test is named by its vector and says where the expectation comes from: `documented` (tags D and
//! X of the spec) or `assumed` (tag R, or a U-nn).

mod activation;
mod conversations;
mod delivery;
mod limits;
mod permissions;
mod receiving;

use std::time::Duration;

use bytes::Bytes;
use uuid::Uuid;

use super::activation::MonitorState;
use super::conversation::End;
use super::core::{Call, Core, CoreOptions, Op, Step};
use super::definitions::{
    Body, Endpoint, EventNotification, Login, MessageStatus, QueuedMessage, TransmissionRow,
};
use super::dialogs::BeginDialog;
use super::event_notifications::{NewNotification, NotifyOn};
use super::ids::{DatabaseId, IdSource, QueueKey, SessionId};
use super::objects::ObjectName;
use super::queues::QueueOptions;
use super::receive::{Filter, Receive, Waiting};
use super::rows::ReadHint;
use super::sessions::LoginInfo;
use super::system_messages::names;
use super::tx::Tx;
use crate::error::SqlError;
use crate::value::Timestamp;

/// Uuids in order, so that runs are alike.
struct Counted(u128);

impl IdSource for Counted {
    fn uuid(&mut self) -> Uuid {
        self.0 += 1;
        Uuid::from_u128(self.0)
    }
}

/// One instance with database `db`: services `A` (queue `QA`) and `B` (queue `QB`, offers `DEFAULT`), and two sessions.
struct Bench {
    core: Core,
    now: Timestamp,
    /// Session of the initiator's application.
    a: SessionId,
    /// Session of the target's application.
    b: SessionId,
    qa: QueueKey,
    qb: QueueKey,
}

impl Bench {
    fn new() -> Bench {
        Bench::with_options(CoreOptions::default())
    }

    fn with_options(options: CoreOptions) -> Bench {
        let now = Timestamp::from_unix_ticks(1_700_000_000 * 10_000_000);
        let mut core = Core::new(options, Box::new(Counted(0x1000)), now);
        let setup = open(&mut core, "master", now);
        let call = Call { session: setup, now };
        expect_done(core.statement(&call, |tx| tx.create_database("db")));
        core.close_session(setup, now);
        let (a, b) = (open(&mut core, "db", now), open(&mut core, "db", now));
        let nowhere = QueueKey::new(DatabaseId(0), super::ids::ObjectId(0));
        let mut bench = Bench { core, now, a, b, qa: nowhere, qb: nowhere };
        bench.qa = bench.create_queue("QA");
        bench.qb = bench.create_queue("QB");
        bench.create_service("A", "QA", &[]);
        bench.create_service("B", "QB", &["DEFAULT"]);
        bench
    }

    fn third_session(&mut self) -> SessionId {
        open(&mut self.core, "db", self.now)
    }

    fn step<T>(
        &mut self,
        session: SessionId,
        f: impl FnOnce(&mut Tx<'_>) -> Op<T>,
    ) -> Result<Step<T>, SqlError> {
        self.core.statement(&Call { session, now: self.now }, f)
    }

    fn run<T>(&mut self, session: SessionId, f: impl FnOnce(&mut Tx<'_>) -> Op<T>) -> T {
        expect_done(self.step(session, f))
    }

    fn error<T>(&mut self, session: SessionId, f: impl FnOnce(&mut Tx<'_>) -> Op<T>) -> i32 {
        match self.step(session, f) {
            Err(error) => error.number,
            Ok(_) => 0,
        }
    }

    fn is_blocked<T>(&mut self, session: SessionId, f: impl FnOnce(&mut Tx<'_>) -> Op<T>) -> bool {
        matches!(self.step(session, f), Ok(Step::Blocked(_)))
    }

    fn begin_tran(&mut self, session: SessionId) {
        self.core.begin(&Call { session, now: self.now }).unwrap();
    }

    fn commit(&mut self, session: SessionId) {
        self.core.commit(&Call { session, now: self.now }).unwrap();
    }

    fn rollback(&mut self, session: SessionId) {
        self.core.rollback(&Call { session, now: self.now }).unwrap();
    }

    /// Lets time pass and the engine do what falls due meanwhile.
    fn wait(&mut self, time: Duration) {
        let end = self.now.plus(time);
        while let Some(at) = self.core.next_deadline().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.core.tick(self.now);
        }
        self.now = end;
        self.core.tick(end);
    }

    fn create_queue(&mut self, name: &str) -> QueueKey {
        let name = ObjectName::plain(name);
        self.run(self.a, |tx| {
            tx.create_queue(&name, &QueueOptions::default())?;
            tx.resolve_queue(&name)
        })
    }

    fn create_service(&mut self, name: &str, queue: &str, contracts: &[&str]) {
        self.run(self.a, |tx| tx.create_service(name, None, &ObjectName::plain(queue), contracts));
    }

    fn alter_queue(&mut self, queue: &str, options: &QueueOptions) {
        self.run(self.a, |tx| tx.alter_queue(&ObjectName::plain(queue), options));
    }

    fn switch(&mut self, queue: &str, on: bool) {
        self.alter_queue(queue, &QueueOptions { status: Some(on), ..QueueOptions::default() });
    }

    fn begin(&mut self) -> Uuid {
        self.begin_with(dialog())
    }

    fn begin_with(&mut self, dialog: BeginDialog) -> Uuid {
        self.run(self.a, |tx| tx.begin_dialog(&dialog))
    }

    fn send(&mut self, session: SessionId, handle: Uuid, body: &str) {
        self.run(session, |tx| tx.send(&[handle], None, &bytes(body)));
    }

    /// A new dialog with one message.
    fn send_new(&mut self, body: &str) -> Uuid {
        let handle = self.begin();
        self.send(self.a, handle, body);
        handle
    }

    /// New dialogs with one message each, numbered.
    fn send_many(&mut self, numbers: std::ops::Range<u32>) {
        for number in numbers {
            self.send_new(&number.to_string());
        }
    }

    fn send_error(&mut self, session: SessionId, handle: Uuid) -> i32 {
        self.error(session, |tx| tx.send(&[handle], None, &bytes("x")))
    }

    fn end(&mut self, session: SessionId, handle: Uuid) {
        self.run(session, |tx| tx.end_conversation(handle, &End::Plain));
    }

    fn receive(&mut self, session: SessionId, queue: QueueKey) -> Vec<QueuedMessage> {
        self.run(session, |tx| tx.receive(&all_from(queue)))
    }

    fn receive_top(&mut self, session: SessionId, queue: QueueKey, top: u64) -> Vec<QueuedMessage> {
        self.run(session, |tx| tx.receive(&Receive { top: Some(top), ..all_from(queue) }))
    }

    /// Starts or goes on with a WAITFOR (RECEIVE); `None` while it blocks.
    fn waitfor(
        &mut self,
        session: SessionId,
        queue: QueueKey,
    ) -> Result<Option<Vec<QueuedMessage>>, SqlError> {
        let receive = Receive { waiting: Waiting::Yes, ..all_from(queue) };
        Ok(match self.step(session, |tx| tx.receive(&receive))? {
            Step::Done(rows) => Some(rows),
            Step::Blocked(_) => None,
        })
    }

    fn rows(&mut self, queue: QueueKey) -> Vec<QueuedMessage> {
        self.run(self.a, |tx| tx.queue_rows(queue, ReadHint::NoLock))
    }

    fn endpoints(&self) -> Vec<Endpoint> {
        let all = self.core.state().endpoints.iter().filter(|endpoint| !endpoint.is_system);
        all.map(|endpoint| Endpoint::clone(endpoint)).collect()
    }

    /// State of one side of the only conversation, `--` when its row is gone.
    fn state(&self, is_initiator: bool) -> &'static str {
        let all = self.endpoints();
        all.iter().find(|it| it.is_initiator == is_initiator).map_or("--", |it| it.state().code())
    }

    fn transmission(&self) -> Vec<TransmissionRow> {
        self.core.state().transmission.iter().map(|row| TransmissionRow::clone(row)).collect()
    }

    /// Makes queue `QN` and service `N` and subscribes it to an event on `queue`.
    fn subscribe(&mut self, queue: QueueKey, event: &str) -> QueueKey {
        let events = self.create_queue("QN");
        self.create_service("N", "QN", &[names::POST_EVENT_NOTIFICATION]);
        let new = NewNotification {
            name: "n".to_string(),
            on: NotifyOn::Queue(queue),
            fan_in: false,
            events: vec![event.to_string()],
            service: "N".to_string(),
            broker_instance: "Current Database".to_string(),
        };
        self.run(self.a, |tx| tx.create_event_notification(&new));
        events
    }

    fn monitor(&self) -> Option<MonitorState> {
        self.core.monitors().first().map(|row| row.state)
    }

    fn notifications(&self) -> Vec<EventNotification> {
        let database = self.core.state().database(self.qb.database).unwrap();
        database.event_notifications.iter().map(|it| EventNotification::clone(it)).collect()
    }
}

fn open(core: &mut Core, database: &str, now: Timestamp) -> SessionId {
    let login = LoginInfo {
        login: Login::SA,
        database: Some(database.to_string()),
        host: "host".to_string(),
        application: "tests".to_string(),
    };
    core.open_session(&login, now).unwrap()
}

fn expect_done<T>(step: Result<Step<T>, SqlError>) -> T {
    match step {
        Ok(Step::Done(value)) => value,
        Ok(Step::Blocked(wait)) => panic!("blocked on {wait:?}"),
        Err(error) => panic!("{error}"),
    }
}

/// A dialog from `A` to `B` on the default contract, without encryption.
fn dialog() -> BeginDialog {
    BeginDialog {
        from_service: "A".to_string(),
        to_service: "B".to_string(),
        broker_instance: None,
        contract: None,
        related: None,
        lifetime: None,
        encryption: false,
    }
}

fn dialog_to(service: &str, instance: Option<&str>) -> BeginDialog {
    BeginDialog { to_service: service.to_string(), broker_instance: instance.map(Into::into), ..dialog() }
}

fn bytes(text: &str) -> Body {
    Body::Bytes(Bytes::copy_from_slice(text.as_bytes()))
}

fn all_from(queue: QueueKey) -> Receive {
    Receive { queue, top: None, filter: Filter::None, waiting: Waiting::No }
}

/// Bodies as text; `NULL` for missing ones.
fn bodies(rows: &[QueuedMessage]) -> Vec<String> {
    let text = |row: &QueuedMessage| match &row.body {
        Some(body) => String::from_utf8_lossy(body).into_owned(),
        None => "NULL".to_string(),
    };
    rows.iter().map(text).collect()
}

/// Last parts of the message type names.
fn types(rows: &[QueuedMessage]) -> Vec<&str> {
    rows.iter().map(|row| row.message_type_name.rsplit('/').next().unwrap()).collect()
}

/// The code in the body of an Error message.
fn code(row: &QueuedMessage) -> i32 {
    let text = utf16(row);
    let code = text.split("<Code>").nth(1).and_then(|rest| rest.split('<').next());
    code.unwrap_or_else(|| panic!("no code in {text}")).parse().unwrap()
}

fn utf16(row: &QueuedMessage) -> String {
    let body = row.body.as_ref().unwrap();
    let units: Vec<u16> = body.chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    String::from_utf16(&units).unwrap()
}

fn statuses(rows: &[QueuedMessage]) -> Vec<MessageStatus> {
    rows.iter().map(|row| row.status).collect()
}

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}
