//! Which messages have been handed to a handler in a transaction that is not committed yet, and how often each has failed.
//!
//! A roll back brings them again, whatever the reason, and then they must carry a higher attempt than before. So each is
//! noted in a file before it is handed over, and struck out after the commit. Most roll backs are nobody's fault, so failures
//! are counted apart from deliveries; that count decides when there is no table of attempts. The file is not forced to disk:
//! it has to survive this process, not the machine. It belongs to the state folder; another activator on the same queue
//! learns of failed attempts from the table, and not of those that this one died in.
//!
//! A message that is settled by somebody else is never struck out, so what has not been touched for long is forgotten.

use super::protocol::key;
use crate::client::{ConversationHandle, Message};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const FILE_NAME: &str = "deliveries";
/// The file is written anew when it has grown beyond this, and to a multiple of what it must hold.
const COMPACT_ABOVE: u64 = 1024 * 1024;
const COMPACT_GROWN: u64 = 4;
/// What has not been handed over for so long is forgotten.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

type Key = (ConversationHandle, i64);

/// The deliveries of all feeds of a daemon.
#[derive(Debug)]
pub(in crate::activator) struct Deliveries(Mutex<Log>);

#[derive(Debug)]
struct Log {
    path: PathBuf,
    file: File,
    length: u64,
    compact_above: u64,
    /// The messages that are not known to be handled.
    open: HashMap<Key, Delivery>,
}

/// What is known of a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Delivery {
    /// The number of its last attempt.
    attempt: u32,
    /// How many attempts have failed.
    failures: u32,
    /// When it was handed over last, in seconds since 1970.
    seen: u64,
}

impl Deliveries {
    /// Reads what an earlier daemon left in the state folder, and goes on from there.
    pub(in crate::activator) fn open(state_dir: &Path) -> io::Result<Self> {
        let path = state_dir.join(FILE_NAME);
        let open = match std::fs::read(&path) {
            Ok(bytes) => replay(&String::from_utf8_lossy(&bytes), now()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => HashMap::new(),
            Err(error) => return Err(error),
        };
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&path)?;
        let mut log = Log { path, file, length: 0, compact_above: COMPACT_ABOVE, open };
        log.compact(now())?;
        Ok(Self(Mutex::new(log)))
    }

    /// Notes that a message, which failed `failures` times as far as the table knows, is handed over now; answers the number
    /// of this attempt. It counts for this daemon even if it cannot be written down.
    pub(super) fn begin(&self, message: &Message, failures: u32) -> (u32, io::Result<()>) {
        let mut log = self.lock();
        let delivery = log.open.entry(key(message)).or_default();
        delivery.attempt = delivery.attempt.max(failures).saturating_add(1);
        delivery.seen = now();
        let attempt = delivery.attempt;
        (attempt, log.note(key(message)))
    }

    /// Notes that a message has failed.
    pub(super) fn fail(&self, message: &Message) -> io::Result<()> {
        let mut log = self.lock();
        let delivery = log.open.entry(key(message)).or_default();
        delivery.failures = delivery.failures.saturating_add(1);
        delivery.seen = now();
        log.note(key(message))
    }

    /// How often a message has failed, as far as it was noted here.
    pub(super) fn failures(&self, message: &Message) -> u32 {
        self.lock().open.get(&key(message)).map_or(0, |delivery| delivery.failures)
    }

