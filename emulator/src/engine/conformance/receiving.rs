//! RECEIVE: V-03 to V-08, V-14, V-20, V-24, V-32, V-41 to V-43 and what goes with them.

use super::{Bench, Filter, Receive, Waiting, all_from, bodies, bytes, seconds, statuses, types};
use crate::engine::broker_priorities::{Criterion, PriorityOptions};
use crate::engine::core::Call;
use crate::engine::definitions::{Body, MessageStatus};
use crate::engine::queues::QueueOptions;
use crate::engine::rows::ReadHint;

/// documented
#[test]
fn v03_missing_and_empty_bodies_are_null() {
    let mut bench = Bench::new();
    let handle = bench.begin();
    for body in [Body::Absent, bytes(""), bytes("")] {
        bench.run(bench.a, |tx| tx.send(&[handle], None, &body));
    }
    assert_eq!(bodies(&bench.rows(bench.qb)), ["NULL", "NULL", "NULL"]);
}

/// documented
#[test]
fn v04_a_null_body_is_refused() {
    let mut bench = Bench::new();
    let handle = bench.begin();
    assert_eq!(bench.error(bench.a, |tx| tx.send(&[handle], None, &Body::Null)), 8433);
    assert_eq!(bench.state(true), "SO");
}

/// documented; that the sender cannot receive it either is assumed (U-28)
#[test]
fn v05_a_send_is_visible_at_commit() {
    let mut bench = Bench::new();
    let handle = bench.begin();
    bench.begin_tran(bench.a);
    bench.send(bench.a, handle, "m0");
    assert!(bench.receive(bench.b, bench.qb).is_empty());
    assert!(bench.receive(bench.a, bench.qb).is_empty());
    bench.commit(bench.a);
    assert_eq!(bodies(&bench.receive(bench.b, bench.qb)), ["m0"]);
}

/// documented
#[test]
fn v06_a_group_is_locked_by_its_receiver() {
    let mut bench = Bench::new();
    let handle = bench.send_new("m0");
    bench.send(bench.a, handle, "m1");
    bench.begin_tran(bench.b);
    assert_eq!(bodies(&bench.receive_top(bench.b, bench.qb, 1)), ["m0"]);
    let third = bench.third_session();
    assert!(bench.receive(third, bench.qb).is_empty());
    bench.commit(bench.b);
    assert_eq!(bodies(&bench.receive(third, bench.qb)), ["m1"]);
}

/// documented
#[test]
fn v07_a_receive_returns_one_group() {
    let mut bench = Bench::new();
    bench.send_new("m0");
    bench.send_new("n0");
    assert_eq!(bodies(&bench.receive(bench.b, bench.qb)), ["m0"]);
    assert_eq!(bodies(&bench.receive(bench.b, bench.qb)), ["n0"]);
}

/// documented
#[test]
fn v08_conversations_of_a_group_come_one_after_the_other() {
    let mut bench = Bench::new();
    let (first, second) = (bench.send_new("m0"), bench.send_new("n0"));
    bench.send(bench.a, first, "m1");
    bench.send(bench.a, second, "n1");
    let rows = bench.rows(bench.qb);
    bench.run(bench.b, |tx| tx.move_conversation(rows[1].handle, rows[0].group));
    assert_eq!(bodies(&bench.receive(bench.b, bench.qb)), ["m0", "m1", "n0", "n1"]);
}

/// documented; the sequence numbers of timer and error are assumed (U-27)
#[test]
fn v14_timer_then_error_then_the_rest() {
    let mut bench = Bench::new();
    let handle = bench.send_new("m0");
    let target = bench.rows(bench.qb)[0].handle;
    bench.run(bench.b, |tx| tx.begin_timer(target, 1));
    let end = super::End::Error { code: 5, text: "t".to_string() };
    bench.run(bench.a, |tx| tx.end_conversation(handle, &end));
    bench.wait(seconds(2));
    let rows = bench.receive(bench.b, bench.qb);
    assert_eq!(types(&rows), ["DialogTimer", "Error", "DEFAULT"]);
    assert_eq!(rows[0].sequence, -1);
}

/// documented
#[test]
fn v20_a_disabled_queue_refuses_and_interrupts() {
    let mut bench = Bench::new();
    assert_eq!(bench.waitfor(bench.b, bench.qb), Ok(None));
    bench.switch("QB", false);
    assert_eq!(bench.core.take_wakes(), [bench.b]);
    assert_eq!(bench.waitfor(bench.b, bench.qb).unwrap_err().number, 9617);
    let queue = bench.qb;
    assert_eq!(bench.error(bench.b, |tx| tx.receive(&all_from(queue))), 9617);
    assert_eq!(bench.error(bench.b, |tx| tx.get_conversation_group(queue, Waiting::No)), 9617);
}

