//! Sessions: who is connected, in which database, with which settings, and as whom it acts.
//!
//! A session needs no socket: activated procedures have one too. This file must not know how a client logs in or what
//! a session runs.

use std::sync::Arc;
use std::time::Duration;

use crate::error::SqlError;
use crate::request::IsolationLevel;
use crate::value::Timestamp;

use super::core::{Call, Core, Wait, WaitOn};
use super::definitions::{Login, UserAccess};
use super::errors;
use super::hooks;
use super::ids::{DatabaseId, LoginId, SessionId, TxnId};
use super::security;
use super::state::DatabaseState;
use super::tx::Principal;

/// First `@@SPID` of user sessions; lower ones belong to the server.
const FIRST_SPID: i16 = 51;

/// What a new session says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginInfo {
    /// The login, verified before.
    pub login: LoginId,
    /// Database asked for; `None` means the login's default.
    pub database: Option<String>,
    /// Host name of the client.
    pub host: String,
    /// Name of the client program.
    pub application: String,
}

/// A session as views and functions show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionInfo {
    /// `@@SPID`
    pub spid: i16,
    /// The login it was opened with (`ORIGINAL_LOGIN()`).
    pub login: LoginId,
    /// That login's name.
    pub login_name: Arc<str>,
    /// The current database.
    pub database: DatabaseId,
    /// `SET LOCK_TIMEOUT`; `None` waits without limit.
    pub lock_timeout: Option<Duration>,
    /// Transaction isolation level.
    pub isolation: IsolationLevel,
    /// `HOST_NAME()`
    pub host: Arc<str>,
    /// `APP_NAME()`
    pub application: Arc<str>,
    /// When it was opened.
    pub login_time: Timestamp,
}

/// What was decided about a session while it did not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Its transaction lost a deadlock.
    DeadlockVictim,
    /// It was killed; it answers nothing but 596 from now on.
    Killed,
}

/// A session and what the engine remembers for it.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) info: SessionInfo,
    pub(super) trancount: i32,
    /// What `trancount` was when the transaction lost a deadlock.
    pub(super) lost_trancount: i32,
    /// The explicit transaction, or the autocommit one of a blocked statement.
    pub(super) transaction: Option<TxnId>,
    pub(super) wait: Option<Wait>,
    pub(super) verdict: Option<Verdict>,
    /// Under which number it owns application locks itself.
    pub(super) lock_owner: Option<TxnId>,
    /// As whom it acts; the last one counts, the first one is its own.
    pub(super) contexts: Vec<Principal>,
}

impl Session {
    /// As whom the session acts now.
    pub(super) fn principal(&self) -> Principal {
        *self.contexts.last().expect("the first context is never popped")
    }
}

impl Core {
    /// Opens a session for a verified login.
    ///
    /// # Errors
    /// 4060 when the database does not exist or cannot be entered by this login.
    pub fn open_session(&mut self, login: &LoginInfo, now: Timestamp) -> Result<SessionId, SqlError> {
        let Some(known) = self.state.logins.get(login.login).cloned() else {
            return Err(errors::login_failed(""));
        };
        let name =
            login.database.as_deref().filter(|name| !name.is_empty()).unwrap_or(&known.default_database);
        let database = self.state.database_by_name(name).ok_or_else(|| errors::cannot_open_database(name))?;
        let database = database.def.id;
        let principal = self
            .enter(Some(known.id), &known.name, database, None)
            .map_err(|_| errors::cannot_open_database(name))?;
        let id = self.new_session_id();
        let info = SessionInfo {
            spid: self.free_spid(),
            login: known.id,
            login_name: Arc::clone(&known.name),
            database,
            lock_timeout: None,
            isolation: IsolationLevel::ReadCommitted,
            host: login.host.as_str().into(),
            application: login.application.as_str().into(),
            login_time: now,
        };
        let contexts = vec![principal];
        let session = Session {
            info,
            trancount: 0,
            lost_trancount: 0,
            transaction: None,
            wait: None,
            verdict: None,
            lock_owner: None,
            contexts,
        };
        self.sessions.insert(id, session);
        Ok(id)
    }

    /// Checks a login's password.
    ///
    /// # Errors
    /// 18456, whatever was wrong.
    pub fn verify_login(&self, user: &str, password: &str) -> Result<LoginId, SqlError> {
        let login = self.state.logins.find(&super::ids::FoldedName::new(user));
        let login = login.filter(|login| login.password.matches(password) && !login.disabled);
        login.map(|login| login.id).ok_or_else(|| errors::login_failed(user))
    }

    /// Ends a session. What it had open is rolled back, which counts for the poison rule (U-35).
    pub fn close_session(&mut self, session: SessionId, now: Timestamp) {
        self.abandon_transaction(&Call { session, now });
        self.release_session_locks(session);
        self.drop_temporary_tables(session, now);
        let Some(closed) = self.sessions.remove(&session) else { return };
        self.wake_waiting(&WaitOn::DatabaseInUse(closed.info.database));
        self.collect_wakes();
    }

