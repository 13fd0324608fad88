//! Permissions of spec 1.11: what a user without rights is refused, and what each grant opens.

use super::{Bench, End, all_from, bodies, dialog};
use crate::engine::core::Call;
use crate::engine::definitions::{Permission, Securable, Validation};
use crate::engine::grants::GrantAction;
use crate::engine::ids::SessionId;
use crate::engine::objects::ObjectName;
use crate::engine::queues::QueueOptions;
use crate::engine::receive::Waiting;
use crate::engine::rows::ReadHint;
use crate::engine::users::UserFor;

/// A session that acts as the new user `weak`.
fn weak(bench: &mut Bench) -> SessionId {
    bench.run(bench.a, |tx| tx.create_user("weak", &UserFor::NoLogin, None));
    let session = bench.third_session();
    bench.core.execute_as_user(&Call { session, now: bench.now }, "weak").unwrap();
    session
}

fn grant(bench: &mut Bench, permission: Permission, securable: Securable) {
    bench.run(bench.a, |tx| tx.change_permissions(GrantAction::Grant, &[permission], securable, &["weak"]));
}

/// documented
#[test]
fn receiving_needs_receive_on_the_queue() {
    let mut bench = Bench::new();
    bench.send_new("m0");
    let (weak, queue) = (weak(&mut bench), bench.qb);
    assert_eq!(bench.error(weak, |tx| tx.receive(&all_from(queue))), 229);
    assert_eq!(bench.error(weak, |tx| tx.get_conversation_group(queue, Waiting::No)), 229);
    assert_eq!(bench.error(weak, |tx| tx.queue_rows(queue, ReadHint::NoLock)), 229, "U-11");
    grant(&mut bench, Permission::Receive, Securable::Object(queue.database, queue.object));
    assert_eq!(bench.run(weak, |tx| tx.queue_rows(queue, ReadHint::NoLock)).len(), 1);
    assert_eq!(bodies(&bench.run(weak, |tx| tx.receive(&all_from(queue)))), ["m0"]);
}

/// documented
#[test]
fn a_dialog_needs_receive_and_references_and_ends_by_its_owner() {
    let mut bench = Bench::new();
    let foreign = bench.send_new("m0");
    let (weak, queue) = (weak(&mut bench), bench.qa);
    assert_eq!(bench.error(weak, |tx| tx.begin_dialog(&dialog())), 229);
    grant(&mut bench, Permission::Receive, Securable::Object(queue.database, queue.object));
    let contract = bench.core.state().database(queue.database).unwrap().contracts.find("DEFAULT").unwrap().id;
    grant(&mut bench, Permission::References, Securable::Contract(queue.database, contract));
    let own = bench.run(weak, |tx| tx.begin_dialog(&dialog()));
    bench.run(weak, |tx| tx.send(&[own], None, &super::bytes("x")));
    assert_eq!(bench.error(weak, |tx| tx.end_conversation(foreign, &End::Plain)), 229);
    bench.run(weak, |tx| tx.end_conversation(own, &End::Plain));
}

/// documented
#[test]
fn ddl_needs_its_own_rights() {
    let mut bench = Bench::new();
    let weak = weak(&mut bench);
    let queue = ObjectName::plain("QB");
    assert_eq!(bench.error(weak, |tx| tx.create_message_type("t", None, Validation::None)), 262);
    assert_eq!(bench.error(weak, |tx| tx.create_service("s", None, &queue, &[])), 262);
    assert_eq!(bench.error(weak, |tx| tx.alter_queue(&queue, &QueueOptions::default())), 15151);
    assert_eq!(bench.error(weak, |tx| tx.drop_queue(&queue)), 15151);
    assert_eq!(bench.error(weak, |tx| tx.drop_service("B")), 15151);
    let database = bench.qb.database;
    grant(&mut bench, Permission::AlterAnyService, Securable::Database(database));
    bench.run(weak, |tx| tx.drop_service("B"));
}

/// documented: ALTER on the queue alone does not allow dropping it
#[test]
fn alter_on_a_queue_is_not_enough_to_drop_it() {
    let mut bench = Bench::new();
    bench.create_queue("QC");
    let weak = weak(&mut bench);
    let name = ObjectName::plain("QC");
    let queue = bench.run(bench.a, |tx| tx.resolve_queue(&name));
    grant(&mut bench, Permission::Alter, Securable::Object(queue.database, queue.object));
    bench.run(weak, |tx| tx.alter_queue(&name, &QueueOptions::default()));
    assert_eq!(bench.error(weak, |tx| tx.drop_queue(&name)), 15151);
    grant(&mut bench, Permission::Control, Securable::Object(queue.database, queue.object));
    bench.run(weak, |tx| tx.drop_queue(&name));
}
