//! What is wrong with a queue or a notification service, in words, each with its cure.
//!
//! Pure: what the client's inspection saw goes in, warnings come out. The identifiers are fixed; texts are for people. Used
//! by the running daemon and by `activator check --live`.

use super::judge::Judge;
use super::rights;
use crate::activator::config::QueueAddress;
use crate::activator::status::warnings::Found;
use crate::client::{DatabaseState, MonitorState, QueueDetails, QueueState, ServiceState, Visible};

/// The contract of event notifications, byte by byte.
pub(in crate::activator) const CONTRACT: &str =
    "http://schemas.microsoft.com/SQL/Notifications/PostEventNotification";
const ACTIVATION: &str = "QUEUE_ACTIVATION";
const DISABLED: &str = "BROKER_QUEUE_DISABLED";
/// Age of a notification nobody takes that needs a person (pain 31).
const OLD: u64 = 60;

/// Where event notifications are to go.
#[derive(Debug, Clone)]
pub(in crate::activator) struct Destination<'a> {
    /// The notification service.
    pub(in crate::activator) service: &'a str,
    /// The broker it is in.
    pub(in crate::activator) broker_id: String,
    /// Every notification service of the configuration: a queue may notify any of them.
    pub(in crate::activator) known_services: &'a [String],
}

/// A queue that cannot be found is told of only where its database is.
pub(in crate::activator) fn missing_queue(on: &QueueAddress, nearest: Option<&str>) -> Found {
    let nearest = nearest.map(|name| format!("; the nearest is {name}")).unwrap_or_default();
    Found {
        id: "queue-missing",
        text: format!("there is no queue {}.{} in database {}{nearest}", on.schema, on.queue, on.database),
        cure: "correct `on` in the configuration, or create the queue".to_owned(),
    }
}

/// The server does not show one queue, for a reason that need not be that of any other.
pub(super) fn unseen(on: &QueueAddress, reason: &str) -> Found {
    Found {
        id: "queue-unseen",
        text: format!("queue {on} cannot be looked at: {reason}"),
        cure: "see the error; launches by notification go on, and so do looks at other queues".to_owned(),
    }
}

/// Everything that is wrong with an application's queue.
pub(in crate::activator) fn of_queue(
    on: &QueueAddress,
    state: &QueueState,
    to: &Destination<'_>,
) -> Vec<Found> {
    let mut found = Vec::new();
    found.extend(of_database(&state.database));
    found.extend(rights::missing(on, state));
    if let Visible::Known(Some(details)) = &state.details {
        found.extend(of_details(on, details));
    }
    if let Visible::Known(notifications) = &state.notifications {
        found.extend(of_notifications(on, notifications, to));
        found.extend(held(on, &state.database, notifications, to));
    }
    found.extend(stuck(on, state));
    found
}

/// What the judge of a queue has seen.
pub(super) fn of_handlers(on: &QueueAddress, judge: &Judge, sees_monitor: bool) -> Vec<Found> {
    let mut found = Vec::new();
    let queue = quoted(on);
    if judge.futile() > 0 && sees_monitor {
        found.push(Found {
            id: "exits-without-receive",
            text: format!(
                "the handler ended {} times in a row without executing RECEIVE on {queue}; messages wait, and the server \
                 notifies no more",
                judge.futile()
            ),
            cure: "see why it ends (`activator status --history`); it is started again after growing pauses".to_owned(),
        });
    } else if judge.futile() > 2 {
        found.push(Found {
            id: "messages-left",
            text: format!("the handler ended {} times in a row and left messages in {queue}", judge.futile()),
            cure: "see whether it receives until the queue is empty (`activator status --history`)"
                .to_owned(),
        });
    }
    if judge.is_lost() && judge.futile() == 0 {
        found.push(Found {
            id: "notification-lost",
            text: format!(
                "messages waited in {queue} and no notification came; the handler was started without one"
            ),
            cure: format!(
                "if it happens again, create the event notification anew: {}",
                create_notification(on, None)
            ),
        });
    }
    found
}

/// Everything that is wrong with a notification service and its queue.
pub(in crate::activator) fn of_service(
    service: &str,
    state: &ServiceState,
    queue: &QueueState,
) -> Vec<Found> {
    let mut found = Vec::new();
    found.extend(of_database(&queue.database));
    found.extend(of_contracts(service, state));
    if let Visible::Known(Some(details)) = &queue.details
        && !details.is_receive_enabled
    {
        found.push(Found {
            id: "notification-queue-disabled",
            text: format!(
                "the notification queue {} is switched off, so no notification arrives",
                state.queue
            ),
            cure: format!("ALTER QUEUE {} WITH STATUS = ON;", state.queue),
        });
    }
    if let Visible::Known(Some(age)) = queue.oldest
        && age.as_secs() >= OLD
    {
        let depth = queue.depth.known().map_or_else(|| "some".to_owned(), |depth| depth.to_string());
        found.push(Found {
            id: "notifications-wait",
            text: format!(
                "{depth} notifications wait in {}, the oldest for {} s: nobody takes them",
                state.queue,
                age.as_secs()
            ),
            cure: "see why the listener does not work, or whether another reader holds their conversations"
                .to_owned(),
        });
    }
    found
}

