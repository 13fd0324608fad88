//! The embedded broker as a whole: an instance, its listener and its connections, started in one line.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use rand::RngExt;
use tokio::io::DuplexStream;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::warn;
use uuid::Uuid;

use crate::clock::Clock;
use crate::engine::{BrokerCounters, CoreOptions, IdSource, Secret};
use crate::faults::{Faults, Gate};
use crate::instance::Instance;
use crate::server::{self, Encryption, ServerCounters, ServerOptions};
use crate::session::Logins;
use crate::tls::{ServerTls, TlsError};

/// Bytes that an in-memory connection holds in each direction before its writer waits.
const MEMORY_PIPE: usize = 64 << 10;
/// Characters of a password that nobody has chosen.
const PASSWORD_LENGTH: usize = 24;

/// A running embedded broker: a TDS 7.4 server with Service Broker.
///
/// It listens on a port and takes connections in memory alike. Everything it keeps is in memory and goes with it. Dropping
/// it closes the listener and all connections; [`shutdown`](Emulator::shutdown) also waits for them.
pub struct Emulator {
    instance: Arc<Instance>,
    logins: Arc<Logins>,
    options: Arc<ServerOptions>,
    address: SocketAddr,
    password: String,
    certificate_pem: String,
    connections: TaskTracker,
    gate: Arc<Gate>,
    stop: CancellationToken,
}

/// Settings of an [`Emulator`]; ends in [`start`](EmulatorBuilder::start).
#[must_use = "nothing runs before `start`"]
pub struct EmulatorBuilder {
    listen: SocketAddr,
    password: Option<String>,
    clock: Clock,
    ids: Box<dyn IdSource + Send>,
    core: CoreOptions,
}

impl Emulator {
    /// Starts one on a free port of the loopback address, with a random password and the machine's clock.
    ///
    /// # Errors
    /// [`StartError`] when no port can be had.
    pub async fn start() -> Result<Emulator, StartError> {
        Emulator::builder().start().await
    }

    /// Settings to start from.
    pub fn builder() -> EmulatorBuilder {
        EmulatorBuilder {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            password: None,
            clock: Clock::real(),
            ids: Box::new(RandomIds),
            core: CoreOptions::default(),
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Password of the login `sa`.
    pub fn password(&self) -> &str {
        &self.password
    }

    /// The server's certificate in PEM form, for clients that are to trust it.
    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    /// A connection string (ADO.NET) for the login `sa` and that database, without encryption.
    pub fn connection_string(&self, database: &str) -> String {
        let (host, port) = (self.address.ip(), self.address.port());
        let password = &self.password;
        format!("Server=tcp:{host},{port};Database={database};User ID=sa;Password={password};Encrypt=false")
    }

    /// A connection in memory: the client's end of the stream.
    pub fn connect(&self) -> DuplexStream {
        let (client, server) = tokio::io::duplex(MEMORY_PIPE);
        self.serve(server);
        client
    }

    /// What the server has counted: requests, logins, attentions, open connections.
    pub fn server_counters(&self) -> &ServerCounters {
        &self.options.counters
    }

    /// What the broker has counted: dialogs begun, messages sent, delivered, received.
    pub fn broker_counters(&self) -> BrokerCounters {
        self.instance.call(|core| core.broker_counters())
    }

    /// What can be made to go wrong.
    pub fn faults(&self) -> Faults {
        Faults::new(Arc::clone(&self.instance), Arc::clone(&self.gate))
    }

    /// Closes the listener and all connections, rolling back what is open, and waits until that is done.
    pub async fn shutdown(self) {
        self.instance.end_activation();
        self.stop.cancel();
        self.connections.close();
        self.connections.wait().await;
    }

    fn serve<S>(&self, stream: S)
    where
        S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    {
        let (logins, options) = (Arc::clone(&self.logins), Arc::clone(&self.options));
        if let Some(token) = self.gate.enter(self.instance.clock().now()) {
            self.connections.spawn(server::serve(stream, logins, options, token));
        }
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.instance.end_activation();
        self.stop.cancel();
        self.connections.close();
    }
}

impl fmt::Debug for Emulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Emulator").field("address", &self.address).finish_non_exhaustive()
    }
}

