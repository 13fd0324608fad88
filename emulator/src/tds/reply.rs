//! Sends replies: the [`ResultSink`] of a connection.
//!
//! Large replies leave while they are made; a slow reader holds the request up in [`ResultSink::flush`]. The stream may
//! be a socket, a TLS stream or a pipe in memory.

use std::future::Future;
use std::io;
use std::pin::Pin;

use tokio::io::AsyncWrite;
use tokio_util::sync::CancellationToken;

use super::attention;
use super::encoder::TokenEncoder;
use super::packet::{MessageWriter, PacketType};
use crate::output::{Event, ResultSink};

/// Encodes and sends the replies of one connection.
#[derive(Debug)]
pub(crate) struct ReplySink<W> {
    encoder: TokenEncoder,
    writer: MessageWriter<W>,
    closed: CancellationToken,
    /// The connection is cut on purpose.
    cut: bool,
}

impl<W: AsyncWrite + Unpin> ReplySink<W> {
    /// A sink that writes to `stream`; once `closed` fires, it waits for no reader any more.
    pub(crate) fn new(stream: W, encoder: TokenEncoder, closed: CancellationToken) -> ReplySink<W> {
        ReplySink { encoder, writer: MessageWriter::new(stream), closed, cut: false }
    }

    /// Sets the packet size settled at login.
    pub(crate) fn set_packet_size(&mut self, size: usize) {
        self.writer.set_packet_size(size);
    }

    /// The tokens of the reply.
    pub(crate) fn encoder(&mut self) -> &mut TokenEncoder {
        &mut self.encoder
    }

    /// Ends the reply and sends what is left of it.
    pub(crate) async fn end(&mut self) -> io::Result<()> {
        self.encoder.finish();
        self.send_rest().await
    }

    /// Ends the reply of a request that was interrupted.
    pub(crate) async fn end_interrupted(&mut self) -> io::Result<()> {
        self.encoder.finish_interrupted();
        self.send_rest().await
    }

    /// Acknowledges an Attention, between two replies.
    pub(crate) async fn acknowledge_attention(&mut self) -> io::Result<()> {
        self.encoder.finish_with(attention::acknowledgement());
        self.send_rest().await
    }

    /// Whether the connection was cut on purpose: nothing may be sent any more.
    pub(crate) fn is_cut(&self) -> bool {
        self.cut
    }

    /// Whether an error of the last reply ends the connection.
    pub(crate) fn is_fatal(&self) -> bool {
        self.encoder.is_fatal()
    }

    /// Ends the stream in order.
    pub(crate) async fn shutdown(&mut self) -> io::Result<()> {
        self.writer.shutdown().await
    }

    async fn send_rest(&mut self) -> io::Result<()> {
        let sending = self.writer.write_end(PacketType::TabularResult, self.encoder.buffer());
        unless_closed(&self.closed, sending).await
    }

    async fn send_unless_cut(&mut self, everything: bool) -> io::Result<()> {
        match (self.cut, everything) {
            (true, _) => Err(io::ErrorKind::ConnectionAborted.into()),
            (false, true) => self.send_everything().await,
            (false, false) => self.send_whole_packets().await,
        }
    }

    async fn send_everything(&mut self) -> io::Result<()> {
        self.encoder.release();
        let sending = self.writer.write_all(PacketType::TabularResult, self.encoder.buffer());
        unless_closed(&self.closed, sending).await
    }

    async fn send_whole_packets(&mut self) -> io::Result<()> {
        let sending = self.writer.write_full(PacketType::TabularResult, self.encoder.buffer());
        unless_closed(&self.closed, sending).await
    }
}

impl<W: AsyncWrite + Unpin + Send> ResultSink for ReplySink<W> {
    fn emit(&mut self, event: Event) {
        self.encoder.emit(event);
    }

    fn is_full(&self) -> bool {
        self.encoder.is_full()
    }

    fn cut(&mut self) {
        self.cut = true;
    }

    /// Sends whole packets; the last, unfinished one stays. Safe to cancel.
    fn flush(&mut self) -> Pin<Box<dyn Future<Output = io::Result<()>> + Send + '_>> {
        Box::pin(self.send_unless_cut(false))
    }

    /// Sends everything, the last packet shorter than usual. Safe to cancel.
    fn flush_all(&mut self) -> Pin<Box<dyn Future<Output = io::Result<()>> + Send + '_>> {
        Box::pin(self.send_unless_cut(true))
    }
}

async fn unless_closed(
    closed: &CancellationToken,
    sending: impl Future<Output = io::Result<()>>,
) -> io::Result<()> {
    tokio::select! {
        biased;
        () = closed.cancelled() => Err(io::ErrorKind::ConnectionAborted.into()),
        sent = sending => sent,
    }
}
