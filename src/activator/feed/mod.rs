//! Feeds handlers: the activator receives, and passes messages to a handler line by line.
//!
//! # Theory of operation
//!
//! A feed belongs to one handler process and has one receiver, so one transaction with one conversation group at a time.
//! The messages of a batch are handed over one by one ([`protocol`]); what the handler asks for is collected by the pure
//! [`session`] and done when the batch is settled ([`settlement`]): replies, ends, dead letters and the receipt of the
//! messages are committed together, so each reply is sent once. When message k fails, or the handler dies with it, the
//! k - 1 before it are settled all the same, an attempt of k is counted, and its group is put off ([`deferrals`]).
//!
//! Handlers see a message at least once. One that comes again carries a higher attempt, whatever was the reason: failures
//! are counted in the table of attempts, roll backs noted in a file ([`deliveries`]).
//!
//! Starts no process and ends none: it says so when a handler is to end.

mod body;
mod decisions;
mod deferrals;
mod deliveries;
mod feeder;
mod handler;
mod late_ends;
mod protocol;
mod remarks;
#[cfg(test)]
mod samples;
mod session;
mod settlement;
mod spool;
mod trouble;

use crate::activator::config::{DeadLetter, FeedSettings};
use crate::activator::launch::LaunchId;
use crate::activator::log_lines;
use crate::activator::output::readable;
use crate::client::{Backoff, Broker, BrokerOptions, Message, QueueName, Receiver};
use deferrals::Deferrals;
use deliveries::Deliveries;
use feeder::Feeder;
use handler::Handler;
use late_ends::LateEnds;
use remarks::Remarks;
use session::Session;
use spool::Spool;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

/// Pauses while the server cannot be reached.
const UNREACHABLE: Backoff = Backoff::new(Duration::from_millis(250), Duration::from_secs(10));

/// What the feeds of a daemon share.
#[derive(Debug)]
pub(super) struct Shared {
    deliveries: Deliveries,
    deferrals: Mutex<Deferrals>,
    spool: Spool,
}

impl Shared {
    /// Takes up what an earlier daemon left in the state folder.
    pub(super) fn open(state_dir: &Path) -> std::io::Result<Self> {
        let deliveries = Deliveries::open(state_dir)?;
        Ok(Self { deliveries, deferrals: Mutex::default(), spool: Spool::open(state_dir)? })
    }

    fn put_off(&self, message: &Message, delay: Duration) -> Duration {
        self.deferrals().put_off(message.group, delay, Instant::now())
    }

    fn deferrals(&self) -> std::sync::MutexGuard<'_, Deferrals> {
        self.deferrals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one feed is for.
#[derive(Debug, Clone)]
pub(super) struct Assignment {
    pub(super) app: String,
    pub(super) launch: LaunchId,
    /// The server and database of the queue.
    pub(super) options: BrokerOptions,
    pub(super) database: String,
    pub(super) schema: String,
    pub(super) queue: String,
    pub(super) settings: FeedSettings,
    /// Longest time for the answers to one message.
    pub(super) timeout: Option<Duration>,
    /// User and group of the handler, if they are not the daemon's.
    pub(super) owner: Option<(u32, u32)>,
    /// Counts the messages that are handed over, for the status.
    pub(super) handed_over: Arc<AtomicU64>,
}

/// How a feed came to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ending {
    /// There was nothing to feed any more, or it was told to stop; the handler is asked to finish by the end of its input.
    Finished,
    /// The handler, or the server, does not do its part.
    Broken(String),
}

/// Why a feed goes no further.
enum Halt {
    Stopped,
    Idle,
    Broken(String),
}

/// Feeds one handler until there is nothing to do, it is told to stop, or something is broken. The message that is out when
/// it is told to stop is waited for. A fault of ours ends this feed and no other.
pub(super) async fn feed(
    assignment: Assignment,
    shared: Arc<Shared>,
    pipes: (ChildStdin, ChildStdout),
    stop: CancellationToken,
) -> Ending {
    // A set, so that the feed is dropped when this is.
    let mut task = JoinSet::new();
    task.spawn(run(assignment, shared, pipes, stop));
    ending_of(task.join_next().await.expect("it was spawned"))
}

fn ending_of(halt: Result<Halt, JoinError>) -> Ending {
    match halt {
        Ok(Halt::Stopped | Halt::Idle) => Ending::Finished,
        // It may hold words of the handler, or what the server made of them.
        Ok(Halt::Broken(reason)) => Ending::Broken(readable(reason.as_bytes())),
        Err(failed) => Ending::Broken(format!("its feed failed: {failed}")),
    }
}

async fn run(
    assignment: Assignment,
    shared: Arc<Shared>,
    (input, output): (ChildStdin, ChildStdout),
    stop: CancellationToken,
) -> Halt {
    let handler = Handler::new(input, output);
    let (broker, receiver) = match connect(&assignment, &stop).await {
        Ok(opened) => opened,
        Err(halt) => return halt,
    };
    let session = Session::new(assignment.settings.dead_letter == DeadLetter::EndConversation);
    let ends = LateEnds::new(broker.clone(), assignment.launch.chance());
    let remarks = Remarks::new();
    let mut feeder = Feeder { assignment, shared, handler, session, broker, ends, remarks, stop };
    let halt = feeder.run(receiver).await;
    feeder.finish().await;
    halt
}

/// Connects as often as it takes. A refusal that waiting does not mend ends the feed.
async fn connect(assignment: &Assignment, stop: &CancellationToken) -> Result<(Broker, Receiver), Halt> {
    let mut attempt = 0;
    loop {
        let error = match stop.run_until_cancelled(open(assignment)).await {
            None => return Err(Halt::Stopped),
            Some(Ok(opened)) => return Ok(opened),
            Some(Err(error)) => error,
        };
        if !error.is_retryable() && !error.is_connection_lost() {
            return Err(Halt::Broken(format!(
                "nothing can be received for it: {}",
                log_lines::chain(&error)
            )));
        }
        if attempt == 0 {
            let (app, reason) = (&assignment.app, log_lines::chain(&error));
            tracing::warn!(target: "activator", app, "nothing can be received for {app}: {reason}; trying until it works");
        }
        let pause = tokio::time::sleep(UNREACHABLE.delay(attempt, assignment.launch.chance()));
        attempt += 1;
        if stop.run_until_cancelled(pause).await.is_none() {
            return Err(Halt::Stopped);
        }
    }
}

async fn open(assignment: &Assignment) -> crate::client::Result<(Broker, Receiver)> {
    let broker = Broker::with_options(assignment.options.clone()).await?;
    let queue = QueueName::in_schema(&*assignment.schema, &*assignment.queue)?;
    let receiver = broker.receive(queue).max_messages(assignment.settings.batch).open().await?;
    Ok((broker, receiver))
}

#[cfg(test)]
mod tests {
    use super::{Ending, ending_of};

    #[tokio::test]
    async fn a_feed_that_panics_is_a_broken_one() {
        let failed = tokio::spawn(async { panic!("no such message") }).await;
        let Ending::Broken(reason) = ending_of(failed) else { panic!() };
        assert!(reason.contains("its feed failed") && reason.contains("no such message"), "{reason}");
    }
}
