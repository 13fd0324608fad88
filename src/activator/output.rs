//! Where handlers write: two files for each launch, `runs/LAUNCH_ID.out` and `.err` below the state folder.
//!
//! Files and not pipes, because a pipe dies with the daemon and takes the handler with it at its next line. They are for
//! the daemon's own user only, since handlers print what they like; empty ones are removed when the handler ends, and of
//! the rest the newest are kept. Starts no process and writes no log.

use crate::activator::launch::LaunchId;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// How many output files of ended launches are kept.
const KEEP: usize = 200;
/// How much of the end of standard error goes to the log.
const TAIL: u64 = 4 * 1024;

/// The folder of the output files.
#[derive(Debug)]
pub(super) struct Runs {
    dir: PathBuf,
    /// Launches whose files are still written to. Only ever locked for one look or change.
    live: Mutex<HashSet<LaunchId>>,
}

/// The two files of a launch, open for its process.
#[derive(Debug)]
pub(super) struct OutputFiles {
    pub(super) out: File,
    pub(super) err: File,
}

impl Runs {
    /// Creates the folder if need be.
    pub(super) fn open(state_dir: &Path) -> io::Result<Self> {
        let dir = state_dir.join("runs");
        DirBuilder::new().recursive(true).mode(0o700).create(&dir)?;
        Ok(Self { dir, live: Mutex::default() })
    }

    /// Creates the files of a new launch.
    pub(super) fn create(&self, launch: LaunchId) -> io::Result<OutputFiles> {
        let files =
            OutputFiles { out: create(&self.path(launch, "out"))?, err: create(&self.path(launch, "err"))? };
        self.adopt(launch);
        Ok(files)
    }

    /// Leaves the files of a launch alone from now on: an earlier daemon created them and its process still runs.
    pub(super) fn adopt(&self, launch: LaunchId) {
        self.live().insert(launch);
    }

    /// The launch has ended: answers the last lines of its standard error, removes what is empty, and removes the oldest
    /// files beyond those kept.
    pub(super) fn finish(&self, launch: LaunchId) -> io::Result<String> {
        self.live().remove(&launch);
        let last_lines = tail(&self.path(launch, "err"));
        for extension in ["out", "err"] {
            remove_if_empty(&self.path(launch, extension))?;
        }
        self.prune()?;
        last_lines
    }

    /// The launch never became a process of its application: its files say nothing.
    pub(super) fn discard(&self, launch: LaunchId) {
        self.live().remove(&launch);
        for extension in ["out", "err"] {
            // A file that stays is pruned in its turn.
            let _ = fs::remove_file(self.path(launch, extension));
        }
    }

    /// Removes the oldest files beyond those kept.
    pub(super) fn prune(&self) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.dir)? {
            let entry = entry?;
            if self.is_done(&entry.path()) {
                // Without a time of change it counts as the oldest.
                let changed = entry.metadata().and_then(|metadata| metadata.modified());
                files.push((changed.unwrap_or(SystemTime::UNIX_EPOCH), entry.path()));
            }
        }
        for path in surplus(files, KEEP) {
            remove(&path)?;
        }
        Ok(())
    }

    /// Whether this is an output file of ours whose launch has ended. Anything else in the folder is left alone.
    fn is_done(&self, path: &Path) -> bool {
        let is_output = matches!(path.extension().and_then(OsStr::to_str), Some("out" | "err"));
        let launch = path.file_stem().and_then(OsStr::to_str).and_then(|stem| stem.parse::<LaunchId>().ok());
        is_output && launch.is_some_and(|launch| !self.live().contains(&launch))
    }

    fn path(&self, launch: LaunchId, extension: &str) -> PathBuf {
        self.dir.join(format!("{launch}.{extension}"))
    }

    fn live(&self) -> std::sync::MutexGuard<'_, HashSet<LaunchId>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Appending, so that a file which is cut by its owner while the handler writes does not get a hole.
fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create_new(true).mode(0o600).open(path)
}

/// The last whole lines of a file, at most [`TAIL`] bytes; empty if there is no file.
fn tail(path: &Path) -> io::Result<String> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
        Err(error) => return Err(error),
    };
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut bytes = Vec::new();
    // A handler's descendants may still be writing.
    file.take(TAIL).read_to_end(&mut bytes)?;
    Ok(last_lines(&bytes, length > TAIL))
}

/// Without the first line if that was `cut`, unless it is the only one.
fn last_lines(bytes: &[u8], cut: bool) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_end();
    match text.split_once('\n') {
        Some((_, whole)) if cut => whole.to_owned(),
        _ => text.to_owned(),
    }
}

/// The files to remove so that only the `keep` newest stay.
fn surplus(mut files: Vec<(SystemTime, PathBuf)>, keep: usize) -> Vec<PathBuf> {
    files.sort();
    let count = files.len().saturating_sub(keep);
    files.into_iter().take(count).map(|(_, path)| path).collect()
}

fn remove_if_empty(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.len() == 0 => remove(path),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Another task may have been quicker.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Runs, TAIL, last_lines, surplus};
    use crate::activator::launch::LaunchId;
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;
    use std::time::{Duration, SystemTime};

    #[test]
    fn the_newest_files_stay() {
        let file = |age: u64, name: &str| {
            (SystemTime::UNIX_EPOCH + Duration::from_secs(100 - age), PathBuf::from(name))
        };
        let files = || vec![file(1, "new"), file(9, "oldest"), file(5, "old")];
        assert_eq!(surplus(files(), 1), [PathBuf::from("oldest"), PathBuf::from("old")]);
        assert!(surplus(files(), 3).is_empty() && surplus(Vec::new(), 3).is_empty());
    }

    #[test]
    fn a_line_that_was_cut_is_left_out() {
        assert_eq!(last_lines(b"one\ntwo\n", false), "one\ntwo");
        assert_eq!(last_lines(b"ne\ntwo\n", true), "two");
        assert_eq!(last_lines(b"endless", true), "endless");
        assert_eq!(last_lines(b"\n", false), "");
    }

    #[test]
    fn output_is_private_empty_files_go_and_the_end_of_standard_error_is_answered() {
        let folder = tempfile::tempdir().unwrap();
        let runs = Runs::open(folder.path()).unwrap();
        assert_eq!(runs.dir.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        let launch = LaunchId::from_u128(1);
        let mut files = runs.create(launch).unwrap();
        assert_eq!(files.err.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let line = "x".repeat(99) + "\n";
        files.err.write_all(line.repeat(1000).as_bytes()).unwrap();
        let last_lines = runs.finish(launch).unwrap();
        assert!(last_lines.len() as u64 <= TAIL && last_lines.lines().all(|line| line.len() == 99));
        let left: Vec<_> = runs.dir.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, [std::ffi::OsString::from(format!("{launch}.err"))]);
    }

    #[test]
    fn files_of_running_launches_and_strange_files_are_never_pruned() {
        let folder = tempfile::tempdir().unwrap();
        let runs = Runs::open(folder.path()).unwrap();
        runs.create(LaunchId::from_u128(1)).unwrap();
        std::fs::write(runs.dir.join("notes.out"), "").unwrap();
        for id in 0..200 {
            std::fs::write(runs.dir.join(format!("{}.err", LaunchId::from_u128(100 + id))), "x").unwrap();
        }
        std::fs::write(runs.dir.join(format!("{}.out", LaunchId::from_u128(100))), "x").unwrap();
        runs.prune().unwrap();
        assert_eq!(runs.dir.read_dir().unwrap().count(), 203);
        assert!(runs.path(LaunchId::from_u128(1), "out").exists() && runs.dir.join("notes.out").exists());
    }
}
