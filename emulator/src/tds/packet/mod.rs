//! Framing: the only place that knows packet headers (MS-TDS 2.2.3.1).
//!
//! [`MessageReader`] assembles the messages of a client, [`MessageWriter`] cuts replies into packets. What a message
//! contains must stay unknown here.

use std::io;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::buffer::OutputBuffer;
use super::error::ProtocolError;

/// Bytes of a packet header.
pub(crate) const HEADER_LEN: usize = 8;
/// Packet size until LOGIN7 has settled another.
pub(crate) const DEFAULT_PACKET_SIZE: usize = 4096;
/// Smallest and largest packet size that can be settled (MS-TDS 2.2.6.4, PacketSize).
pub(crate) const PACKET_SIZES: std::ops::RangeInclusive<usize> = 512..=32767;

/// Bytes gathered before the socket is written to.
const STAGE: usize = 64 * 1024;

/// The message types of the protocol (MS-TDS 2.2.3.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PacketType {
    /// A batch of SQL text.
    SqlBatch = 0x01,
    /// A remote procedure call.
    Rpc = 0x03,
    /// A reply.
    TabularResult = 0x04,
    /// A cancellation.
    Attention = 0x06,
    /// Rows of INSERT BULK.
    BulkLoad = 0x07,
    /// A token of federated authentication.
    FederatedAuthentication = 0x08,
    /// A transaction-manager request.
    TransactionManager = 0x0E,
    /// A login.
    Login7 = 0x10,
    /// A message of integrated authentication.
    Sspi = 0x11,
    /// The message before the login; wraps the TLS handshake, too.
    PreLogin = 0x12,
}

impl PacketType {
    fn from_wire(byte: u8) -> Option<PacketType> {
        let known = [
            PacketType::SqlBatch,
            PacketType::Rpc,
            PacketType::TabularResult,
            PacketType::Attention,
            PacketType::BulkLoad,
            PacketType::FederatedAuthentication,
            PacketType::TransactionManager,
            PacketType::Login7,
            PacketType::Sspi,
            PacketType::PreLogin,
        ];
        known.into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// The status bits of a packet (MS-TDS 2.2.3.1.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Status(u8);

impl Status {
    /// The message ends with this packet.
    pub(crate) const END_OF_MESSAGE: Status = Status(0x01);
    /// The message is to be ignored.
    pub(crate) const IGNORE: Status = Status(0x02);
    /// The session is to be reset before the message is answered.
    pub(crate) const RESET_CONNECTION: Status = Status(0x08);
    /// As `RESET_CONNECTION`, but the transaction is kept.
    pub(crate) const RESET_CONNECTION_SKIP_TRANSACTION: Status = Status(0x10);

    /// Whether all bits of `other` are set.
    pub(crate) fn contains(self, other: Status) -> bool {
        self.0 & other.0 == other.0
    }

    fn with(self, other: Status) -> Status {
        Status(self.0 | other.0)
    }
}

/// The header of one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PacketHeader {
    /// Type of the message it belongs to.
    pub(crate) kind: PacketType,
    /// Its status bits.
    pub(crate) status: Status,
    /// Length with the header.
    pub(crate) length: u16,
    /// Counts the packets of a message, wrapping.
    pub(crate) id: u8,
}

impl PacketHeader {
    /// Decodes a header; a length below the header's own is refused.
    pub(crate) fn decode(header: &[u8; HEADER_LEN]) -> Result<PacketHeader, ProtocolError> {
        let mut bytes = header.as_slice();
        let kind = bytes.get_u8();
        let kind = PacketType::from_wire(kind)
            .ok_or_else(|| ProtocolError::malformed(format!("unknown packet type 0x{kind:02X}"), 0))?;
        let status = Status(bytes.get_u8());
        let length = bytes.get_u16();
        if usize::from(length) < HEADER_LEN {
            return Err(ProtocolError::malformed(format!("packet length {length}"), 2));
        }
        let _spid = bytes.get_u16();
        Ok(PacketHeader { kind, status, length, id: bytes.get_u8() })
    }

