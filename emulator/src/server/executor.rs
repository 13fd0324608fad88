//! Answers the requests of a logged-in client, one after the other, in the order of their arrival.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWrite;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::counters::{ServerCounters, count};
use super::reader::Incoming;
use crate::request::RequestHandler;
use crate::tds::error::ProtocolError;
use crate::tds::packet::{Message, PacketType, Status};
use crate::tds::reply::ReplySink;
use crate::tds::{batch, rpc, transaction_manager};

/// Time a client gets to take the end of a connection that the server closes.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// A session with its way back to the client.
pub(super) struct Executor<H, W> {
    session: H,
    reply: ReplySink<W>,
    counters: Arc<ServerCounters>,
}

impl<H: RequestHandler, W: AsyncWrite + Unpin + Send> Executor<H, W> {
    /// An executor for one session.
    pub(super) fn new(session: H, reply: ReplySink<W>, counters: Arc<ServerCounters>) -> Executor<H, W> {
        Executor { session, reply, counters }
    }

    /// Answers until nothing more comes or an error of severity 20 or above went out, then drops the session and ends the stream.
    pub(super) async fn run(mut self, mut queue: mpsc::Receiver<Incoming>) -> io::Result<()> {
        while let Some(incoming) = queue.recv().await {
            match incoming {
                Incoming::Request { message, cancel } => {
                    self.answer(message, cancel).await?;
                    if self.reply.is_fatal() {
                        break;
                    }
                }
                Incoming::Ignored => self.reply.end().await?,
                Incoming::Attention => self.reply.acknowledge_attention().await?,
                Incoming::Broken(error) => {
                    self.reply.encoder().refuse(&error);
                    self.reply.end().await?;
                }
            }
        }
        let Executor { session, mut reply, .. } = self;
        drop(session);
        tokio::time::timeout(SHUTDOWN_TIMEOUT, reply.shutdown()).await.unwrap_or(Ok(()))
    }

    /// Answers a request by exactly one message. An Attention that comes too late to interrupt it is acknowledged all the
    /// same, as it is next in the queue.
    async fn answer(&mut self, message: Message, cancel: CancellationToken) -> io::Result<()> {
        count(&self.counters.requests);
        self.reset(message.status).await;
        if !cancel.is_cancelled() {
            self.execute(message, &cancel).await;
        }
        if self.reply.is_cut() {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        if cancel.is_cancelled() {
            return self.reply.end_interrupted().await;
        }
        self.reply.end().await
    }

    /// Resets the session before the request that asks for it (MS-TDS 2.2.3.1.2).
    async fn reset(&mut self, status: Status) {
        if status.contains(Status::RESET_CONNECTION_SKIP_TRANSACTION) {
            self.session.reset(true, &mut self.reply).await;
        } else if status.contains(Status::RESET_CONNECTION) {
            self.session.reset(false, &mut self.reply).await;
        }
    }

    /// Runs a request, or says why it is not understood; the connection is in step either way.
    async fn execute(&mut self, message: Message, cancel: &CancellationToken) {
        let executed = match message.kind {
            PacketType::SqlBatch => self.batch(message, cancel).await,
            PacketType::Rpc => self.calls(message, cancel).await,
            PacketType::TransactionManager => self.transaction(message, cancel).await,
            _ => Err(ProtocolError::unsupported("INSERT BULK")),
        };
        if let Err(error) = executed {
            self.reply.encoder().refuse(&error);
        }
    }

    async fn batch(&mut self, message: Message, cancel: &CancellationToken) -> Result<(), ProtocolError> {
        let text = batch::decode(message.payload)?;
        count(&self.counters.batches);
        self.session.batch(text, &mut self.reply, cancel).await;
        Ok(())
    }

    async fn calls(&mut self, message: Message, cancel: &CancellationToken) -> Result<(), ProtocolError> {
        for call in rpc::decode(message.payload)? {
            if cancel.is_cancelled() || self.reply.is_cut() {
                return Ok(());
            }
            count(&self.counters.rpcs);
            self.reply.encoder().begin_procedure();
            self.session.call(call, &mut self.reply, cancel).await;
            if !cancel.is_cancelled() {
                self.reply.encoder().end_procedure();
            }
        }
        Ok(())
    }

    async fn transaction(
        &mut self,
        message: Message,
        cancel: &CancellationToken,
    ) -> Result<(), ProtocolError> {
        let request = transaction_manager::decode(message.payload)?;
        count(&self.counters.transaction_requests);
        self.session.transaction(request, &mut self.reply, cancel).await;
        Ok(())
    }
}
