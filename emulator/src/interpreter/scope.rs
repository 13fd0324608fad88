//! What one operation sees of its session: the [`Environment`] that expressions and statements are evaluated in.
//!
//! Assignments are kept apart until the operation is done, since a blocked one runs again from its beginning; table
//! variables are put back then. This file must not know what operations do.

use super::frame::{Frame, Variables};
use super::globals;
use super::state::SessionState;
use crate::engine::Core;
use crate::relational::{Environment, SessionFacts, TableVariable};
use crate::value::{SqlType, Timestamp, Value};

/// The environment of one attempt at an operation.
pub(super) struct Scope<'s> {
    state: &'s mut SessionState,
    variables: &'s mut Variables,
    at: usize,
    facts: SessionFacts,
    trancount: i32,
    assigned: Vec<(usize, Value)>,
    tables_before: Vec<(usize, TableVariable)>,
    identity: Option<i64>,
}

impl<'s> Scope<'s> {
    /// The environment for the step that `frame` stands at.
    pub(super) fn new(
        state: &'s mut SessionState,
        frame: &'s mut Frame,
        core: &Core,
        now: Timestamp,
    ) -> Scope<'s> {
        let facts = facts(state, core, now);
        let trancount = core.trancount(state.id);
        Scope {
            state,
            variables: &mut frame.variables,
            at: frame.at,
            facts,
            trancount,
            assigned: Vec::new(),
            tables_before: Vec::new(),
            identity: None,
        }
    }

    /// Ends the attempt: makes its assignments when the operation is done, else puts table variables back.
    pub(super) fn close(self, done: bool) {
        if !done {
            for (slot, table) in self.tables_before {
                if let Some(changed) = self.variables.table_mut(slot) {
                    *changed = table;
                }
            }
            return;
        }
        for (slot, value) in self.assigned {
            self.variables.set(slot, value);
        }
        if self.identity.is_some() {
            self.state.last_identity = self.identity;
            self.state.scope_identity = self.identity;
        }
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.variables.find(name, self.at)
    }
}

impl Environment for Scope<'_> {
    fn variable(&self, name: &str) -> Option<(&SqlType, &Value)> {
        let slot = self.find(name)?;
        let (ty, value) = self.variables.scalar(slot)?;
        let assigned = self.assigned.iter().rev().find(|(assigned, _)| *assigned == slot);
        Some((ty, assigned.map_or(value, |(_, value)| value)))
    }

    fn set_variable(&mut self, name: &str, value: Value) {
        let Some(slot) = self.find(name) else { return };
        match self.assigned.iter_mut().find(|(assigned, _)| *assigned == slot) {
            Some((_, earlier)) => *earlier = value,
            None => self.assigned.push((slot, value)),
        }
    }

    fn table_variable(&self, name: &str) -> Option<&TableVariable> {
        self.variables.table(self.find(name)?)
    }

    fn table_variable_mut(&mut self, name: &str) -> Option<&mut TableVariable> {
        let slot = self.find(name)?;
        if !self.tables_before.iter().any(|(saved, _)| *saved == slot) {
            let before = self.variables.table(slot)?.clone();
            self.tables_before.push((slot, before));
        }
        self.variables.table_mut(slot)
    }

    fn global(&self, name: &str) -> Option<(SqlType, Value)> {
        globals::value(name, self.state, &self.facts, self.trancount)
    }

    fn session(&self) -> &SessionFacts {
        &self.facts
    }

    fn identity_inserted(&mut self, value: i64) {
        self.identity = Some(value);
    }
}

fn facts(state: &SessionState, core: &Core, now: Timestamp) -> SessionFacts {
    let info = core.session(state.id);
    let principal = core.principal(state.id);
    let engine = core.state();
    let login = principal.login.and_then(|login| engine.logins.get(login));
    let database = engine.database(principal.database);
    let user = database.and_then(|database| database.users.get(principal.user));
    SessionFacts {
        login: login.map_or_else(String::new, |login| login.name.to_string()),
        original_login: info.login_name.to_string(),
        user: user.map_or_else(String::new, |user| user.name.to_string()),
        database: principal.database,
        database_name: database.map_or_else(String::new, |database| database.def.name.to_string()),
        spid: i32::from(info.spid),
        host: info.host.to_string(),
        application: info.application.to_string(),
        server_name: core.options().server_name.clone(),
        now,
        error: state.caught.last().cloned(),
        xact_state: core.xact_state(state.id),
        scope_identity: state.scope_identity,
        identity_insert: state.identity_insert,
        date_first: state.options.date_first,
    }
}
