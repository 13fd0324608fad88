//! The commit of a reply whose answer is lost: the waiter gets the reply once, whether the commit happened or not.
//!
//! A proxy stands between client and server. The predicate of a request runs in the reader just before it commits, so the
//! test says there that the reader's next commit is to be cut off, before or after the server has it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use ssbroker::client::{Body, BrokerOptions, DiscardReplies, MessageTypeName, QueueName};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::objects::Objects;
use crate::support::{Backend, Embedded};

/// What happens to the next request that commits: it passes, is lost itself, or loses its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Cut {
    Nothing,
    Request,
    Answer,
}

/// Forwards connections, and cuts one off when it is told to.
#[derive(Clone)]
struct Proxy {
    port: u16,
    cut: Arc<AtomicU8>,
}

impl Proxy {
    async fn start(server: std::net::SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Self { port: listener.local_addr().unwrap().port(), cut: Arc::default() };
        let forwarding = proxy.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(forwarding.clone().forward(client, TcpStream::connect(server).await.unwrap()));
            }
        });
        proxy
    }

    fn tell(&self, cut: Cut) {
        self.cut.store(cut as u8, Ordering::SeqCst);
    }

    async fn forward(self, mut client: TcpStream, mut server: TcpStream) {
        let (mut up, mut down) = (vec![0; 1 << 16], vec![0; 1 << 16]);
        loop {
            let is_open = tokio::select! {
                read = client.read(&mut up) => match read {
                    Ok(count @ 1..) => self.pass(&up[..count], &mut server).await,
                    _ => false,
                },
                read = server.read(&mut down) => match read {
                    Ok(count @ 1..) => client.write_all(&down[..count]).await.is_ok(),
                    _ => false,
                },
            };
            if !is_open {
                return;
            }
        }
    }

    /// False when the connection is to be cut.
    async fn pass(&self, request: &[u8], server: &mut TcpStream) -> bool {
        let commits = contains(request, "COMMIT TRANSACTION; SELECT @@TRANCOUNT");
        let cut = if commits { self.cut.swap(0, Ordering::SeqCst) } else { 0 };
        if cut == Cut::Request as u8 {
            return false;
        }
        let sent = server.write_all(request).await.is_ok();
        if cut == Cut::Answer as u8 {
            // The server answers when it has committed; nobody hears that.
            let _ = server.read(&mut [0; 1]).await;
            return false;
        }
        sent
    }
}

/// Requests are UTF-16.
fn contains(request: &[u8], text: &str) -> bool {
    let wanted: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    request.windows(wanted.len()).any(|window| window == wanted)
}

#[tokio::test]
async fn a_reply_whose_commit_is_in_doubt_reaches_its_waiter_exactly_once() {
    let embedded = Embedded::start().await;
    let proxy = Proxy::start(embedded.emulator.address()).await;
    let direct: BrokerOptions = embedded.connection_string().parse().unwrap();
    let direct = ssbroker::client::Broker::with_options(direct).await.unwrap();
    let through = format!("{};Server=tcp:127.0.0.1,{}", embedded.connection_string(), proxy.port);
    let objects = Objects::create_with(Arc::new(embedded), |_| through.parse().unwrap()).await;
    crate::support::run_script(&direct, include_str!("../../sql/09-waiters.sql")).await;
    for remembers in [false, true] {
        for cut in [Cut::Nothing, Cut::Request, Cut::Answer] {
            let builder = objects.broker.requester(&*objects.initiator, DiscardReplies);
            let builder = if remembers { builder.remember_as("web") } else { builder };
            let requester = builder.open().await.unwrap();
            let times = Arc::new(AtomicU8::new(0));
            let (counted, cutting) = (Arc::clone(&times), proxy.clone());
            let request = requester.request(&*objects.target, &*objects.request, Body::utf8("a"));
            let request = request.contract(&*objects.contract).timeout(Duration::from_secs(60));
            let pending = request.until(move |_, _| {
                if counted.fetch_add(1, Ordering::SeqCst) == 0 {
                    cutting.tell(cut);
                }
                true
            });
            let pending = pending.post().await.unwrap();
            answer(&direct, &objects).await;
            let reply =
                pending.reply().await.unwrap_or_else(|error| panic!("{remembers} {cut:?}: {error:?}"));
            assert_eq!(reply.body.to_utf8().unwrap(), "late or not");
            reply.settle().await.unwrap();
            let expected = if cut == Cut::Request { 2 } else { 1 };
            assert_eq!(times.load(Ordering::SeqCst), expected, "{remembers} {cut:?}");
            assert_eq!(requester.stats().delivered, 1);
            assert_eq!(requester.stats().recovered, 0);
        }
    }
}

/// The service, not through the proxy.
async fn answer(direct: &ssbroker::client::Broker, objects: &Objects) {
    let queue = QueueName::in_schema("dbo", &*objects.target_queue).unwrap();
    let mut batch = direct.receive(queue).open().await.unwrap().next().await.unwrap();
    let reply = MessageTypeName::new(&*objects.reply).unwrap();
    for message in batch.take_messages() {
        batch.send(message.conversation, &reply, Body::utf8("late or not")).await.unwrap();
        batch.end(message.conversation).await.unwrap();
    }
    batch.commit().await.unwrap();
}
