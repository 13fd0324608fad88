//! From what a handler writes to lines for the log: whole, bounded, and no more than a log can bear.
//!
//! Pure; time comes in with each call. A handler may write anything: half lines, lines without end, bytes that are no text,
//! megabytes in a second. What is left out is counted and told; the file has the rest.

use std::time::{Duration, Instant};

/// Longest line in bytes; the rest of a longer one is left out.
const LONGEST: usize = 4 * 1024;
/// Lines in one window.
const MOST_LINES: usize = 100;
/// Bytes in one window.
const MOST_BYTES: usize = 64 * 1024;
/// The time for which the bounds hold.
const WINDOW: Duration = Duration::from_secs(1);

/// Something for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::activator) enum Piece {
    /// A line without its end, with control characters shown as escapes.
    Line(String),
    /// So much was left out since the last line.
    LeftOut {
        /// Lines, counting the one that goes on.
        lines: u64,
        /// Bytes.
        bytes: u64,
    },
}

/// Cuts a stream into lines.
#[derive(Debug)]
pub(in crate::activator) struct Lines {
    partial: Vec<u8>,
    /// The line that goes on is too long already, and has been handed out.
    is_cut: bool,
    window: Instant,
    lines: usize,
    bytes: usize,
    left_out: (u64, u64),
}

impl Lines {
    pub(in crate::activator) fn new(now: Instant) -> Self {
        Self { partial: Vec::new(), is_cut: false, window: now, lines: 0, bytes: 0, left_out: (0, 0) }
    }

    /// Takes in what was written.
    pub(super) fn push(&mut self, bytes: &[u8], now: Instant) -> Vec<Piece> {
        let mut pieces = Vec::new();
        self.turn_window(now, &mut pieces);
        let mut parts = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(part) = parts.next() {
            self.extend(part, &mut pieces);
            if parts.peek().is_some() {
                self.end_line(&mut pieces);
            }
        }
        pieces
    }

    /// Whether there is nothing to tell before something is written.
    pub(super) fn are_told(&self) -> bool {
        self.left_out.1 == 0
    }

    /// Takes in one line that came whole and not as part of a stream: a line end in it does not make it two.
    pub(in crate::activator) fn push_line(&mut self, line: &[u8], now: Instant) -> Vec<Piece> {
        let mut pieces = Vec::new();
        self.turn_window(now, &mut pieces);
        self.extend(line, &mut pieces);
        self.end_line(&mut pieces);
        pieces
    }

    /// So many bytes were passed over without being looked at.
    pub(super) fn skip(&mut self, bytes: u64) {
        self.partial.clear();
        self.is_cut = true;
        self.left_out.0 += 1;
        self.left_out.1 += bytes;
    }

    /// Nothing follows: what is left is a line of its own.
    pub(in crate::activator) fn finish(&mut self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        if !self.partial.is_empty() {
            self.end_line(&mut pieces);
        }
        self.tell_left_out(&mut pieces);
        pieces
    }

    fn turn_window(&mut self, now: Instant, pieces: &mut Vec<Piece>) {
        if now.saturating_duration_since(self.window) >= WINDOW {
            (self.window, self.lines, self.bytes) = (now, 0, 0);
            self.tell_left_out(pieces);
        }
    }

    fn extend(&mut self, part: &[u8], pieces: &mut Vec<Piece>) {
        if self.is_cut {
            self.left_out.1 += part.len() as u64;
            return;
        }
        let room = LONGEST - self.partial.len();
        self.partial.extend(&part[..part.len().min(room)]);
        if part.len() > room {
            self.emit(pieces);
            self.is_cut = true;
            self.left_out.0 += 1;
            self.left_out.1 += (part.len() - room) as u64;
        }
    }

    fn end_line(&mut self, pieces: &mut Vec<Piece>) {
        if self.is_cut {
            self.is_cut = false;
        } else {
            self.emit(pieces);
        }
    }

    fn emit(&mut self, pieces: &mut Vec<Piece>) {
        let line = std::mem::take(&mut self.partial);
        if self.lines >= MOST_LINES || self.bytes + line.len() > MOST_BYTES {
            self.left_out.0 += 1;
            self.left_out.1 += line.len() as u64;
            return;
        }
        self.lines += 1;
        self.bytes += line.len();
        pieces.push(Piece::Line(readable(&line)));
    }

