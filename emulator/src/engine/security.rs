//! Who somebody is: users of logins, membership in roles, impersonation; and the questions operations ask before they act.
//!
//! Pure reading of the state. The rule that decides about permissions is in `permission_rule`; this file must not know
//! statements, which name a permission and a securable.

use std::collections::BTreeSet;

use crate::error::SqlError;

use super::definitions::{Login, Permission, Securable, ServerRole, User, UserKind};
use super::errors;
use super::ids::{DatabaseId, FoldedName, LoginId, PrincipalId};
use super::permission_rule;
use super::state::State;
use super::tx::{Principal, Tx};

impl Login {
    /// `sa`
    pub const SA: LoginId = LoginId(1);
    /// `public` at the server
    pub const PUBLIC: LoginId = LoginId(2);
}

impl Tx<'_> {
    /// A user of a database as whom a module with EXECUTE AS runs.
    pub fn impersonated(&self, database: DatabaseId, user: PrincipalId) -> Principal {
        impersonated(self.state(), database, user)
    }

    /// Fails unless the acting principal has the permission.
    ///
    /// # Errors
    /// 229 for what is done with objects and services, 262 for databases, 297 for the server, 15247 otherwise.
    pub fn require(&self, permission: Permission, securable: Securable) -> Result<(), SqlError> {
        if self.has_permission(permission, securable) {
            return Ok(());
        }
        Err(denial(self.state(), permission, securable))
    }

    /// Fails with 15151 unless the acting principal has one of these permissions on the securable: the answer of DDL,
    /// which does not tell a missing right from a missing object (spec 1.11).
    ///
    /// # Errors
    /// 15151
    pub fn require_for_ddl(
        &self,
        any_of: &[Permission],
        securable: Securable,
        action: &str,
        kind: &str,
        name: &str,
    ) -> Result<(), SqlError> {
        if any_of.iter().any(|permission| self.has_permission(*permission, securable)) {
            return Ok(());
        }
        Err(errors::not_found_or_denied(action, kind, name))
    }

    /// Whether the acting principal has the permission.
    pub fn has_permission(&self, permission: Permission, securable: Securable) -> bool {
        permission_rule::has_permission(self.state(), self.principal(), permission, securable)
    }

    /// Whether the acting principal is that user or a member of that role, directly or through others.
    pub fn is_member(&self, user_or_role: PrincipalId) -> bool {
        let principal = self.principal();
        is_member(self.state(), principal, principal.database, user_or_role)
    }

    /// The user or role of that name in the current database; for AUTHORIZATION and EXECUTE AS clauses.
    ///
    /// # Errors
    /// 15151
    pub fn resolve_principal(&self, name: &str) -> Result<PrincipalId, SqlError> {
        let users = &self.database_state(self.database()).users;
        let found = users.find(&FoldedName::new(name));
        found.map(|user| user.id).ok_or_else(|| errors::not_found_or_denied("find", "user", name))
    }

    /// Owner of something new: the one AUTHORIZATION names, if the acting principal may give it away, or itself.
    ///
    /// # Errors
    /// 15151
    pub fn new_owner(&self, authorization: Option<&str>) -> Result<PrincipalId, SqlError> {
        let Some(name) = authorization else { return Ok(self.principal().user) };
        let owner = self.resolve_principal(name)?;
        let allowed = self.is_member(owner)
            || self.has_permission(Permission::Impersonate, Securable::User(self.database(), owner));
        if allowed { Ok(owner) } else { Err(errors::not_found_or_denied("find", "user", name)) }
    }
}

/// The user a login is in a database: `dbo` for its owner and for sysadmins, its own user, or `guest` where that may
/// connect.
pub(super) fn user_of_login(state: &State, database: DatabaseId, login: LoginId) -> Option<PrincipalId> {
    let entry = state.database(database)?;
    if entry.def.owner == login || is_sysadmin_login(state, login) {
        return Some(User::DBO);
    }
    let own = entry.users.iter().find(|user| user.kind == UserKind::Login(login)).map(|user| user.id);
    let user = own.unwrap_or(User::GUEST);
    let principal = Principal { login: Some(login), database, user, confined: false };
    permission_rule::has_permission(state, &principal, Permission::Connect, Securable::Database(database))
        .then_some(user)
}

/// Whether the principal is a member of sysadmin. An impersonated user is none, whatever its login.
pub(super) fn is_sysadmin(state: &State, principal: &Principal) -> bool {
    login_at_server(state, principal).is_some_and(|login| is_sysadmin_login(state, login))
}

/// Whether the principal is `dbo` or a member of db_owner in its database.
pub(super) fn is_db_owner(state: &State, principal: &Principal) -> bool {
    is_member(state, principal, principal.database, User::DB_OWNER)
}

/// Whether the principal may impersonate a login: sysadmins, or with IMPERSONATE on it.
pub(super) fn may_impersonate_login(state: &State, principal: &Principal, login: LoginId) -> bool {
    principal.login == Some(login)
        || permission_rule::has_permission(state, principal, Permission::Impersonate, Securable::Login(login))
}

