//! Notices that a configuration file may have changed, however it was saved.
//!
//! Editors write into a file or rename another one over it; a mounted configuration map swaps a symbolic link somewhere on
//! the way to the file. So it is the folders that are watched: those of every link on that way, and of the file itself.
//! What is not noticed there (another machine wrote to a network drive, the system has no watches left) a slow look
//! finds. Reads no configuration and decides nothing.

use notify::event::{AccessKind, AccessMode};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// A save is over when nothing has happened for so long.
const QUIET: Duration = Duration::from_millis(100);
/// A file that is written again and again is looked at all the same.
const LONGEST_UNREST: Duration = Duration::from_secs(2);
/// How often the file is looked at without a sign.
const SLOW_LOOK: Duration = Duration::from_secs(30);
/// More symbolic links than this are a circle.
const MOST_LINKS: u32 = 40;

/// Watches one file.
pub(crate) struct FileWatch {
    path: PathBuf,
    shared: Arc<Shared>,
    /// `None` where the system offers no watches.
    watcher: Option<RecommendedWatcher>,
    folders: BTreeSet<PathBuf>,
    next_look: Instant,
}

/// What the watcher's own thread sees and says.
#[derive(Default)]
struct Shared {
    changed: Notify,
    /// Every link and file whose change may change the content.
    trail: Mutex<BTreeSet<PathBuf>>,
}

impl FileWatch {
    /// Watches `path`; an error is answered if the system has no watches, and then only the slow look is left.
    ///
    /// To be called within a runtime.
    pub(crate) fn new(path: &Path) -> io::Result<(Self, Option<notify::Error>)> {
        let path = std::path::absolute(path)?;
        let shared = Arc::new(Shared::default());
        let observer = Arc::clone(&shared);
        let watcher = notify::recommended_watcher(move |event| observer.observe(event));
        let (watcher, mut problem) = match watcher {
            Ok(watcher) => (Some(watcher), None),
            Err(error) => (None, Some(error)),
        };
        let next_look = Instant::now() + SLOW_LOOK;
        let mut watch = Self { path, shared, watcher, folders: BTreeSet::new(), next_look };
        if let Err(error) = watch.follow() {
            problem.get_or_insert(error);
        }
        Ok((watch, problem))
    }

    /// Waits until the file may have changed and nothing more happens to it. Dropping the future may lose a change that
    /// is under way, not one that comes later.
    pub(crate) async fn changed(&mut self) {
        let unrest = async {
            self.shared.changed.notified().await;
            let deadline = Instant::now() + LONGEST_UNREST;
            while tokio::time::timeout(QUIET, self.shared.changed.notified()).await.is_ok() {
                if Instant::now() >= deadline {
                    return;
                }
            }
        };
        tokio::select! {
            () = unrest => {}
            () = tokio::time::sleep_until(self.next_look) => {}
        }
        self.next_look = Instant::now() + SLOW_LOOK;
        // Before anybody reads the file: what happens from here on is noticed. Where a folder is gone for a moment, the
        // folder above it tells when it is back, and the slow look does in any case.
        let _ = self.follow();
    }

    /// Watches the folders the file is in by now.
    fn follow(&mut self) -> Result<(), notify::Error> {
        let trail = trail(&self.path);
        let folders: BTreeSet<PathBuf> =
            trail.iter().filter_map(|entry| entry.parent()).map(Path::to_owned).collect();
        *self.shared.trail.lock().unwrap_or_else(PoisonError::into_inner) = trail;
        let Some(watcher) = &mut self.watcher else { return Ok(()) };
        for gone in self.folders.difference(&folders) {
            // A folder that does not exist any more is not watched any more either.
            let _ = watcher.unwatch(gone);
        }
        let mut outcome = Ok(());
        let mut watched = BTreeSet::new();
        for folder in folders {
            // Watched anew even if it was before: it may be another folder of the same name.
            match watcher.watch(&folder, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    watched.insert(folder);
                }
                Err(error) => outcome = Err(error),
            }
        }
        self.folders = watched;
        outcome
    }
}

