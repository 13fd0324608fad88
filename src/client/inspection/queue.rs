//! One queue: its settings, what waits in it, its monitor and its event notifications.

use std::fmt;
use std::time::Duration;

use super::super::broker::Broker;
use super::super::error::{ErrorKind, Result};
use super::super::names::{QueueName, quote};
use super::super::pool::PooledSession;
use super::super::rows::{Results, Row};
use super::super::statements::inspection as texts;
use super::{DatabaseState, has, no_answer};

/// A queue, and the database it is in; without one, that of the connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QueueLocation {
    database: Option<String>,
    queue: QueueName,
}

impl QueueLocation {
    /// A queue in a database of the same server.
    #[must_use]
    pub fn in_database(database: impl Into<String>, queue: QueueName) -> Self {
        Self { database: Some(database.into()), queue }
    }

    /// The database, if one is named.
    #[must_use]
    pub fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    /// The queue within its database.
    #[must_use]
    pub fn queue(&self) -> &QueueName {
        &self.queue
    }

    /// The name as quoted identifiers for a T-SQL text.
    #[must_use]
    pub fn quoted(&self) -> String {
        // Between a database and a queue without schema two dots leave the schema to the login.
        let gap = if self.database.is_some() && self.queue.schema().is_none() { "." } else { "" };
        format!("{}{gap}{}", self.prefix(), self.queue.quoted())
    }

    /// What stands before the name of a view of that database.
    pub(crate) fn prefix(&self) -> String {
        self.database.as_deref().map(|database| format!("{}.", quote(database))).unwrap_or_default()
    }
}

impl From<QueueName> for QueueLocation {
    fn from(queue: QueueName) -> Self {
        Self { database: None, queue }
    }
}

impl From<&QueueName> for QueueLocation {
    fn from(queue: &QueueName) -> Self {
        queue.clone().into()
    }
}

impl From<&Self> for QueueLocation {
    fn from(location: &Self) -> Self {
        location.clone()
    }
}

impl fmt::Display for QueueLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.quoted())
    }
}

/// A right that shows something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Right {
    /// To use the database at all.
    Connect,
    /// SELECT on the queue: whether a message is ready.
    Select,
    /// VIEW DEFINITION on the queue or its database: settings, row counts, event notifications.
    ViewDefinition,
    /// VIEW DATABASE STATE (from SQL Server 2022 VIEW DATABASE PERFORMANCE STATE): row counts without the definition.
    ViewDatabaseState,
    /// VIEW SERVER STATE (from SQL Server 2022 VIEW SERVER PERFORMANCE STATE): the queue monitor.
    ViewServerState,
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "CONNECT",
            Self::Select => "SELECT",
            Self::ViewDefinition => "VIEW DEFINITION",
            Self::ViewDatabaseState => "VIEW DATABASE STATE",
            Self::ViewServerState => "VIEW SERVER STATE",
        })
    }
}

/// Something that may be hidden from the login.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Visible<T> {
    /// It is seen.
    Known(T),
    /// It is hidden; this right would show it.
    Hidden(Right),
}

impl<T> Visible<T> {
    /// What is known, if it is.
    pub fn known(self) -> Option<T> {
        match self {
            Self::Known(value) => Some(value),
            Self::Hidden(_) => None,
        }
    }

    /// The same, borrowed.
    pub fn as_ref(&self) -> Visible<&T> {
        match self {
            Self::Known(value) => Visible::Known(value),
            Self::Hidden(right) => Visible::Hidden(*right),
        }
    }

    /// The right that is missing, if one is.
    pub fn missing(&self) -> Option<Right> {
        match self {
            Self::Known(_) => None,
            Self::Hidden(right) => Some(*right),
        }
    }
}

/// How far a queue monitor is (specification section 5.1).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MonitorState {
    /// Nothing waits, nobody reads.
    Inactive,
    /// It has notified and is silent until somebody executes RECEIVE on the queue.
    Notified,
    /// Somebody reads.
    ReceivesOccurring,
    /// Any other state, by the server's word for it.
    Other(String),
}

impl MonitorState {
    fn named(name: String) -> Self {
        match name.as_str() {
            "INACTIVE" => Self::Inactive,
            "NOTIFIED" => Self::Notified,
            "RECEIVES_OCCURRING" => Self::ReceivesOccurring,
            _ => Self::Other(name),
        }
    }
}

