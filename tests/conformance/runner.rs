//! Plays a vector on every backend and reports how it went. It must not know single vectors.

use std::fs::OpenOptions;
use std::io::Write;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use ssbroker::client::Broker;

use super::fixture::Fixture;
use super::vector::{Outcome, Vector};
use crate::support::Backend;

/// Names the file that confirmations of a real server are written to.
const RECORD: &str = "SSBROKER_TEST_RECORD";

/// A vector that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(300);

/// Plays a vector on all backends. A skip is told; where time can be moved, nothing may be skipped.
pub(crate) async fn play_everywhere(vector: &Vector) {
    for backend in crate::support::all_backends().await {
        let outcome = play(vector, &backend).await;
        let (id, place, origin) = (vector.id, backend.describe(), vector.origin());
        match outcome {
            Outcome::Passed if backend.manual_clock().is_none() => record(vector, &backend).await,
            Outcome::Passed => println!("passed: {id} on {place} ({origin})"),
            Outcome::Skipped(why) => {
                assert!(backend.manual_clock().is_none(), "{id} skipped on {place}: {why}");
                println!("skipped: {id} on {place}: {why}");
            }
        }
    }
}

/// Plays it once and cleans up, also after a failed expectation, which is told with its origin.
async fn play(vector: &Vector, backend: &Arc<dyn Backend>) -> Outcome {
    let fixture = match Fixture::create(backend, vector.place).await {
        Ok(fixture) => fixture,
        Err(why) => return Outcome::Skipped(why),
    };
    match AssertUnwindSafe(in_time(vector, &fixture)).catch_unwind().await {
        Ok(outcome) => {
            fixture.remove().await;
            outcome
        }
        Err(panic) => {
            println!("failed: {} on {} ({})", vector.id, backend.describe(), vector.origin());
            // A failure in cleaning up must not hide the first one.
            let _ = AssertUnwindSafe(fixture.remove()).catch_unwind().await;
            resume_unwind(panic)
        }
    }
}

async fn in_time(vector: &Vector, fixture: &Fixture) -> Outcome {
    let outcome = tokio::time::timeout(LONGEST, (vector.play)(fixture)).await;
    outcome.unwrap_or_else(|_| panic!("{} did not end within {LONGEST:?}", vector.id))
}

/// Writes down that a real server agrees, as a line for `verified.tsv`. Another embedded broker is none.
async fn record(vector: &Vector, backend: &Arc<dyn Backend>) {
    let broker = Broker::connect(&backend.connection_string()).await.unwrap();
    let answer = broker.batch("SELECT @@VERSION AS version").await.unwrap();
    let version: String = answer.first_row().unwrap().get("version").unwrap();
    let server = version.lines().next().unwrap_or_default().trim();
    if version.contains("ssbroker") {
        return println!("passed: {} on {server}, which confirms nothing", vector.id);
    }
    println!("verified: {} by {server} ({} so far)", vector.id, vector.origin());
    if let Ok(path) = std::env::var(RECORD) {
        let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
        // One write for the whole line: other vectors write to the same file.
        file.write_all(format!("{}\t{server}\n", vector.id).as_bytes()).unwrap();
    }
}
