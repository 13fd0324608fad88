//! Statements about principals and permissions: logins, users, roles, GRANT, EXECUTE AS, KILL.
//!
//! This file must not know who may do what; the engine decides.

use crate::engine::{GrantAction, LoginChange, Op, Permission, Secret, Securable, Tx, UserFor};
use crate::error::SqlError;
use crate::interpreter::errors;
use crate::interpreter::execution::{Done, Execution, Stop};
use crate::interpreter::frame::Frame;
use crate::interpreter::names::securable;
use crate::interpreter::operands::{constant_text, integer};
use crate::tsql::ast::name::Ident;
use crate::tsql::ast::security::{
    ExecuteAsStatement, ImpersonatedPrincipal, LoginDefinition, PermissionAction, PermissionStatement,
    PrincipalSource, RoleAction, SecurityStatement, UserDefinition,
};
use crate::tsql::ast::statement::Kill;

/// Permissions that live at the server when no securable is named.
const SERVER_PERMISSIONS: [Permission; 12] = [
    Permission::AlterAnyDatabase,
    Permission::AlterAnyEventNotification,
    Permission::AlterAnyLogin,
    Permission::AlterServerState,
    Permission::ConnectSql,
    Permission::ControlServer,
    Permission::CreateAnyDatabase,
    Permission::CreateDdlEventNotification,
    Permission::CreateTraceEventNotification,
    Permission::ViewAnyDatabase,
    Permission::ViewAnyDefinition,
    Permission::ViewServerState,
];

/// Runs a statement about principals or permissions.
pub(super) async fn run(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    statement: &SecurityStatement,
) -> Result<Done, Stop> {
    match statement {
        SecurityStatement::ExecuteAs(it) => return execute_as(execution, frame, it).await,
        SecurityStatement::Revert => execution.engine(|core, call| core.revert(call))?,
        statement => execution.operate(frame, |tx, _| change(statement, tx)).await?,
    }
    Ok(Done::PLAIN)
}

/// `KILL session`
pub(super) async fn kill(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    statement: &Kill,
) -> Result<Done, Stop> {
    if statement.status_only {
        return Err(SqlError::unsupported("KILL WITH STATUSONLY").into());
    }
    let spid = execution.operate(frame, |tx, scope| integer(&statement.session, scope, tx)).await?;
    let spid = spid.and_then(|spid| i16::try_from(spid).ok()).unwrap_or(0);
    execution.engine(|core, call| core.kill(call, spid))?;
    Ok(Done::PLAIN)
}

async fn execute_as(
    execution: &mut Execution<'_>,
    frame: &mut Frame,
    statement: &ExecuteAsStatement,
) -> Result<Done, Stop> {
    if statement.no_revert {
        return Err(SqlError::unsupported("EXECUTE AS WITH NO REVERT").into());
    }
    let (name, login) = match &statement.principal {
        ImpersonatedPrincipal::Caller => return Err(SqlError::unsupported("EXECUTE AS CALLER").into()),
        ImpersonatedPrincipal::Login(name) => (name, true),
        ImpersonatedPrincipal::User(name) => (name, false),
    };
    let name =
        execution.operate(frame, |_, scope| Ok(constant_text(name, scope)?)).await?.unwrap_or_default();
    execution.engine(|core, call| match login {
        true => core.execute_as_login(call, &name),
        false => core.execute_as_user(call, &name),
    })?;
    Ok(Done::PLAIN)
}

fn change(statement: &SecurityStatement, tx: &mut Tx<'_>) -> Op<()> {
    match statement {
        SecurityStatement::CreateLogin(login) => create_login(login, tx),
        SecurityStatement::AlterLogin(login) => alter_login(login, tx),
        SecurityStatement::CreateUser(user) => create_user(user, tx),
        SecurityStatement::AlterUser(user) => alter_user(user, tx),
        SecurityStatement::CreateRole { name, owner } => {
            tx.create_role(name.as_str(), owner.as_ref().map(Ident::as_str))
        }
        SecurityStatement::AlterRole { name, action } => alter_role(name, action, tx),
        SecurityStatement::AlterAuthorization { .. } => {
            Err(SqlError::unsupported("ALTER AUTHORIZATION").into())
        }
        SecurityStatement::Permission(it) => change_permissions(it, tx),
        SecurityStatement::ExecuteAs(_) | SecurityStatement::Revert => Ok(()),
    }
}

