//! What a launch costs, and that it does not depend on the memory of the daemon: nothing of it is copied.

use super::daemon::{Daemon, config, shell};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const LAUNCHES: u32 = 50;

/// The time from a notification to the news that its process runs, in the mean.
async fn cost() -> Duration {
    let state = TempDir::new().unwrap();
    let daemon = Daemon::start(config(state.path(), &shell("orders", "exit 0", "max = 100")));
    daemon.notify("orders").await.unwrap();
    let begin = Instant::now();
    for _ in 0..LAUNCHES {
        daemon.notify("orders").await.unwrap();
    }
    let cost = begin.elapsed() / LAUNCHES;
    daemon.stop().await;
    cost
}

/// A measurement, so it runs when asked for: `--ignored`.
#[tokio::test]
#[ignore = "a measurement: takes 512 MiB and a quiet machine"]
async fn a_launch_costs_the_same_with_512_mebibytes_in_the_daemon() {
    cost().await;
    let small = cost().await;
    let mut ballast = vec![0_u8; 512 * 1024 * 1024];
    ballast.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
    let large = cost().await;
    assert_eq!(ballast[4096], 1);
    println!("a launch takes {small:?}, and {large:?} with 512 MiB in use");
    assert!(large < small * 2, "{small:?} and {large:?}");
}
