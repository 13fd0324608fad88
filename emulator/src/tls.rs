//! TLS of the server: a certificate made at start, and the acceptor that uses it.
//!
//! Only TLS 1.2 is offered: inside TDS 7.x the session tickets of TLS 1.3 arrive where most clients expect a packet.
//! There is no resumption either, so that the server always speaks last in a handshake. How the handshake travels in
//! packets is the server's concern, not this file's.

use std::fmt;
use std::sync::Arc;

use rcgen::{CertificateParams, DnType, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::NoServerSessionStorage;
use tokio_rustls::TlsAcceptor;

/// Names every certificate is valid for.
const LOCAL_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// A certificate with its key, ready to accept connections. Cheap to clone; prints no key.
#[derive(Clone)]
pub struct ServerTls {
    acceptor: TlsAcceptor,
    certificate_pem: Arc<str>,
}

impl ServerTls {
    /// Makes a key and a self-signed certificate for `localhost`, `127.0.0.1`, `::1` and `names` (host names or
    /// addresses). It is a leaf (CA:FALSE): rustls refuses a self-signed CA certificate as a server's own.
    ///
    /// # Errors
    ///
    /// If a name is neither a host name nor an address.
    pub fn self_signed(names: &[String]) -> Result<ServerTls, TlsError> {
        let all_names: Vec<String> =
            LOCAL_NAMES.iter().map(|name| (*name).to_owned()).chain(names.iter().cloned()).collect();
        let mut parameters = CertificateParams::new(all_names).map_err(|cause| TlsError(cause.into()))?;
        parameters.is_ca = IsCa::ExplicitNoCa;
        parameters.distinguished_name.push(DnType::CommonName, "ssbroker emulator");
        let key = KeyPair::generate().map_err(|cause| TlsError(cause.into()))?;
        let certificate = parameters.self_signed(&key).map_err(|cause| TlsError(cause.into()))?;
        let private_key =
            PrivateKeyDer::try_from(key.serialize_der()).map_err(|cause| TlsError(cause.into()))?;
        let config = server_config(certificate.der().clone(), private_key)?;
        Ok(ServerTls {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            certificate_pem: certificate.pem().into(),
        })
    }

    /// The certificate, for clients that are to trust it.
    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    /// The acceptor.
    pub(crate) fn acceptor(&self) -> &TlsAcceptor {
        &self.acceptor
    }
}

impl fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerTls").finish_non_exhaustive()
    }
}

/// Why no certificate could be made.
#[derive(Debug)]
pub struct TlsError(Box<dyn std::error::Error + Send + Sync>);

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no certificate could be made")
    }
}

impl std::error::Error for TlsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(self.0.as_ref())
    }
}

fn server_config(
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
) -> Result<ServerConfig, TlsError> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS12])
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(vec![certificate], key))
        .map_err(|cause| TlsError(cause.into()))?;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_made_for_local_and_given_names() {
        let tls = ServerTls::self_signed(&["db.example".to_owned(), "10.0.0.7".to_owned()]).unwrap();
        assert!(tls.certificate_pem().starts_with("-----BEGIN CERTIFICATE-----"));
        assert!(!format!("{tls:?}").contains("KEY"));
    }

    #[test]
    fn an_impossible_name_is_an_error_with_its_cause() {
        let error = ServerTls::self_signed(&["ü".to_owned()]).unwrap_err();
        assert!(std::error::Error::source(&error).is_some());
    }
}
