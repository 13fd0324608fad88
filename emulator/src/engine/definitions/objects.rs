//! Databases, schemas and schema objects: tables, queues, procedures.

use std::collections::BTreeMap;
use std::sync::Arc;

use uuid::Uuid;

use crate::engine::ids::{DatabaseId, LoginId, ObjectId, PrincipalId, SchemaId};
use crate::value::{Column, Timestamp};

/// Who may enter a database (`user_access` of `sys.databases`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UserAccess {
    /// `MULTI_USER`
    #[default]
    Multi,
    /// `SINGLE_USER`: one session at a time; blocks delivery (spec 1.10).
    Single,
    /// `RESTRICTED_USER`: members of db_owner and sysadmin only.
    Restricted,
}

/// A database, without what it contains (`sys.databases`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Database {
    /// `database_id`
    pub id: DatabaseId,
    /// Name, compared by the default collation.
    pub name: Arc<str>,
    /// `service_broker_guid`
    pub broker_guid: Uuid,
    /// `is_broker_enabled`
    pub broker_enabled: bool,
    /// `is_honor_broker_priority_on`
    pub honor_priority: bool,
    /// `is_trustworthy_on`
    pub trustworthy: bool,
    /// Who may enter.
    pub user_access: UserAccess,
    /// The login that is `dbo` here.
    pub owner: LoginId,
    /// `create_date`
    pub created: Timestamp,
    /// Other options set by ALTER DATABASE SET: upper-case name and value, stored only.
    pub options: BTreeMap<Arc<str>, Arc<str>>,
}

/// A schema (`sys.schemas`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    /// `schema_id`
    pub id: SchemaId,
    /// Name, compared by the default collation.
    pub name: Arc<str>,
    /// Owner.
    pub owner: PrincipalId,
}

/// A schema object (`sys.objects`).
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    /// `object_id`
    pub id: ObjectId,
    /// The schema it lives in.
    pub schema: SchemaId,
    /// Name, unique in its schema by the default collation.
    pub name: Arc<str>,
    /// Explicit owner; `None` means the schema's owner (`principal_id` NULL).
    pub owner: Option<PrincipalId>,
    /// `create_date`
    pub created: Timestamp,
    /// `modify_date`
    pub modified: Timestamp,
    /// `is_ms_shipped`
    pub is_system: bool,
    /// What it is.
    pub kind: ObjectKind,
}

/// The kinds of schema objects.
#[derive(Debug, Clone, PartialEq)]
pub enum ObjectKind {
    /// `SQ`
    Queue(QueueDef),
    /// `U`
    Table(TableDef),
    /// `P` and other modules kept as text
    Procedure(ModuleDef),
}

impl ObjectKind {
    /// `type` of `sys.objects`.
    pub fn type_code(&self) -> &'static str {
        match self {
            ObjectKind::Queue(_) => "SQ",
            ObjectKind::Table(_) => "U",
            ObjectKind::Procedure(module) => module.kind.type_code(),
        }
    }

    /// `type_desc` of `sys.objects`.
    pub fn type_description(&self) -> &'static str {
        match self {
            ObjectKind::Queue(_) => "SERVICE_QUEUE",
            ObjectKind::Table(_) => "USER_TABLE",
            ObjectKind::Procedure(module) => module.kind.type_description(),
        }
    }
}

/// A queue's options (spec 1.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueDef {
    /// `is_receive_enabled`
    pub receive_enabled: bool,
    /// `is_enqueue_enabled`
    pub enqueue_enabled: bool,
    /// `is_retention_enabled`
    pub retention: bool,
    /// `is_poison_message_handling_enabled`
    pub poison_handling: bool,
    /// Internal activation, if the clause was ever given and not dropped.
    pub activation: Option<Activation>,
}

impl Default for QueueDef {
    /// A fresh queue: on, without retention, poison handling on, no activation.
    fn default() -> QueueDef {
        QueueDef {
            receive_enabled: true,
            enqueue_enabled: true,
            retention: false,
            poison_handling: true,
            activation: None,
        }
    }
}

/// Internal activation of a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activation {
    /// `is_activation_enabled`
    pub enabled: bool,
    /// Database of the procedure when the DDL named another one (U-51).
    pub database: Option<Arc<str>>,
    /// Schema of the procedure.
    pub schema: Arc<str>,
    /// Name of the procedure.
    pub procedure: Arc<str>,
    /// `max_readers`, 0 to 32767.
    pub max_readers: u16,
    /// As whom it runs.
    pub execute_as: ActivationUser,
}

