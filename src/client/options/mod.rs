//! How to reach a broker: server, login, encryption, timeouts, pool size.
//!
//! Made from an ADO.NET connection string or field by field; checked here, used by `session` and `pool`. The password
//! never prints. Nothing here connects or reads the environment.

mod connection_string;
mod keywords;
mod login;
mod server;

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use super::error::{Error, Result};
use server::ServerAddress;

pub use login::TokenProvider;
use login::TokenSource;
pub(crate) use login::{Login, Secret};

/// The port of a default instance.
pub const DEFAULT_PORT: u16 = 1433;
/// The port of the SQL Browser service, which knows the ports of named instances.
const BROWSER_PORT: u16 = 1434;

/// Which addresses of a host name are tried first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum AddressPreference {
    /// As the resolver gives them.
    #[default]
    Platform,
    /// Those of version 4.
    V4,
    /// Those of version 6.
    V6,
}

/// Whether and how the connection is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Encryption {
    /// `Encrypt=danger_plaintext`: nothing is encrypted, the password included. For an embedded broker on this machine.
    Never,
    /// `Encrypt=false` or `optional`: only the login is encrypted, where the server can. The certificate is not checked.
    LoginOnly,
    /// `Encrypt=true` or `mandatory` (the default): everything is encrypted and the certificate is checked.
    Required,
    /// `Encrypt=strict`: TLS before the first byte of the protocol (TDS 8.0), SQL Server 2022 and later.
    Strict,
}

/// Everything a [`Broker`](super::Broker) needs to know before it connects.
///
/// ```text
/// Server=tcp:db.example.com,1433;Database=Shop;User ID=worker;Password='se;cret';TrustServerCertificate=true
/// ```
///
/// Keywords are those of ADO.NET, upper and lower case alike, plus `ServerCertificate`: a file with the certificate, or
/// the authority, to trust. An unknown keyword is an error that names the nearest known one: a mistyped
/// `Encrypt` must not connect in the clear.
#[derive(Clone, Debug)]
pub struct BrokerOptions {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// A named instance whose port is to be asked for.
    pub(crate) instance: Option<String>,
    pub(crate) browser_port: u16,
    pub(crate) database: Option<String>,
    pub(crate) login: Login,
    pub(crate) encryption: Encryption,
    pub(crate) trust_server_certificate: bool,
    pub(crate) certificate_authority: Option<PathBuf>,
    pub(crate) host_name_in_certificate: Option<String>,
    pub(crate) application_name: String,
    pub(crate) workstation: Option<String>,
    pub(crate) packet_size: u32,
    pub(crate) read_only: bool,
    pub(crate) multi_subnet_failover: bool,
    pub(crate) address_preference: AddressPreference,
    pub(crate) tcp_keepalive: Option<Duration>,
    pub(crate) connect_timeout: Duration,
    pub(crate) connect_retries: Option<u32>,
    pub(crate) connect_retry_interval: Option<Duration>,
    pub(crate) command_timeout: Option<Duration>,
    pub(crate) acquire_timeout: Duration,
    pub(crate) max_pool_size: u32,
    pub(crate) min_pool_size: u32,
    pub(crate) connection_lifetime: Option<Duration>,
    pub(crate) max_body: Option<usize>,
}

impl BrokerOptions {
    /// Options for a server written as in a connection string (`host`, `host,port`, `tcp:host,port`, `host\\instance`)
    /// and a SQL login; everything else has its default.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](super::ErrorKind::Config) when the server is not such a text.
    pub fn new(server: &str, user: impl Into<String>, password: impl Into<String>) -> Result<Self> {
        let ServerAddress { host, port, instance } = ServerAddress::parse(server)?;
        Ok(Self {
            host,
            port,
            instance,
            browser_port: BROWSER_PORT,
            database: None,
            login: Login::Sql { user: user.into(), password: Secret::new(password) },
            encryption: Encryption::Required,
            trust_server_certificate: false,
            certificate_authority: None,
            host_name_in_certificate: None,
            application_name: "ssbroker".to_owned(),
            workstation: None,
            packet_size: 8_000,
            read_only: false,
            multi_subnet_failover: false,
            address_preference: AddressPreference::Platform,
            tcp_keepalive: Some(Duration::from_secs(30)),
            connect_timeout: Duration::from_secs(15),
            connect_retries: None,
            connect_retry_interval: None,
            command_timeout: Some(Duration::from_secs(30)),
            acquire_timeout: Duration::from_secs(30),
            max_pool_size: 10,
            min_pool_size: 0,
            connection_lifetime: None,
            max_body: None,
        })
    }

    /// Reads an ADO.NET connection string.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](super::ErrorKind::Config), naming the keyword and what is expected. The text never holds the
    /// password.
    pub fn from_connection_string(text: &str) -> Result<Self> {
        keywords::read(text)
    }

    /// The host to connect to.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port to connect to. That of a named instance is asked of the SQL Browser service when connecting.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The database, or `None` for the login's default database.
    #[must_use]
    pub fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    /// The named instance whose port the SQL Browser service is asked for; `None` when the port is known.
    #[must_use]
    pub fn instance(&self) -> Option<&str> {
        self.instance.as_deref()
    }

