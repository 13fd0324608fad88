//! CREATE, ALTER and DROP LOGIN, and membership in server roles.
//!
//! Sessions and passwords at login are `sessions`' matter; this file must not know them.

use std::sync::Arc;

use super::definitions::{Login, Permission, Secret, Securable, ServerRole};
use super::errors;
use super::ids::FoldedName;
use super::security;
use super::tx::{Op, Tx};

/// What ALTER LOGIN changes; `None` leaves it.
#[derive(Debug, Clone, Default)]
pub struct LoginChange {
    /// PASSWORD
    pub password: Option<Secret>,
    /// DEFAULT_DATABASE
    pub default_database: Option<String>,
    /// ENABLE (`false`) or DISABLE (`true`)
    pub disabled: Option<bool>,
    /// NAME
    pub name: Option<String>,
}

impl Tx<'_> {
    /// CREATE LOGIN ... WITH PASSWORD.
    ///
    /// # Errors
    /// 15025 when the name is taken; 15247 without ALTER ANY LOGIN; 3930.
    pub fn create_login(&mut self, name: &str, password: Secret, default_database: Option<&str>) -> Op<()> {
        self.require_writable()?;
        self.require_login_admin()?;
        if self.state().logins.find(&FoldedName::new(name)).is_some() || ServerRole::by_name(name).is_some() {
            return Err(errors::login_exists(name).into());
        }
        let id = self.core.state.logins.allocate();
        let login = Login {
            id,
            name: name.into(),
            password,
            sid: self.new_uuid().as_bytes().as_slice().into(),
            default_database: default_database.unwrap_or("master").into(),
            disabled: false,
            roles: Default::default(),
            created: self.now(),
        };
        self.put_login(id, Some(Arc::new(login)));
        Ok(())
    }

    /// ALTER LOGIN. A login may change its own password.
    ///
    /// # Errors
    /// 15151 when there is none or the right is missing; 15025 when the new name is taken; 3930.
    pub fn alter_login(&mut self, name: &str, change: LoginChange) -> Op<()> {
        self.require_writable()?;
        let missing = || errors::not_found_or_denied("alter", "login", name);
        let old = self.state().logins.find(&FoldedName::new(name)).cloned().ok_or_else(missing)?;
        let own_password = self.principal().login == Some(old.id)
            && change.name.is_none()
            && change.disabled.is_none()
            && change.default_database.is_none();
        if !own_password && self.require_login_admin().is_err() {
            return Err(missing().into());
        }
        if let Some(new) = &change.name
            && self.state().logins.find(&FoldedName::new(new)).is_some_and(|other| other.id != old.id)
        {
            return Err(errors::login_exists(new).into());
        }
        let mut login = Login::clone(&old);
        login.name = change.name.map_or(login.name, Into::into);
        login.password = change.password.unwrap_or(login.password);
        login.default_database = change.default_database.map_or(login.default_database, Into::into);
        login.disabled = change.disabled.unwrap_or(login.disabled);
        self.put_login(old.id, Some(Arc::new(login)));
        Ok(())
    }

    /// DROP LOGIN. Users of it stay behind without a login, as on the server.
    ///
    /// # Errors
    /// 15151; 15150 for sa; 15174 when it owns a database; 3930.
    pub fn drop_login(&mut self, name: &str) -> Op<()> {
        self.require_writable()?;
        let missing = || errors::not_found_or_denied("drop", "login", name);
        let login = self.state().logins.find(&FoldedName::new(name)).cloned().ok_or_else(missing)?;
        self.require_login_admin().map_err(|_| missing())?;
        if login.id == Login::SA {
            return Err(errors::cannot_change_principal("drop", "login", name).into());
        }
        if self.state().databases.values().any(|database| database.def.owner == login.id) {
            return Err(errors::login_owns_database(name).into());
        }
        self.drop_permissions_of_login(login.id.0);
        self.drop_permissions_on(Securable::Login(login.id));
        self.put_login(login.id, None);
        Ok(())
    }

    /// ALTER SERVER ROLE ... ADD MEMBER or DROP MEMBER.
    ///
    /// # Errors
    /// 15151 when either is unknown; 15247 for others than sysadmins; 15150 for sa; 3930.
    pub fn alter_server_role(&mut self, role: &str, member: &str, add: bool) -> Op<()> {
        self.require_writable()?;
        let known = ServerRole::by_name(role)
            .ok_or_else(|| errors::not_found_or_denied("alter", "server role", role))?;
        let login = self.state().logins.find(&FoldedName::new(member)).cloned();
        let login = login.ok_or_else(|| errors::not_found_or_denied("add", "principal", member))?;
        if !security::is_sysadmin(self.state(), self.principal()) {
            return Err(errors::action_denied().into());
        }
        if login.id == Login::SA {
            return Err(errors::cannot_change_principal("use", "special principal", member).into());
        }
        let mut changed = Login::clone(&login);
        if add {
            changed.roles.insert(known);
        } else {
            changed.roles.remove(&known);
        }
        self.put_login(login.id, Some(Arc::new(changed)));
        Ok(())
    }

    fn require_login_admin(&self) -> Op<()> {
        if self.has_permission(Permission::AlterAnyLogin, Securable::Server) {
            return Ok(());
        }
        Err(errors::action_denied().into())
    }
}
