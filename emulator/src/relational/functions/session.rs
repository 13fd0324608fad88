//! Functions about the session, the server, the caught error and conversations.

use super::{Call, Function, Parameter, int, of_session, sysname, variant};
use crate::engine::{LoginId, Op, ServerRole, User};
use crate::error::SqlError;
use crate::relational::convert::convert;
use crate::relational::environment::Context;
use crate::value::{Length, SqlType, Value};

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    of_session("SUSER_SNAME", &[Parameter::Binary], sysname, login_by_sid),
    of_session("SUSER_NAME", &[Parameter::Int], sysname, login_by_id),
    of_session("SUSER_SID", &[Parameter::Unicode], |_| SqlType::VarBinary(Length::Limited(85)), login_sid),
    of_session("SUSER_ID", &[Parameter::Unicode], int, login_id),
    of_session("SYSTEM_USER", &[], sysname, |_, ctx| Ok(text(&ctx.env.session().login))),
    of_session("ORIGINAL_LOGIN", &[], sysname, |_, ctx| Ok(text(&ctx.env.session().original_login))),
    of_session("USER", &[], sysname, |_, ctx| Ok(text(&ctx.env.session().user))),
    of_session("CURRENT_USER", &[], sysname, |_, ctx| Ok(text(&ctx.env.session().user))),
    of_session("SESSION_USER", &[], sysname, |_, ctx| Ok(text(&ctx.env.session().user))),
    of_session("USER_NAME", &[Parameter::Int], sysname, user_name),
    of_session("USER_ID", &[Parameter::Unicode], int, user_id),
    of_session("DATABASE_PRINCIPAL_ID", &[Parameter::Unicode], int, user_id),
    of_session("IS_MEMBER", &[Parameter::Unicode], int, is_member).requiring(1),
    of_session("IS_ROLEMEMBER", &[Parameter::Unicode], int, is_member).requiring(1),
    of_session("IS_SRVROLEMEMBER", &[Parameter::Unicode, Parameter::Unicode], int, is_server_role_member)
        .requiring(1),
    of_session("HOST_NAME", &[], |_| SqlType::nvarchar(128), |_, ctx| Ok(text(&ctx.env.session().host))),
    of_session(
        "APP_NAME",
        &[],
        |_| SqlType::nvarchar(128),
        |_, ctx| Ok(text(&ctx.env.session().application)),
    ),
    of_session(
        "XACT_STATE",
        &[],
        |_| SqlType::SmallInt,
        |_, ctx| Ok(Value::SmallInt(i16::from(ctx.env.session().xact_state))),
    ),
    of_session("SCOPE_IDENTITY", &[], |_| SqlType::Decimal { precision: 38, scale: 0 }, scope_identity),
    of_session("ERROR_NUMBER", &[], int, |_, ctx| Ok(of_error(ctx, |error| Value::Int(error.number)))),
    of_session("ERROR_SEVERITY", &[], int, |_, ctx| {
        Ok(of_error(ctx, |error| Value::Int(i32::from(error.severity))))
    }),
    of_session("ERROR_STATE", &[], int, |_, ctx| {
        Ok(of_error(ctx, |error| Value::Int(i32::from(error.state))))
    }),
    of_session("ERROR_LINE", &[], int, |_, ctx| Ok(of_error(ctx, |error| Value::Int(error.line as i32)))),
    of_session(
        "ERROR_MESSAGE",
        &[],
        |_| SqlType::nvarchar(4000),
        |_, ctx| Ok(of_error(ctx, |error| Value::nvarchar(&error.message))),
    ),
    of_session("ERROR_PROCEDURE", &[], sysname, |_, ctx| Ok(of_error(ctx, procedure))),
    of_session("NEWID", &[], |_| SqlType::UniqueIdentifier, |_, ctx| Ok(Value::Uuid(ctx.tx.new_uuid()))),
    of_session(
        "NEWSEQUENTIALID",
        &[],
        |_| SqlType::UniqueIdentifier,
        |_, ctx| Ok(Value::Uuid(ctx.tx.new_uuid())),
    ),
    of_session(
        "GET_TRANSMISSION_STATUS",
        &[Parameter::Uuid],
        |_| SqlType::nvarchar(4000),
        transmission_status,
    )
    .requiring(1),
    of_session("FULLTEXTSERVICEPROPERTY", &[Parameter::Unicode], int, full_text_property).requiring(1),
    of_session("SERVERPROPERTY", &[Parameter::Unicode], variant, server_property).requiring(1),
];

fn text(text: &str) -> Value {
    Value::nvarchar(text)
}

/// The text of an optional argument: `None` when it was left out, `Some(None)` for NULL.
fn argument(call: &Call<'_>) -> Option<Option<String>> {
    let value = call.arguments.first()?;
    Some((!value.is_null()).then(|| call.string(0)))
}

fn login_by_sid(call: &Call<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
    let wanted = match call.arguments.first() {
        None => return Ok(text(&ctx.env.session().login)),
        Some(Value::Binary(sid)) => sid.clone(),
        Some(_) => return Ok(Value::Null),
    };
    let mut logins = ctx.tx.state().logins.iter();
    let found = logins.find(|login| *login.sid == *wanted);
    Ok(found.map_or(Value::Null, |login| text(&login.name)))
}

fn login_by_id(call: &Call<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
    match call.arguments.first() {
        None => Ok(text(&ctx.env.session().login)),
        Some(Value::Int(id)) => {
            let login = ctx.tx.state().logins.get(LoginId(*id));
            Ok(login.map_or(Value::Null, |login| text(&login.name)))
        }
        Some(_) => Ok(Value::Null),
    }
}