/// The statements that create an event notification for a queue.
pub(in crate::activator) fn create_notification(on: &QueueAddress, to: Option<&Destination<'_>>) -> String {
    format!("USE {}; {}", bracketed(&on.database), create(on, to))
}

fn create(on: &QueueAddress, to: Option<&Destination<'_>>) -> String {
    create_for(ACTIVATION, "Activation", on, to)
}

fn create_for(event: &str, suffix: &str, on: &QueueAddress, to: Option<&Destination<'_>>) -> String {
    let service = to.map_or("the notification service", |to| to.service).replace('\'', "''");
    let broker = to.map_or_else(|| "current database".to_owned(), |to| to.broker_id.to_uppercase());
    format!(
        "CREATE EVENT NOTIFICATION {} ON QUEUE {} FOR {event} TO SERVICE '{service}', '{broker}';",
        bracketed(&format!("{}{suffix}", on.queue)),
        in_schema(on),
    )
}

fn of_database(database: &DatabaseState) -> Option<Found> {
    let name = &database.database;
    if database.state != "ONLINE" && !database.state.is_empty() {
        return Some(Found {
            id: "database-offline",
            text: format!("database {name} is {}", database.state),
            cure: "bring it online".to_owned(),
        });
    }
    // Pain 25: it needs the database for itself, so it is never done silently.
    (!database.is_broker_enabled).then(|| Found {
        id: "broker-disabled",
        text: format!("Service Broker is disabled in database {name}: messages and notifications wait"),
        cure: format!(
            "ALTER DATABASE {} SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE; -- ends every other session in it",
            bracketed(name)
        ),
    })
}

fn of_details(on: &QueueAddress, details: &QueueDetails) -> Vec<Found> {
    let mut found = Vec::new();
    let use_it = format!("USE {};", bracketed(&on.database));
    if !details.is_receive_enabled {
        found.push(Found {
            id: "queue-disabled",
            text: format!("queue {} is switched off, most likely by a message that was rolled back five times", quoted(on)),
            cure: format!(
                "find the poison message and end its conversation, then {use_it} ALTER QUEUE {} WITH STATUS = ON;",
                details.name
            ),
        });
    }
    if details.is_activation_enabled {
        found.push(Found {
            id: "internal-activation",
            text: format!(
                "queue {} has an activation procedure, which the server starts instead",
                quoted(on)
            ),
            cure: format!("{use_it} ALTER QUEUE {} WITH ACTIVATION (DROP);", details.name),
        });
    }
    found
}

/// Pains 10, 11 and 24: gone, talking to nobody, or to a broker that is no more.
fn of_notifications(
    on: &QueueAddress,
    all: &[crate::client::EventNotification],
    to: &Destination<'_>,
) -> Option<Found> {
    let activation = || all.iter().filter(|one| one.event == ACTIVATION);
    let ours = || activation().filter(|one| one.service == to.service);
    let queue = quoted(on);
    if !activation().any(|one| to.known_services.contains(&one.service)) {
        let others: Vec<_> = activation().map(|one| one.service.as_str()).collect();
        let others = if others.is_empty() { "none".to_owned() } else { others.join(", ") };
        return Some(Found {
            id: "notification-missing",
            text: format!(
                "no event notification of {queue} goes to {} (those there are go to: {others})",
                to.service
            ),
            cure: create_notification(on, Some(to)),
        });
    }
    let is_here =
        |one: &crate::client::EventNotification| one.broker_instance.eq_ignore_ascii_case(&to.broker_id);
    let first = ours().next()?;
    if !ours().any(is_here) {
        return Some(Found {
            id: "notification-elsewhere",
            text: format!(
                "event notification {} of {queue} goes to broker {}, but {} is in broker {} now",
                first.name, first.broker_instance, to.service, to.broker_id
            ),
            cure: recreate(on, &first.name, to),
        });
    }
    let dead = ours().find(|one| is_here(one) && !one.has_conversation)?;
    Some(Found {
        id: "notification-dead",
        text: format!(
            "event notification {} of {queue} is listed, but its conversation has ended: no notification will come",
            dead.name
        ),
        cure: recreate(on, &dead.name, to),
    })
}

