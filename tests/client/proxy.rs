//! A TCP proxy that can become a black hole: sockets stay open and nothing passes any more.

use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

pub(crate) struct Proxy {
    port: u16,
    weather: watch::Sender<Weather>,
}

#[derive(Clone, Copy, Default)]
struct Weather {
    is_dark: bool,
    /// How often it went dark.
    nights: u32,
}

impl Proxy {
    /// Forwards to this address.
    pub(crate) async fn to(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (weather, seen) = watch::channel(Weather::default());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(forward(client, target, seen.clone()));
            }
        });
        Self { port, weather }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Stops forwarding, on all connections.
    pub(crate) fn black_hole(&self) {
        self.weather.send_modify(|weather| {
            weather.is_dark = true;
            weather.nights += 1;
        });
    }

    /// Forwards the connections that come from now on; those made before stay in the dark.
    pub(crate) fn let_light_in(&self) {
        self.weather.send_modify(|weather| weather.is_dark = false);
    }
}

async fn forward(mut client: TcpStream, target: SocketAddr, mut weather: watch::Receiver<Weather>) {
    let mut server = TcpStream::connect(target).await.unwrap();
    let at_first = *weather.borrow();
    let went_dark =
        async { at_first.is_dark || weather.wait_for(|now| now.nights > at_first.nights).await.is_ok() };
    let is_dark = tokio::select! {
        biased;
        is_dark = went_dark => is_dark,
        _ = tokio::io::copy_bidirectional(&mut client, &mut server) => false,
    };
    if is_dark {
        std::future::pending::<()>().await;
    }
}
