//! Logins, users, roles and permissions.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::engine::ids::{
    BindingId, ContractId, DatabaseId, LoginId, MessageTypeId, ObjectId, PrincipalId, RouteId, SchemaId,
    ServiceId,
};
use crate::value::Timestamp;

/// A password. It has no `Debug` output and compares in a time that depends on lengths only.
#[derive(Clone)]
pub struct Secret(Arc<[u8]>);

impl Secret {
    /// Keeps `password`.
    pub fn new(password: &str) -> Secret {
        Secret(password.as_bytes().into())
    }

    /// Whether `password` is the one kept; case counts.
    pub fn matches(&self, password: &str) -> bool {
        let given = password.as_bytes();
        let differing = self.0.iter().zip(given).fold(0, |bits, (left, right)| bits | (left ^ right));
        differing == 0 && self.0.len() == given.len()
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

/// Fixed server roles the emulator knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServerRole {
    /// `sysadmin`: may do everything.
    SysAdmin,
    /// `securityadmin`: logins and their server permissions.
    SecurityAdmin,
    /// `dbcreator`: create, alter and drop databases.
    DbCreator,
}

impl ServerRole {
    /// Every role.
    pub const ALL: [ServerRole; 3] = [ServerRole::SysAdmin, ServerRole::SecurityAdmin, ServerRole::DbCreator];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            ServerRole::SysAdmin => "sysadmin",
            ServerRole::SecurityAdmin => "securityadmin",
            ServerRole::DbCreator => "dbcreator",
        }
    }

    /// `principal_id` at the server.
    pub fn id(self) -> LoginId {
        match self {
            ServerRole::SysAdmin => LoginId(3),
            ServerRole::SecurityAdmin => LoginId(4),
            ServerRole::DbCreator => LoginId(9),
        }
    }

    /// The role of that name.
    pub fn by_name(name: &str) -> Option<ServerRole> {
        ServerRole::ALL.into_iter().find(|role| role.name().eq_ignore_ascii_case(name))
    }
}

/// A login (`sys.server_principals`, type S).
#[derive(Debug, Clone)]
pub struct Login {
    /// `principal_id`
    pub id: LoginId,
    /// Name, compared by the default collation.
    pub name: Arc<str>,
    /// Password.
    pub password: Secret,
    /// `sid`: 0x01 for sa, 16 bytes otherwise.
    pub sid: Arc<[u8]>,
    /// `default_database_name`
    pub default_database: Arc<str>,
    /// DISABLE refuses the login.
    pub disabled: bool,
    /// Fixed server roles it is a member of.
    pub roles: BTreeSet<ServerRole>,
    /// `create_date`
    pub created: Timestamp,
}

/// Kinds of database principals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserKind {
    /// A user for the login, by its sid.
    Login(LoginId),
    /// WITHOUT LOGIN, and the built-in users without one.
    WithoutLogin,
    /// A role.
    Role,
}

/// A user or role of a database (`sys.database_principals`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// `principal_id`
    pub id: PrincipalId,
    /// Name, compared by the default collation.
    pub name: Arc<str>,
    /// What it is.
    pub kind: UserKind,
    /// `default_schema_name`
    pub default_schema: Arc<str>,
    /// Roles it is a direct member of, apart from public.
    pub roles: BTreeSet<PrincipalId>,
    /// `is_fixed_role`, or a built-in user: cannot be dropped.
    pub is_fixed: bool,
    /// Owner of a role.
    pub owner: Option<PrincipalId>,
    /// `create_date`
    pub created: Timestamp,
}

impl User {
    /// `dbo`
    pub const DBO: PrincipalId = PrincipalId(1);
    /// `guest`
    pub const GUEST: PrincipalId = PrincipalId(2);
    /// `public`
    pub const PUBLIC: PrincipalId = PrincipalId(0);
    /// `db_owner`
    pub const DB_OWNER: PrincipalId = PrincipalId(16384);
    /// `db_accessadmin`
    pub const DB_ACCESSADMIN: PrincipalId = PrincipalId(16385);
    /// `db_securityadmin`
    pub const DB_SECURITYADMIN: PrincipalId = PrincipalId(16386);
    /// `db_ddladmin`
    pub const DB_DDLADMIN: PrincipalId = PrincipalId(16387);
    /// `db_datareader`
    pub const DB_DATAREADER: PrincipalId = PrincipalId(16390);
    /// `db_datawriter`
    pub const DB_DATAWRITER: PrincipalId = PrincipalId(16391);
}

macro_rules! permissions {
    ($($variant:ident $name:literal $code:literal,)*) => {
        /// A permission that can be granted. The name of each variant is its T-SQL name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Permission {
            $(#[doc = concat!("`", $name, "`")] $variant,)*
        }

        impl Permission {
            /// Every permission.
            pub const ALL: &'static [Permission] = &[$(Permission::$variant,)*];

            /// Its T-SQL name, upper case.
            pub fn name(self) -> &'static str {
                match self { $(Permission::$variant => $name,)* }
            }

            /// `type` of `sys.database_permissions` and `sys.server_permissions`.
            pub fn code(self) -> &'static str {
                match self { $(Permission::$variant => $code,)* }
            }
        }
    };
}

