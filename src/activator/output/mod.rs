//! Where handlers write: two files for each launch, `runs/LAUNCH_ID.out` and `.err` below the state folder.
//!
//! Files and not pipes, because a pipe dies with the daemon and takes the handler with it at its next line. They are for
//! the handler's own user only, since handlers print what they like; empty ones are removed when the handler ends, and of
//! the rest the newest are kept. While a handler runs its files are followed ([`Tail`]), which also bounds their size.
//!
//! A new file can cost a file system more than a new process costs the kernel, most of all where many have just been removed.
//! So the files of a few launches to come are there beforehand, and such a launch gets the id they are named by. Starts no
//! process.

mod lines;
mod tail;

pub(super) use lines::{Lines, Piece, readable};
pub(super) use tail::Tail;

use crate::activator::launch::LaunchId;
use std::collections::{HashSet, VecDeque};
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// How many output files of ended launches are kept.
const KEEP: usize = 200;
/// For how many launches files are there beforehand.
const STOCK: usize = 4;
/// How large the files of ended launches may be together.
const KEEP_BYTES: u64 = 256 * 1024 * 1024;

/// The folder of the output files.
#[derive(Debug)]
pub(super) struct Runs {
    dir: PathBuf,
    /// Launches whose files are still written to, or will be. Only ever locked for one look or change.
    live: Mutex<HashSet<LaunchId>>,
    /// Launches to come whose files are there. Locked in the same way.
    stock: Mutex<VecDeque<LaunchId>>,
}

/// The two files of a launch, for its process.
#[derive(Debug)]
pub(super) struct OutputFiles {
    pub(super) out: File,
    pub(super) err: File,
    /// For a process that opens it itself, once it has no more to say to the daemon.
    pub(super) err_path: PathBuf,
}

impl Runs {
    /// Creates the folder if need be.
    pub(super) fn open(state_dir: &Path) -> io::Result<Self> {
        let dir = state_dir.join("runs");
        DirBuilder::new().recursive(true).mode(0o700).create(&dir)?;
        Ok(Self { dir, live: Mutex::default(), stock: Mutex::default() })
    }

    /// The id for a new launch: one whose files are there, if there is any left.
    pub(super) fn next_id(&self) -> LaunchId {
        self.stock().pop_front().unwrap_or_else(LaunchId::random)
    }

    /// Sees to it that there are files for some launches to come. Blocks for the time of creating them.
    pub(super) fn fill_stock(&self) {
        while self.stock().len() < STOCK {
            let launch = LaunchId::random();
            if self.create(launch, None).is_err() {
                // The launch that needs a file says what is wrong.
                return self.discard(launch);
            }
            self.stock().push_back(launch);
        }
    }

    /// Removes the files of launches that will not come.
    pub(super) fn clear_stock(&self) {
        let left = std::mem::take(&mut *self.stock());
        left.into_iter().for_each(|launch| self.discard(launch));
    }

    /// Creates the files of a new launch where they are not there, for a process of this user and group if that is not the
    /// daemon's own. They count as written to from now on, also where that fails: until they are discarded.
    pub(super) fn create(&self, launch: LaunchId, owner: Option<(u32, u32)>) -> io::Result<OutputFiles> {
        // Before there is anything that could be taken for the empty file of an ended launch.
        self.adopt(launch);
        let err_path = self.path(launch, "err");
        let err = create(&err_path, owner)?;
        Ok(OutputFiles { out: create(&self.path(launch, "out"), owner)?, err, err_path })
    }

    /// Follows the files of a launch.
    pub(super) fn follow(&self, app: &str, launch: LaunchId, pid: u32) -> Tail {
        let files = [("stdout", self.path(launch, "out")), ("stderr", self.path(launch, "err"))];
        Tail::new(app, launch, pid, &files)
    }

    /// Leaves the files of a launch alone from now on: an earlier daemon created them and its process still runs.
    pub(super) fn adopt(&self, launch: LaunchId) {
        self.live().insert(launch);
    }

    /// Nobody writes to the files of a launch any more; they stay until they are pruned.
    pub(super) fn release(&self, launch: LaunchId) {
        self.live().remove(&launch);
    }

    /// The launch has ended: removes what is empty, and the oldest files beyond those kept.
    pub(super) fn finish(&self, launch: LaunchId) -> io::Result<()> {
        self.release(launch);
        for extension in ["out", "err"] {
            remove_if_empty(&self.path(launch, extension))?;
        }
        self.prune()
    }

    /// The launch never became a process of its application: its files say nothing.
    pub(super) fn discard(&self, launch: LaunchId) {
        self.release(launch);
        for extension in ["out", "err"] {
            // A file that stays is pruned in its turn.
            let _ = fs::remove_file(self.path(launch, extension));
        }
    }

    /// Removes empty files, which an earlier daemon may have left, and the oldest beyond those kept.
    pub(super) fn prune(&self) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.dir)? {
            let entry = entry?;
            if self.is_done(&entry.path()) {
                // Without a time of change it counts as the oldest.
                let metadata = entry.metadata().ok();
                let changed = metadata.as_ref().and_then(|metadata| metadata.modified().ok());
                let size = metadata.map_or(0, |metadata| metadata.len());
                if size == 0 {
                    remove(&entry.path())?;
                    continue;
                }
                files.push((changed.unwrap_or(SystemTime::UNIX_EPOCH), size, entry.path()));
            }
        }
        for path in surplus(files, KEEP, KEEP_BYTES) {
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

    fn stock(&self) -> std::sync::MutexGuard<'_, VecDeque<LaunchId>> {
        self.stock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn live(&self) -> std::sync::MutexGuard<'_, HashSet<LaunchId>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Appending, so that a file which is cut by its owner while the handler writes does not get a hole. The folder is ours alone,
/// so a file that is there is from the stock; to ask for its creation would wait for other files that are being created.
fn create(path: &Path, owner: Option<(u32, u32)>) -> io::Result<File> {
    let stocked = OpenOptions::new().append(true).open(path);
    let file = match stocked {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            OpenOptions::new().append(true).create_new(true).mode(0o600).open(path)?
        }
        stocked => stocked?,
    };
    if let Some((uid, gid)) = owner {
        // A script that opens /dev/stderr anew does so with its own rights.
        fchown(&file, Some(uid), Some(gid))?;
    }
    Ok(file)
}

