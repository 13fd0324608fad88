//! Notifications, monitors, poison: V-21 to V-23, V-25 to V-31 and what goes with them.

use super::{Bench, MonitorState, NewNotification, NotifyOn, bodies, code, seconds, utf16};
use crate::engine::core::Call;
use crate::engine::ids::QueueKey;
use crate::engine::objects::ObjectName;
use crate::engine::queues::{ActivationClause, ExecuteAs, QueueOptions};

const ACTIVATION: &str = "QUEUE_ACTIVATION";
const DISABLED: &str = "BROKER_QUEUE_DISABLED";

fn roll_back_a_receive(bench: &mut Bench) {
    bench.begin_tran(bench.b);
    bench.receive(bench.b, bench.qb);
    bench.rollback(bench.b);
}

fn is_on(bench: &Bench, queue: QueueKey) -> bool {
    bench.core.state().queue_def(queue).unwrap().receive_enabled
}

/// How many events lie in the notification queue.
fn events(bench: &mut Bench, queue: QueueKey) -> usize {
    bench.rows(queue).len()
}

/// documented; the layout of the event is assumed (U-33)
#[test]
fn v21_five_roll_backs_disable_the_queue() {
    let mut bench = Bench::new();
    let event_queue = bench.subscribe(bench.qb, DISABLED);
    bench.send_new("m0");
    for round in 1..=5 {
        assert!(is_on(&bench, bench.qb), "before round {round}");
        roll_back_a_receive(&mut bench);
    }
    assert!(!is_on(&bench, bench.qb));
    let rows = bench.receive(bench.a, event_queue);
    let body = utf16(&rows[0]);
    assert!(body.contains("<EventType>BROKER_QUEUE_DISABLED</EventType>"), "{body}");
    assert!(body.contains("<ObjectName>QB</ObjectName>"), "{body}");
    assert_eq!(bench.core.broker_counters().queues_disabled, 1);
}

/// documented
#[test]
fn v22_without_poison_handling_the_queue_stays_on() {
    let mut bench = Bench::new();
    bench.alter_queue("QB", &QueueOptions { poison_handling: Some(false), ..QueueOptions::default() });
    bench.send_new("m0");
    (0..6).for_each(|_| roll_back_a_receive(&mut bench));
    assert!(is_on(&bench, bench.qb));
}

/// assumed
#[test]
fn v23_empty_receives_do_not_count() {
    let mut bench = Bench::new();
    (0..6).for_each(|_| roll_back_a_receive(&mut bench));
    assert!(is_on(&bench, bench.qb));
}

/// assumed (U-34): a commit starts the count anew
#[test]
fn a_commit_resets_the_count_of_roll_backs() {
    let mut bench = Bench::new();
    let handle = bench.send_new("m0");
    (0..4).for_each(|_| roll_back_a_receive(&mut bench));
    bench.receive(bench.b, bench.qb);
    bench.send(bench.a, handle, "m1");
    (0..4).for_each(|_| roll_back_a_receive(&mut bench));
    assert!(is_on(&bench, bench.qb));
    roll_back_a_receive(&mut bench);
    assert!(!is_on(&bench, bench.qb));
}

/// documented; roll backs to a savepoint never count
#[test]
fn fifty_roll_backs_to_a_savepoint_leave_the_queue_on() {
    let mut bench = Bench::new();
    bench.send_new("m0");
    for _ in 0..50 {
        bench.begin_tran(bench.b);
        let call = Call { session: bench.b, now: bench.now };
        bench.core.save(&call, "r").unwrap();
        bench.receive(bench.b, bench.qb);
        bench.core.rollback_to(&call, "r").unwrap();
        bench.commit(bench.b);
    }
    assert!(is_on(&bench, bench.qb));
}

/// assumed (U-35): a closed session counts like any roll back
#[test]
fn disconnecting_counts_as_a_roll_back() {
    let mut bench = Bench::new();
    bench.send_new("m0");
    for _ in 0..5 {
        let session = bench.third_session();
        bench.begin_tran(session);
        bench.receive(session, bench.qb);
        bench.core.close_session(session, bench.now);
    }
    assert!(!is_on(&bench, bench.qb));
}

/// documented
#[test]
fn waiters_learn_that_poison_disabled_the_queue() {
    let mut bench = Bench::new();
    bench.send_new("m0");
    let third = bench.third_session();
    (0..4).for_each(|_| roll_back_a_receive(&mut bench));
    bench.begin_tran(bench.b);
    bench.receive(bench.b, bench.qb);
    assert_eq!(bench.waitfor(third, bench.qb), Ok(None));
    bench.rollback(bench.b);
    assert_eq!(bench.core.take_wakes(), [third]);
    assert_eq!(bench.waitfor(third, bench.qb).unwrap_err().number, 9617);
}

