//! Programs, folders and files as a configuration names them: absolute, or made so.
//!
//! Pure: it looks at the text of a path only, never at the file system.

use std::path::{Path, PathBuf};

/// Resolves a program: an absolute path stays, a bare name is left for a search on `PATH`, and anything else is taken
/// from `folder`.
pub(super) fn program(written: &str, folder: &Path) -> Result<PathBuf, String> {
    if written.contains(['/', '\\']) || has_drive(written) {
        path(written, folder)
    } else {
        refuse_macros(written)?;
        Ok(PathBuf::from(written))
    }
}

/// Resolves a path other than a program: an absolute one stays, a relative one is taken from `folder`.
pub(super) fn path(written: &str, folder: &Path) -> Result<PathBuf, String> {
    refuse_macros(written)?;
    if written.starts_with('/') || is_windows_absolute(written) {
        return Ok(PathBuf::from(written));
    }
    if written.contains('\\') || has_drive(written) {
        return Err(format!("'{written}' is a relative Windows path; write it in full"));
    }
    Ok(folder.join(written))
}

/// Whether the path can exist on Windows only: `C:\...` or `\\server\share`.
pub(super) fn is_windows_absolute(written: &str) -> bool {
    let rest = written.get(2..).unwrap_or_default();
    written.starts_with(r"\\") || (has_drive(written) && rest.starts_with(['\\', '/']))
}

fn has_drive(written: &str) -> bool {
    matches!(written.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}

/// The old product replaces macros in arguments only; in a path they would be taken literally and never be found.
fn refuse_macros(written: &str) -> Result<(), String> {
    if written.contains('\0') {
        return Err("a path cannot hold a NUL character".to_owned());
    }
    let mut pieces = written.split('%').skip(1);
    let is_name =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match (pieces.next(), pieces.next()) {
        (Some(name), Some(_)) if is_name(name) => {
            Err(format!("'%{name}%' is not replaced in a path; only arguments may hold macros"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{path, program};
    use std::path::{Path, PathBuf};

    #[test]
    fn programs_are_absolute_on_path_or_beside_the_file() {
        let folder = Path::new("/etc/ea");
        for (written, resolved) in [
            ("/opt/x", "/opt/x"),
            (r"C:\x\y.exe", r"C:\x\y.exe"),
            (r"\\server\share\y.exe", r"\\server\share\y.exe"),
            ("python3", "python3"),
            ("./handler.py", "/etc/ea/./handler.py"),
            ("bin/handler", "/etc/ea/bin/handler"),
        ] {
            assert_eq!(program(written, folder), Ok(PathBuf::from(resolved)), "{written}");
        }
    }

    #[test]
    fn what_cannot_be_resolved_is_refused() {
        let folder = Path::new("/etc/ea");
        assert!(program(r"bin\x.exe", folder).is_err());
        assert!(program("C:x.exe", folder).is_err());
        assert!(program("%ProgramFiles%/x", folder).unwrap_err().contains("'%ProgramFiles%'"));
        assert!(path("%queue%", folder).is_err());
        assert_eq!(path("100%", folder), Ok(PathBuf::from("/etc/ea/100%")));
    }
}
