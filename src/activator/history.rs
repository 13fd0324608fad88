//! The last runs of every application: how each ended, how long it took, and what it said last.
//!
//! Kept as JSON lines in `history.jsonl` below the state folder, for the daemon's own user only. Bounded: the newest runs stay,
//! and the file is written anew once it holds twice as many lines. A line that cannot be read is passed over, and a file that
//! cannot be written costs the history, never a launch. (Pains 18 and 38.)

use crate::activator::launch::{LaunchId, Outcome};
use crate::activator::status::outcome_fields;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many runs are kept, of all applications together.
const KEEP: usize = 1000;

/// One process that has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Run {
    /// Its application.
    pub app: String,
    /// Its launch.
    pub launch_id: LaunchId,
    /// Its process id, if it came to run.
    pub pid: Option<u32>,
    /// When it ended, RFC 3339 in UTC.
    pub ended: String,
    /// How long it ran; `None` if an earlier daemon had started it.
    pub seconds: Option<f64>,
    /// `code`, `signal`, or `outcome` when unknown.
    #[serde(flatten, with = "outcome_fields")]
    pub outcome: Outcome,
    /// The last lines it wrote on standard error.
    pub stderr_tail: String,
}

/// The history. Cheap to clone; the lock is held for one look or one line.
#[derive(Debug, Clone)]
pub(super) struct History(Arc<Mutex<Book>>);

#[derive(Debug)]
struct Book {
    path: PathBuf,
    runs: VecDeque<Run>,
    /// Lines in the file.
    lines: usize,
    /// Whether the last attempt to write failed, which is told once.
    is_failing: bool,
}

impl History {
    /// Reads what earlier daemons kept. Blocks for the time of reading a file.
    pub(super) fn open(state_dir: &Path) -> Self {
        let path = state_dir.join("history.jsonl");
        let text = fs::read_to_string(&path).unwrap_or_default();
        let lines = text.lines().count();
        let read: Vec<Run> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let runs = read[read.len().saturating_sub(KEEP)..].iter().cloned().collect();
        Self(Arc::new(Mutex::new(Book { path, runs, lines, is_failing: false })))
    }

    /// Adds a run; the file is written on a thread for blocking work, and nobody waits for it.
    pub(super) fn note(&self, run: Run) {
        let book = Arc::clone(&self.0);
        tokio::task::spawn_blocking(move || lock(&book).note(run));
    }

    /// The newest runs of an application, newest first.
    pub(super) fn last(&self, app: &str, count: usize) -> Vec<Run> {
        lock(&self.0).runs.iter().rev().filter(|run| run.app == app).take(count).cloned().collect()
    }
}

impl Book {
    fn note(&mut self, run: Run) {
        let line = serde_json::to_string(&run).expect("a run is plain text and numbers");
        self.runs.push_back(run);
        while self.runs.len() > KEEP {
            self.runs.pop_front();
        }
        let written = if self.lines >= 2 * KEEP { self.rewrite() } else { self.append(&line) };
        match written {
            Ok(()) => self.is_failing = false,
            Err(error) if !std::mem::replace(&mut self.is_failing, true) => {
                let path = self.path.display();
                tracing::warn!(target: "activator", "the history of runs cannot be written to {path}: {error}");
            }
            Err(_) => {}
        }
    }

    fn append(&mut self, line: &str) -> io::Result<()> {
        let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.path)?;
        file.write_all(format!("{line}\n").as_bytes())?;
        self.lines += 1;
        Ok(())
    }

    /// Writes all that is kept to a new file, which then takes the place of the old one.
    fn rewrite(&mut self) -> io::Result<()> {
        let fresh = self.path.with_extension("jsonl.new");
        let mut file = create(&fresh)?;
        for run in &self.runs {
            let line = serde_json::to_string(run).expect("a run is plain text and numbers");
            file.write_all(format!("{line}\n").as_bytes())?;
        }
        fs::rename(&fresh, &self.path)?;
        self.lines = self.runs.len();
        Ok(())
    }
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

fn lock(book: &Mutex<Book>) -> MutexGuard<'_, Book> {
    book.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{History, KEEP, Run, lock};
    use crate::activator::launch::{LaunchId, Outcome};

    fn run(app: &str, number: u128) -> Run {
        Run {
            app: app.to_owned(),
            launch_id: LaunchId::from_u128(number),
            pid: Some(7),
            ended: "2026-01-01T00:00:00.000Z".to_owned(),
            seconds: Some(0.25),
            outcome: Outcome::Signal(9),
            stderr_tail: "no\nmore".to_owned(),
        }
    }

    #[test]
    fn the_newest_runs_survive_a_restart_and_the_file_stays_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let history = History::open(folder.path());
        for number in 0..(3 * KEEP as u128) {
            lock(&history.0).note(run(if number % 2 == 0 { "a" } else { "b" }, number));
        }
        let path = folder.path().join("history.jsonl");
        let lines = std::fs::read_to_string(&path).unwrap().lines().count();
        assert!((KEEP..=2 * KEEP).contains(&lines), "{lines}");
        let again = History::open(folder.path());
        assert_eq!(again.last("b", 2), [run("b", 2999), run("b", 2997)]);
        assert_eq!(again.last("b", KEEP).len(), KEEP / 2);
    }

    #[test]
    fn a_line_that_was_cut_costs_itself_only() {
        let folder = tempfile::tempdir().unwrap();
        lock(&History::open(folder.path()).0).note(run("a", 1));
        let path = folder.path().join("history.jsonl");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{}\n{text}", &text[..40])).unwrap();
        assert_eq!(History::open(folder.path()).last("a", 9), [run("a", 1)]);
        assert!(History::open(folder.path()).last("b", 9).is_empty());
    }
}