/// documented
#[test]
fn v24_a_savepoint_gives_messages_back_and_keeps_the_lock() {
    let mut bench = Bench::new();
    bench.send_new("m0");
    bench.begin_tran(bench.b);
    let call = Call { session: bench.b, now: bench.now };
    for _ in 0..5 {
        bench.core.save(&call, "s").unwrap();
        assert_eq!(bodies(&bench.receive(bench.b, bench.qb)), ["m0"]);
        bench.core.rollback_to(&call, "s").unwrap();
    }
    let third = bench.third_session();
    assert!(bench.receive(third, bench.qb).is_empty());
    bench.commit(bench.b);
    assert_eq!(bodies(&bench.receive(third, bench.qb)), ["m0"]);
}

/// documented
#[test]
fn v32_a_timer_is_replaced_and_fires_once() {
    let mut bench = Bench::new();
    let handle = bench.begin();
    bench.run(bench.a, |tx| tx.begin_timer(handle, 1));
    bench.run(bench.a, |tx| tx.begin_timer(handle, 3));
    bench.wait(seconds(2));
    assert!(bench.rows(bench.qa).is_empty());
    bench.wait(seconds(5));
    let rows = bench.receive(bench.a, bench.qa);
    assert_eq!((types(&rows), bodies(&rows)), (vec!["DialogTimer"], vec!["NULL".to_string()]));
    assert!(bench.rows(bench.qb).is_empty());
    assert_eq!(bench.state(true), "SO");
}

/// documented
#[test]
fn a_stopped_queue_delays_the_timer_message() {
    let mut bench = Bench::new();
    let handle = bench.begin();
    bench.run(bench.a, |tx| tx.begin_timer(handle, 1));
    bench.switch("QA", false);
    bench.wait(seconds(5));
    assert!(bench.rows(bench.qa).is_empty());
    bench.switch("QA", true);
    assert_eq!(types(&bench.receive(bench.a, bench.qa)), ["DialogTimer"]);
}

/// assumed: a timer that falls due while its service is being dropped neither fires nor keeps the engine busy
#[test]
fn a_timer_waits_for_the_end_of_a_drop() {
    let mut bench = Bench::new();
    let handle = bench.begin();
    bench.run(bench.a, |tx| tx.begin_timer(handle, 1));
    bench.begin_tran(bench.b);
    bench.run(bench.b, |tx| tx.drop_service("A"));
    bench.wait(seconds(2));
    assert!(bench.core.next_deadline().is_none_or(|at| at > bench.now));
    bench.rollback(bench.b);
    assert_eq!(types(&bench.receive(bench.a, bench.qa)), ["DialogTimer"]);
}

/// documented
#[test]
fn v41_a_wait_that_times_out_is_an_empty_result() {
    let mut bench = Bench::new();
    assert_eq!(bench.waitfor(bench.b, bench.qb), Ok(None));
    bench.wait(std::time::Duration::from_millis(500));
    bench.core.cancel_wait(bench.b);
    let over = Receive { waiting: Waiting::Over, ..all_from(bench.qb) };
    assert!(bench.run(bench.b, |tx| tx.receive(&over)).is_empty());
}

/// documented
#[test]
fn v42_retention_keeps_received_and_sent_messages() {
    let mut bench = Bench::new();
    bench.alter_queue("QB", &QueueOptions { retention: Some(true), ..QueueOptions::default() });
    bench.send_new("m0");
    let target = bench.receive(bench.b, bench.qb)[0].handle;
    bench.send(bench.b, target, "reply");
    assert_eq!(statuses(&bench.rows(bench.qb)), [MessageStatus::Received, MessageStatus::Sent]);
    assert!(bench.receive(bench.b, bench.qb).is_empty());
    bench.switch("QB", false);
    assert_eq!(bench.send_error(bench.b, target), 9618);
    bench.switch("QB", true);
    bench.end(bench.b, target);
    assert!(bench.rows(bench.qb).is_empty());
}

/// documented
#[test]
fn v43_higher_priorities_are_received_first() {
    let mut bench = Bench::new();
    bench.create_service("urgent", "QB", &["DEFAULT"]);
    let options = |service: &str, level| PriorityOptions {
        local_service: Some(Criterion::Named(service.to_string())),
        level: Some(Some(level)),
        ..PriorityOptions::default()
    };
    bench.run(bench.a, |tx| tx.create_broker_priority("low", &options("B", 1)));
    bench.run(bench.a, |tx| tx.create_broker_priority("high", &options("urgent", 10)));
    bench.send_new("slow");
    let urgent = bench.begin_with(super::dialog_to("urgent", None));
    bench.send(bench.a, urgent, "fast");
    let rows = bench.receive(bench.b, bench.qb);
    assert_eq!((bodies(&rows), rows[0].priority), (vec!["fast".to_string()], 10));
    assert_eq!(bodies(&bench.receive(bench.b, bench.qb)), ["slow"]);
    let used = bench.error(bench.a, |tx| tx.drop_service("urgent"));
    assert_eq!(used, 3716);
}

