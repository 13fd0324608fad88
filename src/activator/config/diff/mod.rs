//! What a new configuration changes, and how a running daemon goes over to it.
//!
//! Pure. A listener is named by its position in the list of notification services, so positions stay while the daemon
//! runs: a service that is configured no more keeps its place and is switched off, and new ones come at the end.

use super::model::{Application, Config, NotificationService, QueueAddress};
use std::collections::BTreeSet;
use std::fmt;

/// How to go over from one configuration to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The new configuration, with its notification services in their places.
    pub(crate) config: Config,
    /// What is different; empty if nothing is.
    pub(crate) changes: Vec<Change>,
}

/// One difference between two configurations, as it is acted on and told to people.
///
/// `listener` is the position of a notification service, `app` the name of an application.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// A notification service is listened on from now on: it is new, or enabled.
    ServiceStarted {
        /// Its position.
        listener: usize,
        /// Its name.
        service: String,
    },
    /// A notification service is listened on no more: it is gone, or not enabled.
    ServiceStopped {
        /// Its position.
        listener: usize,
        /// Its name.
        service: String,
    },
    /// A notification service has another connection.
    ServiceRebound {
        /// Its position.
        listener: usize,
        /// Its name.
        service: String,
    },
    /// An application is new.
    AppAdded {
        /// Its name.
        app: String,
    },
    /// An application is configured no more: what runs of it is asked to end.
    AppRemoved {
        /// Its name.
        app: String,
    },
    /// An application is enabled or not.
    AppEnabled {
        /// Its name.
        app: String,
        /// Whether it is enabled now. What runs of one that is not goes on to its own end.
        enabled: bool,
    },
    /// An application has other limits of concurrency; what runs above a lower `max` goes on to its own end.
    AppResized {
        /// Its name.
        app: String,
        /// `min` and `max` before.
        from: (u32, u32),
        /// `min` and `max` now.
        to: (u32, u32),
    },
    /// An application is for another queue.
    AppRebound {
        /// Its name.
        app: String,
        /// The queue before.
        from: QueueAddress,
        /// The queue now.
        to: QueueAddress,
    },
    /// Other keys of an application are different; they count from its next launch on.
    AppChanged {
        /// Its name.
        app: String,
        /// The keys, as in `activator.toml`. Their values are not told, since they may be secrets.
        keys: Vec<&'static str>,
    },
    /// Whether, or how often, an application's queue is switched on again is different.
    AppReenabling {
        /// Its name.
        app: String,
    },
    /// A setting is different that takes effect at the next start only.
    NeedsRestart {
        /// The setting.
        key: &'static str,
    },
}

impl Change {
    /// The application it is about.
    #[must_use]
    pub fn app(&self) -> Option<&str> {
        match self {
            Self::AppAdded { app }
            | Self::AppRemoved { app }
            | Self::AppEnabled { app, .. }
            | Self::AppResized { app, .. }
            | Self::AppRebound { app, .. }
            | Self::AppChanged { app, .. }
            | Self::AppReenabling { app } => Some(app),
            Self::ServiceStarted { .. }
            | Self::ServiceStopped { .. }
            | Self::ServiceRebound { .. }
            | Self::NeedsRestart { .. } => None,
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ServiceStarted { service, .. } => {
                write!(f, "notification service {service} is listened on")
            }
            Self::ServiceStopped { service, .. } => {
                write!(f, "notification service {service} is not listened on any more")
            }
            Self::ServiceRebound { service, .. } => {
                write!(f, "notification service {service} has another connection")
            }
            Self::AppAdded { app } => write!(f, "application {app} is new"),
            Self::AppRemoved { app } => {
                write!(f, "application {app} is removed; what runs of it is asked to end")
            }
            Self::AppEnabled { app, enabled: true } => write!(f, "application {app} is enabled"),
            Self::AppEnabled { app, enabled: false } => {
                write!(f, "application {app} is not enabled any more; what runs of it goes on")
            }
            Self::AppResized { app, from, to } => write!(
                f,
                "application {app} has min {} and max {} instead of {} and {}",
                to.0, to.1, from.0, from.1
            ),
            Self::AppRebound { app, from, to } => {
                write!(f, "application {app} is for {to} instead of {from}")
            }
            Self::AppChanged { app, keys } => {
                write!(f, "application {app} is different from its next launch on: {}", keys.join(", "))
            }
            Self::AppReenabling { app } => {
                write!(f, "application {app} has its queue switched on again by other rules (reenable)")
            }
            Self::NeedsRestart { key } => {
                write!(f, "{key} is different, which takes effect at the next start only")
            }
        }
    }
}

/// Plans the way from `old`, which is in effect, to `new`.
pub(crate) fn plan(old: &Config, mut new: Config) -> Plan {
    let mut changes = Vec::new();
    new.notifications = in_their_places(&old.notifications, new.notifications);
    services(old, &new, &mut changes);
    applications(old, &new, &mut changes);
    settings(old, &mut new, &mut changes);
    Plan { config: new, changes }
}

