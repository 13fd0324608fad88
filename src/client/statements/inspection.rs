//! The texts that look at a server without changing anything: rights, queues, monitors, event notifications, services.
//!
//! None of them reads a whole queue: what is ready is the first row that is found, the age is bounded, and the depth is the
//! row count the server keeps of its partitions. Identifiers are quoted by `names.rs`; a database that differs from the
//! connection's is named in front of the views.

use std::fmt::Write as _;

use super::super::inspection::QueueLocation;
use super::super::names::ServiceName;
use super::{Argument, Statement};

/// How many ready messages the age is taken from; a longer queue would have to be scanned.
pub(crate) const AGE_SAMPLE: u32 = 1000;

/// Type of the messages that carry an event.
const EVENT_NOTIFICATION: &str = "http://schemas.microsoft.com/SQL/Notifications/EventNotification";

/// The server's own name, who is logged in, and one database. No row: there is no such database.
pub(crate) fn database_state(database: Option<&str>) -> Statement<'_> {
    Statement::new(
        "SELECT CAST(SERVERPROPERTY(N'ServerName') AS nvarchar(256)) AS server_name, SUSER_SNAME() AS login_name, d.name \
         AS database_name, d.service_broker_guid AS broker_instance, d.is_broker_enabled AS is_broker_enabled, \
         d.is_trustworthy_on AS is_trustworthy, \
         d.state_desc AS state, HAS_DBACCESS(d.name) AS has_access FROM sys.databases AS d WHERE d.database_id = \
         DB_ID(COALESCE(@database, DB_NAME()));",
    )
    .bind("@database", "nvarchar(128)", optional_text(database))
}

/// What the login may see of a queue, its database and the server. One row; NULL where the server does not know the right
/// or the object.
pub(crate) fn queue_rights<'a>(location: &QueueLocation, database: &str) -> Statement<'a> {
    let (queue, database) = (location.quoted(), super::super::names::quote(database));
    Statement::new(
        "SELECT HAS_PERMS_BY_NAME(@queue, N'OBJECT', N'SELECT') AS can_select, HAS_PERMS_BY_NAME(@queue, N'OBJECT', \
         N'RECEIVE') AS can_receive, HAS_PERMS_BY_NAME(@queue, N'OBJECT', N'ALTER') AS can_alter, HAS_PERMS_BY_NAME(@queue, N'OBJECT', N'VIEW DEFINITION') AS sees_queue, \
         HAS_PERMS_BY_NAME(@database, N'DATABASE', N'VIEW DEFINITION') AS sees_definitions, \
         HAS_PERMS_BY_NAME(@database, N'DATABASE', N'VIEW DATABASE STATE') AS sees_database_state, \
         HAS_PERMS_BY_NAME(@database, N'DATABASE', N'VIEW DATABASE PERFORMANCE STATE') AS sees_database_performance, \
         HAS_PERMS_BY_NAME(NULL, NULL, N'VIEW SERVER STATE') AS sees_server_state, HAS_PERMS_BY_NAME(NULL, NULL, \
         N'VIEW SERVER PERFORMANCE STATE') AS sees_server_performance;",
    )
    .bind("@queue", "nvarchar(400)", Argument::Value(queue.into()))
    .bind("@database", "nvarchar(260)", Argument::Value(database.into()))
}

/// The settings of a queue. One row, or none if it does not exist or its definition is hidden.
pub(crate) fn queue_settings(location: &QueueLocation) -> Statement<'static> {
    let prefix = location.prefix();
    Statement::new(format!(
        "SELECT q.object_id AS queue_id, s.name AS schema_name, q.name AS queue_name, q.is_receive_enabled AS \
         is_receive_enabled, q.is_activation_enabled AS is_activation_enabled FROM {prefix}sys.service_queues AS q JOIN \
         {prefix}sys.schemas AS s ON s.schema_id = q.schema_id WHERE q.object_id = OBJECT_ID(@queue, N'SQ');"
    ))
    .bind("@queue", "nvarchar(400)", Argument::Value(location.quoted().into()))
}

/// The queues of a database that the login sees, for finding the one that was meant.
pub(crate) fn queues_of(prefix: &str) -> Statement<'static> {
    Statement::new(format!(
        "SELECT s.name AS schema_name, q.name AS queue_name FROM {prefix}sys.service_queues AS q JOIN \
         {prefix}sys.schemas AS s ON s.schema_id = q.schema_id WHERE q.is_ms_shipped = 0;"
    ))
}

/// One row if a message can be received that nobody has locked, else none.
pub(crate) fn ready(location: &QueueLocation) -> String {
    format!("SELECT TOP (1) 1 AS ready FROM {} WITH (READPAST) WHERE status = 1;", location.quoted())
}

/// The same for many queues in one request: the positions of those with such a message.
pub(crate) fn ready_queues<'a>(locations: impl Iterator<Item = (usize, &'a QueueLocation)>) -> String {
    let mut text = String::new();
    for (position, location) in locations {
        if !text.is_empty() {
            text.push_str(" UNION ALL ");
        }
        let queue = location.quoted();
        write!(
            text,
            "SELECT {position} AS position WHERE EXISTS (SELECT 1 FROM {queue} WITH (READPAST) WHERE status = 1)"
        )
        .expect("writing to a string does not fail");
    }
    text + ";"
}

