//! The programs of `samples/`: each runs on an embedded broker of its own and says what it should.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Builds all samples once, in the profile of the tests, and answers the folder they lie in.
fn programs() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.current_dir(env!("CARGO_MANIFEST_DIR")).args(["build", "--examples", "--locked", "--quiet"]);
        if !cfg!(debug_assertions) {
            cargo.arg("--release");
        }
        assert!(cargo.status().unwrap().success(), "the samples do not build");
        // The test binary lies in `deps` of the profile's folder.
        let test = std::env::current_exe().unwrap();
        test.parent().unwrap().parent().unwrap().join("examples")
    })
}

/// What a sample says, line by line.
fn output_of(sample: &str) -> Vec<String> {
    let output = Command::new(programs().join(sample)).output().unwrap();
    let (said, complained) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr).into_owned());
    assert!(output.status.success(), "{sample} failed: {complained}\n{said}");
    said.lines().map(str::to_owned).collect()
}

#[test]
fn hello_dialog_ends_both_sides() {
    let expected = [
        "the target received: hello, target",
        "the initiator received: hello, initiator",
        "the target has ended",
        "the dialog is over",
    ];
    assert_eq!(output_of("hello_dialog"), expected);
}

#[test]
fn request_reply_shows_replies_an_error_a_time_out_and_a_request_taken_up_again() {
    let expected = [
        "price: 42",
        "price: 21",
        "refused: the request failed: conversation error 404: there are no unicorns",
        "late: no reply came within 20ms",
        "taken up again for the shop window: 42",
    ];
    assert_eq!(output_of("request_reply"), expected);
}

#[test]
fn order_worker_stores_two_orders_and_parks_the_damaged_one_and_the_impossible_one() {
    let said = output_of("order_worker");
    assert_eq!(
        said[..4],
        ["placed 4 orders", "the worker stopped: Idle", "stored: order 1, teapot", "stored: order 3, cup"]
    );
    assert!(said[4].starts_with("parked at attempt 1: the body is not a Order in json"), "{said:?}");
    assert_eq!(said[5..], ["parked at attempt 3: there are no unicorns today"]);
}

#[test]
fn transactional_outbox_sends_nothing_after_a_roll_back_and_once_after_a_commit_that_is_repeated() {
    let expected = [
        "at first: 10 in stock, dispatch has been told of 0",
        "after the roll back: 10 in stock, dispatch has been told of 0",
        "after the commit: 9 in stock, dispatch has been told of 1",
        "the commit had happened",
        "after the repeated sale: 8 in stock, dispatch has been told of 2",
        "dispatch packs a teapot",
        "dispatch packs a teapot",
    ];
    assert_eq!(output_of("transactional_outbox"), expected);
}

#[test]
fn keyed_push_keeps_the_order_of_each_record_over_four_dialogs() {
    let expected = [
        "pushed 200 changes over 4 dialogs",
        "40 records are up to date at version 5, 0 out of order, over 4 conversations",
    ];
    assert_eq!(output_of("keyed_push"), expected);
}
