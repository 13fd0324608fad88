//! The two pipes to a handler, as whole lines. Knows nothing of what they mean.

use std::io;
use std::sync::Arc;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// Longest line of a handler, in bytes. So many bytes wait to be understood, too, before the handler is held up.
const LONGEST: u32 = 16 * 1024 * 1024;
/// Lines that wait to be understood before the handler is held up.
const WAITING: usize = 64;

/// A handler at the other end of two pipes. Dropping it ends its input.
#[derive(Debug)]
pub(super) struct Handler {
    input: ChildStdin,
    lines: Lines,
}

impl Handler {
    pub(super) fn new(input: ChildStdin, output: ChildStdout) -> Self {
        Self { input, lines: Lines::of(output) }
    }

    /// The two directions, to be used at the same time: a handler that writes before it has read must not block both.
    pub(super) fn split(&mut self) -> (&mut ChildStdin, &mut Lines) {
        (&mut self.input, &mut self.lines)
    }

    /// The next line. Dropping the future loses none.
    pub(super) async fn hear(&mut self) -> Result<Vec<u8>, String> {
        self.lines.next().await
    }

    /// A line that is there already.
    pub(super) fn heard_already(&mut self) -> Option<Result<Vec<u8>, String>> {
        self.lines.0.try_recv().ok().map(|line| line.map(|waiting| waiting.line))
    }
}

/// Lines of a handler, or why there are no more.
#[derive(Debug)]
pub(super) struct Lines(mpsc::Receiver<Result<Waiting, String>>);

/// A line that waits to be understood, and its share of the bytes that may wait.
#[derive(Debug)]
struct Waiting {
    line: Vec<u8>,
    _room: OwnedSemaphorePermit,
}

impl Lines {
    fn of(output: impl AsyncRead + Unpin + Send + 'static) -> Self {
        let (sender, lines) = mpsc::channel(WAITING);
        tokio::spawn(read_lines(output, sender));
        Self(lines)
    }

    /// The next one; the end of the handler's output is a reason why there is none. Dropping the future loses none.
    pub(super) async fn next(&mut self) -> Result<Vec<u8>, String> {
        let closed = || Err("it closed its standard output".to_owned());
        self.0.recv().await.unwrap_or_else(closed).map(|waiting| waiting.line)
    }
}

/// Writes one line to a handler.
pub(super) async fn write(input: &mut ChildStdin, line: &[u8]) -> Result<(), String> {
    let told = |error: io::Error| format!("it does not read its standard input: {error}");
    input.write_all(line).await.map_err(told)?;
    input.flush().await.map_err(told)
}

async fn read_lines(
    output: impl AsyncRead + Unpin + Send + 'static,
    lines: mpsc::Sender<Result<Waiting, String>>,
) {
    let mut output = BufReader::new(output);
    let room = Arc::new(Semaphore::new(LONGEST as usize));
    while let Some(line) = read_line(&mut output).await {
        let waiting = match line {
            Ok(line) => Ok(wait_for_room(&room, line).await),
            Err(reason) => Err(reason),
        };
        let is_last = waiting.is_err();
        if lines.send(waiting).await.is_err() || is_last {
            return;
        }
    }
}

/// `None` at the end of the output.
async fn read_line(output: &mut (impl AsyncBufRead + Unpin)) -> Option<Result<Vec<u8>, String>> {
    let mut line = Vec::new();
    let read = output.take(u64::from(LONGEST)).read_until(b'\n', &mut line).await;
    match read {
        Ok(0) => None,
        Ok(_) if line.ends_with(b"\n") => {
            line.pop();
            Some(Ok(line))
        }
        Ok(read) if read == LONGEST as usize => {
            Some(Err(format!("a line of it is longer than {LONGEST} bytes")))
        }
        Ok(_) => Some(Err("its last line has no end".to_owned())),
        Err(error) => Some(Err(format!("its standard output cannot be read: {error}"))),
    }
}

async fn wait_for_room(room: &Arc<Semaphore>, line: Vec<u8>) -> Waiting {
    let bytes = u32::try_from(line.len()).expect("no line is longer than the longest");
    let room = Arc::clone(room).acquire_many_owned(bytes).await.expect("nobody closes it");
    Waiting { line, _room: room }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, Lines};
    use std::time::Duration;
    use tokio::io::AsyncWriteExt;

    #[tokio::test(start_paused = true)]
    async fn a_handler_that_says_more_than_is_understood_is_held_up() {
        let (mut handler, ours) = tokio::io::duplex(4 * 1024);
        let mut lines = Lines::of(ours);
        let line = vec![b'x'; LONGEST as usize / 4];
        let length = line.len();
        let says = tokio::spawn(async move {
            for _ in 0..9 {
                handler.write_all(&line).await.unwrap();
                handler.write_all(b"\n").await.unwrap();
            }
        });
        // The clock is paused: it goes on when nothing else can.
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(lines.0.len(), 4, "that is as much as may wait");
        assert!(!says.is_finished());
        for _ in 0..9 {
            assert_eq!(lines.next().await.unwrap().len(), length);
        }
        assert!(lines.next().await.unwrap_err().contains("closed its standard output"));
    }
}