    fn tell_left_out(&mut self, pieces: &mut Vec<Piece>) {
        let (lines, bytes) = std::mem::take(&mut self.left_out);
        if bytes > 0 {
            pieces.push(Piece::LeftOut { lines, bytes });
        }
    }
}

/// One line as text: what is no UTF-8 is replaced, and what would move a terminal's cursor or begin another line is shown as
/// an escape.
pub(in crate::activator) fn readable(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line));
    let mut readable = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() && character != '\t' {
            readable.extend(character.escape_default());
        } else {
            readable.push(character);
        }
    }
    readable
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, Lines, MOST_BYTES, MOST_LINES, Piece, WINDOW};
    use std::time::Instant;

    fn line(text: &str) -> Piece {
        Piece::Line(text.to_owned())
    }

    #[test]
    fn lines_come_out_whole_however_they_were_written() {
        let now = Instant::now();
        let mut lines = Lines::new(now);
        assert_eq!(lines.push(b"on", now), []);
        assert_eq!(lines.push(b"e\ntwo\r\n\nthr", now), [line("one"), line("two"), line("")]);
        assert_eq!(lines.finish(), [line("thr")]);
        assert_eq!(lines.finish(), []);
    }

    #[test]
    fn what_is_no_text_is_made_readable() {
        let now = Instant::now();
        let pieces = Lines::new(now).push(b"a\xff\tb\x1b[31m\n", now);
        assert_eq!(pieces, [line("a\u{fffd}\tb\\u{1b}[31m")]);
    }

    #[test]
    fn a_line_that_comes_whole_stays_one_and_is_bounded_like_any_other() {
        let now = Instant::now();
        let mut lines = Lines::new(now);
        assert_eq!(lines.push_line(b"all well\nERROR forged", now), [line("all well\\nERROR forged")]);
        assert_eq!(lines.push_line(&[b'x'; 2 * LONGEST], now), [line(&"x".repeat(LONGEST))]);
        let pieces: Vec<_> = (0..1_000).flat_map(|_| lines.push_line(b"again", now)).collect();
        assert_eq!(pieces.len(), MOST_LINES - 2);
    }

    #[test]
    fn a_line_without_end_is_cut_once_and_the_next_one_is_whole() {
        let now = Instant::now();
        let mut lines = Lines::new(now);
        let mut pieces = Vec::new();
        for _ in 0..5 * 1024 {
            pieces.extend(lines.push(&[b'x'; 1024], now));
        }
        pieces.extend(lines.push(b"\nnext\n", now));
        assert_eq!(pieces, [line(&"x".repeat(LONGEST)), line("next")]);
        let left = 5 * 1024 * 1024 - LONGEST as u64;
        assert_eq!(lines.finish(), [Piece::LeftOut { lines: 1, bytes: left }]);
    }

    #[test]
    fn a_flood_of_lines_is_bounded_and_what_is_left_out_is_told() {
        let now = Instant::now();
        let mut lines = Lines::new(now);
        let pieces = lines.push(&b"short\n".repeat(1_000), now);
        assert_eq!(pieces.len(), MOST_LINES);
        let pieces = lines.push(b"later\n", now + WINDOW);
        assert_eq!(pieces, [Piece::LeftOut { lines: 900, bytes: 4_500 }, line("later")]);
    }

    #[test]
    fn a_flood_of_bytes_is_bounded_too() {
        let now = Instant::now();
        let mut lines = Lines::new(now);
        let long = [&[b'y'; 4_000][..], b"\n"].concat();
        assert_eq!(lines.push(&long.repeat(99), now).len(), MOST_BYTES / 4_000);
    }

    #[test]
    fn what_was_passed_over_counts_and_its_last_line_is_not_taken_for_a_whole_one() {
        let now = Instant::now();
        let mut lines = Lines::new(now);
        lines.push(b"begun", now);
        lines.skip(1_000_000);
        assert_eq!(lines.push(b"rest of a line\nwhole\n", now), [line("whole")]);
        assert_eq!(lines.finish(), [Piece::LeftOut { lines: 1, bytes: 1_000_014 }]);
    }
}
