//! Follows the two output files of one launch: new lines go to the log, and a file that grows too large begins anew.
//!
//! The file is shared with a handler that keeps writing and knows nothing of this. It appends, so cutting the file makes it
//! begin again at its start; what it writes between the last look and the cut is lost, and the cut is told.

use super::lines::{Lines, Piece, readable};
use crate::activator::beat;
use crate::activator::launch::LaunchId;
use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Size above which a file begins anew.
const LARGEST: u64 = 4 * 1024 * 1024;
/// Most that is read at one look; what came before is passed over.
const MOST_READ: u64 = 256 * 1024;
/// How much of the end of standard error is kept for the history.
const RECENT: usize = 4 * 1024;
/// Time to the next look while a handler writes.
const CALM: Duration = Duration::from_millis(200);
/// The same while it writes nothing; all tails look at the same moments then.
const SILENCE: Duration = Duration::from_millis(500);
/// The same while a handler writes a lot.
const FLOOD: Duration = Duration::from_millis(20);
/// So many bytes since the last look are a lot.
const MUCH: u64 = 64 * 1024;

/// Follows what one launch writes.
#[derive(Debug)]
pub(in crate::activator) struct Tail {
    app: String,
    launch: LaunchId,
    pid: u32,
    streams: Vec<Stream>,
}

#[derive(Debug)]
struct Stream {
    name: &'static str,
    path: PathBuf,
    /// `None` if it cannot be opened, which is told once.
    file: Option<File>,
    position: u64,
    lines: Lines,
    /// The last bytes that were read.
    recent: VecDeque<u8>,
}

