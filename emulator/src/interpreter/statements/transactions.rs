//! BEGIN, COMMIT, ROLLBACK and SAVE TRANSACTION, as statements and as requests of a client's transaction manager.
//!
//! This file must not know what a transaction holds.

use crate::error::SqlError;
use crate::faults::Point;
use crate::interpreter::execution::{Done, Execution, Stop};
use crate::interpreter::frame::Frame;
use crate::interpreter::operands::variable_text;
use crate::tsql::ast::statement::{TransactionName, TransactionStatement};

/// Runs a transaction statement. Names of BEGIN and COMMIT mean nothing; ROLLBACK takes the name of a savepoint or of
/// the outermost transaction.
pub(super) async fn run(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    statement: &TransactionStatement,
) -> Result<Done, Stop> {
    match statement {
        TransactionStatement::Begin { distributed: true, .. } => {
            return Err(SqlError::unsupported("BEGIN DISTRIBUTED TRANSACTION").into());
        }
        TransactionStatement::Begin { name, .. } => {
            let name = spelled(frame, name.as_ref())?;
            execution.begin_transaction(name)?;
        }
        TransactionStatement::Commit { .. } => execution.commit_transaction().await?,
        TransactionStatement::Rollback { name } => {
            let name = spelled(frame, name.as_ref())?;
            execution.roll_back_transaction(name.as_deref())?;
        }
        TransactionStatement::Save(name) => {
            let name = spelled(frame, Some(name))?.unwrap_or_default();
            execution.save_transaction(&name)?;
        }
    }
    Ok(Done::PLAIN)
}

fn spelled(frame: &Frame, name: Option<&TransactionName>) -> Result<Option<String>, Stop> {
    match name {
        None => Ok(None),
        Some(TransactionName::Name(name)) => Ok(Some(name.as_str().to_owned())),
        Some(TransactionName::Variable(variable)) => Ok(variable_text(frame, variable)?),
    }
}

impl Execution<'_> {
    /// Begins a transaction, or counts one level up.
    pub(in crate::interpreter) fn begin_transaction(&mut self, name: Option<String>) -> Result<(), Stop> {
        if let Some(descriptor) = self.engine(|core, call| core.begin(call))? {
            self.state.transaction_name = name;
            self.transaction_began(descriptor);
        }
        Ok(())
    }

    /// Counts one level down, and commits at the outermost.
    pub(in crate::interpreter) async fn commit_transaction(&mut self) -> Result<(), Stop> {
        let aftermath =
            if self.trancount() == 1 { self.strike(Point::Commit, "COMMIT").await? } else { None };
        if let Some(descriptor) = self.engine(|core, call| core.commit(call))? {
            self.transaction_committed(descriptor);
        }
        self.follow_up(aftermath).await
    }

    /// Rolls back everything, or to the savepoint of that name.
    pub(in crate::interpreter) fn roll_back_transaction(&mut self, name: Option<&str>) -> Result<(), Stop> {
        let whole = name.is_none_or(|name| self.state.transaction_name.as_deref() == Some(name));
        match name.filter(|_| !whole) {
            Some(savepoint) => self.engine(|core, call| core.rollback_to(call, savepoint)),
            None => {
                if let Some(descriptor) = self.engine(|core, call| core.rollback(call))? {
                    self.transaction_rolled_back(descriptor);
                }
                Ok(())
            }
        }
    }

    /// Sets a savepoint.
    pub(in crate::interpreter) fn save_transaction(&mut self, name: &str) -> Result<(), Stop> {
        self.engine(|core, call| core.save(call, name))
    }
}
