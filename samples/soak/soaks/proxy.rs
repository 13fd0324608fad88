//! A network that can go away: forwards one port to another, and cuts and refuses connections when told to.

use std::net::SocketAddr;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// A forwarder to one server.
pub(crate) struct Proxy {
    address: SocketAddr,
    server: SocketAddr,
    up: Option<CancellationToken>,
}

impl Proxy {
    /// Forwards a free port to the server.
    pub(crate) async fn start(server: SocketAddr) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let mut proxy = Self { address: listener.local_addr()?, server, up: None };
        proxy.accept(listener);
        Ok(proxy)
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Cuts all connections; new ones are refused.
    pub(crate) fn cut(&mut self) {
        if let Some(up) = self.up.take() {
            up.cancel();
        }
    }

    /// Forwards again.
    pub(crate) async fn restore(&mut self) -> std::io::Result<()> {
        let listener = loop {
            match TcpListener::bind(self.address).await {
                // The old listener closes a moment after the cut.
                Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => tokio::task::yield_now().await,
                bound => break bound?,
            }
        };
        self.accept(listener);
        Ok(())
    }

    fn accept(&mut self, listener: TcpListener) {
        let up = CancellationToken::new();
        self.up = Some(up.clone());
        let server = self.server;
        tokio::spawn(up.run_until_cancelled_owned(async move {
            let mut links = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                links.spawn(forward(client, server));
            }
        }));
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.cut();
    }
}

/// Ends when either side does; an error is a connection that was cut, which is what this is for.
async fn forward(mut client: TcpStream, server: SocketAddr) {
    if let Ok(mut server) = TcpStream::connect(server).await {
        drop(copy_bidirectional(&mut client, &mut server).await);
    }
}
