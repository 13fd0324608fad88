//! The short forms of the soaks; each prints the number of its goal.

use std::time::Duration;

use super::soaks::{self, Budget, Child};

/// Goal L1. The long form: `cargo run --release --example soak -- l1-drops --minutes N`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l1_a_thousand_dropped_receives_lose_nothing_and_double_nothing() {
    println!("{}", soaks::drops::run(Budget::times(1000)).await.unwrap());
}

/// Goal L3, with the tests' own binary as the process that is killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l3_failing_handlers_and_killed_processes_leave_no_conversation_open() {
    println!("{}", soaks::leaks::run(Budget::time(Duration::from_secs(6)), 20_000, &child).await.unwrap());
}

/// Goal L5.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l5_whatever_handlers_do_the_queue_stays_on_and_each_message_is_handled_once_or_parked() {
    println!("{}", soaks::poison::run(Budget::times(6)).await.unwrap());
}

/// Goal L9.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l9_a_receiver_is_back_within_a_second_of_its_server() {
    println!("{}", soaks::reconnect::run(Budget::times(4), Duration::from_secs(2)).await.unwrap());
}

const CONNECTION: &str = "SSBROKER_TEST_CHILD_CONNECTION";

fn child(connection_string: &str) -> Result<Child, Box<dyn std::error::Error>> {
    Ok(super::work::child_test("client::soaking::child_process", CONNECTION, connection_string))
}

/// Not a test: the process that is killed.
#[tokio::test]
#[ignore = "runs as a child process of another test"]
async fn child_process() {
    let Ok(connection_string) = std::env::var(CONNECTION) else { return };
    soaks::leaks::child(&connection_string).await.unwrap();
}
