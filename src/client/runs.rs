//! A table of what became of handler processes (`sql/13-runs.sql`), for looking at with T-SQL: the activator writes it where
//! it is told to.

use std::time::Duration;

use uuid::Uuid;

use super::broker::Broker;
use super::error::{Error, Result};
use super::statements;
use super::values::SqlDateTime;

/// A handler process that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct HandlerRun {
    /// Names the launch for ever; a run is kept once.
    pub launch_id: Uuid,
    /// The application it was launched for.
    pub app: String,
    /// The machine it ran on.
    pub host: String,
    /// Its process id, if it came to run.
    pub pid: Option<i32>,
    /// When it ended, in UTC.
    pub ended: SqlDateTime,
    /// How long it ran, if that is known.
    pub seconds: Option<f64>,
    /// Its exit code; `None` if a signal ended it, or if nobody can tell.
    pub exit_code: Option<i32>,
    /// The signal that ended it, if one did.
    pub signal: Option<i32>,
    /// The last lines it wrote on standard error.
    pub stderr_tail: String,
}

impl Broker {
    /// Keeps a run in the table `ssbroker.runs` of the database, unless it is kept already: so it can be called again when it is
    /// not known whether it happened.
    ///
    /// # Errors
    /// `ObjectMissing` without the table of `sql/13-runs.sql`; the server's otherwise. Dropping the future leaves it open
    /// whether the run is kept.
    pub async fn keep_run(&self, run: &HandlerRun) -> Result<()> {
        let mut session = self.session().await?;
        session.execute(&statements::keep_run(run)).await.map(drop).map_err(Error::into_commit_outcome)
    }

    /// Forgets runs that ended longer ago than this, at most so many; returns how many. Call it again until it returns less.
    ///
    /// # Errors
    /// As [`keep_run`](Self::keep_run).
    pub async fn forget_runs(&self, older_than: Duration, most: u32) -> Result<u64> {
        let mut session = self.session().await?;
        let results = session.execute(&statements::forget_runs(older_than, most)).await;
        Ok(results.map_err(Error::into_commit_outcome)?.row_counts().iter().sum())
    }
}