/// documented
#[test]
fn v25_a_burst_gives_one_event() {
    let mut bench = Bench::new();
    let event_queue = bench.subscribe(bench.qb, ACTIVATION);
    assert_eq!(bench.monitor(), Some(MonitorState::Inactive));
    bench.send_many(0..100);
    bench.wait(seconds(60));
    assert_eq!(events(&mut bench, event_queue), 1);
    assert_eq!(bench.monitor(), Some(MonitorState::Notified));
    let rows = bench.receive(bench.a, event_queue);
    let body = utf16(&rows[0]);
    for part in ["<EventType>QUEUE_ACTIVATION<", "<DatabaseName>db<", "<SchemaName>dbo<", "<ObjectName>QB<"] {
        assert!(body.contains(part), "{part} in {body}");
    }
    assert!(body.starts_with("\u{FEFF}<EVENT_INSTANCE>"), "U-21");
}

/// documented
#[test]
fn v26_receives_that_never_come_back_empty_give_another_event() {
    let mut bench = Bench::new();
    let event_queue = bench.subscribe(bench.qb, ACTIVATION);
    bench.send_many(0..10);
    bench.receive_top(bench.b, bench.qb, 1);
    assert_eq!(bench.monitor(), Some(MonitorState::ReceivesOccurring));
    bench.wait(seconds(4));
    assert_eq!(events(&mut bench, event_queue), 1);
    bench.wait(seconds(1));
    assert_eq!(events(&mut bench, event_queue), 2);
    assert_eq!(bench.monitor(), Some(MonitorState::Notified), "U-39");
}

/// documented
#[test]
fn v27_a_drained_queue_gives_a_new_event() {
    let mut bench = Bench::new();
    let event_queue = bench.subscribe(bench.qb, ACTIVATION);
    bench.send_new("m0");
    assert_eq!(bodies(&bench.waitfor(bench.b, bench.qb).unwrap().unwrap()), ["m0"]);
    assert_eq!(bench.waitfor(bench.b, bench.qb), Ok(None));
    bench.core.cancel_wait(bench.b);
    bench.receive(bench.b, bench.qb);
    assert_eq!(bench.monitor(), Some(MonitorState::Inactive));
    bench.send_new("m1");
    assert_eq!(events(&mut bench, event_queue), 2);
}

/// documented
#[test]
fn v28_a_waiting_reader_takes_the_message_without_an_event() {
    let mut bench = Bench::new();
    let event_queue = bench.subscribe(bench.qb, ACTIVATION);
    assert_eq!(bench.waitfor(bench.b, bench.qb), Ok(None));
    bench.send_new("m0");
    assert_eq!(bodies(&bench.waitfor(bench.b, bench.qb).unwrap().unwrap()), ["m0"]);
    bench.wait(seconds(60));
    assert_eq!(events(&mut bench, event_queue), 0);
    assert_eq!(bench.monitor(), Some(MonitorState::Inactive));
}

/// documented: messages remain, but in a group that somebody has locked, so that further readers find nothing
#[test]
fn v29_empty_receives_within_five_seconds_prevent_events() {
    let mut bench = Bench::new();
    let event_queue = bench.subscribe(bench.qb, ACTIVATION);
    let handle = bench.send_new("m0");
    bench.send(bench.a, handle, "m1");
    bench.begin_tran(bench.b);
    bench.receive_top(bench.b, bench.qb, 1);
    for _ in 0..10 {
        bench.wait(seconds(4));
        assert!(bench.receive(bench.a, bench.qb).is_empty());
    }
    assert_eq!(events(&mut bench, event_queue), 1);
}

/// documented
#[test]
fn v30_ending_the_events_dialog_ends_the_notification() {
    let mut bench = Bench::new();
    let event_queue = bench.subscribe(bench.qb, ACTIVATION);
    bench.send_new("m0");
    let event = bench.receive(bench.a, event_queue);
    bench.end(bench.a, event[0].handle);
    bench.receive(bench.b, bench.qb);
    bench.send_new("m1");
    assert!(bench.receive(bench.a, event_queue).is_empty());
    assert!(bench.notifications().is_empty());
    assert_eq!(bench.monitor(), None);
}

