//! Small files of the state folder, for the daemon's own user: replaced as a whole, so that a crash leaves the old one or the
//! new one.
//!
//! Knows nothing of what they hold.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Others may pass through to what is theirs, such as a body written for a handler with an account of its own, and list
/// nothing.
const FOLDER_MODE: u32 = 0o711;
const FILE_MODE: u32 = 0o600;

/// Makes the state folder if need be. The mode of one that is there stays.
pub(super) fn make_folder(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(dir)
}

/// Writes a file and returns once it is on disk.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(".new");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(FILE_MODE).open(&fresh)?;
    // One that an earlier attempt left may have another mode.
    file.set_permissions(Permissions::from_mode(FILE_MODE))?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&fresh, path)?;
    File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::{make_folder, replace};
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn files_are_for_their_user_alone_and_the_folder_can_be_passed_through() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("state");
        make_folder(&folder).unwrap();
        make_folder(&folder).unwrap();
        assert_eq!(mode(&folder), 0o711);
        let file = folder.join("a.json");
        for path in [&file, &folder.join("a.json.new")] {
            fs::write(path, "a longer text from before").unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
        }
        replace(&file, b"now").unwrap();
        assert_eq!((fs::read_to_string(&file).unwrap().as_str(), mode(&file)), ("now", 0o600));
        assert!(!folder.join("a.json.new").exists());
    }
}