permissions! {
    Alter "ALTER" "AL",
    AlterAnyContract "ALTER ANY CONTRACT" "ALSC",
    AlterAnyDatabase "ALTER ANY DATABASE" "ALDB",
    AlterAnyDatabaseEventNotification "ALTER ANY DATABASE EVENT NOTIFICATION" "ALED",
    AlterAnyEventNotification "ALTER ANY EVENT NOTIFICATION" "ALES",
    AlterAnyLogin "ALTER ANY LOGIN" "ALLG",
    AlterAnyMessageType "ALTER ANY MESSAGE TYPE" "ALMT",
    AlterAnyRemoteServiceBinding "ALTER ANY REMOTE SERVICE BINDING" "ALSB",
    AlterAnyRole "ALTER ANY ROLE" "ALRL",
    AlterAnyRoute "ALTER ANY ROUTE" "ALRT",
    AlterAnySchema "ALTER ANY SCHEMA" "ALSM",
    AlterAnyService "ALTER ANY SERVICE" "ALSV",
    AlterAnyUser "ALTER ANY USER" "ALUS",
    AlterServerState "ALTER SERVER STATE" "ALSS",
    Connect "CONNECT" "CO",
    ConnectSql "CONNECT SQL" "COSQ",
    Control "CONTROL" "CL",
    ControlServer "CONTROL SERVER" "CL",
    CreateAnyDatabase "CREATE ANY DATABASE" "CRDB",
    CreateContract "CREATE CONTRACT" "CRSC",
    CreateDatabase "CREATE DATABASE" "CRDB",
    CreateDatabaseDdlEventNotification "CREATE DATABASE DDL EVENT NOTIFICATION" "CRED",
    CreateDdlEventNotification "CREATE DDL EVENT NOTIFICATION" "CRDE",
    CreateFunction "CREATE FUNCTION" "CRFN",
    CreateMessageType "CREATE MESSAGE TYPE" "CRMT",
    CreateProcedure "CREATE PROCEDURE" "CRPR",
    CreateQueue "CREATE QUEUE" "CRQU",
    CreateRemoteServiceBinding "CREATE REMOTE SERVICE BINDING" "CRSB",
    CreateRole "CREATE ROLE" "CRRL",
    CreateRoute "CREATE ROUTE" "CRRT",
    CreateSchema "CREATE SCHEMA" "CRSM",
    CreateService "CREATE SERVICE" "CRSV",
    CreateTable "CREATE TABLE" "CRTB",
    CreateTraceEventNotification "CREATE TRACE EVENT NOTIFICATION" "CRTE",
    CreateView "CREATE VIEW" "CRVW",
    Delete "DELETE" "DL",
    Execute "EXECUTE" "EX",
    Impersonate "IMPERSONATE" "IM",
    Insert "INSERT" "IN",
    Receive "RECEIVE" "RC",
    References "REFERENCES" "RF",
    Select "SELECT" "SL",
    Send "SEND" "SN",
    TakeOwnership "TAKE OWNERSHIP" "TO",
    Update "UPDATE" "UP",
    ViewAnyDatabase "VIEW ANY DATABASE" "VWDB",
    ViewAnyDefinition "VIEW ANY DEFINITION" "VWAD",
    ViewDatabaseState "VIEW DATABASE STATE" "VWDS",
    ViewDefinition "VIEW DEFINITION" "VW",
    ViewServerState "VIEW SERVER STATE" "VWSS",
}

impl Permission {
    /// The permission of that T-SQL name, without regard to case.
    pub fn by_name(name: &str) -> Option<Permission> {
        Permission::ALL.iter().copied().find(|permission| permission.name().eq_ignore_ascii_case(name))
    }
}

/// What a permission is about. All but the first three live in one database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Securable {
    /// The instance.
    Server,
    /// A login.
    Login(LoginId),
    /// A database.
    Database(DatabaseId),
    /// A schema.
    Schema(DatabaseId, SchemaId),
    /// A table, queue or procedure.
    Object(DatabaseId, ObjectId),
    /// A message type.
    MessageType(DatabaseId, MessageTypeId),
    /// A contract.
    Contract(DatabaseId, ContractId),
    /// A service.
    Service(DatabaseId, ServiceId),
    /// A route.
    Route(DatabaseId, RouteId),
    /// A remote service binding.
    Binding(DatabaseId, BindingId),
    /// A user or role.
    User(DatabaseId, PrincipalId),
}

impl Securable {
    /// The database it lives in.
    pub fn database(self) -> Option<DatabaseId> {
        match self {
            Securable::Server | Securable::Login(_) => None,
            Securable::Database(database)
            | Securable::Schema(database, _)
            | Securable::Object(database, _)
            | Securable::MessageType(database, _)
            | Securable::Contract(database, _)
            | Securable::Service(database, _)
            | Securable::Route(database, _)
            | Securable::Binding(database, _)
            | Securable::User(database, _) => Some(database),
        }
    }
}

/// Which permission of whom on what: the key of a [`Grant`]. `grantee` is a login's number for server securables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PermissionKey {
    /// On what.
    pub securable: Securable,
    /// To whom.
    pub grantee: i32,
    /// Which.
    pub permission: Permission,
}

/// `state` of a permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GrantState {
    /// GRANT
    Grant,
    /// GRANT ... WITH GRANT OPTION
    GrantWithGrantOption,
    /// DENY
    Deny,
}

/// A permission given or denied (`sys.database_permissions`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// Granted or denied.
    pub state: GrantState,
    /// Who did it.
    pub grantor: i32,
}
