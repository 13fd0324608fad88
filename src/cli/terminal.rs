//! What a command says: results on standard output, everything else on standard error. A closed pipe is no failure.

use std::error::Error;
use std::fmt;
use std::io::{self, Write};

/// Prints a result line.
pub(super) fn say(line: impl fmt::Display) {
    let mut output = io::stdout().lock();
    // Who reads the output may have gone, as in `ssbroker ... | head`.
    let _ = writeln!(output, "{line}").and_then(|()| output.flush());
}

/// Prints a remark beside the result.
pub(super) fn remark(line: impl fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Prints an error with all its causes on one line.
pub(super) fn complain(error: &dyn Error) {
    remark(format_args!("error: {}", chain(error)));
}

/// An error and its causes on one line; a cause that only repeats what was said is left out.
pub(super) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let part = error.to_string();
        if !text.contains(&part) {
            text.push_str(": ");
            text.push_str(&part);
        }
        cause = error.source();
    }
    text
}
