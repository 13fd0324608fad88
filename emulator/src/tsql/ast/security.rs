//! Logins, users, roles, permissions, EXECUTE AS.
//!
//! Must not know who exists or who may do what.

use super::broker::TextOrVariable;
use super::name::{Ident, ObjectName};

/// A statement about principals or permissions.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SecurityStatement {
    /// `CREATE LOGIN`
    CreateLogin(LoginDefinition),
    /// `ALTER LOGIN`
    AlterLogin(LoginDefinition),
    /// `CREATE USER`
    CreateUser(UserDefinition),
    /// `ALTER USER`
    AlterUser(UserDefinition),
    /// `CREATE ROLE`
    CreateRole {
        /// The role.
        name: Ident,
        /// AUTHORIZATION.
        owner: Option<Ident>,
    },
    /// `ALTER ROLE`
    AlterRole {
        /// The role.
        name: Ident,
        /// What to do to it.
        action: RoleAction,
    },
    /// `ALTER AUTHORIZATION ON ..`
    AlterAuthorization {
        /// The class before `::`, in upper case.
        class: Option<String>,
        /// The securable.
        securable: ObjectName,
        /// The new owner; `None` is SCHEMA OWNER.
        owner: Option<Ident>,
    },
    /// `GRANT`, `DENY`, `REVOKE`
    Permission(PermissionStatement),
    /// `EXECUTE AS ..` as a statement
    ExecuteAs(ExecuteAsStatement),
    /// `REVERT`
    Revert,
}

/// CREATE LOGIN and ALTER LOGIN; what is absent was not written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoginDefinition {
    /// The login.
    pub(crate) name: Ident,
    /// PASSWORD as a string; a hashed one is not kept.
    pub(crate) password: Option<String>,
    /// FROM WINDOWS, CERTIFICATE or ASYMMETRIC KEY.
    pub(crate) source: Option<PrincipalSource>,
    /// DEFAULT_DATABASE.
    pub(crate) default_database: Option<Ident>,
    /// `ENABLE` or `DISABLE`, in ALTER LOGIN.
    pub(crate) enable: Option<bool>,
    /// NAME: the new name, in ALTER LOGIN.
    pub(crate) new_name: Option<Ident>,
}

/// What a login or user is based on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PrincipalSource {
    /// `WINDOWS` or an external provider.
    External,
    /// `CERTIFICATE name`
    Certificate(Ident),
    /// `ASYMMETRIC KEY name`
    AsymmetricKey(Ident),
    /// `LOGIN name`
    Login(Ident),
    /// `WITHOUT LOGIN`
    WithoutLogin,
}

/// CREATE USER and ALTER USER; what is absent was not written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UserDefinition {
    /// The user.
    pub(crate) name: Ident,
    /// What it is based on.
    pub(crate) source: Option<PrincipalSource>,
    /// DEFAULT_SCHEMA.
    pub(crate) default_schema: Option<Ident>,
    /// NAME: the new name, in ALTER USER.
    pub(crate) new_name: Option<Ident>,
}

/// What ALTER ROLE does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RoleAction {
    /// `ADD MEMBER`
    AddMember(Ident),
    /// `DROP MEMBER`
    DropMember(Ident),
    /// `WITH NAME =`
    Rename(Ident),
}

/// GRANT, DENY or REVOKE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PermissionStatement {
    /// Which.
    pub(crate) action: PermissionAction,
    /// The permissions; one or more.
    pub(crate) permissions: Vec<Permission>,
    /// ON; absent for permissions on the database or server.
    pub(crate) securable: Option<Securable>,
    /// TO or FROM; one or more. `public` is an ordinary name here.
    pub(crate) principals: Vec<Ident>,
    /// WITH GRANT OPTION, or GRANT OPTION FOR of REVOKE.
    pub(crate) grant_option: bool,
    /// CASCADE.
    pub(crate) cascade: bool,
    /// AS principal.
    pub(crate) grantor: Option<Ident>,
}

/// What is done with a permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PermissionAction {
    /// `GRANT`
    Grant,
    /// `DENY`
    Deny,
    /// `REVOKE`
    Revoke,
}

/// One permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Permission {
    /// Its words in upper case, e.g. `VIEW DEFINITION`.
    pub(crate) name: String,
    /// Columns it is limited to; empty means none were written.
    pub(crate) columns: Vec<Ident>,
}

/// What a permission is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Securable {
    /// The class before `::` in upper case, e.g. `SERVICE`, `MESSAGE TYPE`; OBJECT when absent.
    pub(crate) class: Option<String>,
    /// Its name.
    pub(crate) name: ObjectName,
}

/// EXECUTE AS of a module or of a queue's activation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ExecuteAs {
    /// `CALLER`, in modules only.
    Caller,
    /// `SELF`
    SelfUser,
    /// `OWNER`
    Owner,
    /// `'user'`
    User(String),
}

/// EXECUTE AS as a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExecuteAsStatement {
    /// Whom to become.
    pub(crate) principal: ImpersonatedPrincipal,
    /// WITH NO REVERT.
    pub(crate) no_revert: bool,
}

/// Whom EXECUTE AS becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ImpersonatedPrincipal {
    /// `CALLER`
    Caller,
    /// `LOGIN = 'name'`
    Login(TextOrVariable),
    /// `USER = 'name'`
    User(TextOrVariable),
}
