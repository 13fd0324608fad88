//! The requests of set-up: read the catalog, or create what is missing in one transaction under an application lock.

use super::super::broker::Broker;
use super::super::error::{Error, ErrorKind, Result};
use super::super::session::Session;
use super::super::statements::{objects, tables as texts};
use super::catalog::Catalog;
use super::compare::compare;
use super::declaration::Topology;
use super::tables::{Columns, Definition, Table};
use super::verification::{Finding, Verification};

impl Broker {
    /// Compares the database with a declaration. Reads only.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] for a faulty declaration; the server's. What the login may not see (VIEW DEFINITION) counts
    /// as missing. Cancelling is safe.
    pub async fn verify_objects(&self, topology: &Topology) -> Result<Verification> {
        topology.check()?;
        let mut session = self.session().await?;
        verify_objects(&mut session, topology).await
    }

    /// Creates what a declaration says and the database lacks, and verifies the rest.
    ///
    /// One transaction, under an application lock, so that several programs may start at once: all of it or nothing.
    /// Doing it again changes nothing. Objects that exist in another shape are reported in the answer with the statement
    /// that mends them, and left alone; so is a disabled broker.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] for a faulty declaration; [`ErrorKind::Transient`] when another program held the lock too
    /// long; [`ErrorKind::PermissionDenied`] and whatever else the server answers, and then nothing was created;
    /// [`ErrorKind::CommitUnknown`] when the answer was lost.
    ///
    /// # Cancellation
    /// Dropping the future gives up the connection, and the server rolls back, unless the commit was on its way.
    pub async fn ensure_objects(&self, topology: &Topology) -> Result<Verification> {
        topology.check()?;
        let mut session = self.session().await?;
        begin_locked(&mut session).await?;
        let outcome = ensure_objects(&mut session, topology).await;
        finish(&mut session, outcome).await
    }

    /// Compares the library's own tables with what this version needs. Reads only.
    ///
    /// # Errors
    /// The server's. Cancelling is safe.
    pub async fn verify_tables(&self, tables: &[Table]) -> Result<Verification> {
        let mut session = self.session().await?;
        verify_tables(&mut session, tables).await
    }

    /// Runs the scripts of `sql/` that make the library's own tables, where a table is missing, and verifies the columns
    /// of the others. One transaction, under the same lock as [`ensure_objects`](Self::ensure_objects).
    ///
    /// # Errors
    /// As [`ensure_objects`](Self::ensure_objects). Needs CREATE TABLE, and CREATE SCHEMA the first time.
    ///
    /// # Cancellation
    /// As [`ensure_objects`](Self::ensure_objects).
    pub async fn ensure_tables(&self, tables: &[Table]) -> Result<Verification> {
        let mut session = self.session().await?;
        begin_locked(&mut session).await?;
        let outcome = ensure_tables(&mut session, tables).await;
        finish(&mut session, outcome).await
    }
}

async fn verify_objects(session: &mut Session, topology: &Topology) -> Result<Verification> {
    let results =
        session.batch(objects::CATALOG).await.map_err(|error| error.during("reading the catalog"))?;
    Ok(compare(topology, &Catalog::read(results)?))
}

async fn ensure_objects(session: &mut Session, topology: &Topology) -> Result<Verification> {
    let before = verify_objects(session, topology).await?;
    for Finding { object, statement, .. } in before.missing() {
        session.batch(statement).await.map_err(|error| error.during(format_args!("creating {object}")))?;
    }
    let mut after = verify_objects(session, topology).await?;
    after.created = before.missing.into_iter().map(|finding| finding.object).collect();
    Ok(after)
}

async fn verify_tables(session: &mut Session, tables: &[Table]) -> Result<Verification> {
    let results = session.batch(texts::COLUMNS).await.map_err(|error| error.during("reading the catalog"))?;
    let columns = Columns::read(results)?;
    let mut verification = Verification::default();
    for table in tables {
        table.definition().compare(&columns, &mut verification);
    }
    Ok(verification)
}

async fn ensure_tables(session: &mut Session, tables: &[Table]) -> Result<Verification> {
    let before = verify_tables(session, tables).await?;
    let lacks = |definition: &Definition| {
        definition.names().any(|name| before.missing().iter().any(|finding| finding.object == name))
    };
    for definition in tables.iter().map(|table| table.definition()).filter(lacks) {
        for batch in definition.batches() {
            session
                .batch(batch)
                .await
                .map_err(|error| error.during(format_args!("running sql/{}", definition.file)))?;
        }
    }
    let mut after = verify_tables(session, tables).await?;
    after.created = before.missing.into_iter().map(|finding| finding.object).collect();
    Ok(after)
}

/// The lock belongs to the transaction and goes with it.
async fn begin_locked(session: &mut Session) -> Result<()> {
    session.begin().await?;
    let locked = match session.batch(&objects::lock()).await {
        Ok(results) => match results.first_row().map(|row| row.get::<i32>("outcome")).transpose()? {
            Some(0 | 1) => Ok(()),
            Some(-1 | -3) => {
                Err(Error::new(ErrorKind::Transient, "another program is setting up; try again"))
            }
            other => {
                Err(Error::new(ErrorKind::Statement, format!("the application lock was refused: {other:?}")))
            }
        },
        Err(error) => Err(error.during("taking the application lock of set-up")),
    };
    finish_failed(session, locked).await
}

/// Commits a success, rolls a failure back.
async fn finish(session: &mut Session, outcome: Result<Verification>) -> Result<Verification> {
    let verification = finish_failed(session, outcome).await?;
    session.commit().await?;
    Ok(verification)
}

/// A session that is not clean is discarded, which rolls back as well; so the first error is the one that is told.
async fn finish_failed<T>(session: &mut Session, outcome: Result<T>) -> Result<T> {
    if outcome.is_err() && session.is_clean() {
        session.rollback_if_open().await?;
    }
    outcome
}
