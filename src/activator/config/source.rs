//! The files a configuration is made of, as they stand on disk: reading them, and refusing those that are not safe.
//!
//! A daemon that runs as root starts what its configuration says, so whoever can write that file is root. Such files are
//! refused when they or their folder belong to, or can be written by, anybody else. Knows no file format.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// No configuration is near this size; a device or a wrongly named file may be far above it.
const MAX_CONFIGURATION: u64 = 16 * 1024 * 1024;
/// No password is near this size.
const MAX_SECRET: u64 = 64 * 1024;
/// Permission bits.
const WRITABLE_BY_GROUP: u32 = 0o020;
const WRITABLE_BY_OTHERS: u32 = 0o002;
const READABLE_BY_OTHERS: u32 = 0o004;
const STICKY: u32 = 0o1000;

/// Reads a configuration file, and says why it must not be used if it must not.
pub(super) fn read(path: &Path) -> io::Result<(Vec<u8>, Option<String>)> {
    let (file, metadata) = open(path)?;
    let bytes = read_at_most(file, MAX_CONFIGURATION, "the file is larger than 16 MiB")?;
    Ok((bytes, unsafe_reason(path, &metadata)?))
}

/// Reads a secret file for a [`Resolver`](super::Resolver): a regular file of text.
///
/// # Errors
/// The system's reason; also when this process is root and somebody else can write the file or its folder, with the mode
/// in the text.
pub fn read_secret(path: &Path) -> io::Result<String> {
    let (file, metadata) = open(path)?;
    if let Some(reason) = unsafe_reason(path, &metadata)? {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
    }
    let bytes = read_at_most(file, MAX_SECRET, "the file is larger than 64 KiB")?;
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "the file is not UTF-8 text"))
}

/// What is doubtful about a secret file: that everybody can read it.
#[must_use]
pub fn doubt_about_secret(path: &Path) -> Option<String> {
    let mode = std::fs::metadata(path).ok()?.mode();
    let readable = mode & READABLE_BY_OTHERS != 0;
    readable.then(|| format!("secret file '{}' can be read by everybody ({})", path.display(), shown(mode)))
}

/// A pipe would make the reader wait for ever, and a folder is no file.
fn open(path: &Path) -> io::Result<(File, Metadata)> {
    let metadata = std::fs::metadata(path)?;
    if metadata.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    Ok((file, metadata))
}

fn read_at_most(file: File, most: u64, too_large: &'static str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = file.take(most + 1).read_to_end(&mut bytes)?;
    if read as u64 > most {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, too_large));
    }
    Ok(bytes)
}

fn unsafe_reason(path: &Path, file: &Metadata) -> io::Result<Option<String>> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let real = path.canonicalize()?;
    let folder = real.parent().unwrap_or(Path::new("/"));
    let folder_metadata = std::fs::metadata(folder)?;
    // Mounted configuration maps have open modes, but nobody can write there.
    let is_read_only = |at: &Path| {
        let filesystem = rustix::fs::statvfs(at);
        filesystem.is_ok_and(|it| it.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY))
    };
    let file = Place { mode: file.mode(), owner: file.uid(), group: file.gid() };
    if let Some(who) = file.writers().filter(|_| !is_read_only(&real)) {
        return Ok(Some(refusal("the file", &who, file.mode, &real)));
    }
    let folder_place =
        Place { mode: folder_metadata.mode(), owner: folder_metadata.uid(), group: folder_metadata.gid() };
    let who = folder_place.replacers(&file).filter(|_| !is_read_only(folder));
    Ok(who.map(|who| refusal("its folder", &who, folder_place.mode, folder)))
}

fn refusal(what: &str, who: &Writer, mode: u32, path: &Path) -> String {
    let cure = match who {
        Writer::Owner(_) => "chown root",
        Writer::Group | Writer::Everybody => "chmod go-w",
    };
    format!(
        "{what} can be written by {who} ({}), and this process is root; run: {cure} '{}'",
        shown(mode),
        path.display()
    )
}

fn shown(mode: u32) -> String {
    format!("mode {:04o}", mode & 0o7777)
}

/// Somebody besides root who may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writer {
    Everybody,
    Group,
    /// By user number.
    Owner(u32),
}

impl fmt::Display for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everybody => f.write_str("everybody"),
            Self::Group => f.write_str("its group"),
            Self::Owner(user) => write!(f, "its owner, user {user}"),
        }
    }
}

/// Who may do what with a file or a folder.
#[derive(Debug, Clone, Copy)]
struct Place {
    mode: u32,
    owner: u32,
    group: u32,
}

impl Place {
    /// Who besides root may write. An owner who may not now can change that.
    fn writers(&self) -> Option<Writer> {
        self.others().or_else(|| self.owner())
    }

