//! Handlers that fail again and again: ever longer pauses, then an alert and an end of it, and a bound on launches.

use super::daemon::{Daemon, config, pids, shell};
use ssbroker::activator::{ProcessRecord, Record};
use std::time::{Duration, Instant};
use tempfile::TempDir;

fn processes(records: &[Record]) -> Vec<ProcessRecord> {
    let process = |record: &Record| match record {
        Record::Process(process) => Some(process.clone()),
        _ => None,
    };
    records.iter().filter_map(process).collect()
}

#[tokio::test]
async fn a_crash_loop_slows_down_and_is_given_up_with_an_alert() {
    let state = TempDir::new().unwrap();
    let keys = "backoff = { first = \"20ms\", max = \"80ms\", give_up_after = 5 }";
    let daemon = Daemon::start(config(state.path(), &shell("orders", "exit 1", keys)));
    daemon.notify("orders").await.unwrap();
    let gave_up = |record: &ProcessRecord| matches!(record, ProcessRecord::GaveUp { failures: 5, .. });
    daemon.until(|records| processes(records).iter().any(gave_up).then_some(())).await;
    daemon.notify("orders").await.unwrap();
    let records = daemon.stop().await;
    assert_eq!(pids(&records).len(), 5);
    let delays: Vec<Duration> = processes(&records)
        .into_iter()
        .filter_map(|record| match record {
            ProcessRecord::Pausing { delay, .. } => Some(delay),
            _ => None,
        })
        .collect();
    for (delay, longest) in delays.iter().zip([20, 40, 80, 80]) {
        let longest = Duration::from_millis(longest);
        assert!(*delay <= longest && *delay >= longest.mul_f64(0.75), "{delays:?}");
    }
    assert!(matches!(processes(&records).last(), Some(ProcessRecord::IsGivenUp { .. })));
}

#[tokio::test]
async fn what_was_given_up_is_tried_again_by_the_next_daemon() {
    let state = TempDir::new().unwrap();
    let keys = "backoff = { give_up_after = 1 }";
    let first = Daemon::start(config(state.path(), &shell("orders", "exit 1", keys)));
    first.notify("orders").await.unwrap();
    first.outcomes(1).await;
    first.stop().await;
    let second = Daemon::start(config(state.path(), &shell("orders", "exit 0", keys)));
    second.outcomes(1).await;
    second.stop().await;
}

#[tokio::test]
async fn launches_keep_to_their_rate_and_none_is_lost() {
    let state = TempDir::new().unwrap();
    let daemon = Daemon::start(config(
        state.path(),
        &shell("orders", "exec sleep 300", "rate = \"2/s\"\nmin = 5\nmax = 5"),
    ));
    let begin = Instant::now();
    daemon.notify("orders").await.unwrap();
    assert_eq!(pids(&daemon.records()).len(), 2);
    daemon.launched(3).await;
    assert!(begin.elapsed() >= Duration::from_millis(900));
}
