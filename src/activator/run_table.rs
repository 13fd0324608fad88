//! Runs in a table of a database, besides the history in the state folder, where `[history]` asks for it.
//!
//! A task of its own writes them one by one over the connection of that notification service and tries again until it works,
//! so neither a server that is away nor a table that is missing holds up anything. What does not fit meanwhile is in the
//! history only. Rows that are old are removed now and then. Decides nothing.

use crate::activator::history::Run;
use crate::activator::launch::Outcome;
use crate::activator::listener::{Health, Link, Links};
use crate::activator::log_lines;
use crate::activator::platform;
use crate::client::{self, Backoff, HandlerRun};
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Runs that wait to be written.
const CAPACITY: usize = 1000;
/// How long rows are kept.
const KEEP: Duration = Duration::from_secs(30 * 24 * 3600);
/// How often older ones are removed, and how many at once.
const FORGET_EVERY: Duration = Duration::from_secs(3600);
const AT_ONCE: u32 = 1000;
/// Until the next look whether the service is listened on.
const BREATH: Duration = Duration::from_millis(100);
/// Pauses between attempts.
const PAUSES: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(30));
/// Most characters of an application's name, each of which takes two of the 256 places in the table at most.
const LONGEST_NAME: usize = 128;
/// How long the last runs may take to be written when the daemon stops.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where runs are handed in. The default is no table. Dropped, nothing more is written.
#[derive(Debug, Default)]
pub(super) struct RunTable {
    runs: Option<mpsc::Sender<HandlerRun>>,
    host: String,
    writer: JoinSet<()>,
}

impl RunTable {
    /// The table in the database of this notification service. To be called within a runtime.
    pub(super) fn of(service: String, links: Links) -> Self {
        let (sender, runs) = mpsc::channel(CAPACITY);
        let mut writer = JoinSet::new();
        writer.spawn(write(service, links, runs));
        Self { runs: Some(sender), host: platform::host_name(), writer }
    }

    /// Hands in a run that has ended at this moment. Waits for nothing.
    pub(super) fn note(&self, run: &Run, ended: SystemTime) {
        let Some(runs) = &self.runs else { return };
        if runs.try_send(row(run, ended, &self.host)).is_err() {
            let (app, launch) = (&run.app, tracing::field::display(run.launch_id));
            tracing::warn!(
                target: "activator", app, launch,
                "a run is not in the table ssbroker.runs, since {CAPACITY} others wait to be written; the history has it"
            );
        }
    }

    /// Waits for the last runs to be written, for a while.
    pub(super) async fn finish(mut self) {
        drop(self.runs.take());
        let all = async { while self.writer.join_next().await.is_some() {} };
        if tokio::time::timeout(PATIENCE, all).await.is_err() {
            tracing::warn!(target: "activator", "the last runs are not in the table ssbroker.runs; the history has them");
        }
    }
}

/// Writes runs until nobody can hand in any more.
async fn write(service: String, links: Links, mut runs: mpsc::Receiver<HandlerRun>) {
    let (mut health, mut forget_at) = (Health::default(), Instant::now());
    while let Some(run) = runs.recv().await {
        loop {
            // Asked for anew each time: a changed configuration may have given it another connection.
            let Some(link) = links.of(&service) else {
                tokio::time::sleep(BREATH).await;
                continue;
            };
            let Err(error) = keep(&link, &run, &mut forget_at).await else { break };
            if health.fails(&error) {
                let reason = log_lines::chain(&error);
                tracing::warn!(
                    target: "activator", service,
                    "runs cannot be written to the table ssbroker.runs: {reason}; trying again until it works"
                );
            }
            tokio::time::sleep(PAUSES.delay(health.failures().saturating_sub(1), 0.5)).await;
        }
        if health.works() {
            tracing::info!(target: "activator", service, "runs are written to the table ssbroker.runs");
        }
    }
}

async fn keep(link: &Link, run: &HandlerRun, forget_at: &mut Instant) -> client::Result<()> {
    let broker = link.broker().await?;
    broker.keep_run(run).await?;
    if *forget_at <= Instant::now() {
        *forget_at = Instant::now() + FORGET_EVERY;
        while broker.forget_runs(KEEP, AT_ONCE).await? == u64::from(AT_ONCE) {}
    }
    Ok(())
}

fn row(run: &Run, ended: SystemTime, host: &str) -> HandlerRun {
    let (exit_code, signal) = match run.outcome {
        Outcome::Code(code) => (Some(code), None),
        Outcome::Signal(signal) => (None, Some(signal)),
        Outcome::Unknown => (None, None),
    };
    HandlerRun {
        launch_id: run.launch_id.as_uuid(),
        app: run.app.chars().take(LONGEST_NAME).collect(),
        host: host.to_owned(),
        // The system's process ids are positive and fit.
        pid: run.pid.and_then(|pid| i32::try_from(pid).ok()),
        ended: ended.into(),
        seconds: run.seconds,
        exit_code,
        signal,
        stderr_tail: run.stderr_tail.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::row;
    use crate::activator::history::Run;
    use crate::activator::launch::{LaunchId, Outcome};
    use std::time::SystemTime;

    fn run(outcome: Outcome) -> Run {
        Run {
            app: "x".repeat(300),
            launch_id: LaunchId::from_u128(7),
            pid: Some(12),
            ended: "2026-01-01T00:00:00.000Z".to_owned(),
            seconds: Some(0.25),
            outcome,
            stderr_tail: "no\nmore".to_owned(),
        }
    }

    #[test]
    fn an_exit_code_and_a_signal_have_columns_of_their_own() {
        for (outcome, expected) in [
            (Outcome::Code(3), (Some(3), None)),
            (Outcome::Signal(9), (None, Some(9))),
            (Outcome::Unknown, (None, None)),
        ] {
            let row = row(&run(outcome), SystemTime::UNIX_EPOCH, "host");
            assert_eq!((row.exit_code, row.signal), expected);
            assert_eq!((row.launch_id.as_u128(), row.pid, row.seconds), (7, Some(12), Some(0.25)));
            assert_eq!((row.app.len(), row.host.as_str()), (128, "host"));
        }
    }
}