/// The age in seconds of the oldest among the first [`AGE_SAMPLE`] ready messages; NULL if none is ready.
pub(crate) fn oldest(location: &QueueLocation) -> String {
    format!(
        "SELECT DATEDIFF(second, MIN(f.message_enqueue_time), SYSUTCDATETIME()) AS age FROM (SELECT TOP ({AGE_SAMPLE}) \
         message_enqueue_time FROM {} WITH (READPAST) WHERE status = 1) AS f;",
        location.quoted()
    )
}

/// Messages of a queue, retained and locked ones included, as the server counts them by itself; NULL if that is hidden.
pub(crate) fn depth(location: &QueueLocation, queue_id: i32) -> Statement<'static> {
    let prefix = location.prefix();
    Statement::new(format!(
        "SELECT SUM(p.rows) AS depth FROM {prefix}sys.internal_tables AS t JOIN {prefix}sys.partitions AS p ON \
         p.object_id = t.object_id WHERE t.parent_object_id = @queue AND p.index_id = 1;"
    ))
    .bind_int("@queue", queue_id)
}

/// The same from the view that needs VIEW DATABASE STATE.
pub(crate) fn depth_by_state(location: &QueueLocation, queue_id: i32) -> Statement<'static> {
    let prefix = location.prefix();
    Statement::new(format!(
        "SELECT SUM(p.row_count) AS depth FROM {prefix}sys.internal_tables AS t JOIN {prefix}sys.dm_db_partition_stats \
         AS p ON p.object_id = t.object_id WHERE t.parent_object_id = @queue AND p.index_id = 1;"
    ))
    .bind_int("@queue", queue_id)
}

/// The queue's monitor. No row: it has none, since the queue has neither activation nor event notifications.
pub(crate) fn monitor(database: &str, queue_id: i32) -> Statement<'_> {
    Statement::new(
        "SELECT m.state AS state, m.tasks_waiting AS tasks_waiting FROM sys.dm_broker_queue_monitors AS m WHERE \
         m.database_id = DB_ID(@database) AND m.queue_id = @queue;",
    )
    .bind("@database", "nvarchar(128)", Argument::Text(database))
    .bind_int("@queue", queue_id)
}

/// The event notifications on a queue, one row for each event: whether any conversation that could carry it is open, and why
/// the oldest notification for its service that waits in the transmission queue has to wait. Rows there show to db_owner only.
pub(crate) fn event_notifications(location: &QueueLocation, queue_id: i32) -> Statement<'static> {
    let prefix = location.prefix();
    Statement::new(format!(
        "SELECT n.name AS name, e.type_desc AS event, n.service_name AS service, n.broker_instance AS broker_instance, \
         CASE WHEN EXISTS (SELECT 1 FROM {prefix}sys.conversation_endpoints AS c WHERE c.far_service = n.service_name AND \
         c.is_initiator = 1 AND c.is_system = 1 AND c.state IN ('SO', 'CO')) THEN 1 ELSE 0 END AS has_conversation, (SELECT \
         TOP (1) t.transmission_status FROM {prefix}sys.transmission_queue AS t WHERE t.to_service_name = n.service_name AND \
         t.message_type_name = N'{EVENT_NOTIFICATION}' AND t.transmission_status <> N'' ORDER BY t.enqueue_time) AS held FROM \
         {prefix}sys.event_notifications AS n JOIN {prefix}sys.events AS e ON e.object_id = n.object_id WHERE \
         n.parent_class = 1 AND n.parent_id = @queue;"
    ))
    .bind_int("@queue", queue_id)
}

/// The queue of a service and its contracts: one row for each contract, one with NULL if it has none, none if the service
/// does not exist or is hidden.
pub(crate) fn service_contracts(service: &ServiceName) -> Statement<'_> {
    Statement::new(
        "SELECT s.name AS schema_name, q.name AS queue_name, c.name AS contract FROM sys.services AS v JOIN \
         sys.service_queues AS q ON q.object_id = v.service_queue_id JOIN sys.schemas AS s ON s.schema_id = q.schema_id \
         LEFT JOIN sys.service_contract_usages AS u ON u.service_id = v.service_id LEFT JOIN sys.service_contracts AS c ON \
         c.service_contract_id = u.service_contract_id WHERE v.name = @service;",
    )
    .bind("@service", "nvarchar(256)", Argument::Text(service.as_str()))
}

/// The rights a listener needs besides those on its queue: to see the service, and to refer to the queue's schema.
pub(crate) fn service_rights<'a>(service: &ServiceName, schema: Option<&str>) -> Statement<'a> {
    let schema = schema.map(super::super::names::quote);
    Statement::new(
        "SELECT HAS_PERMS_BY_NAME(@service, N'SERVICE', N'VIEW DEFINITION') AS sees_service, HAS_PERMS_BY_NAME(@schema, \
         N'SCHEMA', N'REFERENCES') AS refers_to_schema, HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'VIEW \
         DEFINITION') AS sees_definitions;",
    )
    .bind("@service", "nvarchar(520)", Argument::Value(service.quoted().into()))
    .bind("@schema", "nvarchar(260)", Argument::Value(schema.into()))
}

fn optional_text(text: Option<&str>) -> Argument<'_> {
    match text {
        Some(text) => Argument::Text(text),
        None => Argument::Value(super::super::values::SqlValue::Null),
    }
}
