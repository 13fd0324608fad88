//! A TCP proxy that can become a black hole: sockets stay open and nothing passes any more.

use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

pub(crate) struct Proxy {
    port: u16,
    dark: watch::Sender<bool>,
}

impl Proxy {
    /// Forwards to this address.
    pub(crate) async fn to(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (dark, seen) = watch::channel(false);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(forward(client, target, seen.clone()));
            }
        });
        Self { port, dark }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Stops forwarding, on all connections.
    pub(crate) fn black_hole(&self) {
        self.dark.send_replace(true);
    }
}

async fn forward(mut client: TcpStream, target: SocketAddr, mut dark: watch::Receiver<bool>) {
    let mut server = TcpStream::connect(target).await.unwrap();
    let went_dark = async { dark.wait_for(|dark| *dark).await.is_ok() };
    let is_dark = tokio::select! {
        _ = tokio::io::copy_bidirectional(&mut client, &mut server) => false,
        is_dark = went_dark => is_dark,
    };
    if is_dark {
        std::future::pending::<()>().await;
    }
}