    /// Encodes the header; the process id of the server, which no client needs, is 0.
    pub(crate) fn encode(&self, target: &mut BytesMut) {
        target.put_u8(self.kind as u8);
        target.put_u8(self.status.0);
        target.put_u16(self.length);
        target.put_u16(0);
        target.put_u8(self.id);
        target.put_u8(0);
    }

    /// Bytes after the header.
    pub(crate) fn body_len(&self) -> usize {
        usize::from(self.length) - HEADER_LEN
    }
}

/// A whole message of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    /// Its type.
    pub(crate) kind: PacketType,
    /// The status bits of all its packets together.
    pub(crate) status: Status,
    /// The bodies of its packets.
    pub(crate) payload: Bytes,
}

/// Why no message could be read.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// The stream failed, or ended inside a message.
    Io(io::Error),
    /// The packets make no message.
    Protocol(ProtocolError),
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ReadError::Io(error) => error.fmt(f),
            ReadError::Protocol(error) => error.fmt(f),
        }
    }
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> ReadError {
        ReadError::Io(error)
    }
}

impl From<ProtocolError> for ReadError {
    fn from(error: ProtocolError) -> ReadError {
        ReadError::Protocol(error)
    }
}

/// Assembles the packets of a stream to messages. It never reads beyond the packet it is in.
#[derive(Debug)]
pub(crate) struct MessageReader<R> {
    stream: R,
}

impl<R: AsyncRead + Unpin> MessageReader<R> {
    /// A reader at the border of two messages.
    pub(crate) fn new(stream: R) -> MessageReader<R> {
        MessageReader { stream }
    }

    /// The next message, or `None` at an orderly end of the stream. A message of more than `limit` bytes is refused
    /// before its excess is read. An Attention inside an unfinished message takes that message's place: the client
    /// has given it up. Not safe to cancel: a reader whose future was dropped is out of step.
    pub(crate) async fn read(&mut self, limit: usize) -> Result<Option<Message>, ReadError> {
        let Some(first) = self.header().await? else { return Ok(None) };
        let (mut header, mut status) = (first, first.status);
        let mut payload = BytesMut::new();
        loop {
            self.body(&header, &mut payload, limit).await?;
            if header.status.contains(Status::END_OF_MESSAGE) {
                return Ok(Some(Message { kind: header.kind, status, payload: payload.freeze() }));
            }
            let next = self.header().await?.ok_or(io::ErrorKind::UnexpectedEof).map_err(io::Error::from)?;
            if next.kind == header.kind {
                status = status.with(next.status);
            } else if next.kind == PacketType::Attention {
                status = next.status;
                payload.clear();
            } else {
                let what = format!("a {:?} packet inside a {:?} message", next.kind, header.kind);
                return Err(ProtocolError::malformed(what, payload.len()).into());
            }
            header = next;
        }
    }

    async fn header(&mut self) -> Result<Option<PacketHeader>, ReadError> {
        let mut bytes = [0; HEADER_LEN];
        if self.stream.read(&mut bytes[..1]).await? == 0 {
            return Ok(None);
        }
        self.stream.read_exact(&mut bytes[1..]).await?;
        Ok(Some(PacketHeader::decode(&bytes)?))
    }

    async fn body(
        &mut self,
        header: &PacketHeader,
        payload: &mut BytesMut,
        limit: usize,
    ) -> Result<(), ReadError> {
        let mut left = header.body_len();
        if payload.len() + left > limit {
            let what = format!("the message is longer than the {limit} bytes allowed here");
            return Err(ProtocolError::malformed(what, payload.len()).into());
        }
        while left > 0 {
            let read = self.stream.read_buf(&mut (&mut *payload).limit(left)).await?;
            if read == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
            left -= read;
        }
        Ok(())
    }
}

/// Cuts a message into packets.
#[derive(Debug)]
pub(crate) struct PacketCutter {
    packet_size: usize,
    next_id: u8,
}

impl PacketCutter {
    /// Packets of the default size.
    pub(crate) fn new() -> PacketCutter {
        PacketCutter { packet_size: DEFAULT_PACKET_SIZE, next_id: 1 }
    }