impl fmt::Display for MonitorState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Inactive => "INACTIVE",
            Self::Notified => "NOTIFIED",
            Self::ReceivesOccurring => "RECEIVES_OCCURRING",
            Self::Other(name) => name,
        })
    }
}

/// The monitor of a queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Monitor {
    /// Its state.
    pub state: MonitorState,
    /// Sessions that wait in RECEIVE.
    pub tasks_waiting: u32,
}

/// One event of an event notification.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct EventNotification {
    /// Its name.
    pub name: String,
    /// The event, such as `QUEUE_ACTIVATION`.
    pub event: String,
    /// The service it is sent to.
    pub service: String,
    /// The broker that service is in, as text.
    pub broker_instance: String,
    /// Whether any conversation from this database to that service is open. The server drops a notification with its
    /// conversation, and keeps no record of which belongs to which.
    pub has_conversation: bool,
    /// Why the oldest notification for that service which is not delivered has to wait, in the server's words; `None` if
    /// none waits, or the login does not see the transmission queue (which takes db_owner).
    pub held: Option<String>,
}

/// What the definition of a queue says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueDetails {
    /// `object_id`.
    pub id: i32,
    /// Schema and name as the server writes them.
    pub name: QueueName,
    /// Whether messages can be received. Five roll backs in a row switch it off.
    pub is_receive_enabled: bool,
    /// Whether the server starts an activation procedure by itself.
    pub is_activation_enabled: bool,
}

/// What the login can see of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueState {
    /// The queue's database.
    pub database: DatabaseState,
    /// Its definition. `Known(None)`: there is no such queue.
    pub details: Visible<Option<QueueDetails>>,
    /// Whether the login has RECEIVE on it.
    pub can_receive: bool,
    /// Whether the login has ALTER on it, which switching it on takes.
    pub can_alter: bool,
    /// Whether a message can be received that nobody has locked.
    pub ready: Visible<bool>,
    /// Messages in it, retained and locked ones included, as the server counts them by itself: approximate.
    pub depth: Visible<u64>,
    /// Age of the oldest among the first 1,000 ready messages; `None` if none is ready. A longer queue may hold older ones.
    pub oldest: Visible<Option<Duration>>,
    /// Its monitor; `Known(None)` if it has none, since it has neither activation nor event notifications.
    pub monitor: Visible<Option<Monitor>>,
    /// Its event notifications, one entry for each event.
    pub notifications: Visible<Vec<EventNotification>>,
}

/// The rights, as the server answers for them.
struct Rights {
    can_receive: bool,
    can_alter: bool,
    sees_queue: bool,
    sees_definitions: bool,
    sees_database_state: bool,
    sees_server_state: bool,
}

impl Broker {
    /// Looks at a queue as far as the login's rights go: five or six short requests, none of which reads a whole queue.
    /// `None`: the server has no such database, or hides it.
    ///
    /// # Errors
    /// The server's, or those of connecting; never for a missing right, which is told in the answer. Cancelling is safe.
    pub async fn inspect_queue(&self, location: impl Into<QueueLocation>) -> Result<Option<QueueState>> {
        let location = location.into();
        let Some(database) = self.inspect_database(location.database()).await? else { return Ok(None) };
        if !database.is_accessible {
            return Ok(Some(QueueState::hidden(database)));
        }
        let mut session = self.session().await?;
        inspect(&mut session, &location, database).await.map(Some)
    }

    /// Whether a message can be received from a queue that nobody has locked.
    ///
    /// # Errors
    /// [`ErrorKind::PermissionDenied`] without SELECT on the queue, and the server's others. Cancelling is safe.
    pub async fn has_ready_messages(&self, location: impl Into<QueueLocation>) -> Result<bool> {
        let mut session = self.session().await?;
        Ok(session.batch(&texts::ready(&location.into())).await?.first_row().is_some())
    }

    /// Asks the same of many queues in one request: the answer has one entry for each, in order.
    ///
    /// # Errors
    /// As [`has_ready_messages`](Self::has_ready_messages), if it is so for a single one of them. Cancelling is safe.
    pub async fn ready_queues(&self, locations: &[QueueLocation]) -> Result<Vec<bool>> {
        let mut ready = vec![false; locations.len()];
        if locations.is_empty() {
            return Ok(ready);
        }
        let mut session = self.session().await?;
        for row in session.batch(&texts::ready_queues(locations.iter().enumerate())).await?.into_rows() {
            let position = usize::try_from(row.get::<i32>("position")?).ok();
            if let Some(found) = position.and_then(|position| ready.get_mut(position)) {
                *found = true;
            }
        }
        Ok(ready)
    }

