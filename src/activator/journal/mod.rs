//! The intent journal: what was launched, what still runs and which notifications wait, kept across the daemon's death.
//!
//! An append-only file of JSON lines, each with the system before the next step is taken: first the intent, then the
//! process, then its end. So the death of the daemon loses no line. A crash of the whole machine loses those that are not on
//! disk yet; it ends every process too, so only what is promised to somebody else has to wait for the disk
//! ([`Journal::unsecured`]).
//!
//! What the lines mean is decided by [`replay`](Replay), which is pure; this file does the reading and writing. It starts
//! nothing, and does not know whether a process is alive: who asks the system compares its answer with [`Process`].

mod entry;
mod replay;

pub use entry::{Entry, Process};
pub use replay::{DamagedLine, KeptNotice, Replay, RunningLaunch, UnfinishedLaunch};

use crate::activator::state_file;
use replay::State;
use rustix::fs::{FlockOperation, flock};
use std::error::Error;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const FILE_NAME: &str = "journal.jsonl";
const TEMPORARY_NAME: &str = "journal.jsonl.tmp";
const LOCK_NAME: &str = "lock";
/// A journal below this size is never compacted while it is in use.
const COMPACT_ABOVE: u64 = 1024 * 1024;

/// The journal of one state folder, locked against a second daemon for as long as it is open.
#[derive(Debug)]
pub struct Journal {
    dir: PathBuf,
    file: Arc<File>,
    /// Length up to which the file holds whole lines.
    length: u64,
    /// Whether a write failed and may have left part of a line beyond that length.
    torn: bool,
    /// Whether there may be lines that are not on disk.
    unsecured: bool,
    /// Length beyond which it is compacted.
    compact_at: u64,
    state: State,
    /// Held for its lock only.
    _lock: File,
}

/// Why the journal cannot be kept.
#[derive(Debug)]
#[non_exhaustive]
pub enum JournalError {
    /// Another daemon uses the state folder.
    InUse(PathBuf),
    /// A file of the journal cannot be read or written.
    Io {
        /// What was being done.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse(dir) => write!(f, "another activator uses the state folder {}", dir.display()),
            Self::Io { doing, path, .. } => write!(f, "cannot {doing} {}", path.display()),
        }
    }
}

impl Error for JournalError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::InUse(_) => None,
        }
    }
}

