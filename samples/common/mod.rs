//! Where a sample's server comes from: the connection string in its first argument, or an embedded broker of its own.

use std::error::Error;

use ssbroker::client::Broker;
use ssbroker_emulator::Emulator;

/// A server for as long as the sample runs.
pub(crate) struct Server {
    pub(crate) connection_string: String,
    /// Goes with the sample.
    embedded: Option<Emulator>,
}

impl Server {
    /// Takes the argument, or starts the embedded broker.
    pub(crate) async fn from_arguments() -> Result<Self, Box<dyn Error>> {
        if let Some(connection_string) = std::env::args().nth(1) {
            return Ok(Self { connection_string, embedded: None });
        }
        let emulator = Emulator::start().await?;
        Ok(Self { connection_string: emulator.connection_string("msdb"), embedded: Some(emulator) })
    }

    /// Whether it is an embedded broker.
    #[allow(dead_code, reason = "not every sample asks")]
    pub(crate) fn is_embedded(&self) -> bool {
        self.embedded.is_some()
    }

    /// Connects, and makes the sample's objects unless they exist.
    pub(crate) async fn prepare(&self, script: &str) -> Result<Broker, Box<dyn Error>> {
        let broker = Broker::connect(&self.connection_string).await?;
        for batch in script.split("\nGO\n").filter(|batch| !batch.trim().is_empty()) {
            broker.batch(batch).await?;
        }
        Ok(broker)
    }
}
