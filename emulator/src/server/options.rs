//! Settings of a server.

use std::sync::Arc;
use std::time::Duration;

use super::counters::ServerCounters;
use crate::tls::ServerTls;

/// Whether connections are encrypted.
#[derive(Debug, Clone, Default)]
pub enum Encryption {
    /// Never. Clients that demand encryption refuse to connect (tedious goes on in plain text).
    #[default]
    Unsupported,
    /// As the client asks: everything, the login only, or nothing.
    Offered(ServerTls),
    /// Everything; clients that cannot are sent away.
    Required(ServerTls),
}

/// Settings that all connections of a server share.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Name of the server in its messages.
    pub server_name: String,
    /// Whether connections are encrypted. Default: unsupported.
    pub encryption: Encryption,
    /// Longest request in bytes; a longer one ends the connection. Default: 2 GiB less one byte.
    pub max_message: usize,
    /// Time from connect to login, after which the connection is closed. Default: 30 seconds.
    pub login_timeout: Duration,
    /// Counts what the server does.
    pub counters: Arc<ServerCounters>,
}

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        ServerOptions {
            server_name: "ssbroker".to_owned(),
            encryption: Encryption::default(),
            max_message: i32::MAX as usize,
            login_timeout: Duration::from_secs(30),
            counters: Arc::default(),
        }
    }
}
