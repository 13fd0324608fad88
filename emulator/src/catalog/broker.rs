//! Views of the broker's metadata: message types, contracts, services, routes, priorities, notifications (spec 8).

use super::{
    View, ViewColumn, binary_name, bit, datetime, fixed, name, optional, public_name, required, visible,
};
use crate::engine::{DatabaseId, DatabaseState, NotificationScope, Op, Securable, Tx};
use crate::value::{Length, SqlType, Value};

pub(super) const VIEWS: &[View] = &[
    View { schema: "sys", name: "service_message_types", columns: MESSAGE_TYPES, rows: message_types },
    View { schema: "sys", name: "service_contracts", columns: CONTRACTS, rows: contracts },
    View {
        schema: "sys",
        name: "service_contract_message_usages",
        columns: CONTRACT_MESSAGE_USAGES,
        rows: contract_message_usages,
    },
    View { schema: "sys", name: "services", columns: SERVICES, rows: services },
    View { schema: "sys", name: "service_queue_usages", columns: QUEUE_USAGES, rows: queue_usages },
    View { schema: "sys", name: "service_contract_usages", columns: CONTRACT_USAGES, rows: contract_usages },
    View { schema: "sys", name: "routes", columns: ROUTES, rows: routes },
    View { schema: "sys", name: "remote_service_bindings", columns: BINDINGS, rows: bindings },
    View { schema: "sys", name: "conversation_priorities", columns: PRIORITIES, rows: priorities },
    View { schema: "sys", name: "event_notifications", columns: NOTIFICATIONS, rows: event_notifications },
    View { schema: "sys", name: "events", columns: EVENTS, rows: events },
];

const MESSAGE_TYPES: &[ViewColumn] = &[
    public_name("name", SqlType::SYSNAME),
    required("message_type_id", SqlType::Int),
    optional("principal_id", SqlType::Int),
    required("validation", SqlType::Char(2)),
    optional("validation_desc", SqlType::nvarchar(60)),
    optional("xml_collection_id", SqlType::Int),
];

fn message_types(tx: &Tx<'_>, database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    Ok(rows_of(tx, database, |database| {
        database
            .message_types
            .iter()
            .filter(|it| visible(tx, Securable::MessageType(database.def.id, it.id)))
            .map(|it| {
                vec![
                    binary_name(&it.name),
                    it.id.0.into(),
                    it.owner.0.into(),
                    fixed(it.validation.code(), 2),
                    name(it.validation.description()),
                    Value::Null,
                ]
            })
    }))
}

const CONTRACTS: &[ViewColumn] = &[
    public_name("name", SqlType::SYSNAME),
    required("service_contract_id", SqlType::Int),
    optional("principal_id", SqlType::Int),
];

fn contracts(tx: &Tx<'_>, database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    Ok(rows_of(tx, database, |database| {
        database
            .contracts
            .iter()
            .filter(|it| visible(tx, Securable::Contract(database.def.id, it.id)))
            .map(|it| vec![binary_name(&it.name), it.id.0.into(), it.owner.0.into()])
    }))
}

const CONTRACT_MESSAGE_USAGES: &[ViewColumn] = &[
    required("service_contract_id", SqlType::Int),
    required("message_type_id", SqlType::Int),
    required("is_sent_by_initiator", SqlType::Bit),
    required("is_sent_by_target", SqlType::Bit),
];

fn contract_message_usages(tx: &Tx<'_>, database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    Ok(rows_of(tx, database, |database| {
        database
            .contracts
            .iter()
            .filter(|it| visible(tx, Securable::Contract(database.def.id, it.id)))
            .flat_map(|contract| {
                contract.usages.iter().map(|usage| {
                    vec![
                        contract.id.0.into(),
                        usage.message_type.0.into(),
                        bit(usage.by_initiator),
                        bit(usage.by_target),
                    ]
                })
            })
    }))
}

const SERVICES: &[ViewColumn] = &[
    public_name("name", SqlType::SYSNAME),
    required("service_id", SqlType::Int),
    optional("principal_id", SqlType::Int),
    required("service_queue_id", SqlType::Int),
];

fn services(tx: &Tx<'_>, database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    Ok(rows_of(tx, database, |database| {
        database
            .services
            .iter()
            .filter(|it| visible(tx, Securable::Service(database.def.id, it.id)))
            .map(|it| vec![binary_name(&it.name), it.id.0.into(), it.owner.0.into(), it.queue.0.into()])
    }))
}

const QUEUE_USAGES: &[ViewColumn] =
    &[required("service_id", SqlType::Int), required("service_queue_id", SqlType::Int)];

fn queue_usages(tx: &Tx<'_>, database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    Ok(rows_of(tx, database, |database| {
        database
            .services
            .iter()
            .filter(|it| visible(tx, Securable::Service(database.def.id, it.id)))
            .map(|it| vec![it.id.0.into(), it.queue.0.into()])
    }))
}

const CONTRACT_USAGES: &[ViewColumn] =
    &[required("service_id", SqlType::Int), required("service_contract_id", SqlType::Int)];

fn contract_usages(tx: &Tx<'_>, database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    Ok(rows_of(tx, database, |database| {
        database
            .services
            .iter()
            .filter(|it| visible(tx, Securable::Service(database.def.id, it.id)))
            .flat_map(|service| {
                service.contracts.iter().map(|contract| vec![service.id.0.into(), contract.0.into()])
            })
    }))
}