    /// Who besides root may put another file in the place of `file` within this folder. In a sticky folder (such as /tmp)
    /// only the owners may, of the file and of the folder.
    fn replacers(&self, file: &Place) -> Option<Writer> {
        let is_protected = self.mode & STICKY != 0 && (file.owner == 0 || file.owner == self.owner);
        self.others().filter(|_| !is_protected).or_else(|| self.owner())
    }

    fn others(&self) -> Option<Writer> {
        if self.mode & WRITABLE_BY_OTHERS != 0 {
            Some(Writer::Everybody)
        } else if self.mode & WRITABLE_BY_GROUP != 0 && self.group != 0 {
            Some(Writer::Group)
        } else {
            None
        }
    }

    fn owner(&self) -> Option<Writer> {
        (self.owner != 0).then_some(Writer::Owner(self.owner))
    }
}

#[cfg(test)]
mod tests {
    use super::{Place, Writer, doubt_about_secret, read, read_secret};
    use std::os::unix::fs::{PermissionsExt, chown};
    use std::path::Path;

    fn place(mode: u32, owner: u32, group: u32) -> Place {
        Place { mode, owner, group }
    }

    #[test]
    fn whoever_may_write_besides_root_is_named() {
        assert_eq!(place(0o100_644, 0, 0).writers(), None);
        assert_eq!(place(0o100_664, 0, 0).writers(), None, "the group of root");
        assert_eq!(place(0o100_664, 0, 5).writers(), Some(Writer::Group));
        assert_eq!(place(0o100_646, 0, 0).writers(), Some(Writer::Everybody));
        assert_eq!(
            place(0o100_400, 7, 0).writers(),
            Some(Writer::Owner(7)),
            "who owns it may change its mode"
        );
    }

    #[test]
    fn a_sticky_folder_protects_the_files_of_root() {
        let (of_root, of_other) = (place(0o644, 0, 0), place(0o644, 7, 7));
        assert_eq!(place(0o41777, 0, 0).replacers(&of_root), None);
        assert_eq!(place(0o41777, 0, 0).replacers(&of_other), Some(Writer::Everybody));
        assert_eq!(place(0o40777, 0, 0).replacers(&of_root), Some(Writer::Everybody));
        assert_eq!(place(0o41777, 7, 7).replacers(&of_root), Some(Writer::Owner(7)));
        assert_eq!(place(0o40755, 0, 0).replacers(&of_other), None);
    }

    fn with_mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn root_refuses_files_that_others_can_write_and_names_the_mode() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("secret");
        std::fs::write(&file, "pw\n").unwrap();
        with_mode(&file, 0o600);
        assert_eq!((read_secret(&file).unwrap().as_str(), read(&file).unwrap().1), ("pw\n", None));
        if !rustix::process::geteuid().is_root() {
            println!("skipped: only root refuses files that others can write");
            return;
        }
        with_mode(&file, 0o602);
        let refused = read_secret(&file).unwrap_err().to_string();
        assert!(refused.starts_with("the file can be written by everybody (mode 0602)"), "{refused}");
        assert_eq!(read(&file).unwrap().1, Some(refused));
        with_mode(&file, 0o600);
        with_mode(folder.path(), 0o777);
        let refused = read(&file).unwrap().1.unwrap();
        assert!(refused.starts_with("its folder can be written by everybody (mode 0777)"), "{refused}");
        with_mode(folder.path(), 0o755);
        chown(&file, Some(65_534), None).unwrap();
        let refused = read_secret(&file).unwrap_err().to_string();
        assert!(
            refused.starts_with("the file can be written by its owner, user 65534 (mode 0600)"),
            "{refused}"
        );
        assert!(refused.contains("run: chown root "), "{refused}");
        chown(&file, Some(0), None).unwrap();
        chown(folder.path(), Some(65_534), None).unwrap();
        let refused = read(&file).unwrap().1.unwrap();
        assert!(refused.starts_with("its folder can be written by its owner, user 65534"), "{refused}");
    }

    #[test]
    fn what_is_no_text_file_is_no_secret() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read_secret(folder.path()).is_err());
        assert!(read_secret(Path::new("/dev/zero")).unwrap_err().to_string().contains("regular file"));
        let file = folder.path().join("binary");
        std::fs::write(&file, [0xFF, 0xFE]).unwrap();
        assert!(read_secret(&file).unwrap_err().to_string().contains("UTF-8"));
    }

    #[test]
    fn c065_a_secret_file_that_everybody_can_read_is_doubtful() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("secret");
        std::fs::write(&file, "pw").unwrap();
        with_mode(&file, 0o640);
        assert_eq!(doubt_about_secret(&file), None);
        with_mode(&file, 0o644);
        assert!(doubt_about_secret(&file).unwrap().contains("can be read by everybody (mode 0644)"));
    }
}
