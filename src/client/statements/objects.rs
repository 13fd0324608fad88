//! The texts of set-up: reading the catalog, the application lock, and the statements that create or mend objects.
//!
//! Definitions take no parameters, so names stand in the text, quoted.

use super::super::inspection::QueueLocation;
use super::super::names::{ContractName, MessageTypeName, QueueName, ServiceName};
use super::super::topology::{QueueSettings, QueueStatus, RouteSettings, SentBy, Validation};

/// The event that tells of messages in a queue.
pub(crate) const ACTIVATION: &str = "QUEUE_ACTIVATION";

/// How long set-up waits for another program's set-up, in milliseconds; below the usual command timeout.
const LOCK_TIMEOUT_MS: u32 = 20_000;

/// Turns the broker on in the current database; waits until no other session uses it.
pub(crate) const ENABLE_BROKER: &str = "ALTER DATABASE CURRENT SET ENABLE_BROKER;";

/// Everything set-up compares, as eight result sets: database, message types, contracts with their message types, queues,
/// services, contracts of services, event notifications on queues, routes.
pub(crate) const CATALOG: &str = "\
    SELECT SCHEMA_NAME() AS default_schema, CASE WHEN N'a' = N'A' THEN 1 ELSE 0 END AS folds_case, is_broker_enabled \
    FROM sys.databases WHERE database_id = DB_ID(); \
    SELECT name, CASE WHEN xml_collection_id IS NULL THEN RTRIM(validation) ELSE 'XS' END AS validation \
    FROM sys.service_message_types; \
    SELECT c.name AS contract_name, m.name AS message_type_name, u.is_sent_by_initiator, u.is_sent_by_target \
    FROM sys.service_contracts AS c JOIN sys.service_contract_message_usages AS u \
    ON u.service_contract_id = c.service_contract_id \
    JOIN sys.service_message_types AS m ON m.message_type_id = u.message_type_id; \
    SELECT s.name AS schema_name, q.name, q.is_receive_enabled, q.is_retention_enabled, \
    q.is_poison_message_handling_enabled FROM sys.service_queues AS q JOIN sys.schemas AS s ON s.schema_id = q.schema_id; \
    SELECT v.name, s.name AS schema_name, q.name AS queue_name FROM sys.services AS v \
    JOIN sys.service_queues AS q ON q.object_id = v.service_queue_id JOIN sys.schemas AS s ON s.schema_id = q.schema_id; \
    SELECT v.name AS service_name, c.name AS contract_name FROM sys.services AS v \
    JOIN sys.service_contract_usages AS u ON u.service_id = v.service_id \
    JOIN sys.service_contracts AS c ON c.service_contract_id = u.service_contract_id; \
    SELECT n.name, s.name AS schema_name, q.name AS queue_name, n.service_name, e.type_desc AS event_name \
    FROM sys.event_notifications AS n JOIN sys.events AS e ON e.object_id = n.object_id \
    JOIN sys.service_queues AS q ON q.object_id = n.parent_id JOIN sys.schemas AS s ON s.schema_id = q.schema_id \
    WHERE n.parent_class = 1; \
    SELECT name, remote_service_name AS service_name, broker_instance, address FROM sys.routes;";

/// Takes the application lock of set-up for the open transaction. One row: `outcome`, 0 or more if it was taken, -1 after
/// the time-out, -3 as a deadlock victim.
pub(crate) fn lock() -> String {
    format!(
        "DECLARE @outcome int; EXEC @outcome = sp_getapplock @Resource = N'ssbroker.setup', @LockMode = N'Exclusive', \
         @LockOwner = N'Transaction', @LockTimeout = {LOCK_TIMEOUT_MS}; SELECT @outcome AS outcome;"
    )
}

/// Creates a message type.
pub(crate) fn create_message_type(name: &MessageTypeName, validation: Validation) -> String {
    format!("CREATE MESSAGE TYPE {} VALIDATION = {};", name.quoted(), validation_word(validation))
}

/// Changes how bodies of a message type are checked.
pub(crate) fn alter_message_type(name: &MessageTypeName, validation: Validation) -> String {
    format!("ALTER MESSAGE TYPE {} VALIDATION = {};", name.quoted(), validation_word(validation))
}

/// Creates a contract.
pub(crate) fn create_contract(name: &ContractName, messages: &[(MessageTypeName, SentBy)]) -> String {
    let each = messages.iter().map(|(message, by)| format!("{} SENT BY {}", message.quoted(), sender(*by)));
    format!("CREATE CONTRACT {} ({});", name.quoted(), each.collect::<Vec<_>>().join(", "))
}

