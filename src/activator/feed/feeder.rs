//! One feed at work: hands over message after message, hears the answers, and settles.
//!
//! The shell around [`session`](super::session) and [`settlement`](super::settlement): it waits for the server, the handler
//! and the word to stop, whichever says something first.

use super::body::FedBody;
use super::handler::{self, Handler};
use super::protocol::{self, Answer, Fed, Hello, key};
use super::session::{Handled, Operation, Session, Step};
use super::settlement::{Failure, Settlement};
use super::{Assignment, Halt, Shared, UNREACHABLE};
use crate::activator::config::{DeadLetter, LogLevel};
use crate::activator::log_lines;
use crate::client::{Batch, Broker, ConversationHandle, Error, ErrorKind, Message, MessageKind, Receiver};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// A handler is kept at least so long without a message, so that the first RECEIVE can come back.
const SHORTEST_IDLE: Duration = Duration::from_secs(1);

/// One feed at work.
pub(super) struct Feeder {
    pub(super) assignment: Assignment,
    pub(super) shared: Arc<Shared>,
    pub(super) handler: Handler,
    pub(super) session: Session,
    pub(super) broker: Broker,
    pub(super) stop: CancellationToken,
}

/// Why a message came to nothing.
struct Trouble {
    failure: Failure,
    /// Whether the handler can be fed no more.
    is_broken: bool,
}

impl Feeder {
    /// Works until there is a reason to go no further.
    pub(super) async fn run(&mut self, mut receiver: Receiver) -> Halt {
        let Assignment { app, database, queue, launch, .. } = &self.assignment;
        let hello = protocol::line(&Hello::new(app, database, queue, *launch));
        if let Err(reason) = handler::write(self.handler.split().0, &hello).await {
            return Halt::Broken(reason);
        }
        let mut next = None;
        let mut failures = 0;
        loop {
            let received = match next.take() {
                Some(batch) => Ok(batch),
                None => self.receive(&mut receiver).await,
            };
            let batch = match received {
                Ok(batch) => batch,
                Err(halt) => return halt,
            };
            match self.process(batch).await {
                Ok(Ok(more)) => (next, failures) = (more, 0),
                Ok(Err(halt)) => return halt,
                Err(error) => {
                    if let Err(halt) = self.pause(&error, &mut failures).await {
                        return halt;
                    }
                }
            }
        }
    }

    /// The next batch. What the handler says meanwhile is heard.
    async fn receive(&mut self, receiver: &mut Receiver) -> Result<Batch, Halt> {
        let deadline = tokio::time::Instant::now() + self.assignment.settings.idle.max(SHORTEST_IDLE);
        let stop = self.stop.clone();
        loop {
            let line = tokio::select! {
                biased;
                () = stop.cancelled() => return Err(Halt::Stopped),
                batch = receiver.next() => return batch.map_err(|error| {
                    Halt::Broken(format!("nothing can be received for it: {}", log_lines::chain(&error)))
                }),
                line = self.handler.hear() => line,
                () = tokio::time::sleep_until(deadline) => return Err(Halt::Idle),
            };
            self.hear_between(line).await.map_err(Halt::Broken)?;
        }
    }

    /// Waits before the next attempt, or gives up what waiting does not mend.
    async fn pause(&mut self, error: &Error, failures: &mut u32) -> Result<(), Halt> {
        let reason = log_lines::chain(error);
        let app = &self.assignment.app;
        tracing::warn!(target: "activator", app, "messages for {app} were not settled and come again: {reason}");
        if !error.is_retryable() && !error.is_connection_lost() {
            return Err(Halt::Broken(format!("its messages cannot be settled: {reason}")));
        }
        let pause = tokio::time::sleep(UNREACHABLE.delay(*failures, self.assignment.launch.chance()));
        *failures += 1;
        match self.stop.run_until_cancelled(pause).await {
            Some(()) => Ok(()),
            None => Err(Halt::Stopped),
        }
    }

    /// Feeds a batch and settles it; answers the batch that came with the commit. An outer error leaves nothing settled.
    async fn process(&mut self, mut batch: Batch) -> crate::client::Result<Result<Option<Batch>, Halt>> {
        let messages = batch.take_messages();
        let Some(first) = messages.first() else { return batch.commit().await.map(|()| Ok(None)) };
        if let Err(halt) = self.hold(first).await {
            batch.give_back().await?;
            return Ok(Err(halt));
        }
        let failures = self.failures(&mut batch, &messages).await?;
        let trouble = self.feed_all(&messages, &failures).await;
        if trouble.is_none() {
            self.hear_rest().await;
        }
        let is_broken = trouble.as_ref().is_some_and(|trouble| trouble.is_broken);
        let failure = trouble.map(|trouble| trouble.failure);
        let reason = failure.as_ref().map(|failure| failure.reason.clone());
        let settlement = Settlement {
            broker: &self.broker,
            settings: &self.assignment.settings,
            deliveries: &self.shared.deliveries,
            messages: &messages,
            failures,
            handled: self.session.settle(),
            failure,
        };
        let wants_more = !self.stop.is_cancelled() && !is_broken;
        let (left, next) = settlement.settle(batch, wants_more).await?;
        if let Some(failure) = left {
            self.tell_failure(first, &failure);
        }
        match reason {
            Some(reason) if is_broken => Ok(Err(Halt::Broken(reason))),
            _ => Ok(Ok(next)),
        }
    }

