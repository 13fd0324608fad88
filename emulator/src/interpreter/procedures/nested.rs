//! A program run inside another: nesting level, what ends with it, and the transaction count on leaving.
//!
//! Settings, current database and impersonation made inside are undone on leaving. This file must not know what the
//! program is.

use crate::engine::{ObjectName, Principal};
use crate::error::SqlError;
use crate::interpreter::errors;
use crate::interpreter::execution::{Execution, Stop};
use crate::interpreter::frame::{Frame, FrameKind};
use crate::interpreter::options::Options;
use crate::interpreter::run::run;

/// Deepest nesting.
const DEEPEST: usize = 32;

/// What a session is like before a nested program runs.
struct Before {
    options: Options,
    database: String,
    impersonations: usize,
    in_procedure: bool,
    trancount: i32,
    scope_identity: Option<i64>,
}

impl Execution<'_> {
    /// Runs a frame inside the running one. The result is 266 when the transaction count differs afterwards.
    ///
    /// # Errors
    /// 217 when nested too deeply, and what the program raises or does not tell itself.
    pub(in crate::interpreter) async fn run_nested(
        &mut self,
        frame: &mut Frame,
    ) -> Result<Option<SqlError>, Stop> {
        if self.state.nest_level >= DEEPEST {
            return Err(errors::nested_too_deeply().into());
        }
        let before = self.enter(frame.kind);
        let outcome = run(self, frame).await;
        self.drop_temporary_tables(frame).await;
        let now = self.trancount();
        let trancount = before.trancount;
        self.leave(before)?;
        outcome?;
        Ok((now != trancount).then(|| errors::transaction_count_differs(trancount, now)))
    }

    /// Runs a frame as another principal, whose database becomes current without a word to the client. `fixed` means
    /// that the principal is that of EXECUTE AS; without it only the database counts.
    pub(super) async fn run_nested_as(
        &mut self,
        frame: &mut Frame,
        (principal, fixed): (Principal, bool),
    ) -> Result<Option<SqlError>, Stop> {
        let session = self.state.id;
        let own = self.state.instance.call(|core| core.principal(session));
        if fixed {
            self.state.instance.call(|core| core.push_context(session, principal));
        } else if principal.database != own.database {
            self.enter_database(principal)?;
        }
        let outcome = self.run_nested(frame).await;
        if fixed {
            self.engine(|core, call| core.revert(call))?;
        } else if principal.database != own.database {
            self.enter_database(own)?;
        }
        outcome
    }

    /// Drops the temporary tables a program made. One that is gone already, or whose transaction is doomed, needs no drop.
    async fn drop_temporary_tables(&mut self, frame: &mut Frame) {
        for table in std::mem::take(&mut frame.temporary_tables) {
            let name = ObjectName::plain(&table);
            let _ = self.operate(frame, |tx, _| tx.drop_table(&name)).await;
        }
    }

    fn enter(&mut self, kind: FrameKind) -> Before {
        let session = self.state.id;
        let before = Before {
            options: self.state.options.clone(),
            database: self.database_name(),
            impersonations: self.state.instance.call(|core| core.context_depth(session)),
            in_procedure: self.in_procedure,
            trancount: self.trancount(),
            scope_identity: self.state.scope_identity.take(),
        };
        self.state.nest_level += 1;
        self.in_procedure |= kind != FrameKind::Dynamic;
        before
    }

    fn leave(&mut self, before: Before) -> Result<(), Stop> {
        let session = self.state.id;
        self.in_procedure = before.in_procedure;
        self.state.nest_level -= 1;
        self.state.scope_identity = before.scope_identity;
        if self.state.options != before.options {
            self.state.options = before.options;
            self.apply_options();
        }
        if self.database_name() != before.database {
            self.change_database(&before.database)?;
        }
        while self.state.instance.call(|core| core.context_depth(session)) > before.impersonations {
            self.engine(|core, call| core.revert(call))?;
        }
        Ok(())
    }

    fn enter_database(&mut self, principal: Principal) -> Result<(), Stop> {
        self.engine(|core, call| {
            let name = core.state().database(principal.database).map(|database| database.def.name.clone());
            core.use_database(call, &name.unwrap_or_default()).map(drop)
        })
    }
}