impl EmulatorBuilder {
    /// Listens on this address; port 0 lets the system choose.
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.listen = address;
        self
    }

    /// Password of the login `sa`; random if not set.
    pub fn password(mut self, password: impl Into<String>) -> Self {
        self.password = Some(password.into());
        self
    }

    /// The clock that timers, lifetimes and time-outs run by; see [`Clock::manual`].
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Where conversation handles and other identifiers come from; random if not set.
    pub fn ids(mut self, ids: impl IdSource + Send + 'static) -> Self {
        self.ids = Box::new(ids);
        self
    }

    /// The server's own name, as in `@@SERVERNAME` and in event notifications; `SSBROKER` if not set.
    pub fn server_name(mut self, name: impl Into<String>) -> Self {
        self.core.server_name = name.into();
        self
    }

    /// Starts it. Needs a tokio runtime, which runs it from then on.
    ///
    /// # Errors
    /// [`StartError`] when the address cannot be listened on or the certificate cannot be made.
    pub async fn start(self) -> Result<Emulator, StartError> {
        let listener = TcpListener::bind(self.listen).await.map_err(StartError::Listen)?;
        let address = listener.local_addr().map_err(StartError::Listen)?;
        let password = self.password.unwrap_or_else(random_password);
        let tls = ServerTls::self_signed(&[]).map_err(StartError::Certificate)?;
        let certificate_pem = tls.certificate_pem().to_owned();
        let core = CoreOptions { sa_password: Some(Secret::new(&password)), ..self.core };
        let options = ServerOptions {
            server_name: core.server_name.clone(),
            encryption: Encryption::Offered(tls),
            ..ServerOptions::default()
        };
        let instance = Instance::new(core, self.clock, self.ids);
        let stop = CancellationToken::new();
        let emulator = Emulator {
            logins: Arc::new(Logins::new(Arc::clone(&instance))),
            instance,
            options: Arc::new(options),
            address,
            password,
            certificate_pem,
            connections: TaskTracker::new(),
            gate: Arc::new(Gate::new(stop.clone())),
            stop,
        };
        emulator.accept(listener);
        Ok(emulator)
    }
}

impl Emulator {
    /// Accepts connections until the stop.
    fn accept(&self, listener: TcpListener) {
        let (logins, options) = (Arc::clone(&self.logins), Arc::clone(&self.options));
        let (connections, stop) = (self.connections.clone(), self.stop.clone());
        let (gate, clock) = (Arc::clone(&self.gate), self.instance.clock().clone());
        self.connections.spawn(async move {
            loop {
                let accepted = tokio::select! {
                    accepted = listener.accept() => accepted,
                    () = stop.cancelled() => return,
                };
                match accepted.and_then(|(stream, _)| stream.set_nodelay(true).map(|()| stream)) {
                    Ok(stream) => {
                        let (logins, options) = (Arc::clone(&logins), Arc::clone(&options));
                        if let Some(token) = gate.enter(clock.now()) {
                            connections.spawn(server::serve(stream, logins, options, token));
                        }
                    }
                    // The client gave up before it was accepted, or descriptors ran out: the next one may fare better.
                    Err(error) => warn!(%error, "a connection could not be accepted"),
                }
                tokio::task::yield_now().await;
            }
        });
    }
}

/// Why an emulator did not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// The address cannot be listened on.
    Listen(io::Error),
    /// The certificate cannot be made.
    Certificate(TlsError),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StartError::Listen(_) => "the address cannot be listened on",
            StartError::Certificate(_) => "the server's certificate cannot be made",
        })
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            StartError::Listen(cause) => Some(cause),
            StartError::Certificate(cause) => Some(cause),
        }
    }
}

/// Identifiers nobody can guess.
struct RandomIds;

impl IdSource for RandomIds {
    fn uuid(&mut self) -> Uuid {
        Uuid::new_v4()
    }
}

fn random_password() -> String {
    let mut random = rand::rng();
    (0..PASSWORD_LENGTH).map(|_| char::from(random.sample(rand::distr::Alphanumeric))).collect()
}