fn create_login(login: &LoginDefinition, tx: &mut Tx<'_>) -> Op<()> {
    match (&login.source, &login.password) {
        (None, Some(password)) => {
            let default_database = login.default_database.as_ref().map(Ident::as_str);
            tx.create_login(login.name.as_str(), Secret::new(password), default_database)
        }
        (None, None) => Err(SqlError::unsupported("CREATE LOGIN with a hashed password").into()),
        (Some(_), _) => {
            Err(SqlError::unsupported("CREATE LOGIN FROM WINDOWS, CERTIFICATE or ASYMMETRIC KEY").into())
        }
    }
}

fn alter_login(login: &LoginDefinition, tx: &mut Tx<'_>) -> Op<()> {
    let change = LoginChange {
        password: login.password.as_deref().map(Secret::new),
        default_database: login.default_database.as_ref().map(|name| name.as_str().to_owned()),
        disabled: login.enable.map(|enable| !enable),
        name: login.new_name.as_ref().map(|name| name.as_str().to_owned()),
    };
    tx.alter_login(login.name.as_str(), change)
}

fn create_user(user: &UserDefinition, tx: &mut Tx<'_>) -> Op<()> {
    let name = user.name.as_str();
    let login = match &user.source {
        None => UserFor::Login(name.to_owned()),
        Some(PrincipalSource::Login(login)) => UserFor::Login(login.as_str().to_owned()),
        Some(PrincipalSource::WithoutLogin) => UserFor::NoLogin,
        Some(_) => {
            let construct = "CREATE USER FROM EXTERNAL PROVIDER, CERTIFICATE or ASYMMETRIC KEY";
            return Err(SqlError::unsupported(construct).into());
        }
    };
    tx.create_user(name, &login, user.default_schema.as_ref().map(Ident::as_str))
}

fn alter_user(user: &UserDefinition, tx: &mut Tx<'_>) -> Op<()> {
    let login = match &user.source {
        None => None,
        Some(PrincipalSource::Login(login)) => Some(login.as_str()),
        Some(_) => {
            return Err(
                SqlError::unsupported("ALTER USER other than WITH NAME, LOGIN, DEFAULT_SCHEMA").into()
            );
        }
    };
    let new_name = user.new_name.as_ref().map(Ident::as_str);
    tx.alter_user(user.name.as_str(), new_name, user.default_schema.as_ref().map(Ident::as_str), login)
}

fn alter_role(name: &Ident, action: &RoleAction, tx: &mut Tx<'_>) -> Op<()> {
    match action {
        RoleAction::AddMember(member) => tx.alter_role(name.as_str(), member.as_str(), true),
        RoleAction::DropMember(member) => tx.alter_role(name.as_str(), member.as_str(), false),
        RoleAction::Rename(_) => Err(SqlError::unsupported("ALTER ROLE WITH NAME").into()),
    }
}

fn change_permissions(statement: &PermissionStatement, tx: &mut Tx<'_>) -> Op<()> {
    let mut permissions = Vec::with_capacity(statement.permissions.len());
    for permission in &statement.permissions {
        if !permission.columns.is_empty() {
            return Err(SqlError::unsupported("permissions on columns").into());
        }
        let known = Permission::by_name(&permission.name);
        let unsupported = || SqlError::unsupported(format_args!("the permission {}", permission.name));
        permissions.push(known.ok_or_else(unsupported)?);
    }
    let principals: Vec<&str> = statement.principals.iter().map(Ident::as_str).collect();
    let action = match statement.action {
        PermissionAction::Grant if statement.grant_option => GrantAction::GrantWithGrantOption,
        PermissionAction::Grant => GrantAction::Grant,
        PermissionAction::Deny => GrantAction::Deny,
        PermissionAction::Revoke => GrantAction::Revoke,
    };
    for permission in permissions {
        let on = match &statement.securable {
            Some(written) => securable(written, tx)?,
            None if SERVER_PERMISSIONS.contains(&permission) => Securable::Server,
            None => Securable::Database(tx.database()),
        };
        if !applies(permission, on) {
            return Err(errors::permission_does_not_apply(permission.name()).into());
        }
        tx.change_permissions(action, &[permission], on, &principals)?;
    }
    Ok(())
}

/// Whether a permission that belongs to one kind of securable is given on that kind.
fn applies(permission: Permission, on: Securable) -> bool {
    match permission {
        Permission::Send => matches!(on, Securable::Service(..)),
        Permission::Receive => matches!(on, Securable::Object(..)),
        Permission::Connect => matches!(on, Securable::Database(_)),
        Permission::Impersonate => matches!(on, Securable::User(..) | Securable::Login(_)),
        permission if SERVER_PERMISSIONS.contains(&permission) => on == Securable::Server,
        _ => true,
    }
}