    /// Resets a session for its next user: rolls back unless `keep_transaction`, ends impersonation, restores settings
    /// and the database it was opened in.
    ///
    /// # Errors
    /// 596 when it was killed; 4060 when its database cannot be entered any more.
    pub fn reset_session(
        &mut self,
        call: &Call,
        home: DatabaseId,
        keep_transaction: bool,
    ) -> Result<(), SqlError> {
        self.answer_verdict(call)?;
        if keep_transaction {
            self.cancel_wait(call.session);
        } else {
            self.abandon_transaction(call);
        }
        self.release_session_locks(call.session);
        self.drop_temporary_tables(call.session, call.now);
        let session = self.session_mut(call.session);
        session.contexts.truncate(1);
        session.info.lock_timeout = None;
        session.info.isolation = IsolationLevel::ReadCommitted;
        let (login, login_name) = (session.info.login, Arc::clone(&session.info.login_name));
        let principal = self
            .enter(Some(login), &login_name, home, Some(call.session))
            .map_err(|_| errors::cannot_open_database(&self.database_name(home)))?;
        self.move_to(call.session, principal);
        Ok(())
    }

    /// A session that is open.
    pub fn session(&self, id: SessionId) -> &SessionInfo {
        &self.sessions.get(&id).expect("the owner of a session closes it last").info
    }

    /// All open sessions in order of their opening.
    pub fn sessions(&self) -> impl Iterator<Item = (SessionId, &SessionInfo)> {
        self.sessions.iter().map(|(id, session)| (*id, &session.info))
    }

    /// Whether the session was killed: its connection is to be closed.
    pub fn is_killed(&self, session: SessionId) -> bool {
        self.sessions.get(&session).is_some_and(|session| session.verdict == Some(Verdict::Killed))
    }

    /// As whom the session acts.
    pub fn principal(&self, session: SessionId) -> Principal {
        self.sessions.get(&session).expect("the owner of a session closes it last").principal()
    }

    /// `SET LOCK_TIMEOUT`; `None` waits without limit.
    pub fn set_lock_timeout(&mut self, session: SessionId, timeout: Option<Duration>) {
        self.session_mut(session).info.lock_timeout = timeout;
    }

    /// `SET TRANSACTION ISOLATION LEVEL`
    pub fn set_isolation(&mut self, session: SessionId, isolation: IsolationLevel) {
        self.session_mut(session).info.isolation = isolation;
    }

    /// USE: enters another database; gives its exact name.
    ///
    /// # Errors
    /// 911 when it does not exist; 916 when the principal has no user there; 924 when it is taken by a single user.
    pub fn use_database(&mut self, call: &Call, name: &str) -> Result<Arc<str>, SqlError> {
        self.answer_verdict(call)?;
        let found = self.state.database_by_name(name).ok_or_else(|| errors::no_database(name))?;
        let (database, exact) = (found.def.id, Arc::clone(&found.def.name));
        let session = self.session_mut(call.session);
        let own = session.principal();
        if own.database == database {
            return Ok(exact);
        }
        let login = own.login.filter(|_| !own.confined);
        let login_name = Arc::clone(&session.info.login_name);
        let principal = self.enter(login, &login_name, database, Some(call.session))?;
        self.move_to(call.session, principal);
        Ok(exact)
    }

    /// Ends another session by its `@@SPID`.
    ///
    /// # Errors
    /// 6104 for the caller's own; 6106 when there is none; 15247 for others than sysadmins.
    pub fn kill(&mut self, call: &Call, spid: i16) -> Result<(), SqlError> {
        self.answer_verdict(call)?;
        if !security::is_sysadmin(&self.state, &self.principal(call.session)) {
            return Err(errors::action_denied());
        }
        let found = self.sessions.iter().find(|(_, session)| session.info.spid == spid).map(|(id, _)| *id);
        match found {
            Some(own) if own == call.session => Err(errors::cannot_kill_self()),
            Some(other) => {
                self.kill_session(other, call.now);
                self.collect_wakes();
                Ok(())
            }
            None => Err(errors::no_process(spid)),
        }
    }

    /// Rolls a session back and lets it answer 596 from now on. It no longer counts as being in its database.
    pub(super) fn kill_session(&mut self, session: SessionId, now: Timestamp) {
        self.abandon_transaction(&Call { session, now });
        self.release_session_locks(session);
        hooks::cancel_queue_wait(self, session);
        let Some(killed) = self.sessions.get_mut(&session) else { return };
        killed.verdict = Some(Verdict::Killed);
        let database = killed.info.database;
        self.wake(session);
        self.wake_waiting(&WaitOn::DatabaseInUse(database));
    }

    /// Living sessions in a database, apart from `except`.
    pub(super) fn others_in(&self, database: DatabaseId, except: SessionId) -> Vec<SessionId> {
        let here = self.sessions.iter().filter(|(id, session)| {
            session.info.database == database && **id != except && session.verdict != Some(Verdict::Killed)
        });
        here.map(|(id, _)| *id).collect()
    }

    pub(super) fn session_mut(&mut self, session: SessionId) -> &mut Session {
        self.sessions.get_mut(&session).expect("the owner of a session closes it last")
    }