    /// The login; `None` when a token or the account of this process logs in.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        match &self.login {
            Login::Sql { user, .. } => Some(user),
            #[cfg(feature = "ntlm")]
            Login::Windows { user, .. } => Some(user),
            #[cfg(feature = "kerberos")]
            Login::Integrated => None,
            Login::Token(_) => None,
        }
    }

    /// Logs in with access tokens of this provider, instead of the login given so far.
    #[must_use]
    pub fn with_token_provider(mut self, provider: impl TokenProvider) -> Self {
        self.login = Login::Token(Some(TokenSource::new(provider)));
        self
    }

    /// Uses this database instead of the login's default.
    #[must_use]
    pub fn with_database(mut self, database: impl Into<String>) -> Self {
        self.database = Some(database.into());
        self
    }

    /// Sets how the connection is encrypted. Default: [`Encryption::Required`].
    #[must_use]
    pub fn with_encryption(mut self, encryption: Encryption) -> Self {
        self.encryption = encryption;
        self
    }

    /// Accepts any certificate: for tests and private networks. Default: no. A file given with
    /// [`trusting_certificate_file`](Self::trusting_certificate_file) wins.
    #[must_use]
    pub fn trusting_any_certificate(mut self) -> Self {
        self.trust_server_certificate = true;
        self
    }

    /// Trusts the certificate or certificate authority in this file (PEM, CRT or DER). Default: the system's store.
    #[must_use]
    pub fn trusting_certificate_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.certificate_authority = Some(file.into());
        self
    }

    /// The name the server shows for our sessions. Default: `ssbroker`.
    #[must_use]
    pub fn with_application_name(mut self, name: impl Into<String>) -> Self {
        self.application_name = name.into();
        self
    }

    /// After how much silence the system asks the peer whether it is still there, then every second until it gives the
    /// connection up; `None` never asks. Default: 30 s.
    #[must_use]
    pub fn with_tcp_keepalive(mut self, idle: impl Into<Option<Duration>>) -> Self {
        self.tcp_keepalive = idle.into();
        self
    }

    /// How often the pool tries again after a failed attempt to connect; `None` is bounded by the acquire timeout alone.
    /// Default: `None`.
    #[must_use]
    pub fn with_connect_retries(mut self, retries: impl Into<Option<u32>>) -> Self {
        self.connect_retries = retries.into();
        self
    }

    /// A connection of the pool that is older is replaced when it comes back; `None` keeps it. Default: `None`.
    #[must_use]
    pub fn with_connection_lifetime(mut self, lifetime: impl Into<Option<Duration>>) -> Self {
        self.connection_lifetime = lifetime.into();
        self
    }

    /// How long one attempt to connect may take: token, name, socket, TLS, login and session settings together.
    /// Default: 15 s.
    #[must_use]
    pub fn with_connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// How long a request of the sending half may take; `None` waits for ever. Default: 30 s. Receivers have their own
    /// limit, which follows from how long they wait for messages.
    #[must_use]
    pub fn with_command_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.command_timeout = timeout.into();
        self
    }

    /// How long a call waits for a free or new connection of the pool, attempts to reconnect included. Default: 30 s.
    #[must_use]
    pub fn with_acquire_timeout(mut self, timeout: Duration) -> Self {
        self.acquire_timeout = timeout;
        self
    }

    /// The most connections of the pool, at least 1. Receivers have connections of their own. Default: 10.
    #[must_use]
    pub fn with_max_pool_size(mut self, connections: u32) -> Self {
        self.max_pool_size = connections.max(1);
        self.min_pool_size = self.min_pool_size.min(self.max_pool_size);
        self
    }

    /// The largest body that is sent, in bytes; `None` is what the server takes, 2 GiB. A larger one is refused with
    /// [`ErrorKind::MessageRefused`](super::ErrorKind::MessageRefused) before anything of its call is sent. What is received
    /// has a limit of its own, [`Receive::max_body`](super::Receive::max_body). Default: `None`.
    #[must_use]
    pub fn with_max_body(mut self, bytes: impl Into<Option<usize>>) -> Self {
        self.max_body = bytes.into();
        self
    }

    /// Host with port or instance, for messages.
    pub(crate) fn describe_server(&self) -> String {
        match &self.instance {
            Some(instance) => format!("{}\\{instance}", self.host),
            None => format!("{}:{}", self.host, self.port),
        }
    }

    /// Refuses what contradicts itself.
    pub(crate) fn check(self) -> Result<Self> {
        if self.trust_server_certificate && self.certificate_authority.is_some() {
            return Err(Error::config(
                "TrustServerCertificate and ServerCertificate exclude each other: remove one",
            ));
        }
        if self.connect_timeout.is_zero() || self.acquire_timeout.is_zero() {
            return Err(Error::config("a timeout of 0 leaves no time to connect"));
        }
        if self.min_pool_size > self.max_pool_size {
            return Err(Error::config("Min Pool Size is larger than Max Pool Size"));
        }
        if !(512..=32_767).contains(&self.packet_size) {
            return Err(Error::config("Packet Size must be between 512 and 32767"));
        }
        Ok(self)
    }

    /// Refuses a login that still lacks its provider; asked when connecting, since the provider comes after the string.
    pub(crate) fn check_login(self) -> Result<Self> {
        match self.login {
            Login::Token(None) => Err(Error::config(
                "'Authentication=AccessToken' needs a provider: call BrokerOptions::with_token_provider",
            )),
            _ => Ok(self),
        }
    }
}

impl FromStr for BrokerOptions {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::from_connection_string(text)
    }
}

#[cfg(test)]
mod tests;