    /// These messages are handled, and that is committed.
    pub(super) fn settle(&self, messages: &[Message]) -> io::Result<()> {
        let mut log = self.lock();
        let mut lines = String::new();
        for key in messages.iter().map(key) {
            if log.open.remove(&key).is_some() {
                lines.push_str(&format!("-{} {}\n", key.0.as_uuid(), key.1));
            }
        }
        log.write(&lines)?;
        if log.length > log.compact_above { log.compact(now()) } else { Ok(()) }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Log> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log {
    fn note(&mut self, key: Key) -> io::Result<()> {
        let line = line(&key, &self.open[&key]);
        self.write(&line)
    }

    /// Half a line must not spoil the next one.
    fn write(&mut self, lines: &str) -> io::Result<()> {
        if let Err(error) = self.file.write_all(lines.as_bytes()) {
            let _ = self.file.set_len(self.length);
            return Err(error);
        }
        self.length += lines.len() as u64;
        Ok(())
    }

    /// Writes what is known, but for what is too old, to a new file, which takes the old one's name.
    fn compact(&mut self, now: u64) -> io::Result<()> {
        let oldest = now.saturating_sub(KEPT.as_secs());
        self.open.retain(|_, delivery| delivery.seen >= oldest);
        let temporary = self.path.with_extension("tmp");
        // What a daemon that died here has left would be appended to.
        match std::fs::remove_file(&temporary) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&temporary)?;
        let text: String = self.open.iter().map(|(key, delivery)| line(key, delivery)).collect();
        file.write_all(text.as_bytes())?;
        std::fs::rename(&temporary, &self.path)?;
        self.file = file;
        self.length = text.len() as u64;
        self.compact_above = COMPACT_ABOVE.max(COMPACT_GROWN * self.length);
        Ok(())
    }
}

fn now() -> u64 {
    // A clock before 1970 makes everything look old, which costs the attempts and no message.
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn line((conversation, sequence): &Key, Delivery { attempt, failures, seen }: &Delivery) -> String {
    format!("+{} {sequence} {attempt} {failures} {seen}\n", conversation.as_uuid())
}

/// A line that is damaged, such as a last one that was cut off, is passed over.
fn replay(text: &str, now: u64) -> HashMap<Key, Delivery> {
    let mut open = HashMap::new();
    for line in text.lines() {
        if let Some((key, delivery)) = line.strip_prefix('+').and_then(|line| read_delivery(line, now)) {
            open.insert(key, delivery);
        } else if let Some(key) = line.strip_prefix('-').and_then(|line| read_key(&mut line.split(' '))) {
            open.remove(&key);
        }
    }
    open
}

/// Without failures and time it is a line of an older version.
fn read_delivery(line: &str, now: u64) -> Option<(Key, Delivery)> {
    let mut fields = line.split(' ');
    let (key, attempt) = (read_key(&mut fields)?, fields.next()?.parse().ok()?);
    let failures = fields.next().map_or(Some(0), |field| field.parse().ok())?;
    let seen = fields.next().map_or(Some(now), |field| field.parse().ok())?;
    Some((key, Delivery { attempt, failures, seen }))
}

fn read_key<'a>(fields: &mut impl Iterator<Item = &'a str>) -> Option<Key> {
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{COMPACT_ABOVE, Deliveries, FILE_NAME, KEPT, now};
    use crate::activator::feed::samples;
    use crate::client::Message;
    use std::io::Write;
    use std::path::Path;

    fn message(sequence_number: i64) -> Message {
        Message { sequence_number, ..samples::message(1) }
    }

    fn append(folder: &Path, bytes: &[u8]) {
        let path = folder.join(FILE_NAME);
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
        file.write_all(bytes).unwrap();
    }

    fn begin(deliveries: &Deliveries, message: &Message, failures: u32) -> u32 {
        let (attempt, written) = deliveries.begin(message, failures);
        written.unwrap();
        attempt
    }

    #[test]
    fn a_message_that_comes_again_carries_a_higher_attempt_even_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let deliveries = Deliveries::open(folder.path()).unwrap();
        assert_eq!(begin(&deliveries, &message(0), 0), 1);
        assert_eq!(begin(&deliveries, &message(1), 0), 1);
        deliveries.settle(&[message(0)]).unwrap();
        drop(deliveries);
        let deliveries = Deliveries::open(folder.path()).unwrap();
        assert_eq!(begin(&deliveries, &message(0), 0), 1);
        assert_eq!(begin(&deliveries, &message(1), 0), 2);
        assert_eq!(begin(&deliveries, &message(2), 4), 5, "the table knows more than we do");
    }

    #[test]
    fn only_what_failed_is_a_failure() {
        let folder = tempfile::tempdir().unwrap();
        let deliveries = Deliveries::open(folder.path()).unwrap();
        begin(&deliveries, &message(1), 0);
        begin(&deliveries, &message(1), 0);
        assert_eq!(deliveries.failures(&message(1)), 0);
        deliveries.fail(&message(1)).unwrap();
        drop(deliveries);
        let deliveries = Deliveries::open(folder.path()).unwrap();
        assert_eq!(deliveries.failures(&message(1)), 1);
        assert_eq!(begin(&deliveries, &message(1), 1), 3);
        deliveries.settle(&[message(1)]).unwrap();
        assert_eq!(deliveries.failures(&message(1)), 0);
    }

    #[test]
    fn a_line_that_is_damaged_costs_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let deliveries = Deliveries::open(folder.path()).unwrap();
        begin(&deliveries, &message(1), 0);
        drop(deliveries);
        append(folder.path(), b"+\xff\xfe no text\n+0000");
        let deliveries = Deliveries::open(folder.path()).unwrap();
        assert_eq!(begin(&deliveries, &message(1), 0), 2);
    }

    #[test]
    fn lines_of_an_older_version_are_understood() {
        let folder = tempfile::tempdir().unwrap();
        append(folder.path(), b"+00000000-0000-0000-0000-000000000001 7 3\n");
        let deliveries = Deliveries::open(folder.path()).unwrap();
        assert_eq!(deliveries.failures(&message(7)), 0);
        assert_eq!(begin(&deliveries, &message(7), 0), 4);
    }

    #[test]
    fn the_file_does_not_grow_with_what_is_settled() {
        let folder = tempfile::tempdir().unwrap();
        let deliveries = Deliveries::open(folder.path()).unwrap();
        for number in 0..30_000 {
            begin(&deliveries, &message(number), 0);
            deliveries.settle(&[message(number)]).unwrap();
        }
        assert!(folder.path().join(FILE_NAME).metadata().unwrap().len() <= COMPACT_ABOVE);
    }

    #[test]
    fn a_file_that_must_hold_much_is_not_written_anew_at_every_commit() {
        let folder = tempfile::tempdir().unwrap();
        let deliveries = Deliveries::open(folder.path()).unwrap();
        for number in 0..30_000 {
            begin(&deliveries, &message(number), 0);
        }
        deliveries.settle(&[message(0)]).unwrap();
        let log = deliveries.lock();
        assert!(log.length > COMPACT_ABOVE && log.compact_above >= 4 * log.length);
    }

    #[test]
    fn what_was_settled_by_others_is_forgotten_in_time() {
        let folder = tempfile::tempdir().unwrap();
        let line = |age: u64| {
            format!("+00000000-0000-0000-0000-000000000001 {age} 3 2 {}\n", now() - age).into_bytes()
        };
        let (old, young) = (KEPT.as_secs() + 100, KEPT.as_secs() - 1_000);
        append(folder.path(), &[line(old), line(young)].concat());
        let deliveries = Deliveries::open(folder.path()).unwrap();
        assert_eq!(deliveries.failures(&message(i64::try_from(young).unwrap())), 2);
        assert_eq!(deliveries.failures(&message(i64::try_from(old).unwrap())), 0);
    }
}
