//! A named session of a script, whose statement may go on while other sessions run theirs.

use ssbroker_emulator::output::{Collected, Event};
use ssbroker_emulator::request::RequestHandler;
use ssbroker_emulator::session::Session;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::server::settle;

/// A session, at rest or running a statement.
pub(super) struct Client {
    state: State,
    cancel: CancellationToken,
}

enum State {
    Idle(Box<Session>),
    Running(JoinHandle<(Session, Vec<Event>)>),
}

impl Client {
    pub(super) fn new(session: Session) -> Client {
        Client { state: State::Idle(Box::new(session)), cancel: CancellationToken::new() }
    }

    /// Runs a batch until it is done or nothing moves any more; `None` then: it waits.
    pub(super) async fn run(self, batch: String) -> Result<(Client, Option<Vec<Event>>), String> {
        let State::Idle(mut session) = self.state else {
            return Err("the session's last statement has not ended; wait for it first".to_owned());
        };
        let cancel = CancellationToken::new();
        let token = cancel.clone();
        let running = tokio::spawn(async move {
            let mut sink = Collected::default();
            session.batch(batch, &mut sink, &token).await;
            (*session, sink.events)
        });
        Client { state: State::Running(running), cancel }.outcome().await
    }

    /// Outcome of the running statement; `None` when it still waits.
    pub(super) async fn outcome(self) -> Result<(Client, Option<Vec<Event>>), String> {
        let State::Running(running) = self.state else {
            return Err("the session runs no statement".to_owned());
        };
        settle().await;
        if !running.is_finished() {
            return Ok((Client { state: State::Running(running), cancel: self.cancel }, None));
        }
        let (session, events) = running.await.map_err(|error| format!("the statement panicked: {error}"))?;
        Ok((Client::new(session), Some(events)))
    }

    /// Asks the running statement to stop, as a client's Attention does.
    pub(super) fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Closes the session, as when the connection is lost.
    pub(super) async fn close(self) {
        match self.state {
            State::Idle(session) => drop(session),
            State::Running(running) => {
                running.abort();
                // Whether it ended before the abort reached it makes no difference: the session is dropped either way.
                let _ = running.await;
            }
        }
        settle().await;
    }
}
