//! Opens the socket and logs in. One attempt; repeating is the pool's and the receiver's business.

use tiberius::error::Error as DriverError;
use tiberius::{AuthMethod, Client, Config, EncryptionLevel};
use tokio_util::compat::TokioAsyncWriteCompatExt;

use super::super::error::{Error, ErrorKind, Result};
use super::super::options::{BrokerOptions, Encryption, Login};
use super::{Driver, fault, socket};

/// Connects, following at most one redirection (Always On listeners and Azure give one). The caller bounds the time.
pub(super) async fn connect(options: &BrokerOptions) -> Result<Driver> {
    match log_in(options, &Place::of(options)).await? {
        Outcome::Done(driver) => Ok(*driver),
        Outcome::Redirected(place) => match log_in(options, &place).await? {
            Outcome::Done(driver) => Ok(*driver),
            Outcome::Redirected { .. } => Err(Error::new(ErrorKind::Connect, "the server redirected twice")),
        },
    }
}

/// Where a server listens.
struct Place {
    host: String,
    port: u16,
    /// Set when the port is to be asked for.
    instance: Option<String>,
}

impl Place {
    fn of(options: &BrokerOptions) -> Self {
        Self { host: options.host.clone(), port: options.port, instance: options.instance.clone() }
    }
}

enum Outcome {
    Done(Box<Driver>),
    Redirected(Place),
}

async fn log_in(options: &BrokerOptions, place: &Place) -> Result<Outcome> {
    let method = auth_method(&options.login).await?;
    let (opened, port) = match &place.instance {
        None => (socket::open(options, &place.host, place.port).await?, place.port),
        Some(instance) => {
            let opened = socket::open_instance(options, instance).await?;
            let port = opened.peer_addr().map_or(place.port, |address| address.port());
            (opened, port)
        }
    };
    let mut config = driver_config(options, &place.host, port);
    config.authentication(method);
    match Client::connect(config, opened.compat_write()).await {
        Ok(driver) => Ok(Outcome::Done(Box::new(driver))),
        Err(DriverError::Routing { host, port }) => {
            tracing::debug!(host, port, "the server sent us on");
            Ok(Outcome::Redirected(Place { host, port, instance: None }))
        }
        Err(error) => Err(fault::translate_connect(error)),
    }
}

/// A token is asked for anew with each connection, since an old one may have expired.
async fn auth_method(login: &Login) -> Result<AuthMethod> {
    match login {
        Login::Sql { user, password } => Ok(AuthMethod::sql_server(user, password.expose())),
        Login::Token(Some(source)) => Ok(AuthMethod::aad_token(source.token().await?.expose())),
        Login::Token(None) => Err(Error::config("a token login has no provider")),
        #[cfg(feature = "ntlm")]
        Login::Windows { user, password } => Ok(AuthMethod::windows(user, password.expose())),
        #[cfg(feature = "kerberos")]
        Login::Integrated => Ok(AuthMethod::Integrated),
    }
}

fn driver_config(options: &BrokerOptions, host: &str, port: u16) -> Config {
    let mut config = Config::new();
    config.host(host);
    config.port(port);
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