    /// Waits until the group of this message may be handled; its messages stay locked meanwhile.
    async fn hold(&mut self, message: &Message) -> Result<(), Halt> {
        let until = self.shared.deferrals().until(message.group, Instant::now());
        let Some(until) = until else { return Ok(()) };
        let stop = self.stop.clone();
        loop {
            let line = tokio::select! {
                () = stop.cancelled() => return Err(Halt::Stopped),
                () = tokio::time::sleep_until(until.into()) => return Ok(()),
                line = self.handler.hear() => line,
            };
            self.hear_between(line).await.map_err(Halt::Broken)?;
        }
    }

    /// How often each message failed before.
    async fn failures(
        &self,
        batch: &mut Batch,
        messages: &[Message],
    ) -> crate::client::Result<HashMap<(ConversationHandle, i64), u32>> {
        if self.assignment.settings.dead_letter == DeadLetter::EndConversation {
            let counted = |message| (key(message), self.shared.deliveries.attempts(message));
            return Ok(messages.iter().map(counted).collect());
        }
        let mut failures = HashMap::new();
        let mut asked: Vec<ConversationHandle> = Vec::new();
        for conversation in messages.iter().map(|message| message.conversation) {
            if !asked.contains(&conversation) {
                asked.push(conversation);
                let counted = batch.attempts_on(conversation).await.map_err(without_tables)?;
                failures.extend(counted.into_iter().map(|(number, count)| ((conversation, number), count)));
            }
        }
        Ok(failures)
    }

    /// Feeds message after message up to the first that comes to nothing, or until told to stop.
    async fn feed_all(
        &mut self,
        messages: &[Message],
        failures: &HashMap<(ConversationHandle, i64), u32>,
    ) -> Option<Trouble> {
        for message in messages {
            if self.stop.is_cancelled() {
                return None;
            }
            let failed = failures.get(&key(message)).copied().unwrap_or(0);
            if let Some(handled) = self.without_handler(message, failed) {
                self.session.decide(message, handled);
            } else if let Err(trouble) = self.hand_over(message, failed).await {
                return Some(trouble);
            }
        }
        None
    }

    /// What becomes of a message that no handler is to see.
    fn without_handler(&self, message: &Message, failed: u32) -> Option<Handled> {
        let settings = &self.assignment.settings;
        if self.session.is_ended(message.conversation) {
            return Some(Handled::default());
        }
        if message.is_user_message() || settings.system {
            // It was counted and not given up: the activator died in between.
            let reason = || format!("it had failed {failed} times before");
            let is_exhausted = failed >= settings.attempts;
            return is_exhausted.then(|| Handled::exhausted(reason()));
        }
        let operations = match &message.kind {
            MessageKind::EndDialog | MessageKind::Error(_) => vec![Operation::End(message.conversation)],
            _ => Vec::new(),
        };
        if let MessageKind::Error(error) = &message.kind {
            let (app, conversation) = (&self.assignment.app, tracing::field::display(message.conversation));
            tracing::warn!(
                target: "activator", app, %conversation,
                "a conversation failed and is ended: error {}, {}", error.code, error.description
            );
        }
        Some(Handled { operations, dead: None })
    }

    /// Hands one message over and waits until it is decided.
    async fn hand_over(&mut self, message: &Message, failed: u32) -> Result<(), Trouble> {
        let attempt = self.shared.deliveries.begin(message, failed).unwrap_or_else(|error| {
            tracing::error!(target: "activator", "a delivery cannot be noted: {error}");
            failed.saturating_add(1)
        });
        let id = self.session.hand_over(message);
        let spooled = self.shared.spool.put(&self.assignment, id, message.body.as_bytes());
        let fed = match &spooled {
            Ok(spooled) => {
                let body = spooled.body().or_else(|| FedBody::of(message.body.as_bytes()));
                protocol::line(&Fed::new(id, message, attempt, body))
            }
            Err(error) => return Err(self.trouble(format!("its body cannot be put into a file: {error}"))),
        };
        let limit = self.assignment.timeout;
        let talk = self.talk(&fed);
        let said = match limit {
            None => talk.await,
            Some(limit) => tokio::time::timeout(limit, talk)
                .await
                .unwrap_or_else(|_elapsed| Err(format!("it did not answer within {limit:?}"))),
        };
        match said {
            Ok(Step::Retry(delay)) => {
                let reason = "the handler asked for it to come again later".to_owned();
                Err(Trouble { failure: Failure { reason, delay }, is_broken: false })
            }
            Ok(_handled) => Ok(()),
            Err(reason) => Err(self.trouble(reason)),
        }
    }