    /// The monitor of a queue by its `object_id`, or `None` if the queue has none.
    ///
    /// # Errors
    /// [`ErrorKind::PermissionDenied`] without VIEW SERVER STATE, and the server's others. Cancelling is safe.
    pub async fn queue_monitor(&self, database: &str, queue_id: i32) -> Result<Option<Monitor>> {
        let mut session = self.session().await?;
        read_monitor(&session.execute(&texts::monitor(database, queue_id)).await?)
    }

    /// The queues of a database that the login sees, without the server's own; for finding the one that was meant.
    ///
    /// # Errors
    /// The server's. Cancelling is safe.
    pub async fn queues(&self, database: Option<&str>) -> Result<Vec<QueueName>> {
        let prefix = database.map(|database| format!("{}.", quote(database))).unwrap_or_default();
        let mut session = self.session().await?;
        let rows = session.execute(&texts::queues_of(&prefix)).await?.into_rows();
        rows.iter().map(queue_name).collect()
    }
}

impl QueueState {
    /// What is known without access to the database.
    fn hidden(database: DatabaseState) -> Self {
        Self {
            database,
            details: Visible::Hidden(Right::Connect),
            can_receive: false,
            can_alter: false,
            ready: Visible::Hidden(Right::Connect),
            depth: Visible::Hidden(Right::Connect),
            oldest: Visible::Hidden(Right::Connect),
            monitor: Visible::Hidden(Right::Connect),
            notifications: Visible::Hidden(Right::Connect),
        }
    }
}

async fn inspect(
    session: &mut PooledSession,
    location: &QueueLocation,
    database: DatabaseState,
) -> Result<QueueState> {
    let rights = rights(session, location, &database.database).await?;
    let details = details(session, location, &rights).await?;
    let Rights { can_receive, can_alter, .. } = rights;
    let mut state = QueueState { details, can_receive, can_alter, ..QueueState::hidden(database) };
    (state.ready, state.oldest) = waiting(session, location).await?;
    let Visible::Known(Some(details)) = &state.details else {
        let missing = if rights.sees_server_state { Right::ViewDefinition } else { Right::ViewServerState };
        state.depth = Visible::Hidden(Right::ViewDefinition);
        state.monitor = Visible::Hidden(missing);
        state.notifications = Visible::Hidden(Right::ViewDefinition);
        return Ok(state);
    };
    state.depth = depth(session, location, details.id, &rights).await?;
    state.monitor = monitor(session, &state.database.database, details.id, &rights).await?;
    state.notifications = notifications(session, location, details.id, &rights).await?;
    Ok(state)
}

async fn rights(session: &mut PooledSession, location: &QueueLocation, database: &str) -> Result<Rights> {
    let results = session.execute(&texts::queue_rights(location, database)).await?;
    let row = results.first_row().ok_or_else(no_answer)?;
    Ok(Rights {
        can_receive: has(row, "can_receive")?,
        can_alter: has(row, "can_alter")?,
        sees_queue: has(row, "sees_queue")?,
        sees_definitions: has(row, "sees_definitions")?,
        sees_database_state: has(row, "sees_database_state")? || has(row, "sees_database_performance")?,
        sees_server_state: has(row, "sees_server_state")? || has(row, "sees_server_performance")?,
    })
}

/// A queue that is not listed does not exist only for somebody who sees every definition.
async fn details(
    session: &mut PooledSession,
    location: &QueueLocation,
    rights: &Rights,
) -> Result<Visible<Option<QueueDetails>>> {
    let results = session.execute(&texts::queue_settings(location)).await?;
    let Some(row) = results.first_row() else {
        return Ok(if rights.sees_definitions {
            Visible::Known(None)
        } else {
            Visible::Hidden(Right::ViewDefinition)
        });
    };
    Ok(Visible::Known(Some(QueueDetails {
        id: row.get("queue_id")?,
        name: queue_name(row)?,
        is_receive_enabled: row.get("is_receive_enabled")?,
        is_activation_enabled: row.get("is_activation_enabled")?,
    })))
}

