//! `sys.databases`: the databases of the instance with their broker switches.

use super::{View, ViewColumn, bit, datetime, name, optional, required};
use crate::engine::{Database, DatabaseId, Op, Tx, UserAccess};
use crate::value::{Collation, Length, SqlType, Value};

pub(super) const VIEWS: &[View] =
    &[View { schema: "sys", name: "databases", columns: DATABASES, rows: databases }];

/// Compatibility level of SQL Server 2019, whose grammar the parser follows.
const COMPATIBILITY_LEVEL: u8 = 150;

const DATABASES: &[ViewColumn] = &[
    required("name", SqlType::SYSNAME),
    required("database_id", SqlType::Int),
    optional("source_database_id", SqlType::Int),
    optional("owner_sid", SqlType::VarBinary(Length::Limited(85))),
    required("create_date", SqlType::DateTime),
    required("compatibility_level", SqlType::TinyInt),
    optional("collation_name", SqlType::SYSNAME),
    optional("user_access", SqlType::TinyInt),
    optional("user_access_desc", SqlType::nvarchar(60)),
    optional("is_read_only", SqlType::Bit),
    required("is_auto_close_on", SqlType::Bit),
    optional("is_auto_shrink_on", SqlType::Bit),
    optional("state", SqlType::TinyInt),
    optional("state_desc", SqlType::nvarchar(60)),
    optional("is_in_standby", SqlType::Bit),
    optional("is_cleanly_shutdown", SqlType::Bit),
    optional("is_supplemental_logging_enabled", SqlType::Bit),
    optional("snapshot_isolation_state", SqlType::TinyInt),
    optional("snapshot_isolation_state_desc", SqlType::nvarchar(60)),
    optional("is_read_committed_snapshot_on", SqlType::Bit),
    optional("recovery_model", SqlType::TinyInt),
    optional("recovery_model_desc", SqlType::nvarchar(60)),
    optional("is_trustworthy_on", SqlType::Bit),
    optional("is_db_chaining_on", SqlType::Bit),
    optional("is_parameterization_forced", SqlType::Bit),
    required("is_master_key_encrypted_by_server", SqlType::Bit),
    required("is_published", SqlType::Bit),
    required("is_subscribed", SqlType::Bit),
    required("is_merge_published", SqlType::Bit),
    required("is_distributor", SqlType::Bit),
    required("is_sync_with_backup", SqlType::Bit),
    required("service_broker_guid", SqlType::UniqueIdentifier),
    required("is_broker_enabled", SqlType::Bit),
    optional("log_reuse_wait", SqlType::TinyInt),
    optional("log_reuse_wait_desc", SqlType::nvarchar(60)),
    required("is_date_correlation_on", SqlType::Bit),
    required("is_cdc_enabled", SqlType::Bit),
    optional("is_encrypted", SqlType::Bit),
    optional("is_honor_broker_priority_on", SqlType::Bit),
];

fn databases(tx: &Tx<'_>, _database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    Ok(tx.state().databases.values().map(|database| row(tx, &database.def)).collect())
}

fn row(tx: &Tx<'_>, it: &Database) -> Vec<Value> {
    let owner = tx.state().logins.get(it.owner).map(|login| Value::Binary(login.sid.to_vec().into()));
    let (access, access_description) = match it.user_access {
        UserAccess::Multi => (0, "MULTI_USER"),
        UserAccess::Single => (1, "SINGLE_USER"),
        UserAccess::Restricted => (2, "RESTRICTED_USER"),
    };
    vec![
        name(&it.name),
        it.id.0.into(),
        Value::Null,
        owner.unwrap_or(Value::Null),
        datetime(it.created),
        Value::TinyInt(COMPATIBILITY_LEVEL),
        name(Collation::DEFAULT.name()),
        Value::TinyInt(access),
        name(access_description),
        bit(false),
        bit(false),
        bit(false),
        Value::TinyInt(0),
        name("ONLINE"),
        bit(false),
        bit(false),
        bit(false),
        Value::TinyInt(0),
        name("OFF"),
        bit(false),
        // Recovery model SIMPLE: nothing is logged beyond the open transactions.
        Value::TinyInt(3),
        name("SIMPLE"),
        bit(it.trustworthy),
        bit(false),
        bit(false),
        bit(false),
        bit(false),
        bit(false),
        bit(false),
        bit(false),
        bit(false),
        it.broker_guid.into(),
        bit(it.broker_enabled),
        Value::TinyInt(0),
        name("NOTHING"),
        bit(false),
        bit(false),
        bit(false),
        bit(it.honor_priority),
    ]
}
