//! The local socket through which people ask a running daemon: status, history, kick, pause, resume, reload.
//!
//! `activator.sock` in the state folder, for the daemon's own user and root. One JSON object on a line goes in, one comes
//! out; both carry the version of the protocol. A client that says nothing, says nonsense or never reads harms nobody else.

mod client;
mod protocol;
mod server;

pub use client::{ControlError, ask};
pub use protocol::{Answer, Request};
pub(super) use server::ControlServer;

use std::path::{Path, PathBuf};

/// Where the socket of a daemon with this state folder is.
#[must_use]
pub fn socket_path(state_dir: &Path) -> PathBuf {
    state_dir.join("activator.sock")
}