impl Shared {
    fn observe(&self, event: notify::Result<notify::Event>) {
        // An error may mean lost events, so it means a look.
        if event.is_ok_and(|event| !self.is_relevant(&event)) {
            return;
        }
        self.changed.notify_one();
    }

    /// Our own reading causes events too, and so does every other file in the folder.
    fn is_relevant(&self, event: &notify::Event) -> bool {
        let is_reading =
            matches!(event.kind, EventKind::Access(kind) if kind != AccessKind::Close(AccessMode::Write));
        if is_reading {
            return false;
        }
        let trail = self.trail.lock().unwrap_or_else(PoisonError::into_inner);
        let is_folder = |path: &Path| trail.iter().any(|entry| entry.parent() == Some(path));
        event.need_rescan()
            || event.paths.is_empty()
            || event.paths.iter().any(|path| trail.contains(path) || is_folder(path))
    }
}

/// Every symbolic link on the way to what `path` names, and the file at its end, by names free of links.
fn trail(path: &Path) -> BTreeSet<PathBuf> {
    let mut entries = BTreeSet::new();
    let mut ahead = names(path);
    let mut at = PathBuf::from("/");
    let mut links = 0;
    while let Some(name) = ahead.pop() {
        if name == ".." {
            at.pop();
            continue;
        }
        let next = at.join(name);
        match std::fs::read_link(&next) {
            Ok(target) if links < MOST_LINKS => {
                links += 1;
                if target.is_absolute() {
                    at = PathBuf::from("/");
                }
                ahead.extend(names(&target));
                entries.insert(next);
            }
            _ => {
                if ahead.is_empty() {
                    entries.insert(next.clone());
                }
                at = next;
            }
        }
    }
    entries
}

/// The names in a path, last one first.
fn names(path: &Path) -> Vec<OsString> {
    let name = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().rev().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::{Shared, trail};
    use notify::event::{AccessKind, AccessMode, CreateKind, DataChange, ModifyKind};
    use notify::{Event, EventKind};
    use std::collections::BTreeSet;
    use std::os::unix::fs::symlink;
    use std::path::{Path, PathBuf};

    #[test]
    fn the_way_to_a_mounted_file_goes_over_all_its_links() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let at = |name: &str| root.join(name);
        std::fs::create_dir(at("..v1")).unwrap();
        std::fs::write(at("..v1/a.toml"), "").unwrap();
        symlink("..v1", at("..data")).unwrap();
        symlink("..data/a.toml", at("a.toml")).unwrap();
        let expected: BTreeSet<PathBuf> = ["a.toml", "..data", "..v1/a.toml"].map(at).into();
        assert_eq!(trail(&at("a.toml")), expected);
        assert_eq!(trail(&at("..v1/../a.toml")), expected);
        assert_eq!(trail(&at("missing/x")), [at("missing/x")].into());
    }

    #[test]
    fn neither_other_files_nor_our_own_reading_are_a_sign() {
        let shared = Shared::default();
        shared.trail.lock().unwrap().insert(PathBuf::from("/etc/ea/a.toml"));
        let is_sign = |kind, path: &str| shared.is_relevant(&Event::new(kind).add_path(PathBuf::from(path)));
        let written = EventKind::Modify(ModifyKind::Data(DataChange::Any));
        let closed = |mode| EventKind::Access(AccessKind::Close(mode));
        assert!(is_sign(written, "/etc/ea/a.toml") && is_sign(closed(AccessMode::Write), "/etc/ea/a.toml"));
        assert!(is_sign(EventKind::Create(CreateKind::Any), "/etc/ea"), "the folder itself");
        assert!(!is_sign(written, "/etc/ea/activator.log"));
        assert!(!is_sign(EventKind::Access(AccessKind::Open(AccessMode::Any)), "/etc/ea/a.toml"));
        assert!(!is_sign(closed(AccessMode::Read), "/etc/ea/a.toml"));
        assert!(shared.is_relevant(&Event::new(written)), "an event of no file may be of any");
    }

    #[test]
    fn a_circle_of_links_comes_to_an_end() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("circle");
        symlink(Path::new("circle"), &link).unwrap();
        assert!(!trail(&link).is_empty());
    }
}
