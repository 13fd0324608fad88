//! One feed at work: hands over message after message, hears the answers, and settles.
//!
//! The shell around [`session`](super::session) and [`settlement`](super::settlement): it waits for the server, the handler
//! and the word to stop, whichever says something first.

use super::body::FedBody;
use super::decisions::{Decisions, Failure};
use super::handler::{self, Handler};
use super::late_ends::LateEnds;
use super::protocol::{self, Answer, Fed, Hello, key};
use super::remarks::Remarks;
use super::session::{Handled, Operation, Session, Step};
use super::settlement::{Settled, Settlement};
use super::trouble::{Trouble, judge};
use super::{Assignment, Halt, Shared, UNREACHABLE};
use crate::activator::config::DeadLetter;
use crate::activator::log_lines;
use crate::activator::output::readable;
use crate::client::{Batch, Broker, ConversationHandle, Error, ErrorKind, Message, MessageKind, Receiver};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// A handler is kept at least so long without a message, so that the first RECEIVE can come back.
const SHORTEST_IDLE: Duration = Duration::from_secs(1);

/// How long a handler that reads no more may take to say what it has decided.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// Longest reason that is told, in bytes; a handler's own words may be part of it.
const LONGEST_REASON: usize = 1_000;

/// One feed at work.
pub(super) struct Feeder {
    pub(super) assignment: Assignment,
    pub(super) shared: Arc<Shared>,
    pub(super) handler: Handler,
    pub(super) session: Session,
    pub(super) broker: Broker,
    pub(super) ends: LateEnds,
    pub(super) remarks: Remarks,
    pub(super) stop: CancellationToken,
}

