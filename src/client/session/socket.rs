//! Opens the socket to a server: its name, its addresses, a named instance's port, keep-alive. Knows nothing of logins.

use std::net::SocketAddr;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tiberius::{Config, SqlBrowser};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::super::error::{Error, ErrorKind, Result};
use super::super::options::{AddressPreference, BrokerOptions};

/// How long an address may stay silent before the next one is tried beside it (RFC 8305 calls it the connection attempt
/// delay).
const STAGGER: Duration = Duration::from_millis(250);
/// The pause between two questions of TCP keep-alive.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(1);

/// Connects to one of the host's addresses: the first that answers.
pub(super) async fn open(options: &BrokerOptions, host: &str, port: u16) -> Result<TcpStream> {
    let refused =
        |error| Error::new(ErrorKind::Connect, format!("no connection to {host}:{port}")).with_cause(error);
    let addresses: Vec<SocketAddr> = tokio::net::lookup_host((host, port)).await.map_err(refused)?.collect();
    let stagger = if options.multi_subnet_failover { Duration::ZERO } else { STAGGER };
    let socket =
        first_to_answer(in_order(addresses, options.address_preference), stagger).await.map_err(refused)?;
    set_up(&socket, options)?;
    Ok(socket)
}

/// Asks the SQL Browser service of the host for the port of an instance, and connects to it.
pub(super) async fn open_instance(options: &BrokerOptions, instance: &str) -> Result<TcpStream> {
    let mut config = Config::new();
    config.host(&options.host);
    config.port(options.browser_port);
    config.instance_name(instance);
    // Each address of the name is asked at once: a dead one must not be waited for.
    config.multi_subnet_failover(true);
    let socket = TcpStream::connect_named(&config).await.map_err(|error| {
        let text = format!(
            "the port of the instance '{instance}' cannot be learned from the SQL Browser service of {} (udp port {}): \
             write the port as 'host,port'",
            options.host, options.browser_port
        );
        Error::new(ErrorKind::Connect, text).with_cause(error)
    })?;
    set_up(&socket, options)?;
    Ok(socket)
}

/// Those of the preferred version come first; otherwise the resolver's order stays.
fn in_order(mut addresses: Vec<SocketAddr>, preference: AddressPreference) -> Vec<SocketAddr> {
    match preference {
        AddressPreference::Platform => {}
        AddressPreference::V4 => addresses.sort_by_key(SocketAddr::is_ipv6),
        AddressPreference::V6 => addresses.sort_by_key(SocketAddr::is_ipv4),
    }
    addresses
}

/// Tries the addresses, each `stagger` after the one before or as soon as that has failed, and keeps the first socket
/// that is made; the other attempts are dropped, which closes their sockets.
async fn first_to_answer(addresses: Vec<SocketAddr>, stagger: Duration) -> std::io::Result<TcpStream> {
    let mut attempts: JoinSet<std::io::Result<TcpStream>> = JoinSet::new();
    let mut waiting = addresses.into_iter();
    let mut last_error = std::io::Error::new(std::io::ErrorKind::NotFound, "the name has no address");
    loop {
        let next = waiting.next();
        let is_last = next.is_none();
        if let Some(address) = next {
            attempts.spawn(TcpStream::connect(address));
        } else if attempts.is_empty() {
            return Err(last_error);
        }
        let patience = if is_last { Duration::MAX } else { stagger };
        match tokio::time::timeout(patience, attempts.join_next()).await {
            Ok(Some(Ok(Ok(socket)))) => return Ok(socket),
            Ok(Some(Ok(Err(error)))) => last_error = error,
            Ok(Some(Err(panic))) => last_error = std::io::Error::other(panic),
            Ok(None) | Err(_) => {}
        }
    }
}

