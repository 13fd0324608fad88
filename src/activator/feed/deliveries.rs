//! Which messages have been handed to a handler in a transaction that is not committed yet.
//!
//! A roll back brings them again, whatever the reason, and then they must carry a higher attempt than before. So each is
//! noted in a file before it is handed over, and struck out after the commit. The file is not forced to disk: it has to
//! survive this process, not the machine. It belongs to the state folder; another activator on the same queue learns of
//! failed attempts from the table, and not of those that this one died in.

use super::protocol::key;
use crate::client::{ConversationHandle, Message};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

const FILE_NAME: &str = "deliveries";
/// The file is written anew when it has grown beyond this.
const COMPACT_ABOVE: u64 = 1024 * 1024;

type Key = (ConversationHandle, i64);

/// The deliveries of all feeds of a daemon.
#[derive(Debug)]
pub(in crate::activator) struct Deliveries(Mutex<Log>);

#[derive(Debug)]
struct Log {
    path: PathBuf,
    file: File,
    length: u64,
    /// The number of the last attempt of each message that is not known to be handled.
    attempts: HashMap<Key, u32>,
}

impl Deliveries {
    /// Reads what an earlier daemon left in the state folder, and goes on from there.
    pub(in crate::activator) fn open(state_dir: &Path) -> io::Result<Self> {
        let path = state_dir.join(FILE_NAME);
        let attempts = match std::fs::read_to_string(&path) {
            Ok(text) => replay(&text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => HashMap::new(),
            Err(error) => return Err(error),
        };
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&path)?;
        let mut log = Log { path, file, length: 0, attempts };
        log.compact()?;
        Ok(Self(Mutex::new(log)))
    }

    /// Notes that a message, which failed `failures` times as far as the table knows, is handed over now; answers the number
    /// of this attempt.
    pub(super) fn begin(&self, message: &Message, failures: u32) -> io::Result<u32> {
        let mut log = self.lock();
        let key = key(message);
        let attempt = log.attempts.get(&key).copied().unwrap_or(0).max(failures).saturating_add(1);
        log.write(&format!("+{} {} {attempt}\n", key.0.as_uuid(), key.1))?;
        log.attempts.insert(key, attempt);
        Ok(attempt)
    }

    /// How often a message was handed over and is not known to be handled.
    pub(super) fn attempts(&self, message: &Message) -> u32 {
        self.lock().attempts.get(&key(message)).copied().unwrap_or(0)
    }

    /// These messages are handled, and that is committed.
    pub(super) fn settle(&self, messages: &[Message]) -> io::Result<()> {
        let mut log = self.lock();
        let mut lines = String::new();
        for key in messages.iter().map(key) {
            if log.attempts.remove(&key).is_some() {
                lines.push_str(&format!("-{} {}\n", key.0.as_uuid(), key.1));
            }
        }
        log.write(&lines)?;
        if log.length > COMPACT_ABOVE { log.compact() } else { Ok(()) }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Log> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log {
    fn write(&mut self, lines: &str) -> io::Result<()> {
        self.file.write_all(lines.as_bytes())?;
        self.length += lines.len() as u64;
        Ok(())
    }

    /// Writes what is known to a new file, which takes the old one's name.
    fn compact(&mut self) -> io::Result<()> {
        let temporary = self.path.with_extension("tmp");
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
        let line = |(key, attempt): (&Key, &u32)| format!("+{} {} {attempt}\n", key.0.as_uuid(), key.1);
        let text: String = self.attempts.iter().map(line).collect();
        file.write_all(text.as_bytes())?;
        std::fs::rename(&temporary, &self.path)?;
        self.file = OpenOptions::new().append(true).open(&self.path)?;
        self.length = text.len() as u64;
        Ok(())
    }
}

/// A line that is damaged, such as a last one that was cut off, is passed over.
fn replay(text: &str) -> HashMap<Key, u32> {
    let mut attempts = HashMap::new();
    for line in text.lines() {
        if let Some((key, attempt)) = line.strip_prefix('+').and_then(read_delivery) {
            attempts.insert(key, attempt);
        } else if let Some(key) = line.strip_prefix('-').and_then(|line| read_key(&mut line.split(' '))) {
            attempts.remove(&key);
        }
    }
    attempts
}

fn read_delivery(line: &str) -> Option<(Key, u32)> {
    let mut fields = line.split(' ');
    Some((read_key(&mut fields)?, fields.next()?.parse().ok()?))
}

fn read_key<'a>(fields: &mut impl Iterator<Item = &'a str>) -> Option<Key> {
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{COMPACT_ABOVE, Deliveries, FILE_NAME};
    use crate::client::{Body, ConversationGroup, ConversationHandle, Message, MessageKind};
    use std::io::Write;
    use uuid::Uuid;

    fn message(sequence_number: i64) -> Message {
        Message {
            kind: MessageKind::User,
            conversation: ConversationHandle::from_uuid(Uuid::from_u128(1)),
            group: ConversationGroup::from_uuid(Uuid::nil()),
            sequence_number,
            service: String::new(),
            contract: String::new(),
            message_type: String::new(),
            enqueued_at: None,
            priority: 5,
            body: Body::empty(),
        }
    }

    #[test]
    fn a_message_that_comes_again_carries_a_higher_attempt_even_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let deliveries = Deliveries::open(folder.path()).unwrap();
        assert_eq!(deliveries.begin(&message(0), 0).unwrap(), 1);
        assert_eq!(deliveries.begin(&message(1), 0).unwrap(), 1);
        deliveries.settle(&[message(0)]).unwrap();
        drop(deliveries);
        let deliveries = Deliveries::open(folder.path()).unwrap();
        assert_eq!((deliveries.attempts(&message(0)), deliveries.attempts(&message(1))), (0, 1));
        assert_eq!(deliveries.begin(&message(1), 0).unwrap(), 2);
        assert_eq!(deliveries.begin(&message(2), 4).unwrap(), 5, "the table knows more than we do");
    }

    #[test]
    fn a_line_that_was_cut_off_costs_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let deliveries = Deliveries::open(folder.path()).unwrap();
        deliveries.begin(&message(1), 0).unwrap();
        drop(deliveries);
        let path = folder.path().join(FILE_NAME);
        let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(b"+0000").unwrap();
        let deliveries = Deliveries::open(folder.path()).unwrap();
        assert_eq!(deliveries.begin(&message(1), 0).unwrap(), 2);
    }

    #[test]
    fn the_file_does_not_grow_with_what_is_settled() {
        let folder = tempfile::tempdir().unwrap();
        let deliveries = Deliveries::open(folder.path()).unwrap();
        for number in 0..30_000 {
            deliveries.begin(&message(number), 0).unwrap();
            deliveries.settle(&[message(number)]).unwrap();
        }
        assert!(folder.path().join(FILE_NAME).metadata().unwrap().len() <= COMPACT_ABOVE);
    }
}