impl Journal {
    /// Opens the journal in `dir`, which is created if need be; says what it holds, and compacts it.
    ///
    /// A last line that was cut off by a crash is tolerated, and a damaged line elsewhere is reported in the replay; it
    /// never keeps the daemon from starting, and is set aside in a copy of the old file.
    ///
    /// # Errors
    /// [`JournalError::InUse`] if another daemon holds the folder, else the system's reason.
    pub fn open(dir: &Path) -> Result<(Self, Replay), JournalError> {
        state_file::make_folder(dir).map_err(failed("create the state folder", dir))?;
        let lock = lock(dir)?;
        let path = dir.join(FILE_NAME);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(failed("read the journal", &path)(error)),
        };
        let (state, damaged) = State::replay(&bytes);
        if !damaged.is_empty() {
            let copy = dir.join("journal.damaged");
            state_file::replace(&copy, &bytes).map_err(failed("set the damaged journal aside as", &copy))?;
        }
        let replay = state.report(damaged);
        let (file, length) = write_temporary(dir, &state)?;
        take_name(dir)?;
        sync_folder(dir)?;
        let compact_at = COMPACT_ABOVE.max(4 * length);
        let (dir, file) = (dir.to_owned(), Arc::new(file));
        let journal =
            Self { dir, file, length, torn: false, unsecured: false, compact_at, state, _lock: lock };
        Ok((journal, replay))
    }

    /// Adds one line, which the death of this process cannot take back any more. Does not wait for the disk.
    ///
    /// # Errors
    /// The system's reason; the line is then not in the journal, and a later call may succeed.
    pub fn append(&mut self, entry: &Entry) -> Result<(), JournalError> {
        let line = entry.to_line();
        self.write(line.as_bytes()).map_err(failed("write to the journal", &self.dir.join(FILE_NAME)))?;
        self.length += line.len() as u64;
        self.unsecured = true;
        self.state.apply(entry.clone());
        Ok(())
    }

    /// The file to sync so that every line there is now is on disk, or `None` if they are. What came of it is to be told to
    /// [`secured`](Self::secured); lines that are added meanwhile need another sync.
    #[must_use]
    pub fn unsecured(&mut self) -> Option<Arc<File>> {
        std::mem::take(&mut self.unsecured).then(|| Arc::clone(&self.file))
    }

    /// The file was synced with this result. Writes the journal anew where that failed, since what the system has dropped
    /// once it does not write any more, and where the journal has grown too long. Blocks for the time of some disk writes then.
    ///
    /// # Errors
    /// The system's reason: lines that were to be synced may not be on disk. The next sync tries again.
    pub fn secured(&mut self, outcome: io::Result<()>) -> Result<(), JournalError> {
        if outcome.is_err() {
            self.unsecured = true;
            self.compact()?;
            self.unsecured = false;
        } else if self.length > self.compact_at
            && let Err(error) = self.compact()
        {
            // The lines themselves are safe; it is tried again at twice the size.
            self.compact_at = 2 * self.length;
            tracing::warn!(error = &error as &dyn Error, "the journal could not be compacted");
        }
        Ok(())
    }

    /// From now on no sync succeeds.
    #[cfg(test)]
    pub(in crate::activator) fn break_sync(&mut self) {
        self.file = Arc::new(OpenOptions::new().append(true).open("/dev/null").unwrap());
    }

    /// Writes a whole line or none: what an earlier failure left half written is cut off first.
    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        if self.torn {
            self.file.set_len(self.length)?;
        }
        self.torn = true;
        (&*self.file).write_all(line)?;
        self.torn = false;
        Ok(())
    }

    /// From the moment the new file has the journal's name, lines must go to it and not to the old one.
    fn compact(&mut self) -> Result<(), JournalError> {
        let (file, length) = write_temporary(&self.dir, &self.state)?;
        take_name(&self.dir)?;
        (self.file, self.length, self.torn) = (Arc::new(file), length, false);
        self.compact_at = COMPACT_ABOVE.max(4 * length);
        sync_folder(&self.dir)
    }
}

fn lock(dir: &Path) -> Result<File, JournalError> {
    let path = dir.join(LOCK_NAME);
    let open = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
    let file = open.map_err(failed("open the lock", &path))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(JournalError::InUse(dir.to_owned())),
        Err(error) => Err(failed("lock", &path)(error.into())),
    }
}

/// Writes `state` and nothing else to the temporary file; answers it, open for appending, and its length.
fn write_temporary(dir: &Path, state: &State) -> Result<(File, u64), JournalError> {
    let path = dir.join(TEMPORARY_NAME);
    let text: String = state.entries().iter().map(Entry::to_line).collect();
    let open = OpenOptions::new().append(true).create(true).mode(0o600).open(&path);
    let mut file = open.map_err(failed("create the journal", &path))?;
    file.set_len(0)
        .and_then(|()| file.write_all(text.as_bytes()))
        .and_then(|()| file.sync_all())
        .map_err(failed("write the journal", &path))?;
    Ok((file, text.len() as u64))
}

/// Gives the temporary file the journal's name. A crash leaves either the old journal or the new one.
fn take_name(dir: &Path) -> Result<(), JournalError> {
    let path = dir.join(FILE_NAME);
    fs::rename(dir.join(TEMPORARY_NAME), &path).map_err(failed("replace the journal", &path))
}

fn sync_folder(dir: &Path) -> Result<(), JournalError> {
    let folder = File::open(dir).and_then(|folder| folder.sync_all());
    folder.map_err(failed("sync the state folder", dir))
}

fn failed(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> JournalError {
    let path = path.to_owned();
    move |source| JournalError::Io { doing, path, source }
}

#[cfg(test)]
mod tests;