/// What comes after a batch.
enum After {
    /// The batch that came with the commit, if one did.
    More(Option<Batch>),
    Halt(Halt),
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
                Ok(After::More(more)) => (next, failures) = (more, 0),
                Ok(After::Halt(halt)) => return halt,
                Err(error) => {
                    if let Err(halt) = self.pause(&error, &mut failures).await {
                        return halt;
                    }
                }
            }
        }
    }

    /// Lets the handler go, and sees to what it said last. No batch may be in hand any more.
    pub(super) async fn finish(self) {
        let Self { assignment, handler, ends, remarks, .. } = self;
        drop(handler);
        remarks.finish(&assignment);
        ends.finish().await;
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
            self.hear_between(line).map_err(Halt::Broken)?;
        }
    }

    /// Waits before the next attempt, or gives up what waiting does not mend.
    async fn pause(&mut self, error: &Error, failures: &mut u32) -> Result<(), Halt> {
        let reason = readable(log_lines::chain(error).as_bytes());
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

    /// Feeds a batch and settles it. An error leaves nothing settled.
    async fn process(&mut self, mut batch: Batch) -> crate::client::Result<After> {
        let messages = batch.take_messages();
        let Some(first) = messages.first() else {
            return batch.commit().await.map(|()| After::More(None));
        };
        if let Err(halt) = self.hold(first).await {
            batch.give_back().await?;
            return Ok(After::Halt(halt));
        }
        let failures = self.failures(&mut batch, &messages).await?;
        let fed = match self.feed_all(&messages, &failures).await {
            Ok(()) => self.hear_rest().await.map_err(Trouble::broken),
            Err(trouble) => Err(trouble),
        };
        let Trouble { failure, broken } = fed.err().unwrap_or_default();
        let wants_more = !self.stop.is_cancelled() && broken.is_none();
        let settled = self.settle(batch, &messages, failures, failure, wants_more).await?;
        if let Some(failure) = settled.failure {
            self.tell_failure(first, &failure);
        }
        let stuck = |error: Error| format!("a message cannot be given up: {}", log_lines::chain(&error));
        match broken.or(settled.stuck.map(stuck)) {
            Some(reason) => Ok(After::Halt(Halt::Broken(reason))),
            None => Ok(After::More(settled.next)),
        }
    }

    /// Settles what is decided; the session knows afterwards how much of it holds.
    async fn settle(
        &mut self,
        batch: Batch,
        messages: &[Message],
        failures: HashMap<(ConversationHandle, i64), u32>,
        failure: Option<Failure>,
        wants_more: bool,
    ) -> crate::client::Result<Settled> {
        let settlement = Settlement {
            broker: &self.broker,
            settings: &self.assignment.settings,
            deliveries: &self.shared.deliveries,
            failures,
            decisions: Decisions::new(messages, self.session.take_handled(), failure),
        };
        let settled = settlement.settle(batch, wants_more).await;
        self.session.settled(settled.as_ref().map_or(0, |settled| settled.count));
        settled
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
            self.hear_between(line).map_err(Halt::Broken)?;
        }
    }

    /// How often each message failed before.
    async fn failures(
        &self,
        batch: &mut Batch,
        messages: &[Message],
    ) -> crate::client::Result<HashMap<(ConversationHandle, i64), u32>> {
        if self.assignment.settings.dead_letter == DeadLetter::EndConversation {
            let counted = |message| (key(message), self.shared.deliveries.failures(message));
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

    /// Feeds message after message up to the first that comes to nothing, or until told to stop, or until what they lead to is
    /// to be settled first.
    async fn feed_all(
        &mut self,
        messages: &[Message],
        failures: &HashMap<(ConversationHandle, i64), u32>,
    ) -> Result<(), Trouble> {
        for message in messages {
            if self.stop.is_cancelled() || self.session.is_full() {
                break;
            }
            let failed = failures.get(&key(message)).copied().unwrap_or(0);
            match self.without_handler(message, failed) {
                Some(handled) => self.session.decide(message, handled),
                None => self.hand_over(message, failed).await?,
            }
        }
        Ok(())
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
        let id = self.session.hand_over(message);
        self.assignment.handed_over.fetch_add(1, Ordering::Relaxed);
        let spooled = match self.shared.spool.put(&self.assignment, id, message.body.as_bytes()) {
            Ok(spooled) => spooled,
            Err(error) => {
                // Our disk, and no fault of the message: it goes back as it came.
                self.session.take_back();
                return Err(Trouble::broken(format!("a body cannot be put into a file for it: {error}")));
            }
        };
        let (attempt, noted) = self.shared.deliveries.begin(message, failed);
        if let Err(error) = noted {
            tracing::error!(target: "activator", "a delivery cannot be noted: {error}");
        }
        let body = spooled.body().or_else(|| FedBody::of(message.body.as_bytes()));
        let line = protocol::line(&Fed::new(id, message, attempt, body));
        let limit = self.assignment.timeout;
        let mut decided = None;
        let talk = self.talk(&line, &mut decided);
        let said = match limit {
            None => talk.await,
            Some(limit) => tokio::time::timeout(limit, talk)
                .await
                .unwrap_or_else(|_elapsed| Err(format!("it did not answer within {limit:?}"))),
        };
        // Nobody waits for its decision any more, if there was none.
        self.session.take_back();
        judge(decided, said, self.assignment.settings.retry)
    }

    /// Writes a line and hears answers until it is written and the message that is out is decided. A decision holds even if
    /// there is an error behind it, or if this is cancelled. One that does not read the line may have said it all before.
    async fn talk(&mut self, line: &[u8], decided: &mut Option<Step>) -> Result<(), String> {
        let Self { assignment, handler, session, ends, remarks, .. } = self;
        let (input, lines) = handler.split();
        let mut write = std::pin::pin!(handler::write(input, line));
        let mut written = None;
        let mut last_words = std::pin::pin!(tokio::time::sleep(LAST_WORDS));
        while written.is_none() || decided.is_none() {
            tokio::select! {
                outcome = &mut write, if written.is_none() => {
                    written = Some(outcome);
                    last_words.as_mut().reset(tokio::time::Instant::now() + LAST_WORDS);
                }
                heard = lines.next() => match understand(session, &heard?)? {
                    step @ (Step::Handled | Step::Retry(_)) => *decided = Some(step),
                    Step::Late(operation) => ends.add(operation),
                    Step::Log { level, text } => remarks.log(assignment, level, &text),
                    Step::Wait => {}
                },
                () = &mut last_words, if matches!(written, Some(Err(_))) => break,
            }
        }
        written.unwrap_or(Ok(()))
    }

    /// A line that came while no message is out.
    fn hear_between(&mut self, line: Result<Vec<u8>, String>) -> Result<(), String> {
        match understand(&mut self.session, &line?)? {
            Step::Late(operation) => self.ends.add(operation),
            Step::Log { level, text } => self.remarks.log(&self.assignment, level, &text),
            Step::Wait | Step::Handled | Step::Retry(_) => {}
        }
        Ok(())
    }

    /// Hears what is there before the batch is settled, so that an end said right after "done" goes with it. What is decided
    /// holds even if there is a fault.
    async fn hear_rest(&mut self) -> Result<(), String> {
        tokio::task::yield_now().await;
        while let Some(line) = self.handler.heard_already() {
            self.hear_between(line)?;
        }
        Ok(())
    }

    fn tell_failure(&self, message: &Message, failure: &Failure) {
        let delay = self.shared.put_off(message, failure.delay);
        let (app, group) = (&self.assignment.app, tracing::field::display(message.group));
        tracing::warn!(
            target: "activator", app, %group,
            "a message for {app} failed, and its group waits for {delay:?}: {}", readable(failure.reason.as_bytes())
        );
    }
}

/// Takes in a line of the handler. What is wrong with it is told with the handler's own words, so they are made fit for a
/// log.
fn understand(session: &mut Session, line: &[u8]) -> Result<Step, String> {
    let step = Answer::parse(line).and_then(|answer| session.answer(answer));
    step.map_err(|reason| readable(&reason.as_bytes()[..reason.len().min(LONGEST_REASON)]))
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