    /// The principal a login is in a database, if it may enter.
    fn enter(
        &self,
        login: Option<LoginId>,
        login_name: &str,
        database: DatabaseId,
        session: Option<SessionId>,
    ) -> Result<Principal, SqlError> {
        let state = self.state.database(database).ok_or_else(|| errors::no_database(""))?;
        let denied = || errors::no_database_access(login_name, &state.def.name);
        let login = login.ok_or_else(denied)?;
        let user = security::user_of_login(&self.state, database, login).ok_or_else(denied)?;
        let principal = Principal { login: Some(login), database, user, confined: false };
        self.check_user_access(state, &principal, session)?;
        Ok(principal)
    }

    fn check_user_access(
        &self,
        database: &DatabaseState,
        principal: &Principal,
        session: Option<SessionId>,
    ) -> Result<(), SqlError> {
        let id = database.def.id;
        match database.def.user_access {
            UserAccess::Multi => Ok(()),
            UserAccess::Single if self.others_in(id, session.unwrap_or(SessionId::SYSTEM)).is_empty() => {
                Ok(())
            }
            UserAccess::Single => Err(errors::single_user(&database.def.name)),
            UserAccess::Restricted if security::is_db_owner(&self.state, principal) => Ok(()),
            UserAccess::Restricted => Err(errors::no_database_access("", &database.def.name)),
        }
    }

    fn move_to(&mut self, session: SessionId, principal: Principal) {
        let entry = self.session_mut(session);
        let left = entry.info.database;
        entry.info.database = principal.database;
        if let Some(context) = entry.contexts.last_mut() {
            *context = principal;
        }
        self.wake_waiting(&WaitOn::DatabaseInUse(left));
    }

    fn database_name(&self, database: DatabaseId) -> String {
        self.state.database(database).map_or_else(String::new, |database| database.def.name.to_string())
    }

    fn free_spid(&self) -> i16 {
        let taken: std::collections::BTreeSet<i16> = self.sessions.values().map(|it| it.info.spid).collect();
        (FIRST_SPID..i16::MAX).find(|spid| !taken.contains(spid)).unwrap_or(i16::MAX)
    }
}

/// Impersonation.
impl Core {
    /// EXECUTE AS LOGIN: acts as another login until [`Core::revert`].
    ///
    /// # Errors
    /// 15406 when it does not exist, is disabled, or IMPERSONATE is missing.
    pub fn execute_as_login(&mut self, call: &Call, name: &str) -> Result<(), SqlError> {
        self.answer_verdict(call)?;
        let refused = || errors::cannot_impersonate("server", name);
        let login: Arc<Login> =
            self.state.logins.find(&super::ids::FoldedName::new(name)).cloned().ok_or_else(refused)?;
        let own = self.principal(call.session);
        if !security::may_impersonate_login(&self.state, &own, login.id) {
            return Err(refused());
        }
        let user = security::user_of_login(&self.state, own.database, login.id).ok_or_else(refused)?;
        let principal = Principal { login: Some(login.id), database: own.database, user, confined: false };
        self.session_mut(call.session).contexts.push(principal);
        Ok(())
    }

    /// EXECUTE AS USER: acts as another user of the current database until [`Core::revert`].
    ///
    /// # Errors
    /// 15517 when it does not exist, is a role, or IMPERSONATE is missing.
    pub fn execute_as_user(&mut self, call: &Call, name: &str) -> Result<(), SqlError> {
        self.answer_verdict(call)?;
        let own = self.principal(call.session);
        let refused = || errors::cannot_impersonate("database", name);
        let principal = security::user_to_impersonate(&self.state, &own, name).ok_or_else(refused)?;
        if !security::may_impersonate_user(&self.state, &own, principal.user) {
            return Err(refused());
        }
        self.push_context(call.session, principal);
        Ok(())
    }

    /// Acts as a user without asking for IMPERSONATE: modules and activation with EXECUTE AS, whose right was checked
    /// when they were made.
    pub fn push_context(&mut self, session: SessionId, principal: Principal) {
        self.session_mut(session).contexts.push(Principal { confined: true, ..principal });
    }

    /// How deep the impersonation is: 0 when the session acts as itself.
    pub fn context_depth(&self, session: SessionId) -> usize {
        self.sessions.get(&session).map_or(0, |session| session.contexts.len() - 1)
    }

    /// REVERT: ends the last impersonation; without one nothing happens.
    ///
    /// # Errors
    /// 15199 when the session has moved to another database since.
    pub fn revert(&mut self, call: &Call) -> Result<(), SqlError> {
        self.answer_verdict(call)?;
        let session = self.session_mut(call.session);
        let [.., outer, inner] = session.contexts.as_slice() else { return Ok(()) };
        let home = outer.database;
        if inner.database != home {
            return Err(errors::revert_elsewhere(&self.database_name(home)));
        }
        session.contexts.pop();
        Ok(())
    }
}

#[cfg(test)]
#[path = "sessions_tests.rs"]
mod tests;
