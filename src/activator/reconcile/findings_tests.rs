//! Findings that take a server's long neglect, or one that the embedded broker has no state for.

use super::super::judge::{Judge, Look};
use super::{of_handlers, of_queue, of_service};
use crate::activator::config::QueueAddress;
use crate::activator::reconcile::findings::Destination;
use crate::activator::status::Handlers;
use crate::activator::status::warnings::Found;
use crate::client::{DatabaseState, QueueDetails, QueueName, QueueState, ServiceState, Visible};
use std::time::{Duration, Instant};
use uuid::Uuid;

fn on() -> QueueAddress {
    QueueAddress { server: None, database: "Sales".into(), schema: "dbo".into(), queue: "Orders".into() }
}

/// A queue with which everything is well.
fn queue() -> QueueState {
    let database = DatabaseState {
        server_name: "S".into(),
        login: "ea".into(),
        database: "Sales".into(),
        broker_id: Uuid::nil(),
        is_broker_enabled: true,
        is_trustworthy: false,
        state: "ONLINE".into(),
        is_accessible: true,
    };
    let details = QueueDetails {
        id: 1,
        name: QueueName::in_schema("dbo", "Orders").unwrap(),
        is_receive_enabled: true,
        is_activation_enabled: false,
    };
    QueueState {
        database,
        details: Visible::Known(Some(details)),
        can_receive: true,
        can_alter: true,
        ready: Visible::Known(true),
        depth: Visible::Known(7),
        oldest: Visible::Known(None),
        monitor: Visible::Known(None),
        notifications: Visible::Hidden(crate::client::Right::ViewDefinition),
    }
}

fn ids(found: &[Found]) -> Vec<&str> {
    found.iter().map(|found| found.id).collect()
}

/// Pain 31.
#[test]
fn notifications_that_nobody_takes_for_a_minute_are_warned_of_with_number_and_age() {
    let name = QueueName::in_schema("dbo", "Notifications").unwrap();
    let contracts = Visible::Known(vec![super::CONTRACT.to_owned()]);
    let service = ServiceState { queue: name, contracts, sees_definition: true, refers_to_schema: true };
    let aged = |seconds: u64| {
        let queue = QueueState { oldest: Visible::Known(Some(Duration::from_secs(seconds))), ..queue() };
        of_service("//n", &service, &queue)
    };
    assert_eq!(ids(&aged(59)), [""; 0]);
    let found = aged(60);
    assert_eq!(ids(&found), ["notifications-wait"]);
    assert!(found[0].text.starts_with("7 notifications wait in [dbo].[Notifications], the oldest for 60 s"));
}

#[test]
fn a_database_that_is_not_online_and_a_queue_with_its_own_procedure_are_named() {
    let to = Destination { service: "//n", broker_id: String::new(), known_services: &[] };
    let mut state = queue();
    state.database.state = "RESTORING".into();
    let Visible::Known(Some(details)) = &mut state.details else { panic!() };
    details.is_activation_enabled = true;
    let found = of_queue(&on(), &state, &to);
    assert_eq!(ids(&found), ["database-offline", "right-view-definition", "internal-activation"]);
    assert_eq!(found[2].cure, "USE [Sales]; ALTER QUEUE [dbo].[Orders] WITH ACTIVATION (DROP);");
}

#[test]
fn a_handler_that_leaves_messages_is_named_where_the_monitor_cannot_be_seen() {
    let (mut judge, mut now) = (Judge::new(0), Instant::now());
    let waits = Look { ready: Some(true), monitor: None };
    for launches in 1..=3 {
        judge.judge(&waits, Handlers { launches, ..Handlers::default() }, now);
        assert_eq!(ids(&of_handlers(&on(), &judge, false)).len(), usize::from(launches == 3));
        now += Duration::from_secs(60);
    }
    assert_eq!(ids(&of_handlers(&on(), &judge, false)), ["messages-left"]);
    assert_eq!(ids(&of_handlers(&on(), &judge, true)), ["exits-without-receive"]);
}