fn set_up(socket: &TcpStream, options: &BrokerOptions) -> Result<()> {
    let apply = || {
        socket.set_nodelay(true)?;
        match options.tcp_keepalive {
            Some(idle) => SockRef::from(socket)
                .set_tcp_keepalive(&TcpKeepalive::new().with_time(idle).with_interval(KEEPALIVE_INTERVAL)),
            None => Ok(()),
        }
    };
    apply().map_err(|error: std::io::Error| {
        Error::new(ErrorKind::Connect, "the socket cannot be set up").with_cause(error)
    })
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use socket2::{Domain, Socket, Type};
    use tokio::net::TcpListener;

    use super::*;

    /// An address that swallows every attempt to connect: a listener whose queue is full.
    struct BlackHole {
        address: SocketAddr,
        _listener: Socket,
        _fillers: Vec<Socket>,
    }

    impl BlackHole {
        fn new() -> Self {
            let listener = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
            listener.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
            listener.listen(0).unwrap();
            let address = listener.local_addr().unwrap().as_socket().unwrap();
            let fillers = (0..3).map(|_| {
                let filler = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
                filler.set_nonblocking(true).unwrap();
                // The first ones fill the queue, the others hang; neither outcome matters.
                let _ = filler.connect(&address.into());
                filler
            });
            Self { address, _fillers: fillers.collect(), _listener: listener }
        }
    }

    #[tokio::test]
    async fn c132_a_dead_address_beside_a_live_one_costs_less_than_a_second_in_both_orders() {
        let live = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (live, dead) = (live.local_addr().unwrap(), BlackHole::new());
        for stagger in [Duration::ZERO, STAGGER] {
            for addresses in [vec![live, dead.address], vec![dead.address, live]] {
                let begun = Instant::now();
                let socket = first_to_answer(addresses, stagger).await.unwrap();
                assert_eq!(socket.peer_addr().unwrap(), live);
                assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
            }
        }
    }

    /// How many sockets of this machine try to reach the port.
    #[cfg(target_os = "linux")]
    fn attempts(port: u16) -> usize {
        const SYN_SENT: &str = "02";
        let sockets = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
        let fields = sockets.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let peer = format!(":{port:04X}");
        fields.filter(|fields| fields[2].ends_with(&peer) && fields[3] == SYN_SENT).count()
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn c132_the_attempt_that_has_lost_is_closed() {
        let live = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let dead = BlackHole::new();
        let before = attempts(dead.address.port());
        let running = tokio::spawn(first_to_answer(vec![dead.address, live.local_addr().unwrap()], STAGGER));
        while attempts(dead.address.port()) == before {
            tokio::task::yield_now().await;
        }
        running.await.unwrap().unwrap();
        while attempts(dead.address.port()) > before {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn the_last_refusal_is_told_when_no_address_answers() {
        let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let error = first_to_answer(vec![closed, closed], STAGGER).await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
        assert!(first_to_answer(Vec::new(), STAGGER).await.is_err());
    }

    #[tokio::test]
    async fn keepalive_is_set_unless_it_is_switched_off() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let options = BrokerOptions::new("127.0.0.1", "u", "p").unwrap();
        let socket = open(&options, "127.0.0.1", port).await.unwrap();
        assert!(SockRef::from(&socket).keepalive().unwrap());
        let socket = open(&options.with_tcp_keepalive(None), "127.0.0.1", port).await.unwrap();
        assert!(!SockRef::from(&socket).keepalive().unwrap());
    }

    #[test]
    fn the_preferred_version_comes_first_and_the_order_within_it_stays() {
        let texts = ["[::1]:1", "127.0.0.1:1", "[::2]:1", "127.0.0.2:1"];
        let addresses: Vec<SocketAddr> = texts.iter().map(|text| text.parse().unwrap()).collect();
        let order = |preference| {
            in_order(addresses.clone(), preference).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(order(AddressPreference::Platform), texts);
        assert_eq!(order(AddressPreference::V4), ["127.0.0.1:1", "127.0.0.2:1", "[::1]:1", "[::2]:1"]);
        assert_eq!(order(AddressPreference::V6), ["[::1]:1", "[::2]:1", "127.0.0.1:1", "127.0.0.2:1"]);
    }
}