impl Tail {
    /// Follows the files at these paths, each with the name of its stream.
    pub(super) fn new(app: &str, launch: LaunchId, pid: u32, files: &[(&'static str, PathBuf)]) -> Self {
        let now = Instant::now();
        let streams = files.iter().map(|(name, path)| Stream {
            name,
            path: path.clone(),
            // For writing too: that is how it is cut.
            file: OpenOptions::new().read(true).write(true).open(path).ok(),
            position: 0,
            lines: Lines::new(now),
            recent: VecDeque::new(),
        });
        Self { app: app.to_owned(), launch, pid, streams: streams.collect() }
    }

    /// Begins with what is written from now on: an earlier daemon has told the rest, or most of it.
    pub(in crate::activator) fn skipping_present(mut self) -> Self {
        for stream in &mut self.streams {
            let metadata = stream.file.as_ref().and_then(|file| file.metadata().ok());
            stream.position = metadata.map_or(0, |metadata| metadata.len());
        }
        self
    }

    /// Whether a look would find nothing. Asks the system for the size of open files only, which does not block.
    pub(in crate::activator) fn is_quiet(&self) -> bool {
        self.streams.iter().all(Stream::is_quiet)
    }

    /// When to look again if it is quiet at `now`.
    pub(in crate::activator) fn next_in_silence(now: Instant) -> Instant {
        beat::after(now, SILENCE)
    }

    /// Writes what is new to the log; answers when to look again. Blocks for the time of a few reads.
    pub(in crate::activator) fn look(&mut self) -> Duration {
        let mut read = 0;
        for index in 0..self.streams.len() {
            match self.streams[index].read_new() {
                Ok((pieces, bytes)) => {
                    read += bytes;
                    self.tell(index, pieces);
                }
                Err(error) => self.give_up(index, &error),
            }
            if self.streams[index].position > LARGEST {
                self.cut(index);
            }
        }
        match read {
            0 => SILENCE,
            read if read > MUCH => FLOOD,
            _ => CALM,
        }
    }

    /// The last look, and the last lines on standard error.
    pub(in crate::activator) fn finish(mut self) -> String {
        self.look();
        for index in 0..self.streams.len() {
            let pieces = self.streams[index].lines.finish();
            self.tell(index, pieces);
        }
        let errors = self.streams.iter_mut().find(|stream| stream.name == "stderr");
        errors.map(|stream| last_lines(stream.recent.make_contiguous())).unwrap_or_default()
    }

    fn tell(&self, index: usize, pieces: Vec<Piece>) {
        let (stream, path) = (self.streams[index].name, self.streams[index].path.display());
        let (app, launch, pid) = (&self.app, tracing::field::display(self.launch), self.pid);
        for piece in pieces {
            match piece {
                Piece::Line(line) => {
                    tracing::info!(target: "activator", app, launch = &launch, pid, stream, "{app} {pid} {stream}: {line}");
                }
                Piece::LeftOut { lines, bytes } => tracing::warn!(
                    target: "activator", app, launch = &launch, pid, stream,
                    "{app} {pid} {stream}: {lines} lines, {bytes} bytes left out of the log; what is kept is in {path}"
                ),
            }
        }
    }

    fn cut(&mut self, index: usize) {
        let stream = &mut self.streams[index];
        let cut = stream.file.as_ref().map_or(Ok(()), |file| file.set_len(0));
        stream.position = 0;
        let (app, launch, pid, path) =
            (&self.app, tracing::field::display(self.launch), self.pid, stream.path.display());
        match cut {
            Ok(()) => tracing::warn!(
                target: "activator", app, launch, pid, stream = stream.name,
                "{path} has reached {LARGEST} bytes and begins anew"
            ),
            Err(error) => self.give_up(index, &error),
        }
    }

    /// A file that cannot be followed is left alone from here on.
    fn give_up(&mut self, index: usize, error: &io::Error) {
        let (app, launch, pid) = (&self.app, tracing::field::display(self.launch), self.pid);
        let path = self.streams[index].path.display();
        tracing::warn!(target: "activator", app, launch, pid, "{path} cannot be followed: {error}");
        self.streams[index].file = None;
    }
}

impl Stream {
    fn is_quiet(&self) -> bool {
        let length = self.file.as_ref().map(|file| file.metadata().map(|metadata| metadata.len()));
        self.lines.are_told()
            && length.is_none_or(|length| length.is_ok_and(|length| length == self.position))
    }

    /// What was written since the last look, and how much that is.
    fn read_new(&mut self) -> io::Result<(Vec<Piece>, u64)> {
        let Some(file) = &mut self.file else { return Ok((Vec::new(), 0)) };
        let length = file.metadata()?.len();
        // The handler, or somebody else, has cut it.
        self.position = if length < self.position { 0 } else { self.position };
        let fresh = length - self.position;
        if fresh == 0 {
            return Ok((self.lines.push(&[], Instant::now()), 0));
        }
        let passed_over = fresh.saturating_sub(MOST_READ);
        if passed_over > 0 {
            self.lines.skip(passed_over);
        }
        file.seek(SeekFrom::Start(self.position + passed_over))?;
        let mut bytes = Vec::new();
        file.take(MOST_READ).read_to_end(&mut bytes)?;
        self.position += passed_over + bytes.len() as u64;
        self.recent.extend(&bytes[bytes.len().saturating_sub(RECENT)..]);
        self.recent.drain(..self.recent.len().saturating_sub(RECENT));
        Ok((self.lines.push(&bytes, Instant::now()), fresh))
    }
}

/// Readable lines. Without the first line if the text is as long as is kept, since that one is cut then; unless it is the only one.
fn last_lines(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_end();
    let whole = match text.split_once('\n') {
        Some((_, whole)) if bytes.len() >= RECENT => whole,
        _ => text,
    };
    let lines: Vec<String> = whole.split('\n').map(|line| readable(line.as_bytes())).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::{LARGEST, RECENT, Tail, last_lines};
    use crate::activator::launch::LaunchId;
    use std::fs::{File, OpenOptions};
    use std::io::Write;
    use std::path::PathBuf;

    struct Bench {
        _folder: tempfile::TempDir,
        path: PathBuf,
        file: File,
    }

    impl Bench {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("x.err");
            let file = OpenOptions::new().append(true).create(true).open(&path).unwrap();
            Self { _folder: folder, path, file }
        }

        fn tail(&self) -> Tail {
            Tail::new("app", LaunchId::from_u128(1), 7, &[("stderr", self.path.clone())])
        }
    }

    #[test]
    fn a_line_that_was_cut_is_left_out() {
        assert_eq!(last_lines(b"one\ntwo\n"), "one\ntwo");
        assert_eq!(last_lines(b"\n"), "");
        assert_eq!(last_lines(b"one\r\n\x1b[2Jtwo\xff\n"), "one\n\\u{1b}[2Jtwo\u{fffd}");
        let long = [&[b'x'; RECENT - 4][..], b"\ntwo"].concat();
        assert_eq!(last_lines(&long), "two");
        assert_eq!(last_lines(&[b'y'; RECENT]).len(), RECENT);
    }

    #[test]
    fn a_file_that_grows_too_large_begins_anew_while_it_is_written() {
        let mut bench = Bench::new();
        let mut tail = bench.tail();
        let chunk = [b'x'; 1024 * 1024];
        for _ in 0..50 {
            bench.file.write_all(&chunk).unwrap();
            tail.look();
            assert!(bench.file.metadata().unwrap().len() <= LARGEST + 1024 * 1024);
        }
        bench.file.write_all(b"\nthe end\n").unwrap();
        assert!(tail.finish().ends_with("the end"));
    }

    #[test]
    fn the_end_of_standard_error_is_known_even_if_the_file_was_cut_by_others() {
        let mut bench = Bench::new();
        let mut tail = bench.tail();
        bench.file.write_all(b"first\nsecond\n").unwrap();
        tail.look();
        bench.file.set_len(0).unwrap();
        bench.file.write_all(b"third\n").unwrap();
        assert_eq!(tail.finish(), "first\nsecond\nthird");
    }

    #[test]
    fn an_adopted_file_is_followed_from_its_end() {
        let mut bench = Bench::new();
        bench.file.write_all(b"told by an earlier daemon\n").unwrap();
        let tail = bench.tail().skipping_present();
        bench.file.write_all(b"new\n").unwrap();
        assert_eq!(tail.finish(), "new");
    }

    #[test]
    fn a_file_that_is_gone_is_no_fault() {
        let bench = Bench::new();
        std::fs::remove_file(&bench.path).unwrap();
        assert_eq!(bench.tail().finish(), "");
    }
}
