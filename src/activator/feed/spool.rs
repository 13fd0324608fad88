//! Bodies that are too large for a line: a file for each, until its message is answered.

use super::Assignment;
use super::body::FedBody;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};

/// The folder of the files.
#[derive(Debug)]
pub(in crate::activator) struct Spool {
    dir: PathBuf,
}

/// A body in its file, if it needed one. Dropping it removes the file.
#[derive(Debug)]
pub(super) struct Spooled(Option<PathBuf>);

impl Spool {
    /// Creates the folder if need be, and removes what an earlier daemon left in it. Others may pass through the folder, since
    /// handlers may run as other users; each file is for its handler alone.
    pub(in crate::activator) fn open(state_dir: &Path) -> io::Result<Self> {
        let dir = std::path::absolute(state_dir.join("bodies"))?;
        DirBuilder::new().recursive(true).mode(0o711).create(&dir)?;
        for entry in fs::read_dir(&dir)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "body") {
                fs::remove_file(path)?;
            }
        }
        Ok(Self { dir })
    }

    /// Puts a body into a file if it is larger than the application wants in a line.
    pub(super) fn put(&self, assignment: &Assignment, id: u64, bytes: &[u8]) -> io::Result<Spooled> {
        if bytes.is_empty() || bytes.len() as u64 <= assignment.settings.file_above {
            return Ok(Spooled(None));
        }
        let path = self.dir.join(format!("{}-{id}.body", assignment.launch));
        let spooled = Spooled(Some(path.clone()));
        let mut file: File = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(bytes)?;
        if let Some((uid, gid)) = assignment.owner {
            fchown(&file, Some(uid), Some(gid))?;
        }
        Ok(spooled)
    }
}

impl Spooled {
    /// The body as the protocol names it; `None` if it goes into the line.
    pub(super) fn body(&self) -> Option<FedBody> {
        self.0.as_ref().map(|path| FedBody::File { file: path.display().to_string() })
    }
}

impl Drop for Spooled {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // One that stays is removed at the next start.
            let _ = fs::remove_file(path);
        }
    }
}
