//! Where the first message of a conversation goes (spec 1.6): matching routes, choosing one, locating the service.
//!
//! Pure: it is given the routes of the database that began the conversation and what the databases of the instance
//! host. Later messages follow the endpoints. It must not know messages or queues.

use uuid::Uuid;

use super::broker_faults::Held;
use super::definitions::Route;
use super::ids::DatabaseId;
use crate::value::Timestamp;

/// A database of the instance, as far as routing looks at it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Host {
    /// The database.
    pub(crate) database: DatabaseId,
    /// Its broker guid.
    pub(crate) broker: Uuid,
    /// Whether its broker takes messages.
    pub(crate) available: bool,
    /// Whether it has a service of the name looked for.
    pub(crate) has_service: bool,
}

/// What is looked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Destination<'a> {
    /// Name of the target service, compared ordinally.
    pub(crate) service: &'a str,
    /// Broker instance the dialog names.
    pub(crate) instance: Option<Uuid>,
    /// The conversation, which picks one instance among several.
    pub(crate) conversation: Uuid,
    /// The database that began it.
    pub(crate) home: DatabaseId,
}

/// Outcome of routing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Located {
    /// The service is in this database.
    At(DatabaseId),
    /// The broker instance that the dialog names has no such service: an error for the sender (-8490).
    Missing,
    /// Not reachable now: the message waits. U-13: also when the service is missing and no instance was named.
    Delayed(Held),
}

/// Finds the database of the target service.
pub(crate) fn locate(routes: &[&Route], hosts: &[Host], to: Destination<'_>, now: Timestamp) -> Located {
    let usable: Vec<&Route> = routes.iter().copied().filter(|route| is_current(route, now)).collect();
    let matching = matching(&usable, to);
    if matching.is_empty() {
        // Step 6: an instance of this server that hosts the service needs no route.
        let hosted = hosts.iter().find(|host| Some(host.broker) == to.instance && host.has_service);
        return hosted.map_or(Located::Delayed(Held::NoRoute), reach);
    }
    let local = matching.iter().find(|route| is_local(route));
    let network = matching.iter().any(|route| !is_local(route));
    match local.map(|route| locate_here(hosts, to, route_instance(route).or(to.instance))) {
        Some(found @ (Located::At(_) | Located::Missing)) => found,
        _ if network => Located::Delayed(Held::NoTransport),
        Some(delayed) => delayed,
        None => Located::Delayed(Held::NoRoute),
    }
}

/// The routes of the first matching step that yields any.
fn matching<'a>(routes: &[&'a Route], to: Destination<'_>) -> Vec<&'a Route> {
    let named: Vec<&Route> =
        routes.iter().copied().filter(|route| route.remote_service.as_deref() == Some(to.service)).collect();
    let keep = |routes: &[&'a Route], test: &dyn Fn(&Route) -> bool| -> Vec<&'a Route> {
        routes.iter().copied().filter(|route| test(route)).collect()
    };
    let exact = keep(&named, &|route| to.instance.is_some() && route_instance(route) == to.instance);
    let any_instance = || keep(&named, &|route| route.broker_instance.is_none());
    let one_instance = || match to.instance {
        Some(_) => Vec::new(),
        None => {
            one_of_the_instances(&keep(&named, &|route| route.broker_instance.is_some()), to.conversation)
        }
    };
    let catch_all =
        || keep(routes, &|route| route.remote_service.is_none() && route.broker_instance.is_none());
    [exact]
        .into_iter()
        .chain([any_instance(), one_instance(), catch_all()])
        .find(|found| !found.is_empty())
        .unwrap_or_default()
}

/// Step 3: the routes of one instance; the conversation's id decides, so a dialog always gets the same.
fn one_of_the_instances<'a>(routes: &[&'a Route], conversation: Uuid) -> Vec<&'a Route> {
    let mut instances: Vec<Uuid> = routes.iter().copied().filter_map(route_instance).collect();
    instances.sort_unstable();
    instances.dedup();
    if instances.is_empty() {
        return Vec::new();
    }
    let pick = instances[(conversation.as_u128() % instances.len() as u128) as usize];
    routes.iter().copied().filter(|route| route_instance(route) == Some(pick)).collect()
}

fn locate_here(hosts: &[Host], to: Destination<'_>, instance: Option<Uuid>) -> Located {
    let Some(instance) = instance else {
        let open = || hosts.iter().filter(|host| host.available && host.has_service);
        let found = open().find(|host| host.database == to.home).or_else(|| open().next());
        return found.map_or(Located::Delayed(Held::NoLocalService), |host| Located::At(host.database));
    };
    match hosts.iter().find(|host| host.broker == instance) {
        Some(host) => reach(host),
        None => Located::Delayed(Held::NoSuchInstance),
    }
}

/// The named instance is this database: the service is there, or it is an error.
fn reach(host: &Host) -> Located {
    match (host.available, host.has_service) {
        (false, _) => Located::Delayed(Held::TargetBrokerOff),
        (true, true) => Located::At(host.database),
        (true, false) => Located::Missing,
    }
}

