//! What the engine's tests share: an instance with predictable ids, sessions in it, short forms of calls.

use uuid::Uuid;

use crate::error::SqlError;
use crate::value::Timestamp;

use super::core::{Call, Core, CoreOptions, Op, Step};
use super::definitions::{Login, Secret};
use super::ids::{IdSource, LoginId, SessionId};
use super::sessions::LoginInfo;
use super::tx::Tx;

/// The moment tests start at.
pub(super) const START: Timestamp = Timestamp::from_unix_ticks(17_600_000_000_000_000);

/// Uuids 1, 2, 3, ...
#[derive(Debug, Default)]
pub(super) struct CountingIds(u128);

impl IdSource for CountingIds {
    fn uuid(&mut self) -> Uuid {
        self.0 += 1;
        Uuid::from_u128(self.0)
    }
}

/// An instance with the database `db` (id 5), owned by sa, whose password is `sa`.
pub(super) fn core() -> Core {
    let options = CoreOptions { sa_password: Some(Secret::new("sa")), ..CoreOptions::default() };
    let mut core = Core::new(options, Box::new(CountingIds::default()), START);
    let session = open(&mut core, Login::SA, "master").unwrap();
    done(&mut core, session, |tx| tx.create_database("db"));
    core.close_session(session, START);
    core
}

/// A call of that session at the start of time.
pub(super) fn call(session: SessionId) -> Call {
    Call { session, now: START }
}

/// A session of sa in `db`.
pub(super) fn session(core: &mut Core) -> SessionId {
    open(core, Login::SA, "db").unwrap()
}

/// A session of that login in a database.
pub(super) fn open(core: &mut Core, login: LoginId, database: &str) -> Result<SessionId, SqlError> {
    let info = LoginInfo {
        login,
        database: Some(database.to_string()),
        host: "host".to_string(),
        application: "test".to_string(),
    };
    core.open_session(&info, START)
}

/// Runs a statement that must run to its end.
pub(super) fn done<T>(core: &mut Core, session: SessionId, f: impl FnOnce(&mut Tx<'_>) -> Op<T>) -> T {
    match core.statement(&call(session), f) {
        Ok(Step::Done(value)) => value,
        Ok(Step::Blocked(wait)) => panic!("the statement blocked on {:?}", wait.on),
        Err(error) => panic!("the statement failed: {error}"),
    }
}

/// Runs a statement that must fail; gives the number of its error.
pub(super) fn fails<T>(core: &mut Core, session: SessionId, f: impl FnOnce(&mut Tx<'_>) -> Op<T>) -> i32 {
    match core.statement(&call(session), f) {
        Ok(Step::Done(_)) => panic!("the statement did not fail"),
        Ok(Step::Blocked(wait)) => panic!("the statement blocked on {:?}", wait.on),
        Err(error) => error.number,
    }
}

/// Whether a statement blocks; it must not fail.
pub(super) fn blocks<T>(core: &mut Core, session: SessionId, f: impl FnOnce(&mut Tx<'_>) -> Op<T>) -> bool {
    match core.statement(&call(session), f) {
        Ok(step) => matches!(step, Step::Blocked(_)),
        Err(error) => panic!("the statement failed: {error}"),
    }
}