/// Whether the principal may impersonate a user of its database: itself, db_owner, or with IMPERSONATE on it.
pub(super) fn may_impersonate_user(state: &State, principal: &Principal, user: PrincipalId) -> bool {
    let securable = Securable::User(principal.database, user);
    principal.user == user
        || permission_rule::has_permission(state, principal, Permission::Impersonate, securable)
}

/// The principal that EXECUTE AS USER gives; `None` for roles and unknown names.
pub(super) fn user_to_impersonate(state: &State, own: &Principal, name: &str) -> Option<Principal> {
    let user = state.database(own.database)?.users.find(&FoldedName::new(name))?;
    (user.kind != UserKind::Role).then(|| impersonated(state, own.database, user.id))
}

/// A user of a database as whom a module or an activated procedure runs.
pub(super) fn impersonated(state: &State, database: DatabaseId, user: PrincipalId) -> Principal {
    Principal { login: login_of(state, database, user), database, user, confined: true }
}

/// The login a user of a database stands for: the database's owner for `dbo`.
pub(super) fn login_of(state: &State, database: DatabaseId, user: PrincipalId) -> Option<LoginId> {
    match state.entry::<User>(database, user)?.kind {
        UserKind::Login(login) => Some(login),
        _ if user == User::DBO => state.database(database).map(|database| database.def.owner),
        UserKind::WithoutLogin | UserKind::Role => None,
    }
}

/// Whether the principal is that user or a member of that role of a database.
pub(super) fn is_member(
    state: &State,
    principal: &Principal,
    database: DatabaseId,
    user_or_role: PrincipalId,
) -> bool {
    let Some(user) = user_in(state, principal, database) else { return false };
    user == user_or_role
        || user_or_role == User::PUBLIC
        || (user == User::DBO && user_or_role == User::DB_OWNER)
        || identities(state, database, user).contains(&user_or_role)
}

/// The error that tells of a missing permission.
pub(super) fn denial(state: &State, permission: Permission, securable: Securable) -> SqlError {
    let name = |database| state.database(database).map_or("", |it| &*it.def.name).to_string();
    match securable {
        Securable::Server => errors::server_permission_denied(permission.name()),
        Securable::Database(database) => {
            errors::database_permission_denied(permission.name(), &name(database))
        }
        Securable::Login(_) | Securable::User(..) => errors::action_denied(),
        _ => {
            let database = securable.database().map(name).unwrap_or_default();
            let (object, schema) = names_of(state, securable);
            errors::permission_denied(permission.name(), &object, &database, &schema)
        }
    }
}

fn is_sysadmin_login(state: &State, login: LoginId) -> bool {
    state.logins.get(login).is_some_and(|login| login.roles.contains(&ServerRole::SysAdmin))
}

/// The user the principal is in a database: its own, or in another database the one its login has there.
pub(super) fn user_in(state: &State, principal: &Principal, database: DatabaseId) -> Option<PrincipalId> {
    if principal.database == database {
        return Some(principal.user);
    }
    user_of_login(state, database, login_at_server(state, principal)?)
}

/// The login that counts outside the principal's database.
pub(super) fn login_at_server(state: &State, principal: &Principal) -> Option<LoginId> {
    let trusted = || state.database(principal.database).is_some_and(|database| database.def.trustworthy);
    principal.login.filter(|_| !principal.confined || trusted())
}

/// The user, `public`, and all roles the user is in.
pub(super) fn identities(state: &State, database: DatabaseId, user: PrincipalId) -> BTreeSet<PrincipalId> {
    let mut all = BTreeSet::from([User::PUBLIC]);
    let mut open = vec![user];
    while let Some(next) = open.pop() {
        if all.insert(next) {
            let entry = state.entry::<User>(database, next);
            open.extend(entry.into_iter().flat_map(|user| user.roles.iter().copied()));
        }
    }
    all
}

/// Name and schema of something for a message.
fn names_of(state: &State, securable: Securable) -> (String, String) {
    let found = || {
        let database = state.database(securable.database()?)?;
        Some(match securable {
            Securable::Object(_, id) => {
                let object = database.objects.get(id)?;
                return Some((
                    object.name.to_string(),
                    database.schemas.get(object.schema)?.name.to_string(),
                ));
            }
            Securable::Schema(_, id) => database.schemas.get(id)?.name.to_string(),
            Securable::MessageType(_, id) => database.message_types.get(id)?.name.to_string(),
            Securable::Contract(_, id) => database.contracts.get(id)?.name.to_string(),
            Securable::Service(_, id) => database.services.get(id)?.name.to_string(),
            Securable::Route(_, id) => database.routes.get(id)?.name.to_string(),
            Securable::Binding(_, id) => database.bindings.get(id)?.name.to_string(),
            _ => return None,
        })
        .map(|name| (name, String::new()))
    };
    found().unwrap_or_default()
}

#[cfg(test)]
#[path = "security_tests.rs"]
mod tests;
