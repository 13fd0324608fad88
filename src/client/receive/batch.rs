//! A batch of received messages: the open transaction as its owner sees it.
//!
//! Every verb is an order to the receiver's task, which carries it out even if the caller's future is dropped; a batch
//! that is dropped undecided is given back. Committing or giving back spends the batch.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::afterwards::Afterwards;
use super::received::{Earlier, Received};
use super::transaction::TransactionState;
use crate::client::body::Body;
use crate::client::error::{Error, ErrorKind, Result};
use crate::client::ids::{ConversationGroup, ConversationHandle};
use crate::client::message::{Message, OutgoingMessage};
use crate::client::names::MessageTypeName;
use crate::client::outcome::SendOutcome;
use crate::client::rows::Results;
use crate::client::sending;
use crate::client::session::Session;
use crate::client::statements::{self, Failed, Opening, ReceiveSpec, Scope, Statement};
use crate::client::telemetry::BatchOutcome;
use crate::client::values::SqlValue;

/// What runs on the batch's connection.
pub(crate) type Work<'s, T> = Pin<Box<dyn Future<Output = T> + Send + 's>>;

/// Work on the batch's connection, or the reason why there is none.
pub(super) type Job = Box<dyn for<'s> FnOnce(Result<&'s mut Session>) -> Work<'s, ()> + Send>;

/// What a batch asks its receiver's task to do.
pub(super) enum Order {
    Run(Job),
    Commit {
        /// What a commit means for the messages: handled, or given back.
        outcome: BatchOutcome,
        answer: oneshot::Sender<Result<()>>,
    },
    CommitAndNext {
        max_messages: u32,
        answer: oneshot::Sender<Result<Option<Batch>>>,
    },
    GiveBack(oneshot::Sender<()>),
}

/// Received messages of one conversation group, and the transaction they were received in.
///
/// The group stays locked until the batch is decided; a batch that is out for 30 s is told in the log. Dropping it undecided gives the messages back to the queue,
/// without counting as a roll back; what was done in the transaction is undone.
#[derive(Debug)]
pub struct Batch {
    spec: Box<ReceiveSpec>,
    queue: String,
    messages: Vec<Message>,
    earlier: Earlier,
    orders: mpsc::Sender<Order>,
    state: Arc<TransactionState>,
    pub(super) afterwards: Afterwards,
}

impl Batch {
    pub(super) fn new(spec: ReceiveSpec, received: Received) -> (Self, mpsc::Receiver<Order>) {
        let (orders, receiver) = mpsc::channel(1);
        let Received { messages, earlier, .. } = received;
        let (state, afterwards) = (Arc::default(), Afterwards::default());
        let queue = spec.queue.quoted();
        (Self { spec: Box::new(spec), queue, messages, earlier, orders, state, afterwards }, receiver)
    }

    /// The messages, in the order in which the server gave them.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Takes the messages out, to own their bodies; the batch stays to be decided.
    ///
    /// Whoever commits it before working on them has each message at most once: what fails afterwards is lost.
    #[must_use]
    pub fn take_messages(&mut self) -> Vec<Message> {
        std::mem::take(&mut self.messages)
    }

    /// The queue, quoted as in T-SQL.
    #[must_use]
    pub fn queue(&self) -> &str {
        &self.queue
    }

    /// Runs a statement in the receiving transaction; the values are `@P1`, `@P2`, and so on.
    ///
    /// # Errors
    /// What the server answered. Most errors leave the transaction open, and the statement was undone. Some end it, such as a
    /// deadlock or a failed conversion: everything that is asked of the batch after one of those fails with
    /// [`ErrorKind::TransactionDoomed`], and nothing of it runs.
    ///
    /// # Cancellation
    /// Safe: the statement runs to its end, its results are thrown away.
    pub async fn execute(&mut self, sql: impl Into<String>, values: &[SqlValue]) -> Result<Results> {
        let (sql, values) = (sql.into(), values.to_vec());
        self.on_session(move |session| {
            Box::pin(async move { session.execute(&Statement::with_values(&sql, &values)).await })
        })
        .await
    }

    /// Sends a message on a conversation, usually an answer on [`Message::conversation`]; it leaves at the commit.
    ///
    /// # Errors
    /// What the server answered. Cancelling is safe; the message may then leave with the commit.
    pub async fn send(
        &mut self,
        conversation: ConversationHandle,
        message_type: &MessageTypeName,
        body: impl Into<Body>,
    ) -> Result<()> {
        let message = OutgoingMessage::new(message_type.clone(), body);
        self.on_session(move |session| {
            Box::pin(async move { sending::send(session, Scope::Joined, conversation, &message).await })
        })
        .await
    }

    /// Sends many messages in few round trips; neighbours on the same conversation share one. They leave at the commit.
    ///
    /// # Errors
    /// The first refusal; messages after it on the same conversation may have been sent. Give the batch back, or decide
    /// what the refusal means. Cancelling is safe.
    pub async fn send_all(&mut self, messages: Vec<(ConversationHandle, OutgoingMessage)>) -> Result<()> {
        self.on_session(move |session| Box::pin(async move { send_runs(session, &messages).await })).await
    }

