//! Delivery, errors, lifetimes and DDL: V-15 to V-19, V-33, V-34, V-36, V-38 to V-40 and what goes with them.

use super::{Bench, End, bodies, code, dialog, dialog_to, seconds, types};
use crate::engine::broker_database::BrokerOption;
use crate::engine::databases::{DatabaseOption, Termination};
use crate::engine::definitions::{Permission, Securable, Validation};
use crate::engine::dialogs::BeginDialog;
use crate::engine::grants::GrantAction;
use crate::engine::message_types::SentBy;
use crate::engine::objects::ObjectName;
use crate::engine::services::ContractChange;
use crate::engine::users::UserFor;

fn set_broker(bench: &mut Bench, option: BrokerOption) {
    bench.core.close_session(bench.b, bench.now);
    bench.run(bench.a, |tx| tx.alter_database_broker("db", option, Termination::NoWait));
    bench.b = bench.third_session();
}

/// documented; that it is no error is assumed (U-13)
#[test]
fn v15_a_missing_service_delays_the_message() {
    let mut bench = Bench::new();
    let handle = bench.begin_with(dialog_to("later", None));
    bench.send(bench.a, handle, "m0");
    bench.send(bench.a, handle, "m1");
    let waiting = bench.transmission();
    assert_eq!(waiting.len(), 2);
    assert!(waiting[0].status.contains("LOCAL"), "{}", waiting[0].status);
    assert_eq!(bench.run(bench.a, |tx| Ok(tx.transmission_status(handle))), *waiting[0].status);
    bench.create_service("later", "QB", &["DEFAULT"]);
    assert!(bench.transmission().is_empty());
    assert_eq!(bodies(&bench.receive(bench.b, bench.qb)), ["m0", "m1"]);
}

/// documented
#[test]
fn v16_a_missing_service_in_a_named_instance_is_an_error() {
    let mut bench = Bench::new();
    let handle = bench.begin_with(dialog_to("nosuch", Some("current database")));
    bench.send(bench.a, handle, "m0");
    assert_eq!(bench.state(true), "ER");
    assert_eq!(code(&bench.receive(bench.a, bench.qa)[0]), -8490);
    assert_eq!(bench.send_error(bench.a, handle), 8429);
    bench.end(bench.a, handle);
    assert!(bench.endpoints().is_empty());
}

/// documented
#[test]
fn v17_a_contract_that_is_not_offered_is_an_error() {
    let mut bench = Bench::new();
    bench.create_service("initiator only", "QB", &[]);
    let handle = bench.begin_with(dialog_to("initiator only", None));
    bench.send(bench.a, handle, "m0");
    assert_eq!(code(&bench.receive(bench.a, bench.qa)[0]), -8408);
}

/// documented
#[test]
fn v18_a_body_is_validated_at_the_target() {
    let mut bench = Bench::new();
    bench.run(bench.a, |tx| {
        tx.create_message_type("xml", None, Validation::WellFormedXml)?;
        tx.create_message_type("empty", None, Validation::Empty)?;
        tx.create_contract("c", None, &[("xml", SentBy::Any), ("empty", SentBy::Any)])?;
        tx.create_service("D", None, &ObjectName::plain("QB"), &["c"])
    });
    for (message_type, body, expected) in [("xml", "<a>", -9615), ("empty", "x", -8430)] {
        let on_contract = BeginDialog { contract: Some("c".to_string()), ..dialog_to("D", None) };
        let handle = bench.begin_with(on_contract);
        bench.run(bench.a, |tx| tx.send(&[handle], Some(message_type), &super::bytes(body)));
        assert_eq!(code(&bench.receive(bench.a, bench.qa)[0]), expected);
        assert!(bench.rows(bench.qb).is_empty());
    }
}

/// documented; that it is delivered at once is assumed (U-49)
#[test]
fn v19_a_disabled_target_queue_delays_and_keeps_the_order() {
    let mut bench = Bench::new();
    let handle = bench.send_new("m0");
    bench.switch("QB", false);
    bench.send(bench.a, handle, "m1");
    let other = bench.send_new("n0");
    bench.end(bench.a, other);
    assert_eq!(bench.transmission().len(), 3);
    let other_state = |bench: &Bench| bench.core.state().endpoints.get(other).map(|it| it.state().code());
    assert_eq!(other_state(&bench), Some("DO"));
    bench.switch("QB", true);
    assert!(bench.transmission().is_empty());
    assert_eq!(other_state(&bench), None);
    assert_eq!(bodies(&bench.receive(bench.b, bench.qb)), ["m0", "m1"]);
    assert_eq!(types(&bench.receive(bench.b, bench.qb)), ["DEFAULT", "EndDialog"]);
}

