//! Records what a server answers, and a server that plays it back: whole, cut, changed, in other packets, or for ever.
//!
//! Both know how messages travel in packets and nothing of what is in them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ssbroker::client::BrokerOptions;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;

/// A message without its packets.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    kind: u8,
    pub(crate) content: Vec<u8>,
}

/// The answers on one connection, in order.
#[derive(Clone, Debug)]
pub(crate) struct Recording {
    pub(crate) answers: Vec<Message>,
}

impl Recording {
    /// What the server answers to what `client` asks it through the address it is given; one for each connection.
    pub(crate) async fn of(server: SocketAddr, client: impl AsyncFnOnce(u16)) -> Vec<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let recorded = Arc::new(Mutex::new(Vec::new()));
        let connections = Arc::clone(&recorded);
        let recording = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let mut all = connections.lock().await;
                all.push(Recording { answers: Vec::new() });
                let (at, recorded) = (all.len() - 1, Arc::clone(&connections));
                tokio::spawn(async move { record(socket, server, &recorded, at).await });
            }
        });
        client(port).await;
        recording.abort();
        recorded.lock().await.clone()
    }

    /// The script that plays it back.
    pub(crate) fn script(&self) -> Script {
        Script {
            parts: self.answers.iter().map(|answer| answer.in_packets(LARGEST)).collect(),
            ends: Ending::Closes,
        }
    }
}

async fn record(
    mut client: TcpStream,
    server: SocketAddr,
    recorded: &Mutex<Vec<Recording>>,
    at: usize,
) -> Option<()> {
    let mut server = TcpStream::connect(server).await.ok()?;
    loop {
        let request = read_message(&mut client).await?;
        server.write_all(&request.in_packets(LARGEST)).await.ok()?;
        let answer = read_message(&mut server).await?;
        client.write_all(&answer.in_packets(LARGEST)).await.ok()?;
        recorded.lock().await[at].answers.push(answer);
    }
}

/// What a fake server does on one connection: after each message read it writes the next part.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) parts: Vec<Vec<u8>>,
    pub(crate) ends: Ending,
}

/// What comes after the last part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Closes,
    /// Nothing, on an open connection.
    Hangs,
    /// The last part again and again.
    Repeats,
    /// The real server: everything goes to and fro.
    Forwards(SocketAddr),
}

/// A server that follows scripts: each connection the next one, those after the last the last.
pub(crate) struct FakeServer {
    port: u16,
    scripts: Arc<Mutex<Vec<Script>>>,
    connections: Arc<AtomicUsize>,
}

impl FakeServer {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (scripts, connections) = (Arc::<Mutex<Vec<Script>>>::default(), Arc::<AtomicUsize>::default());
        let server = Self { port, scripts: Arc::clone(&scripts), connections: Arc::clone(&connections) };
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                connections.fetch_add(1, Ordering::Relaxed);
                let mut scripts = scripts.lock().await;
                let script = if scripts.len() > 1 { scripts.remove(0) } else { scripts[0].clone() };
                tokio::spawn(play(socket, script));
            }
        });
        server
    }

    /// What connections are answered from now on.
    pub(crate) async fn follow(&self, scripts: impl IntoIterator<Item = Script>) {
        *self.scripts.lock().await = scripts.into_iter().collect();
    }

    /// How many connections there have been.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn options(&self) -> BrokerOptions {
        unencrypted(self.port)
    }
}

/// Options that reach this port of the machine without TLS.
pub(crate) fn unencrypted(port: u16) -> BrokerOptions {
    let text = format!("Server=127.0.0.1,{port};User ID=sa;Password=x;Encrypt=danger_plaintext");
    text.parse().unwrap()
}

async fn play(mut socket: TcpStream, script: Script) -> Option<()> {
    socket.set_nodelay(true).ok()?;
    for part in &script.parts {
        read_message(&mut socket).await?;
        socket.write_all(part).await.ok()?;
    }
    match script.ends {
        Ending::Closes => socket.shutdown().await.ok(),
        Ending::Hangs => std::future::pending().await,
        Ending::Repeats => loop {
            socket.write_all(script.parts.last()?).await.ok()?;
        },
        Ending::Forwards(server) => {
            let mut server = TcpStream::connect(server).await.ok()?;
            tokio::io::copy_bidirectional(&mut socket, &mut server).await.ok().map(drop)
        }
    }
}

/// The content of the largest packet.
pub(crate) const LARGEST: usize = 32_767 - 8;

impl Message {
    /// The same message with another content.
    pub(crate) fn with(&self, content: Vec<u8>) -> Self {
        Self { kind: self.kind, content }
    }

    /// In packets of so many bytes of content, the last one marked as such.
    pub(crate) fn in_packets(&self, size: usize) -> Vec<u8> {
        let mut chunks: Vec<&[u8]> = self.content.chunks(size).collect();
        let last = chunks.pop().unwrap_or_default();
        let before = chunks.iter().flat_map(|chunk| self.packet(chunk, false));
        before.chain(self.packet(last, true)).collect()
    }

    /// In two packets, the second of which begins with the byte at `cut`.
    pub(crate) fn in_two_packets(&self, cut: usize) -> Vec<u8> {
        let (first, second) = self.content.split_at(cut);
        [self.packet(first, false), self.packet(second, true)].concat()
    }

    /// A packet that is not the last one.
    pub(crate) fn begun(&self) -> Vec<u8> {
        self.packet(&self.content, false)
    }

    fn packet(&self, content: &[u8], is_last: bool) -> Vec<u8> {
        let length = u16::try_from(content.len() + 8).unwrap().to_be_bytes();
        [&[self.kind, u8::from(is_last), length[0], length[1], 0, 0, 1, 0], content].concat()
    }
}

async fn read_message(socket: &mut TcpStream) -> Option<Message> {
    let mut content = Vec::new();
    loop {
        let mut header = [0; 8];
        socket.read_exact(&mut header).await.ok()?;
        let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let start = content.len();
        content.resize(start + length.checked_sub(8)?, 0);
        socket.read_exact(&mut content[start..]).await.ok()?;
        if header[1] & 1 != 0 {
            return Some(Message { kind: header[0], content });
        }
    }
}
