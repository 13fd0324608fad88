//! The connection of a notification service, shared by the task that waits and the one that looks.
//!
//! Waiting takes a connection of its own; everything else goes through one pooled connection, so an instance has two.
//! It is made when first asked for, and then repairs itself. Decides nothing.

use crate::client::{self, Broker, BrokerOptions};
use std::sync::Arc;
use tokio::sync::OnceCell;

/// A connection that is made when it is first used.
#[derive(Debug, Clone)]
pub(in crate::activator) struct Link {
    options: BrokerOptions,
    broker: Arc<OnceCell<Broker>>,
}

impl Link {
    /// A link that is not connected yet.
    pub(in crate::activator) fn new(options: BrokerOptions) -> Self {
        Self { options, broker: Arc::default() }
    }

    /// The broker; connects if nobody did. A failure is not remembered: the next call tries again.
    pub(in crate::activator) async fn broker(&self) -> client::Result<&Broker> {
        let options = || self.options.clone().with_max_pool_size(1);
        self.broker.get_or_try_init(|| Broker::with_options(options())).await
    }

    /// How it connects; the limit of its own pool is not in it.
    pub(in crate::activator) fn options(&self) -> &BrokerOptions {
        &self.options
    }

    /// The address, as shown to people and given to handlers.
    pub(in crate::activator) fn address(&self) -> String {
        format!("{},{}", self.options.host(), self.options.port())
    }
}
