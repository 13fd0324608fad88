//! The connection of a receiver: one of its own, made anew when it is lost.
//!
//! A link is up or down, and says so in one log line for each change. After a loss it asks which broker answers: a
//! database that failed over to another broker, or one whose broker is switched off, is not a network at fault.

use std::time::Duration;

use tokio::sync::watch;

use crate::client::broker::{Broker, BrokerInstance, instance_of};
use crate::client::error::{Error, ErrorKind, Result};
use crate::client::pool::random_fraction;
use crate::client::retry::Backoff;
use crate::client::session::Session;
use crate::client::telemetry;

/// What a request of a receiver may take beyond its wait.
const SLACK: Duration = Duration::from_secs(30);

/// Whether a receiver has its connection.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Connectivity {
    /// It has.
    Connected,
    /// It was lost and is made anew as soon as somebody waits for messages: why it was lost, or why the last attempt failed.
    Reconnecting(Error),
}

pub(super) struct Link {
    broker: Broker,
    queue: String,
    wait: Duration,
    instance: BrokerInstance,
    /// `None` while the connection is lost.
    session: Option<Session>,
    connectivity: watch::Sender<Connectivity>,
}

impl Link {
    /// Opens the connection. One attempt.
    pub(super) async fn open(broker: Broker, queue: String, wait: Duration) -> Result<Self> {
        let (session, instance) = open_session(&broker, wait).await?;
        let connectivity = watch::channel(Connectivity::Connected).0;
        Ok(Self { broker, queue, wait, instance, session: Some(session), connectivity })
    }

    /// Follows whether there is a connection.
    pub(super) fn connectivity(&self) -> watch::Receiver<Connectivity> {
        self.connectivity.subscribe()
    }

    /// The queue, quoted.
    pub(super) fn queue(&self) -> &str {
        &self.queue
    }

    /// The connection, if there is one now.
    pub(super) fn session(&mut self) -> Option<&mut Session> {
        self.session.as_mut()
    }

    /// The connection, made anew if it was lost. Tries until there is one or a reason that waiting does not mend.
    ///
    /// Dropping the future leaves the link down.
    pub(super) async fn connected(&mut self) -> Result<&mut Session> {
        if self.session.is_none() {
            let (session, instance) = self.reconnect().await?;
            if !instance.is_enabled {
                return Err(Error::new(
                    ErrorKind::BrokerDisabled,
                    format!("service broker is disabled in database {}", instance.database),
                ));
            }
            self.session = Some(session);
            self.connectivity.send_replace(Connectivity::Connected);
            telemetry::reconnected(&self.queue);
            tracing::info!(queue = self.queue, "the receiver is connected again");
            let before = std::mem::replace(&mut self.instance, instance);
            if before.id != self.instance.id {
                return Err(changed(&before, &self.instance));
            }
        }
        Ok(self.session.as_mut().expect("the session was made above"))
    }

    /// Gives the connection up.
    pub(super) fn lose(&mut self, error: &Error) {
        if self.session.take().is_some() {
            telemetry::connection_lost(&self.queue);
            tracing::warn!(queue = self.queue, %error, "the receiver lost its connection");
            self.connectivity.send_replace(Connectivity::Reconnecting(error.clone()));
        }
    }

    async fn reconnect(&self) -> Result<(Session, BrokerInstance)> {
        let backoff = Backoff::reconnect();
        let mut attempt = 0;
        loop {
            match open_session(&self.broker, self.wait).await {
                Ok(opened) => return Ok(opened),
                Err(error) if !may_come_back(&error) => return Err(error),
                Err(still_away) => {
                    self.connectivity.send_replace(Connectivity::Reconnecting(still_away));
                    tokio::time::sleep(backoff.delay(attempt, random_fraction())).await;
                }
            }
            attempt += 1;
        }
    }
}

/// Opens a connection for a receiver. Its requests may last as long as the wait, and a little: an answer that is later
/// than that comes from a server that has gone without a word.
async fn open_session(broker: &Broker, wait: Duration) -> Result<(Session, BrokerInstance)> {
    let mut session = broker.dedicated_session().await?;
    let instance = instance_of(&mut session).await?;
    session.set_request_timeout(Some(wait.saturating_add(SLACK)));
    Ok((session, instance))
}

/// Whether a server that was there before may take us back: it is away, starting, or its database is still recovering.
fn may_come_back(error: &Error) -> bool {
    error.is_retryable()
        || error.is_connection_lost()
        || error.server_number() == Some(crate::client::server_codes::DATABASE_UNAVAILABLE)
}

fn changed(before: &BrokerInstance, after: &BrokerInstance) -> Error {
    let text = format!(
        "another broker answers: {} in database {} instead of {} in {}; conversations of the old one are not known to it",
        after.id, after.database, before.id, before.database
    );
    Error::new(ErrorKind::BrokerChanged, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::error::ServerError;

    #[test]
    fn a_server_that_is_away_or_recovering_may_come_back_and_a_refused_login_does_not() {
        let server = |number| Error::from_server(ServerError::new(number, "text"));
        for error in [Error::new(ErrorKind::Connect, "refused"), server(4060), server(983), server(18401)] {
            assert!(may_come_back(&error), "{error:?}");
        }
        for error in [server(18456), Error::new(ErrorKind::Tls, "bad certificate")] {
            assert!(!may_come_back(&error), "{error:?}");
        }
    }
}
