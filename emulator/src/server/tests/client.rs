//! A small client: sends messages with any status bits, reads replies as tokens.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, DuplexStream};
use tokio_rustls::TlsConnector;
use tokio_util::sync::CancellationToken;

use super::scripted::{ScriptedLogins, Seen};
use crate::request::LoginRequest;
use crate::server::tunnel::Tunnel;
use crate::server::{Encryption, ServerOptions, serve};
use crate::tds::buffer::OutputBuffer;
use crate::tds::login::{Feature, Login, TDS_7_4};
use crate::tds::packet::{HEADER_LEN, MessageReader};
use crate::tds::prelogin::{EncryptionOption, PreLogin};
use crate::tds::token::{Token, read_tokens};
use crate::tds::{batch, rpc, transaction_manager};
use crate::tls::ServerTls;

pub(super) const BATCH: u8 = 0x01;
pub(super) const RPC: u8 = 0x03;
pub(super) const ATTENTION: u8 = 0x06;
pub(super) const TRANSACTION: u8 = 0x0E;
pub(super) const LOGIN: u8 = 0x10;
pub(super) const PRELOGIN: u8 = 0x12;
pub(super) const END: u8 = 0x01;

/// A server with one connection.
pub(super) struct TestServer {
    pub(super) stream: Option<DuplexStream>,
    pub(super) seen: Seen,
    pub(super) options: Arc<ServerOptions>,
    pub(super) shutdown: CancellationToken,
    pub(super) task: tokio::task::JoinHandle<()>,
}

impl TestServer {
    pub(super) fn start(encryption: Encryption) -> TestServer {
        let (stream, far) = tokio::io::duplex(16 * 1024);
        let logins = Arc::new(ScriptedLogins::default());
        let options = Arc::new(ServerOptions { encryption, ..ServerOptions::default() });
        let shutdown = CancellationToken::new();
        let seen = logins.seen.clone();
        let task = tokio::spawn(serve(far, logins, options.clone(), shutdown.clone()));
        TestServer { stream: Some(stream), seen, options, shutdown, task }
    }

    /// A client logged in without encryption.
    pub(super) async fn logged_in(&mut self) -> TestClient<DuplexStream> {
        let mut client = TestClient::new(self.stream.take().unwrap());
        client.prelogin(EncryptionOption::NotSupported).await;
        client.login("secret").await;
        client
    }
}

/// A client over any stream.
pub(super) struct TestClient<S> {
    pub(super) stream: S,
}

impl<S: AsyncRead + AsyncWrite + Unpin> TestClient<S> {
    pub(super) fn new(stream: S) -> TestClient<S> {
        TestClient { stream }
    }

    /// Sends a message in packets of 512 bytes; `status` goes on the first, END on the last.
    pub(super) async fn send(&mut self, kind: u8, status: u8, payload: &[u8]) {
        let parts: Vec<&[u8]> =
            if payload.is_empty() { vec![payload] } else { payload.chunks(504).collect() };
        for (index, part) in parts.iter().enumerate() {
            let first = if index == 0 { status } else { 0 };
            let last = if index + 1 == parts.len() { END } else { 0 };
            self.send_packet(kind, first | last, part).await;
        }
    }

    pub(super) async fn send_packet(&mut self, kind: u8, status: u8, body: &[u8]) {
        let [high, low] = u16::try_from(body.len() + HEADER_LEN).unwrap().to_be_bytes();
        let mut packet = vec![kind, status, high, low, 0, 0, 1, 0];
        packet.extend_from_slice(body);
        self.stream.write_all(&packet).await.unwrap();
    }

    pub(super) async fn batch(&mut self, text: &str) {
        self.batch_with(0, text).await;
    }

    pub(super) async fn batch_with(&mut self, status: u8, text: &str) {
        let mut payload = BytesMut::new();
        batch::encode(text, &mut payload);
        self.send(BATCH, status, &payload).await;
    }

    pub(super) async fn calls(&mut self, calls: &[crate::request::ProcedureCall]) {
        let (mut buffer, mut payload) = (OutputBuffer::default(), BytesMut::new());
        rpc::encode(calls, &mut buffer);
        buffer.move_to(usize::MAX, &mut payload);
        self.send(RPC, 0, &payload).await;
    }

    pub(super) async fn transaction(&mut self, request: &crate::request::TransactionRequest) {
        let mut payload = BytesMut::new();
        transaction_manager::encode(request, &mut payload);
        self.send(TRANSACTION, 0, &payload).await;
    }

    pub(super) async fn attention(&mut self) {
        self.send(ATTENTION, 0, &[]).await;
    }

    /// The tokens of the next message; `None` at the end of the stream.
    pub(super) async fn reply(&mut self) -> Option<Vec<Token>> {
        Some(read_tokens(self.message().await?).unwrap())
    }

    pub(super) async fn prelogin(&mut self, encryption: EncryptionOption) -> PreLogin {
        let mut payload = BytesMut::new();
        PreLogin { version: [0; 6], encryption, federated_authentication: None }.encode(&mut payload);
        self.send(PRELOGIN, 0, &payload).await;
        PreLogin::decode(self.message().await.unwrap()).unwrap()
    }

    /// Logs in and answers the tokens of the reply.
    pub(super) async fn login(&mut self, password: &str) -> Vec<Token> {
        self.send_login(password).await;
        self.reply().await.unwrap()
    }

    pub(super) async fn send_login(&mut self, password: &str) {
        let mut payload = BytesMut::new();
        login(password).encode(&mut payload);
        self.send(LOGIN, 0, &payload).await;
    }

    async fn message(&mut self) -> Option<Bytes> {
        let message = MessageReader::new(&mut self.stream).read(64 << 20).await.ok()??;
        Some(message.payload)
    }
}

pub(super) type TlsClient = tokio_rustls::client::TlsStream<Tunnel<DuplexStream>>;

/// Does the TLS handshake inside PRELOGIN packets, trusting the server's certificate.
pub(super) async fn tls_handshake(stream: DuplexStream, tls: &ServerTls) -> TlsClient {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(tls.certificate_pem().as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, Tunnel::new(stream)).await.unwrap();
    stream.get_mut().0.handshake_done();
    stream
}

fn login(password: &str) -> Login {
    let request = LoginRequest {
        user: "sa".into(),
        password: password.into(),
        database: "db1".into(),
        ..LoginRequest::default()
    };
    let features = vec![Feature { id: Feature::UTF8_SUPPORT, data: Bytes::from_static(&[1]) }];
    Login { tds_version: TDS_7_4, packet_size: 8000, features, request }
}
