//! What exists before anybody creates anything: the system databases, and in every database its built-in principals,
//! schemas, message types, contracts, queues, services and the route `AutoCreatedLocal` (spec 1.2 to 1.6).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::value::Timestamp;

use super::core::Core;
use super::definitions::{
    Contract, ContractUsage, Database, Grant, GrantState, Login, MessageType, Object, ObjectKind, Permission,
    PermissionKey, QueueDef, Route, Schema, Secret, Securable, ServerRole, Service, User, UserAccess,
    UserKind, Validation,
};
use super::ids::{
    ContractId, DatabaseId, MessageTypeId, ObjectId, PrincipalId, RouteId, SchemaId, ServiceId,
};
use super::tx::Tx;

/// The schema every object of the broker's own is in.
const DBO_SCHEMA: SchemaId = SchemaId(1);

/// System databases: id, name, whether the broker is enabled (as fresh servers show them).
const SYSTEM_DATABASES: [(i32, &str, bool); 4] =
    [(1, "master", false), (2, "tempdb", true), (3, "model", false), (4, "msdb", true)];

/// Built-in users and roles: id, name, whether it is a role. Roles have a schema of their own name and number.
const PRINCIPALS: [(i32, &str, bool); 14] = [
    (0, "public", true),
    (1, "dbo", false),
    (2, "guest", false),
    (3, "INFORMATION_SCHEMA", false),
    (4, "sys", false),
    (16384, "db_owner", true),
    (16385, "db_accessadmin", true),
    (16386, "db_securityadmin", true),
    (16387, "db_ddladmin", true),
    (16389, "db_backupoperator", true),
    (16390, "db_datareader", true),
    (16391, "db_datawriter", true),
    (16392, "db_denydatareader", true),
    (16393, "db_denydatawriter", true),
];

const BROKER: &str = "http://schemas.microsoft.com/SQL/ServiceBroker/";
const NOTIFICATIONS: &str = "http://schemas.microsoft.com/SQL/Notifications/";

/// System message types in the order of their ids, which start at 1 (spec 1.2).
const MESSAGE_TYPES: [(&str, &str, Validation); 14] = [
    (BROKER, "Error", Validation::WellFormedXml),
    (BROKER, "EndDialog", Validation::Empty),
    (NOTIFICATIONS, "QueryNotification", Validation::WellFormedXml),
    (NOTIFICATIONS, "EventNotification", Validation::WellFormedXml),
    (BROKER, "DialogTimer", Validation::Empty),
    (BROKER, "BrokerConfigurationNotice/MissingRoute", Validation::WellFormedXml),
    (BROKER, "BrokerConfigurationNotice/FailedRoute", Validation::WellFormedXml),
    (BROKER, "BrokerConfigurationNotice/MissingRemoteServiceBinding", Validation::WellFormedXml),
    (BROKER, "BrokerConfigurationNotice/FailedRemoteServiceBinding", Validation::WellFormedXml),
    (BROKER, "ServiceEcho/Echo", Validation::None),
    (BROKER, "ServiceDiagnostic/Query", Validation::WellFormedXml),
    (BROKER, "ServiceDiagnostic/Status", Validation::WellFormedXml),
    (BROKER, "ServiceDiagnostic/Description", Validation::None),
    ("", "DEFAULT", Validation::None),
];