/// The files to remove so that only the newest stay, at most `keep` with at most `bytes` together.
fn surplus(mut files: Vec<(SystemTime, u64, PathBuf)>, keep: usize, bytes: u64) -> Vec<PathBuf> {
    files.sort_by(|one, other| other.cmp(one));
    let mut left = bytes;
    let mut stays = |size: u64| {
        let fits = size <= left;
        left = left.saturating_sub(size);
        fits
    };
    let kept = files.iter().take(keep).take_while(|(_, size, _)| stays(*size)).count();
    files.split_off(kept).into_iter().map(|(_, _, path)| path).collect()
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
    use super::{Runs, STOCK, surplus};
    use crate::activator::launch::LaunchId;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use std::time::{Duration, SystemTime};

    #[test]
    fn the_newest_files_stay() {
        let file = |age: u64, name: &str| {
            (SystemTime::UNIX_EPOCH + Duration::from_secs(100 - age), 10, PathBuf::from(name))
        };
        let files = || vec![file(1, "new"), file(9, "oldest"), file(5, "old")];
        let both = [PathBuf::from("old"), PathBuf::from("oldest")];
        assert_eq!(surplus(files(), 1, 1_000), both);
        assert_eq!(surplus(files(), 3, 19), both);
        assert_eq!(surplus(files(), 3, 20), [PathBuf::from("oldest")]);
        assert!(surplus(files(), 3, 30).is_empty() && surplus(Vec::new(), 3, 0).is_empty());
    }

    #[test]
    fn output_is_private_and_empty_files_go() {
        let folder = tempfile::tempdir().unwrap();
        let runs = Runs::open(folder.path()).unwrap();
        assert_eq!(runs.dir.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        let launch = LaunchId::from_u128(1);
        let files = runs.create(launch, None).unwrap();
        assert_eq!(files.err_path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::write(&files.err_path, "sorry\n").unwrap();
        assert_eq!(runs.follow("app", launch, 1).finish(), "sorry");
        runs.finish(launch).unwrap();
        let left: Vec<_> = runs.dir.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, [std::ffi::OsString::from(format!("{launch}.err"))]);
    }

    #[test]
    fn files_of_running_launches_and_strange_files_are_never_pruned() {
        let folder = tempfile::tempdir().unwrap();
        let runs = Runs::open(folder.path()).unwrap();
        runs.create(LaunchId::from_u128(1), None).unwrap();
        std::fs::write(runs.dir.join("notes.out"), "").unwrap();
        for id in 0..200 {
            std::fs::write(runs.dir.join(format!("{}.err", LaunchId::from_u128(100 + id))), "x").unwrap();
        }
        std::fs::write(runs.dir.join(format!("{}.out", LaunchId::from_u128(100))), "x").unwrap();
        runs.prune().unwrap();
        assert_eq!(runs.dir.read_dir().unwrap().count(), 203);
        assert!(runs.path(LaunchId::from_u128(1), "out").exists() && runs.dir.join("notes.out").exists());
    }

    /// Looking after ended launches goes on beside new ones.
    #[test]
    fn the_files_of_a_new_launch_are_never_taken_for_those_of_an_ended_one() {
        let folder = tempfile::tempdir().unwrap();
        let runs = Runs::open(folder.path()).unwrap();
        let is_over = AtomicBool::new(false);
        let lost = std::thread::scope(|scope| {
            let pruning = scope.spawn(|| {
                while !is_over.load(Relaxed) {
                    runs.prune().unwrap();
                }
            });
            let is_lost = |number: &u128| {
                let launch = LaunchId::from_u128(*number);
                let files = runs.create(launch, None).unwrap();
                let is_lost = !files.err_path.exists() || !files.err_path.with_extension("out").exists();
                runs.discard(launch);
                is_lost
            };
            let lost = (0..500).filter(is_lost).count();
            is_over.store(true, Relaxed);
            pruning.join().unwrap();
            lost
        });
        assert_eq!(lost, 0);
    }

    #[test]
    fn a_launch_from_the_stock_finds_its_files_and_what_is_left_of_it_goes() {
        let folder = tempfile::tempdir().unwrap();
        let count = |runs: &Runs| runs.dir.read_dir().unwrap().count();
        let runs = Runs::open(folder.path()).unwrap();
        runs.fill_stock();
        runs.prune().unwrap();
        assert_eq!(count(&runs), 2 * STOCK);
        let launch = runs.next_id();
        assert!(runs.path(launch, "out").exists() && runs.path(launch, "err").exists());
        runs.create(launch, None).unwrap();
        assert_eq!(count(&runs), 2 * STOCK);
        runs.fill_stock();
        assert_eq!(count(&runs), 2 * STOCK + 2);
        runs.clear_stock();
        assert_eq!(count(&runs), 2);

        runs.fill_stock();
        let next = Runs::open(folder.path()).unwrap();
        next.adopt(launch);
        next.prune().unwrap();
        assert_eq!(count(&next), 2, "the stock of a daemon that died");
    }
}
