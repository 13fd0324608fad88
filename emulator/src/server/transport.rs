//! The stream of a connection after PRELOGIN: plain or under TLS.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::server::TlsStream;

use super::tunnel::Tunnel;
use crate::tls::ServerTls;

/// Plain or encrypted.
#[derive(Debug)]
pub(super) enum Transport<S> {
    /// Plain text.
    Plain(S),
    /// TLS.
    Tls(Box<TlsStream<Tunnel<S>>>),
}

impl<S: AsyncRead + AsyncWrite + Unpin> Transport<S> {
    /// Does the TLS handshake as the server.
    pub(super) async fn accept(stream: S, tls: &ServerTls) -> io::Result<Transport<S>> {
        let mut stream = tls.acceptor().accept(Tunnel::new(stream)).await?;
        stream.get_mut().0.handshake_done();
        Ok(Transport::Tls(Box::new(stream)))
    }

    /// Goes back to plain text, after an encrypted login.
    pub(super) fn into_plain(self) -> Transport<S> {
        match self {
            Transport::Plain(stream) => Transport::Plain(stream),
            Transport::Tls(stream) => Transport::Plain(stream.into_inner().0.into_inner()),
        }
    }

    /// Stays as it is after the login.
    pub(super) fn stay(&mut self) {
        if let Transport::Tls(stream) = self {
            stream.get_mut().0.login_done();
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Transport<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        target: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Plain(stream) => Pin::new(stream).poll_read(cx, target),
            Transport::Tls(stream) => Pin::new(stream).poll_read(cx, target),
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Transport<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Transport::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Transport::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Transport::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Transport::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
