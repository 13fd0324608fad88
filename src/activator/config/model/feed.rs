//! How messages are fed to a handler that does not receive by itself.
//!
//! Plain values; knows neither the protocol nor the server.

use std::time::Duration;

/// What belongs to handlers that are fed; `feed = { ... }` in `activator.toml`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FeedSettings {
    /// Most messages that are received in one transaction and handed over together, 1 to 1000. Default 50.
    pub batch: u32,
    /// How often a message is tried before it goes to `dead_letter`, 1 to 1000. Default 3.
    pub attempts: u32,
    /// Pause before a message is tried again when the handler failed or asked for no other pause; may be zero. Default 5 s.
    pub retry: Duration,
    /// What becomes of a message that has failed `attempts` times or that the handler calls dead. Default
    /// [`DeadLetter::Table`].
    pub dead_letter: DeadLetter,
    /// Whether messages of the system (end of dialog, error, timer) are fed too. Default false: the activator ends the
    /// conversation they are about.
    pub system: bool,
    /// Size in bytes above which a body is handed over as a file; 0 hands over every body so. Default 1 MiB.
    pub file_above: u64,
    /// How long a handler is kept without a message before its input is closed; zero closes it as soon as the queue is
    /// empty. Default 10 s.
    pub idle: Duration,
}

/// What becomes of a message that is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeadLetter {
    /// `"table"`: a row in the table of dead letters; its conversation goes on.
    Table,
    /// `"end"`: its conversation is ended with an error that names the failure; needs no table.
    EndConversation,
}

impl Default for FeedSettings {
    fn default() -> Self {
        Self {
            batch: 50,
            attempts: 3,
            retry: Duration::from_secs(5),
            dead_letter: DeadLetter::Table,
            system: false,
            file_above: 1024 * 1024,
            idle: Duration::from_secs(10),
        }
    }
}
