//! The two pipes to a handler, as whole lines.

use std::io;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::mpsc;

/// Longest line of a handler.
const LONGEST: u64 = 16 * 1024 * 1024;
/// Lines that wait to be understood before the handler is held up.
const WAITING: usize = 64;

/// A handler at the other end of two pipes. Dropping it ends its input.
#[derive(Debug)]
pub(super) struct Handler {
    input: ChildStdin,
    lines: mpsc::Receiver<Result<Vec<u8>, String>>,
}

impl Handler {
    pub(super) fn new(input: ChildStdin, output: ChildStdout) -> Self {
        let (sender, lines) = mpsc::channel(WAITING);
        tokio::spawn(read_lines(output, sender));
        Self { input, lines }
    }

    /// The two directions, to be used at the same time: a handler that writes before it has read must not block both.
    pub(super) fn split(&mut self) -> (&mut ChildStdin, &mut Lines) {
        (&mut self.input, &mut self.lines)
    }

    /// The next line. Dropping the future loses none.
    pub(super) async fn hear(&mut self) -> Result<Vec<u8>, String> {
        heard(self.lines.recv().await)
    }

    /// A line that is there already.
    pub(super) fn heard_already(&mut self) -> Option<Result<Vec<u8>, String>> {
        self.lines.try_recv().ok()
    }
}

/// Lines of a handler, or why there are no more.
pub(super) type Lines = mpsc::Receiver<Result<Vec<u8>, String>>;

/// What came from a channel of lines; its end is the end of the handler's output.
pub(super) fn heard(line: Option<Result<Vec<u8>, String>>) -> Result<Vec<u8>, String> {
    line.unwrap_or_else(|| Err("it closed its standard output".to_owned()))
}

/// Writes one line to a handler.
pub(super) async fn write(input: &mut ChildStdin, line: &[u8]) -> Result<(), String> {
    let told = |error: io::Error| format!("it does not read its standard input: {error}");
    input.write_all(line).await.map_err(told)?;
    input.flush().await.map_err(told)
}

async fn read_lines(output: ChildStdout, lines: mpsc::Sender<Result<Vec<u8>, String>>) {
    let mut output = BufReader::new(output);
    loop {
        let mut line = Vec::new();
        let read = (&mut output).take(LONGEST).read_until(b'\n', &mut line).await;
        let line = match read {
            Ok(0) => return,
            Ok(_) if line.ends_with(b"\n") => {
                line.pop();
                Ok(line)
            }
            Ok(_) if line.len() as u64 == LONGEST => {
                Err(format!("a line of it is longer than {LONGEST} bytes"))
            }
            Ok(_) => Err("its last line has no end".to_owned()),
            Err(error) => Err(format!("its standard output cannot be read: {error}")),
        };
        let is_last = line.is_err();
        if lines.send(line).await.is_err() || is_last {
            return;
        }
    }
}
