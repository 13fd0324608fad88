//! A session that does what the text of a batch says, and writes down what it was asked.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::error::SqlError;
use crate::output::{Change, Command, Event, ResultSink};
use crate::request::{LoginHandler, LoginRequest, ProcedureCall, RequestHandler, TransactionRequest};
use crate::value::{Column, Length, SqlType, Value};

/// Opens scripted sessions for `sa` with the password `secret`.
#[derive(Debug, Default)]
pub(super) struct ScriptedLogins {
    pub(super) seen: Seen,
}

/// What the sessions were asked, in order; tests may wait for it.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    lines: Arc<Mutex<Vec<String>>>,
    changed: Arc<watch::Sender<usize>>,
}

impl Default for Seen {
    fn default() -> Seen {
        Seen { lines: Arc::default(), changed: Arc::new(watch::Sender::new(0)) }
    }
}

impl Seen {
    pub(super) fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    pub(super) async fn wait_for(&self, line: &str) {
        let mut changed = self.changed.subscribe();
        changed.wait_for(|_| self.lines().iter().any(|seen| seen == line)).await.unwrap();
    }

    fn add(&self, line: impl Into<String>) {
        self.lines.lock().unwrap().push(line.into());
        self.changed.send_modify(|count| *count += 1);
    }
}

impl LoginHandler for ScriptedLogins {
    type Session = ScriptedSession;

    async fn login(
        &self,
        request: LoginRequest,
        sink: &mut dyn ResultSink,
    ) -> Result<ScriptedSession, SqlError> {
        self.seen.add(format!("login {} {}", request.user, request.database));
        if request.password != "secret" {
            return Err(SqlError::with_severity(
                18456,
                14,
                format!("Login failed for user '{}'.", request.user),
            ));
        }
        sink.emit(Event::Change(Change::Database { old: "master".into(), new: "db1".into() }));
        Ok(ScriptedSession { seen: self.seen.clone() })
    }
}

/// The session; its end is written down, too.
#[derive(Debug)]
pub(super) struct ScriptedSession {
    seen: Seen,
}

impl Drop for ScriptedSession {
    fn drop(&mut self) {
        self.seen.add("dropped");
    }
}

impl RequestHandler for ScriptedSession {
    async fn batch(&mut self, text: String, sink: &mut dyn ResultSink, cancel: &CancellationToken) {
        self.seen.add(format!("batch {}", text.get(..20).unwrap_or(&text)));
        match text.split_whitespace().collect::<Vec<_>>()[..] {
            ["rows", count] => self.rows(count.parse().unwrap(), sink, cancel).await,
            ["body", length] => body(length.parse().unwrap(), sink).await,
            ["wait"] => {
                cancel.cancelled().await;
                self.seen.add("cancelled");
            }
            ["notice"] => {
                sink.emit(Event::Info(SqlError::with_severity(50000, 0, "on its way")));
                sink.flush_all().await.unwrap();
                cancel.cancelled().await;
            }
            ["fatal"] => sink.emit(Event::Error(SqlError::with_severity(50000, 20, "over"))),
            ["error"] => sink.emit(Event::Error(SqlError::new(51234, "boom"))),
            _ => sink.emit(statement_done(None)),
        }
    }

    async fn call(&mut self, call: ProcedureCall, sink: &mut dyn ResultSink, _cancel: &CancellationToken) {
        self.seen.add(format!("call {:?}", call.procedure));
        for (ordinal, parameter) in (0..).zip(call.parameters) {
            let (name, ty, value) = (parameter.name, parameter.ty, parameter.value);
            sink.emit(Event::OutputParameter { ordinal, name, ty, value });
        }
    }

    async fn transaction(
        &mut self,
        request: TransactionRequest,
        sink: &mut dyn ResultSink,
        _cancel: &CancellationToken,
    ) {
        self.seen.add(format!("{request:?}"));
        if matches!(request, TransactionRequest::Commit { .. }) {
            sink.emit(Event::Change(Change::TransactionCommitted(1)));
        }
        sink.emit(Event::Change(Change::TransactionBegun(2)));
    }

    async fn reset(&mut self, keep_transaction: bool, sink: &mut dyn ResultSink) {
        self.seen.add(format!("reset keep={keep_transaction}"));
        sink.emit(Event::Change(Change::Reset));
    }
}

impl ScriptedSession {
    async fn rows(&self, count: usize, sink: &mut dyn ResultSink, cancel: &CancellationToken) {
        sink.emit(Event::Columns([Column::new("n", SqlType::Int)].as_slice().into()));
        for number in 0..count {
            sink.emit(Event::Row(vec![Value::Int(number as i32)]));
            if sink.is_full() && (sink.flush().await.is_err() || cancel.is_cancelled()) {
                self.seen.add("gave up");
                return;
            }
        }
        sink.emit(statement_done(Some(count as u64)));
    }
}

async fn body(length: usize, sink: &mut dyn ResultSink) {
    let column = Column::new("body", SqlType::VarBinary(Length::Max));
    sink.emit(Event::Columns([column].as_slice().into()));
    sink.emit(Event::Row(vec![Value::Binary(Bytes::from(vec![7; length]))]));
    sink.flush().await.unwrap();
    sink.emit(statement_done(Some(1)));
}

fn statement_done(count: Option<u64>) -> Event {
    Event::StatementDone { command: Command::Select, count, in_procedure: false, failed: false }
}