    /// Moves one full packet from `data` to `target` if more than one packet's worth is there: no packet but a
    /// message's last may be short, and the last must not be empty.
    pub(crate) fn cut_full(
        &mut self,
        kind: PacketType,
        data: &mut OutputBuffer,
        target: &mut BytesMut,
    ) -> bool {
        let more = data.len() > self.packet_size - HEADER_LEN;
        if more {
            self.cut(kind, Status::default(), data, target);
        }
        more
    }

    /// Moves all of `data`, which must fit one packet, to `target` as the last packet of its message.
    pub(crate) fn cut_last(&mut self, kind: PacketType, data: &mut OutputBuffer, target: &mut BytesMut) {
        self.cut(kind, Status::END_OF_MESSAGE, data, target);
        self.next_id = 1;
    }

    fn cut(&mut self, kind: PacketType, status: Status, data: &mut OutputBuffer, target: &mut BytesMut) {
        let body = data.len().min(self.packet_size - HEADER_LEN);
        let length = u16::try_from(body + HEADER_LEN).expect("packet sizes are below 32768");
        PacketHeader { kind, status, length, id: self.next_id }.encode(target);
        data.move_to(body, target);
        self.next_id = self.next_id.wrapping_add(1);
    }
}

/// Writes messages as packets.
#[derive(Debug)]
pub(crate) struct MessageWriter<W> {
    stream: W,
    cutter: PacketCutter,
    stage: BytesMut,
}

impl<W: AsyncWrite + Unpin> MessageWriter<W> {
    /// A writer of packets of the default size.
    pub(crate) fn new(stream: W) -> MessageWriter<W> {
        MessageWriter { stream, cutter: PacketCutter::new(), stage: BytesMut::new() }
    }

    /// Sets the packet size, for the messages from the next on.
    pub(crate) fn set_packet_size(&mut self, size: usize) {
        self.cutter.packet_size = size.clamp(*PACKET_SIZES.start(), *PACKET_SIZES.end());
    }

    /// Writes whole packets of an unfinished message and leaves the rest. Safe to cancel: what was not written is kept
    /// and goes first next time.
    pub(crate) async fn write_full(&mut self, kind: PacketType, data: &mut OutputBuffer) -> io::Result<()> {
        self.stage_full(kind, data).await?;
        self.drain().await
    }

    /// Writes all of an unfinished message so far: its packets may be short, which clients tell by their length. The
    /// last packet of the message follows in any case. Safe to cancel.
    pub(crate) async fn write_all(&mut self, kind: PacketType, data: &mut OutputBuffer) -> io::Result<()> {
        self.stage_full(kind, data).await?;
        if !data.is_empty() {
            self.cutter.cut(kind, Status::default(), data, &mut self.stage);
        }
        self.drain().await
    }

    /// Writes the rest of a message, with the end-of-message bit on its last packet.
    pub(crate) async fn write_end(&mut self, kind: PacketType, data: &mut OutputBuffer) -> io::Result<()> {
        self.stage_full(kind, data).await?;
        self.cutter.cut_last(kind, data, &mut self.stage);
        self.drain().await
    }

    /// Ends the stream in order, as far as the peer lets it.
    pub(crate) async fn shutdown(&mut self) -> io::Result<()> {
        self.stream.shutdown().await
    }

    async fn stage_full(&mut self, kind: PacketType, data: &mut OutputBuffer) -> io::Result<()> {
        while self.cutter.cut_full(kind, data, &mut self.stage) {
            if self.stage.len() >= STAGE {
                self.stream.write_all_buf(&mut self.stage).await?;
            }
        }
        Ok(())
    }

    async fn drain(&mut self) -> io::Result<()> {
        self.stream.write_all_buf(&mut self.stage).await?;
        self.stream.flush().await
    }
}

#[cfg(test)]
impl<W> MessageWriter<W> {
    /// Gives the stream back.
    pub(crate) fn into_inner(self) -> W {
        self.stream
    }
}

#[cfg(test)]
mod tests;
