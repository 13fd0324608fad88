//! Users and roles of a database: CREATE, ALTER, DROP, membership.
//!
//! It must not know what permissions mean; see `security`.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::error::SqlError;

use super::definitions::{Grant, GrantState, Login, Permission, PermissionKey, Securable, User, UserKind};
use super::errors;
use super::ids::{FoldedName, LoginId, PrincipalId};
use super::tx::{Op, Tx};

/// FOR LOGIN clause of CREATE USER.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserFor {
    /// The login of the user's own name, when the clause is left out.
    SameName,
    /// FOR LOGIN
    Login(String),
    /// WITHOUT LOGIN
    NoLogin,
}

impl Tx<'_> {
    /// CREATE USER in the current database; it may connect from then on.
    ///
    /// # Errors
    /// 15023 when the name is taken; 15063 when the login has a user here; 15151 for an unknown login; 15247; 3930.
    pub fn create_user(&mut self, name: &str, login: &UserFor, default_schema: Option<&str>) -> Op<()> {
        self.require_writable()?;
        self.require_user_admin(Permission::AlterAnyUser)?;
        self.check_new_principal(name)?;
        let kind = match login {
            UserFor::SameName => UserKind::Login(self.login_for_user(name)?),
            UserFor::Login(login) => UserKind::Login(self.login_for_user(login)?),
            UserFor::NoLogin => UserKind::WithoutLogin,
        };
        let id = self.put_new_principal(name, kind, default_schema, None);
        let database = self.database();
        let key = PermissionKey {
            securable: Securable::Database(database),
            grantee: id.0,
            permission: Permission::Connect,
        };
        self.put_permission(key, Some(Grant { state: GrantState::Grant, grantor: User::DBO.0 }));
        Ok(())
    }

    /// ALTER USER: another name, default schema or login.
    ///
    /// # Errors
    /// 15151; 15023 when the new name is taken; 15150 for built-in users; 3930.
    pub fn alter_user(
        &mut self,
        name: &str,
        new_name: Option<&str>,
        default_schema: Option<&str>,
        login: Option<&str>,
    ) -> Op<()> {
        self.require_writable()?;
        let user = self.changeable_principal(name, "alter", "user", Permission::AlterAnyUser)?;
        if let Some(new) = new_name {
            self.check_new_principal(new)?;
        }
        let mut changed = User::clone(&user);
        changed.name = new_name.map_or(changed.name, Into::into);
        changed.default_schema = default_schema.map_or(changed.default_schema, Into::into);
        if let Some(login) = login {
            changed.kind = UserKind::Login(self.login_for_user(login)?);
        }
        self.put(self.database(), user.id, Some(Arc::new(changed)));
        Ok(())
    }

    /// DROP USER.
    ///
    /// # Errors
    /// 15151; 15150 for built-in users; 15138 when it owns something; 3930.
    pub fn drop_user(&mut self, name: &str) -> Op<()> {
        self.require_writable()?;
        let user = self.changeable_principal(name, "drop", "user", Permission::AlterAnyUser)?;
        if user.kind == UserKind::Role {
            return Err(errors::not_found_or_denied("drop", "user", name).into());
        }
        self.remove_principal(&user)
    }

    /// CREATE ROLE, owned by its creator unless `authorization` names somebody.
    ///
    /// # Errors
    /// 15023 when the name is taken; 15151 for an unknown owner; 15247; 3930.
    pub fn create_role(&mut self, name: &str, authorization: Option<&str>) -> Op<()> {
        self.require_writable()?;
        self.require_user_admin(Permission::CreateRole)?;
        self.check_new_principal(name)?;
        let owner = self.new_owner(authorization)?;
        self.put_new_principal(name, UserKind::Role, None, Some(owner));
        Ok(())
    }

    /// DROP ROLE; its members leave it.
    ///
    /// # Errors
    /// 15151; 15150 for fixed roles; 15138 when it owns something; 3930.
    pub fn drop_role(&mut self, name: &str) -> Op<()> {
        self.require_writable()?;
        let role = self.changeable_principal(name, "drop", "role", Permission::AlterAnyRole)?;
        if role.kind != UserKind::Role {
            return Err(errors::not_found_or_denied("drop", "role", name).into());
        }
        for member in self.members_of(role.id) {
            self.set_membership(member, role.id, false);
        }
        self.remove_principal(&role)
    }

    /// ALTER ROLE ... ADD MEMBER or DROP MEMBER.
    ///
    /// # Errors
    /// 15151 when either is unknown or the right is missing; 15150 for dbo and public; 3930.
    pub fn alter_role(&mut self, role: &str, member: &str, add: bool) -> Op<()> {
        self.require_writable()?;
        let missing = || errors::not_found_or_denied("alter", "role", role);
        let users = &self.database_state(self.database()).users;
        let found = users.find(&FoldedName::new(role)).filter(|role| role.kind == UserKind::Role).cloned();
        let found = found.ok_or_else(missing)?;
        let member_id = self.resolve_principal(member)?;
        // Members of fixed roles are db_owner's business alone.
        let allowed = if found.is_fixed {
            self.is_member(User::DB_OWNER)
        } else {
            self.has_permission(Permission::Alter, Securable::User(self.database(), found.id))
                || self.has_permission(Permission::AlterAnyRole, Securable::Database(self.database()))
        };
        if !allowed {
            return Err(missing().into());
        }
        if member_id == User::DBO || member_id == User::PUBLIC || found.id == User::PUBLIC {
            return Err(errors::cannot_change_principal("use", "special principal", member).into());
        }
        self.set_membership(member_id, found.id, add);
        Ok(())
    }

    fn require_user_admin(&self, permission: Permission) -> Result<(), SqlError> {
        let allowed = self.has_permission(permission, Securable::Database(self.database()));
        if allowed { Ok(()) } else { Err(errors::action_denied()) }
    }

    fn check_new_principal(&self, name: &str) -> Result<(), SqlError> {
        let users = &self.database_state(self.database()).users;
        if users.find(&FoldedName::new(name)).is_some() {
            Err(errors::principal_exists(name))
        } else {
            Ok(())
        }
    }

    fn login_for_user(&self, login: &str) -> Result<LoginId, SqlError> {
        let missing = || errors::not_found_or_denied("find", "login", login);
        let id = self.state().logins.find(&FoldedName::new(login)).ok_or_else(missing)?.id;
        let database = self.database_state(self.database());
        let taken = database.def.owner == id
            || id == Login::SA
            || database.users.iter().any(|user| user.kind == UserKind::Login(id));
        if taken { Err(errors::login_has_user(login)) } else { Ok(id) }
    }

    fn put_new_principal(
        &mut self,
        name: &str,
        kind: UserKind,
        default_schema: Option<&str>,
        owner: Option<PrincipalId>,
    ) -> PrincipalId {
        let database = self.database();
        let id = self.allocate::<User>(database);
        let user = User {
            id,
            name: name.into(),
            kind,
            default_schema: default_schema.unwrap_or("dbo").into(),
            roles: BTreeSet::new(),
            is_fixed: false,
            owner,
            created: self.now(),
        };
        self.put(database, id, Some(Arc::new(user)));
        id
    }

    fn changeable_principal(
        &self,
        name: &str,
        action: &str,
        kind: &str,
        any: Permission,
    ) -> Result<Arc<User>, SqlError> {
        let users = &self.database_state(self.database()).users;
        let missing = || errors::not_found_or_denied(action, kind, name);
        let found = users.find(&FoldedName::new(name)).cloned().ok_or_else(missing)?;
        let database = Securable::Database(self.database());
        let own = Securable::User(self.database(), found.id);
        if !self.has_permission(any, database) && !self.has_permission(Permission::Alter, own) {
            return Err(missing());
        }
        if found.is_fixed {
            return Err(errors::cannot_change_principal(action, kind, name));
        }
        Ok(found)
    }

    fn members_of(&self, role: PrincipalId) -> Vec<PrincipalId> {
        let users = self.database_state(self.database()).users.iter();
        users.filter(|user| user.roles.contains(&role)).map(|user| user.id).collect()
    }

    fn set_membership(&mut self, member: PrincipalId, role: PrincipalId, add: bool) {
        let database = self.database();
        let Some(user) = self.state().entry::<User>(database, member) else { return };
        let mut changed = User::clone(user);
        if add {
            changed.roles.insert(role);
        } else {
            changed.roles.remove(&role);
        }
        self.put(database, member, Some(Arc::new(changed)));
    }

    fn remove_principal(&mut self, user: &User) -> Op<()> {
        if let Some(what) = self.owned_thing(user.id) {
            return Err(errors::principal_owns(&user.name, what).into());
        }
        self.drop_permissions_of_user(user.id);
        self.drop_permissions_on(Securable::User(self.database(), user.id));
        self.put::<User>(self.database(), user.id, None);
        Ok(())
    }

    /// What kind of thing a principal owns, if any.
    fn owned_thing(&self, owner: PrincipalId) -> Option<&'static str> {
        let database = self.database_state(self.database());
        let owns = [
            (database.schemas.iter().any(|it| it.owner == owner), "schema"),
            (database.objects.iter().any(|it| it.owner == Some(owner)), "object"),
            (database.message_types.iter().any(|it| it.owner == owner), "message type"),
            (database.contracts.iter().any(|it| it.owner == owner), "contract"),
            (database.services.iter().any(|it| it.owner == owner), "service"),
            (database.routes.iter().any(|it| it.owner == owner), "route"),
            (database.bindings.iter().any(|it| it.owner == owner), "remote service binding"),
            (database.users.iter().any(|it| it.owner == Some(owner)), "database role"),
        ];
        owns.into_iter().find(|(owned, _)| *owned).map(|(_, what)| what)
    }
}

#[cfg(test)]
#[path = "users_tests.rs"]
mod tests;
