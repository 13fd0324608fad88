//! Who logs in: a SQL login, a Windows account, or the bearer of an access token.
//!
//! Secrets never print. Nothing here asks for a token; `session` does, for each connection.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use super::super::error::{Error, Result};

/// A password. It does not print.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Gives access tokens of Microsoft Entra ID (Azure Active Directory) for the resource `https://database.windows.net/`.
///
/// It is asked once for each new connection, within the connect timeout, so it should keep a token until shortly before
/// that expires. An error ends the attempt to connect and is kept as its cause; an error of kind
/// [`Connect`](crate::client::ErrorKind::Connect) lets the pool try again.
///
/// # Cancellation
/// The future is dropped when the connect timeout passes or the connecting call is given up.
///
/// ```
/// use ssbroker::client::{BrokerOptions, Result, TokenProvider};
///
/// struct Fixed(String);
///
/// impl TokenProvider for Fixed {
///     async fn token(&self) -> Result<String> {
///         Ok(self.0.clone())
///     }
/// }
///
/// let options: BrokerOptions = "Server=shop.database.windows.net;Authentication=AccessToken".parse()?;
/// let options = options.with_token_provider(Fixed("eyJ0eXAi...".to_owned()));
/// # Ok::<(), ssbroker::client::Error>(())
/// ```
pub trait TokenProvider: Send + Sync + 'static {
    /// A token that is valid now.
    fn token(&self) -> impl Future<Output = Result<String>> + Send;
}

/// A provider whose type is forgotten.
#[derive(Clone)]
pub(crate) struct TokenSource(Arc<dyn AnyProvider>);

impl TokenSource {
    pub(super) fn new(provider: impl TokenProvider) -> Self {
        Self(Arc::new(provider))
    }

    pub(crate) async fn token(&self) -> Result<Secret> {
        let token = self.0.token().await.map_err(|error| error.during("asking for an access token"))?;
        Ok(Secret(token))
    }
}

impl fmt::Debug for TokenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("token provider")
    }
}

trait AnyProvider: Send + Sync {
    fn token(&self) -> Pin<Box<dyn Future<Output = Result<String>> + Send + '_>>;
}

impl<P: TokenProvider> AnyProvider for P {
    fn token(&self) -> Pin<Box<dyn Future<Output = Result<String>> + Send + '_>> {
        Box::pin(TokenProvider::token(self))
    }
}

/// How a connection logs in.
#[derive(Clone, Debug)]
pub(crate) enum Login {
    /// A SQL login.
    Sql { user: String, password: Secret },
    /// A Windows account by NTLM.
    #[cfg(feature = "ntlm")]
    Windows { user: String, password: Secret },
    /// The account this process runs under, by Kerberos.
    #[cfg(feature = "kerberos")]
    Integrated,
    /// The bearer of a token; `None` until a provider is given.
    Token(Option<TokenSource>),
}

/// The parts of a connection string that say who logs in.
#[derive(Debug, Default)]
pub(super) struct LoginWords {
    pub(super) user: String,
    pub(super) password: Secret,
    pub(super) integrated: bool,
    pub(super) token: bool,
}

impl LoginWords {
    /// The login they mean.
    ///
    /// # Errors
    /// `Config` when they contradict each other or name nobody; `Unsupported` when the feature is not built in.
    pub(super) fn login(self) -> Result<Login> {
        let Self { user, password, integrated, token } = self;
        let named = !user.is_empty();
        match (integrated, token) {
            (true, true) => {
                Err(fault("'Integrated Security' and 'Authentication=AccessToken' exclude each other"))
            }
            (false, true) if named => {
                Err(fault("'User ID' and 'Authentication=AccessToken' exclude each other"))
            }
            (false, true) => Ok(Login::Token(None)),
            (true, false) if named => windows_account(user, password),
            (true, false) => own_account(),
            (false, false) if named => Ok(Login::Sql { user, password }),
            (false, false) => Err(fault(
                "'User ID' is missing (or 'Integrated Security=true', or 'Authentication=AccessToken')",
            )),
        }
    }
}

fn fault(text: &str) -> Error {
    Error::config(format!("connection string: {text}"))
}

#[cfg(feature = "ntlm")]
fn windows_account(user: String, password: Secret) -> Result<Login> {
    Ok(Login::Windows { user, password })
}

#[cfg(not(feature = "ntlm"))]
fn windows_account(_user: String, _password: Secret) -> Result<Login> {
    Err(not_built_in("ntlm"))
}

#[cfg(feature = "kerberos")]
fn own_account() -> Result<Login> {
    Ok(Login::Integrated)
}

#[cfg(not(feature = "kerberos"))]
fn own_account() -> Result<Login> {
    Err(not_built_in("kerberos"))
}

#[cfg(not(all(feature = "ntlm", feature = "kerberos")))]
fn not_built_in(feature: &str) -> Error {
    let text = format!(
        "connection string: 'Integrated Security' needs the cargo feature '{feature}', which is not built in: use \
         'User ID' and 'Password' of a SQL login, or build with it"
    );
    Error::new(super::super::error::ErrorKind::Unsupported, text)
}