/// documented
#[test]
fn ending_with_an_error_drops_what_still_waits() {
    let mut bench = Bench::new();
    let handle = bench.send_new("m0");
    bench.switch("QB", false);
    bench.send(bench.a, handle, "m1");
    let unheard = bench.send_new("n0");
    let end = End::Error { code: 1, text: "t".to_string() };
    bench.run(bench.a, |tx| tx.end_conversation(handle, &end));
    bench.run(bench.a, |tx| tx.end_conversation(unheard, &end));
    let waiting = bench.transmission();
    assert_eq!(waiting.len(), 1, "the second target never heard of the dialog");
    assert_eq!(&*waiting[0].message_type, super::names::ERROR);
    bench.switch("QB", true);
    assert_eq!(types(&bench.receive(bench.b, bench.qb)), ["Error", "DEFAULT"]);
}

/// documented
#[test]
fn v33_a_timer_beyond_the_lifetime_is_refused() {
    let mut bench = Bench::new();
    let handle = bench.begin_with(BeginDialog { lifetime: Some(10), ..dialog() });
    assert_eq!(bench.error(bench.a, |tx| tx.begin_timer(handle, 100)), 8410);
    bench.run(bench.a, |tx| tx.begin_timer(handle, 10));
}

/// documented
#[test]
fn v34_an_expired_dialog_fails_on_both_sides() {
    let mut bench = Bench::new();
    let handle = bench.begin_with(BeginDialog { lifetime: Some(2), ..dialog() });
    bench.send(bench.a, handle, "m0");
    bench.wait(seconds(3));
    assert_eq!((bench.state(true), bench.state(false)), ("ER", "ER"));
    assert_eq!(code(&bench.receive(bench.a, bench.qa)[0]), -8489);
    let rows = bench.receive(bench.b, bench.qb);
    assert_eq!((code(&rows[0]), types(&rows)), (-8489, vec!["Error", "DEFAULT"]));
    assert_eq!(bench.send_error(bench.a, handle), 8429);
    assert_eq!(bench.send_error(bench.b, rows[0].handle), 8429);
}

/// documented
#[test]
fn v36_service_names_are_compared_byte_by_byte() {
    let mut bench = Bench::new();
    let handle = bench.begin_with(dialog_to("b", Some("CURRENT DATABASE")));
    bench.send(bench.a, handle, "m0");
    assert_eq!(code(&bench.receive(bench.a, bench.qa)[0]), -8490);
}

/// documented
#[test]
fn v38_dropping_a_service_fails_its_peers() {
    let mut bench = Bench::new();
    bench.send_new("m0");
    bench.run(bench.a, |tx| tx.drop_service("B"));
    assert_eq!((bench.state(true), bench.state(false)), ("ER", "--"));
    assert_eq!(code(&bench.receive(bench.a, bench.qa)[0]), -8470);
    assert!(bench.rows(bench.qb).is_empty());
    assert_eq!(bench.error(bench.a, |tx| tx.drop_queue(&ObjectName::plain("QA"))), 3716);
    bench.run(bench.a, |tx| tx.drop_queue(&ObjectName::plain("QB")));
}

/// documented: nothing of it happens when it is rolled back
#[test]
fn dropping_a_service_and_rolling_back_changes_nothing() {
    let mut bench = Bench::new();
    bench.send_new("m0");
    bench.begin_tran(bench.a);
    bench.run(bench.a, |tx| tx.drop_service("B"));
    bench.rollback(bench.a);
    assert_eq!((bench.state(true), bench.state(false)), ("CO", "CO"));
    assert_eq!(bodies(&bench.receive(bench.b, bench.qb)), ["m0"]);
}

