//! Looking at queues, monitors, event notifications and services without touching a message.
//!
//! What a login may see differs, so everything that can be hidden is a [`Visible`]: known, or hidden for want of a right
//! that is named. Nothing here receives, counts by scanning or changes the state of a queue monitor.

mod queue;
mod service;

pub use queue::{
    EventNotification, Monitor, MonitorState, QueueDetails, QueueLocation, QueueState, Right, Visible,
};
pub use service::ServiceState;

use uuid::Uuid;

use super::broker::Broker;
use super::error::{Error, ErrorKind, Result};
use super::rows::Row;
use super::statements::inspection as texts;

/// A database as its server lists it, and who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DatabaseState {
    /// The name the server gives itself; event notifications carry it.
    pub server_name: String,
    /// The login the connection was made with.
    pub login: String,
    /// The database's name as the server writes it.
    pub database: String,
    /// Its broker's identifier.
    pub broker_id: Uuid,
    /// Whether its broker is enabled.
    pub is_broker_enabled: bool,
    /// Whether it is TRUSTWORTHY: only then conversations that begin in it are let into other databases of the server.
    pub is_trustworthy: bool,
    /// `ONLINE`, or why it cannot be used.
    pub state: String,
    /// Whether the login may use it.
    pub is_accessible: bool,
}

impl Broker {
    /// Looks at a database by name, or at that of the connection; `None` if the server has no such database or hides it.
    ///
    /// # Errors
    /// The server's, or those of connecting. Cancelling is safe.
    pub async fn inspect_database(&self, database: Option<&str>) -> Result<Option<DatabaseState>> {
        let mut session = self.session().await?;
        let results = session.execute(&texts::database_state(database)).await?;
        results.first_row().map(database_state).transpose()
    }
}

fn database_state(row: &Row) -> Result<DatabaseState> {
    Ok(DatabaseState {
        server_name: row.get::<Option<String>>("server_name")?.unwrap_or_default(),
        login: row.get::<Option<String>>("login_name")?.unwrap_or_default(),
        database: row.get("database_name")?,
        broker_id: row.get("broker_instance")?,
        is_broker_enabled: row.get("is_broker_enabled")?,
        is_trustworthy: row.get("is_trustworthy")?,
        state: row.get::<Option<String>>("state")?.unwrap_or_default(),
        is_accessible: row.get::<Option<i32>>("has_access")? == Some(1),
    })
}

/// Whether a right was answered with yes. NULL stands for rights and objects the server does not know.
fn has(row: &Row, column: &'static str) -> Result<bool> {
    Ok(row.get::<Option<i32>>(column)? == Some(1))
}

fn no_answer() -> Error {
    Error::new(ErrorKind::Protocol, "the server answers a question about rights with no row")
}
