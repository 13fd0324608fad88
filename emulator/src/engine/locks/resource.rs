//! What can be locked.

use std::sync::Arc;

use uuid::Uuid;

use crate::engine::ids::{DatabaseId, ObjectKey, RowId, TableKey};

/// A lockable thing.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Resource {
    /// A database: X while it is created, altered or dropped.
    Database(DatabaseId),
    /// A table, queue or procedure: IS and IX for users, X for DDL.
    Object(ObjectKey),
    /// A row of a table.
    Row(TableKey, RowId),
    /// A conversation group (spec 2.10); always X.
    Group(Uuid),
    /// An application lock (`sp_getapplock`), by its name in a database.
    Application(DatabaseId, Arc<str>),
}

impl Resource {
    /// `resource_type` of `sys.dm_tran_locks`; conversation groups have none of their own there.
    pub fn type_name(&self) -> &'static str {
        match self {
            Resource::Database(_) => "DATABASE",
            Resource::Object(_) => "OBJECT",
            Resource::Row(..) => "RID",
            Resource::Group(_) => "CONVERSATION_GROUP",
            Resource::Application(..) => "APPLICATION",
        }
    }
}