/// A system contract: prefix, name, its message types by id and who sends them.
type SystemContract = (&'static str, &'static str, &'static [(i32, By)]);

#[derive(Clone, Copy)]
enum By {
    Initiator,
    Target,
    Any,
}

/// System contracts in the order of their ids, which start at 1 (spec 1.3).
const CONTRACTS: [SystemContract; 6] = [
    (NOTIFICATIONS, "PostQueryNotification", &[(3, By::Initiator)]),
    (NOTIFICATIONS, "PostEventNotification", &[(4, By::Initiator)]),
    (
        BROKER,
        "BrokerConfigurationNotice",
        &[(6, By::Initiator), (7, By::Initiator), (8, By::Initiator), (9, By::Initiator)],
    ),
    (BROKER, "ServiceEcho", &[(10, By::Any)]),
    (BROKER, "ServiceDiagnostic", &[(11, By::Initiator), (12, By::Target), (13, By::Target)]),
    ("", "DEFAULT", &[(14, By::Any)]),
];

/// System queues with their object ids (spec 1.4; the third as fresh databases show it).
const QUEUES: [(i32, &str); 3] = [
    (1_977_058_079, "QueryNotificationErrorsQueue"),
    (2_009_058_193, "EventNotificationErrorsQueue"),
    (2_041_058_307, "ServiceBrokerQueue"),
];

/// System services in the order of their ids, which start at 1 (spec 1.5): queue by its place above, contracts by id.
const SERVICES: [(&str, &str, usize, &[i32]); 3] = [
    (NOTIFICATIONS, "QueryNotificationService", 0, &[1]),
    (NOTIFICATIONS, "EventNotificationService", 1, &[2]),
    (BROKER, "ServiceBroker", 2, &[4, 5]),
];

/// `route_id` of `AutoCreatedLocal` (spec 1.1).
const AUTO_CREATED_LOCAL: RouteId = RouteId(65536);

/// Fills an empty instance: the login sa and the system databases.
pub(super) fn create_instance(core: &mut Core, now: Timestamp) {
    let password = core.options.sa_password.clone();
    let created = core.background(DatabaseId(1), now, |tx| {
        create_sa(tx, password, now);
        for (id, name, broker_enabled) in SYSTEM_DATABASES {
            let database = Database {
                id: DatabaseId(id),
                name: name.into(),
                broker_guid: tx.new_uuid(),
                broker_enabled,
                honor_priority: false,
                trustworthy: name == "msdb",
                user_access: UserAccess::Multi,
                owner: Login::SA,
                created: now,
                options: BTreeMap::new(),
            };
            create_database(tx, database);
            if name != "model" {
                grant(tx, Securable::Database(DatabaseId(id)), User::GUEST.0, Permission::Connect);
            }
        }
        Ok(())
    });
    debug_assert!(created.is_ok(), "an empty instance refuses nothing");
}

/// Puts a new database and its system objects.
pub(super) fn create_database(tx: &mut Tx<'_>, database: Database) {
    let id = database.id;
    let created = database.created;
    tx.put_database(id, Some(Arc::new(database)));
    create_principals(tx, id, created);
    create_message_types(tx, id);
    create_contracts(tx, id);
    create_queues(tx, id, created);
    create_services(tx, id);
    let route = Route {
        id: AUTO_CREATED_LOCAL,
        name: "AutoCreatedLocal".into(),
        owner: User::DBO,
        remote_service: None,
        broker_instance: None,
        expires: None,
        address: "LOCAL".into(),
        mirror_address: None,
    };
    tx.put(id, route.id, Some(Arc::new(route)));
}

fn create_sa(tx: &mut Tx<'_>, password: Option<Secret>, now: Timestamp) {
    let sa = Login {
        id: Login::SA,
        name: "sa".into(),
        disabled: password.is_none(),
        password: password.unwrap_or_else(|| Secret::new("")),
        sid: [1].as_slice().into(),
        default_database: "master".into(),
        roles: BTreeSet::from([ServerRole::SysAdmin]),
        created: now,
    };
    tx.put_login(Login::SA, Some(Arc::new(sa)));
    grant(tx, Securable::Server, Login::PUBLIC.0, Permission::ViewAnyDatabase);
}

fn grant(tx: &mut Tx<'_>, securable: Securable, grantee: i32, permission: Permission) {
    let key = PermissionKey { securable, grantee, permission };
    tx.put_permission(key, Some(Grant { state: GrantState::Grant, grantor: User::DBO.0 }));
}

fn create_principals(tx: &mut Tx<'_>, database: DatabaseId, created: Timestamp) {
    for (id, name, is_role) in PRINCIPALS {
        let principal = PrincipalId(id);
        let user = User {
            id: principal,
            name: name.into(),
            kind: if is_role { UserKind::Role } else { UserKind::WithoutLogin },
            default_schema: if name == "guest" { "guest".into() } else { "dbo".into() },
            roles: if principal == User::DBO { BTreeSet::from([User::DB_OWNER]) } else { BTreeSet::new() },
            is_fixed: true,
            owner: is_role.then_some(User::DBO),
            created,
        };
        tx.put(database, principal, Some(Arc::new(user)));
        if id != 0 {
            let schema = Schema { id: SchemaId(id), name: name.into(), owner: principal };
            tx.put(database, schema.id, Some(Arc::new(schema)));
        }
    }
    grant(tx, Securable::Database(database), User::DBO.0, Permission::Connect);
}

fn create_message_types(tx: &mut Tx<'_>, database: DatabaseId) {
    for (id, (prefix, name, validation)) in (1..).zip(MESSAGE_TYPES) {
        let name = format!("{prefix}{name}").into();
        let entry = MessageType { id: MessageTypeId(id), name, owner: User::DBO, validation };
        tx.put(database, entry.id, Some(Arc::new(entry)));
    }
}

fn create_contracts(tx: &mut Tx<'_>, database: DatabaseId) {
    for (id, (prefix, name, types)) in (1..).zip(CONTRACTS) {
        let usages = types.iter().map(|(message_type, by)| ContractUsage {
            message_type: MessageTypeId(*message_type),
            by_initiator: matches!(by, By::Initiator | By::Any),
            by_target: matches!(by, By::Target | By::Any),
        });
        let entry = Contract {
            id: ContractId(id),
            name: format!("{prefix}{name}").into(),
            owner: User::DBO,
            usages: usages.collect(),
        };
        tx.put(database, entry.id, Some(Arc::new(entry)));
    }
}

fn create_queues(tx: &mut Tx<'_>, database: DatabaseId, created: Timestamp) {
    for (id, name) in QUEUES {
        let queue = Object {
            id: ObjectId(id),
            schema: DBO_SCHEMA,
            name: name.into(),
            owner: None,
            created,
            modified: created,
            is_system: true,
            kind: ObjectKind::Queue(QueueDef::default()),
        };
        tx.put(database, queue.id, Some(Arc::new(queue)));
    }
}

fn create_services(tx: &mut Tx<'_>, database: DatabaseId) {
    for (id, (prefix, name, queue, contracts)) in (1..).zip(SERVICES) {
        let entry = Service {
            id: ServiceId(id),
            name: format!("{prefix}{name}").into(),
            owner: User::DBO,
            queue: ObjectId(QUEUES[queue].0),
            contracts: contracts.iter().map(|contract| ContractId(*contract)).collect(),
        };
        tx.put(database, entry.id, Some(Arc::new(entry)));
    }
}
