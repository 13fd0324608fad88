//! A server on a manual clock, and sessions whose answers read like a transcript.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::clock::{Clock, ManualClock};
use crate::engine::{CoreOptions, IdSource, Login, Secret};
use crate::instance::Instance;
use crate::output::{Change, Collected, Event};
use crate::relational::convert;
use crate::request::{CallParameter, ProcedureCall, ProcedureName, RequestHandler, TransactionRequest};
use crate::session::Session;
use crate::value::{Length, SqlType, Timestamp, Value};

/// Noon of a day, so that tests may subtract hours.
const START: Timestamp = Timestamp(639_000 * 864_000_000_000 + 432_000_000_000);

/// A running server and the hands of its clock.
pub(super) struct Server {
    pub(super) instance: Arc<Instance>,
    pub(super) clock: ManualClock,
}

/// A session of the server.
pub(super) struct Client {
    pub(super) session: Session,
    pub(super) cancel: CancellationToken,
}

/// Uuids in the order of their making.
struct Counting(u128);

impl IdSource for Counting {
    fn uuid(&mut self) -> Uuid {
        self.0 += 1;
        Uuid::from_u128(0x1000_0000_0000_0000_0000_0000_0000_0000 + self.0)
    }
}

impl Server {
    pub(super) fn start() -> Server {
        let (clock, hands) = Clock::manual(START);
        let options = CoreOptions { sa_password: Some(Secret::new("secret")), ..CoreOptions::default() };
        Server { instance: Instance::new(options, clock, Box::new(Counting(0))), clock: hands }
    }

    /// A session of sa in a database.
    pub(super) fn client_in(&self, database: &str) -> Client {
        let session = Session::internal(&self.instance, Login::SA, Some(database), "test").unwrap();
        Client { session, cancel: CancellationToken::new() }
    }

    pub(super) fn client(&self) -> Client {
        self.client_in("master")
    }
}

impl Client {
    /// Everything a batch yields.
    pub(super) async fn events(&mut self, batch: &str) -> Vec<Event> {
        let mut sink = Collected::default();
        self.session.batch(batch.to_owned(), &mut sink, &self.cancel).await;
        sink.events
    }

    /// What a batch answers, a line each: rows as `a|b`, errors as `ERR n`, notices as `INFO n text`.
    pub(super) async fn run(&mut self, batch: &str) -> Vec<String> {
        self.events(batch).await.iter().filter_map(line).collect()
    }

    /// A remote call's events.
    pub(super) async fn call(
        &mut self,
        procedure: ProcedureName,
        parameters: Vec<CallParameter>,
    ) -> Vec<Event> {
        let mut sink = Collected::default();
        self.session.call(ProcedureCall { procedure, parameters }, &mut sink, &self.cancel).await;
        sink.events
    }

    /// A transaction request's events.
    pub(super) async fn transaction(&mut self, request: TransactionRequest) -> Vec<Event> {
        let mut sink = Collected::default();
        self.session.transaction(request, &mut sink, &self.cancel).await;
        sink.events
    }
}

/// One batch on a server of its own.
pub(super) async fn run(batch: &str) -> Vec<String> {
    Server::start().client().run(batch).await
}

/// A parameter as a client sends it.
pub(super) fn parameter(name: &str, value: Value, output: bool) -> CallParameter {
    let ty = match value {
        Value::Int(_) => SqlType::Int,
        _ => SqlType::NVarChar(Length::Max),
    };
    CallParameter { name: name.to_owned(), output, default: false, ty, value }
}

/// The line an event reads as, if it is an answer.
pub(super) fn line(event: &Event) -> Option<String> {
    match event {
        Event::Row(row) => Some(row.iter().map(shown).collect::<Vec<_>>().join("|")),
        Event::Error(error) => Some(format!("ERR {}", error.number)),
        Event::Info(notice) => Some(format!("INFO {} {}", notice.number, notice.message)),
        Event::ReturnStatus(status) if *status != 0 => Some(format!("STATUS {status}")),
        Event::OutputParameter { name, value, .. } => Some(format!("OUTPUT {name}={}", shown(value))),
        Event::Change(change) => Some(changed(change)),
        _ => None,
    }
}

fn changed(change: &Change) -> String {
    match change {
        Change::Database { new, .. } => format!("DATABASE {new}"),
        Change::TransactionBegun(_) => "BEGUN".to_owned(),
        Change::TransactionCommitted(_) => "COMMITTED".to_owned(),
        Change::TransactionRolledBack(_) => "ROLLED BACK".to_owned(),
        Change::Reset => "RESET".to_owned(),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Bit(bit) => u8::from(*bit).to_string(),
        Value::Binary(bytes) => bytes.iter().fold("0x".to_owned(), |text, byte| format!("{text}{byte:02X}")),
        Value::Xml(text) => text.to_string(),
        other => match convert(other.clone(), SqlType::NVarChar(Length::Max), None, true) {
            Ok(Value::Text(text)) => text.to_string(),
            other => format!("{other:?}"),
        },
    }
}
