//! The short form of the activator's soak; it prints the number of its goals.

use super::daemon::program;
use crate::client::soaks::{self, Budget};

/// Goals D5 and D6. The long form: `cargo run --release --example soak -- d5-limits --minutes N`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d5_d6_whatever_happens_every_message_is_read_and_max_is_kept() {
    println!("{}", soaks::limits::run(Budget::times(2), &program()).await.unwrap());
}
