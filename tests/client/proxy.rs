//! A TCP proxy that can become a black hole: sockets stay open and nothing passes any more.

use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

pub(crate) struct Proxy {
    port: u16,
    state: watch::Sender<Forwarding>,
}

#[derive(Clone, Copy, Default)]
struct Forwarding {
    is_stopped: bool,
    /// How often it stopped.
    outages: u32,
}

impl Proxy {
    /// Forwards to this address.
    pub(crate) async fn to(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (state, seen) = watch::channel(Forwarding::default());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(forward(client, target, seen.clone()));
            }
        });
        Self { port, state }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Stops forwarding, on all connections.
    pub(crate) fn black_hole(&self) {
        self.state.send_modify(|state| {
            state.is_stopped = true;
            state.outages += 1;
        });
    }

    /// Forwards the connections that come from now on; those made before stay cut off.
    pub(crate) fn restore(&self) {
        self.state.send_modify(|state| state.is_stopped = false);
    }
}

async fn forward(mut client: TcpStream, target: SocketAddr, mut state: watch::Receiver<Forwarding>) {
    let mut server = TcpStream::connect(target).await.unwrap();
    let at_first = *state.borrow();
    let stopped =
        async { at_first.is_stopped || state.wait_for(|now| now.outages > at_first.outages).await.is_ok() };
    let is_stopped = tokio::select! {
        biased;
        is_stopped = stopped => is_stopped,
        _ = tokio::io::copy_bidirectional(&mut client, &mut server) => false,
    };
    if is_stopped {
        std::future::pending::<()>().await;
    }
}