/// documented; which peers hear of it is assumed (U-07, U-08)
#[test]
fn dropping_a_contract_from_a_service_fails_the_peers_on_it() {
    let mut bench = Bench::new();
    bench.send_new("m0");
    let change = [ContractChange::Drop("DEFAULT".to_string())];
    bench.run(bench.a, |tx| tx.alter_service("B", None, &change));
    assert_eq!(code(&bench.receive(bench.a, bench.qa)[0]), -8469);
    let again = [ContractChange::Drop("DEFAULT".to_string())];
    assert_eq!(bench.error(bench.a, |tx| tx.alter_service("B", None, &again)), 15151);
    assert_eq!(bench.error(bench.a, |tx| tx.alter_service("B", None, &[])), 8493);
}

/// documented
#[test]
fn a_service_takes_its_messages_to_another_queue() {
    let mut bench = Bench::new();
    let handle = bench.send_new("m0");
    bench.send(bench.a, handle, "m1");
    let other = bench.create_queue("QC");
    bench.run(bench.a, |tx| tx.alter_service("B", Some(&ObjectName::plain("QC")), &[]));
    bench.send(bench.a, handle, "m2");
    assert!(bench.rows(bench.qb).is_empty());
    assert_eq!(bodies(&bench.receive(bench.b, other)), ["m0", "m1", "m2"]);
}

/// documented
#[test]
fn dropping_a_contract_fails_its_conversations() {
    let mut bench = Bench::new();
    bench.run(bench.a, |tx| {
        tx.create_contract("c", None, &[("DEFAULT", SentBy::Any)])?;
        tx.create_service("D", None, &ObjectName::plain("QB"), &["c"])
    });
    let handle = bench.begin_with(BeginDialog { contract: Some("c".to_string()), ..dialog_to("D", None) });
    bench.send(bench.a, handle, "m0");
    assert_eq!(bench.error(bench.a, |tx| tx.drop_contract("c")), 3716);
    bench.run(bench.a, |tx| tx.alter_service("D", None, &[ContractChange::Drop("c".to_string())]));
    bench.receive(bench.a, bench.qa);
    bench.run(bench.a, |tx| tx.drop_contract("c"));
    assert_eq!(code(&bench.receive(bench.a, bench.qa)[0]), -8487);
    assert_eq!(bench.error(bench.a, |tx| tx.drop_contract("DEFAULT")), 9663);
}

/// documented; that it is silent is assumed (U-09)
#[test]
fn v39_new_broker_removes_every_conversation() {
    let mut bench = Bench::new();
    bench.send_new("m0");
    let late = bench.begin_with(dialog_to("nosuch", None));
    bench.send(bench.a, late, "m0");
    let guid = |bench: &Bench| bench.core.state().database(bench.qb.database).unwrap().def.broker_guid;
    let before = guid(&bench);
    set_broker(&mut bench, BrokerOption::New);
    assert_ne!(guid(&bench), before);
    assert!(bench.endpoints().is_empty() && bench.transmission().is_empty());
    assert!(bench.rows(bench.qa).is_empty() && bench.rows(bench.qb).is_empty());
}

/// documented
#[test]
fn v40_error_broker_conversations_fails_every_endpoint() {
    let mut bench = Bench::new();
    bench.send_new("m0");
    set_broker(&mut bench, BrokerOption::ErrorConversations);
    assert_eq!(code(&bench.receive(bench.a, bench.qa)[0]), -9719);
    let rows = bench.receive(bench.b, bench.qb);
    assert_eq!((code(&rows[0]), types(&rows)), (-9719, vec!["Error", "DEFAULT"]));
}

/// documented
#[test]
fn a_disabled_broker_holds_messages_until_it_is_enabled() {
    let mut bench = Bench::new();
    set_broker(&mut bench, BrokerOption::Disable);
    bench.send_new("m0");
    assert_eq!(bench.transmission().len(), 1);
    assert_eq!((bench.state(true), bench.state(false)), ("CO", "--"));
    set_broker(&mut bench, BrokerOption::Enable);
    assert_eq!(bodies(&bench.receive(bench.b, bench.qb)), ["m0"]);
}

