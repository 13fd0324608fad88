//! Which applications a person has paused, across restarts: a restart in the middle of a deployment must launch nothing.
//!
//! A JSON list of names in `paused.json` below the state folder, replaced as a whole.

use crate::activator::state_file;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The paused applications.
#[derive(Debug)]
pub(super) struct Pauses {
    path: PathBuf,
    apps: BTreeSet<String>,
}

impl Pauses {
    /// Reads them; a file that is missing or cannot be read pauses nothing, and the latter is told.
    pub(super) fn open(state_dir: &Path) -> Self {
        let path = state_dir.join("paused.json");
        let apps = match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text).unwrap_or_else(|error| {
                let path = path.display();
                tracing::error!(target: "activator", "{path} cannot be read, so nothing is paused: {error}");
                BTreeSet::new()
            }),
            Err(_) => BTreeSet::new(),
        };
        Self { path, apps }
    }

    /// The names.
    pub(super) fn apps(&self) -> impl Iterator<Item = &str> {
        self.apps.iter().map(String::as_str)
    }

    /// Adds or removes a name, and writes the file if that changes anything. Short enough to be waited for.
    pub(super) fn set(&mut self, app: &str, paused: bool) -> io::Result<()> {
        let changed = if paused { self.apps.insert(app.to_owned()) } else { self.apps.remove(app) };
        if !changed {
            return Ok(());
        }
        state_file::replace(&self.path, &serde_json::to_vec(&self.apps)?)
    }
}

#[cfg(test)]
mod tests {
    use super::Pauses;

    #[test]
    fn a_pause_survives_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let mut pauses = Pauses::open(folder.path());
        pauses.set("a", true).unwrap();
        pauses.set("b", true).unwrap();
        pauses.set("a", false).unwrap();
        assert_eq!(Pauses::open(folder.path()).apps().collect::<Vec<_>>(), ["b"]);
        std::fs::write(folder.path().join("paused.json"), "[").unwrap();
        assert_eq!(Pauses::open(folder.path()).apps().count(), 0);
    }
}
