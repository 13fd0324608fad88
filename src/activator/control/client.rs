//! The asking side of the control socket.

use super::protocol::{Answer, Request, Versioned};
use super::socket_path;
use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

/// How long an answer may take: a reload or a look at every queue is part of it.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a daemon could not be asked.
#[derive(Debug)]
#[non_exhaustive]
pub enum ControlError {
    /// Nobody listens there, or it may not be used.
    NotReached {
        /// The socket.
        socket: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The daemon went away, or did not answer in time.
    NoAnswer(io::Error),
    /// What came back is no answer: it is another version.
    NotUnderstood(serde_json::Error),
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotReached { socket, .. } => {
                write!(
                    f,
                    "no activator can be asked at {}: it does not run, has another state folder, or runs as another user",
                    socket.display()
                )
            }
            Self::NoAnswer(_) => f.write_str("the activator did not answer"),
            Self::NotUnderstood(_) => f.write_str("the activator's answer is not understood"),
        }
    }
}

impl Error for ControlError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::NotReached { source, .. } | Self::NoAnswer(source) => Some(source),
            Self::NotUnderstood(source) => Some(source),
        }
    }
}

/// Asks the daemon with this state folder. Its refusal is an [`Answer::Error`].
///
/// # Errors
/// [`ControlError`]. Dropping the future leaves it open whether the wish is fulfilled.
pub async fn ask(state_dir: &Path, request: Request) -> Result<Answer, ControlError> {
    let socket = socket_path(state_dir);
    let connected = UnixStream::connect(&socket).await;
    let stream = connected.map_err(|source| ControlError::NotReached { socket, source })?;
    let exchange = tokio::time::timeout(PATIENCE, exchange(stream, request)).await;
    let line =
        exchange.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())).map_err(ControlError::NoAnswer)?;
    let answer: Versioned<Answer> = serde_json::from_str(&line).map_err(ControlError::NotUnderstood)?;
    Ok(answer.content)
}

async fn exchange(mut stream: UnixStream, request: Request) -> io::Result<String> {
    let line = serde_json::to_string(&Versioned::new(request))? + "\n";
    stream.write_all(line.as_bytes()).await?;
    let mut answer = String::new();
    if BufReader::new(stream).read_line(&mut answer).await? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(answer)
}