/// Drops and creates a contract: there is no statement that alters one. Services must let go of it first.
pub(crate) fn replace_contract(name: &ContractName, messages: &[(MessageTypeName, SentBy)]) -> String {
    format!("DROP CONTRACT {}; {}", name.quoted(), create_contract(name, messages))
}

/// Creates a queue.
pub(crate) fn create_queue(name: &QueueName, settings: &QueueSettings) -> String {
    format!("CREATE QUEUE {} WITH {};", name.quoted(), queue_settings(settings))
}

/// Gives a queue its declared settings.
pub(crate) fn alter_queue(name: &QueueName, settings: &QueueSettings) -> String {
    format!("ALTER QUEUE {} WITH {};", name.quoted(), queue_settings(settings))
}

/// Switches a queue on, and leaves its other settings alone.
pub(crate) fn enable_queue(location: &QueueLocation) -> String {
    format!("ALTER QUEUE {} WITH STATUS = ON;", location.quoted())
}

/// Creates a service.
pub(crate) fn create_service(name: &ServiceName, queue: &QueueName, contracts: &[ContractName]) -> String {
    let list = contracts.iter().map(ContractName::quoted).collect::<Vec<_>>().join(", ");
    let list = if list.is_empty() { list } else { format!(" ({list})") };
    format!("CREATE SERVICE {} ON QUEUE {}{list};", name.quoted(), queue.quoted())
}

/// Moves a service to another queue.
pub(crate) fn move_service(name: &ServiceName, queue: &QueueName) -> String {
    format!("ALTER SERVICE {} ON QUEUE {};", name.quoted(), queue.quoted())
}

/// Changes which contracts a service accepts.
pub(crate) fn change_contracts(name: &ServiceName, add: &[&str], drop: &[&str]) -> String {
    let add = add.iter().map(|contract| format!("ADD CONTRACT {}", identifier(contract)));
    let drop = drop.iter().map(|contract| format!("DROP CONTRACT {}", identifier(contract)));
    format!("ALTER SERVICE {} ({});", name.quoted(), add.chain(drop).collect::<Vec<_>>().join(", "))
}

/// Creates an event notification for an external activator.
pub(crate) fn create_event(name: &str, queue: &QueueName, service: &ServiceName) -> String {
    format!(
        "CREATE EVENT NOTIFICATION {} ON QUEUE {} FOR {ACTIVATION} TO SERVICE {}, N'current database';",
        identifier(name),
        queue.quoted(),
        literal(service.as_str())
    )
}

/// Drops an event notification of a queue.
pub(crate) fn drop_event(name: &str, queue: &QueueName) -> String {
    format!("DROP EVENT NOTIFICATION {} ON QUEUE {};", identifier(name), queue.quoted())
}

/// Creates a route.
pub(crate) fn create_route(name: &str, settings: &RouteSettings) -> String {
    format!("CREATE ROUTE {} WITH {};", identifier(name), describe_route(settings))
}

/// Gives a route its declared settings.
pub(crate) fn alter_route(name: &str, settings: &RouteSettings) -> String {
    format!("ALTER ROUTE {} WITH {};", identifier(name), describe_route(settings))
}

/// The settings of a route, as in its definition.
pub(crate) fn describe_route(settings: &RouteSettings) -> String {
    let service =
        settings.service.as_ref().map(|name| format!("SERVICE_NAME = {}, ", literal(name.as_str())));
    let instance = settings.broker_instance.as_ref().map(|id| format!("BROKER_INSTANCE = {}, ", literal(id)));
    format!(
        "{}{}ADDRESS = {}",
        service.unwrap_or_default(),
        instance.unwrap_or_default(),
        literal(&settings.address)
    )
}

/// The word for a sender.
pub(crate) fn sender(by: SentBy) -> &'static str {
    match by {
        SentBy::Initiator => "INITIATOR",
        SentBy::Target => "TARGET",
        SentBy::Any => "ANY",
    }
}

fn validation_word(validation: Validation) -> &'static str {
    match validation {
        Validation::None => "NONE",
        Validation::Empty => "EMPTY",
        Validation::WellFormedXml => "WELL_FORMED_XML",
    }
}

fn queue_settings(settings: &QueueSettings) -> String {
    let word = |on: bool| if on { "ON" } else { "OFF" };
    format!(
        "STATUS = {}, RETENTION = {}, POISON_MESSAGE_HANDLING (STATUS = {})",
        word(settings.status == QueueStatus::On),
        word(settings.retention),
        word(settings.poison_message_handling)
    )
}

/// Names that came from the catalog or were checked before.
fn identifier(name: &str) -> String {
    super::super::names::quote(name)
}

fn literal(text: &str) -> String {
    format!("N'{}'", text.replace('\'', "''"))
}
