//! Dynamic management views: queue monitors, activated tasks, sessions (spec 5.1, 5.4, 8). They need VIEW SERVER STATE.

use super::objects::all_partitions;
use super::{View, ViewColumn, bit, datetime, name, optional, required};
use crate::engine::{DatabaseId, Op, Permission, Securable, Tx};
use crate::request::IsolationLevel;
use crate::value::{Length, SqlType, Value};

pub(super) const VIEWS: &[View] = &[
    View { schema: "sys", name: "dm_broker_queue_monitors", columns: QUEUE_MONITORS, rows: queue_monitors },
    View {
        schema: "sys",
        name: "dm_broker_activated_tasks",
        columns: ACTIVATED_TASKS,
        rows: activated_tasks,
    },
    View { schema: "sys", name: "dm_exec_sessions", columns: SESSIONS, rows: exec_sessions },
    View { schema: "sys", name: "dm_db_partition_stats", columns: PARTITION_STATS, rows: partition_stats },
];

const QUEUE_MONITORS: &[ViewColumn] = &[
    optional("database_id", SqlType::Int),
    optional("queue_id", SqlType::Int),
    optional("state", SqlType::nvarchar(32)),
    optional("last_empty_rowset_time", SqlType::DateTime),
    optional("last_activated_time", SqlType::DateTime),
    optional("tasks_waiting", SqlType::Int),
];

/// Monitors of all databases, as the real view has them.
fn queue_monitors(tx: &Tx<'_>, _database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    require_server_state(tx)?;
    Ok(tx
        .monitors()
        .into_iter()
        .map(|it| {
            vec![
                it.queue.database.0.into(),
                it.queue.object.0.into(),
                name(it.state.name()),
                it.last_empty_rowset_time.map_or(Value::Null, datetime),
                it.last_activated_time.map_or(Value::Null, datetime),
                i32::try_from(it.tasks_waiting).unwrap_or(i32::MAX).into(),
            ]
        })
        .collect())
}

const ACTIVATED_TASKS: &[ViewColumn] = &[
    optional("spid", SqlType::Int),
    optional("database_id", SqlType::SmallInt),
    optional("queue_id", SqlType::Int),
    optional("procedure_name", SqlType::nvarchar(650)),
    optional("execute_as", SqlType::Int),
];

/// The activated procedures that run, of all databases.
fn activated_tasks(tx: &Tx<'_>, _database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    require_server_state(tx)?;
    let tasks = tx.activated_tasks().into_iter();
    Ok(tasks
        .map(|it| {
            vec![
                i32::from(it.spid).into(),
                Value::SmallInt(i16::try_from(it.queue.database.0).unwrap_or(i16::MAX)),
                it.queue.object.0.into(),
                name(&it.procedure),
                it.execute_as.into(),
            ]
        })
        .collect())
}

const SESSIONS: &[ViewColumn] = &[
    required("session_id", SqlType::SmallInt),
    required("login_time", SqlType::DateTime),
    optional("host_name", SqlType::nvarchar(128)),
    optional("program_name", SqlType::nvarchar(128)),
    required("security_id", SqlType::VarBinary(Length::Limited(85))),
    required("login_name", SqlType::nvarchar(128)),
    required("status", SqlType::nvarchar(30)),
    required("is_user_process", SqlType::Bit),
    required("transaction_isolation_level", SqlType::SmallInt),
    required("original_login_name", SqlType::nvarchar(128)),
    required("database_id", SqlType::SmallInt),
    required("open_transaction_count", SqlType::Int),
];

/// The caller's own session shows to everybody, others with VIEW SERVER STATE only, as in the real view.
fn exec_sessions(tx: &Tx<'_>, _database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    let sees_all = tx.has_permission(Permission::ViewServerState, Securable::Server);
    let visible = tx.sessions().filter(|(id, ..)| sees_all || *id == tx.call().session);
    Ok(visible
        .map(|(id, it, trancount)| {
            let login = tx.state().logins.get(it.login);
            let login_name = login.map_or(Value::Null, |login| name(&login.name));
            vec![
                Value::SmallInt(it.spid),
                datetime(it.login_time),
                name(&it.host),
                name(&it.application),
                login.map_or(Value::Null, |login| Value::Binary(login.sid.to_vec().into())),
                login_name.clone(),
                name(if id == tx.call().session { "running" } else { "sleeping" }),
                bit(true),
                Value::SmallInt(isolation_number(it.isolation)),
                login_name,
                Value::SmallInt(i16::try_from(it.database.0).unwrap_or(i16::MAX)),
                trancount.into(),
            ]
        })
        .collect())
}

fn isolation_number(level: IsolationLevel) -> i16 {
    match level {
        IsolationLevel::ReadUncommitted => 1,
        IsolationLevel::ReadCommitted => 2,
        IsolationLevel::RepeatableRead => 3,
        IsolationLevel::Serializable => 4,
        IsolationLevel::Snapshot => 5,
    }
}

/// The row counts of `sys.partitions` for holders of VIEW DATABASE STATE. Page counts are left out: there are no pages.
const PARTITION_STATS: &[ViewColumn] = &[
    optional("partition_id", SqlType::BigInt),
    required("object_id", SqlType::Int),
    required("index_id", SqlType::Int),
    required("partition_number", SqlType::Int),
    optional("row_count", SqlType::BigInt),
];

fn partition_stats(tx: &Tx<'_>, database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    tx.require(Permission::ViewDatabaseState, Securable::Database(database))?;
    let rows = all_partitions(tx, database).into_iter();
    Ok(rows
        .map(|row| {
            row.into_iter()
                .enumerate()
                .filter(|(at, _)| [0, 1, 2, 3, 5].contains(at))
                .map(|(_, value)| value)
                .collect()
        })
        .collect())
}

fn require_server_state(tx: &Tx<'_>) -> Op<()> {
    Ok(tx.require(Permission::ViewServerState, Securable::Server)?)
}
