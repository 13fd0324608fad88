//! Indexes of endpoints and of the transmission queue, and what undoing an endpoint keeps.

use std::sync::Arc;

use uuid::Uuid;

use super::{Endpoints, State, Transmission};
use crate::engine::definitions::{Endpoint, Inbound, MessageKind, OwnSide, PeerSide, TransmissionRow, User};
use crate::engine::ids::{ContractId, DatabaseId, ObjectId, QueueKey, ServiceId};
use crate::value::Timestamp;

const DB: DatabaseId = DatabaseId(5);

fn id(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

fn endpoint(handle: u128, group: u128) -> Endpoint {
    Endpoint {
        handle: id(handle),
        conversation_id: id(handle + 1000),
        is_initiator: true,
        database: DB,
        service: ServiceId(65536),
        service_name: "service".into(),
        contract: ContractId(6),
        contract_name: "DEFAULT".into(),
        group: id(group),
        far_service: "far".into(),
        names_instance: false,
        owner: User::DBO,
        expires: Timestamp(100),
        is_system: false,
        encryption: false,
        priority: 5,
        own: OwnSide::default(),
        inbound: Inbound::default(),
    }
}

#[test]
fn endpoints_are_found_by_group_service_database_and_side() {
    let mut endpoints = Endpoints::default();
    for (handle, group) in [(1, 10), (2, 10), (3, 30)] {
        endpoints.put(id(handle), Some(Arc::new(endpoint(handle, group))));
    }
    let handles = |found: Vec<&Arc<Endpoint>>| found.iter().map(|it| it.handle.as_u128()).collect::<Vec<_>>();
    assert_eq!(handles(endpoints.of_group(id(10)).collect()), [1, 2]);
    endpoints.put(id(1), Some(Arc::new(endpoint(1, 30))));
    assert_eq!(handles(endpoints.of_group(id(30)).collect()), [1, 3]);
    assert_eq!(handles(endpoints.of_service(DB, ServiceId(65536)).collect()), [1, 2, 3]);
    assert_eq!(endpoints.of_database(DatabaseId(6)).count(), 0);
    assert_eq!(endpoints.side(id(1002), true).unwrap().handle, id(2));
    assert!(endpoints.side(id(1002), false).is_none());
    endpoints.put(id(2), None);
    assert_eq!(handles(endpoints.of_database(DB).collect()), [1, 3]);
    assert!(endpoints.side(id(1002), true).is_none() && endpoints.of_group(id(10)).next().is_none());
}

#[test]
fn deadlines_follow_timers_and_leave_with_the_endpoint() {
    let mut endpoints = Endpoints::default();
    endpoints.put(id(1), Some(Arc::new(endpoint(1, 10))));
    assert_eq!(endpoints.next_deadline(), Some(Timestamp(100)));
    let inbound = Inbound { timer: Some(Timestamp(40)), ..Inbound::default() };
    let before = endpoints.put(id(1), Some(Arc::new(Endpoint { inbound, ..endpoint(1, 10) })));
    assert_eq!(endpoints.next_deadline(), Some(Timestamp(40)));
    assert_eq!(endpoints.due(Timestamp(39)).count(), 0);
    assert_eq!(endpoints.due(Timestamp(40)).collect::<Vec<_>>(), [id(1)]);
    endpoints.put(id(1), before);
    assert_eq!(endpoints.next_deadline(), Some(Timestamp(100)));
    endpoints.put(id(1), None);
    assert_eq!(endpoints.next_deadline(), None);
}

#[test]
fn undoing_an_endpoint_keeps_what_has_arrived_since() {
    let mut state = State::default();
    state.put_endpoint(id(1), Some(Arc::new(endpoint(1, 10))));
    let own = OwnSide { ended: true, ..OwnSide::default() };
    let before = state.put_endpoint(id(1), Some(Arc::new(Endpoint { own, ..endpoint(1, 20) })));
    let current = state.endpoints.get(id(1)).unwrap();
    let inbound = Inbound { peer: PeerSide::Ended, ..Inbound::default() };
    let arrived = Endpoint { inbound, ..Endpoint::clone(current) };
    state.put_endpoint(id(1), Some(Arc::new(arrived)));
    state.revert_endpoint(id(1), before);
    let reverted = state.endpoints.get(id(1)).unwrap();
    assert_eq!((reverted.own.ended, reverted.inbound.peer, reverted.group), (false, PeerSide::Ended, id(10)));
}

#[test]
fn waiting_messages_are_found_by_handle_and_by_the_queue_they_wait_for() {
    let queue = QueueKey::new(DB, ObjectId(1));
    let mut transmission = Transmission::default();
    for (handle, waits_for) in [(1, None), (2, Some(queue)), (1, Some(queue))] {
        let order = transmission.allocate_order();
        transmission.put(order, Some(Arc::new(row(order, handle, waits_for))));
    }
    let orders = |found: Vec<&Arc<TransmissionRow>>| found.iter().map(|it| it.order).collect::<Vec<_>>();
    assert_eq!(orders(transmission.of_handle(id(1)).collect()), [0, 2]);
    assert_eq!(orders(transmission.waiting_for(queue).collect()), [1, 2]);
    transmission.put(2, Some(Arc::new(row(2, 1, None))));
    assert_eq!(orders(transmission.waiting_for(queue).collect()), [1]);
    let taken = transmission.put(1, None);
    assert_eq!(transmission.waiting_for(queue).count(), 0);
    transmission.put(1, taken);
    assert_eq!((orders(transmission.iter().collect()), transmission.allocate_order()), (vec![0, 1, 2], 3));
}

fn row(order: i64, handle: u128, waits_for: Option<QueueKey>) -> TransmissionRow {
    TransmissionRow {
        order,
        database: DB,
        handle: id(handle),
        conversation_id: id(handle + 1000),
        from_initiator: true,
        to_service: "to".into(),
        to_broker_instance: None,
        from_service: "from".into(),
        contract: "DEFAULT".into(),
        enqueued: Timestamp(0),
        sequence: order,
        message_type: "DEFAULT".into(),
        kind: MessageKind::User,
        body: None,
        status: "".into(),
        priority: 5,
        message_id: id(7),
        waits_for,
        arrived: false,
    }
}
