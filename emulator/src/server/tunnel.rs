//! Carries a TLS handshake inside PRELOGIN packets, and then gets out of the way (MS-TDS 2.2.6.5, 3.2.5.2).
//!
//! It never reads beyond what is asked for: during the handshake not beyond the packet, during an encrypted login not
//! beyond the TLS record. What follows an encrypted login in plain text is therefore still in the socket.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BufMut, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::tds::buffer::OutputBuffer;
use crate::tds::packet::{HEADER_LEN, PacketCutter, PacketHeader, PacketType};

/// Bytes of the header of a TLS record, whose last two are the length of the rest.
const RECORD_HEADER_LEN: usize = 5;

/// What the stream consists of now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    /// Packets around the handshake.
    Packets,
    /// TLS records, read one at a time.
    Records,
    /// Bytes that are nobody's business here.
    Nothing,
}

/// A stream under TLS.
#[derive(Debug)]
pub(super) struct Tunnel<S> {
    stream: S,
    framing: Framing,
    /// The header being read, and how much of it is there.
    header: [u8; HEADER_LEN],
    header_len: usize,
    /// Bytes left of the packet or record whose header was read.
    left: usize,
    /// Handshake bytes not yet in a packet.
    outgoing: OutputBuffer,
    /// Packets on their way.
    packets: BytesMut,
}

impl<S> Tunnel<S> {
    /// A tunnel at the beginning of the handshake.
    pub(super) fn new(stream: S) -> Tunnel<S> {
        Tunnel {
            stream,
            framing: Framing::Packets,
            header: [0; HEADER_LEN],
            header_len: 0,
            left: 0,
            outgoing: OutputBuffer::default(),
            packets: BytesMut::new(),
        }
    }

    /// The handshake is over: TLS records follow, bare.
    pub(super) fn handshake_done(&mut self) {
        self.framing = Framing::Records;
        (self.header_len, self.left) = (0, 0);
    }

    /// The login is over, too, and everything stays encrypted: records need not be told apart any more.
    pub(super) fn login_done(&mut self) {
        self.framing = Framing::Nothing;
    }

    /// The stream itself, from which nothing too much was read.
    pub(super) fn into_inner(self) -> S {
        self.stream
    }
}

impl<S: AsyncRead + Unpin> Tunnel<S> {
    /// Reads at most `limit` bytes into `target`; answers how many, 0 at the end of the stream.
    fn poll_some(
        &mut self,
        cx: &mut Context<'_>,
        limit: usize,
        target: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<usize>> {
        let room = limit.min(target.remaining());
        let mut part = ReadBuf::new(target.initialize_unfilled_to(room));
        ready!(Pin::new(&mut self.stream).poll_read(cx, &mut part))?;
        let read = part.filled().len();
        target.advance(read);
        Poll::Ready(Ok(read))
    }

    /// Reads the header of the next packet, which stays here. `false` means the end of the stream.
    fn poll_packet_header(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        while self.header_len < HEADER_LEN {
            let mut part = ReadBuf::new(&mut self.header[self.header_len..]);
            ready!(Pin::new(&mut self.stream).poll_read(cx, &mut part))?;
            match part.filled().len() {
                0 => return Poll::Ready(Ok(false)),
                read => self.header_len += read,
            }
        }
        self.header_len = 0;
        let header = PacketHeader::decode(&self.header).map_err(invalid_data)?;
        if header.kind != PacketType::PreLogin {
            return Poll::Ready(Err(invalid_data(format!(
                "a {:?} packet inside the TLS handshake",
                header.kind
            ))));
        }
        self.left = header.body_len();
        Poll::Ready(Ok(true))
    }

    fn poll_packet_body(&mut self, cx: &mut Context<'_>, target: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        while self.left == 0 {
            if !ready!(self.poll_packet_header(cx))? {
                return Poll::Ready(Ok(()));
            }
        }
        self.left -= ready!(self.poll_some(cx, self.left, target))?;
        Poll::Ready(Ok(()))
    }

    fn poll_record(&mut self, cx: &mut Context<'_>, target: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.left > 0 {
            self.left -= ready!(self.poll_some(cx, self.left, target))?;
            return Poll::Ready(Ok(()));
        }
        let before = target.filled().len();
        let read = ready!(self.poll_some(cx, RECORD_HEADER_LEN - self.header_len, target))?;
        self.header[self.header_len..self.header_len + read].copy_from_slice(&target.filled()[before..]);
        self.header_len += read;
        if self.header_len == RECORD_HEADER_LEN {
            self.left = usize::from(u16::from_be_bytes([self.header[3], self.header[4]]));
            self.header_len = 0;
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Tunnel<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        target: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        match this.framing {
            _ if target.remaining() == 0 => Poll::Ready(Ok(())),
            Framing::Packets => this.poll_packet_body(cx, target),
            Framing::Records => this.poll_record(cx, target),
            Framing::Nothing => Pin::new(&mut this.stream).poll_read(cx, target),
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Tunnel<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.framing != Framing::Packets {
            return Pin::new(&mut this.stream).poll_write(cx, bytes);
        }
        // A handshake flight is a few kilobytes; it becomes packets when it is complete.
        this.outgoing.tail().put_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.outgoing.is_empty() {
            let mut cutter = PacketCutter::new();
            while cutter.cut_full(PacketType::PreLogin, &mut this.outgoing, &mut this.packets) {}
            cutter.cut_last(PacketType::PreLogin, &mut this.outgoing, &mut this.packets);
        }
        while !this.packets.is_empty() {
            match ready!(Pin::new(&mut this.stream).poll_write(cx, &this.packets))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => this.packets.advance(written),
            }
        }
        Pin::new(&mut this.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.as_mut().poll_flush(cx))?;
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

fn invalid_data(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, cause)
}