    /// The handler is of no use any more, and the message that is out has failed with it.
    fn trouble(&mut self, reason: String) -> Trouble {
        self.session.take_back();
        let delay = self.assignment.settings.retry;
        Trouble { failure: Failure { reason, delay }, is_broken: true }
    }

    /// Writes a line and hears answers until the message that is out is decided.
    async fn talk(&mut self, line: &[u8]) -> Result<Step, String> {
        let mut decided = None;
        {
            let (input, lines) = self.handler.split();
            let mut write = std::pin::pin!(handler::write(input, line));
            let mut is_written = false;
            while !is_written || decided.is_none() {
                tokio::select! {
                    written = &mut write, if !is_written => {
                        written?;
                        is_written = true;
                    }
                    heard = lines.recv(), if decided.is_none() => {
                        let answer = Answer::parse(&handler::heard(heard)?)?;
                        match self.session.answer(answer)? {
                            step @ (Step::Handled | Step::Retry(_)) => decided = Some(step),
                            Step::Late(operation) => end_late(&self.broker, operation).await,
                            Step::Log { level, text } => log(&self.assignment, level, &text),
                            Step::Wait => {}
                        }
                    }
                }
            }
        }
        Ok(decided.expect("the loop ends with a decision"))
    }

    /// A line that came while no message is out.
    async fn hear_between(&mut self, line: Result<Vec<u8>, String>) -> Result<(), String> {
        match self.session.answer(Answer::parse(&line?)?)? {
            Step::Late(operation) => end_late(&self.broker, operation).await,
            Step::Log { level, text } => log(&self.assignment, level, &text),
            Step::Wait | Step::Handled | Step::Retry(_) => {}
        }
        Ok(())
    }

    /// Hears what is there before the batch is settled, so that an end said right after "done" goes with it. A fault shows
    /// again at the next line.
    async fn hear_rest(&mut self) {
        tokio::task::yield_now().await;
        while let Some(line) = self.handler.heard_already() {
            if let Err(reason) = self.hear_between(line).await {
                tracing::warn!(target: "activator", app = self.assignment.app, "a line of the handler is passed over: {reason}");
            }
        }
    }

    fn tell_failure(&self, message: &Message, failure: &Failure) {
        let delay = self.shared.put_off(message, failure.delay);
        let (app, group) = (&self.assignment.app, tracing::field::display(message.group));
        tracing::warn!(
            target: "activator", app, %group,
            "a message for {app} failed, and its group waits for {delay:?}: {}", failure.reason
        );
    }
}

/// An end that was said when its message had been settled already.
async fn end_late(broker: &Broker, operation: Operation) {
    let (conversation, outcome) = match operation {
        Operation::End(conversation) => (conversation, broker.attach(conversation).end().await),
        Operation::EndWithError { conversation, code, text } => {
            (conversation, broker.attach(conversation).end_with_error(code, &text).await)
        }
        Operation::Send { .. } => return,
    };
    if let Err(error) = outcome {
        let (conversation, reason) = (tracing::field::display(conversation), log_lines::chain(&error));
        tracing::warn!(target: "activator", %conversation, "a conversation could not be ended: {reason}");
    }
}

/// Says what is to be done when the tables are missing.
fn without_tables(error: Error) -> Error {
    if error.kind() == ErrorKind::ObjectMissing {
        return Error::new(
            ErrorKind::ObjectMissing,
            "the tables of sql/05-dead-letters.sql are missing in the database of the queue; create them, or set \
             feed.dead_letter = \"end\"",
        )
        .with_cause(error);
    }
    error
}

/// A line of the handler for our log.
fn log(assignment: &Assignment, level: LogLevel, text: &str) {
    let (app, launch) = (&assignment.app, tracing::field::display(assignment.launch));
    match level {
        LogLevel::Error => tracing::error!(target: "activator", app, launch, "{app}: {text}"),
        LogLevel::Warn => tracing::warn!(target: "activator", app, launch, "{app}: {text}"),
        LogLevel::Info => tracing::info!(target: "activator", app, launch, "{app}: {text}"),
        LogLevel::Debug => tracing::debug!(target: "activator", app, launch, "{app}: {text}"),
        LogLevel::Trace => tracing::trace!(target: "activator", app, launch, "{app}: {text}"),
    }
}
