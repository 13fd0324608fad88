//! From the first byte to the answered login.

use std::io;
use std::sync::Arc;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::counters::count;
use super::encryption::{self, Agreed};
use super::options::ServerOptions;
use super::phase::Phase;
use super::transport::Transport;
use crate::error::SqlError;
use crate::output::Event;
use crate::request::LoginHandler;
use crate::tds::buffer::OutputBuffer;
use crate::tds::encoder::TokenEncoder;
use crate::tds::login::{Login, TDS_7_4};
use crate::tds::packet::{
    DEFAULT_PACKET_SIZE, Message, MessageReader, MessageWriter, PACKET_SIZES, PacketType, ReadError,
};
use crate::tds::prelogin::{EncryptionOption, PreLogin};
use crate::tds::reply::ReplySink;
use crate::tds::token::{EnvChange, LoginAck, write_feature_ext_ack};
use crate::value::Collation;

/// Version clients are told: that of SQL Server 2022, build 4003.
const SERVER_VERSION: [u8; 4] = [16, 0, 0x0F, 0xA3];
/// Name of the server program, by which some clients tell its kind.
const PROGRAM: &str = "Microsoft SQL Server";
const LANGUAGE: &str = "us_english";

/// A connection whose login was accepted and answered.
pub(super) struct LoggedIn<H, S> {
    /// The stream, plain or under TLS.
    pub(super) transport: Transport<S>,
    /// The session.
    pub(super) session: H,
    /// Packet size from here on.
    pub(super) packet_size: usize,
}

/// Takes a connection through PRELOGIN, TLS and LOGIN7. `None` means that it ended in order: the client left, or was
/// refused and told why.
pub(super) async fn log_in<L, S>(
    mut stream: S,
    logins: &L,
    options: &ServerOptions,
    closed: CancellationToken,
) -> Result<Option<LoggedIn<L::Session, S>>, ReadError>
where
    L: LoginHandler,
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let Some(message) = read_message(&mut stream, Phase::PreLogin).await? else { return Ok(None) };
    let hello = PreLogin::decode(message.payload)?;
    let (answer, agreed) = encryption::settle(&options.encryption, hello.encryption);
    answer_prelogin(&mut stream, &hello, answer).await?;
    let (mut transport, login_only) = match agreed {
        Agreed::Nothing => (Transport::Plain(stream), false),
        Agreed::Login(tls) => (Transport::accept(stream, tls).await?, true),
        Agreed::Everything(tls) => (Transport::accept(stream, tls).await?, false),
        Agreed::Disagreed => return Ok(None),
    };
    let Some(message) = read_message(&mut transport, Phase::Login).await? else { return Ok(None) };
    if login_only {
        transport = transport.into_plain();
    }
    transport.stay();
    answer_login(transport, message, logins, options, closed).await
}

/// A sink for replies of this server.
pub(super) fn reply_sink<W: AsyncWrite + Unpin>(
    stream: W,
    options: &ServerOptions,
    closed: CancellationToken,
    packet_size: usize,
) -> ReplySink<W> {
    let encoder = TokenEncoder::new(Arc::from(options.server_name.as_str()));
    let mut reply = ReplySink::new(stream, encoder, closed);
    reply.set_packet_size(packet_size);
    reply
}

async fn read_message<S: AsyncRead + Unpin>(
    stream: &mut S,
    phase: Phase,
) -> Result<Option<Message>, ReadError> {
    let message = MessageReader::new(stream).read(phase.max_message()).await?;
    if let Some(message) = &message {
        phase.check(message.kind)?;
    }
    Ok(message)
}

async fn answer_prelogin<S: AsyncWrite + Unpin>(
    stream: &mut S,
    hello: &PreLogin,
    encryption: EncryptionOption,
) -> io::Result<()> {
    let [major, minor, build_high, build_low] = SERVER_VERSION;
    let answer = PreLogin {
        version: [major, minor, build_high, build_low, 0, 0],
        encryption,
        federated_authentication: hello.federated_authentication.map(|_| 0),
    };
    let mut bytes = OutputBuffer::default();
    answer.encode(bytes.tail());
    MessageWriter::new(stream).write_end(PacketType::TabularResult, &mut bytes).await
}

async fn answer_login<L, S>(
    mut transport: Transport<S>,
    message: Message,
    logins: &L,
    options: &ServerOptions,
    closed: CancellationToken,
) -> Result<Option<LoggedIn<L::Session, S>>, ReadError>
where
    L: LoginHandler,
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let mut reply = reply_sink(&mut transport, options, closed, DEFAULT_PACKET_SIZE);
    let login = match Login::decode(message.payload) {
        Ok(login) => login,
        Err(error) => return refuse(reply, error.to_sql_error()).await,
    };
    let session = match logins.login(login.request.clone(), &mut reply).await {
        Ok(session) => session,
        Err(error) => return refuse(reply, error).await,
    };
    let packet_size = settled_packet_size(login.packet_size);
    acknowledge(&mut reply, &login, packet_size);
    reply.end().await?;
    count(&options.counters.logins);
    Ok(Some(LoggedIn { transport, session, packet_size }))
}

/// Tells why the login is refused: an ERROR, and a DONE with the error bit.
async fn refuse<T, W: AsyncWrite + Unpin>(
    mut reply: ReplySink<W>,
    error: SqlError,
) -> Result<Option<T>, ReadError> {
    info!(%error, "login refused");
    reply.encoder().emit(Event::Error(error));
    reply.end().await?;
    reply.shutdown().await?;
    Ok(None)
}

/// The packet size a client asked for, within the bounds; 0 leaves it to the server.
fn settled_packet_size(asked: u32) -> usize {
    match asked as usize {
        0 => DEFAULT_PACKET_SIZE,
        asked => asked.clamp(*PACKET_SIZES.start(), *PACKET_SIZES.end()),
    }
}

/// Writes what follows the session's own events in the answer to an accepted login. mssql-tds insists on collation and
/// packet size; the language is for completeness.
fn acknowledge<W: AsyncWrite + Unpin>(reply: &mut ReplySink<W>, login: &Login, packet_size: usize) {
    let encoder = reply.encoder();
    EnvChange::Collation(Collation::DEFAULT.wire_bytes()).write(encoder.buffer().tail());
    EnvChange::Language(LANGUAGE.to_owned()).write(encoder.buffer().tail());
    let message = format!("Changed language setting to {LANGUAGE}.");
    encoder.emit(Event::Info(SqlError::with_severity(5703, 10, message)));
    let tail: &mut BytesMut = encoder.buffer().tail();
    let tds_version = login.tds_version.min(TDS_7_4);
    LoginAck { tds_version, program: PROGRAM.to_owned(), version: SERVER_VERSION }.write(tail);
    EnvChange::PacketSize(DEFAULT_PACKET_SIZE, packet_size).write(tail);
    write_feature_ext_ack(tail, &login.features);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packet_size_is_what_the_client_asks_within_bounds() {
        assert_eq!([0, 1, 8000, 99_999].map(settled_packet_size), [4096, 512, 8000, 32767]);
    }
}