/// documented
#[test]
fn the_owner_of_the_initiating_service_needs_send() {
    let mut bench = Bench::new();
    bench.run(bench.a, |tx| {
        tx.create_user("weak", &UserFor::NoLogin, None)?;
        tx.create_service("W", Some("weak"), &ObjectName::plain("QA"), &[])
    });
    let from_weak = || BeginDialog { from_service: "W".to_string(), ..dialog() };
    let handle = bench.begin_with(from_weak());
    bench.send(bench.a, handle, "m0");
    assert_eq!(code(&bench.receive(bench.a, bench.qa)[0]), -8494);
    let database = bench.qb.database;
    let service = bench.core.state().database(database).unwrap().services.find("B").unwrap().id;
    bench.run(bench.a, |tx| {
        let target = Securable::Service(database, service);
        tx.change_permissions(GrantAction::Grant, &[Permission::Send], target, &["weak"])
    });
    let handle = bench.begin_with(from_weak());
    bench.send(bench.a, handle, "m1");
    assert_eq!(bodies(&bench.receive(bench.b, bench.qb)), ["m1"]);
}

/// documented: an error for a queue that is off waits until it is on
#[test]
fn a_broker_error_waits_for_its_queue() {
    let mut bench = Bench::new();
    let handle = bench.begin_with(dialog_to("nosuch", Some("current database")));
    bench.switch("QA", false);
    bench.send(bench.a, handle, "m0");
    assert!(bench.rows(bench.qa).is_empty());
    bench.switch("QA", true);
    assert_eq!(code(&bench.receive(bench.a, bench.qa)[0]), -8490);
}

/// documented: one local transaction covers both databases, and the instance is learnt with the first message
#[test]
fn a_dialog_reaches_another_database() {
    let mut bench = Bench::new();
    bench.run(bench.a, |tx| tx.create_database("other"));
    let trust = DatabaseOption::Trustworthy(true);
    bench.run(bench.a, |tx| tx.alter_database("db", &trust, Termination::Wait));
    let there = super::open(&mut bench.core, "other", bench.now);
    let queue = bench.run(there, |tx| {
        tx.create_queue(&ObjectName::plain("Q"), &Default::default())?;
        tx.create_service("far", None, &ObjectName::plain("Q"), &["DEFAULT"])?;
        tx.resolve_queue(&ObjectName::plain("Q"))
    });
    let handle = bench.begin_with(dialog_to("far", None));
    bench.send(bench.a, handle, "m0");
    let rows = bench.receive(there, queue);
    assert_eq!(bodies(&rows), ["m0"]);
    bench.send(there, rows[0].handle, "reply");
    assert_eq!(bodies(&bench.receive(bench.a, bench.qa)), ["reply"]);
    let guid = bench.core.state().database(queue.database).unwrap().def.broker_guid.to_string();
    let learnt = bench.core.state().endpoints.get(handle).unwrap().inbound.far_broker_instance.clone();
    assert_eq!(learnt.as_deref(), Some(guid.to_uppercase().as_str()));
    assert_eq!(bench.send_error(bench.a, rows[0].handle), 8426, "handles belong to a database");
}

/// assumed (U-19): the end is not announced while the own queue is off
#[test]
fn end_dialog_waits_for_the_own_queue() {
    let mut bench = Bench::new();
    let handle = bench.send_new("m0");
    bench.switch("QA", false);
    bench.end(bench.a, handle);
    assert_eq!((bench.state(true), bench.state(false)), ("DO", "CO"));
    bench.switch("QA", true);
    assert_eq!((bench.state(true), bench.state(false)), ("--", "DI"));
}

/// documented: both sides have ended before they heard of each other
#[test]
fn two_ends_that_cross_close_both_sides() {
    let mut bench = Bench::new();
    let handle = bench.send_new("m0");
    let target = bench.receive(bench.b, bench.qb)[0].handle;
    bench.begin_tran(bench.a);
    bench.end(bench.a, handle);
    bench.end(bench.b, target);
    bench.commit(bench.a);
    assert_eq!((bench.state(true), bench.state(false)), ("--", "CD"));
    assert!(bench.rows(bench.qa).is_empty() && bench.rows(bench.qb).is_empty());
}

/// documented: an ended side stops waiting for its peer when the lifetime is over
#[test]
fn an_ended_side_goes_with_its_lifetime() {
    let mut bench = Bench::new();
    let handle = bench.begin_with(BeginDialog { lifetime: Some(10), ..dialog_to("nosuch", None) });
    bench.send(bench.a, handle, "m0");
    bench.end(bench.a, handle);
    assert_eq!(bench.state(true), "DO");
    bench.wait(seconds(11));
    assert!(bench.endpoints().is_empty() && bench.transmission().is_empty());
}