/// documented
#[test]
fn a_receive_by_handle_or_group_takes_only_that() {
    let mut bench = Bench::new();
    bench.send_new("m0");
    bench.send_new("n0");
    let (queue, rows) = (bench.qb, bench.rows(bench.qb));
    let by = |filter| Receive { filter, ..all_from(queue) };
    let second = by(Filter::Conversation(rows[1].handle));
    assert_eq!(bodies(&bench.run(bench.b, |tx| tx.receive(&second))), ["n0"]);
    assert!(bench.run(bench.b, |tx| tx.receive(&second)).is_empty());
    let first = by(Filter::Group(rows[0].group));
    assert_eq!(bodies(&bench.run(bench.b, |tx| tx.receive(&first))), ["m0"]);
    let nobody = uuid::Uuid::from_u128(7);
    assert_eq!(bench.error(bench.b, |tx| tx.receive(&by(Filter::Conversation(nobody)))), 8426);
    assert_eq!(bench.error(bench.b, |tx| tx.receive(&by(Filter::Group(nobody)))), 8436);
}

/// assumed (U-17)
#[test]
fn a_receive_that_names_a_locked_group_waits_for_it() {
    let mut bench = Bench::new();
    bench.send_new("m0");
    let (queue, group) = (bench.qb, bench.rows(bench.qb)[0].group);
    let named = Receive { filter: Filter::Group(group), ..all_from(queue) };
    bench.begin_tran(bench.b);
    bench.receive(bench.b, queue);
    let third = bench.third_session();
    assert!(bench.is_blocked(third, |tx| tx.receive(&named)));
    let over = Receive { waiting: Waiting::Over, ..named };
    bench.core.cancel_wait(third);
    assert!(bench.run(third, |tx| tx.receive(&over)).is_empty());
    assert!(bench.is_blocked(third, |tx| tx.receive(&named)));
    bench.rollback(bench.b);
    assert_eq!(bench.core.take_wakes(), [third]);
    assert_eq!(bodies(&bench.run(third, |tx| tx.receive(&named))), ["m0"]);
}

/// documented
#[test]
fn get_conversation_group_locks_without_taking() {
    let mut bench = Bench::new();
    bench.send_new("m0");
    let (queue, group) = (bench.qb, bench.rows(bench.qb)[0].group);
    bench.begin_tran(bench.b);
    assert_eq!(bench.run(bench.b, |tx| tx.get_conversation_group(queue, Waiting::No)), Some(group));
    let third = bench.third_session();
    assert_eq!(bench.run(third, |tx| tx.get_conversation_group(queue, Waiting::No)), None, "U-18");
    assert_eq!(bench.waitfor(third, queue), Ok(None));
    bench.commit(bench.b);
    assert_eq!(bench.core.take_wakes(), [third]);
    assert_eq!(bench.waitfor(third, queue).unwrap().map(|rows| bodies(&rows)), Some(vec!["m0".to_string()]));
}

/// documented: one waiter per group, and the turn of one that gives up goes to the next
#[test]
fn as_many_waiters_are_woken_as_there_are_groups() {
    let mut bench = Bench::new();
    let queue = bench.qb;
    let waiters = [bench.third_session(), bench.third_session(), bench.third_session()];
    for waiter in waiters {
        assert_eq!(bench.waitfor(waiter, queue), Ok(None));
    }
    let handle = bench.send_new("m0");
    assert_eq!(bench.core.take_wakes(), [waiters[0]]);
    bench.send(bench.a, handle, "m1");
    assert!(bench.core.take_wakes().is_empty());
    bench.send_new("n0");
    assert_eq!(bench.core.take_wakes(), [waiters[1]]);
    bench.core.cancel_wait(waiters[0]);
    assert_eq!(bench.core.take_wakes(), [waiters[2]]);
    let of_second = bench.waitfor(waiters[1], queue).unwrap().unwrap();
    let of_third = bench.waitfor(waiters[2], queue).unwrap().unwrap();
    assert_eq!((bodies(&of_second).len(), bodies(&of_third).len()), (2, 1));
}