    /// Ends our side of a conversation within the transaction.
    ///
    /// # Errors
    /// What the server answered. Cancelling is safe.
    pub async fn end(&mut self, conversation: ConversationHandle) -> Result<()> {
        self.on_session(move |session| {
            Box::pin(async move { sending::end(session, Scope::Joined, conversation).await })
        })
        .await
    }

    /// Ends our side with an error that the peer receives. `code` is positive.
    ///
    /// # Errors
    /// What the server answered. Cancelling is safe.
    pub async fn end_with_error(
        &mut self,
        conversation: ConversationHandle,
        code: i32,
        description: impl Into<String>,
    ) -> Result<()> {
        let description = description.into();
        self.on_session(move |session| {
            Box::pin(async move {
                sending::end_with_error(session, Scope::Joined, conversation, code, &description).await
            })
        })
        .await
    }

    /// Commits: the messages are gone, what was sent leaves, the group is unlocked.
    ///
    /// ```compile_fail,E0382
    /// # async fn example(batch: ssbroker::client::Batch) -> Result<(), ssbroker::client::Error> {
    /// batch.commit().await?;
    /// batch.commit().await?; // the batch is spent
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// ```compile_fail,E0382
    /// # async fn example(mut batch: ssbroker::client::Batch) -> Result<(), ssbroker::client::Error> {
    /// let conversation = batch.messages()[0].conversation;
    /// batch.commit().await?;
    /// batch.end(conversation).await?; // so is the right to work in its transaction
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// ```compile_fail,E0382
    /// # async fn example(batch: ssbroker::client::Batch) -> Result<(), ssbroker::client::Error> {
    /// batch.give_back().await?;
    /// batch.commit().await?; // what was given back cannot be committed
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::CommitUnknown`] when the answer was lost: it may have happened. Otherwise nothing happened and the
    /// messages are back. Cancelling does not stop the commit.
    pub async fn commit(mut self) -> Result<()> {
        let afterwards = std::mem::take(&mut self.afterwards);
        self.decide(|answer| Order::Commit { outcome: BatchOutcome::Committed, answer }).await??;
        afterwards.run();
        Ok(())
    }

    /// Commits and takes the next messages in the same round trip, without waiting for any; `None` when nothing is
    /// ready: then call [`Receiver::next`](super::Receiver::next), which waits.
    ///
    /// # Errors
    /// As [`commit`](Batch::commit); a failure to receive shows at the next [`Receiver::next`](super::Receiver::next).
    /// Cancelling does not stop the commit, and the next batch goes to the next caller.
    pub async fn commit_and_next(self) -> Result<Option<Batch>> {
        let max_messages = self.spec.max_messages;
        self.commit_and_take(max_messages).await
    }

    /// Gives the messages back to the queue, in order and without counting as a roll back of the queue.
    ///
    /// # Errors
    /// [`ErrorKind::Closed`] when the receiver's task has gone; the server then rolls back by itself. Cancelling does not stop
    /// it: a batch that is dropped is given back as well.
    pub async fn give_back(self) -> Result<()> {
        self.decide(Order::GiveBack).await
    }

    /// Whether nothing can be done in the transaction any more. Known once what was asked last has been answered.
    pub(crate) fn is_over(&self) -> bool {
        self.state.is_over()
    }

    /// Whether it is over because a statement took longer than it may, which is nobody's fault but the statement's.
    pub(crate) fn has_timed_out(&self) -> bool {
        self.state.has_timed_out()
    }

    /// What is known of the first message, if it does not come from a queue.
    pub(crate) fn earlier(&self) -> Earlier {
        self.earlier
    }

    /// Like [`commit_and_next`](Batch::commit_and_next), with another limit of messages.
    pub(crate) async fn commit_and_take(mut self, max_messages: u32) -> Result<Option<Batch>> {
        let afterwards = std::mem::take(&mut self.afterwards);
        let next = self.decide(|answer| Order::CommitAndNext { max_messages, answer }).await??;
        afterwards.run();
        Ok(next)
    }

    /// Undoes everything done in the transaction since the messages were received, or since the last
    /// [`keep`](Batch::keep).
    pub(crate) async fn undo_handling(&mut self) -> Result<()> {
        self.afterwards.undo();
        self.on_session(move |session| {
            Box::pin(async move { session.batch(statements::UNDO_HANDLING).await.map(drop) })
        })
        .await
    }

    /// Does this once the transaction is known to be committed. What is given is dropped undone when the transaction is
    /// undone, given back, or its outcome is unknown.
    pub(crate) fn after_commit(&mut self, work: impl FnOnce() + Send + 'static) {
        self.afterwards.push(work);
    }

    /// Makes a later [`undo_handling`](Batch::undo_handling) keep what was done so far.
    pub(crate) async fn keep(&mut self) -> Result<()> {
        self.kept(|_session| Box::pin(async { Ok(()) })).await
    }

    /// Gives the messages back but for the first `count`, which are answered; what was done so far is undone.
    pub(crate) async fn shorten(&mut self, group: ConversationGroup, count: u32) -> Result<Vec<Message>> {
        let text = statements::receive_fewer(&self.spec, group, count);
        self.afterwards.clear();
        let results =
            self.on_session(move |session| Box::pin(async move { session.batch(&text).await })).await?;
        Received::read(results)?.whole().map(|received| received.messages)
    }

    /// Gives the messages back and commits what `statements` do.
    pub(crate) async fn give_back_and(mut self, statements: Vec<Statement<'static>>) -> Result<()> {
        self.afterwards.clear();
        self.on_session(move |session| {
            Box::pin(async move {
                session.batch(statements::GIVE_BACK_AND_GO_ON).await?;
                for statement in &statements {
                    session.execute(statement).await?;
                }
                Ok(())
            })
        })
        .await?;
        self.decide(|answer| Order::Commit { outcome: BatchOutcome::GivenBack, answer }).await?
    }

    /// Runs a statement of the library in the transaction.
    pub(crate) async fn run(&mut self, statement: Statement<'static>) -> Result<Results> {
        self.on_session(move |session| Box::pin(async move { session.execute(&statement).await })).await
    }

    /// Moves a received message to the dead letters; a later [`undo_handling`](Batch::undo_handling) keeps that.
    pub(crate) async fn park(&mut self, failed: Failed, cause: &'static str) -> Result<()> {
        self.kept(move |session| {
            Box::pin(async move { session.execute(&statements::park(&failed, cause)).await.map(drop) })
        })
        .await
    }

    /// Moves a received message to the retries; a later [`undo_handling`](Batch::undo_handling) keeps that.
    pub(crate) async fn schedule_retry(&mut self, failed: Failed, delay: Duration) -> Result<()> {
        self.kept(move |session| {
            Box::pin(
                async move { session.execute(&statements::schedule_retry(&failed, delay)).await.map(drop) },
            )
        })
        .await
    }

    /// Ends a conversation because of a poison message, if it has not ended yet; a later [`undo_handling`](Batch::undo_handling) keeps that.
    pub(crate) async fn end_poisoned(
        &mut self,
        conversation: ConversationHandle,
        code: i32,
        reason: String,
    ) -> Result<()> {
        self.kept(move |session| {
            Box::pin(async move {
                match sending::end_with_error(session, Scope::Joined, conversation, code, &reason).await {
                    Err(error) if !error.dialog_is_over() => Err(error),
                    _ => Ok(()),
                }
            })
        })
        .await
    }

    /// Does `work` and moves the savepoint behind it.
    async fn kept(
        &mut self,
        work: impl for<'s> FnOnce(&'s mut Session) -> Work<'s, Result<()>> + Send + 'static,
    ) -> Result<()> {
        self.on_session(move |session| {
            Box::pin(async move {
                work(session).await?;
                session.save(statements::BEFORE_HANDLING).await
            })
        })
        .await?;
        self.afterwards.keep();
        Ok(())
    }

    pub(super) fn into_received(mut self) -> Received {
        Received { messages: self.take_messages(), earlier: self.earlier, withheld: None }
    }

    /// Lets the receiver's task run `work` on the connection and waits for its result. Once the server has ended the
    /// transaction nothing runs any more: it would be committed at once, by itself.
    pub(crate) async fn on_session<T: Send + 'static>(
        &mut self,
        work: impl for<'s> FnOnce(&'s mut Session) -> Work<'s, Result<T>> + Send + 'static,
    ) -> Result<T> {
        let (answer, result) = oneshot::channel();
        let state = Arc::clone(&self.state);
        let job: Job = Box::new(move |session| {
            Box::pin(async move {
                let done = match session {
                    Ok(session) => state.work_in(session, work).await,
                    Err(lost) => Err(lost),
                };
                let _ = answer.send(done);
            })
        });
        self.orders.send(Order::Run(job)).await.map_err(|_gone| gone())?;
        result.await.map_err(|_gone| gone())?
    }

    async fn decide<T>(self, order: impl FnOnce(oneshot::Sender<T>) -> Order) -> Result<T> {
        let (answer, outcome) = oneshot::channel();
        self.orders.send(order(answer)).await.map_err(|_gone| gone())?;
        outcome.await.map_err(|_gone| gone())
    }
}

/// Sends each run of messages on one conversation together.
async fn send_runs(session: &mut Session, messages: &[(ConversationHandle, OutgoingMessage)]) -> Result<()> {
    for run in messages.chunk_by(|left, right| left.0 == right.0) {
        let conversation = run[0].0;
        let messages: Vec<&OutgoingMessage> = run.iter().map(|(_, message)| message).collect();
        let answer =
            sending::send_many(session, Scope::Joined, Opening::Existing(conversation), &messages).await?;
        answer.outcomes.into_iter().try_for_each(SendOutcome::into_result)?;
    }
    Ok(())
}

fn gone() -> Error {
    Error::new(ErrorKind::Closed, "the receiver of this batch has stopped; the server rolls back")
}
