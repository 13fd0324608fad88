//! Costs that must not grow with the backlog, and what a dialog weighs.

use super::{Bench, bodies};
use crate::engine::definitions::{Endpoint, Group};

/// One group of many messages, received in small portions: quadratic work would not end here.
#[test]
fn a_long_conversation_is_received_in_order_and_without_rescanning() {
    let mut bench = Bench::new();
    let handle = bench.begin();
    bench.begin_tran(bench.a);
    (0..20_000).for_each(|n| bench.send(bench.a, handle, &n.to_string()));
    bench.commit(bench.a);
    let mut expected = 0;
    loop {
        let rows = bench.receive_top(bench.b, bench.qb, 50);
        if rows.is_empty() {
            break;
        }
        for body in bodies(&rows) {
            assert_eq!(body, expected.to_string());
            expected += 1;
        }
    }
    assert_eq!(expected, 20_000);
}

/// Many dialogs with a message each: every RECEIVE takes the oldest one.
#[test]
fn many_dialogs_are_served_oldest_first() {
    let mut bench = Bench::new();
    bench.send_many(0..5_000);
    for n in 0..5_000 {
        assert_eq!(bodies(&bench.receive(bench.b, bench.qb)), [n.to_string()]);
    }
    assert_eq!(bench.endpoints().len(), 10_000);
}

/// Two endpoints, two groups and their places in the indexes stay within 2 KB.
#[test]
fn a_dialog_is_small() {
    let places = 12 * 48;
    assert!(2 * (size_of::<Endpoint>() + size_of::<Group>()) + places <= 2048, "{}", size_of::<Endpoint>());
}
