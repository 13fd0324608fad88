//! What the demo sends: the files of a tree, or synthetic messages.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::cli::exit::CliError;
use crate::cli::terminal;

/// Folders that hold what tools made.
const LEFT_OUT: [&str; 2] = ["target", ".git"];

/// One thing to send.
#[derive(Debug, Clone)]
pub(super) struct Item {
    /// Its identifier, counted from 0.
    pub(super) id: u64,
    /// Its name, for people.
    pub(super) name: String,
    /// Its size when it was found.
    pub(super) size: u64,
    content: Content,
}

#[derive(Debug, Clone)]
enum Content {
    File(PathBuf),
    Synthetic,
}

impl Item {
    /// Its bytes. Reads the file; call it where blocking is allowed.
    pub(super) fn read(&self) -> io::Result<Vec<u8>> {
        match &self.content {
            Content::File(path) => fs::read(path),
            Content::Synthetic => Ok(synthetic_bytes(self.id, self.size)),
        }
    }
}

/// Everything to send, and how much could not be found.
#[derive(Debug)]
pub(super) struct Source {
    /// The items in order.
    pub(super) items: Vec<Item>,
    /// Folders and entries that could not be read; each was named when it was met.
    pub(super) unreadable: u64,
}

impl Source {
    /// So many messages of that size, each with other bytes.
    pub(super) fn synthetic(count: u64, size: usize) -> Self {
        let item =
            |id| Item { id, name: format!("message {id}"), size: size as u64, content: Content::Synthetic };
        Self { items: (0..count).map(item).collect(), unreadable: 0 }
    }

    /// The regular files below a folder, in order of their names; links are not followed. Or the one file of that path.
    pub(super) fn files(root: &Path) -> Result<Self, CliError> {
        let kind = fs::metadata(root)
            .map_err(|error| CliError::usage(format!("cannot read {}", root.display())).because(error))?;
        let mut source = Self { items: Vec::new(), unreadable: 0 };
        if kind.is_file() {
            source.add(root.to_owned(), kind.len());
        } else {
            source.walk(root);
        }
        Ok(source)
    }

    fn walk(&mut self, folder: &Path) {
        let entries = match fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>) {
            Ok(entries) => entries,
            Err(error) => return self.skip(folder, &error),
        };
        let mut paths: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).collect();
        paths.sort();
        for path in paths {
            match fs::symlink_metadata(&path) {
                Ok(kind) if kind.is_dir() && !is_left_out(&path) => self.walk(&path),
                Ok(kind) if kind.is_file() => self.add(path, kind.len()),
                Ok(_) => {}
                Err(error) => self.skip(&path, &error),
            }
        }
    }

    fn add(&mut self, path: PathBuf, size: u64) {
        let (id, name) = (self.items.len() as u64, path.display().to_string());
        self.items.push(Item { id, name, size, content: Content::File(path) });
    }

    fn skip(&mut self, path: &Path, error: &io::Error) {
        terminal::remark(format_args!("skipped {}: {error}", path.display()));
        self.unreadable += 1;
    }
}

fn is_left_out(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| LEFT_OUT.iter().any(|left_out| name == *left_out))
}

/// Bytes that differ from message to message and within each, without a source of randomness.
fn synthetic_bytes(id: u64, size: u64) -> Vec<u8> {
    let mut state = id.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    (0..size).map(|_| next()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_walked_in_order_without_tools_folders_and_links() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        };
        write("b/größe 1.txt", b"12345");
        write("a.txt", b"");
        write("target/x", b"no");
        write("b/.git/x", b"no");
        std::os::unix::fs::symlink(root.path().join("a.txt"), root.path().join("link")).unwrap();
        let source = Source::files(root.path()).unwrap();
        let found: Vec<_> =
            source.items.iter().map(|item| (item.id, item.size, item.read().unwrap())).collect();
        assert_eq!(found, [(0, 0, vec![]), (1, 5, b"12345".to_vec())]);
        assert_eq!(source.unreadable, 0);
    }

    #[test]
    fn a_missing_folder_is_an_error_of_usage() {
        let error = Source::files(Path::new("/no/such/folder")).unwrap_err();
        assert_eq!(error.status(), crate::cli::ExitStatus::Usage);
    }

    #[test]
    fn synthetic_messages_have_their_size_and_differ() {
        let source = Source::synthetic(2, 100);
        let bytes: Vec<_> = source.items.iter().map(|item| item.read().unwrap()).collect();
        assert_eq!(bytes[0].len(), 100);
        assert_ne!(bytes[0], bytes[1]);
    }
}
