//! Sessions: logging in, answering requests, and being closed. With or without a wire before them.
//!
//! This file must not know tokens or statements.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::engine::{LoginId, LoginInfo, SessionId};
use crate::error::SqlError;
use crate::instance::Instance;
use crate::interpreter::{Execution, SessionState, database_context, database_name};
use crate::output::{Change, Event, ResultSink};
use crate::request::{LoginHandler, LoginRequest, ProcedureCall, RequestHandler, TransactionRequest};

/// A session of an [`Instance`]. Dropping it closes it: its open transaction is rolled back.
pub struct Session {
    state: SessionState,
}

/// Opens sessions on an instance for clients that log in.
#[derive(Debug, Clone)]
pub struct Logins {
    instance: Arc<Instance>,
}

impl Logins {
    /// Logins of that instance.
    pub fn new(instance: Arc<Instance>) -> Logins {
        Logins { instance }
    }
}

impl LoginHandler for Logins {
    type Session = Session;

    async fn login(&self, request: LoginRequest, sink: &mut dyn ResultSink) -> Result<Session, SqlError> {
        let login = self.instance.call(|core| core.verify_login(&request.user, &request.password))?;
        let database = Some(request.database).filter(|name| !name.is_empty());
        let info = LoginInfo { login, database, host: request.host, application: request.application };
        let session = Session::open(&self.instance, &info)?;
        let database = session.database();
        sink.emit(Event::Change(Change::Database { old: "master".to_owned(), new: database.clone() }));
        sink.emit(Event::Info(database_context(&database)));
        Ok(session)
    }
}

impl Session {
    /// A session inside the process, without a client: `login` is trusted. `database` of `None` is the login's default.
    ///
    /// # Errors
    /// 4060 when the database cannot be opened.
    pub fn internal(
        instance: &Arc<Instance>,
        login: LoginId,
        database: Option<&str>,
        application: &str,
    ) -> Result<Session, SqlError> {
        let info = LoginInfo {
            login,
            database: database.map(str::to_owned),
            host: String::new(),
            application: application.to_owned(),
        };
        Session::open(instance, &info)
    }

    /// Its key in the engine.
    pub(crate) fn id(&self) -> SessionId {
        self.state.id
    }

    /// Name of the current database.
    pub fn database(&self) -> String {
        let id = self.state.id;
        self.state.instance.call(|core| database_name(core, id))
    }

    fn open(instance: &Arc<Instance>, info: &LoginInfo) -> Result<Session, SqlError> {
        let now = instance.clock().now();
        let (id, home) = instance.call(|core| {
            let id = core.open_session(info, now)?;
            Ok::<_, SqlError>((id, core.session(id).database))
        })?;
        Ok(Session { state: SessionState::new(Arc::clone(instance), id, home) })
    }
}

impl RequestHandler for Session {
    async fn batch(&mut self, text: String, sink: &mut dyn ResultSink, cancel: &CancellationToken) {
        Execution::new(&mut self.state, sink, cancel).batch(&text).await;
    }

    async fn call(&mut self, call: ProcedureCall, sink: &mut dyn ResultSink, cancel: &CancellationToken) {
        Execution::new(&mut self.state, sink, cancel).call(call).await;
    }

    async fn transaction(
        &mut self,
        request: TransactionRequest,
        sink: &mut dyn ResultSink,
        cancel: &CancellationToken,
    ) {
        Execution::new(&mut self.state, sink, cancel).transaction(request).await;
    }

    async fn reset(&mut self, keep_transaction: bool, sink: &mut dyn ResultSink) {
        let never = CancellationToken::new();
        sink.emit(Event::Change(Change::Reset));
        Execution::new(&mut self.state, sink, &never).reset_request(keep_transaction);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.state.instance.close(self.state.id);
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("id", &self.state.id).finish_non_exhaustive()
    }
}