fn is_current(route: &Route, now: Timestamp) -> bool {
    route.expires.is_none_or(|expiry| now < expiry)
}

/// A mirrored route is a pair of network addresses, whatever its first address says.
fn is_local(route: &Route) -> bool {
    route.mirror_address.is_none() && route.address.eq_ignore_ascii_case("LOCAL")
}

fn route_instance(route: &Route) -> Option<Uuid> {
    route.broker_instance.as_deref().and_then(|instance| Uuid::parse_str(instance).ok())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Destination, Held, Host, Located, Route, locate};
    use crate::engine::definitions::User;
    use crate::engine::ids::{DatabaseId, RouteId};
    use crate::value::Timestamp;
    use uuid::Uuid;

    const NOW: Timestamp = Timestamp::from_unix_ticks(0);

    fn route(service: Option<&str>, instance: Option<u128>, address: &str) -> Route {
        Route {
            id: RouteId(65537),
            name: "r".into(),
            owner: User::DBO,
            remote_service: service.map(Into::into),
            broker_instance: instance.map(|id| Uuid::from_u128(id).to_string().to_uppercase().into()),
            expires: None,
            address: address.into(),
            mirror_address: None,
        }
    }

    fn host(database: i32, has_service: bool) -> Host {
        let broker = Uuid::from_u128(database as u128);
        Host { database: DatabaseId(database), broker, available: true, has_service }
    }

    fn to(instance: Option<u128>) -> Destination<'static> {
        Destination {
            service: "svc",
            instance: instance.map(Uuid::from_u128),
            conversation: Uuid::from_u128(77),
            home: DatabaseId(5),
        }
    }

    fn located(routes: &[Route], hosts: &[Host], to: Destination<'_>) -> Located {
        locate(&routes.iter().collect::<Vec<_>>(), hosts, to, NOW)
    }

    #[test]
    fn the_home_database_comes_before_others() {
        let routes = [route(None, None, "LOCAL")];
        let both = [host(4, true), host(5, true)];
        assert_eq!(located(&routes, &both, to(None)), Located::At(DatabaseId(5)));
        assert_eq!(located(&routes, &both[..1], to(None)), Located::At(DatabaseId(4)));
        assert_eq!(located(&routes, &both, to(Some(4))), Located::At(DatabaseId(4)));
    }

    #[test]
    fn a_missing_service_is_an_error_only_in_a_named_instance() {
        let routes = [route(None, None, "LOCAL")];
        let hosts = [host(5, false)];
        assert_eq!(located(&routes, &hosts, to(None)), Located::Delayed(Held::NoLocalService));
        assert_eq!(located(&routes, &hosts, to(Some(5))), Located::Missing);
        assert_eq!(located(&routes, &hosts, to(Some(9))), Located::Delayed(Held::NoSuchInstance));
    }

    #[test]
    fn a_disabled_broker_is_not_considered_unless_named() {
        let routes = [route(None, None, "LOCAL")];
        let hosts = [Host { available: false, ..host(5, true) }];
        assert_eq!(located(&routes, &hosts, to(None)), Located::Delayed(Held::NoLocalService));
        assert_eq!(located(&routes, &hosts, to(Some(5))), Located::Delayed(Held::TargetBrokerOff));
    }

    #[test]
    fn a_route_for_the_service_beats_the_catch_all() {
        let routes = [route(None, None, "LOCAL"), route(Some("svc"), None, "TCP://far:4022")];
        let hosts = [host(5, true)];
        assert_eq!(located(&routes, &hosts, to(None)), Located::Delayed(Held::NoTransport));
        let other_case = [route(None, None, "LOCAL"), route(Some("SVC"), None, "TCP://far:4022")];
        assert_eq!(located(&other_case, &hosts, to(None)), Located::At(DatabaseId(5)));
    }

    #[test]
    fn a_route_with_an_instance_leads_into_that_database() {
        let routes = [route(None, None, "LOCAL"), route(Some("svc"), Some(4), "LOCAL")];
        let hosts = [host(4, true), host(5, true)];
        assert_eq!(located(&routes, &hosts, to(None)), Located::At(DatabaseId(4)));
    }

    #[test]
    fn without_a_route_only_a_named_instance_here_is_found() {
        let hosts = [host(5, true)];
        assert_eq!(located(&[], &hosts, to(None)), Located::Delayed(Held::NoRoute));
        assert_eq!(located(&[], &hosts, to(Some(5))), Located::At(DatabaseId(5)));
    }

    #[test]
    fn an_expired_route_is_ignored() {
        let mut expired = route(None, None, "LOCAL");
        expired.expires = Some(NOW);
        assert_eq!(located(&[expired.clone()], &[host(5, true)], to(None)), Located::Delayed(Held::NoRoute));
        expired.expires = Some(NOW.plus(Duration::from_secs(1)));
        assert_eq!(located(&[expired], &[host(5, true)], to(None)), Located::At(DatabaseId(5)));
    }
}
