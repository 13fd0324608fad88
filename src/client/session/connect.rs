//! Opens the socket and logs in. One attempt; repeating is the pool's and the receiver's business.

use std::net::SocketAddr;

use tiberius::error::Error as DriverError;
use tiberius::{AuthMethod, Client, Config, EncryptionLevel};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_util::compat::TokioAsyncWriteCompatExt;

use super::super::error::{Error, ErrorKind, Result};
use super::super::options::{BrokerOptions, Encryption};
use super::{Driver, fault};

/// Connects within the connect timeout, following at most one redirection (Always On listeners and Azure give one).
pub(super) async fn connect(options: &BrokerOptions) -> Result<Driver> {
    let limit = options.connect_timeout;
    let address = format!("{}:{}", options.host, options.port);
    match tokio::time::timeout(limit, connect_following_redirection(options)).await {
        Ok(outcome) => outcome.map_err(|error| error.during(format!("connecting to {address}"))),
        Err(_elapsed) => {
            Err(Error::new(ErrorKind::Connect, format!("connecting to {address} took longer than {limit:?}")))
        }
    }
}

async fn connect_following_redirection(options: &BrokerOptions) -> Result<Driver> {
    match log_in(options, &options.host, options.port).await? {
        Login::Done(driver) => Ok(*driver),
        Login::Redirected { host, port } => match log_in(options, &host, port).await? {
            Login::Done(driver) => Ok(*driver),
            Login::Redirected { .. } => Err(Error::new(ErrorKind::Connect, "the server redirected twice")),
        },
    }
}

enum Login {
    Done(Box<Driver>),
    Redirected { host: String, port: u16 },
}

async fn log_in(options: &BrokerOptions, host: &str, port: u16) -> Result<Login> {
    let socket = open_socket(options, host, port).await?;
    match Client::connect(driver_config(options, host, port), socket.compat_write()).await {
        Ok(driver) => Ok(Login::Done(Box::new(driver))),
        Err(DriverError::Routing { host, port }) => Ok(Login::Redirected { host, port }),
        Err(error) => Err(fault::translate_connect(error)),
    }
}

async fn open_socket(options: &BrokerOptions, host: &str, port: u16) -> Result<TcpStream> {
    let opened = if options.multi_subnet_failover {
        open_first_of_all(host, port).await
    } else {
        TcpStream::connect((host, port)).await
    };
    let socket = opened.map_err(|error| {
        Error::new(ErrorKind::Connect, format!("no connection to {host}:{port}")).with_cause(error)
    })?;
    socket
        .set_nodelay(true)
        .map_err(|error| Error::new(ErrorKind::Connect, "the socket cannot be set up").with_cause(error))?;
    Ok(socket)
}

/// Tries all addresses of the name at once and keeps the first that answers, as `MultiSubnetFailover=true` asks for.
async fn open_first_of_all(host: &str, port: u16) -> std::io::Result<TcpStream> {
    let addresses: Vec<SocketAddr> = tokio::net::lookup_host((host, port)).await?.collect();
    let mut attempts: JoinSet<std::io::Result<TcpStream>> =
        addresses.into_iter().map(TcpStream::connect).collect();
    let mut last_error = std::io::Error::new(std::io::ErrorKind::NotFound, "the name has no address");
    while let Some(attempt) = attempts.join_next().await {
        match attempt.unwrap_or_else(|panic| Err(std::io::Error::other(panic))) {
            Ok(socket) => return Ok(socket),
            Err(error) => last_error = error,
        }
    }
    Err(last_error)
}

fn driver_config(options: &BrokerOptions, host: &str, port: u16) -> Config {
    let mut config = Config::new();
    config.host(host);
    config.port(port);
    config.authentication(AuthMethod::sql_server(&options.user, options.password.expose()));
    config.application_name(&options.application_name);
    config.packet_size(options.packet_size);
    config.readonly(options.read_only);
    config.handshake_timeout(None);
    config.command_timeout(None);
    if let Some(database) = &options.database {
        config.database(database);
    }
    if let Some(workstation) = &options.workstation {
        config.client_name(workstation);
    }
    set_encryption(&mut config, options);
    config
}

/// As in ADO.NET, a certificate is not looked at when the caller does not ask for encryption.
fn set_encryption(config: &mut Config, options: &BrokerOptions) {
    config.encryption(match options.encryption {
        Encryption::Never => EncryptionLevel::NotSupported,
        Encryption::LoginOnly => EncryptionLevel::Off,
        Encryption::Required => EncryptionLevel::Required,
        Encryption::Strict => EncryptionLevel::Strict,
    });
    if let Some(name) = &options.host_name_in_certificate {
        config.hostname_in_certificate(name);
    }
    match &options.certificate_authority {
        Some(file) => config.trust_cert_ca(file.display()),
        None if options.trust_server_certificate || options.encryption == Encryption::LoginOnly => {
            config.trust_cert()
        }
        None => {}
    }
}