/// documented
#[test]
fn select_waits_skips_or_reads_what_another_has_received() {
    let mut bench = Bench::new();
    let queue = bench.qb;
    bench.send_new("m0");
    bench.begin_tran(bench.b);
    bench.receive(bench.b, queue);
    let (reader, receiver) = (bench.a, bench.b);
    let count = |bench: &mut Bench, session, hint| bench.run(session, |tx| tx.queue_rows(queue, hint)).len();
    assert_eq!(count(&mut bench, receiver, ReadHint::Wait), 0);
    assert_eq!(count(&mut bench, reader, ReadHint::NoLock), 1);
    assert_eq!(count(&mut bench, reader, ReadHint::ReadPast), 0);
    assert!(bench.is_blocked(reader, |tx| tx.queue_rows(queue, ReadHint::Wait)));
    bench.commit(receiver);
    assert_eq!(count(&mut bench, reader, ReadHint::Wait), 0);
}

/// assumed (U-06)
#[test]
fn a_waiter_for_a_group_learns_that_its_service_is_gone() {
    let mut bench = Bench::new();
    bench.send_new("m0");
    let (queue, target) = (bench.qb, bench.receive(bench.b, bench.qb)[0].handle);
    let wait = Receive { filter: Filter::Conversation(target), waiting: Waiting::Yes, ..all_from(queue) };
    assert!(bench.is_blocked(bench.b, |tx| tx.receive(&wait)));
    bench.run(bench.a, |tx| tx.drop_service("B"));
    assert_eq!(bench.core.take_wakes(), [bench.b]);
    assert_eq!(bench.error(bench.b, |tx| tx.receive(&wait)), 9684);
}

/// documented: a doomed transaction can only be rolled back
#[test]
fn a_doomed_transaction_neither_receives_nor_sends() {
    let mut bench = Bench::new();
    let handle = bench.send_new("m0");
    bench.begin_tran(bench.b);
    bench.core.doom(bench.b);
    let queue = bench.qb;
    assert_eq!(bench.error(bench.b, |tx| tx.receive(&all_from(queue))), 3930);
    assert_eq!(bench.send_error(bench.b, handle), 3930);
    bench.rollback(bench.b);
    assert_eq!(bodies(&bench.receive(bench.b, queue)), ["m0"]);
}

/// documented: groups that the transaction holds itself are eligible, also for a waiter
#[test]
fn a_waiter_is_woken_for_a_group_it_holds_itself() {
    let mut bench = Bench::new();
    let handle = bench.send_new("m0");
    bench.begin_tran(bench.b);
    assert_eq!(bodies(&bench.receive(bench.b, bench.qb)), ["m0"]);
    assert_eq!(bench.waitfor(bench.b, bench.qb), Ok(None));
    bench.send(bench.a, handle, "m1");
    assert_eq!(bench.core.take_wakes(), [bench.b]);
    let rows = bench.waitfor(bench.b, bench.qb).unwrap().unwrap();
    assert_eq!(bodies(&rows), ["m1"]);
    bench.rollback(bench.b);
    assert_eq!(bodies(&bench.receive(bench.b, bench.qb)), ["m0", "m1"]);
}

/// documented: ALTER QUEUE waits for open receives, and later receives wait for it
#[test]
fn altering_a_queue_waits_for_its_receivers() {
    let mut bench = Bench::new();
    bench.send_new("m0");
    bench.begin_tran(bench.b);
    bench.receive(bench.b, bench.qb);
    let off = QueueOptions { status: Some(false), ..QueueOptions::default() };
    let name = crate::engine::objects::ObjectName::plain("QB");
    assert!(bench.is_blocked(bench.a, |tx| tx.alter_queue(&name, &off)));
    bench.commit(bench.b);
    assert_eq!(bench.core.take_wakes(), [bench.a]);
    bench.run(bench.a, |tx| tx.alter_queue(&name, &off));
    let queue = bench.qb;
    assert_eq!(bench.error(bench.b, |tx| tx.receive(&all_from(queue))), 9617);
}

/// documented: two receivers that wait for each other's group do not wait for ever
#[test]
fn a_deadlock_over_groups_ends_with_1205() {
    let mut bench = Bench::new();
    let (first, second) = (bench.send_new("m0"), bench.send_new("n0"));
    bench.begin_tran(bench.a);
    bench.begin_tran(bench.b);
    bench.send(bench.a, first, "m1");
    bench.send(bench.b, second, "n1");
    assert!(bench.is_blocked(bench.a, |tx| tx.send(&[second], None, &bytes("x"))));
    assert_eq!(bench.send_error(bench.b, first), 1205);
    assert_eq!(bench.core.take_wakes(), [bench.a]);
    bench.send(bench.a, second, "x");
    bench.commit(bench.a);
    let all: Vec<String> = bodies(&bench.rows(bench.qb));
    assert_eq!(all, ["m0", "n0", "m1", "x"]);
}
