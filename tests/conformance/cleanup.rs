//! Removes what a vector left on the server: everything whose name ends in its identifier.

use std::time::{Duration, Instant};

use ssbroker::client::{Broker, ConversationHandle, Results};

/// How long the connections to a dropped database may take to go.
const DEADLINE: Duration = Duration::from_secs(30);

/// Catalogs in the order in which their objects can be dropped, and the statement that drops one.
const OBJECTS: &[(&str, &str)] = &[
    ("sys.conversation_priorities", "DROP BROKER PRIORITY"),
    ("sys.remote_service_bindings", "DROP REMOTE SERVICE BINDING"),
    ("sys.routes", "DROP ROUTE"),
    ("sys.services", "DROP SERVICE"),
    ("sys.service_contracts", "DROP CONTRACT"),
    ("sys.service_message_types", "DROP MESSAGE TYPE"),
    ("sys.service_queues", "DROP QUEUE"),
    ("sys.procedures", "DROP PROCEDURE"),
];

/// Drops a vector's objects and the conversations of its services.
pub(super) async fn drop_objects(broker: &Broker, id: &str) {
    drop_notifications(broker, id).await;
    drop_conversations(broker, id).await;
    for (catalog, statement) in OBJECTS {
        let names = run(broker, &format!("SELECT name FROM {catalog} WHERE name LIKE N'%{id}'")).await;
        for row in names.into_rows() {
            let name: String = row.get("name").unwrap();
            run(broker, &format!("{statement} [{name}]")).await;
        }
    }
}

/// Drops the database of a vector, as soon as its connections are gone.
pub(super) async fn drop_database(broker: &Broker, name: &str) {
    let deadline = Instant::now() + DEADLINE;
    while let Err(error) = broker.batch(&format!("DROP DATABASE [{name}]")).await {
        let in_use = error.server_number() == Some(3702);
        assert!(in_use && Instant::now() < deadline, "{error:?}");
    }
}

async fn drop_notifications(broker: &Broker, id: &str) {
    let sql = format!(
        "SELECT n.name, q.name AS queue FROM sys.event_notifications AS n
         JOIN sys.service_queues AS q ON q.object_id = n.parent_id WHERE n.name LIKE N'%{id}'"
    );
    for row in run(broker, &sql).await.into_rows() {
        let (name, queue): (String, String) = (row.get("name").unwrap(), row.get("queue").unwrap());
        run(broker, &format!("DROP EVENT NOTIFICATION [{name}] ON QUEUE [{queue}]")).await;
    }
}

async fn drop_conversations(broker: &Broker, id: &str) {
    let sql = format!(
        "SELECT e.conversation_handle FROM sys.conversation_endpoints AS e
         LEFT JOIN sys.services AS s ON s.service_id = e.service_id
         WHERE s.name LIKE N'%{id}' OR e.far_service LIKE N'%{id}'"
    );
    for row in run(broker, &sql).await.into_rows() {
        let handle: ConversationHandle = row.get("conversation_handle").unwrap();
        // An endpoint may go by itself in between, so that an error says nothing.
        let _ = broker.execute("END CONVERSATION @P1 WITH CLEANUP", &[handle.into()]).await;
    }
}

async fn run(broker: &Broker, sql: &str) -> Results {
    broker.batch(sql).await.unwrap_or_else(|error| panic!("{error:?} for: {sql}"))
}
