//! The lines that a handler wants in our log: as many as a log can bear, and each of them one line.
//!
//! Like its standard output, but with a level. Knows nothing of messages.

use super::Assignment;
use crate::activator::config::LogLevel;
use crate::activator::output::{Lines, Piece};
use std::time::Instant;

/// What of them goes into the log.
#[derive(Debug)]
pub(super) struct Remarks(Lines);

impl Remarks {
    pub(super) fn new() -> Self {
        Self(Lines::new(Instant::now()))
    }

    /// Logs one, unless there have been too many.
    pub(super) fn log(&mut self, assignment: &Assignment, level: LogLevel, text: &str) {
        for piece in self.0.push_line(text.as_bytes(), Instant::now()) {
            write(assignment, level, piece);
        }
    }

    /// Tells what was left out last.
    pub(super) fn finish(mut self, assignment: &Assignment) {
        for piece in self.0.finish() {
            write(assignment, LogLevel::Info, piece);
        }
    }
}

fn write(assignment: &Assignment, level: LogLevel, piece: Piece) {
    let (app, launch) = (&assignment.app, tracing::field::display(assignment.launch));
    let text = match piece {
        Piece::Line(text) => text,
        Piece::LeftOut { lines, bytes } => {
            tracing::warn!(target: "activator", app, launch, "{app}: {lines} lines, {bytes} bytes left out of the log");
            return;
        }
    };
    match level {
        LogLevel::Error => tracing::error!(target: "activator", app, launch, "{app}: {text}"),
        LogLevel::Warn => tracing::warn!(target: "activator", app, launch, "{app}: {text}"),
        LogLevel::Info => tracing::info!(target: "activator", app, launch, "{app}: {text}"),
        LogLevel::Debug => tracing::debug!(target: "activator", app, launch, "{app}: {text}"),
        LogLevel::Trace => tracing::trace!(target: "activator", app, launch, "{app}: {text}"),
    }
}