/// The right to select is tried, not asked for: which rights include it differs (U-11).
async fn waiting(
    session: &mut PooledSession,
    location: &QueueLocation,
) -> Result<(Visible<bool>, Visible<Option<Duration>>)> {
    let ready = match session.batch(&texts::ready(location)).await {
        Ok(results) => results.first_row().is_some(),
        Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ObjectMissing) => {
            return Ok((Visible::Hidden(Right::Select), Visible::Hidden(Right::Select)));
        }
        Err(error) => return Err(error),
    };
    let age = session.batch(&texts::oldest(location)).await?;
    let age = age.first_row().map(|row| row.get::<Option<i32>>("age")).transpose()?.flatten();
    let age = age.map(|seconds| Duration::from_secs(u64::try_from(seconds).unwrap_or_default()));
    Ok((Visible::Known(ready), Visible::Known(age)))
}

async fn depth(
    session: &mut PooledSession,
    location: &QueueLocation,
    id: i32,
    rights: &Rights,
) -> Result<Visible<u64>> {
    if let Some(depth) = sum(&session.execute(&texts::depth(location, id)).await?)? {
        return Ok(Visible::Known(depth));
    }
    if !rights.sees_database_state {
        return Ok(Visible::Hidden(Right::ViewDatabaseState));
    }
    let depth = sum(&session.execute(&texts::depth_by_state(location, id)).await?)?;
    Ok(depth.map_or(Visible::Hidden(Right::ViewDefinition), Visible::Known))
}

fn sum(results: &Results) -> Result<Option<u64>> {
    let depth = results.first_row().map(|row| row.get::<Option<i64>>("depth")).transpose()?.flatten();
    Ok(depth.map(|depth| u64::try_from(depth).unwrap_or_default()))
}

async fn monitor(
    session: &mut PooledSession,
    database: &str,
    id: i32,
    rights: &Rights,
) -> Result<Visible<Option<Monitor>>> {
    if !rights.sees_server_state {
        return Ok(Visible::Hidden(Right::ViewServerState));
    }
    read_monitor(&session.execute(&texts::monitor(database, id)).await?).map(Visible::Known)
}

fn read_monitor(results: &Results) -> Result<Option<Monitor>> {
    let Some(row) = results.first_row() else { return Ok(None) };
    let tasks_waiting = row.get::<Option<i32>>("tasks_waiting")?.unwrap_or_default();
    Ok(Some(Monitor {
        state: MonitorState::named(row.get::<Option<String>>("state")?.unwrap_or_default()),
        tasks_waiting: u32::try_from(tasks_waiting).unwrap_or_default(),
    }))
}

/// An empty list means something only to somebody who would see the notifications.
async fn notifications(
    session: &mut PooledSession,
    location: &QueueLocation,
    id: i32,
    rights: &Rights,
) -> Result<Visible<Vec<EventNotification>>> {
    let results = session.execute(&texts::event_notifications(location, id)).await?;
    let found: Vec<EventNotification> =
        results.into_rows().iter().map(|row| notification(row, rights)).collect::<Result<_>>()?;
    let is_whole = rights.sees_queue || rights.sees_definitions || !found.is_empty();
    Ok(if is_whole { Visible::Known(found) } else { Visible::Hidden(Right::ViewDefinition) })
}

fn notification(row: &Row, rights: &Rights) -> Result<EventNotification> {
    Ok(EventNotification {
        name: row.get("name")?,
        event: row.get::<Option<String>>("event")?.unwrap_or_default(),
        service: row.get::<Option<String>>("service")?.unwrap_or_default(),
        broker_instance: row.get::<Option<String>>("broker_instance")?.unwrap_or_default(),
        // Who does not see the conversations of others cannot say that there is none.
        has_conversation: !rights.sees_definitions || has(row, "has_conversation")?,
        held: row.get::<Option<String>>("held")?,
    })
}

fn queue_name(row: &Row) -> Result<QueueName> {
    QueueName::in_schema(row.get::<String>("schema_name")?, row.get::<String>("queue_name")?)
}

#[cfg(test)]
mod tests {
    use super::{QueueLocation, QueueName};

    #[test]
    fn a_location_is_written_with_the_parts_it_has() {
        let queue = QueueName::in_schema("dbo", "a]b").unwrap();
        assert_eq!(QueueLocation::from(&queue).quoted(), "[dbo].[a]]b]");
        assert_eq!(QueueLocation::in_database("Sales", queue).quoted(), "[Sales].[dbo].[a]]b]");
        let bare = QueueLocation::in_database("Sales", QueueName::new("q").unwrap());
        assert_eq!(bare.quoted(), "[Sales]..[q]");
    }
}
