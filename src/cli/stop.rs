//! The wish to stop: SIGTERM and SIGINT (Ctrl-C).

use tokio::signal::unix::{SignalKind, signal};

use super::exit::CliError;

/// Hears stop signals from the moment it is made, so that none is missed before somebody waits.
pub(super) struct StopSignals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

impl StopSignals {
    pub(super) fn listen() -> Result<Self, CliError> {
        let failed = |error| CliError::usage("cannot listen for signals").because(error);
        Ok(Self {
            terminate: signal(SignalKind::terminate()).map_err(failed)?,
            interrupt: signal(SignalKind::interrupt()).map_err(failed)?,
        })
    }

    /// Waits for the next signal. Cancelling loses none.
    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
