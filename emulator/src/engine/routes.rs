//! CREATE, ALTER and DROP ROUTE and REMOTE SERVICE BINDING (spec 1.6, 1.7).
//!
//! Bindings are stored for the catalog only: there is no cryptography here. This file must not know how routes are used.

use std::sync::Arc;
use std::time::Duration;

use super::broker_errors;
use super::definitions::{Permission, RemoteServiceBinding, Route, Securable, User, UserKind};
use super::errors;
use super::ids::FoldedName;
use super::tx::{Op, Tx};
use crate::error::SqlError;
use crate::value::Timestamp;

/// Longest clause of a route, in characters.
const LONGEST_CLAUSE: usize = 256;

/// Clauses of CREATE and ALTER ROUTE; `None` is not given, and stays as it is in ALTER.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RouteOptions {
    /// SERVICE_NAME
    pub service_name: Option<String>,
    /// BROKER_INSTANCE
    pub broker_instance: Option<String>,
    /// LIFETIME in seconds.
    pub lifetime: Option<i64>,
    /// ADDRESS
    pub address: Option<String>,
    /// MIRROR_ADDRESS
    pub mirror_address: Option<String>,
}

impl Tx<'_> {
    /// CREATE ROUTE. Errors: 262, 2714 (U-37), 9659 to 9662, 9743 to 9747, 15151.
    pub fn create_route(&mut self, name: &str, owner: Option<&str>, options: &RouteOptions) -> Op<()> {
        self.require_writable()?;
        let database = self.database();
        self.require(Permission::CreateRoute, Securable::Database(database))?;
        if self.database_state(database).routes.find(&FoldedName::new(name)).is_some() {
            return Err(errors::name_taken(name).into());
        }
        let owner = self.new_owner(owner)?;
        let id = self.allocate::<Route>(database);
        let blank = Route {
            id,
            name: name.into(),
            owner,
            remote_service: None,
            broker_instance: None,
            expires: None,
            address: "".into(),
            mirror_address: None,
        };
        let route = changed(&blank, options, self.now())?;
        self.put_definition(id, route);
        Ok(())
    }

    /// ALTER ROUTE. Errors: as for CREATE ROUTE, 15151.
    pub fn alter_route(&mut self, name: &str, options: &RouteOptions) -> Op<()> {
        self.require_writable()?;
        let old = self.own_route(name, "alter")?;
        let route = changed(&old, options, self.now())?;
        self.put_definition(old.id, route);
        Ok(())
    }

    /// DROP ROUTE. Errors: 15151.
    pub fn drop_route(&mut self, name: &str) -> Op<()> {
        self.require_writable()?;
        let old = self.own_route(name, "drop")?;
        self.drop_permissions_on(Securable::Route(self.database(), old.id));
        self.drop_definition::<Route>(old.id);
        Ok(())
    }

    /// CREATE REMOTE SERVICE BINDING. Errors: 262, 2714 (U-37), 9619, 15151, 28083.
    pub fn create_remote_service_binding(
        &mut self,
        name: &str,
        owner: Option<&str>,
        service: &str,
        user: &str,
        anonymous: bool,
    ) -> Op<()> {
        self.require_writable()?;
        let database = self.database();
        self.require(Permission::CreateRemoteServiceBinding, Securable::Database(database))?;
        let bindings = &self.database_state(database).bindings;
        if bindings.find(&FoldedName::new(name)).is_some() {
            return Err(errors::name_taken(name).into());
        }
        if bindings.iter().any(|binding| *binding.remote_service == *service) {
            return Err(broker_errors::binding_exists(service).into());
        }
        let owner = self.new_owner(owner)?;
        let user = self.certificate_user(user)?;
        let id = self.allocate::<RemoteServiceBinding>(database);
        let (name, remote_service) = (name.into(), service.into());
        self.put_definition(
            id,
            RemoteServiceBinding { id, name, owner, remote_service, user: user.id, anonymous },
        );
        Ok(())
    }

    /// ALTER REMOTE SERVICE BINDING; `None` stays as it is. Errors: 15151, 28083.
    pub fn alter_remote_service_binding(
        &mut self,
        name: &str,
        user: Option<&str>,
        anonymous: Option<bool>,
    ) -> Op<()> {
        self.require_writable()?;
        let old = self.own_binding(name, "alter")?;
        let user = user.map(|user| self.certificate_user(user)).transpose()?.map_or(old.user, |user| user.id);
        let anonymous = anonymous.unwrap_or(old.anonymous);
        self.put_definition(
            old.id,
            RemoteServiceBinding { user, anonymous, ..RemoteServiceBinding::clone(&old) },
        );
        Ok(())
    }

    /// DROP REMOTE SERVICE BINDING. Errors: 15151.
    pub fn drop_remote_service_binding(&mut self, name: &str) -> Op<()> {
        self.require_writable()?;
        let old = self.own_binding(name, "drop")?;
        self.drop_permissions_on(Securable::Binding(self.database(), old.id));
        self.drop_definition::<RemoteServiceBinding>(old.id);
        Ok(())
    }

    fn own_route(&self, name: &str, action: &str) -> Result<Arc<Route>, SqlError> {
        let database = self.database();
        let found = self.database_state(database).routes.find(&FoldedName::new(name)).cloned();
        let found = found.ok_or_else(|| errors::not_found_or_denied(action, "route", name))?;
        let securable = Securable::Route(database, found.id);
        self.require_for_ddl(&[Permission::Alter], securable, action, "route", name)?;
        Ok(found)
    }

    fn own_binding(&self, name: &str, action: &str) -> Result<Arc<RemoteServiceBinding>, SqlError> {
        let (database, kind) = (self.database(), "remote service binding");
        let found = self.database_state(database).bindings.find(&FoldedName::new(name)).cloned();
        let found = found.ok_or_else(|| errors::not_found_or_denied(action, kind, name))?;
        self.require_for_ddl(
            &[Permission::Alter],
            Securable::Binding(database, found.id),
            action,
            kind,
            name,
        )?;
        Ok(found)
    }

    /// A user that can own certificates: not a role (28083).
    fn certificate_user(&self, name: &str) -> Result<Arc<User>, SqlError> {
        let id = self.resolve_principal(name)?;
        let user = self.database_state(self.database()).users.get(id).cloned();
        let user = user.ok_or_else(|| errors::not_found_or_denied("find", "user", name))?;
        if user.kind == UserKind::Role {
            return Err(broker_errors::cannot_own_certificates(name));
        }
        Ok(user)
    }
}

