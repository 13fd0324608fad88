//! Which rights a login lacks on a queue, what is lost without each, and the statement that grants it.
//!
//! Pure, as `findings` is, of which this is a part.

use super::findings::{bracketed, in_schema, quoted};
use crate::activator::config::QueueAddress;
use crate::activator::status::warnings::Found;
use crate::client::{DatabaseState, QueueState, Right};

/// One warning for each right that is missing.
pub(super) fn missing(on: &QueueAddress, state: &QueueState) -> Vec<Found> {
    let mut missing = vec![state.details.missing(), state.ready.missing(), state.depth.missing()];
    missing.extend([state.monitor.missing(), state.notifications.missing()]);
    let mut rights: Vec<Right> = missing.into_iter().flatten().collect();
    rights.sort_unstable();
    rights.dedup();
    rights.into_iter().map(|right| one(on, &state.database, right)).collect()
}

/// Which it is, and what is lost without it.
fn one(on: &QueueAddress, database: &DatabaseState, right: Right) -> Found {
    let (login, queue) = (bracketed(&database.login), in_schema(on));
    let in_database = format!("USE {};", bracketed(&database.database));
    let (id, lost, cure) = match right {
        Right::Connect => (
            "right-connect",
            "nothing of its queue can be seen, so a lost notification is never made good",
            format!("{in_database} CREATE USER {login} FOR LOGIN {login};"),
        ),
        Right::Select => (
            "right-select",
            "it cannot be seen whether messages wait; only the queue monitor, if it may be seen, tells of a lost notification",
            format!("{in_database} GRANT SELECT ON {queue} TO {login};"),
        ),
        Right::ViewDefinition => (
            "right-view-definition",
            "a disabled queue and a missing event notification are not noticed",
            format!("{in_database} GRANT VIEW DEFINITION TO {login};"),
        ),
        Right::ViewDatabaseState => (
            "right-database-state",
            "the number of messages is not shown",
            format!("{in_database} GRANT VIEW DATABASE STATE TO {login};"),
        ),
        _ => (
            "right-server-state",
            "the queue monitor cannot be seen: whether a handler received, or a notification got lost, is guessed",
            format!(
                "USE master; GRANT VIEW SERVER STATE TO {login}; -- or, from SQL Server 2022, VIEW SERVER PERFORMANCE STATE"
            ),
        ),
    };
    let text = format!("login {} lacks {right} for {}: {lost}", database.login, quoted(on));
    Found { id, text, cure }
}

/// A queue that is to be switched on again by a login that may not.
pub(in crate::activator) fn no_alter(on: &QueueAddress, state: &QueueState) -> Found {
    let login = &state.database.login;
    let (database, bracketed_login) = (bracketed(&on.database), bracketed(login));
    Found {
        id: "right-alter",
        text: format!("login {login} lacks ALTER for {}: it is not switched on again", quoted(on)),
        cure: format!("USE {database}; GRANT ALTER ON {} TO {bracketed_login};", in_schema(on)),
    }
}

/// A queue that is to be received from for a handler, by a login that may not.
pub(in crate::activator) fn no_receive(on: &QueueAddress, state: &QueueState) -> Found {
    let login = &state.database.login;
    let (database, bracketed_login) = (bracketed(&on.database), bracketed(login));
    Found {
        id: "right-receive",
        text: format!(
            "login {login} lacks RECEIVE on {}: nothing can be received for the handler",
            quoted(on)
        ),
        cure: format!("USE {database}; GRANT RECEIVE ON {} TO {bracketed_login};", in_schema(on)),
    }
}