/// The services of `new`, each in the place where the same one is in `old`.
///
/// The same is one of that name and connection; where a name occurs with another connection, it was given another one.
fn in_their_places(old: &[NotificationService], new: Vec<NotificationService>) -> Vec<NotificationService> {
    let mut free: BTreeSet<usize> = (0..old.len()).collect();
    let mut places: Vec<Option<usize>> = vec![None; new.len()];
    for with_connection in [true, false] {
        for (service, place) in new.iter().zip(&mut places).filter(|(_, place)| place.is_none()) {
            let same = |index: &&usize| {
                let other = &old[**index];
                other.name == service.name && (!with_connection || other.connection == service.connection)
            };
            *place = free.iter().find(same).copied();
            place.map(|index| free.remove(&index));
        }
    }
    let mut merged: Vec<_> =
        old.iter().cloned().map(|gone| NotificationService { enabled: false, ..gone }).collect();
    for (service, place) in new.into_iter().zip(places) {
        match place {
            Some(index) => merged[index] = service,
            None => merged.push(service),
        }
    }
    merged
}

fn services(old: &Config, new: &Config, changes: &mut Vec<Change>) {
    for (listener, service) in new.notifications.iter().enumerate() {
        let before = old.notifications.get(listener).filter(|before| before.enabled);
        let name = service.name.clone();
        match before {
            None if service.enabled => changes.push(Change::ServiceStarted { listener, service: name }),
            Some(_) if !service.enabled => changes.push(Change::ServiceStopped { listener, service: name }),
            Some(before) if before.connection != service.connection => {
                changes.push(Change::ServiceRebound { listener, service: name });
            }
            _ => {}
        }
    }
}

fn applications(old: &Config, new: &Config, changes: &mut Vec<Change>) {
    for before in &old.applications {
        if !new.applications.iter().any(|after| after.name == before.name) {
            changes.push(Change::AppRemoved { app: before.name.clone() });
        }
    }
    for after in &new.applications {
        match old.applications.iter().find(|before| before.name == after.name) {
            None => changes.push(Change::AppAdded { app: after.name.clone() }),
            Some(before) => application(before, after, changes),
        }
    }
}

fn application(before: &Application, after: &Application, changes: &mut Vec<Change>) {
    let app = || after.name.clone();
    if before.enabled != after.enabled {
        changes.push(Change::AppEnabled { app: app(), enabled: after.enabled });
    }
    let (from, to) = ((before.min, before.max), (after.min, after.max));
    if from != to {
        changes.push(Change::AppResized { app: app(), from, to });
    }
    if before.on != after.on {
        changes.push(Change::AppRebound { app: app(), from: before.on.clone(), to: after.on.clone() });
    }
    if before.reenable != after.reenable {
        changes.push(Change::AppReenabling { app: app() });
    }
    let keys = changed_keys(before, after);
    if !keys.is_empty() {
        changes.push(Change::AppChanged { app: app(), keys });
    }
}

fn changed_keys(before: &Application, after: &Application) -> Vec<&'static str> {
    // Named one by one, so that a new field cannot be forgotten here.
    let Application {
        name: _,
        enabled: _,
        on: _,
        min: _,
        max: _,
        strict_server,
        command,
        arguments,
        work_dir,
        kind,
        user,
        group,
        umask,
        timeout,
        stop_grace,
        backoff,
        rate,
        limits,
        environment,
        pass_connection,
        // A change of its own: it says nothing of launches.
        reenable: _,
    } = after;
    let same_kind = before.kind.name() == kind.name();
    let keys = [
        ("strict_server", before.strict_server != *strict_server),
        ("command", before.command != *command),
        ("args", before.arguments != *arguments),
        ("work_dir", before.work_dir != *work_dir),
        ("kind", !same_kind),
        ("feed", same_kind && before.kind != *kind),
        ("user", before.user != *user),
        ("group", before.group != *group),
        ("umask", before.umask != *umask),
        ("timeout", before.timeout != *timeout),
        ("stop_grace", before.stop_grace != *stop_grace),
        ("backoff", before.backoff != *backoff),
        ("rate", before.rate != *rate),
        ("limits", before.limits != *limits),
        ("env", before.environment != *environment),
        ("pass_connection", before.pass_connection != *pass_connection),
    ];
    keys.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key).collect()
}

/// What is taken up once stays as it is.
fn settings(old: &Config, new: &mut Config, changes: &mut Vec<Change>) {
    let keys = [
        ("[log]", old.log != new.log),
        ("[state]", old.state != new.state),
        ("[history]", old.history != new.history),
        ("[metrics]", old.metrics != new.metrics),
    ];
    let different = keys.into_iter().filter(|(_, differs)| *differs);
    changes.extend(different.map(|(key, _)| Change::NeedsRestart { key }));
    new.log.clone_from(&old.log);
    new.state.clone_from(&old.state);
    new.history.clone_from(&old.history);
    new.metrics.clone_from(&old.metrics);
}

#[cfg(test)]
mod tests;
