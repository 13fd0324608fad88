//! Endpoints and their states: V-01, V-02, V-09 to V-13, V-22a, V-35, V-37 and what goes with them.

use super::{Bench, End, bodies, code, dialog, seconds, types, utf16};
use crate::engine::definitions::{Body, MessageStatus};
use crate::engine::dialogs::{BeginDialog, Related};
use crate::engine::objects::ObjectName;

/// documented
#[test]
fn v01_begin_dialog_makes_one_endpoint_in_so() {
    let mut bench = Bench::new();
    bench.begin();
    let endpoints = bench.endpoints();
    assert_eq!(endpoints.len(), 1);
    assert!(endpoints[0].is_initiator);
    assert_eq!(endpoints[0].state().code(), "SO");
    assert_eq!(bench.core.broker_counters().begin_dialogs, 1);
}

/// documented
#[test]
fn v02_the_first_send_makes_the_target_endpoint() {
    let mut bench = Bench::new();
    bench.send_new("m0");
    let endpoints = bench.endpoints();
    assert_eq!((bench.state(true), bench.state(false)), ("CO", "CO"));
    assert_eq!(endpoints[0].conversation_id, endpoints[1].conversation_id);
    assert_ne!(endpoints[0].handle, endpoints[1].handle);
    assert_ne!(endpoints[0].group, endpoints[1].group);
    let rows = bench.rows(bench.qb);
    assert_eq!((rows[0].status, rows[0].sequence), (MessageStatus::Ready, 0));
    assert_eq!(rows[0].handle, endpoints.iter().find(|it| !it.is_initiator).unwrap().handle);
}

/// documented
#[test]
fn v09_the_target_ends_and_the_initiator_is_disconnected() {
    let mut bench = Bench::new();
    let handle = bench.send_new("m0");
    let target = bench.receive(bench.b, bench.qb)[0].handle;
    bench.end(bench.b, target);
    assert_eq!((bench.state(true), bench.state(false)), ("DI", "CD"));
    let rows = bench.receive(bench.a, bench.qa);
    assert_eq!((types(&rows), bodies(&rows)), (vec!["EndDialog"], vec!["NULL".to_string()]));
    assert_eq!(bench.send_error(bench.a, handle), 8429);
    assert_eq!(bench.send_error(bench.b, target), 8429, "U-25: the state decides while the row exists");
}

/// documented; the time of the purge is assumed (U-50)
#[test]
fn v10_the_closed_target_is_kept_for_half_an_hour() {
    let mut bench = Bench::new();
    let handle = bench.send_new("m0");
    let target = bench.receive(bench.b, bench.qb)[0].handle;
    bench.end(bench.b, target);
    bench.end(bench.a, handle);
    assert_eq!((bench.state(true), bench.state(false)), ("--", "CD"));
    bench.wait(seconds(30 * 60 - 1));
    assert_eq!(bench.state(false), "CD");
    bench.wait(seconds(1));
    assert!(bench.endpoints().is_empty());
    assert!(bench.core.state().groups.values().all(|group| group.is_system));
}

/// assumed (U-24): an initiator that ends first is removed with its commit
#[test]
fn the_initiator_ends_first_and_is_gone() {
    let mut bench = Bench::new();
    let handle = bench.send_new("m0");
    bench.end(bench.a, handle);
    assert_eq!((bench.state(true), bench.state(false)), ("--", "DI"));
    assert_eq!(bench.send_error(bench.a, handle), 8426);
}

/// documented
#[test]
fn v11_ending_with_an_error_sends_code_and_description() {
    let mut bench = Bench::new();
    bench.send_new("m0");
    let target = bench.receive(bench.b, bench.qb)[0].handle;
    let end = End::Error { code: 5, text: "x<y".to_string() };
    bench.run(bench.b, |tx| tx.end_conversation(target, &end));
    assert_eq!((bench.state(true), bench.state(false)), ("ER", "CD"));
    let rows = bench.receive(bench.a, bench.qa);
    assert_eq!((types(&rows), code(&rows[0])), (vec!["Error"], 5));
    assert!(utf16(&rows[0]).contains("<Description>x&lt;y</Description>"));
}

/// documented; the number is assumed (U-38)
#[test]
fn v12_an_error_code_must_be_positive() {
    let mut bench = Bench::new();
    let handle = bench.send_new("m0");
    for code in [0, -1] {
        let end = End::Error { code, text: "t".to_string() };
        assert_eq!(bench.error(bench.a, |tx| tx.end_conversation(handle, &end)), 8402);
    }
    assert_eq!(bench.state(true), "CO");
}

