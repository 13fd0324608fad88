//! GRANT, DENY and REVOKE, and what happens to permissions when their securable or grantee goes.

use crate::error::SqlError;

use super::definitions::{Grant, GrantState, Permission, PermissionKey, Securable, User};
use super::errors;
use super::ids::{FoldedName, PrincipalId};
use super::security;
use super::tx::{Op, Tx};

/// Which of the three statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GrantAction {
    /// GRANT
    Grant,
    /// GRANT ... WITH GRANT OPTION
    GrantWithGrantOption,
    /// DENY
    Deny,
    /// REVOKE: takes away a grant or a denial.
    Revoke,
}

impl Tx<'_> {
    /// GRANT, DENY or REVOKE of permissions on one securable to principals: users and roles of the current database, or
    /// logins for a securable of the server.
    ///
    /// # Errors
    /// 15151 for an unknown grantee or when the acting principal may not give the permission away; 3930. Whether a
    /// permission exists for a kind of securable is the caller's to check.
    pub fn change_permissions(
        &mut self,
        action: GrantAction,
        permissions: &[Permission],
        securable: Securable,
        grantees: &[&str],
    ) -> Op<()> {
        self.require_writable()?;
        for permission in permissions {
            self.require_grantor(*permission, securable)?;
            for name in grantees {
                let grantee = self.grantee(securable, name)?;
                let key = PermissionKey { securable, grantee, permission: *permission };
                self.put_permission(key, self.grant_of(action));
            }
        }
        Ok(())
    }

    /// Takes away all permissions on something that is being dropped.
    pub(super) fn drop_permissions_on(&mut self, securable: Securable) {
        let first = PermissionKey { securable, grantee: i32::MIN, permission: Permission::ALL[0] };
        let all = self.state().permissions.range(first..).map(|(key, _)| *key);
        let keys: Vec<PermissionKey> = all.take_while(|key| key.securable == securable).collect();
        keys.into_iter().for_each(|key| self.put_permission(key, None));
    }

    /// Takes away all permissions of a user or role of the current database.
    pub(super) fn drop_permissions_of_user(&mut self, user: PrincipalId) {
        let database = self.database();
        self.drop_permissions_where(|key| {
            key.grantee == user.0 && key.securable.database() == Some(database)
        });
    }

    /// Takes away all permissions of a login at the server.
    pub(super) fn drop_permissions_of_login(&mut self, login: i32) {
        self.drop_permissions_where(|key| key.grantee == login && key.securable.database().is_none());
    }

    /// Takes away the permissions whose key fits.
    pub(super) fn drop_permissions_where(&mut self, fits: impl Fn(&PermissionKey) -> bool) {
        let keys: Vec<PermissionKey> =
            self.state().permissions.keys().filter(|key| fits(key)).copied().collect();
        keys.into_iter().for_each(|key| self.put_permission(key, None));
    }

    fn grant_of(&self, action: GrantAction) -> Option<Grant> {
        let state = match action {
            GrantAction::Grant => GrantState::Grant,
            GrantAction::GrantWithGrantOption => GrantState::GrantWithGrantOption,
            GrantAction::Deny => GrantState::Deny,
            GrantAction::Revoke => return None,
        };
        Some(Grant { state, grantor: self.principal().user.0 })
    }

    fn grantee(&self, securable: Securable, name: &str) -> Result<i32, SqlError> {
        if securable.database().is_some() {
            return self.resolve_principal(name).map(|user| user.0);
        }
        if name.eq_ignore_ascii_case("public") {
            return Ok(super::definitions::Login::PUBLIC.0);
        }
        let login = self.state().logins.find(&FoldedName::new(name));
        login.map(|login| login.id.0).ok_or_else(|| errors::not_found_or_denied("find", "login", name))
    }

    /// Owners and holders of CONTROL may give anything away, others what they hold WITH GRANT OPTION.
    fn require_grantor(&self, permission: Permission, securable: Securable) -> Result<(), SqlError> {
        let control = match securable {
            Securable::Server | Securable::Login(_) => security::is_sysadmin(self.state(), self.principal()),
            _ => self.has_permission(Permission::Control, securable),
        };
        let key = PermissionKey { securable, grantee: self.principal().user.0, permission };
        let option = self.state().permissions.get(&key);
        let in_database = securable.database().is_some();
        let by_option = option.is_some_and(|grant| grant.state == GrantState::GrantWithGrantOption);
        if control || (in_database && (by_option || self.is_member(User::DB_SECURITYADMIN))) {
            return Ok(());
        }
        Err(errors::not_found_or_denied("find", "object", permission.name()))
    }
}
