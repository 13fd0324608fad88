//! A scripted server that speaks just enough TDS to log in, for the unit tests of sessions and of connecting.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::{RequestCounter, Session};
use crate::client::options::{BrokerOptions, Encryption};

/// Answers a batch by the word in it: HANG never, CLOSE by closing, ERROR n class c with that error, anything else with
/// success. Commits are answered by closing when the last batch held LOSE.
pub(super) struct ScriptedServer {
    pub(super) port: u16,
    shared: Arc<Shared>,
}

/// What a login is answered with.
#[derive(Clone, Copy, Debug)]
pub(super) enum LoginReply {
    /// Success.
    Accepted,
    /// Success, and then no answer to any batch.
    AcceptedThenSilent,
    /// Success elsewhere: the client is to go to this port of the same host (ENVCHANGE type 20).
    Routed(u16),
}

struct Shared {
    reply: LoginReply,
    logins: Mutex<Vec<Vec<u8>>>,
}

impl ScriptedServer {
    pub(super) async fn start() -> Self {
        Self::answering(LoginReply::Accepted).await
    }

    pub(super) async fn answering(reply: LoginReply) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared { reply, logins: Mutex::default() });
        let serving = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(socket, Arc::clone(&serving)));
            }
        });
        Self { port, shared }
    }

    pub(super) fn options(&self) -> BrokerOptions {
        let options = BrokerOptions::new(&format!("127.0.0.1,{}", self.port), "u", "p").unwrap();
        options.with_encryption(Encryption::Never).with_max_pool_size(1)
    }

    pub(super) async fn session(&self) -> Session {
        Session::connect(&self.options(), RequestCounter::default()).await.unwrap()
    }

    pub(super) fn logins(&self) -> usize {
        self.login_messages().len()
    }

    /// The LOGIN7 messages received.
    pub(super) fn login_messages(&self) -> Vec<Vec<u8>> {
        self.shared.logins.lock().unwrap().clone()
    }
}

async fn serve(mut socket: TcpStream, shared: Arc<Shared>) {
    let mut lose_commit = false;
    while let Some((kind, payload)) = read_message(&mut socket).await {
        let answer = match kind {
            // Version and "encryption not supported".
            0x12 => vec![0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xff, 16, 0, 0, 0, 0, 0, 2],
            0x10 => {
                shared.logins.lock().unwrap().push(payload);
                shared.reply.tokens()
            }
            0x01 if matches!(shared.reply, LoginReply::AcceptedThenSilent) => continue,
            0x0e if lose_commit => return,
            0x01 => {
                let text = batch_text(&payload);
                lose_commit = text.contains("LOSE");
                match text.split_whitespace().collect::<Vec<_>>()[..] {
                    ["HANG"] => continue,
                    ["CLOSE"] => return,
                    ["ERROR", number, class] => {
                        [server_error(number.parse().unwrap(), class.parse().unwrap()), done(2)].concat()
                    }
                    _ => done(0),
                }
            }
            _ => done(0),
        };
        let mut packet = vec![4, 1];
        packet.extend(u16::try_from(answer.len() + 8).unwrap().to_be_bytes());
        packet.extend([0, 0, 1, 0]);
        packet.extend(answer);
        if socket.write_all(&packet).await.is_err() {
            return;
        }
    }
}

impl LoginReply {
    fn tokens(self) -> Vec<u8> {
        match self {
            LoginReply::Accepted | LoginReply::AcceptedThenSilent => [login_acknowledged(), done(0)].concat(),
            LoginReply::Routed(port) => [login_acknowledged(), routed(port), done(0)].concat(),
        }
    }
}

/// Protocol 0 (TCP), port, host.
fn routed(port: u16) -> Vec<u8> {
    let host: Vec<u8> = "127.0.0.1".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let length = u16::try_from(host.len() / 2).unwrap();
    let value = [vec![0], port.to_le_bytes().to_vec(), length.to_le_bytes().to_vec(), host].concat();
    let size = u16::try_from(value.len()).unwrap().to_le_bytes().to_vec();
    token(0xe3, [vec![20], size, value, vec![0, 0]].concat())
}

async fn read_message(socket: &mut TcpStream) -> Option<(u8, Vec<u8>)> {
    let mut payload = Vec::new();
    loop {
        let mut header = [0; 8];
        socket.read_exact(&mut header).await.ok()?;
        let mut body = vec![0; usize::from(u16::from_be_bytes([header[2], header[3]])) - 8];
        socket.read_exact(&mut body).await.ok()?;
        payload.extend(body);
        if header[1] & 1 != 0 {
            return Some((header[0], payload));
        }
    }
}

fn batch_text(payload: &[u8]) -> String {
    let headers = u32::from_le_bytes(payload[..4].try_into().unwrap()) as usize;
    let units: Vec<u16> =
        payload[headers..].chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    String::from_utf16(&units).unwrap()
}

fn token(kind: u8, content: Vec<u8>) -> Vec<u8> {
    [vec![kind], u16::try_from(content.len()).unwrap().to_le_bytes().to_vec(), content].concat()
}

fn login_acknowledged() -> Vec<u8> {
    token(0xad, vec![1, 0x74, 0, 0, 4, 1, b'S', 0, 16, 0, 0, 0])
}

fn server_error(number: u32, class: u8) -> Vec<u8> {
    let mut content = number.to_le_bytes().to_vec();
    content.extend([1, class, 1, 0, b'E', 0, 0, 0, 1, 0, 0, 0]);
    token(0xaa, content)
}

fn done(status: u16) -> Vec<u8> {
    [vec![0xfd], status.to_le_bytes().to_vec(), vec![0; 10]].concat()
}
