//! The compatibility views `sysdatabases`, `sysusers` and `syslogins`, which need no schema before their name.
//!
//! Columns that describe what the emulator lacks hold what the real views show for "nothing".

use super::{View, ViewColumn, datetime, name, optional, required, unset_datetime};
use crate::engine::{Database, DatabaseId, Login, Op, ServerRole, Tx, User, UserKind};
use crate::value::{Length, SqlType, Value};

pub(super) const VIEWS: &[View] = &[
    View { schema: "sys", name: "sysdatabases", columns: DATABASES, rows: databases },
    View { schema: "sys", name: "sysusers", columns: USERS, rows: users },
    View { schema: "sys", name: "syslogins", columns: LOGINS, rows: logins },
];

/// Compatibility level of SQL Server 2019.
const COMPATIBILITY_LEVEL: u8 = 150;

const SID: SqlType = SqlType::VarBinary(Length::Limited(85));

const DATABASES: &[ViewColumn] = &[
    required("name", SqlType::SYSNAME),
    optional("dbid", SqlType::SmallInt),
    optional("sid", SID),
    optional("mode", SqlType::SmallInt),
    optional("status", SqlType::Int),
    optional("status2", SqlType::Int),
    required("crdate", SqlType::DateTime),
    optional("reserved", SqlType::DateTime),
    optional("category", SqlType::Int),
    required("cmptlevel", SqlType::TinyInt),
    optional("filename", SqlType::nvarchar(260)),
    optional("version", SqlType::SmallInt),
];

fn databases(tx: &Tx<'_>, _database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    Ok(tx.state().databases.values().map(|database| database_row(tx, &database.def)).collect())
}

fn database_row(tx: &Tx<'_>, it: &Database) -> Vec<Value> {
    let owner = tx.state().logins.get(it.owner);
    vec![
        name(&it.name),
        small(it.id.0),
        owner.map_or(Value::Null, |login| sid(login)),
        small(0),
        0.into(),
        0.into(),
        datetime(it.created),
        unset_datetime(),
        0.into(),
        Value::TinyInt(COMPATIBILITY_LEVEL),
        Value::Null,
        small(904),
    ]
}

const USERS: &[ViewColumn] = &[
    optional("uid", SqlType::SmallInt),
    optional("status", SqlType::SmallInt),
    required("name", SqlType::SYSNAME),
    optional("sid", SID),
    optional("roles", SqlType::VarBinary(Length::Limited(2048))),
    required("createdate", SqlType::DateTime),
    required("updatedate", SqlType::DateTime),
    optional("altuid", SqlType::SmallInt),
    optional("password", SqlType::VarBinary(Length::Limited(256))),
    optional("gid", SqlType::SmallInt),
    optional("environ", SqlType::varchar(255)),
    optional("hasdbaccess", SqlType::Int),
    optional("islogin", SqlType::Int),
    optional("isntname", SqlType::Int),
    optional("isntgroup", SqlType::Int),
    optional("isntuser", SqlType::Int),
    optional("issqluser", SqlType::Int),
    optional("isaliased", SqlType::Int),
    optional("issqlrole", SqlType::Int),
    optional("isapprole", SqlType::Int),
];

fn users(tx: &Tx<'_>, database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    let Some(database) = tx.state().database(database) else { return Ok(Vec::new()) };
    Ok(database.users.iter().map(|user| user_row(tx, user)).collect())
}

fn user_row(tx: &Tx<'_>, it: &User) -> Vec<Value> {
    let login = match it.kind {
        UserKind::Login(login) => tx.state().logins.get(login),
        UserKind::WithoutLogin | UserKind::Role => None,
    };
    let is_role = it.kind == UserKind::Role;
    vec![
        small(it.id.0),
        small(0),
        name(&it.name),
        login.map_or(Value::Null, |login| sid(login)),
        Value::Null,
        datetime(it.created),
        datetime(it.created),
        it.owner.map_or(Value::Null, |owner| small(owner.0)),
        Value::Null,
        small(if is_role { it.id.0 } else { 0 }),
        Value::Null,
        flag(login.is_some()),
        flag(!is_role),
        0.into(),
        0.into(),
        0.into(),
        flag(!is_role),
        0.into(),
        flag(is_role),
        0.into(),
    ]
}

const LOGINS: &[ViewColumn] = &[
    optional("sid", SID),
    optional("status", SqlType::SmallInt),
    required("createdate", SqlType::DateTime),
    required("updatedate", SqlType::DateTime),
    required("accdate", SqlType::DateTime),
    optional("totcpu", SqlType::Int),
    optional("totio", SqlType::Int),
    optional("spacelimit", SqlType::Int),
    optional("timelimit", SqlType::Int),
    optional("resultlimit", SqlType::Int),
    required("name", SqlType::SYSNAME),
    optional("dbname", SqlType::SYSNAME),
    optional("password", SqlType::SYSNAME),
    optional("language", SqlType::SYSNAME),
    optional("denylogin", SqlType::Int),
    optional("hasaccess", SqlType::Int),
    optional("isntname", SqlType::Int),
    optional("isntgroup", SqlType::Int),
    optional("isntuser", SqlType::Int),
    optional("sysadmin", SqlType::Int),
    optional("securityadmin", SqlType::Int),
    optional("serveradmin", SqlType::Int),
    optional("setupadmin", SqlType::Int),
    optional("processadmin", SqlType::Int),
    optional("diskadmin", SqlType::Int),
    optional("dbcreator", SqlType::Int),
    optional("bulkadmin", SqlType::Int),
    optional("loginname", SqlType::SYSNAME),
];

fn logins(tx: &Tx<'_>, _database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    Ok(tx.state().logins.iter().map(|login| login_row(login)).collect())
}

fn login_row(it: &Login) -> Vec<Value> {
    let mut row = vec![sid(it), small(9), datetime(it.created), datetime(it.created), datetime(it.created)];
    row.extend([0.into(), 0.into(), 0.into(), 0.into(), 0.into()]);
    row.extend([name(&it.name), name(&it.default_database), Value::Null, name("us_english")]);
    row.extend([0.into(), 1.into(), 0.into(), 0.into(), 0.into()]);
    row.extend([
        flag(it.roles.contains(&ServerRole::SysAdmin)),
        flag(it.roles.contains(&ServerRole::SecurityAdmin)),
        0.into(),
        0.into(),
        0.into(),
        0.into(),
        flag(it.roles.contains(&ServerRole::DbCreator)),
        0.into(),
        name(&it.name),
    ]);
    row
}

fn sid(login: &Login) -> Value {
    Value::Binary(login.sid.to_vec().into())
}

fn small(number: i32) -> Value {
    Value::SmallInt(i16::try_from(number).unwrap_or(i16::MAX))
}

fn flag(value: bool) -> Value {
    i32::from(value).into()
}