/// documented
#[test]
fn v31_activation_and_notifications_exclude_each_other() {
    use crate::engine::definitions::{ModuleDef, ModuleKind, Permission};
    let mut bench = Bench::new();
    let module = ModuleDef {
        kind: ModuleKind::Procedure,
        text: "create procedure reader as return".into(),
        parameters: 0,
        execute_as: None,
        quoted_identifier: true,
    };
    bench.run(bench.a, |tx| {
        tx.create_module(&ObjectName::plain("reader"), module, Permission::CreateProcedure, false)
    });
    let activation = |procedure: &str| QueueOptions {
        activation: Some(ActivationClause::Set {
            status: None,
            procedure: Some(ObjectName::plain(procedure)),
            max_readers: Some(1),
            execute_as: Some(ExecuteAs::Owner),
        }),
        ..QueueOptions::default()
    };
    let alter = |bench: &mut Bench, queue: &str, procedure: &str| {
        let (queue, options) = (ObjectName::plain(queue), activation(procedure));
        bench.error(bench.a, |tx| tx.alter_queue(&queue, &options))
    };
    assert_eq!(alter(&mut bench, "QB", "nosuch"), 9614, "U-52");
    bench.subscribe(bench.qb, ACTIVATION);
    assert_eq!(alter(&mut bench, "QB", "reader"), 9717);
    bench.alter_queue("QA", &activation("reader"));
    let new = NewNotification {
        name: "m".to_string(),
        on: NotifyOn::Queue(bench.qa),
        fan_in: false,
        events: vec![ACTIVATION.to_string()],
        service: "N".to_string(),
        broker_instance: "current database".to_string(),
    };
    assert_eq!(bench.error(bench.a, |tx| tx.create_event_notification(&new)), 9718);
}

/// assumed (U-32): a notification over waiting messages fires at once
#[test]
fn a_notification_over_a_queue_with_messages_fires_at_once() {
    let mut bench = Bench::new();
    bench.send_new("m0");
    let event_queue = bench.subscribe(bench.qb, ACTIVATION);
    assert_eq!(events(&mut bench, event_queue), 1);
}

/// documented: TOP (0) resets a monitor that is stuck in NOTIFIED
#[test]
fn receive_top_zero_counts_for_the_monitor() {
    let mut bench = Bench::new();
    bench.subscribe(bench.qb, ACTIVATION);
    bench.send_new("m0");
    assert!(bench.receive_top(bench.b, bench.qb, 0).is_empty());
    assert_eq!(bench.monitor(), Some(MonitorState::ReceivesOccurring));
}

/// documented: a RECEIVE that fails after all is not seen by the monitor
#[test]
fn a_failed_receive_does_not_count() {
    let mut bench = Bench::new();
    bench.subscribe(bench.qb, ACTIVATION);
    bench.send_new("m0");
    let queue = bench.qb;
    let error = bench.error(bench.b, |tx| {
        tx.receive(&super::all_from(queue))?;
        Err::<(), _>(crate::error::SqlError::new(9420, "bad cast").into())
    });
    assert_eq!(error, 9420);
    assert_eq!(bench.monitor(), Some(MonitorState::Notified));
    assert_eq!(bench.rows(queue).len(), 1);
}

/// assumed (U-36)
#[test]
fn a_queue_switched_off_and_on_starts_monitoring_anew() {
    let mut bench = Bench::new();
    let event_queue = bench.subscribe(bench.qb, ACTIVATION);
    bench.send_new("m0");
    bench.switch("QB", false);
    assert_eq!(bench.monitor(), None);
    bench.switch("QB", true);
    assert_eq!(events(&mut bench, event_queue), 2);
}

/// documented
#[test]
fn dropping_a_notification_ends_its_dialog() {
    let mut bench = Bench::new();
    let event_queue = bench.subscribe(bench.qb, ACTIVATION);
    bench.send_new("m0");
    let on = NotifyOn::Queue(bench.qb);
    bench.run(bench.a, |tx| tx.drop_event_notification("N", &on));
    let rows = bench.receive(bench.a, event_queue);
    assert_eq!(super::types(&rows), ["EventNotification", "EndDialog"]);
    assert_eq!(bench.monitor(), None);
    assert!(bench.notifications().is_empty());
}

/// documented: a roll back brings the message back and the monitor judges again
#[test]
fn a_roll_back_is_judged() {
    let mut bench = Bench::new();
    let event_queue = bench.subscribe(bench.qb, ACTIVATION);
    bench.send_new("m0");
    roll_back_a_receive(&mut bench);
    assert_eq!(events(&mut bench, event_queue), 2);
}

/// documented: a subscriber whose service does not accept the contract loses its notification
#[test]
fn a_notification_service_without_the_contract_gets_nothing() {
    let mut bench = Bench::new();
    bench.create_queue("QN");
    bench.create_service("N", "QN", &[]);
    let new = NewNotification {
        name: "n".to_string(),
        on: NotifyOn::Queue(bench.qb),
        fan_in: false,
        events: vec![ACTIVATION.to_string()],
        service: "N".to_string(),
        broker_instance: "current database".to_string(),
    };
    bench.run(bench.a, |tx| tx.create_event_notification(&new));
    bench.send_new("m0");
    let errors =
        bench.run(bench.a, |tx| tx.resolve_queue(&ObjectName::plain("EventNotificationErrorsQueue")));
    let rows = bench.rows(errors);
    assert_eq!(code(&rows[0]), -8408);
}