/// documented: what was sent before the peer's end arrived is held until this side ends too
#[test]
fn a_message_that_crosses_the_peers_end_is_held() {
    let mut bench = Bench::new();
    let handle = bench.send_new("m0");
    let target = bench.receive(bench.b, bench.qb)[0].handle;
    bench.begin_tran(bench.a);
    bench.send(bench.a, handle, "m1");
    bench.end(bench.b, target);
    bench.commit(bench.a);
    assert_eq!(bench.transmission().len(), 1);
    assert!(bench.transmission()[0].status.contains("ended"));
    bench.end(bench.a, handle);
    assert!(bench.transmission().is_empty());
}

/// documented (4.5): what a peer refuses stays with the rest until its sender ends the dialog
#[test]
fn refused_messages_stay_in_the_transmission_queue_until_the_dialog_is_ended() {
    let mut bench = Bench::new();
    let handle = bench.send_new("m0");
    let target = bench.receive(bench.b, bench.qb)[0].handle;
    bench.run(bench.b, |tx| tx.end_conversation(target, &End::Cleanup));
    bench.send(bench.a, handle, "m1");
    let waiting = bench.transmission();
    assert_eq!((waiting.len(), waiting[0].sequence), (1, 1));
    assert!(waiting[0].status.contains("error was received"), "{}", waiting[0].status);
    assert_eq!(code(&bench.receive(bench.a, bench.qa)[0]), -8462);
    assert_eq!(bench.state(true), "ER");
    bench.end(bench.a, handle);
    assert!(bench.transmission().is_empty());
}

/// documented (4.5): also what waited for another reason before, in its order
#[test]
fn messages_that_waited_are_held_once_the_dialog_has_failed() {
    let mut bench = Bench::new();
    let handle = bench.send_new("m0");
    bench.switch("QB", false);
    bench.send(bench.a, handle, "m1");
    bench.send(bench.a, handle, "m2");
    assert!(bench.core.fail_conversation(handle, 28052, "lost", bench.now));
    assert!(!bench.core.fail_conversation(uuid::Uuid::nil(), 28052, "lost", bench.now));
    bench.switch("QB", true);
    let waiting = bench.transmission();
    assert_eq!(waiting.iter().map(|row| row.sequence).collect::<Vec<_>>(), [1, 2]);
    assert!(waiting[0].status.contains("error was received"), "{}", waiting[0].status);
    assert_eq!(code(&bench.receive(bench.a, bench.qa)[0]), -28052);
    assert_eq!(bodies(&bench.receive(bench.b, bench.qb)), ["m0"], "what had arrived stays receivable");
}

/// documented
#[test]
fn names_of_broker_objects_are_taken_once_and_guarded() {
    let mut bench = Bench::new();
    bench.run(bench.a, |tx| tx.create_message_type("t", None, Validation::None));
    bench.run(bench.a, |tx| tx.create_message_type("T", None, Validation::None));
    let queue = ObjectName::plain("QB");
    let again = bench.error(bench.a, |tx| tx.create_message_type("t", None, Validation::None));
    assert_eq!(again, 2714, "U-37");
    assert_eq!(bench.error(bench.a, |tx| tx.create_service("B", None, &queue, &[])), 2714);
    assert_eq!(bench.error(bench.a, |tx| tx.create_queue(&queue, &Default::default())), 2714);
    assert_eq!(bench.error(bench.a, |tx| tx.drop_message_type("DEFAULT")), 9663);
    let twice = [("t", SentBy::Any), ("t", SentBy::Any)];
    assert_eq!(bench.error(bench.a, |tx| tx.create_contract("c", None, &twice)), 8403);
    let no_initiator = [("t", SentBy::Target)];
    assert_eq!(bench.error(bench.a, |tx| tx.create_contract("c", None, &no_initiator)), 8492);
    let unknown = [("nosuch", SentBy::Any)];
    assert_eq!(bench.error(bench.a, |tx| tx.create_contract("c", None, &unknown)), 15151);
    bench.run(bench.a, |tx| tx.create_contract("c", None, &[("t", SentBy::Any)]));
    assert_eq!(bench.error(bench.a, |tx| tx.drop_message_type("t")), 3716);
    let repeated = ["c", "c"];
    assert_eq!(bench.error(bench.a, |tx| tx.create_service("s", None, &queue, &repeated)), 8404);
}