/// EXECUTE AS of an activation clause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActivationUser {
    /// SELF or a named user, resolved when the statement ran.
    User(PrincipalId),
    /// OWNER: the queue's owner at the time of the start (catalog value -2).
    Owner,
}

impl ActivationUser {
    /// `execute_as_principal_id`
    pub fn catalog_value(self) -> i32 {
        match self {
            ActivationUser::User(user) => user.0,
            ActivationUser::Owner => -2,
        }
    }
}

/// A table's shape.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TableDef {
    /// Columns in order.
    pub columns: Vec<TableColumn>,
    /// Primary key, unique constraints and indexes.
    pub keys: Vec<KeyDef>,
    /// CHECK constraints.
    pub checks: Vec<CheckDef>,
}

/// A CHECK constraint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckDef {
    /// Its name.
    pub name: Arc<str>,
    /// Text of the condition; the interpreter evaluates it.
    pub condition: Arc<str>,
}

impl TableDef {
    /// Position of the column of that name.
    pub fn column_index(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| crate::engine::ids::same_name(&column.column.name, name))
    }

    /// Position and (seed, increment) of the identity column.
    pub fn identity(&self) -> Option<(usize, (i64, i64))> {
        self.columns.iter().enumerate().find_map(|(index, column)| Some((index, column.identity?)))
    }
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableColumn {
    /// Name, type, nullability, collation.
    pub column: Column,
    /// Text of the DEFAULT expression; the interpreter evaluates it.
    pub default: Option<Arc<str>>,
    /// Name of the DEFAULT constraint, if it was given one.
    pub default_name: Option<Arc<str>>,
    /// IDENTITY (seed, increment).
    pub identity: Option<(i64, i64)>,
    /// Text of the expression of a computed column.
    pub computed: Option<Arc<str>>,
}

impl TableColumn {
    /// A plain column.
    pub fn new(column: Column) -> TableColumn {
        TableColumn { column, default: None, default_name: None, identity: None, computed: None }
    }
}

/// A primary key, unique constraint or index. Only unique ones restrict rows; others are kept for the catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyDef {
    /// Name of constraint or index.
    pub name: Arc<str>,
    /// Positions of its columns, in key order.
    pub columns: Vec<usize>,
    /// PRIMARY KEY.
    pub primary: bool,
    /// Whether two rows may not have the same key.
    pub unique: bool,
    /// A constraint (2627) rather than an index (2601).
    pub constraint: bool,
    /// WITH IGNORE_DUP_KEY.
    pub ignore_duplicates: bool,
}

/// Kinds of modules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModuleKind {
    /// CREATE PROCEDURE
    Procedure,
    /// CREATE VIEW
    View,
    /// CREATE FUNCTION ... RETURNS scalar
    ScalarFunction,
    /// CREATE FUNCTION ... RETURNS TABLE
    TableFunction,
    /// CREATE TRIGGER
    Trigger,
}

impl ModuleKind {
    /// `type` of `sys.objects`.
    pub fn type_code(self) -> &'static str {
        match self {
            ModuleKind::Procedure => "P",
            ModuleKind::View => "V",
            ModuleKind::ScalarFunction => "FN",
            ModuleKind::TableFunction => "IF",
            ModuleKind::Trigger => "TR",
        }
    }

    /// `type_desc` of `sys.objects`.
    pub fn type_description(self) -> &'static str {
        match self {
            ModuleKind::Procedure => "SQL_STORED_PROCEDURE",
            ModuleKind::View => "VIEW",
            ModuleKind::ScalarFunction => "SQL_SCALAR_FUNCTION",
            ModuleKind::TableFunction => "SQL_INLINE_TABLE_VALUED_FUNCTION",
            ModuleKind::Trigger => "SQL_TRIGGER",
        }
    }
}

/// A module: its text, which only the interpreter understands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleDef {
    /// What it is.
    pub kind: ModuleKind,
    /// The whole CREATE statement.
    pub text: Arc<str>,
    /// How many parameters it has; an activation procedure must have none (9653).
    pub parameters: usize,
    /// EXECUTE AS of the module: the user it runs as, `None` for the caller.
    pub execute_as: Option<PrincipalId>,
    /// `QUOTED_IDENTIFIER` when it was created.
    pub quoted_identifier: bool,
}