/// The route with the given clauses in place, checked as a whole.
fn changed(old: &Route, options: &RouteOptions, now: Timestamp) -> Result<Route, SqlError> {
    let clause = |name: &str, given: &Option<String>, old: &Option<Arc<str>>| match given {
        None => Ok(old.clone()),
        Some(text) => checked_clause(name, text).map(Some),
    };
    let address = clause("ADDRESS", &options.address, &Some(Arc::clone(&old.address)))?;
    let route = Route {
        remote_service: clause("SERVICE_NAME", &options.service_name, &old.remote_service)?,
        broker_instance: clause("BROKER_INSTANCE", &options.broker_instance, &old.broker_instance)?,
        expires: expiry(options.lifetime, now)?.or(old.expires),
        address: address.unwrap_or_default(),
        mirror_address: clause("MIRROR_ADDRESS", &options.mirror_address, &old.mirror_address)?,
        ..old.clone()
    };
    check_consistency(&route).map(|()| route)
}

fn checked_clause(name: &str, text: &str) -> Result<Arc<str>, SqlError> {
    match text.encode_utf16().count() {
        0 => Err(broker_errors::route_clause_empty(name)),
        length if length > LONGEST_CLAUSE => Err(broker_errors::route_clause_too_long(name)),
        _ => Ok(text.into()),
    }
}