const ROUTES: &[ViewColumn] = &[
    required("name", SqlType::SYSNAME),
    required("route_id", SqlType::Int),
    optional("principal_id", SqlType::Int),
    public_name("remote_service_name", SqlType::nvarchar(256)),
    optional("broker_instance", SqlType::nvarchar(128)),
    optional("lifetime", SqlType::DateTime),
    optional("address", SqlType::nvarchar(256)),
    optional("mirror_address", SqlType::nvarchar(256)),
];

fn routes(tx: &Tx<'_>, database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    Ok(rows_of(tx, database, |database| {
        database.routes.iter().filter(|it| visible(tx, Securable::Route(database.def.id, it.id))).map(|it| {
            vec![
                name(&it.name),
                it.id.0.into(),
                it.owner.0.into(),
                it.remote_service.as_deref().map_or(Value::Null, binary_name),
                it.broker_instance.as_deref().map_or(Value::Null, name),
                it.expires.map_or(Value::Null, datetime),
                name(&it.address),
                it.mirror_address.as_deref().map_or(Value::Null, name),
            ]
        })
    }))
}

const BINDINGS: &[ViewColumn] = &[
    required("name", SqlType::SYSNAME),
    required("remote_service_binding_id", SqlType::Int),
    optional("principal_id", SqlType::Int),
    public_name("remote_service_name", SqlType::nvarchar(256)),
    required("service_contract_id", SqlType::Int),
    optional("remote_principal_id", SqlType::Int),
    required("is_anonymous_on", SqlType::Bit),
];

fn bindings(tx: &Tx<'_>, database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    Ok(rows_of(tx, database, |database| {
        database.bindings.iter().filter(|it| visible(tx, Securable::Binding(database.def.id, it.id))).map(
            |it| {
                vec![
                    name(&it.name),
                    it.id.0.into(),
                    it.owner.0.into(),
                    binary_name(&it.remote_service),
                    // 0 stands for all contracts; the statement cannot name one.
                    0.into(),
                    it.user.0.into(),
                    bit(it.anonymous),
                ]
            },
        )
    }))
}

const PRIORITIES: &[ViewColumn] = &[
    required("priority_id", SqlType::Int),
    required("name", SqlType::SYSNAME),
    optional("service_contract_id", SqlType::Int),
    optional("local_service_id", SqlType::Int),
    public_name("remote_service_name", SqlType::nvarchar(256)),
    required("priority", SqlType::TinyInt),
];

fn priorities(tx: &Tx<'_>, database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    Ok(rows_of(tx, database, |database| {
        database.priorities.iter().map(|it| {
            vec![
                it.id.0.into(),
                name(&it.name),
                it.contract.map(|contract| contract.0).into(),
                it.local_service.map(|service| service.0).into(),
                it.remote_service.as_deref().map_or(Value::Null, binary_name),
                Value::TinyInt(it.level),
            ]
        })
    }))
}

const NOTIFICATIONS: &[ViewColumn] = &[
    required("name", SqlType::SYSNAME),
    required("object_id", SqlType::Int),
    required("parent_class", SqlType::TinyInt),
    optional("parent_class_desc", SqlType::nvarchar(60)),
    required("parent_id", SqlType::Int),
    required("create_date", SqlType::DateTime),
    required("modify_date", SqlType::DateTime),
    public_name("service_name", SqlType::nvarchar(256)),
    optional("broker_instance", SqlType::nvarchar(128)),
    optional("principal_id", SqlType::Int),
    optional("creator_sid", SqlType::VarBinary(Length::Limited(85))),
];

/// Notifications on queues and on the database; those of the server have a view of their own.
fn event_notifications(tx: &Tx<'_>, database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    Ok(rows_of(tx, database, |database| {
        database.event_notifications.iter().filter(|it| it.scope != NotificationScope::Server).map(|it| {
            let (class, description, parent) = match it.scope {
                NotificationScope::Queue(queue) => (1, "OBJECT_OR_COLUMN", queue.0),
                NotificationScope::Database | NotificationScope::Server => (0, "DATABASE", 0),
            };
            vec![
                name(&it.name),
                it.id.0.into(),
                Value::TinyInt(class),
                name(description),
                parent.into(),
                datetime(it.created),
                datetime(it.created),
                binary_name(&it.service),
                name(&it.broker_instance),
                it.creator.0.into(),
                Value::Null,
            ]
        })
    }))
}

const EVENTS: &[ViewColumn] = &[
    required("object_id", SqlType::Int),
    required("type", SqlType::Int),
    optional("type_desc", SqlType::nvarchar(60)),
    optional("is_trigger_event", SqlType::Bit),
    optional("event_group_type", SqlType::Int),
    optional("event_group_type_desc", SqlType::nvarchar(60)),
];

/// One row for each event of a notification, with `type` 0: which number the server gives an event is not known to us.
/// Event groups stay in one row, while the real view shows their members.
fn events(tx: &Tx<'_>, database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    Ok(rows_of(tx, database, |database| {
        database.event_notifications.iter().filter(|it| it.scope != NotificationScope::Server).flat_map(
            |it| {
                let row =
                    |event| vec![it.id.0.into(), 0.into(), name(event), bit(false), Value::Null, Value::Null];
                it.events.iter().map(move |event| row(event))
            },
        )
    }))
}

/// Rows made from one database; none if it does not exist (any more).
fn rows_of<'a, I: Iterator<Item = Vec<Value>> + 'a>(
    tx: &'a Tx<'_>,
    database: DatabaseId,
    rows: impl FnOnce(&'a DatabaseState) -> I,
) -> Vec<Vec<Value>> {
    tx.state().database(database).map(|database| rows(database).collect()).unwrap_or_default()
}
