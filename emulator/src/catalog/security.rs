//! Views of principals and permissions.

use super::{View, ViewColumn, bit, datetime, fixed, name, optional, required};
use crate::engine::{DatabaseId, Login, Op, Tx, User, UserKind};
use crate::value::{Length, SqlType, Value};

pub(super) const VIEWS: &[View] = &[
    View {
        schema: "sys",
        name: "database_principals",
        columns: DATABASE_PRINCIPALS,
        rows: database_principals,
    },
    View { schema: "sys", name: "database_role_members", columns: ROLE_MEMBERS, rows: database_role_members },
    View { schema: "sys", name: "server_principals", columns: SERVER_PRINCIPALS, rows: server_principals },
];

const DATABASE_PRINCIPALS: &[ViewColumn] = &[
    required("name", SqlType::SYSNAME),
    required("principal_id", SqlType::Int),
    required("type", SqlType::Char(1)),
    optional("type_desc", SqlType::nvarchar(60)),
    optional("default_schema_name", SqlType::SYSNAME),
    required("create_date", SqlType::DateTime),
    required("modify_date", SqlType::DateTime),
    optional("owning_principal_id", SqlType::Int),
    optional("sid", SqlType::VarBinary(Length::Limited(85))),
    required("is_fixed_role", SqlType::Bit),
    required("authentication_type", SqlType::Int),
    optional("authentication_type_desc", SqlType::nvarchar(60)),
];

fn database_principals(tx: &Tx<'_>, database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    let Some(database) = tx.state().database(database) else { return Ok(Vec::new()) };
    Ok(database.users.iter().map(|user| principal_row(tx, user)).collect())
}

fn principal_row(tx: &Tx<'_>, it: &User) -> Vec<Value> {
    let (code, description) = match it.kind {
        UserKind::Role => ("R", "DATABASE_ROLE"),
        UserKind::Login(_) | UserKind::WithoutLogin => ("S", "SQL_USER"),
    };
    let login = match it.kind {
        UserKind::Login(login) => tx.state().logins.get(login),
        UserKind::WithoutLogin | UserKind::Role => None,
    };
    let authentication = if login.is_some() { (1, "INSTANCE") } else { (0, "NONE") };
    vec![
        name(&it.name),
        it.id.0.into(),
        fixed(code, 1),
        name(description),
        if code == "R" { Value::Null } else { name(&it.default_schema) },
        datetime(it.created),
        datetime(it.created),
        it.owner.map(|owner| owner.0).into(),
        login.map_or(Value::Null, |login| Value::Binary(login.sid.to_vec().into())),
        bit(it.is_fixed && code == "R"),
        authentication.0.into(),
        name(authentication.1),
    ]
}

const ROLE_MEMBERS: &[ViewColumn] =
    &[required("role_principal_id", SqlType::Int), required("member_principal_id", SqlType::Int)];

fn database_role_members(tx: &Tx<'_>, database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    let Some(database) = tx.state().database(database) else { return Ok(Vec::new()) };
    let members = database.users.iter();
    Ok(members.flat_map(|user| user.roles.iter().map(|role| vec![role.0.into(), user.id.0.into()])).collect())
}

const SERVER_PRINCIPALS: &[ViewColumn] = &[
    required("name", SqlType::SYSNAME),
    required("principal_id", SqlType::Int),
    optional("sid", SqlType::VarBinary(Length::Limited(85))),
    required("type", SqlType::Char(1)),
    optional("type_desc", SqlType::nvarchar(60)),
    optional("is_disabled", SqlType::Bit),
    required("create_date", SqlType::DateTime),
    required("modify_date", SqlType::DateTime),
    optional("default_database_name", SqlType::SYSNAME),
];

fn server_principals(tx: &Tx<'_>, _database: DatabaseId) -> Op<Vec<Vec<Value>>> {
    Ok(tx.state().logins.iter().map(|login| login_row(login)).collect())
}

fn login_row(it: &Login) -> Vec<Value> {
    vec![
        name(&it.name),
        it.id.0.into(),
        Value::Binary(it.sid.to_vec().into()),
        fixed("S", 1),
        name("SQL_LOGIN"),
        bit(it.disabled),
        datetime(it.created),
        datetime(it.created),
        name(&it.default_database),
    ]
}