fn expiry(lifetime: Option<i64>, now: Timestamp) -> Result<Option<Timestamp>, SqlError> {
    let Some(seconds) = lifetime else { return Ok(None) };
    if !(1..=i64::from(i32::MAX)).contains(&seconds) {
        return Err(broker_errors::route_lifetime_out_of_range(seconds));
    }
    Ok(Some(now.plus(Duration::from_secs(seconds.unsigned_abs()))))
}

fn check_consistency(route: &Route) -> Result<(), SqlError> {
    let kind =
        address_kind(&route.address).ok_or_else(|| broker_errors::route_address_invalid(&route.address))?;
    if route.broker_instance.is_some() && route.remote_service.is_none() {
        return Err(broker_errors::instance_needs_service());
    }
    if kind == AddressKind::Transport && route.remote_service.is_some() {
        return Err(broker_errors::transport_with_service());
    }
    let Some(mirror) = &route.mirror_address else { return Ok(()) };
    if route.remote_service.is_none() || route.broker_instance.is_none() {
        return Err(broker_errors::mirror_needs_service_and_instance());
    }
    let not_network =
        [&route.address, mirror].into_iter().find(|it| address_kind(it) != Some(AddressKind::Network));
    match not_network {
        Some(address) => Err(broker_errors::mirror_address_invalid(address)),
        None if route.address.eq_ignore_ascii_case(mirror) => Err(broker_errors::route_addresses_equal()),
        None => Ok(()),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AddressKind {
    Local,
    Transport,
    Network,
}

/// What an address is: `LOCAL`, `TRANSPORT` or `TCP://host:port`.
fn address_kind(address: &str) -> Option<AddressKind> {
    if address.eq_ignore_ascii_case("LOCAL") {
        return Some(AddressKind::Local);
    }
    if address.eq_ignore_ascii_case("TRANSPORT") {
        return Some(AddressKind::Transport);
    }
    let prefix = address.get(..6).filter(|prefix| prefix.eq_ignore_ascii_case("TCP://"))?;
    let (host, port) = address[prefix.len()..].rsplit_once(':')?;
    (!host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0)).then_some(AddressKind::Network)
}

#[cfg(test)]
mod tests {
    use super::{Route, RouteOptions, Timestamp, changed};
    use crate::engine::definitions::User;
    use crate::engine::ids::RouteId;

    fn number(service: Option<&str>, instance: Option<&str>, address: &str, mirror: Option<&str>) -> i32 {
        let blank = Route {
            id: RouteId(65537),
            name: "r".into(),
            owner: User::DBO,
            remote_service: None,
            broker_instance: None,
            expires: None,
            address: "".into(),
            mirror_address: None,
        };
        let options = RouteOptions {
            service_name: service.map(Into::into),
            broker_instance: instance.map(Into::into),
            lifetime: None,
            address: Some(address.into()),
            mirror_address: mirror.map(Into::into),
        };
        changed(&blank, &options, Timestamp::from_unix_ticks(0)).map_or_else(|error| error.number, |_| 0)
    }

    #[test]
    fn the_clauses_of_a_route_must_fit_together() {
        let (a, b) = ("TCP://a:4022", "TCP://b:4022");
        let table = [
            (None, None, "LOCAL", None, 0),
            (Some("s"), None, "tcp://host:4022", None, 0),
            (None, None, "TRANSPORT", None, 0),
            (Some("s"), Some("g"), a, Some(b), 0),
            (None, Some("g"), "LOCAL", None, 9662),
            (Some("s"), None, a, Some(b), 9661),
            (Some("s"), Some("g"), "LOCAL", Some(b), 9743),
            (None, None, "http://x", None, 9744),
            (None, None, "TCP://x", None, 9744),
            (Some("s"), None, "TRANSPORT", None, 9745),
            (Some("s"), Some("g"), a, Some("tcp://A:4022"), 9747),
            (Some(""), None, "LOCAL", None, 9659),
        ];
        for (service, instance, address, mirror, expected) in table {
            assert_eq!(
                number(service, instance, address, mirror),
                expected,
                "{service:?} {instance:?} {address}"
            );
        }
        assert_eq!(number(Some(&"s".repeat(257)), None, "LOCAL", None), 9660);
    }
}