/// documented
#[test]
fn v13_end_dialog_comes_after_the_messages() {
    let mut bench = Bench::new();
    let handle = bench.send_new("m0");
    bench.send(bench.a, handle, "m1");
    bench.end(bench.a, handle);
    let rows = bench.receive(bench.b, bench.qb);
    assert_eq!(bodies(&rows), ["m0", "m1", "NULL"]);
    assert_eq!(types(&rows), ["DEFAULT", "DEFAULT", "EndDialog"]);
    assert_eq!(rows.iter().map(|row| row.sequence).collect::<Vec<_>>(), [0, 1, 2]);
}

/// documented
#[test]
fn v35_send_on_several_handles_is_atomic() {
    let mut bench = Bench::new();
    let (first, second) = (bench.send_new("a0"), bench.send_new("b0"));
    let target = bench.rows(bench.qb).iter().find(|row| row.body.as_deref() == Some(b"b0")).unwrap().handle;
    bench.end(bench.b, target);
    bench.receive(bench.b, bench.qb);
    let error = bench.error(bench.a, |tx| tx.send(&[first, second], None, &super::bytes("x")));
    assert_eq!(error, 8429);
    assert!(bench.rows(bench.qb).is_empty());
    assert_eq!(bench.error(bench.a, |tx| tx.send(&[first, first], None, &super::bytes("x"))), 8402, "U-38");
    let other = bench.send_new("c0");
    bench.run(bench.a, |tx| tx.send(&[first, other], None, &super::bytes("x")));
    assert_eq!(bench.rows(bench.qb).len(), 3);
}

/// documented
#[test]
fn v37_cleanup_tells_the_peer_nothing() {
    let mut bench = Bench::new();
    let handle = bench.send_new("m0");
    bench.run(bench.a, |tx| tx.end_conversation(handle, &End::Cleanup));
    assert_eq!((bench.state(true), bench.state(false)), ("--", "CO"));
    let rows = bench.receive(bench.b, bench.qb);
    assert_eq!(types(&rows), ["DEFAULT"]);
    // The peer learns of it when it sends (-8462, spec 2.12).
    bench.send(bench.b, rows[0].handle, "reply");
    assert_eq!(code(&bench.receive(bench.b, bench.qb)[0]), -8462);
}

/// documented
#[test]
fn ending_and_rolling_back_leaves_everything_as_it_was() {
    let mut bench = Bench::new();
    let handle = bench.send_new("m0");
    let target = bench.rows(bench.qb)[0].handle;
    bench.send(bench.b, target, "reply");
    bench.begin_tran(bench.a);
    bench.end(bench.a, handle);
    assert_eq!(bench.send_error(bench.a, handle), 8429);
    // A message arrives while the end is not committed; it must neither be lost nor stay behind.
    bench.send(bench.b, target, "second");
    bench.rollback(bench.a);
    assert_eq!((bench.state(true), bench.state(false)), ("CO", "CO"));
    assert_eq!(bodies(&bench.receive(bench.a, bench.qa)), ["reply", "second"]);
}

/// documented: unread messages are discarded with the end, also those that arrive while it is not committed
#[test]
fn ending_discards_what_arrives_meanwhile() {
    let mut bench = Bench::new();
    let handle = bench.send_new("m0");
    let target = bench.rows(bench.qb)[0].handle;
    bench.begin_tran(bench.a);
    bench.end(bench.a, handle);
    bench.send(bench.b, target, "late");
    bench.commit(bench.a);
    assert!(bench.rows(bench.qa).is_empty());
    assert_eq!((bench.state(true), bench.state(false)), ("--", "DI"));
}

/// documented
#[test]
fn begin_dialog_and_rollback_leave_a_dead_handle() {
    let mut bench = Bench::new();
    bench.begin_tran(bench.a);
    let handle = bench.begin();
    bench.send(bench.a, handle, "m0");
    bench.rollback(bench.a);
    assert!(bench.endpoints().is_empty() && bench.rows(bench.qb).is_empty());
    assert_eq!(bench.send_error(bench.a, handle), 8426);
}