/// Pain 27: without it a queue that is switched off is found by looking only.
pub(in crate::activator) fn disabled_unheard(
    on: &QueueAddress,
    state: &QueueState,
    to: &Destination<'_>,
    is_switched_on_again: bool,
) -> Option<Found> {
    let Visible::Known(all) = &state.notifications else { return None };
    if all.iter().any(|one| one.event == DISABLED && to.known_services.contains(&one.service)) {
        return None;
    }
    let mut text =
        "no event notification tells when the server switches its queue off; a look once a minute does"
            .to_owned();
    if is_switched_on_again {
        text.push_str(", and it is never switched on again");
    }
    let cure = format!("USE {}; {}", bracketed(&on.database), create_for(DISABLED, "Disabled", on, Some(to)));
    Some(Found { id: "disabled-unheard", text, cure })
}

/// C066: sent, and not delivered.
fn held(
    on: &QueueAddress,
    database: &DatabaseState,
    all: &[crate::client::EventNotification],
    to: &Destination<'_>,
) -> Option<Found> {
    let here = database.broker_id.to_string().eq_ignore_ascii_case(&to.broker_id);
    let ours = all.iter().find(|one| {
        one.event == ACTIVATION
            && one.service == to.service
            && one.broker_instance.eq_ignore_ascii_case(&to.broker_id)
    })?;
    let needs_trust = !here && !database.is_trustworthy;
    let queue = quoted(on);
    let text = match &ours.held {
        Some(status) => {
            format!("a notification of {queue} waits in the transmission queue of {}: {status}", on.database)
        }
        None if needs_trust => format!(
            "notifications of {queue} go to another database, and database {} is not TRUSTWORTHY, so the server keeps them",
            on.database
        ),
        None => return None,
    };
    let cure = if needs_trust { trust(on) } else { "see the server's own words".to_owned() };
    Some(Found { id: "notification-held", text, cure })
}

/// The way without trust comes first: whoever owns a trustworthy database can act in all that its owner may use.
fn trust(on: &QueueAddress) -> String {
    let database = bracketed(&on.database);
    format!(
        "make a notification service in database {database} and listen on it too, which takes no trust; or: ALTER DATABASE \
         {database} SET TRUSTWORTHY ON; -- its users of the role db_owner can act outside it then as its owner"
    )
}

fn recreate(on: &QueueAddress, name: &str, to: &Destination<'_>) -> String {
    let database = bracketed(&on.database);
    let drop = format!("DROP EVENT NOTIFICATION {} ON QUEUE {};", bracketed(name), in_schema(on));
    format!("USE {database}; {drop} {}", create(on, Some(to)))
}

/// Pain 9. An empty queue whose monitor has notified starts nothing when the next message comes.
fn stuck(on: &QueueAddress, state: &QueueState) -> Option<Found> {
    let notified =
        matches!(&state.monitor, Visible::Known(Some(monitor)) if monitor.state == MonitorState::Notified);
    (notified && state.ready == Visible::Known(false) && state.depth == Visible::Known(0)).then(|| Found {
        id: "stuck-notified",
        text: format!("the monitor of {} has notified although the queue is empty; it is silent until somebody receives", quoted(on)),
        cure: format!("{} -- takes no message", receive_nothing(on)),
    })
}

/// The statement that wakes a monitor and takes no message.
fn receive_nothing(on: &QueueAddress) -> String {
    format!("USE {}; RECEIVE TOP (0) conversation_handle FROM {};", bracketed(&on.database), in_schema(on))
}

/// Pain 23 and C069.
fn of_contracts(service: &str, state: &ServiceState) -> Option<Found> {
    let contracts = state.contracts.as_ref().known()?;
    if contracts.iter().any(|contract| contract == CONTRACT) {
        return None;
    }
    let secure = CONTRACT.replacen("http:", "https:", 1);
    let near = contracts.iter().find(|contract| contract.eq_ignore_ascii_case(&secure));
    let why = near.map_or_else(
        || "it accepts no event notifications".to_owned(),
        |near| format!("it lists {near}, which is another contract: the name begins with http://"),
    );
    Some(Found {
        id: "contract-missing",
        text: format!("service {service} lacks the contract {CONTRACT}: {why}"),
        cure: format!("ALTER SERVICE {} (ADD CONTRACT [{CONTRACT}]);", bracketed(service)),
    })
}

pub(super) fn quoted(on: &QueueAddress) -> String {
    format!("{}.{}", bracketed(&on.database), in_schema(on))
}

pub(super) fn in_schema(on: &QueueAddress) -> String {
    format!("{}.{}", bracketed(&on.schema), bracketed(&on.queue))
}

/// A quoted identifier, for statements a person is shown.
pub(in crate::activator) fn bracketed(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

#[cfg(test)]
#[path = "findings_tests.rs"]
mod tests;
