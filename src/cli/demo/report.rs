//! What the demo tells: a summary for people, one JSON object for programs.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::ledger::Counts;
use super::traffic::Outcome;

/// One handler process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HandlerRun {
    pub(super) pid: u32,
    pub(super) lasted: Option<Duration>,
}

/// What the activator did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Handlers {
    pub(super) runs: Vec<HandlerRun>,
    pub(super) max_alive: u64,
    pub(super) notifications: u64,
}

/// Everything that is told.
pub(super) struct Report {
    counts: Counts,
    handlers: Handlers,
    numbers: Numbers,
}

/// The JSON object; its names are a format that scripts rely on.
#[derive(Debug, Serialize)]
struct Numbers {
    sent: u64,
    received: u64,
    replied: u64,
    verified: u64,
    mismatched: u64,
    lost: u64,
    duplicated: u64,
    skipped: u64,
    launches: u64,
    max_alive: u64,
    notifications: u64,
    leaked_conversations: u64,
    messages_per_second: f64,
    seconds: f64,
}

impl Report {
    pub(super) fn new(outcome: Outcome, handlers: Handlers, leaked_conversations: u64, seconds: f64) -> Self {
        let Outcome { mut counts, received, lost, skipped } = outcome;
        counts.only_from(&handlers.runs.iter().map(|run| run.pid).collect());
        let numbers = Numbers {
            sent: counts.sent,
            received,
            replied: counts.replied,
            verified: counts.verified,
            mismatched: counts.mismatched,
            lost,
            duplicated: counts.duplicated,
            skipped,
            launches: handlers.runs.len() as u64,
            max_alive: handlers.max_alive,
            notifications: handlers.notifications,
            leaked_conversations,
            messages_per_second: if seconds > 0.0 { (counts.verified as f64 / seconds).round() } else { 0.0 },
            seconds: (seconds * 1000.0).round() / 1000.0,
        };
        Self { counts, handlers, numbers }
    }

    /// Whether every message sent was verified, and no other fault was seen.
    pub(super) fn is_well(&self) -> bool {
        self.numbers.verified == self.numbers.sent && self.counts.faults.is_empty()
    }

    pub(super) fn to_json(&self) -> String {
        serde_json::to_string(&self.numbers).expect("numbers are always JSON")
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let it = &self.numbers;
        let bytes = indicatif::HumanBytes(self.counts.bytes);
        writeln!(f, "{} messages ({bytes}) sent, {} replies verified", it.sent, it.verified)?;
        writeln!(
            f,
            "{} lost, {} duplicated, {} mismatched, {} skipped",
            it.lost, it.duplicated, it.mismatched, it.skipped
        )?;
        writeln!(
            f,
            "{} handlers launched after {} notifications, at most {} alive at once",
            it.launches, it.notifications, it.max_alive
        )?;
        for run in &self.handlers.runs {
            match run.lasted {
                Some(lasted) => writeln!(f, "  process {:>8}  {:>8.3} s", run.pid, lasted.as_secs_f64())?,
                None => writeln!(f, "  process {:>8}  still running", run.pid)?,
            }
        }
        writeln!(
            f,
            "{:.3} s, {} messages/s, {} conversations left open",
            it.seconds, it.messages_per_second, it.leaked_conversations
        )?;
        for fault in &self.counts.faults {
            writeln!(f, "fault: {fault}")?;
        }
        f.write_str(if self.is_well() { "everything verified" } else { "NOT everything verified" })
    }
}