/// documented
#[test]
fn related_dialogs_share_a_group() {
    let mut bench = Bench::new();
    let first = bench.begin();
    let related = |related| BeginDialog { related: Some(related), ..dialog() };
    let second = bench.begin_with(related(Related::Conversation(first)));
    let group = uuid::Uuid::from_u128(7);
    let third = bench.begin_with(related(Related::Group(group)));
    let group_of = |bench: &Bench, handle| bench.core.state().endpoints.get(handle).unwrap().group;
    assert_eq!(group_of(&bench, first), group_of(&bench, second));
    assert_eq!(group_of(&bench, third), group);
    let unknown = related(Related::Conversation(group));
    assert_eq!(bench.error(bench.a, |tx| tx.begin_dialog(&unknown)), 8426);
    bench.create_service("C", "QA", &[]);
    let other = BeginDialog { from_service: "C".to_string(), ..related(Related::Group(group)) };
    assert_eq!(bench.error(bench.a, |tx| tx.begin_dialog(&other)), 9610);
}

/// documented
#[test]
fn begin_dialog_refuses_bad_clauses() {
    let mut bench = Bench::new();
    let bad = [
        (BeginDialog { from_service: "nosuch".to_string(), ..dialog() }, 8423),
        (BeginDialog { from_service: "a".to_string(), ..dialog() }, 8423),
        (BeginDialog { to_service: String::new(), ..dialog() }, 8412),
        (BeginDialog { contract: Some("nosuch".to_string()), ..dialog() }, 8425),
        (BeginDialog { broker_instance: Some("x".to_string()), ..dialog() }, 8413),
        (BeginDialog { lifetime: Some(0), ..dialog() }, 8411),
        (BeginDialog { lifetime: Some(1 << 31), ..dialog() }, 8411),
    ];
    for (dialog, number) in bad {
        assert_eq!(bench.error(bench.a, |tx| tx.begin_dialog(&dialog)), number, "{dialog:?}");
    }
}

/// documented
#[test]
fn a_second_sender_on_the_same_dialog_waits() {
    let mut bench = Bench::new();
    let handle = bench.send_new("m0");
    bench.begin_tran(bench.a);
    bench.send(bench.a, handle, "m1");
    let third = bench.third_session();
    assert!(bench.is_blocked(third, |tx| tx.send(&[handle], None, &super::bytes("m2"))));
    bench.commit(bench.a);
    assert_eq!(bench.core.take_wakes(), [third]);
    bench.send(third, handle, "m2");
    assert_eq!(bodies(&bench.receive(bench.b, bench.qb)), ["m0", "m1", "m2"]);
}

/// documented
#[test]
fn move_conversation_takes_the_messages_along() {
    let mut bench = Bench::new();
    bench.send_new("m0");
    bench.send_new("m1");
    let rows = bench.rows(bench.qb);
    bench.run(bench.b, |tx| tx.move_conversation(rows[1].handle, rows[0].group));
    assert_eq!(bodies(&bench.receive(bench.b, bench.qb)), ["m0", "m1"]);
    assert!(!bench.core.state().groups.contains_key(&rows[1].group));
    let unknown = uuid::Uuid::from_u128(7);
    assert_eq!(bench.error(bench.b, |tx| tx.move_conversation(rows[1].handle, unknown)), 8436);
    let elsewhere = bench.endpoints().iter().find(|it| it.is_initiator).unwrap().group;
    assert_eq!(bench.error(bench.b, |tx| tx.move_conversation(rows[1].handle, elsewhere)), 8439);
}

/// documented
#[test]
fn send_checks_type_and_direction() {
    use crate::engine::definitions::Validation;
    use crate::engine::message_types::SentBy;
    let mut bench = Bench::new();
    bench.run(bench.a, |tx| {
        tx.create_message_type("ask", None, Validation::None)?;
        tx.create_message_type("answer", None, Validation::None)?;
        tx.create_contract("c", None, &[("ask", SentBy::Initiator), ("answer", SentBy::Target)])?;
        tx.create_service("D", None, &ObjectName::plain("QB"), &["c"])
    });
    let ask = BeginDialog { contract: Some("c".to_string()), to_service: "D".to_string(), ..dialog() };
    let handle = bench.begin_with(ask);
    for (name, number) in [("nosuch", 8428), ("DEFAULT", 8431), ("answer", 8432), ("ASK", 8428)] {
        assert_eq!(
            bench.error(bench.a, |tx| tx.send(&[handle], Some(name), &Body::Absent)),
            number,
            "{name}"
        );
    }
    bench.run(bench.a, |tx| tx.send(&[handle], Some("ask"), &Body::Absent));
    let target = bench.receive(bench.b, bench.qb)[0].handle;
    assert_eq!(bench.error(bench.b, |tx| tx.send(&[target], Some("ask"), &Body::Absent)), 8434);
}