fn login_named(call: &Call<'_>, ctx: &Context<'_, '_>) -> Option<std::sync::Arc<crate::engine::Login>> {
    let name = argument(call).unwrap_or_else(|| Some(ctx.env.session().login.clone()))?;
    let mut logins = ctx.tx.state().logins.iter();
    logins.find(|login| crate::engine::same_name(&login.name, &name)).cloned()
}

fn login_sid(call: &Call<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
    let login = login_named(call, ctx);
    Ok(login.map_or(Value::Null, |login| Value::Binary(login.sid.to_vec().into())))
}

fn login_id(call: &Call<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
    Ok(login_named(call, ctx).map_or(Value::Null, |login| Value::Int(login.id.0)))
}

fn user_name(call: &Call<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
    match call.arguments.first() {
        None => Ok(text(&ctx.env.session().user)),
        Some(Value::Int(id)) => {
            let user = find_user(ctx, |user| user.id.0 == *id);
            Ok(user.map_or(Value::Null, |user| text(&user.name)))
        }
        Some(_) => Ok(Value::Null),
    }
}

fn user_id(call: &Call<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
    let Some(name) = argument(call).unwrap_or_else(|| Some(ctx.env.session().user.clone())) else {
        return Ok(Value::Null);
    };
    let user = find_user(ctx, |user| crate::engine::same_name(&user.name, &name));
    Ok(user.map_or(Value::Null, |user| Value::Int(user.id.0)))
}

fn find_user(ctx: &Context<'_, '_>, wanted: impl Fn(&User) -> bool) -> Option<std::sync::Arc<User>> {
    let database = ctx.tx.state().database(ctx.tx.database())?;
    database.users.iter().find(|user| wanted(user)).cloned()
}

/// NULL for a role that does not exist.
fn is_member(call: &Call<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
    let name = call.string(0);
    let role = find_user(ctx, |user| crate::engine::same_name(&user.name, &name));
    Ok(role.map_or(Value::Null, |role| Value::Int(i32::from(ctx.tx.is_member(role.id)))))
}

fn is_server_role_member(call: &Call<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
    let name = call.string(0);
    if name.eq_ignore_ascii_case("public") {
        return Ok(Value::Int(1));
    }
    let login = match call.arguments.len() {
        1 => ctx.env.session().login.clone(),
        _ => call.string(1),
    };
    let login = ctx.tx.state().logins.iter().find(|entry| crate::engine::same_name(&entry.name, &login));
    let answer = ServerRole::by_name(&name).zip(login).map(|(role, login)| login.roles.contains(&role));
    Ok(answer.map_or(Value::Null, |member| Value::Int(i32::from(member))))
}

fn scope_identity(_: &Call<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
    let identity = ctx.env.session().scope_identity.map_or(Value::Null, Value::BigInt);
    Ok(convert(identity, SqlType::Decimal { precision: 38, scale: 0 }, None, true)?)
}

fn of_error(ctx: &Context<'_, '_>, part: impl Fn(&SqlError) -> Value) -> Value {
    ctx.env.session().error.as_ref().map_or(Value::Null, part)
}

fn procedure(error: &SqlError) -> Value {
    if error.procedure.is_empty() { Value::Null } else { Value::nvarchar(&error.procedure) }
}

fn transmission_status(call: &Call<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
    match call.arguments.first() {
        Some(Value::Uuid(handle)) => Ok(text(&ctx.tx.transmission_status(*handle))),
        _ => Ok(Value::Null),
    }
}

/// Full-text search is not installed; scripts ask before they switch it on.
fn full_text_property(call: &Call<'_>, _: &mut Context<'_, '_>) -> Op<Value> {
    let known = call.string(0).eq_ignore_ascii_case("IsFullTextInstalled");
    Ok(if known { Value::Int(0) } else { Value::Null })
}

/// Properties of the server; NULL for names the server does not know either.
fn server_property(call: &Call<'_>, ctx: &mut Context<'_, '_>) -> Op<Value> {
    let name = call.string(0).to_lowercase();
    let server = ctx.env.session().server_name.clone();
    Ok(match name.as_str() {
        "servername" => text(&server),
        "machinename" | "computernamephysicalnetbios" => text(server.split('\\').next().unwrap_or(&server)),
        "instancename" => server.split_once('\\').map_or(Value::Null, |(_, instance)| text(instance)),
        "productversion" | "resourceversion" => text("15.0.4000.0"),
        "productlevel" => text("RTM"),
        "productmajorversion" => text("15"),
        "productminorversion" => text("0"),
        "productbuild" => text("4000"),
        "edition" => text("Developer Edition (64-bit)"),
        "editionid" => Value::BigInt(-2_117_995_310),
        "engineedition" => Value::Int(3),
        "collation" => text(crate::value::Collation::DEFAULT.name()),
        "collationid" => Value::Int(872_468_488),
        "lcid" => Value::Int(1033),
        "sqlcharset" => Value::TinyInt(1),
        "sqlcharsetname" => text("iso_1"),
        "sqlsortorder" => Value::TinyInt(52),
        "sqlsortordername" => text("nocase_iso"),
        "licensetype" => text("DISABLED"),
        "processid" => Value::Int(i32::try_from(std::process::id()).unwrap_or(i32::MAX)),
        "isclustered"
        | "isfulltextinstalled"
        | "ishadrenabled"
        | "isintegratedsecurityonly"
        | "islocaldb"
        | "issingleuser"
        | "isxtpsupported"
        | "ispolybaseinstalled"
        | "isadvancedanalyticsinstalled" => Value::Int(0),
        _ => Value::Null,
    })
}
